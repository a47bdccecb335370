"""From rows in any order to level order: checks that name the offending region, all vectorised."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from pgsr.errors import InputError
from pgsr.text import ArrowArray, text_array

Ints = NDArray[np.int64]
_Array = TypeVar("_Array", bound=np.ndarray[Any, Any])

MAX_PADDED = 20_000_000
"""More added regions than this are refused: the tree is a comb, not a hierarchy of levels."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class OrderedColumns:
    """A tree in level order. ids: (R,) arrow text; parent, order: (R,) int64; order is -1 for padding."""

    ids: ArrowArray
    parent: Ints
    order: Ints
    padded: tuple[str, ...]


def ordered_columns(ids: ArrowArray, parents: ArrowArray, pad: bool, source: str) -> OrderedColumns:
    """Check the two text columns to be a tree and bring them into level order.

    Raises InputError, naming `source` and the region; see `Hierarchy.from_columns`.
    """
    import pyarrow as pa

    above = _parent_rows(ids, parents, source)
    n = len(ids)
    rows = np.arange(n, dtype=np.int64)
    # Already in level order (a parent that never decreases and precedes): nothing to sort.
    if above[0] == -1 and bool((above < rows).all()) and bool((above[1:] >= above[:-1]).all()):
        order, sizes = rows, None
    else:
        order, sizes = _breadth_first(above)
        if len(order) < n:
            raise InputError(
                "cycle",
                f"{source}, region {_on_cycle(ids, above, order)!r}",
                "every region must lead to the root",
            )
    padded: tuple[str, ...] = ()
    if pad:
        if sizes is None:
            sizes = _breadth_first(above)[1]
        padded, chain = _padding(ids, above, order, sizes, source)
        if padded:
            ids = pa.concat_arrays([ids, pa.array(padded, type=ids.type)])
            above = np.concatenate([above, chain])
            order = _breadth_first(above)[0]
    if order is not rows:
        ids = ids.take(pa.array(order))
        place = np.empty(len(order), dtype=np.int64)
        place[order] = np.arange(len(order))
        above = above[order]
        above[1:] = place[above[1:]]
        order = np.where(order < n, order, -1)
    return OrderedColumns(ids=ids, parent=above, order=order, padded=padded)


def frozen(array: _Array, *, fresh: bool = False) -> _Array:
    """`array` as a contiguous read-only array which no one else can change.

    A copy, unless it is read-only already, with all that it is a view of, or `fresh`: seen by no one else.
    """
    below: Any = array
    while not fresh and isinstance(below, np.ndarray):
        if below.flags.writeable:
            array = array.copy()
            break
        below = below.base
    out: Any = np.ascontiguousarray(array)
    out.flags.writeable = False
    return out  # type: ignore[no-any-return]


def duplicate_at(ids: ArrowArray) -> int | None:
    """Position of the first id that came before, or None."""
    import pyarrow.compute as pc

    return _first(np.asarray(pc.index_in(ids, value_set=ids)) != np.arange(len(ids)))


def _first(mask: NDArray[np.bool_]) -> int | None:
    """Position of the first True, or None."""
    at = int(np.argmax(mask)) if len(mask) else 0
    return at if len(mask) and mask[at] else None


def _empty(codes: ArrowArray) -> NDArray[np.bool_]:
    """Where a code is missing or has no characters."""
    import pyarrow.compute as pc

    length: ArrowArray = pc.binary_length(codes)
    empty: NDArray[np.bool_] = np.asarray(length.fill_null(0)) == 0
    return empty


def _parent_rows(ids: ArrowArray, parents: ArrowArray, source: str) -> Ints:
    """(n,) int64 row of each row's parent, -1 for the one root."""
    n = len(ids)
    if n != len(parents):
        raise InputError(
            f"{n} region codes but {len(parents)} parents",
            source,
            "give one parent a region",
        )
    if n == 0:
        raise InputError("empty tree", source, "give at least one region")
    blank = _first(_empty(ids))
    if blank is not None:
        raise InputError(
            "empty region code",
            f"{source}, entry {blank + 1}",
            "give every region a code",
        )
    twice = duplicate_at(ids)
    if twice is not None:
        raise InputError(
            "duplicate region",
            f"{source}, region {ids[twice].as_py()!r}",
            "list every region once",
        )
    above = _lookup(parents, ids)
    own_parent = _first(above == np.arange(n))
    if own_parent is not None:
        raise InputError(
            "region is its own parent",
            f"{source}, region {ids[own_parent].as_py()!r}",
            "leave the root's parent empty",
        )
    rootless = _empty(parents)
    orphan = _first((above < 0) & ~rootless)
    if orphan is not None:
        raise InputError(
            f"parent {parents[orphan].as_py()!r} is not a region",
            f"{source}, region {ids[orphan].as_py()!r}",
            "list the parent as a region, or leave the root's parent empty",
        )
    roots = np.flatnonzero(rootless)
    if len(roots) == 0:
        raise InputError(
            "no root: the regions form a cycle",
            f"{source}, region {ids[0].as_py()!r}",
            "leave the root's parent empty",
        )
    if len(roots) > 1:
        first, second = (ids[int(row)].as_py() for row in roots[:2])
        raise InputError(
            f"{len(roots)} roots",
            f"{source}, regions {first!r} and {second!r}",
            "exactly one region has no parent",
        )
    return above


