"""The public list of what a release holds: which index of which records, one cell each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from pgsr.errors import InputError
from pgsr.inequality.query import IndexQuery

ALL = "all"
"""The label of all records together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One released number: `query` on the `n` records of `group` (`ALL`: of all records)."""

    group: str
    n: int
    query: IndexQuery


def group_sizes(sizes: Any, minimum: Any) -> dict[str, int]:
    """The public number of records by label; a single number stands for one group of all records.

    Raises InputError, naming the label, unless each is a whole number of at least `minimum` (2 or more).
    """
    if not _whole(minimum) or minimum < 2:
        raise InputError("not a whole number of at least 2", "minimum", "an index needs two records")
    listed = {ALL: sizes} if not isinstance(sizes, Mapping) else dict(sizes)
    if not listed:
        raise InputError("no groups", "sizes", "give the number of records of each group")
    for label, n in listed.items():
        if not isinstance(label, str) or not label.strip():
            raise InputError("a label is not text", "sizes", "give labels as text")
        where = f"group '{label}'" if isinstance(sizes, Mapping) else "sizes"
        if not _whole(n) or n < 0:
            raise InputError("not a number of records", where, "give a whole number")
        if n == 0:
            raise InputError("an empty group", where, "leave it out: its index is not defined")
        if n < minimum:
            raise InputError(
                f"fewer records than the public minimum of {minimum}",
                where,
                "merge or leave out small groups",
            )
    return {label: int(n) for label, n in listed.items()}


def _whole(value: Any) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def check_queries(queries: Any, name: str) -> tuple[IndexQuery, ...]:
    """`queries` as a tuple; InputError for other things and for an index asked for twice."""
    if isinstance(queries, IndexQuery):
        queries = (queries,)
    if not isinstance(queries, (tuple, list)) or not all(isinstance(one, IndexQuery) for one in queries):
        raise InputError("not a list of queries", name, "give a tuple of IndexQuery")
    names = [query.index for query in queries]
    twice = sorted({one for one in names if names.count(one) > 1})
    if twice:
        raise InputError(f"index '{twice[0]}' twice", name, "ask for each index once, with more epsilon")
    return tuple(queries)


def all_cells(
    sizes: Mapping[str, int], queries: tuple[IndexQuery, ...], overall: tuple[IndexQuery, ...]
) -> tuple[Cell, ...]:
    """The cells in the order of measurement: all records together, then group by group."""
    total = sum(sizes.values())
    cells = [Cell(group=ALL, n=total, query=query) for query in overall]
    cells += [Cell(group=label, n=n, query=query) for label, n in sizes.items() for query in queries]
    return tuple(cells)


def index_cost(queries: tuple[IndexQuery, ...], overall: tuple[IndexQuery, ...]) -> Fraction:
    """What the indices cost together.

    Several indices of the same records add. Groups hold different records, their labels and sizes are public
    and the same in neighbours, so replacing an income changes the data of one group alone: all groups cost as
    much as one. `overall` reads all records again and adds.
    """
    return sum((query.epsilon for query in (*queries, *overall)), Fraction(0))
