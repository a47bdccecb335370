"""From tables to counts of units by leaf and size: the checks and the tabulation of each kind of input.

Messages name rows, columns, regions and listed sizes; never a count, the size of a unit, or z.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgsr.errors import InputError
from pgsr.hierarchy import Hierarchy
from pgsr.tables import LIMIT, Auto, Table, read_table
from pgsr.text import ArrowArray

Ints = NDArray[np.int64]


def size_list(sizes: Sequence[int] | NDArray[Any], where: str = "size list") -> NDArray[np.int64]:
    """The public list of group sizes as int64 (N,): strictly increasing whole numbers from 0 up.

    Raises InputError if it is empty, unsorted, repeats a size, or holds anything else.
    """
    try:
        array = np.asarray(sizes)
    except (TypeError, ValueError):
        array = np.empty(0, dtype=object)
    if array.ndim != 1 or not array.size or array.dtype.kind not in "iu":
        raise InputError("not a list of whole numbers", where, "list the sizes, for example 0, 1, 2, 3")
    if int(array.min()) < 0 or int(array.max()) > LIMIT:
        raise InputError("sizes must lie between 0 and 2^53", where, "correct the size list")
    array = array.astype(np.int64)
    steps = np.diff(array)
    if (steps <= 0).any():
        size = int(array[1:][steps <= 0][0])
        raise InputError(f"sizes unsorted or repeated at size {size}", where, "sort them, each once")
    return array


def total_count(total: object, where: str = "total") -> int:
    """A public total as int; raises InputError unless it is a whole number from 0 to 2^53."""
    if isinstance(total, bool) or not isinstance(total, (int, np.integer)):
        raise InputError("total is not a whole number", where, "give the number of units")
    if not 0 <= total <= LIMIT:
        raise InputError("total must lie between 0 and 2^53", where, "give the number of units")
    return int(total)


def region_rows(table: Table, hierarchy: Hierarchy, region: str) -> Ints:
    """(rows,) int64 region of each row, followed down the added regions if the table names none of them.

    Raises InputError naming an unknown code and its row.
    """
    codes = table.text(region)
    rows = hierarchy.find(codes)
    if len(rows) and rows.min() < 0:
        row = int(np.argmin(rows))
        raise InputError(
            f"unknown region {codes[row].as_py()!r}", table.where(region, row), "use codes of the hierarchy"
        )
    if not hierarchy.padded:
        return rows
    added = hierarchy.index(hierarchy.padded)
    if not np.isin(added, rows).any():
        below = np.arange(hierarchy.regions)
        for child in np.sort(added)[::-1].tolist():  # from the last level up
            below[hierarchy.parent[child]] = below[child]
        rows = below[rows]
    return rows


def leaf_rows(table: Table, hierarchy: Hierarchy, region: str) -> Ints:
    """(rows,) int64 position among the leaves of each row's region; raises InputError if it is no leaf."""
    rows: Ints = region_rows(table, hierarchy, region) - hierarchy.leaves[0]
    if len(rows) and rows.min() < 0:
        row = int(np.argmin(rows))
        code = table.text(region)[row].as_py()
        raise InputError(
            f"region {code!r} is not a leaf of the hierarchy",
            table.where(region, row),
            "name leaf regions",
        )
    return rows


def size_rows(values: Ints, sizes: Ints, table: Table, column: str) -> Ints:
    """(rows,) int64 position in the size list: sizes are lower bin edges, the last takes all above.

    Raises InputError, naming the row, for a value below the first listed size.
    """
    positions = np.searchsorted(sizes, values, side="right") - 1
    if len(positions) and positions.min() < 0:
        raise InputError(
            f"unit smaller than the first listed size, {sizes[0]}",
            table.where(column, int(np.argmin(positions))),
            _smaller(sizes),
        )
    return positions


def tabulate(leaves: Ints, positions: Ints, shape: tuple[int, int], weights: Ints | None = None) -> Ints:
    """(leaves, N) int64 counts of rows, or sums of non-negative `weights` whose sum is at most 2^53."""
    cells = leaves * shape[1] + positions
    # Sums of weights are floats in numpy, and exact since none exceeds 2^53.
    counts = np.bincount(cells, weights=weights, minlength=shape[0] * shape[1])
    return counts.astype(np.int64, copy=False).reshape(shape)


