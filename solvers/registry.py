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
    """All available solvers whose features cover what `problem` requires, and that do not refuse its size.

    A solver that cannot be loaded is left out, and so are heuristics: they promise nothing.
    """
    found = []
    for name in names():
        try:
            solver = get(name)
            if not (problem.requires <= solver.features and solver.availability().available):
                continue
            if getattr(solver, "heuristic", False):
                continue
            solver.check(problem)
        except (InputError, SolverFault):
            continue
        found.append(solver)
    return tuple(found)


def select(problem: Problem) -> Solver:
    """The solver to use when none is named: of the `capable` ones the best for the problem's size.

    Goes by what solvers declare: first those whose `scale` (entries up to which they are a good choice)
    covers the problem, among these the highest `preference`, then the largest `scale`, then the first name.
    Ours and third parties' are chosen alike. Raises InputError if none takes the problem.
    """
    found = capable(problem)
    if not found:
        need = ", ".join(sorted(feature.value for feature in problem.requires))
        raise InputError(f"no installed solver takes {need}", "solver", "see `pgsr solvers`")

    def merit(solver: Solver) -> tuple[bool, int, int]:
        scale = int(getattr(solver, "scale", 0))
        return scale >= problem.target.size, int(getattr(solver, "preference", 0)), scale

    return max(found, key=merit)
