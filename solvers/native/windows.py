"""Dynamic program of Model 1 on a window of values round a given table, compiled.

Entry `(r, s)` takes values `base + step * d`, `d` in a window `lo .. hi`. A region's cost as a function
of `d` is convex, so it is kept as a list of slopes; the children's cost as a function of their sum
(the paper's phi) is the sorted merge of their slopes, of which only the ranks inside the parent's
window are needed: they are found by selection, not by sorting. [Fioretto2021], polynomial-time dynamic
program, restricted to windows. The optimum over the windows is the global one if no exchange improves
it (M-natural convexity).

Arrays: `slopes` (inner rows, N, K) of the weights' dtype holds phi, without the region's own cost;
`low`, `count` (inner rows, N) the start of each window and its number of slopes; `box` is
`(lower, upper, cap)` with `lower`, `upper` (R, N) or (0, 0).
"""

from __future__ import annotations

import numpy as np
from numba import njit

from pgsr.solvers.native.costs import up_cost
from pgsr.solvers.native.selection import select, sort_ranks


@njit(inline="always")
def window(base, step, reach, lower, upper, cap, c, s):  # type: ignore[no-untyped-def]
    """Window `(lo, hi)` of `d` at entry `(c, s)`: -reach .. reach (+ 1 for step 1), cut at the bounds."""
    floor = max(lower[c, s], 0) if lower.shape[0] > 0 else 0
    ceiling = min(upper[c, s], cap) if upper.shape[0] > 0 else cap
    top = reach + 1 if step == 1 else reach
    return max(-reach, -((base[c, s] - floor) // step)), min(top, (ceiling - base[c, s]) // step)


@njit(inline="always")
def slope(mode, weight, x, step, y):  # type: ignore[no-untyped-def]
    """Cost of going from `x` to `x + step`; squares: divided by `step`."""
    if step == 1:
        return up_cost(mode, weight, x, y)
    if mode == 0:
        return weight * (2 * (x - y) + step)
    return weight * (abs(x + step - y) - abs(x - y))


@njit(nogil=True, cache=True)
def gather(p, s, child_start, y, weight, mode, box, base, step, reach, slopes, low, count, scratch):  # type: ignore[no-untyped-def]
    """Collect the slopes of all children of `p` for size `s` in `scratch`.

    Returns `(n, bottom)`: their number and the parent's `d` when every child is lowest; n = -1 if a
    child's window is empty.
    """
    lower, upper, cap = box
    n, bottom, shift = 0, 0, -base[p, s]
    for c in range(child_start[p], child_start[p + 1]):
        shift += base[c, s]
        if child_start[c] == child_start[c + 1]:
            lo, hi = window(base, step, reach, lower, upper, cap, c, s)
            if lo > hi:
                return -1, 0
            for d in range(lo, hi):
                scratch[n] = slope(mode, weight[c], base[c, s] + step * d, step, y[c, s])
                n += 1
        else:
            lo = low[c, s]
            for k in range(count[c, s]):
                scratch[n] = slopes[c, s, k] + slope(
                    mode, weight[c], base[c, s] + step * (lo + k), step, y[c, s]
                )
                n += 1
        bottom += lo
    return n, bottom + shift // step


@njit(nogil=True, cache=True)
def windows_up(  # type: ignore[no-untyped-def]
    first, last, child_start, y, weight, mode, box, base, step, reach, slopes, low, count, scratch_size
):
    """Fill `slopes`, `low`, `count` of inner regions `last - 1` .. `first`.

    Returns False if some window is empty: the windows hold no table.
    """
    lower, upper, cap = box
    scratch = np.empty(scratch_size, dtype=slopes.dtype)
    for p in range(last - 1, first - 1, -1):
        if child_start[p] == child_start[p + 1]:
            continue
        for s in range(y.shape[1]):
            n, bottom = gather(
                p, s, child_start, y, weight, mode, box, base, step, reach, slopes, low, count, scratch
            )
            lo, hi = window(base, step, reach, lower, upper, cap, p, s)
            lo, hi = max(lo, bottom), min(hi, bottom + n)
            if n < 0 or lo > hi:
                return False
            sort_ranks(scratch, n, lo - bottom, hi - bottom)
            low[p, s] = lo
            count[p, s] = hi - lo
            for k in range(hi - lo):
                slopes[p, s, k] = scratch[lo - bottom + k]
    return True


@njit(nogil=True, cache=True)
def windows_down(  # type: ignore[no-untyped-def]
    first, last, child_start, y, weight, mode, box, base, step, reach, slopes, low, count, scratch_size, move
):
    """Read the optimal `d` of all children out into `move` (R, N) int8, given their parents'.

    Each child takes its slopes below the parent's marginal cost, then ties in order of the children
    until the parent's value is met.
    """
    lower, upper, cap = box
    scratch = np.empty(scratch_size, dtype=slopes.dtype)
    for p in range(first, last):
        begin, end = child_start[p], child_start[p + 1]
        if begin == end:
            continue
        for s in range(y.shape[1]):
            shift, bottom = -base[p, s], 0
            for c in range(begin, end):
                shift += base[c, s]
                if child_start[c] == child_start[c + 1]:
                    lo, _ = window(base, step, reach, lower, upper, cap, c, s)
                else:
                    lo = low[c, s]
                move[c, s] = lo
                bottom += lo
            want = move[p, s] - bottom - shift // step
            if want == 0:
                continue
            own = move[p, s] - low[p, s]
            if own < count[p, s]:
                threshold = slopes[p, s, own]  # the next slope: at most `want` of them are below it
            elif own > 0:
                threshold = slopes[p, s, own - 1]  # the last slope taken
            else:  # a window of one value holds no slope
                n, _ = gather(
                    p, s, child_start, y, weight, mode, box, base, step, reach, slopes, low, count, scratch
                )
                select(scratch, 0, n, want - 1)
                threshold = scratch[want - 1]
            for ties in range(2):
                for c in range(begin, end):
                    if want == 0:
                        break
                    leaf = child_start[c] == child_start[c + 1]
                    hi = (
                        window(base, step, reach, lower, upper, cap, c, s)[1]
                        if leaf
                        else low[c, s] + count[c, s]
                    )
                    d = move[c, s]
                    while want > 0 and d < hi:
                        value = slope(mode, weight[c], base[c, s] + step * d, step, y[c, s])
                        if not leaf:
                            value += slopes[c, s, d - low[c, s]]
                        if value > threshold or (ties == 0 and value == threshold):
                            break
                        d += 1
                        want -= 1
                    move[c, s] = d


@njit(nogil=True, cache=True)
def shift_rows(first, last, base, step, move):  # type: ignore[no-untyped-def]
    """`base += step * move` for rows `first` .. `last - 1`; returns the number of moved entries."""
    moved = 0
    for r in range(first, last):
        for s in range(base.shape[1]):
            if move[r, s] != 0:
                base[r, s] += step * move[r, s]
                moved += 1
    return moved
