"""Solvers by name, found by the entry-point group `pgsr.solvers`; ours are registered like anybody's."""

from __future__ import annotations

from importlib.metadata import EntryPoint, entry_points

from pgsr.errors import InputError, SolverFault
from pgsr.models.problem import Problem
from pgsr.solvers.base import Solver

GROUP = "pgsr.solvers"


def _points() -> dict[str, EntryPoint]:
    return {point.name: point for point in entry_points(group=GROUP)}


def names() -> tuple[str, ...]:
    """Names of all registered solvers, sorted; loads none of them."""
    return tuple(sorted(_points()))


def get(name: str) -> Solver:
    """Make the solver called `name`.

    Raises InputError if there is none, SolverFault if its class cannot be loaded.
    """
    point = _points().get(name)
    if point is None:
        raise InputError(f"unknown solver '{name}'", "solver", f"use one of {', '.join(names())}")
    try:
        solver: Solver = point.load()()
    except Exception as error:
        raise SolverFault(f"solver '{name}' cannot be loaded: {error}") from error
    return solver


def capable(problem: Problem) -> tuple[Solver, ...]:
    """All available solvers whose features cover what `problem` requires."""
    solvers = (get(name) for name in names())
    return tuple(s for s in solvers if problem.requires <= s.features and s.availability().available)


def default(problem: Problem) -> Solver:
    """The solver to use when none is named: `proximity` if it is capable, else the first capable one.

    Raises InputError if no registered solver takes the problem.
    """
    found = capable(problem)
    for solver in found:
        if solver.name == "proximity":
            return solver
    if found:
        return found[0]
    need = ", ".join(sorted(feature.value for feature in problem.requires))
    raise InputError(f"no installed solver takes {need}", "solver", "see `pgsr solvers`")
