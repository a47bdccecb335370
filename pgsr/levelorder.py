"""Arrays of a tree in level order: where children and levels begin, sums over children.

A tree in level order is one array: `parent[0] == -1`, `parent[i] < i`, `parent` non-decreasing.
Then the children of every region are contiguous, and so is every level.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

Int64 = NDArray[np.int64]

# Every input number stays below this bound, so that float64 holds it exactly.
MAGNITUDE = 2**53


def is_level_order(parent: Int64) -> bool:
    """Tell whether `parent` (R,) describes one tree in level order."""
    if parent.ndim != 1 or parent.size == 0 or parent[0] != -1:
        return False
    rest = parent[1:]
    if rest.size == 0:
        return True
    return bool(rest[0] == 0 and np.all(rest < np.arange(1, parent.size)) and np.all(rest[1:] >= rest[:-1]))


def child_starts(parent: Int64) -> Int64:
    """Return (R+1,) offsets: the children of `i` are rows `out[i]` to `out[i + 1] - 1`."""
    count = np.bincount(parent[1:], minlength=parent.size)
    starts = np.empty(parent.size + 1, dtype=np.int64)
    starts[0] = 1
    np.cumsum(count, out=starts[1:])
    starts[1:] += 1
    return starts


def level_starts(child_start: Int64) -> Int64:
    """Return (L+1,) offsets: level `l` is rows `out[l]` to `out[l + 1] - 1`."""
    bounds = [0, 1]
    while bounds[-1] < child_start.size - 1:
        bounds.append(int(child_start[bounds[-1]]))
    return np.array(bounds, dtype=np.int64)


def sum_children(child_start: Int64, values: NDArray[Any], first: int, last: int) -> NDArray[Any]:
    """Sum `values` (R, N) over the children of each region `first` .. `last - 1`; leaves give 0."""
    starts = child_start[first : last + 1]
    out = np.zeros((last - first, values.shape[1]), dtype=values.dtype)
    inner = np.flatnonzero(starts[1:] > starts[:-1])
    if inner.size:
        block = values[starts[0] : starts[-1]]
        out[inner] = np.add.reduceat(block, starts[inner] - starts[0], axis=0)
    return out


def region_chunks(child_start: Int64, rows: int = 1 << 18) -> Iterator[tuple[int, int]]:
    """Cut the inner regions into ranges `(first, last)` of about `rows` regions and children."""
    last_inner = int(np.searchsorted(child_start, child_start[-1], side="left"))
    first = 0
    while first < last_inner:
        reach = int(np.searchsorted(child_start, child_start[first] + rows, side="right")) - 1
        last = min(max(first + 1, reach), first + rows, last_inner)
        yield first, last
        first = last
