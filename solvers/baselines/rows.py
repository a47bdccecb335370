"""Isotonic regression of many rows, on whole numbers between 0 and a cap, by squares or absolute values."""

from __future__ import annotations

from heapq import heappop, heappush

import numpy as np
from numba import njit

from pgsr.models.problem import Float64, Int64
from pgsr.solvers.native.splitrows import FIT, LINES, ROW, pool_free


def fit_squares(target: Int64, last: Int64, cap: int) -> Int64:
    """Non-decreasing whole rows in [0, cap] nearest to the rows of `target` (R, N) by squares.

    `last` (R,): the row's last entry, which the others then do not exceed, or -1 if it is free. Pooled
    means are rounded to nearest, which is optimal on whole numbers. O(R N).
    """
    out = np.empty_like(target)
    _squares(target, last, float(cap), out)
    return out


def fit_absolutes(target: Int64, last: Int64, cap: int) -> Int64:
    """The same by absolute values: medians of blocks, so no rounding. O(R N log N)."""
    out = np.empty_like(target)
    _absolutes(target, last, cap, out)
    return out


@njit(nogil=True, cache=True)
def _squares(target, last, cap, out):  # type: ignore[no-untyped-def]
    rows, width = target.shape
    room, begin = np.zeros((LINES, width)), np.zeros(width, dtype=np.int64)
    for r in range(rows):
        count, top = width, cap
        if last[r] >= 0:
            count, top = width - 1, float(last[r])
            out[r, width - 1] = last[r]
        for s in range(count):
            room[FIT, s] = target[r, s]
        pool_free(count, 0.5, top, room, begin)
        for s in range(count):
            out[r, s] = np.int64(room[ROW, s])


@njit(nogil=True, cache=True)
def _absolutes(target, last, cap, out):  # type: ignore[no-untyped-def]
    # The cost of sizes so far as a function of the last value is flat right of its largest breakpoint.
    # A new size adds a breakpoint with slopes -1, +1; if it lies left of the largest, that one drops to it.
    rows, width = target.shape
    for r in range(rows):
        count, top = width, cap
        if last[r] >= 0:
            count, top = width - 1, last[r]
            out[r, width - 1] = last[r]
        heap = [-target[r, 0]]
        heappop(heap)
        for s in range(count):
            heappush(heap, -target[r, s])
            if -heap[0] > target[r, s]:
                heappop(heap)
                heappush(heap, -target[r, s])
            out[r, s] = -heap[0]
        for s in range(count - 2, -1, -1):
            out[r, s] = min(out[r, s], out[r, s + 1])
        for s in range(count):
            out[r, s] = min(max(out[r, s], 0), top)


def fit_reals(noisy: Float64, low: float, high: float) -> Float64:
    """The non-decreasing row in [low, high] nearest to `noisy` (n,) by squares. O(n)."""
    out = np.empty_like(noisy)
    if noisy.size:
        _reals(noisy, low, high, out)
    return out


@njit(nogil=True, cache=True)
def _reals(noisy, low, high, out):  # type: ignore[no-untyped-def]
    count = noisy.shape[0]
    room, begin = np.zeros((LINES, count)), np.zeros(count, dtype=np.int64)
    for i in range(count):
        room[FIT, i] = noisy[i] - low
    pool_free(count, 0.0, high - low, room, begin)
    for i in range(count):
        out[i] = room[ROW, i] + low
