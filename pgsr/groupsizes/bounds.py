"""Public bounds on the counts of regions, from rules that people can read."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgsr.errors import InputError
from pgsr.hierarchy import Hierarchy


def structural_zeros(
    hierarchy: Hierarchy, sizes: NDArray[np.int64], total: int, cells: Iterable[tuple[str, int]]
) -> NDArray[np.int64]:
    """Upper bounds (R, N): 0 at each (region, size) of `cells`, `total` elsewhere.

    A zero of a region holds for every region inside it, since counts are not negative. The rule must be
    public: a size that cannot occur there, not one that does not.
    Raises InputError for an unknown region or an unlisted size.
    """
    pairs = list(cells)
    upper = np.full((hierarchy.regions, len(sizes)), total, dtype=np.int64)
    if not pairs:
        return upper
    rows = hierarchy.index([region for region, _ in pairs], source="structural zeros")
    for row, (region, size) in zip(rows, pairs, strict=True):
        column = np.flatnonzero(np.asarray(sizes) == size)
        if column.size == 0:
            raise InputError(
                "a size that is not listed", f"structural zeros, region '{region}'", "use a listed size"
            )
        upper[row, column[0]] = 0
    return upper


def exact_rows(
    hierarchy: Hierarchy,
    counts: NDArray[np.int64],
    total: int,
    lower: NDArray[np.int64] | None,
    upper: NDArray[np.int64] | None,
    levels: Collection[str],
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Public bounds (R, N), with lower = upper = `counts` on the `levels` (only those rows are read)."""
    low = np.zeros(counts.shape, dtype=np.int64) if lower is None else lower.copy()
    high = np.full(counts.shape, total, dtype=np.int64) if upper is None else upper.copy()
    for level, name in enumerate(hierarchy.level_names):
        if name in levels:
            rows = hierarchy.level_slice(level)
            low[rows] = np.maximum(low[rows], counts[rows])
            high[rows] = np.minimum(high[rows], counts[rows])
    return low, high


def read_only(array: Any) -> Any:
    """A copy that cannot be written to, of int64 if it holds integers."""
    copy = np.array(array)
    if copy.dtype.kind in "iu":
        copy = copy.astype(np.int64)
    copy.flags.writeable = False
    return copy
