"""Public bounds on the counts of regions, from rules that people can read."""

from __future__ import annotations

from collections.abc import Iterable

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
