"""Expected error of noisy counts by level, from public parameters: what a dry run shows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgsr.hierarchy import Hierarchy
from pgsr.noise import DiscreteGaussian, DiscreteLaplace, NoiseLaw

_NODES = 24
"""Nodes of the Gauss rule on each octave of the integral."""
_OCTAVES = 30
"""Octaves below the width of the integrand: what is left out is 2^-30 of a range where it is flat."""
_NO_WRAP = 4
"""From this sigma^2 on the Fourier series of the Gaussian has one term in double precision."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LevelError:
    """One level: its number of cells (regions times sizes), its share of the budget, its noise.

    Expected errors before post-processing: `absolute` of one measured number (a count in Model 1, a
    cumulative count in Model 2); `l1` of all counts of the level, which in Model 2 are differences of
    measured numbers; `emd` of all cumulative counts, which in Model 1 are sums of measured numbers.
    All are None for a level that is not measured, and 0 for one that is published exactly.
    """

    level: str
    cells: int
    share: Fraction
    noise: str
    absolute: float | None
    l1: float | None
    emd: float | None

    def to_dict(self) -> dict[str, Any]:
        """Plain record; the share as text."""
        record = {name: getattr(self, name) for name in self.__dataclass_fields__}
        record["share"] = str(self.share)
        return record


def expected_errors(
    hierarchy: Hierarchy,
    width: int,
    shares: Sequence[Fraction],
    laws: Sequence[NoiseLaw | None],
    invariant_levels: Sequence[str],
    *,
    cumulative: bool = False,
) -> tuple[LevelError, ...]:
    """One `LevelError` a level, root first; `width` is the number of sizes."""
    errors = []
    regions = np.diff(hierarchy.level_start).tolist()
    for level, (name, law) in enumerate(zip(hierarchy.level_names, laws, strict=True)):
        found: list[float] | list[None]
        if law is not None:
            noise, found = law.name, list(_row_errors(law, width, cumulative))
        elif name in invariant_levels:
            noise, found = "none (published exactly)", [0.0, 0.0, 0.0]
        else:
            noise, found = "none (not measured)", [None, None, None]
        absolute, l1, emd = found
        errors.append(
            LevelError(
                level=name,
                cells=regions[level] * width,
                share=shares[level],
                noise=noise,
                absolute=absolute,
                l1=None if l1 is None else l1 * regions[level],
                emd=None if emd is None else emd * regions[level],
            )
        )
    return tuple(errors)


def _row_errors(law: NoiseLaw, width: int, cumulative: bool) -> tuple[float, float, float]:
    """Expected error of one measured number, and of a row of `width`: of its counts, of its sums."""
    absolute = expected_absolute(law)
    if not cumulative:
        return absolute, width * absolute, expected_absolute_sums(law, 1, width)
    # The first count is measured; every other one is a difference of two independent numbers.
    differences = (width - 1) * expected_absolute_sums(law, 2, 2) if width > 1 else 0.0
    return absolute, absolute + differences, width * absolute


def expected_absolute(law: NoiseLaw) -> float:
    """E|X| of a law.

    Discrete Laplace: 2a/(1 - a^2) = 1/sinh(1/scale). Discrete Gaussian: summed, from variance 400 on by
    Euler and Maclaurin, sqrt(2/pi) (sigma - 1/(12 sigma)). Any other law: its standard deviation,
    an upper bound.
    """
    if isinstance(law, DiscreteLaplace):
        t = float(1 / law.scale)
        return 1 / math.sinh(t) if t < 700 else 0.0
    if isinstance(law, DiscreteGaussian):
        sigma2 = float(law.sigma2)
        sigma = math.sqrt(sigma2)
        if sigma2 >= 400:
            return math.sqrt(2 / math.pi) * (sigma - 1 / (12 * sigma))
        last = math.ceil(40 * sigma) + 1
        return math.fsum(2 * k * law.probability(k) for k in range(1, last))
    return math.sqrt(law.variance)


def expected_absolute_sums(law: NoiseLaw, first: int, last: int) -> float:
    """Sum over m = first..last of E|X_1 + ... + X_m| of independent draws (signs do not matter).

    With f the law's Fourier series, a whole number k has |k| = (1/pi) int_0^pi (1 - cos kt)/(1 - cos t) dt,
    so E|X_1 + ... + X_m| = (1/pi) int_0^pi (1 - f^m)/(1 - cos t) dt, integrated octave by octave. Relative
    error below 1e-6. Laws other than the discrete Laplace and Gaussian: sqrt(m variance), an upper bound.
    """
    if law.variance == 0:
        return 0.0
    if not isinstance(law, (DiscreteLaplace, DiscreteGaussian)):
        return math.fsum(math.sqrt(m * law.variance) for m in range(first, last + 1))
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    finest = math.log2(1 + math.sqrt(last * law.variance))
    ends = np.append(0.0, math.pi * 2.0 ** -np.arange(math.ceil(finest) + _OCTAVES, -1, -1.0))
    half = np.diff(ends)[:, None] / 2
    t = (ends[:-1, None] + half * (1 + nodes)).ravel()
    weight = (half * weights).ravel()
    gap = _series_gap(law, t)
    log_f = np.log1p(-np.minimum(gap, 1 - 2.0**-53))
    # The sum of 1 - f^m is (last - first + 1) - f^first (1 - f^count)/(1 - f); for small gaps it cancels.
    count = last - first + 1
    mean = count * (first + last) / 2
    closed = count + np.exp(first * log_f) * np.expm1(count * log_f) / np.where(gap > 0, gap, 1.0)
    summed = np.where(last * gap < 1e-5, mean * gap, closed)
    return float((weight * summed / (2 * np.sin(t / 2) ** 2)).sum() / math.pi)


def _series_gap(law: DiscreteLaplace | DiscreteGaussian, t: NDArray[np.float64]) -> NDArray[np.float64]:
    """1 - E cos(tX) for 0 <= t <= pi, without cancellation at small t."""
    if isinstance(law, DiscreteLaplace):
        # (1 - a)^2 / (1 - 2a cos t + a^2), with 2 sinh(1/(2 scale)) = (1 - a)/sqrt(a).
        wave = np.sin(t / 2) ** 2
        return np.asarray(wave / (math.sinh(float(1 / (2 * law.scale))) ** 2 + wave))
    sigma2 = float(law.sigma2)
    if sigma2 >= _NO_WRAP:
        return np.asarray(-np.expm1(-sigma2 * t**2 / 2))
    gap = np.zeros_like(t)
    for k in range(1, 40):
        gap += 4 * law.probability(k) * np.sin(k * t / 2) ** 2
    return gap
