"""Which run stands against which: pairs of runs on the same problem, and what could not be paired."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from pgsr.bench.analysis.rowsets import Rows, budget, columns_of, count, grouped, problem
from pgsr.bench.pages import Row
from pgsr.errors import InputError

Pair = tuple[Row, Row]
_SAME = columns_of("family", "instance", "model", "method", "kind", "noise", "seed")
_CIRCUMSTANCES = {
    "machine": "processors",
    "cores": "numbers of cores",
    "python": "versions of Python",
    "time_limit_s": "time limits",
    "memory_limit_gb": "memory limits",
}
"""Columns that should not differ between the two sides if times are compared."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Paired:
    """Pairs of runs, first A's and then B's, the names of the sides, and what has no partner."""

    names: tuple[str, str]
    pairs: tuple[Pair, ...]
    notes: tuple[str, ...]


def pair_results(a: Rows, b: Rows, names: tuple[str, str]) -> Paired:
    """Runs of the same key; then, of the others, those that agree in everything that names a run but the key.

    Where each side has one method and these are not the same, runs on the same problems are the pairs. Runs
    on other problems (another fingerprint) are no pair. Raises InputError if there is no pair at all.
    """
    methods = [{row["method"] for row in rows} for rows in (a, b)]
    if methods[0] != methods[1] and len(methods[0]) == len(methods[1]) == 1:
        return _paired(*_matched(a, b, problem), names)
    pairs, rest = _matched(a, b, lambda row: row["key"])
    more, rest = _matched(*rest, lambda row: (*_SAME(row), budget(row)))
    return _paired(pairs + more, rest, names)


def pair_methods(rows: Rows, methods: tuple[str, str]) -> Paired:
    """The runs of two methods on the same problems of one result. Raises InputError if there are none."""
    known = sorted({row["method"] for row in rows})
    for method in methods:
        if method not in known:
            raise InputError(f"no runs of method '{method}'", "--methods", f"there are {', '.join(known)}")
    if methods[0] == methods[1]:
        raise InputError("a method is compared with itself", "--methods", "name two")
    sides = [[row for row in rows if row["method"] == method] for method in methods]
    pairs, rest = _matched(sides[0], sides[1], problem)
    return _paired(pairs, rest, methods)


def _matched(a: Rows, b: Rows, name: Callable[[Row], Any]) -> tuple[list[Pair], tuple[list[Row], list[Row]]]:
    """Pairs of the same name, where it is the only one of that name on both sides, and the others."""
    left, right = grouped(a, name), grouped(b, name)
    both = [key for key in left if key in right and len(left[key]) == len(right[key]) == 1]
    pairs = [(left[key][0], right[key][0]) for key in both]
    paired = set(both)
    rest = [row for row in a if name(row) not in paired], [row for row in b if name(row) not in paired]
    return pairs, rest


def _paired(pairs: Sequence[Pair], rest: tuple[list[Row], list[Row]], names: tuple[str, str]) -> Paired:
    same = [pair for pair in pairs if not _other_problem(*pair)]
    notes = [
        f"{count(len(alone), 'run')} of {name} without a partner ({_where(alone)})."
        for alone, name in zip(rest, names, strict=True)
        if alone
    ]
    if other := len(pairs) - len(same):
        notes.append(f"{count(other, 'pair')} left out: the two runs had different problems (fingerprints).")
    for column, what in _CIRCUMSTANCES.items():
        if any(_differ(one.get(column), two.get(column)) for one, two in same):
            notes.append(f"The two sides had different {what}: times and memory compare these as well.")
    if not same:
        why = notes[-1] if notes else "there are no runs"
        raise InputError(
            f"no run of {names[0]} can be paired with one of {names[1]}",
            why.rstrip("."),
            "compare results of the same suite, or two methods that were given the same problems",
        )
    return Paired(names=names, pairs=tuple(same), notes=tuple(notes))


def _other_problem(one: Row, two: Row) -> bool:
    return _differ(one.get("fingerprint"), two.get("fingerprint"))


def _differ(one: object, two: object) -> bool:
    """Whether both are known and unequal."""
    return one is not None and two is not None and one != two


def _where(rows: Rows) -> str:
    """The instances and methods with the most of these runs."""
    found = Counter(f"{row['instance']}, {row['method']}" for row in rows)
    first = [f"{name}: {number}" for name, number in found.most_common(3)]
    return "; ".join(first) + ("; ..." if len(found) > 3 else "")
