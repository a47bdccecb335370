"""Compiled matching of a level's units with their children's, for `kuo`: runs of equal units, two pointers.

A run is (number, size, precision) of units of one size; precision is the inverse variance of that size.
"""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(nogil=True, cache=True)
def merge_level(first, last, child_start, counts, weight, sizes, runs, begin, end, out, to, stop, table):  # type: ignore[no-untyped-def]
    """Match each region `first` .. `last - 1` with its children and merge sizes.

    `counts` (R, N) are estimates of the children; `runs` three arrays of runs: those of region
    `first + i`, in order of size, are entries `begin[i]` to `end[i] - 1`. Runs of the child
    `child_start[first] + j` go to `out`, from `to[j]` on, in order of size, and `stop[j]` is set to their
    end; if it is a leaf its units are counted into `table` (R, N) instead, by the nearest of `sizes` (N,).
    """
    number, size, precision = runs
    base = child_start[first]
    for p in range(first, last):
        kids, after = child_start[p], child_start[p + 1]
        if kids == after:
            continue
        run = begin[p - first]
        left = number[run] if run < end[p - first] else 0
        need = np.zeros(after - kids, dtype=np.int64)
        for s in range(sizes.shape[0]):
            block = 0
            for c in range(kids, after):
                need[c - kids] = counts[c, s]
                block += counts[c, s]
            while block > 0:
                while left == 0:
                    run += 1
                    left = number[run]
                give = min(left, block)
                left -= give
                seen = passed = 0
                for c in range(kids, after):
                    # Rounded cumulative proportions: no child gets more than it has or than is left.
                    seen += need[c - kids]
                    share = (give * seen) // block - passed
                    passed += share
                    if share > 0:
                        need[c - kids] -= share
                        mine = weight[c] * counts[c, s]
                        both = mine + precision[run]
                        merged = (mine * sizes[s] + precision[run] * size[run]) / both
                        if child_start[c] == child_start[c + 1]:
                            table[c, nearest(merged, sizes)] += share
                        else:
                            i = stop[c - base]
                            out[0][i], out[1][i], out[2][i] = share, merged, both
                            stop[c - base] += 1
                block -= give
    for c in range(base, child_start[last]):
        sort_runs(out, to[c - base], stop[c - base])


@njit(nogil=True, cache=True)
def nearest(value, sizes):  # type: ignore[no-untyped-def]
    """The column of the size nearest to `value`; halfway goes up."""
    left, right = 0, sizes.shape[0] - 1
    while left < right:
        middle = (left + right) // 2
        if value >= (sizes[middle] + sizes[middle + 1]) / 2.0:
            left = middle + 1
        else:
            right = middle
    return left


@njit(nogil=True, cache=True)
def sort_runs(out, begin, end):  # type: ignore[no-untyped-def]
    """Sort the runs `begin` .. `end - 1` by size."""
    ordered = True
    for i in range(begin + 1, end):
        ordered = ordered and out[1][i - 1] <= out[1][i]
    if ordered:
        return
    order = np.argsort(out[1][begin:end], kind="mergesort") + begin
    number, size, precision = out[0][order], out[1][order], out[2][order]
    out[0][begin:end], out[1][begin:end], out[2][begin:end] = number, size, precision
