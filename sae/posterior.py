"""The posterior of the area means when both variances are known: a linear map of the direct estimates.

Model (Fay-Herriot): y_i = theta_i + e_i, e_i ~ N(0, D_i); theta_i = x_i'beta + v_i, v_i ~ N(0, A); flat prior
on beta. With V = D + A, B = D/V, Q = (X'V^-1 X)^-1 the posterior is N(mu, Sigma), mu = M y with

    Sigma = diag(A B) + diag(B) X Q X' diag(B),    M = Sigma D^-1 for every design and all variances.

From V^-1/2 X = U R and S = diag(D V^-1/2) U (m, p): Sigma = diag(A B) + S S', which needs no inverse and
holds at A = 0 too, where B = 1 and Sigma has rank p.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pgsr.errors import InputError
from pgsr.sae.checks import Float64, number, positive, vector
from pgsr.sae.design import column_names, design_matrix, is_intercept, weighted_qr


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Posterior:
    """The posterior map for sampling variances D (m,) > 0, model variance A >= 0 and design X (m, p).

    `design` None is an intercept alone; `names` (p,) are its columns in messages. Everything here but the
    arguments `y` of `mean`, `beta` and `draw` is computed from these inputs, in float64 by QR. A covariance
    or a gain of areas i and k costs O(p). Raises InputError for variances that are not positive, a negative
    model variance and dependent columns.

    Attributes: `shrinkage` B (m,); `g1` = A B and `g2` = B_i^2 x_i'Q x_i (m,), `sigma2` their sum, the
    posterior variance; `design` as a matrix; `factor` S (m, p); `orthonormal` U (m, p); `triangle` R (p, p).
    """

    variance: Float64 = field(repr=False)
    model_variance: float = field(repr=False)
    design: Any = field(default=None, repr=False)
    names: Sequence[str] | None = field(default=None, repr=False)
    m: int = field(init=False)
    p: int = field(init=False)
    shrinkage: Float64 = field(init=False, repr=False)
    g1: Float64 = field(init=False, repr=False)
    g2: Float64 = field(init=False, repr=False)
    sigma2: Float64 = field(init=False, repr=False)
    factor: Float64 = field(init=False, repr=False)
    orthonormal: Float64 = field(init=False, repr=False)
    triangle: Float64 = field(init=False, repr=False)

    def __post_init__(self) -> None:
        d = sampling_variance(self.variance)
        a = number(self.model_variance, "model variance")
        x = design_matrix(self.design, d.size, self.names)
        v = d + a
        u, r = weighted_qr(x, v)
        s = (d / np.sqrt(v))[:, None] * u
        b = d / v
        g1, g2 = a * b, (s * s).sum(axis=1)
        put = object.__setattr__
        put(self, "names", column_names(x.shape[1], self.names))
        put(self, "model_variance", a)
        put(self, "m", d.size)
        put(self, "p", x.shape[1])
        arrays = {"variance": d, "design": x, "shrinkage": b, "g1": g1, "g2": g2, "sigma2": g1 + g2}
        arrays |= {"factor": s, "orthonormal": u, "triangle": r}
        for name, array in arrays.items():
            array.flags.writeable = False
            put(self, name, array)

    @property
    def total_variance(self) -> Float64:
        """V = D + A (m,)."""
        return self.variance + self.model_variance

    @property
    def intercept_only(self) -> bool:
        """Whether the design is a single column of ones: the closed forms of Proposition 1 hold."""
        return is_intercept(self.design)

    @property
    def w_plus(self) -> float:
        """W+ = sum of 1 - B_i = A / V_i: how many areas' worth of data is not shrunk away."""
        return float((self.model_variance / self.total_variance).sum())

    @property
    def q(self) -> Float64:
        """Q = (X'V^-1 X)^-1 (p, p), the posterior covariance of beta."""
        inverse = np.linalg.solve(self.triangle, np.eye(self.p))
        return inverse @ inverse.T

    @property
    def gain(self) -> Float64:
        """c_kk = sigma2_k / D_k (m,), in [0, 1]: how far area k's mean moves with its own direct estimate."""
        return self.sigma2 / self.variance

    def covariance(self, rows: Any) -> Float64:
        """Rows of Sigma, shape (len(rows), m); `rows` are places of areas."""
        places = np.atleast_1d(np.asarray(rows))
        block: Float64 = self.factor[places] @ self.factor.T
        block[np.arange(places.size), places] += self.g1[places]
        return block

    def gains(self, rows: Any) -> Float64:
        """Rows of M = Sigma D^-1, shape (len(rows), m): row i is how mean i moves with each estimate."""
        return self.covariance(rows) / self.variance

    def covariance_matrix(self) -> Float64:
        """Sigma (m, m); for few areas only."""
        return self.covariance(np.arange(self.m))

    def gain_matrix(self) -> Float64:
        """M (m, m); for few areas only."""
        return self.gains(np.arange(self.m))

    @property
    def correlation2_sum(self) -> Float64:
        """r_k (m,), the sum over i != k of squared posterior correlations of theta_i and theta_k; O(m p^2).

        An area with posterior variance zero (A = 0 and a row of zeros) has none: its r_k is 0.
        """
        live = self.sigma2 > 0
        sigma2 = np.where(live, self.sigma2, 1.0)
        if self.intercept_only:
            return self._correlation2_sum_intercept()
        middle = (self.factor / sigma2[:, None]).T @ self.factor
        squares = np.einsum("kp,pq,kq->k", self.factor, middle, self.factor, optimize=True)
        others: Float64 = np.maximum((squares - self.g2 * self.g2 / sigma2) / sigma2, 0.0)
        return others

    def _correlation2_sum_intercept(self) -> Float64:
        """Proposition 1: r_k = t_k times the sum over i != k of t_i, with t = g2/sigma2 = B/(W+ + B)."""
        t = self.shrinkage / (self.w_plus + self.shrinkage)
        others: Float64 = np.maximum(t * (t.sum() - t), 0.0)
        return others

    def coordinates(self, y: Any) -> Float64:
        """Confidential: U'V^-1/2 y (p,), the coordinates of beta_WLS in the basis X R^-1."""
        direct = vector(y, "direct estimates", self.m)
        return self.orthonormal.T @ (direct / np.sqrt(self.total_variance))

    def beta(self, y: Any) -> Float64:
        """Confidential: beta_WLS (p,) = Q X'V^-1 y of the direct estimates y (m,)."""
        return np.linalg.solve(self.triangle, self.coordinates(y)).astype(np.float64)

    def mean(self, y: Any) -> Float64:
        """Confidential: posterior means (m,) = (1 - B) y + B X beta_WLS of direct estimates y (m,)."""
        direct = vector(y, "direct estimates", self.m)
        kept = self.model_variance / self.total_variance
        return kept * direct + self.factor @ self.coordinates(direct)

    def spread(self, z: Any, w: Any) -> Float64:
        """sqrt(A B) z + S w (m,): a draw of N(0, Sigma) from independent standard normals z (m,), w (p,)."""
        own, shared = vector(z, "normals of the areas", self.m), vector(w, "normals of beta", self.p)
        return np.sqrt(self.g1) * own + self.factor @ shared

    def draw(self, y: Any, z: Any, w: Any) -> Float64:
        """One joint draw of theta (m,) from N(mu, Sigma), given independent standard normals z (m,), w (p,).

        Private only to the extent that z and w are secret and exactly normal; O(m p).
        """
        return self.mean(y) + self.spread(z, w)

    def draw_beta(self, y: Any, w: Any) -> Float64:
        """Beta (p,) of the same joint draw as `draw` with the same w: beta_WLS + R^-1 w."""
        shared = vector(w, "normals of beta", self.p)
        return np.linalg.solve(self.triangle, self.coordinates(y) + shared).astype(np.float64)


def sampling_variance(variance: Any) -> Float64:
    """D (m,) > 0 of at least one area; InputError naming the first row that is not above 0."""
    d = positive(variance, "sampling variance", way_out="merge the area, smooth or floor its variance")
    if d.size == 0:
        raise InputError("no areas", "sampling variance", "give at least one area")
    return d
