"""The best of two feasible Model 2 tables, piece by piece, compiled.

Entries in which they differ belong together if one alone would break a sum (a region and its children at one
size) or the order of a leaf's row. Each connected piece takes whichever side is cheaper, so the result is
feasible and costs at most what either did. Linear in time; one label an entry.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from pgsr.models.problem import Int64, Problem

_NARROW = 2**31 - 1


@njit(nogil=True, cache=True)
def top_of(label, i):  # type: ignore[no-untyped-def]
    """The first entry of i's piece; halves the way there."""
    while label[i] != i:
        label[i] = label[label[i]]
        i = label[i]
    return i


@njit(nogil=True, cache=True)
def unite(label, i, j):  # type: ignore[no-untyped-def]
    """Make two pieces one, under the smaller first entry."""
    a, b = top_of(label, i), top_of(label, j)
    if a < b:
        label[b] = a
    elif b < a:
        label[a] = b


@njit(nogil=True, cache=True)
def find_pieces(child_start, old, new, label):  # type: ignore[no-untyped-def]
    """Number the pieces: `label` (R N,) becomes -1 - piece, 0 where the tables agree; returns how many."""
    rows, width = old.shape
    for i in range(rows * width):
        label[i] = i
    for p in range(rows):
        begin, end = child_start[p], child_start[p + 1]
        for s in range(width):
            linked = p * width + s if old[p, s] != new[p, s] else -1
            for c in range(begin, end):
                if old[c, s] != new[c, s]:
                    here = c * width + s
                    if linked >= 0:
                        unite(label, linked, here)
                    else:
                        linked = here
            if begin == end and s > 0 and (old[p, s - 1] > new[p, s] or new[p, s - 1] > old[p, s]):
                # Rows of inner regions are sums, so only a leaf's can lose their order.
                unite(label, p * width + s - 1, p * width + s)
    count = 0
    for r in range(rows):
        for s in range(width):
            i = r * width + s
            first = label[i]  # never after i, so it has its number already
            if old[r, s] == new[r, s]:
                label[i] = 0
            elif first == i:
                count += 1
                label[i] = -count
            else:
                label[i] = label[first]
    return count


@njit(nogil=True, cache=True)
def weigh_pieces(target, weight, old, new, label, cost):  # type: ignore[no-untyped-def]
    """Add up, for every piece, what `new` costs more than `old`."""
    rows, width = old.shape
    for r in range(rows):
        for s in range(width):
            piece = label[r * width + s]
            if piece < 0:
                step = new[r, s] - old[r, s]
                cost[-1 - piece] += weight[r] * (step * (2 * (old[r, s] - target[r, s]) + step))


@njit(nogil=True, cache=True)
def take_pieces(old, new, label, cost, slack):  # type: ignore[no-untyped-def]
    """Copy the pieces that are cheaper by more than `slack` from `new` to `old`."""
    rows, width = old.shape
    for r in range(rows):
        for s in range(width):
            piece = label[r * width + s]
            if piece < 0 and cost[-1 - piece] < -slack:
                old[r, s] = new[r, s]


def merge(problem: Problem, best: Int64, other: Int64, *, slack: float) -> float:
    """Take from `other` (R, N) what is cheaper by more than `slack`, into `best` (R, N); both feasible.

    Returns the gain.
    """
    size = best.size
    label = np.empty(size, dtype=np.int32 if size <= _NARROW else np.int64)
    count = find_pieces(problem.child_start, best, other, label)
    cost = np.zeros(count)
    weigh_pieces(problem.target, problem.region_weights, best, other, label, cost)
    take_pieces(best, other, label, cost, slack)
    return float(-cost[cost < -slack].sum())
