"""Checks of a mechanism's parameters and data, all made before anything is charged."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgsr.counts import GroupSizes
from pgsr.errors import InputError
from pgsr.groupsizes.budget import LevelBudget
from pgsr.groupsizes.guarantee import ModelWords
from pgsr.groupsizes.postprocess import AUTO
from pgsr.hierarchy import Hierarchy
from pgsr.levelorder import MAGNITUDE


def check_types(*, hierarchy: Any, budget: Any, solver: Any, options: Any, flag: Any) -> None:
    """Raise InputError for an argument of another type, and for the name of no solver."""
    from pgsr.solvers.base import SolveOptions

    if not isinstance(hierarchy, Hierarchy):
        raise InputError("not a region tree", "hierarchy", "make it with Hierarchy.from_columns")
    if not isinstance(budget, LevelBudget):
        raise InputError("not a budget of levels", "budget", "use LevelBudget.equal or LevelBudget.explicit")
    if options is not None and not isinstance(options, SolveOptions):
        raise InputError("not options of a solver", "options", "use SolveOptions, or None")
    if not isinstance(flag, bool):
        raise InputError("neither True nor False", "without_size_zero", "use one of them")
    _check_solver(solver)


def _check_solver(solver: Any) -> None:
    """Raise InputError unless `solver` is a registered name or has what solvers have."""
    from pgsr.solvers import registry

    if isinstance(solver, str):
        names = registry.names()
        if solver not in (AUTO, *names):
            raise InputError(f"unknown solver '{solver}'", "solver", f"use one of {', '.join(names)}")
        return
    calls = ("availability", "version", "check", "solve")
    missing = [name for name in calls if not callable(getattr(solver, name, None))]
    if isinstance(solver, type) or not isinstance(getattr(solver, "name", None), str):
        missing.insert(0, "name")
    if not isinstance(getattr(solver, "features", None), (frozenset, set)):
        missing.append("features")
    if missing:
        raise InputError(
            f"not a solver: no {', '.join(missing)}", "solver", "give a name or a solver; see pgsr.solvers"
        )


def whole_number(value: Any, name: str, smallest: int) -> int:
    """`value` as an int; InputError unless it is a whole number from `smallest` to 2^53."""
    whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    if not whole or not smallest <= value <= MAGNITUDE:
        raise InputError("not a whole number in range", name, f"give {smallest} or more, up to 2^53")
    return int(value)


def check_size_zero(sizes: NDArray[np.int64], without: bool) -> None:
    """Raise InputError unless `without` says whether size 0 is left out of `sizes`."""
    if sizes[0] > 0 and not without:
        raise InputError(
            "size 0 is not listed, so the only member of a unit is not protected",
            "sizes",
            "list size 0, or accept it with without_size_zero=True (the guarantee will say so)",
        )
    if sizes[0] == 0 and without:
        raise InputError("size 0 is listed", "without_size_zero", "leave it out")


def check_data(data: Any, hierarchy: Hierarchy, sizes: NDArray[np.int64], total: int) -> None:
    """Raise InputError for data on another tree, size list or total, and counts that do not add up."""
    if not isinstance(data, GroupSizes):
        raise InputError("not counts of group sizes", "data", "make them with GroupSizes")
    if data.hierarchy is not hierarchy and data.hierarchy.digest() != hierarchy.digest():
        raise InputError("the data is on another region tree", "hierarchy", "use that of the mechanism")
    if not np.array_equal(data.sizes, sizes):
        raise InputError("the data has another size list", "sizes", "use that of the mechanism")
    if data.total != total:
        way_out = "state the public number"
        raise InputError("the data has another number of units than stated", "total", way_out)
    if data.check(total):
        raise InputError("the counts do not add up along the tree", "counts", "build with GroupSizes")


def refuse_contradictions(
    data: GroupSizes,
    table: NDArray[np.int64],
    lower: NDArray[np.int64] | None,
    upper: NDArray[np.int64] | None,
    invariant_levels: Collection[str],
    words: ModelWords,
) -> None:
    """Raise InputError, naming region and size but no count, if the data do not meet a public bound.

    `table` (R, N) are the data as the bounds see them: counts, or cumulative counts.
    That there is a refusal depends on the data, like any other: see `docs/privacy.md`.
    """
    for name, bound, beyond in (("lower", lower, np.less), ("upper", upper, np.greater)):
        if bound is None:
            continue
        cells = np.argwhere(beyond(table, bound))
        if not cells.size:
            continue
        row, column = (int(place) for place in cells[0])
        level = data.hierarchy.level_names[int(data.hierarchy.level_of()[row])]
        rule = "structural zero" if name == "upper" and bound[row, column] == 0 else f"public {name} bound"
        where = f"region '{data.hierarchy.ids[row]}', {words.entry} {int(data.sizes[column])}"
        if level in invariant_levels:
            raise InputError(
                f"a {rule} clashes with an invariant level",
                f"{where}, level '{level}'",
                "the level is published exactly: drop one of the two",
            )
        raise InputError(
            f"the data contradict a {rule}", where, "correct the rule (not to fit the data) or the data"
        )
