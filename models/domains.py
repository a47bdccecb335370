"""What bounds allow each entry, with those of its whole subtree: one pass up the tree."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from pgsr.levelorder import sum_children

if TYPE_CHECKING:
    from pgsr.models.problem import Problem

Int64 = NDArray[np.int64]

_SATURATED = 2**61


def domains(problem: Problem) -> tuple[Int64, Int64]:
    """Smallest and largest value of every entry that bounds in its subtree allow, (R, N) each.

    The total is an upper bound everywhere; sums above 2^61 are cut there.
    """
    low = np.zeros(problem.target.shape, dtype=np.int64)
    if problem.lower is not None:
        np.maximum(low, problem.lower, out=low)
    high = np.full(problem.target.shape, problem.total, dtype=np.int64)
    if problem.upper is not None:
        np.minimum(high, problem.upper, out=high)
    starts = problem.level_start
    for first, last in zip(starts[-2::-1], starts[:0:-1], strict=True):
        inner = problem.child_start[first + 1 : last + 1] > problem.child_start[first:last]
        if not inner.any():
            continue
        sums_low = _saturating_sums(problem.child_start, low, first, last)
        sums_high = _saturating_sums(problem.child_start, high, first, last)
        low[first:last][inner] = np.maximum(low[first:last][inner], sums_low[inner])
        high[first:last][inner] = np.minimum(high[first:last][inner], sums_high[inner])
    return low, high


def _saturating_sums(child_start: Int64, values: Int64, first: int, last: int) -> Int64:
    """Sums over children, cut at 2^61 where they would leave 64 bits; negative values stay exact."""
    sums = sum_children(child_start, values, first, last)
    begin, end = int(child_start[first]), int(child_start[last])
    if end > begin and int(values[begin:end].max()) * (end - begin) >= _SATURATED:
        floats = np.zeros(sums.shape)
        starts = child_start[first : last + 1]
        inner = np.flatnonzero(starts[1:] > starts[:-1])
        block = values[begin:end].astype(np.float64)
        floats[inner] = np.add.reduceat(block, starts[inner] - begin, axis=0)
        sums[floats >= _SATURATED] = _SATURATED
    return sums
