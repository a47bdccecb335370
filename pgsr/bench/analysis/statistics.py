"""Intervals and paired tests for few repetitions: exact where that can be, and never narrower for it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Reals = NDArray[np.float64]
Interval = tuple[float, float]

LEVEL = 0.95
_SEED = 20_150_401
"""Resampling draws the same each time: a table must come out the same again."""
_RESAMPLES = 9_999
_LEAST = 6
"""With n values the range misses the median with probability 2 / 2^n: below 0.05 from here on."""
_ALL_SIGNS = 16
"""Up to so many pairs all 2^n choices of signs are gone through."""
_EXACT_RANKS = 200


def mean_interval(values: Sequence[float], level: float = LEVEL) -> Interval | None:
    """Student's interval of the mean; None for fewer than two values."""
    if len(values) < 2:
        return None
    from scipy.stats import t

    found = np.asarray(values, float)
    n = len(found)
    half = float(t.ppf((1 + level) / 2, n - 1)) * float(found.std(ddof=1)) / math.sqrt(n)
    return float(found.mean()) - half, float(found.mean()) + half


def median_interval(values: Sequence[float], level: float = LEVEL) -> Interval | None:
    """Interval of the median between two order statistics, for any law of the values.

    With k values cut off at either end it holds the median with probability at least
    1 - 2 P[Binomial(n, 1/2) <= k - 1]. None if even the extremes do not suffice (fewer than 6 values at
    0.95).
    """
    from scipy.stats import binom

    ordered = sorted(values)
    n = len(ordered)
    k = 0
    while k < n // 2 and 2 * float(binom.cdf(k, n, 0.5)) <= 1 - level:
        k += 1
    return None if k == 0 else (float(ordered[k - 1]), float(ordered[n - k]))


def share_interval(hits: int, n: int, level: float = LEVEL) -> Interval:
    """Interval of a probability from `hits` of `n` independent trials (Clopper and Pearson 1934).

    It holds the probability at least as often as `level` says, for any n.
    """
    from scipy.stats import beta

    tail = (1 - level) / 2
    lower = float(beta.ppf(tail, hits, n - hits + 1)) if hits else 0.0
    upper = float(beta.ppf(1 - tail, hits + 1, n - hits)) if hits < n else 1.0
    return lower, upper


def bootstrap_interval(
    values: Sequence[float], *, level: float = LEVEL, resamples: int = _RESAMPLES
) -> Interval | None:
    """Expanded percentile interval of the mean; None for fewer than two values.

    Plain percentiles are too narrow for few values; the tails are those of Student's law with n - 1 degrees,
    times sqrt(n / (n - 1)) (Hesterberg, The American Statistician 69, 2015, section 5.1). Means of resamples
    never leave the range of the sample, which misses the middle of a law too often if there are fewer than 6
    values: then it is Student's interval.
    """
    n = len(values)
    if n < _LEAST:
        return mean_interval(values, level)
    rng = np.random.default_rng(_SEED)
    found = np.asarray(values, float)
    means = found[rng.integers(0, n, (resamples, n))].mean(axis=1)
    lower, upper = np.quantile(means, _tails(n, level))
    return float(lower), float(upper)


def stratified_interval(
    groups: Sequence[Sequence[float]], *, level: float = LEVEL, resamples: int = _RESAMPLES
) -> Interval | None:
    """Interval of the mean of the means of some fixed groups, each counted alike, by bootstrap within them.

    Deviations are widened by sqrt(n / (n - 1)) in each group, the tails are those of Student's law with the
    degrees of all groups together. None if a group has fewer than two values, or there is none.
    """
    if not groups or min(len(group) for group in groups) < 2:
        return None
    from scipy.stats import norm, t

    rng = np.random.default_rng(_SEED)
    means = np.zeros(resamples)
    for group in groups:
        found, n = np.asarray(group, float), len(group)
        drawn = found[rng.integers(0, n, (resamples, n))].mean(axis=1)
        means += (found.mean() + math.sqrt(n / (n - 1)) * (drawn - found.mean())) / len(groups)
    degrees = sum(len(group) - 1 for group in groups)
    tail = float(norm.cdf(-float(t.ppf((1 + level) / 2, degrees))))
    lower, upper = np.quantile(means, (tail, 1 - tail))
    return float(lower), float(upper)


def ratio_of_means_interval(
    above: Sequence[float], below: Sequence[float], *, level: float = LEVEL, resamples: int = _RESAMPLES
) -> Interval | None:
    """Interval of mean(above) / mean(below), independent samples of values >= 0, by bootstrap.

    With fewer than 6 values on a side Student's interval of the logarithm instead, by the delta method and
    with the degrees of the smaller sample. None for fewer than two values, or if `below` may sum to 0.
    """
    n = min(len(above), len(below))
    if n < 2:
        return None
    samples = np.asarray(above, float), np.asarray(below, float)
    if n < _LEAST:
        return _delta_interval(*samples, level)
    rng = np.random.default_rng(_SEED)
    means = [
        sample[rng.integers(0, len(sample), (resamples, len(sample)))].mean(axis=1) for sample in samples
    ]
    if not means[1].all():
        return None
    lower, upper = np.quantile(means[0] / means[1], _tails(n, level))
    return float(lower), float(upper)