def unit_leaves_and_sizes(
    persons: Table,
    hierarchy: Hierarchy,
    sizes: Ints,
    *,
    unit: str,
    region: str,
    z: str | Auto | None,
    z_max: int,
    frame: Any,
    units_have_persons: bool,
) -> tuple[Ints, Ints]:
    """(units,) leaf position and (units,) size position of every unit, from one row a person."""
    if isinstance(z_max, bool) or not 1 <= z_max <= LIMIT or z_max != int(z_max):
        raise InputError("z_max is not a whole number from 1 up", "z_max", "give the largest z there may be")
    if frame is None and sizes[0] == 0 and not units_have_persons:
        raise InputError(
            "size 0 is listed, but persons alone do not show the units without persons",
            persons.source,
            "give the list of all units as frame, or leave size 0 out",
        )
    z = persons.optional(z, "z")
    if z is None and z_max > 1:
        raise InputError(
            "z_max is above 1, but no column of z is used",
            persons.source,
            "name the column, or leave z_max 1",
        )
    codes = persons.text(unit)
    if z is None:
        amounts = np.ones(len(codes), dtype=np.int64)
    else:
        amounts = persons.integers(z, minimum=0, maximum=int(z_max))
        refuse_large_sum(amounts, persons.where(z))
    listed = None if frame is None else read_table(frame, name="frame")
    if listed is None:
        encoded = codes.dictionary_encode()
        member = np.asarray(encoded.indices, dtype=np.int64)
        own = leaf_rows(persons, hierarchy, region)
        leaf = np.zeros(len(encoded.dictionary), dtype=np.int64)
        leaf[member[::-1]] = own[::-1]  # the first person's region
    else:
        member = _frame_rows(listed, codes, persons, unit)
        leaf = leaf_rows(listed, hierarchy, region)
        own = leaf_rows(persons, hierarchy, region) if region in persons.columns else leaf[member]
    strays = leaf[member] != own
    if strays.any():
        row = int(np.argmax(strays))
        raise InputError(
            f"unit {codes[row].as_py()!r} in two regions",
            persons.where(region, row),
            "one leaf a unit",
        )
    members = np.bincount(member, weights=amounts, minlength=len(leaf)).astype(np.int64, copy=False)
    positions = np.searchsorted(sizes, members, side="right") - 1
    small = positions < 0
    if small.any():
        if listed is None:
            first = persons.where(unit, int(np.argmax(small[member])))
        else:
            first = listed.where(unit, int(np.argmax(small)))
        raise InputError(f"unit smaller than the first listed size, {sizes[0]}", first, _smaller(sizes))
    return leaf, positions


def _frame_rows(frame: Table, codes: ArrowArray, persons: Table, unit: str) -> Ints:
    """(persons,) row in the frame of each person's unit."""
    import pyarrow.compute as pc

    listed = frame.text(unit)
    refuse_twice(frame, unit, listed)
    found: ArrowArray = pc.index_in(codes, value_set=listed)
    rows = np.asarray(found.fill_null(-1), dtype=np.int64)
    if len(rows) and rows.min() < 0:
        # The code is not named: units outside the public list are not public.
        raise InputError(
            "unit is not in the frame",
            persons.where(unit, int(np.argmin(rows))),
            "list every unit there",
        )
    return rows


def refuse_twice(table: Table, column: str, codes: ArrowArray) -> None:
    """Raise InputError naming the first row whose code came before."""
    import pyarrow.compute as pc

    again = np.asarray(pc.index_in(codes, value_set=codes)) != np.arange(len(codes))
    if again.any():
        raise InputError("listed twice", table.where(column, int(np.argmax(again))), "give one row each")


def wide_counts(
    table: Table,
    hierarchy: Hierarchy,
    sizes: Ints,
    region: str,
    columns: Mapping[int, str] | Sequence[str] | None,
) -> Ints:
    """(leaves, N) counts from one row a region and one column a size; rows of inner regions are checked."""
    names = _size_columns(sizes, columns, table.source)
    more = _unlisted_columns(table, sizes, region) if columns is None else {}
    rows = region_rows(table, hierarchy, region)
    again = np.bincount(rows, minlength=hierarchy.regions)[rows] > 1
    if again.any():
        _, first = np.unique(rows, return_index=True)
        again[first] = False
        raise InputError("listed twice", table.where(region, int(np.argmax(again))), "give one row each")
    cells = np.empty((len(rows), len(sizes)), dtype=np.int64)
    for place, name in enumerate(names):
        cells[:, place] = table.integers(name, minimum=0)
    for name, place in more.items():
        cells[:, place] += table.integers(name, minimum=0)
        if len(rows) and int(cells[:, place].max()) > LIMIT:
            raise InputError("values sum to more than 2^53", table.where(name), "give smaller numbers")
    places = [table.where(name) for name in names]
    return _leaf_cells(table, hierarchy, region, rows, cells, places)


