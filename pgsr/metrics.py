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

    a, b: (R, N) integer counts. Raises InputError for other shapes or types.
    """
    return _by_level(hierarchy, np.abs(_difference(hierarchy, a, b)))


def emd_by_level(hierarchy: Hierarchy, a: Any, b: Any) -> Ints:
    """(L,) int64: the L1 distance of the cumulative counts of each level, the root's first.

    For regions with equal numbers of units this is the earth mover's distance, with steps between
    neighbouring listed sizes of length 1. a, b: (R, N) integer counts.
    Raises InputError for other shapes or types.
    """
    return _by_level(hierarchy, np.abs(np.cumsum(_difference(hierarchy, a, b), axis=1)))


def max_abs_by_level(hierarchy: Hierarchy, a: Any, b: Any) -> Ints:
    """(L,) int64: the largest ``|a - b|`` on each level, the root's first.

    a, b: (R, N) integer counts. Raises InputError for other shapes or types.
    """
    return np.maximum.reduceat(np.abs(_difference(hierarchy, a, b)).max(axis=1), hierarchy.level_start[:-1])


def _difference(hierarchy: Hierarchy, a: Any, b: Any) -> Ints:
    """A - b as int64, both checked."""
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
    return np.subtract(*(table.astype(np.int64, copy=False) for table in tables))


def _by_level(hierarchy: Hierarchy, cells: Ints) -> Ints:
    """Sums over the cells of each level."""
    return np.add.reduceat(cells.sum(axis=1), hierarchy.level_start[:-1])
