"""Confidential: estimates of the model variance A from direct estimates, by search that cannot get stuck.

All methods look at one number, A >= 0. REML and ML take the highest of all local maxima of the profile
likelihood: sign changes of the score on a grid, each refined by Brent's method, and A = 0. The grid is even
in log(A + min D), the scale on which the score varies, and ends where the score is proved negative. Signs
come from `scan` where it is sure of them, else from the QR factorisation; roots are those of the latter.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, get_args

import numpy as np

from pgsr.errors import InputError
from pgsr.sae.checks import Float64
from pgsr.sae.design import weighted_qr
from pgsr.sae.scan import QuickScores

Method = Literal["reml", "ml", "fh", "pr"]
"""reml: restricted maximum likelihood; ml: maximum likelihood; fh: Fay and Herriot's moment equation,
weighted residual sum of squares = m - p; pr: Prasad and Rao's (Hedges') moment estimate by least squares."""

METHODS: tuple[str, ...] = get_args(Method)
GRID_PER_DECADE = 16
_REACH = 1e-8
_NODES = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelVariance:
    """Confidential: an estimate of A. `value` >= 0; `at_zero` whether it was truncated or lies at 0.

    `maxima` local maxima were found (1 for moment estimates); `score` is the estimating equation at `value`:
    0 up to rounding inside, not above 0 at the edge.
    """

    value: float = field(repr=False)
    at_zero: bool = field(repr=False)
    maxima: int = field(repr=False)
    score: float = field(repr=False)


@dataclass(frozen=True, slots=True, eq=False)
class Profile:
    """Confidential: y (m,), D (m,) and X (m, p), checked before, seen as functions of the model variance."""

    y: Float64 = field(repr=False)
    d: Float64 = field(repr=False)
    x: Float64 = field(repr=False)

    def residuals(self, a: float) -> tuple[Float64, Float64, Float64, Float64]:
        """V (m,), U (m, p), R (p, p) and the whitened residuals V^-1/2 (y - X beta(A)) (m,)."""
        v = self.d + a
        u, r = weighted_qr(self.x, v)
        white = self.y / np.sqrt(v)
        rest = white - u @ (u.T @ white)
        return v, u, r, rest - u @ (u.T @ rest)

    def score(self, a: float, method: str) -> float:
        """The estimating equation at A = a.

        REML: half of sum res^2/V^2 - sum 1/V + sum x'Qx/V^2; ML: without the last term;
        FH: sum res^2/V - (m - p).
        """
        v, u, _, rest = self.residuals(a)
        if method == "fh":
            return float(rest @ rest - (v.size - self.x.shape[1]))
        kept = 1.0 - (u * u).sum(axis=1) if method == "reml" else 1.0
        return 0.5 * float(((rest * rest - kept) / v).sum())

    def log_likelihood(self, a: float, method: str) -> float:
        """Log-likelihood with beta profiled out; REML: the restricted one, up to a term free of A."""
        v, _, r, rest = self.residuals(a)
        return likelihood(v, r, rest, method)

    def least_squares(self) -> tuple[Float64, Float64]:
        """Orthonormal basis U (m, p) of the design, and residuals (m,) of unweighted least squares."""
        u, _ = weighted_qr(self.x, np.ones(self.d.size))
        rest = self.y - u @ (u.T @ self.y)
        rest -= u @ (u.T @ rest)
        return u, rest


def likelihood(v: Float64, r: Float64, rest: Float64, method: str) -> float:
    """The log-likelihood at V (m,), R (p, p) and whitened residuals (m,) of `Profile.residuals`."""
    total = float(np.log(2 * np.pi * v).sum() + rest @ rest)
    if method == "reml":
        total += 2 * float(np.log(np.abs(np.diag(r))).sum()) - r.shape[0] * float(np.log(2 * np.pi))
    return float(-total / 2)


def confidential_model_variance(profile: Profile, method: str) -> ModelVariance:
    """Confidential: A of `method`, at least 0. InputError for an unknown method or m <= p."""
    m, p = profile.x.shape
    if method not in METHODS:
        raise InputError("unknown method", "method", f"use {', '.join(METHODS)}")
    if m <= p:
        where = f"{m} areas, {p} columns of the design"
        raise InputError(
            "too few areas to estimate the model variance", where, "give more areas, or the model variance"
        )
    u, rest = profile.least_squares()
    squares = float(rest @ rest)
    if method == "pr":
        value = (squares - float((profile.d * (1.0 - (u * u).sum(axis=1))).sum())) / (m - p)
        return ModelVariance(value=max(value, 0.0), at_zero=value <= 0, maxima=1, score=min(value, 0.0))
    # Beyond A = RSS/(m - p) + max D the score of every method is negative (RSS of least squares).
    high = squares / (m - p) + float(profile.d.max())
    grid = _grid(float(profile.d.min()), high)
    search = _Search(profile=profile, quick=QuickScores(profile.d, u, rest), method=method)
    found = search.maxima(grid)
    best = found[0]
    if len(found) > 1:
        best = max(found, key=lambda a: profile.log_likelihood(a, method))
    return ModelVariance(value=best, at_zero=best == 0, maxima=len(found), score=search.score(best))


def _grid(smallest: float, high: float) -> Float64:
    """0 and points up to `high`, even in log(A + smallest)."""
    decades = np.log10((high + smallest) / smallest)
    grid = smallest * np.logspace(0.0, decades, max(int(decades * GRID_PER_DECADE) + 2, 8)) - smallest
    grid[0], grid[-1] = 0.0, high
    return grid


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Search:
    """Confidential: where the score passes from above 0 to below, that is, local maxima."""

    profile: Profile
    quick: QuickScores
    method: str
    known: dict[float, float] = field(default_factory=dict)

    def score(self, a: float) -> float:
        """The score by QR, computed once a point."""
        if a not in self.known:
            self.known[a] = self.profile.score(a, self.method)
        return self.known[a]

    def maxima(self, grid: Float64) -> list[float]:
        """A = 0 if the score is not above 0 there, and a root between any two points with signs + and -."""
        scores, sure = self.quick.at(grid, self.method)
        above = [
            bool(score > 0) if certain else self.score(float(a)) > 0
            for a, score, certain in zip(grid, scores, sure, strict=True)
        ]
        falls = [place for place in range(len(grid) - 1) if above[place] and not above[place + 1]]
        roots = [self._root(float(grid[place]), float(grid[place + 1])) for place in falls]
        return roots if above[0] else [0.0, *roots]

    def _root(self, left: float, right: float) -> float:
        """The root in an interval whose ends have signs + and -."""
        from scipy.optimize import brentq

        near = self._near(left, right)
        low, high = max(left, near * (1 - _REACH)), min(right, near * (1 + _REACH))
        before, after = self.score(low), self.score(high)
        if low < high and before > 0 >= after:
            # A chord this short has the root to working precision.
            return low + (high - low) * before / (before - after)
        if self.score(left) <= 0 or self.score(right) > 0:
            # The root is at an end, within rounding errors.
            return min((left, right), key=lambda a: abs(self.score(a)))
        rtol = 4 * float(np.finfo(float).eps)
        return float(brentq(self.score, left, right, xtol=1e-300, rtol=rtol, maxiter=500))

    def _near(self, left: float, right: float) -> float:
        """About where the root is: that of the polynomial through the quick scores at Chebyshev points."""
        from numpy.polynomial import chebyshev

        nodes = np.cos(np.pi * (np.arange(_NODES) + 0.5) / _NODES)
        middle, half = (left + right) / 2, (right - left) / 2
        scores, _ = self.quick.at(middle + half * nodes, self.method)
        if not np.isfinite(scores).all():
            return middle
        roots = chebyshev.chebroots(chebyshev.chebfit(nodes, scores, _NODES - 1))
        real = roots.real[(np.abs(roots.imag) < 1e-6) & (np.abs(roots.real) <= 1)]
        return float(middle + half * real[0]) if real.size else middle