def long_counts(
    table: Table, hierarchy: Hierarchy, sizes: Ints, *, region: str, size: str, count: str
) -> Ints:
    """(leaves, N) counts from rows of region, size and count; sizes without a row count 0."""
    rows = region_rows(table, hierarchy, region)
    values = table.integers(size, minimum=0)
    positions = size_rows(values, sizes, table, size)
    amounts = table.integers(count, minimum=0)
    refuse_large_sum(amounts[rows >= hierarchy.leaves[0]], table.where(count))
    order = np.lexsort((values, rows))
    same = (np.diff(rows[order]) == 0) & (np.diff(values[order]) == 0)
    if same.any():
        raise InputError(
            "region and size listed twice", table.where(size, int(order[1:][same].min())), "give one row each"
        )
    there, again = np.unique(rows, return_inverse=True)
    cells = tabulate(again.astype(np.int64), positions, (len(there), len(sizes)), amounts)
    places = [f"{table.where(count)}, size {value}" for value in sizes.tolist()]
    return _leaf_cells(table, hierarchy, region, there, cells, places)


def _leaf_cells(
    table: Table,
    hierarchy: Hierarchy,
    region: str,
    rows: Ints,
    cells: Ints,
    places: Sequence[str],
) -> Ints:
    """Rows of `cells` put in order of the leaves; every leaf must be there and inner regions must agree."""
    top = int(hierarchy.leaves[0])
    is_leaf = rows >= top
    counts = np.zeros((len(hierarchy.leaves), cells.shape[1]), dtype=np.int64)
    listed = np.bincount(rows[is_leaf] - top, minlength=len(counts))
    if (listed == 0).any():
        code = hierarchy.ids[top + int(np.argmax(listed == 0))]
        raise InputError(
            f"no row for leaf region {str(code)!r}",
            table.where(region),
            "list empty regions with 0",
        )
    counts[rows[is_leaf] - top] = cells[is_leaf]
    refuse_large_sum(counts, table.source)
    if not is_leaf.all():
        inner = np.flatnonzero(~is_leaf)
        wrong = sum_up(hierarchy, counts)[rows[inner]] != cells[inner]
        if wrong.any():
            at, place = (int(found[0]) for found in np.nonzero(wrong))
            code = str(hierarchy.ids[rows[inner[at]]])
            where = f"{places[place]}, region {code!r}"
            raise InputError("count is not the sum over the regions below", where, "correct the table")
    return counts


def sum_up(hierarchy: Hierarchy, leaf_counts: Ints) -> Ints:
    """(R, N) int64 counts of all regions from those of the leaves, level by level."""
    counts = np.empty((hierarchy.regions, leaf_counts.shape[1]), dtype=np.int64)
    counts[hierarchy.level_slice(-1)] = leaf_counts
    for level in range(hierarchy.levels - 2, -1, -1):
        rows = hierarchy.level_slice(level)
        below = hierarchy.level_slice(level + 1)
        # Every region above the last level has children, so no segment is empty.
        starts = hierarchy.child_start[rows] - below.start
        np.add.reduceat(counts[below], starts, axis=0, out=counts[rows])
    return counts


def _unlisted_columns(table: Table, sizes: Ints, region: str) -> dict[str, int]:
    """Columns named by whole numbers that are not listed, and the position of the size they count as."""
    found: dict[str, int] = {}
    listed = {str(size) for size in sizes.tolist()}
    seen = set(sizes.tolist())
    for name in table.columns:
        if name in listed or name == region or not re.fullmatch(r"[+-]?[0-9]{1,400}", name):
            continue
        size = int(name)
        if size in seen:
            raise InputError("size with two columns", table.where(name), "give one column a size")
        seen.add(size)
        if size < int(sizes[0]):
            raise InputError(
                f"column of a size below the first listed, {sizes[0]}",
                table.where(name),
                "start the size list lower, or name the columns to use",
            )
        found[name] = int(np.searchsorted(sizes, min(size, LIMIT), side="right")) - 1
    return found


def _size_columns(sizes: Ints, columns: Mapping[int, str] | Sequence[str] | None, source: str) -> list[str]:
    """The column of each size."""
    listed = [int(size) for size in sizes]
    if columns is None:
        return [str(size) for size in listed]
    if isinstance(columns, Mapping):
        missing = [size for size in listed if size not in columns]
        if missing or len(columns) != len(listed):
            raise InputError(
                "columns do not match the size list", f"{source}, columns", "name one column a size"
            )
        return [columns[size] for size in listed]
    if isinstance(columns, str) or len(columns) != len(listed) or len(set(columns)) != len(listed):
        raise InputError("columns do not match the size list", f"{source}, columns", "name one column a size")
    return list(columns)


def _smaller(sizes: Ints) -> str:
    """What to do about units below the first listed size."""
    return "add 0 to the size list" if int(sizes[0]) <= 1 else "start the size list lower, for example at 0"


def refuse_large_sum(values: Ints, where: str) -> None:
    """Raise InputError if non-negative int64 values sum to more than 2^53."""
    # The float sum is off by a few parts in 10^16 a step, and numpy adds in pairs: far from twice the limit.
    if float(np.sum(values, dtype=np.float64)) > 1.5 * LIMIT or int(np.sum(values, dtype=np.int64)) > LIMIT:
        raise InputError("values sum to more than 2^53", where, "give smaller numbers")
