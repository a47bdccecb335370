"""Compiled parts of `topdown`: shares of siblings in their parent's counts, real and whole.

All kernels work on the ranges of regions `first` .. `last - 1`, in level order, given `child_start` (R+1,),
`target` (R, N) int64, `weight` (R,) positive, and the table `x` (R, N) int64, of which the rows of these
regions are done and those of their children are written.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from pgsr.solvers.native.splitrows import FIT, LINES, ROW, pool_free

ALPHA = 1.6
"""Over-relaxation."""

PENALTY = 4.0
"""Penalty over twice the weight, for one size; it grows with the number of digits of the list's length."""

NEAR = 1e-4
"""Largest residual, in units, at which the splitting stops (or 1e-10 of the parent's units)."""

MOST = 5_000
"""Iterations after which it is given up: what it has is rounded."""


@njit(nogil=True, cache=True)
def real_shares(target, stiff, low, amount, out):  # type: ignore[no-untyped-def]
    """Minimise `sum (out - target)^2 / stiff` over `out >= low` (k,) that add up to `amount >= sum low`.

    Entries below their bound are fixed there and never released: the least one stays the least.
    """
    count = target.shape[0]
    free = np.ones(count, dtype=np.bool_)
    while True:
        left, give = float(amount), 0.0
        for i in range(count):
            if free[i]:
                left -= target[i]
                give += stiff[i]
            else:
                left -= low[i]
        if give == 0.0:
            return
        fixed = False
        for i in range(count):
            if free[i]:
                out[i] = target[i] + stiff[i] * (left / give)
                if out[i] < low[i]:
                    out[i] = low[i]
                    free[i] = False
                    fixed = True
        if not fixed:
            return


@njit(nogil=True, cache=True)
def round_shares(real, low, amount, out):  # type: ignore[no-untyped-def]
    """Whole numbers `out >= low` (k,) that add up to `amount`, nearest to `real >= low`, which nearly does.

    Floors, then one unit each by largest remainder; ties go to the first.
    """
    count = real.shape[0]
    left = amount
    for i in range(count):
        out[i] = max(np.int64(np.floor(real[i])), low[i])
        left -= out[i]
    if left == 0:
        return
    order = np.argsort(out - real, kind="mergesort")  # largest remainder first
    if left > 0:
        every, rest = left // count, left % count
        for j in range(count):
            out[order[j]] += every + (1 if j < rest else 0)
        return
    while left < 0:  # floats near 2^53: floors above the amount
        for j in range(count - 1, -1, -1):
            i = order[j]
            take = min(out[i] - low[i], max(1, -left // count), -left)
            out[i] -= take
            left += take
            if left == 0:
                break


@njit(nogil=True, cache=True)
def whole_shares(target, stiff, low, amount, out):  # type: ignore[no-untyped-def]
    """Fit `real_shares` and round them into `out` (k,) int64."""
    real = np.empty(target.shape[0])
    real_shares(target, stiff, low, amount, real)
    round_shares(real, low, amount, out)


@njit(nogil=True, cache=True)
def share_counts(first, last, child_start, target, weight, x):  # type: ignore[no-untyped-def]
    """Model 1: split the counts of each region among its children, size by size."""
    width = x.shape[1]
    for p in range(first, last):
        begin, end = child_start[p], child_start[p + 1]
        if begin == end:
            continue
        stiff = 1.0 / weight[begin:end]
        low, out = np.zeros(end - begin, dtype=np.int64), np.empty(end - begin, dtype=np.int64)
        for s in range(width):
            whole_shares(target[begin:end, s], stiff, low, x[p, s], out)
            x[begin:end, s] = out


@njit(nogil=True, cache=True)
def start_rows(parent, target, z, u):  # type: ignore[no-untyped-def]
    """Put each child's own fit into `z` (k, N), and 0 into its scaled dual `u` (k, N)."""
    count, width = target.shape
    room, begin = np.zeros((LINES, width)), np.zeros(width, dtype=np.int64)
    for i in range(count):
        for s in range(width):
            room[FIT, s] = target[i, s]
        pool_free(width, 0.0, float(parent[width - 1]), room, begin)
        z[i] = room[ROW]
        u[i] = 0.0


@njit(nogil=True, cache=True)
def real_rows(parent, target, weight, most, z, u):  # type: ignore[no-untyped-def]
    """Least squares of rows `z` (k, N), non-decreasing and >= 0, that add up to the row `parent` (N,).

    Goes on from `z`, `u` for at most `most` iterations. `z` is monotone and, in the end, adds up nearly;
    returns the number of iterations, or -1 if they did not suffice.
    """
    count, width = target.shape
    total = float(parent[width - 1])
    near = max(NEAR, 1e-10 * total)
    penalty = PENALTY * (1.0 + np.log10(width))
    stiff = (1.0 / weight) / (1.0 / weight).sum()
    room, begin = np.zeros((LINES, width)), np.zeros(width, dtype=np.int64)
    gap = np.zeros(width)
    for iteration in range(most):
        for s in range(width):
            gap[s] = parent[s]
        for i in range(count):
            for s in range(width):
                gap[s] -= z[i, s] - u[i, s]
        worst = 0.0
        for i in range(count):
            for s in range(width):
                here = z[i, s] - u[i, s] + stiff[i] * gap[s]
                worst = max(worst, abs(here - z[i, s]))
                u[i, s] += ALPHA * here + (1.0 - ALPHA) * z[i, s]
                room[FIT, s] = (target[i, s] + penalty * u[i, s]) / (1.0 + penalty)
            pool_free(width, 0.0, total, room, begin)
            for s in range(width):
                worst = max(worst, abs(room[ROW, s] - z[i, s]))
                z[i, s] = room[ROW, s]
                u[i, s] -= z[i, s]
        if worst <= near:
            return iteration + 1
    return -1


@njit(nogil=True, cache=True)
def whole_rows(parent, z, out):  # type: ignore[no-untyped-def]
    """Round `z` (k, N) to non-decreasing rows `out` (k, N) int64 adding up to `parent` (N,), size by size."""
    count, width = z.shape
    low, stiff, share = np.zeros(count, dtype=np.int64), np.ones(count), np.empty(count, dtype=np.int64)
    for s in range(width):
        whole_shares(z[:, s], stiff, low, parent[s], share)
        out[:, s] = share
        low[:] = share


@njit(nogil=True, cache=True)
def share_cumulative(first, last, child_start, target, weight, x):  # type: ignore[no-untyped-def]
    """Model 2: split the cumulative counts of each region among its children."""
    width = x.shape[1]
    for p in range(first, last):
        begin, end = child_start[p], child_start[p + 1]
        if end - begin == 1:
            x[begin] = x[p]
        if end - begin > 1:
            z, u = np.empty((end - begin, width)), np.empty((end - begin, width))
            start_rows(x[p], target[begin:end], z, u)
            real_rows(x[p], target[begin:end], weight[begin:end], MOST, z, u)
            whole_rows(x[p], z, x[begin:end])
