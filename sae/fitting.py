"""Confidential: estimates of the model variance A from direct estimates, by search that cannot get stuck.

All methods look at one number, A >= 0. REML and ML take the highest of all local maxima of the profile
likelihood: sign changes of the score on a grid, each refined by Brent's method, and A = 0. The grid is even
in log(A + min D), the scale on which the score varies, and ends where the score is proved negative.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, get_args

import numpy as np

from pgsr.errors import InputError
from pgsr.sae.checks import Float64
from pgsr.sae.design import weighted_qr

Method = Literal["reml", "ml", "fh", "pr"]
"""reml: restricted maximum likelihood; ml: maximum likelihood; fh: Fay and Herriot's moment equation,
weighted residual sum of squares = m - p; pr: Prasad and Rao's (Hedges') moment estimate by least squares."""

METHODS: tuple[str, ...] = get_args(Method)
GRID_PER_DECADE = 16


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
        total = float(np.log(2 * np.pi * v).sum() + rest @ rest)
        if method == "reml":
            total += 2 * float(np.log(np.abs(np.diag(r))).sum()) - self.x.shape[1] * float(np.log(2 * np.pi))
        return float(-total / 2)

    def least_squares(self) -> tuple[float, Float64]:
        """Residual sum of squares and leverages h_ii (m,) of unweighted least squares."""
        u, _ = weighted_qr(self.x, np.ones(self.d.size))
        rest = self.y - u @ (u.T @ self.y)
        rest -= u @ (u.T @ rest)
        return float(rest @ rest), (u * u).sum(axis=1)


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
    squares, leverages = profile.least_squares()
    if method == "pr":
        value = (squares - float((profile.d * (1.0 - leverages)).sum())) / (m - p)
        return ModelVariance(value=max(value, 0.0), at_zero=value <= 0, maxima=1, score=min(value, 0.0))
    # Beyond A = RSS/(m - p) + max D the score of every method is negative (RSS of least squares).
    high = squares / (m - p) + float(profile.d.max())
    at_zero = profile.score(0.0, method)
    found = [] if at_zero > 0 else [0.0]
    grid = np.array([0.0, high]) if method == "fh" else _grid(float(profile.d.min()), high)
    found += _roots(profile, method, grid, at_zero)
    best = found[0]
    if len(found) > 1:
        best = max(found, key=lambda a: profile.log_likelihood(a, method))
    return ModelVariance(value=best, at_zero=best == 0, maxima=len(found), score=profile.score(best, method))


def _grid(smallest: float, high: float) -> Float64:
    """0 and points up to `high`, even in log(A + smallest)."""
    decades = np.log10((high + smallest) / smallest)
    grid = smallest * np.logspace(0.0, decades, max(int(decades * GRID_PER_DECADE) + 2, 8)) - smallest
    grid[0], grid[-1] = 0.0, high
    return grid


def _roots(profile: Profile, method: str, grid: Float64, at_zero: float) -> list[float]:
    """Where the score passes from above 0 to below between points of `grid`: local maxima inside."""
    from scipy.optimize import brentq

    scores = [at_zero, *(profile.score(float(a), method) for a in grid[1:])]
    roots = []
    for left, right, before, after in zip(grid, grid[1:], scores, scores[1:], strict=False):
        if before > 0 >= after:
            ends, rtol = (float(left), float(right)), 4 * float(np.finfo(float).eps)
            roots.append(brentq(profile.score, *ends, args=(method,), xtol=1e-300, rtol=rtol, maxiter=500))
    return roots
