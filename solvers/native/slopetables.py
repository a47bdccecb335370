"""The paper's merge of convex cost tables, compiled: from the sum of the minimisers, one unit at a time.

A table is the list of slopes of a convex cost: `table[v]` is the cost of `v + 1` minus that of `v`,
valid for `low <= v < high`. The cost of the best split of a value among children starts at the sum of
their minimisers and moves one unit at a time to the child with the smallest slope; downwards it is the
mirror image. [Fioretto2021], section on convex piecewise-linear cost tables.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from pgsr.solvers.native.costs import up_cost


@njit(nogil=True, cache=True)
def _sift(keys, owners, size, at):  # type: ignore[no-untyped-def]
    """Restore the heap (smallest key first, then smallest owner) below `at`."""
    key, owner = keys[at], owners[at]
    while True:
        child = 2 * at + 1
        if child >= size:
            break
        right = child + 1
        if right < size and (
            keys[right] < keys[child] or (keys[right] == keys[child] and owners[right] < owners[child])
        ):
            child = right
        if key < keys[child] or (key == keys[child] and owner <= owners[child]):
            break
        keys[at], owners[at] = keys[child], owners[child]
        at = child
    keys[at], owners[at] = key, owner


@njit(nogil=True, cache=True)
def minimisers(tables, low, high, position):  # type: ignore[no-untyped-def]
    """Set `position[c]` to the smallest minimiser of each table; returns their sum."""
    total = 0
    for c in range(position.size):
        left, right = low[c], high[c]
        while left < right:
            middle = (left + right) >> 1
            if tables[c, middle] >= 0:
                right = middle
            else:
                left = middle + 1
        position[c] = left
        total += left
    return total


@njit(nogil=True, cache=True)
def walk(tables, low, high, position, value, goal, phi):  # type: ignore[no-untyped-def]
    """Move `position` (k,) from its sum `value` to the sum `goal`, cheapest unit first.

    Writes each slope passed into `phi` (where it is long enough): `phi[v]` is the cost of `v + 1` minus
    that of `v`.
    """
    up = goal > value
    k = position.size
    keys = np.empty(k, dtype=tables.dtype)
    owners = np.empty(k, dtype=np.int64)
    size = 0
    for c in range(k):
        if up and position[c] < high[c]:
            keys[size], owners[size] = tables[c, position[c]], c
            size += 1
        elif not up and position[c] > low[c]:
            keys[size], owners[size] = -tables[c, position[c] - 1], c
            size += 1
    for at in range(size // 2 - 1, -1, -1):
        _sift(keys, owners, size, at)
    while value != goal:
        c, key = owners[0], keys[0]
        if up:
            if value < phi.size:
                phi[value] = key
            value += 1
            position[c] += 1
            more = position[c] < high[c]
            if more:
                keys[0] = tables[c, position[c]]
        else:
            value -= 1
            if value < phi.size:
                phi[value] = -key
            position[c] -= 1
            more = position[c] > low[c]
            if more:
                keys[0] = -tables[c, position[c] - 1]
        if not more:
            size -= 1
            keys[0], owners[0] = keys[size], owners[size]
        if size:
            _sift(keys, owners, size, 0)


@njit(nogil=True, cache=True)
def tables_up(first, last, child_start, y, weight, mode, tables, low, high):  # type: ignore[no-untyped-def]
    """Fill `tables` (N, R, G) of inner regions `last - 1` .. `first` for every size.

    `low`, `high` (N, R): the values that the bounds below allow (children add up to the parent's).
    """
    for p in range(last - 1, first - 1, -1):
        begin, end = child_start[p], child_start[p + 1]
        if begin == end:
            continue
        for s in range(y.shape[1]):
            position = np.empty(end - begin, dtype=np.int64)
            part, lo, hi = tables[s, begin:end], low[s, begin:end], high[s, begin:end]
            value = minimisers(part, lo, hi, position)
            start = position.copy()
            walk(part, lo, hi, position, value, max(value, high[s, p]), tables[s, p])
            walk(part, lo, hi, start, value, min(value, low[s, p]), tables[s, p])
            for v in range(low[s, p], high[s, p]):
                tables[s, p, v] += up_cost(mode, weight[p], v, y[p, s])


@njit(nogil=True, cache=True)
def leaf_tables(child_start, y, weight, mode, tables, low, high):  # type: ignore[no-untyped-def]
    """Fill `tables` (N, R, G) of all leaves with their own slopes."""
    for r in range(y.shape[0]):
        if child_start[r] == child_start[r + 1]:
            for s in range(y.shape[1]):
                for v in range(low[s, r], high[s, r]):
                    tables[s, r, v] = up_cost(mode, weight[r], v, y[r, s])


@njit(nogil=True, cache=True)
def tables_down(first, last, child_start, tables, low, high, x):  # type: ignore[no-untyped-def]
    """Read the children of regions `first` .. `last - 1` out into `x` (R, N): phi solved again."""
    nothing = np.empty(0, dtype=tables.dtype)
    for p in range(first, last):
        begin, end = child_start[p], child_start[p + 1]
        if begin == end:
            continue
        for s in range(x.shape[1]):
            position = np.empty(end - begin, dtype=np.int64)
            part, lo, hi = tables[s, begin:end], low[s, begin:end], high[s, begin:end]
            value = minimisers(part, lo, hi, position)
            walk(part, lo, hi, position, value, x[p, s], nothing)
            x[begin:end, s] = position
