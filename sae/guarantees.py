"""Exact guarantees of Fay-Herriot releases for known variances. Functions of public inputs, never of y.

A record of area k moves y_k by delta, |delta| <= Delta_k, so the posterior mean by delta M_.k with
M = Sigma D^-1.

One draw of the joint posterior N(mu, Sigma):
    rho = delta^2 M_.k' Sigma^-1 M_.k / 2 = delta^2 e_k' D^-1 Sigma D^-1 e_k / 2 = delta^2 c_kk / (2 D_k),
    c_kk = Sigma_kk / D_k. (For A = 0 with the pseudo-inverse: M_.k lies in the range of Sigma.) The same by
    sufficiency: y_k enters through p(y_k | theta_k) alone, so all of theta costs what theta_k costs. Maximum
    over k: rho_joint. Sigma <= D gives c_kk <= 1, the bound Delta_k^2 / (2 D_k) for any A and X; Sigma grows
    with A (its inverse D^-1 + (I - H)/A falls), so an upper bound on A is safe.
Area i alone: [max_k |M_ik| Delta_k]^2 / (2 sigma_i^2).
Independent draws of the marginals N(mu_i, sigma_i^2) (the paper's equation 25): costs add over i, so for
    area k sum_i delta^2 M_ik^2 / (2 sigma_i^2) = rho_k sum_i Corr_ik^2 = rho_k (1 + r_k). The bound free of A
    does not hold for them.
L draws cost L times as much. Posterior means, alone or beside a draw, cost infinitely much.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from pgsr.errors import InputError
from pgsr.mechanism import Columns
from pgsr.sae.checks import Float64, Int64, positive
from pgsr.sae.conversions import PrivacyLoss, epsilon_exact, epsilon_simple
from pgsr.sae.pairs import worst_pair
from pgsr.sae.posterior import Posterior
from pgsr.sae.statement import Variances, assumptions

Released = Literal["joint", "marginals", "sequential", "free"]
_BLOCK = 1 << 22
_EQUAL = 1e-12


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AreaGuarantees:
    """The rho of every way to release, for a `posterior` and sensitivities Delta (m,) > 0.

    own        (m,) rho_k = Delta_k^2 c_kk / (2 D_k): what a record of area k pays for the joint draw
    area       (m,) rho of releasing area i alone; worst (m,) the place k of the record that pays it
    correlation2   (m,) r_k; marginal_own (m,) = own (1 + r_k)
    joint, marginals   rho of one joint draw, of independent draws; joint_area, marginals_area their arg-max
    sequential     sum of `area`, an upper bound for areas released one after another
    free           max Delta_k^2 / (2 D_k), which holds for joint draws whatever A and X are
    unit, weights_fixed, variances   what `assumptions` says of the record, the weights and the origin of D, A
    per_area False leaves `area`, `worst` and `sequential` out (None): the others cost O(m p^2), these may
    cost O(m^2 p) where shrinkage is heavy.
    """

    posterior: Posterior
    sensitivity: Any = field(repr=False)
    per_area: bool = True
    unit: str = "person"
    weights_fixed: bool = True
    variances: Variances = "public"
    own: Float64 = field(init=False, repr=False)
    area: Float64 | None = field(init=False, repr=False)
    worst: Int64 | None = field(init=False, repr=False)
    correlation2: Float64 = field(init=False, repr=False)
    joint: float = field(init=False)
    joint_area: int = field(init=False)
    marginals: float = field(init=False)
    marginals_area: int = field(init=False)
    sequential: float | None = field(init=False)
    free: float = field(init=False)

    def __post_init__(self) -> None:
        put = object.__setattr__
        delta = positive(self.sensitivity, "sensitivity", self.posterior.m)
        put(self, "sensitivity", delta)
        own = own_rho(self.posterior, delta)
        put(self, "own", own)
        put(self, "correlation2", self.posterior.correlation2_sum)
        put(self, "joint_area", int(own.argmax()))
        put(self, "joint", float(own.max()))
        put(self, "marginals_area", int(self.marginal_own.argmax()))
        put(self, "marginals", float(self.marginal_own.max()))
        put(self, "free", free_rho(self.posterior.variance, delta))
        area, worst = area_rho(self.posterior, delta) if self.per_area else (None, None)
        put(self, "area", area)
        put(self, "worst", worst)
        put(self, "sequential", None if area is None else float(area.sum()))

    @property
    def marginal_own(self) -> Float64:
        """What a record of area k pays for independent draws of all marginals, rho_k (1 + r_k), (m,)."""
        return self.own * (1.0 + self.correlation2)

    @property
    def own_is_worst(self) -> bool:
        """Whether in every area the record that pays most for that area's release is one of its own."""
        worst, area = self._areas()
        own = worst == np.arange(worst.size)
        return bool((own | (area <= self.own * (1 + _EQUAL))).all())

    def _areas(self) -> tuple[Int64, Float64]:
        if self.area is None or self.worst is None:
            raise InputError("areas were left out", "guarantees", "ask for per_area")
        return self.worst, self.area

    def rho(self, released: Released = "joint", draws: int = 1) -> float:
        """The rho of `draws` such releases."""
        if released not in ("joint", "marginals", "sequential", "free"):
            raise InputError("unknown release", "released", "use joint, marginals, sequential or free")
        value = getattr(self, released)
        if value is None:
            self._areas()
        return float(draws * value)

    def epsilon(
        self, delta: float, released: Released = "joint", *, exact: bool = True, draws: int = 1
    ) -> float:
        """The epsilon at `delta`, by the exact Gaussian formula or by equation (6).

        Exact also for independent draws and sums of rhos: all are Gaussian shifts of at most that rho.
        """
        formula = epsilon_exact if exact else epsilon_simple
        return formula(self.rho(released, draws), delta)

    def assumptions(self, released: Released = "joint") -> tuple[str, ...]:
        """What the figure of such a release rests on, in sentences; conditional figures say so first."""
        return assumptions(
            released, unit=self.unit, weights_fixed=self.weights_fixed, variances=self.variances
        )

    def loss(self, released: Released = "joint") -> PrivacyLoss:
        """Theorem 1's privacy loss for the worst record."""
        return PrivacyLoss(rho=self.rho(released))

    def table(self) -> Columns:
        """One row an area: sensitivity, variance, shrinkage, gain, posterior variance, and the rhos."""
        columns: dict[str, Any] = {
            "sensitivity": self.sensitivity,
            "variance": self.posterior.variance,
            "shrinkage": self.posterior.shrinkage,
            "gain": self.posterior.gain,
            "posterior_variance": self.posterior.sigma2,
            "rho_own": self.own,
            "rho_free": self.sensitivity**2 / (2.0 * self.posterior.variance),
            "correlation2": self.correlation2,
            "rho_marginals": self.marginal_own,
        }
        if self.area is not None and self.worst is not None:
            columns |= {"rho_area": self.area, "worst_record_area": self.worst}
        return columns


