"""Distributions on the cells 0, 1, 2, ... as enclosures of their cumulative boundaries.

A uniform number U in [0, 1) falls into cell j when c_(j-1) <= U < c_j, where c_j is the probability of
the cells 0..j. Each class here gives integers L <= c_j 2^P <= H for any j and any precision P; that is
all that an exact inversion needs. A value k of a two-sided law is cell 0 for k = 0, cell 2k-1 for k > 0
and cell -2k for k < 0, so the cells stand for 0, +1, -1, +2, -2, ...
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Protocol

from pgsr.noise.exact import (
    Enclosure,
    ceil_div,
    clip_to_unit,
    complement,
    divide,
    exp_minus,
    multiply,
    powers,
    reduce_precision,
)


class Cells(Protocol):
    """A distribution on cells; `count` is their number, None for infinitely many."""

    @property
    def count(self) -> int | None:
        """Number of cells, None for infinitely many."""

    def enclosure(self, j: int, precision: int) -> Enclosure:
        """Integers L <= c_j 2^precision <= H."""

    def boundaries(self, precision: int) -> Iterator[Enclosure]:
        """The enclosures of c_0, c_1, c_2, ... in this order, cheaper than one by one."""


class TwoSidedGeometric:
    """P[X = k] = (1-a)/(1+a) a^|k| with a = exp(-t), on the cells 0, +1, -1, +2, -2, ...

    What lies beyond a cell: 1 - c_(2k-1) = a^k and 1 - c_(2k) = 2 a^(k+1) / (1 + a).
    """

    count = None

    def __init__(self, t: Fraction) -> None:
        self._t = t

    def enclosure(self, j: int, precision: int) -> Enclosure:
        """Integers L <= c_j 2^precision <= H."""
        guard = 16
        working = precision + guard
        power = exp_minus(self._t * (j // 2 + 1), working)
        if j % 2 == 0:
            power = _both_signs(power, exp_minus(self._t, working), working)
        return clip_to_unit(complement(reduce_precision(power, guard), precision), precision)

    def boundaries(self, precision: int) -> Iterator[Enclosure]:
        """The enclosures of c_0, c_1, c_2, ..."""
        guard = 16
        working = precision + guard
        ratio = exp_minus(self._t, working)
        for power in powers(self._t, working):  # a^1, a^2, ...: two boundaries from each
            for tail in (_both_signs(power, ratio, working), power):
                yield clip_to_unit(complement(reduce_precision(tail, guard), precision), precision)


def _both_signs(power: Enclosure, ratio: Enclosure, precision: int) -> Enclosure:
    """Enclosure of 2 a^k / (1 + a) from those of a^k and a."""
    one = 1 << precision
    return divide((2 * power[0], 2 * power[1]), (one + ratio[0], one + ratio[1]), precision)


class Geometric:
    """P[X = k] proportional to exp(-t k), k = 0, 1, 2, ..., or only k < `count` if that is given.

    c_j = 1 - exp(-t (j+1)), divided by 1 - exp(-t count) in the truncated case.
    """

    def __init__(self, t: Fraction, count: int | None = None) -> None:
        self._t = t
        self.count = count

    def enclosure(self, j: int, precision: int) -> Enclosure:
        """Integers L <= c_j 2^precision <= H."""
        working = precision + self._guard
        return self._boundary(j, exp_minus(self._t * (j + 1), working), self._whole(working), precision)

    def boundaries(self, precision: int) -> Iterator[Enclosure]:
        """The enclosures of c_0, c_1, c_2, ..."""
        working = precision + self._guard
        whole = self._whole(working)
        for j, power in enumerate(powers(self._t, working)):
            if j == self.count:
                return
            yield self._boundary(j, power, whole, precision)

    @property
    def _guard(self) -> int:
        """Bits that the division by 1 - exp(-t count) may lose, and 16 more."""
        if self.count is None:
            return 16
        one_over_tm = (1 / (self._t * self.count)).__ceil__()
        return 16 + one_over_tm.bit_length()

    def _whole(self, working: int) -> Enclosure | None:
        """Enclosure of 1 - exp(-t count); None if there is nothing to divide by."""
        if self.count is None:
            return None
        return complement(exp_minus(self._t * self.count, working), working)

    def _boundary(self, j: int, power: Enclosure, whole: Enclosure | None, precision: int) -> Enclosure:
        """Enclosure of c_j from that of exp(-t (j+1)) at the working precision."""
        if self.count is not None and j >= self.count - 1:
            return 1 << precision, 1 << precision  # the last cell ends at 1
        guard = self._guard
        boundary = complement(power, precision + guard)
        if whole is not None:
            boundary = divide((max(boundary[0], 0), boundary[1]), whole, precision + guard)
        return clip_to_unit(reduce_precision(boundary, guard), precision)


class Gaussian:
    """P[X = k] proportional to g_k = exp(-k^2 / (2 sigma2)): two-sided cells, or magnitudes only.

    The normaliser is a finite sum plus a tail bound: g_(k+1) / g_k = exp(-(2k+1) / (2 sigma2)) falls
    with k, so the sum of g_k over k >= K is at most g_K / (1 - exp(-(2K+1) / (2 sigma2))).
    One enclosure costs about sigma sqrt(2 precision) multiplications.
    """

    count = None
    _guard = 96

    def __init__(self, sigma2: Fraction, *, two_sided: bool) -> None:
        self._sigma2 = sigma2
        self._two_sided = two_sided

    def enclosure(self, j: int, precision: int) -> Enclosure:
        """Integers L <= c_j 2^precision <= H."""
        wanted: Enclosure | None = None
        total: Enclosure = (0, 0)
        for cell, total in enumerate(self._sums(precision + self._guard)):
            if cell == j:
                wanted = total
        return self._boundary(total if wanted is None else wanted, total, precision)

    def boundaries(self, precision: int) -> Iterator[Enclosure]:
        """The enclosures of c_0, c_1, c_2, ... as far as this precision can tell them from 1."""
        sums = list(self._sums(precision + self._guard))
        for partial in sums[:-1]:
            yield self._boundary(partial, sums[-1], precision)

    def _boundary(self, partial: Enclosure, total: Enclosure, precision: int) -> Enclosure:
        """Enclosure of c_j = (sum over the cells 0..j) / (sum over all cells)."""
        low = (partial[0] << precision) // total[1]
        high = ceil_div(partial[1] << precision, total[0])
        return clip_to_unit((low, high), precision)

    def _sums(self, working: int) -> Iterator[Enclosure]:
        """Enclosures of the sums of the weights of the cells 0..j; the last one is that of all cells.

        The last enclosure also holds for every cell that has no enclosure of its own: its lower end
        is the sum without the tail, its upper end the sum with the tail bound.
        """
        one = 1 << working
        weight: Enclosure = (one, one)  # g_k
        ratio = exp_minus(1 / (2 * self._sigma2), working)  # g_(k+1) / g_k
        ratio_step = exp_minus(1 / self._sigma2, working)
        low, high = 0, 0
        k = 0
        negligible = 1 << (self._guard // 2)
        while weight[1] > negligible:
            signs = 2 if self._two_sided and k > 0 else 1
            for _ in range(signs):
                low += weight[0]
                high += weight[1]
                yield low, high
            weight = multiply(weight, ratio, working)
            ratio = multiply(ratio, ratio_step, working)
            k += 1
        tail = ceil_div(weight[1] << working, one - ratio[1])
        yield low, high + (2 * tail if self._two_sided else tail)
