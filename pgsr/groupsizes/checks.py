"""Checks of a mechanism's parameters and data, all made before anything is charged."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgsr.counts import GroupSizes
from pgsr.errors import InputError
from pgsr.groupsizes.budget import LevelBudget
from pgsr.hierarchy import Hierarchy


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
        if solver not in names:
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


def refuse_contradictions(
    data: GroupSizes,
    lower: NDArray[np.int64] | None,
    upper: NDArray[np.int64] | None,
    invariant_levels: Collection[str],
) -> None:
    """Raise InputError, naming region and size but no count, if the data do not meet a public bound.

    That there is a refusal depends on the data, like any other: see `docs/privacy.md`.
    """
    for name, bound, beyond in (("lower", lower, np.less), ("upper", upper, np.greater)):
        if bound is None:
            continue
        cells = np.argwhere(beyond(data.counts, bound))
        if not cells.size:
            continue
        row, column = (int(place) for place in cells[0])
        level = data.hierarchy.level_names[int(data.hierarchy.level_of()[row])]
        rule = "structural zero" if name == "upper" and bound[row, column] == 0 else f"public {name} bound"
        where = f"region '{data.hierarchy.ids[row]}', size {int(data.sizes[column])}"
        if level in invariant_levels:
            raise InputError(
                f"a {rule} clashes with an invariant level",
                f"{where}, level '{level}'",
                "the level is published exactly: drop one of the two",
            )
        raise InputError(
            f"the data contradict a {rule}", where, "correct the rule (not to fit the data) or the data"
        )
