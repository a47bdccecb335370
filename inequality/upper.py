"""Algorithm U: a private upper bound of the incomes on a public finite grid, in exact integers.

Public: grid U_0 < ... < U_J, number of records n, T0 = n + ceil(1/(epsilon_tau + epsilon_Q)), ratios
r >= exp(-epsilon_tau) and q >= exp(-epsilon_Q), both rounded up and below 1. c_j = #{i : x_i <= U_j}.
    tau = T0 + K with P[K = k] = (1 - r) r^k;  Q_j independent with P[Q_j >= m] = q^m.
    Released is U_j for the first j < J with Q_j >= max(tau - c_j, 0); U_J if there is none.

Cost. Replacing one income changes all c_j by 0 or 1 in one direction; let c' = c + d with d in {0,1}^J, and
p(tau, c) = q^max(tau - c, 0), so P[j | c] = sum_k (1-r) r^k prod_{i<j} (1 - p(T0+k, c_i)) p(T0+k, c_j).
(i)  P[j | c] <= P[j | c'] / (r q): compare k with k + 1. p(T0+k+1, c_i + d_i) <= p(T0+k, c_i), so no factor
     of the product falls; p(T0+k+1, c_j + d_j) >= q p(T0+k, c_j); and r^(k+1) = r r^k.
(ii) P[j | c'] <= P[j | c] / q: same k. p(., c_i + d_i) >= p(., c_i), so no factor of the product falls when
     c' becomes c, and p(., c_j + d_j) <= p(., c_j) / q.
For the last j there is no factor p, so the bounds hold a fortiori. The loss is at most log(1/(r q)), which is
at most epsilon_tau + epsilon_Q.

The threshold lies above n, so the first grid points that cover all incomes are passed with probability about
q^(tau - n) each: P(m or more steps too far) ~ m^-(epsilon_tau/epsilon_Q). The default epsilon_tau = 2
epsilon_Q gives m^-2; an equal split m^-1, of infinite mean on an endless grid.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgsr.errors import InputError
from pgsr.inequality.draws import geometrics
from pgsr.inequality.weights import ratio_numerator
from pgsr.noise import BitSource
from pgsr.privacy import Number, as_fraction

Float64 = NDArray[np.float64]

_MOST_POINTS = 1_000_000
_SMALLEST_STEP = Fraction(1, 10_000)
_SMALLEST_EPSILON = Fraction(1, 10_000)
_LARGEST_EPSILON = 64
_MOST_TRIALS = 1_000_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class UpperGrid:
    """The public candidates for the upper bound: first, first * ratio, first * ratio^2, ..., `count` of them.

    first, ratio exact; each point is the double nearest to the one before times the ratio.
    Raises InputError for first <= 0, ratio < 1.0001, count outside 2..1,000,000, and points beyond doubles.
    """

    first: Fraction
    ratio: Fraction
    count: int
    values: Float64 = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        put = object.__setattr__
        first, ratio = as_fraction(self.first, "grid first"), as_fraction(self.ratio, "grid ratio")
        put(self, "first", first)
        put(self, "ratio", ratio)
        if first <= 0 or ratio < 1 + _SMALLEST_STEP:
            raise InputError("first is not positive or ratio below 1.0001", "grid", "give a rising grid")
        count: Any = self.count  # callers may not check types
        whole = isinstance(count, int) and not isinstance(count, bool)
        if not whole or not 2 <= count <= _MOST_POINTS:
            raise InputError(f"not a whole number in 2..{_MOST_POINTS}", "grid count", "give another")
        put(self, "values", _geometric(first, ratio, self.count))

    @classmethod
    def spanning(cls, first: Number, last: Number, ratio: Number = "51/50") -> UpperGrid:
        """The grid from `first` to the first point that is not below `last`."""
        start, end, step = (
            as_fraction(value, f"grid {what}")
            for value, what in ((first, "first"), (last, "last"), (ratio, "ratio"))
        )
        if not 0 < start < end or step < 1 + _SMALLEST_STEP:
            raise InputError("last is not above first, or ratio below 1.0001", "grid", "give a rising grid")
        count, point = 1, start
        while point < end and count <= _MOST_POINTS:
            try:
                point = Fraction(float(point * step))
            except OverflowError:
                raise InputError(
                    "last is beyond the range of doubles", "grid", "give a smaller one"
                ) from None
            count += 1
        return cls(first=start, ratio=step, count=max(count, 2))

    def __str__(self) -> str:
        return f"{self.count} points from {self.first}, each {self.ratio} times the one before"


def _geometric(first: Fraction, ratio: Fraction, count: int) -> Float64:
    """The points as doubles; InputError beyond the largest."""
    try:
        points = [float(first)]
        for _ in range(count - 1):
            points.append(float(Fraction(points[-1]) * ratio))
    except OverflowError:
        points = [math.inf]
    values = np.array(points, dtype=np.float64)
    if not np.isfinite(values).all() or not (np.diff(values) > 0).all() or values[0] < np.finfo(float).tiny:
        raise InputError("the points leave the range of doubles", "grid", "give fewer points")
    values.flags.writeable = False
    return values


@dataclass(frozen=True, slots=True, kw_only=True)
class PrivateUpper:
    """A private upper bound on `grid` at `epsilon`, of which `epsilon_tau` goes to the threshold.

    `epsilon_tau` is 2/3 of epsilon if not given; the rest is `epsilon_queries`. Raises InputError for parts
    outside 0.0001..64.
    """

    grid: UpperGrid
    epsilon: Fraction
    epsilon_tau: Fraction | None = None
    epsilon_queries: Fraction = field(init=False)
    threshold_ratio: int = field(init=False, repr=False)
    query_ratio: int = field(init=False, repr=False)

    def __post_init__(self) -> None:
        put = object.__setattr__
        if not isinstance(self.grid, UpperGrid):
            raise InputError("not a grid", "grid", "use UpperGrid")
        epsilon = as_fraction(self.epsilon, "epsilon of the upper bound")
        tau = 2 * epsilon / 3 if self.epsilon_tau is None else as_fraction(self.epsilon_tau, "epsilon_tau")
        for part in (tau, epsilon - tau):
            if not _SMALLEST_EPSILON <= part <= _LARGEST_EPSILON:
                raise InputError(
                    "a part of its epsilon is not between 0.0001 and 64", "upper bound", "give more epsilon"
                )
        if self.grid.count > _MOST_TRIALS * (epsilon - tau):
            raise InputError(
                "too many candidates for so little epsilon", "grid", "give fewer or more epsilon"
            )
        put(self, "epsilon", epsilon)
        put(self, "epsilon_tau", tau)
        put(self, "epsilon_queries", epsilon - tau)
        put(self, "threshold_ratio", ratio_numerator(tau))
        put(self, "query_ratio", ratio_numerator(epsilon - tau))

    def threshold(self, n: int) -> int:
        """T0 = n + ceil(1/epsilon)."""
        return n + math.ceil(1 / self.epsilon)

    def confidential_counts(self, x: Float64) -> NDArray[np.int64]:
        """CONFIDENTIAL: c_j = #{x_i <= U_j} for all grid points but the last, (J,) int64."""
        first_above = np.searchsorted(self.grid.values, x, side="left")
        return np.cumsum(np.bincount(first_above, minlength=self.grid.count + 1))[: self.grid.count - 1]

    def draw(self, x: Float64, rng: BitSource) -> int:
        """The position in the grid of the released bound, for incomes x (n,)."""
        return self.draw_from(self.confidential_counts(x), len(x), rng)

    def draw_from(self, counts: NDArray[np.int64], n: int, rng: BitSource) -> int:
        """The same from the `confidential_counts` of n incomes, for those who draw more than once."""
        tau = self.threshold(n) + int(geometrics(self.threshold_ratio, 1, rng)[0])
        queries = geometrics(self.query_ratio, len(counts), rng)
        crossed = np.flatnonzero(queries >= np.maximum(tau - counts, 0))
        return int(crossed[0]) if crossed.size else self.grid.count - 1