def own_rho(posterior: Posterior, sensitivity: Float64) -> Float64:
    """rho_k = Delta_k^2 c_kk / (2 D_k) (m,)."""
    return sensitivity**2 * posterior.gain / (2.0 * posterior.variance)


def free_rho(variance: Float64, sensitivity: Float64) -> float:
    """max_k Delta_k^2 / (2 D_k): bounds the joint draw for every model variance and design."""
    return float((sensitivity**2 / (2.0 * variance)).max())


def area_rho(posterior: Posterior, sensitivity: Float64) -> tuple[Float64, Int64]:
    """[max_k |M_ik| Delta_k]^2 / (2 sigma_i^2) (m,) and the place k that attains it (i itself in a tie).

    For i != k, |M_ik| Delta_k = |s_i . t_k| <= |s_i| |t_k| with s the posterior's factor and
    t_k = s_k Delta_k / D_k, so most areas need no look at the others. An area with sigma_i = 0 has M_i. = 0.
    """
    s = posterior.factor
    t = s * (sensitivity / posterior.variance)[:, None]
    shift = posterior.gain * sensitivity
    worst = np.arange(posterior.m, dtype=np.int64)
    length = np.sqrt((s * s).sum(axis=1))
    open_rows = np.flatnonzero(length * np.sqrt((t * t).sum(axis=1).max()) > shift)
    block = max(1, _BLOCK // posterior.m)
    for start in range(0, open_rows.size, block):
        rows = open_rows[start : start + block]
        reach = np.abs(s[rows] @ t.T)
        reach[np.arange(rows.size), rows] = shift[rows]
        best = reach.argmax(axis=1)
        top = reach[np.arange(rows.size), best]
        better = top > shift[rows]
        worst[rows[better]] = best[better]
        shift[rows] = np.maximum(top, shift[rows])
    live = posterior.sigma2 > 0
    rho = np.where(live, shift**2 / (2.0 * np.where(live, posterior.sigma2, 1.0)), 0.0)
    return rho, worst


def conservative_rho(posterior: Posterior, sensitivity: Any) -> Float64:
    """Theorem 2: S_y^2 / (2 sigma_i^2) (m,) with S_y = max Delta; for equal sampling variances alone.

    With equal D, M = (1 - B) I + B H and |h_ik| <= 1, so |M_ik| <= 1 and the mean moves by at most S_y. With
    unequal D that fails: X = (10, 1), D = (1, .01), A = .01 has M_12 = 3.32. Raises InputError then.
    """
    delta = positive(sensitivity, "sensitivity", posterior.m)
    d = posterior.variance
    if float(d.max() - d.min()) > _EQUAL * float(d.max()):
        raise InputError(
            "the bound S_y^2 / (2 sigma^2) is proved for equal sampling variances, and wrong for others",
            "sampling variance",
            "use the exact figures, or the bound free of the model variance",
        )
    if not bool((posterior.sigma2 > 0).all()):
        raise InputError("an area has posterior variance zero", "posterior", "use the exact figures")
    return float(delta.max()) ** 2 / (2.0 * posterior.sigma2)


def moving_rho(
    posterior: Posterior, sensitivity: Any, kind: Literal["joint", "marginals"] = "joint"
) -> tuple[float, tuple[int, int]]:
    """Rho of a draw when a record may move from area k to area l, and the worst pair (k, l); see `pairs`.

    With t_k = s_k Delta_k / D_k, s the posterior's factor. Joint: rho_k + rho_l + |t_k . t_l|, which is
    Delta_k Delta_l |Sigma_kl| / (D_k D_l); at most the sum of Delta^2 / (2 D) for any A and X, as Sigma <= D.
    Marginals: the squared shifts of all means add up, sum_i (M_ik delta_k + M_il delta_l)^2 / (2 sigma_i^2):
    rho_k (1 + r_k) in place of rho_k and, since Sigma_ik = g1_i 1[i = k] + s_i . s_k, the product
    sum_i Sigma_ik Sigma_il / sigma_i^2 = s_k' [(g1_k / sigma_k^2 + g1_l / sigma_l^2) I + W] s_l over D_k D_l,
    W = sum_i s_i s_i' / sigma_i^2. A move changes weight totals: take the sensitivities of
    `free_weight_sensitivity`. One area: its rho.
    """
    delta = positive(sensitivity, "sensitivity", posterior.m)
    own = own_rho(posterior, delta)
    t = posterior.factor * (delta / posterior.variance)[:, None]
    if kind == "joint":
        return worst_pair(own, t, t)
    live = posterior.sigma2 > 0
    sigma2 = np.where(live, posterior.sigma2, 1.0)
    middle = (posterior.factor / sigma2[:, None]).T @ posterior.factor
    kept = (posterior.g1 / sigma2)[:, None] * t
    right = np.hstack([kept + t @ middle, t])
    return worst_pair(own * (1.0 + posterior.correlation2_sum), np.hstack([t, kept]), right)