def _lookup(codes: ArrowArray, ids: ArrowArray) -> Ints:
    """(n,) int64 position of each code among the unique `ids`, -1 if it is not there.

    Parents are few and come in runs: hashing them, and not all ids, halves the time.
    """
    import pyarrow.compute as pc

    filled = codes.fill_null("")
    changes = np.ones(len(codes), dtype=np.bool_)
    changes[1:] = np.asarray(pc.not_equal(filled[1:], filled[:-1]))
    runs = np.flatnonzero(changes)
    encoded = filled.take(runs).dictionary_encode()
    found: ArrowArray = pc.index_in(ids, value_set=encoded.dictionary)
    entry = np.asarray(found.fill_null(-1))
    rows = np.flatnonzero(entry >= 0)
    row_of = np.full(len(encoded.dictionary), -1, dtype=np.int64)
    row_of[entry[rows]] = rows
    return np.repeat(row_of[np.asarray(encoded.indices)], np.diff(np.append(runs, len(codes))))


def _breadth_first(above: Ints) -> tuple[Ints, Ints]:
    """Rows in level order as far as the root reaches, and the number of them on each level."""
    kids = np.argsort(above, kind="stable")  # the root first, then the children of row 0, of row 1, ...
    counts = np.bincount(above[above >= 0], minlength=len(above))
    starts = 1 + np.cumsum(counts) - counts
    levels = [kids[:1]]
    while True:
        count = counts[levels[-1]]
        ends = np.cumsum(count)
        if ends[-1] == 0:
            break
        levels.append(kids[np.repeat(starts[levels[-1]] - ends + count, count) + np.arange(ends[-1])])
    return np.concatenate(levels), np.array([len(level) for level in levels], dtype=np.int64)


def _on_cycle(ids: ArrowArray, above: Ints, reached: Ints) -> str:
    """A region on a cycle: the walk upwards from a row that the root does not reach ends in one."""
    unreached = np.ones(len(above), dtype=np.bool_)
    unreached[reached] = False
    row = int(np.argmax(unreached))
    seen: set[int] = set()
    while row not in seen:
        seen.add(row)
        row = int(above[row])
    return str(ids[row].as_py())


def _padding(
    ids: ArrowArray, above: Ints, order: Ints, sizes: Ints, source: str
) -> tuple[tuple[str, ...], Ints]:
    """Names and parent rows of the single-child chains below leaves that are not on the last level."""
    depth = np.repeat(np.arange(len(sizes)), sizes)
    inner = np.zeros(len(above), dtype=np.bool_)
    inner[above[above >= 0]] = True
    missing = np.where(inner[order], 0, len(sizes) - 1 - depth)
    if missing.sum() > MAX_PADDED:
        raise InputError(
            f"padding would add more than {MAX_PADDED} regions",
            source,
            "bring the leaves to one level yourself",
        )
    short = np.flatnonzero(missing)
    taken = set(ids.to_pylist()) if len(short) else set()
    names: list[str] = []
    chain: list[int] = []
    for row, steps in zip(order[short].tolist(), missing[short].tolist(), strict=True):
        base = ids[row].as_py()
        last = row
        for step in range(1, steps + 1):
            name = f"{base}~{step}"
            while name in taken:
                name += "~"
            taken.add(name)
            chain.append(last)
            last = len(above) + len(names)
            names.append(name)
    return tuple(names), np.array(chain, dtype=np.int64)


def columns_from_levels(
    columns: Mapping[str, Any], *, root: str, joined: bool, source: str
) -> tuple[ArrowArray, ArrowArray]:
    """Region and parent codes, level by level, from one row a leaf and one column a level."""
    import pyarrow as pa
    import pyarrow.compute as pc

    ids: list[ArrowArray] = [pa.array([root], pa.large_string())]
    parents: list[ArrowArray] = [pa.array([None], pa.large_string())]
    codes: ArrowArray | None = None
    upper: Ints | None = None  # of each row, the position of its region among those of the level above
    for name, values in columns.items():
        column = text_array(values, f"{source}, column {name!r}")
        if codes is not None and len(column) != len(codes):
            raise InputError(
                "columns of unequal length",
                f"{source}, column {name!r}",
                "give one row a leaf",
            )
        blank = _first(_empty(column))
        if blank is not None:
            raise InputError(
                "missing code",
                f"{source}, column {name!r}, entry {blank + 1}",
                "fill every level",
            )
        if joined and codes is not None:
            codes = pc.binary_join_element_wise(codes, column, pa.scalar("/", pa.large_string()))
        else:
            codes = column
        encoded = codes.dictionary_encode()
        if len(codes) == 0:
            raise InputError("empty tree", source, "give at least one row")
        position = np.asarray(encoded.indices, dtype=np.int64)
        above = np.zeros(len(position), dtype=np.int64) if upper is None else upper
        parent = np.empty(len(encoded.dictionary), dtype=np.int64)
        parent[position[::-1]] = above[::-1]
        clash = _first(parent[position] != above)
        if clash is not None:
            raise InputError(
                "code under two parents",
                f"{source}, column {name!r}, code {codes[clash].as_py()!r}",
                'make codes unique, or join them to those above (codes "path")',
            )
        parents.append(ids[-1].take(pa.array(parent)))
        ids.append(encoded.dictionary)
        upper = position
    twice = None if codes is None else duplicate_at(codes)
    if codes is not None and twice is not None:
        raise InputError(
            "leaf listed twice",
            f"{source}, code {codes[twice].as_py()!r}",
            "give one row a leaf",
        )
    return pa.concat_arrays(ids), pa.concat_arrays(parents)