def _delta_interval(above: Reals, below: Reals, level: float) -> Interval | None:
    from scipy.stats import t

    if above.mean() <= 0 or below.mean() <= 0:
        return None
    spread = sum(float(s.var(ddof=1)) / len(s) / float(s.mean()) ** 2 for s in (above, below))
    half = float(t.ppf((1 + level) / 2, min(len(above), len(below)) - 1)) * math.sqrt(spread)
    ratio = float(above.mean() / below.mean())
    return ratio * math.exp(-half), ratio * math.exp(half)


def _tails(n: int, level: float) -> Interval:
    """The two quantiles of the expanded percentile interval."""
    from scipy.stats import norm, t

    tail = float(norm.cdf(-math.sqrt(n / (n - 1)) * float(t.ppf((1 + level) / 2, n - 1))))
    return tail, 1 - tail


def signed_rank(differences: Sequence[float]) -> float | None:
    """Two-sided p value of Wilcoxon's signed-rank test; None without pairs, 1 if all differences are 0.

    Zeros are left out, ties share their ranks. Up to 200 pairs it is exact given the ranks, beyond that by
    the normal law.
    """
    if not len(differences):
        return None
    found = _without_zeros(differences)
    n = len(found)
    if n == 0:
        return 1.0
    from scipy.stats import rankdata, wilcoxon

    if n > _EXACT_RANKS:
        return float(wilcoxon(found, method="approx").pvalue)
    # Twice the ranks are whole, shared ones too.
    ranks = np.rint(2 * rankdata(np.abs(found))).astype(int)
    ways = np.zeros(int(ranks.sum()) + 1)
    ways[0] = 1.0
    for rank in ranks:
        more = np.zeros_like(ways)
        more[rank:] = ways[: len(ways) - rank]
        ways = (ways + more) / 2
    positive = int(ranks[found > 0].sum())
    low, high = float(ways[: positive + 1].sum()), float(ways[positive:].sum())
    return min(1.0, 2 * min(low, high))


def sign_flip(differences: Sequence[float]) -> float | None:
    """Two-sided p value of the mean difference if each pair could as well be the other way round.

    All 2^n choices of signs up to 16 pairs that differ, else 9,999 random ones, the one found counted as
    well. None without pairs, 1 if all differences are 0.
    """
    if not len(differences):
        return None
    found = _without_zeros(differences)
    n = len(found)
    if n == 0:
        return 1.0
    seen = abs(float(found.sum())) * (1 - 1e-12)
    if n <= _ALL_SIGNS:
        sums = np.zeros(1)
        for value in found:
            sums = np.concatenate([sums + value, sums - value])
        return float((np.abs(sums) >= seen).mean())
    rng = np.random.default_rng(_SEED)
    signs = rng.integers(0, 2, (_RESAMPLES, n), dtype=np.int8) * 2 - 1
    return float((1 + (np.abs(signs @ found) >= seen).sum()) / (_RESAMPLES + 1))


def _without_zeros(differences: Sequence[float]) -> Reals:
    found: Reals = np.asarray(differences, float)
    kept: Reals = found[found != 0]
    return kept


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """The p values adjusted for that so many were looked at (Holm 1979); None stays and does not count."""
    places = [place for place, p in enumerate(p_values) if p is not None]
    ordered = sorted(places, key=lambda place: p_values[place] or 0.0)
    adjusted: list[float | None] = [None] * len(p_values)
    reached = 0.0
    for rank, place in enumerate(ordered):
        p = p_values[place]
        assert p is not None
        reached = max(reached, min(1.0, (len(ordered) - rank) * p))
        adjusted[place] = reached
    return adjusted


def geometric_mean(values: Sequence[float], shift: float = 0.0) -> float | None:
    """Exp of the mean logarithm of value + shift, minus shift; None without values or with one <= 0."""
    if not values or min(values) + shift <= 0:
        return None
    return math.exp(math.fsum(math.log(value + shift) for value in values) / len(values)) - shift


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A straight line by least squares: y = intercept + slope x."""

    slope: float
    intercept: float
    lower: float
    upper: float
    """The interval of the slope, by Student's law with n - 2 degrees."""
    r2: float


def fit_line(x: Sequence[float], y: Sequence[float], level: float = LEVEL) -> Line | None:
    """Least squares; None for fewer than three points or fewer than three different x."""
    if len(set(x)) < 3:
        return None
    from scipy.stats import linregress, t

    found: Any = linregress(x, y)
    half = float(t.ppf((1 + level) / 2, len(x) - 2)) * float(found.stderr)
    slope = float(found.slope)
    return Line(
        slope=slope,
        intercept=float(found.intercept),
        lower=slope - half,
        upper=slope + half,
        r2=float(found.rvalue) ** 2,
    )
