"""Distances between two tables of counts, level by level, in exact integers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgsr.errors import InputError
from pgsr.hierarchy import Hierarchy

Ints = NDArray[np.int64]


def l1_by_level(hierarchy: Hierarchy, a: Any, b: Any) -> Ints:
    """(L,) int64: the sum of ``|a - b|`` over the regions and sizes of each level, the root's first.

    a, b: (R, N) integer counts. Raises InputError for other shapes or types, and for a distance that does
    not fit 63 bits.
    """
    return _by_level(hierarchy, np.abs(_difference(hierarchy, a, b)))


def emd_by_level(hierarchy: Hierarchy, a: Any, b: Any) -> Ints:
    """(L,) int64: the L1 distance of the cumulative counts of each level, the root's first.

    For regions with equal numbers of units this is the earth mover's distance, with steps between
    neighbouring listed sizes of length 1. a, b: (R, N) integer counts, not cumulative ones (the distance of
    those is `l1_by_level`). Raises InputError for other shapes or types, and for a distance that does not
    fit 63 bits.
    """
    return _by_level(hierarchy, np.abs(np.cumsum(_difference(hierarchy, a, b), axis=1)))


def max_abs_by_level(hierarchy: Hierarchy, a: Any, b: Any) -> Ints:
    """(L,) int64: the largest ``|a - b|`` on each level, the root's first.

    a, b: (R, N) integer counts. Raises InputError for other shapes or types.
    """
    gaps = np.abs(_difference(hierarchy, a, b)).max(axis=1)
    return _int64(np.maximum.reduceat(gaps, hierarchy.level_start[:-1]))


def _difference(hierarchy: Hierarchy, a: Any, b: Any) -> NDArray[Any]:
    """A - b, both checked: int64, or Python's integers where a sum of its cells might leave 64 bits."""
    tables = [np.asarray(a), np.asarray(b)]
    for name, table in zip("ab", tables, strict=True):
        if table.ndim != 2 or len(table) != hierarchy.regions or table.shape[1] == 0:
            raise InputError(
                f"table of shape {table.shape}", name, f"give {hierarchy.regions} rows, one a region"
            )
        if table.dtype.kind not in "iu":
            raise InputError(f"table of type {table.dtype}", name, "give whole numbers")
    if tables[0].shape != tables[1].shape:
        raise InputError("tables of unequal shape", "a, b", "give the same sizes")
    largest = sum(max(int(table.max()), -int(table.min())) for table in tables)
    # Along a row the differences add up, and then the rows: slow and exact where that is too much, and rare.
    wide = largest * tables[0].size * tables[0].shape[1] >= 2**62
    a, b = (table.astype(object if wide else np.int64, copy=False) for table in tables)
    difference: NDArray[Any] = a - b
    return difference


def _by_level(hierarchy: Hierarchy, cells: NDArray[Any]) -> Ints:
    """Sums over the cells of each level."""
    return _int64(np.add.reduceat(cells.sum(axis=1), hierarchy.level_start[:-1]))


def _int64(values: NDArray[Any]) -> Ints:
    """The distances as int64; InputError if one does not fit."""
    if values.dtype == object and max(values) >= 2**63:
        raise InputError("a distance of 2^63 or more", "a, b", "compare smaller tables")
    return values.astype(np.int64, copy=False)
