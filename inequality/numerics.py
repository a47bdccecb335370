"""Logarithms of ratios and sums of positive numbers, with small and proven errors.

Here and in the modules above, u = 2^-53, and two things are assumed of the machine: double arithmetic rounds
to nearest, and numpy's `log`, `log1p` and `exp` are right to 4 units in the last place (8 u relative).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from pgsr.inequality.domain import Float64

Indices = NDArray[np.intp]

UNIT = 2.0**-53
_BLOCK = 1 << 15


def log_ratio(a: Float64 | float, b: Float64 | float) -> Float64:
    """log(a / b) for positive a, b: relative error at most 12 u, however close or far apart they are.

    The difference and the quotient put 2 u on log1p's argument z, and log1p(z) moves relatively by no more
    than z does; the rest is log1p itself. (log1p((a - b) / b) alone fails when a is much smaller than b.)
    """
    return log_ratio_shifted(0.0, a, b)


def log_ratio_shifted(s: Float64 | float, a: Float64 | float, b: Float64 | float) -> Float64:
    """log((s + a) / (s + b)) for positive a, b and s >= 0.

    Relative error at most 13 u, and e more if s has the relative error e.
    """
    difference = np.subtract(a, b)
    size: Float64 = np.log1p(np.abs(difference) / (s + np.minimum(a, b)))
    return np.copysign(size, difference)


def _corrected(sums: Float64, low: float) -> tuple[Float64, Float64]:
    """Running sums of a start and the one or more terms after it, and the corrections to add to them.

    `low` is a correction of the start.
    """
    running = np.cumsum(sums)
    before, after = running[:-1], running[1:]
    back = after - before
    errors = (before - (after - back)) + (sums[1:] - back)  # exact: Knuth's TwoSum
    errors[0] += low
    np.cumsum(errors, out=errors)
    return after, errors


def _running(x: Float64) -> Iterator[Float64]:
    """Running sums of the non-negative x (n,), a block at a time; see `prefix_sums`."""
    high = low = 0.0
    for first in range(0, x.size, _BLOCK):
        block = x[first : first + _BLOCK]
        sums = np.empty(block.size + 1)
        sums[0], sums[1:] = high, block
        after, errors = _corrected(sums, low)
        last, error = float(after[-1]), float(errors[-1])
        high = last + error
        low = error - (high - last)
        after += errors
        yield after


def prefix_sums(x: Float64) -> Float64:
    """(n + 1,) sums of the first 0, 1, ..., n of the non-negative x (n,): relative error at most 1.1 u.

    Running sums, corrected by the running sums of their rounding errors (Neumaier 1974). A sum s is rounded
    once, u s. Within a block of 2^15 the corrections stay below 2^15 u s, and each addition of one loses u
    of that: together n 2^15 u^2 s, below u s / 64 for n <= 2^32.
    """
    out = np.zeros(x.size + 1)
    first = 1
    for sums in _running(x):
        out[first : first + sums.size] = sums
        first += sums.size
    return out


def total(x: Float64, term: Callable[[Float64], Float64] | None = None) -> float:
    """The sum of x, or of `term` of each: error at most u of the sum and u / 32 of the sum of sizes.

    In each block of 2^15 numbers up to m, adding and subtracting a power of two s between 2^16 m and 2^17 m
    cuts them at multiples of 2 u s. The upper parts add up to less than s, hence exactly and in any order
    ([Rump2008], ExtractVector). The lower parts are at most u s, and summing them loses at most
    2^15 u 2^15 u s <= 2^-59 m. The parts of all blocks are added with one rounding (`math.fsum`).
    """
    return math.fsum(_parts(x, term))


def _parts(x: Float64, term: Callable[[Float64], Float64] | None = None) -> list[float]:
    """Numbers with the sum that `total` rounds."""
    parts: list[float] = []
    for first in range(0, x.size, _BLOCK):
        block = x[first : first + _BLOCK]
        block = block if term is None else term(block)
        size = max(float(block.max()), -float(block.min()))
        cut = math.ldexp(2.0 * _BLOCK, math.frexp(size)[1])
        upper = (block + cut) - cut
        parts += [float(upper.sum()), float((block - upper).sum())]
    return parts


class TopSums:
    """Sums of the smallest and of the largest of sorted incomes, free of subtraction: relative error 2.2 u.

    Holds them for n - `depth` incomes and more, which is all that ranks up to `depth` - 1 ask for.
    """

    def __init__(self, x: Float64, depth: int) -> None:
        self.depth = depth
        keep = max(x.size - depth, 0)
        rest = x.size - keep
        self._first = keep
        ends = min(rest, keep), max(rest, keep)
        middle = _parts(x[rest:keep])
        low = math.fsum(middle + _parts(x[: ends[0]]))
        high = math.fsum(middle + _parts(x[ends[1] :]))
        self._low = prefix_sums(np.append(low, x[keep:]))[1:]
        self._high = prefix_sums(np.append(high, x[:rest][::-1]))[1:]

    def smallest(self, count: Indices) -> Float64:
        """Sum of the `count` smallest incomes."""
        return self._low[count - self._first]

    def largest(self, count: Indices) -> Float64:
        """Sum of the `count` largest incomes."""
        return self._high[count - self._first]
