"""From noisy counts to published ones: call a solver, insist on a feasible point, keep the record."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pgsr.errors import InputError
from pgsr.mechanism import EstimateError
from pgsr.provenance import SolveRecord

if TYPE_CHECKING:
    from pgsr.hierarchy import Hierarchy
    from pgsr.models.problem import Loss, Problem
    from pgsr.solvers.base import Solution, SolveOptions, Solver


AUTO = "auto"
"""Instead of a solver's name: the one that `pgsr.solvers.registry.select` finds best for the problem."""


def resolve_solver(solver: str | Solver, problem: Problem) -> Solver:
    """The solver of that name (or as given), if it is available and takes `problem`; else InputError."""
    from pgsr.solvers import registry

    if solver == AUTO:
        return registry.select(problem)
    found = registry.get(solver) if isinstance(solver, str) else solver
    state = found.availability()
    if not state.available:
        raise InputError(
            f"solver '{found.name}' is not available ({state.reason})", "solver", "install or change it"
        )
    found.check(problem)
    return found


def make_problem(
    hierarchy: Hierarchy,
    target: NDArray[np.int64],
    total: int,
    weights: NDArray[np.float64],
    lower: NDArray[np.int64] | None,
    upper: NDArray[np.int64] | None,
    loss: Loss,
    *,
    cumulative: bool = False,
) -> Problem:
    """The integer problem for a noisy table `target` (R, N); InputError names the region at fault."""
    from pgsr.models.problem import Problem, RegionError

    try:
        return Problem(
            parent=hierarchy.parent,
            target=target,
            total=total,
            weights=weights,
            lower=lower,
            upper=upper,
            loss=loss,
            cumulative=cumulative,
        )
    except RegionError as error:
        raise error.named(str(hierarchy.ids[error.region])) from None


def post_process(
    problem: Problem, solver: Solver, options: SolveOptions, *, registered: bool = False
) -> tuple[NDArray[np.int64], SolveRecord]:
    """The integer table (R, N) that meets every condition of `problem`, and how it was found.

    A `registered` solver that does not answer to Ctrl-C runs in a process of its own, which also keeps what
    it prints off standard output.
    Violations are recomputed here from the problem. Raises EstimateError without such a point.
    """
    from pgsr.solvers.running import run

    alone = registered and not getattr(solver, "interruptible", False)
    solution = run(solver, problem, options, isolate=alone or None)
    record = solve_record(solution)
    if solution.x is None:
        raise EstimateError(
            f"solver '{record.solver}' stopped without a point ({record.termination})", solve=record
        )
    counts = np.asarray(solution.x)
    if not np.issubdtype(counts.dtype, np.integer):
        raise EstimateError(f"solver '{record.solver}' returned counts that are not integers", solve=record)
    broken = [name for name, value in problem.violations(counts).items() if value != 0]
    if broken:
        raise EstimateError(
            f"solver '{record.solver}' returned a point that violates {', '.join(broken)}", solve=record
        )
    return counts.astype(np.int64, copy=False), record


def solve_record(solution: Solution) -> SolveRecord:
    """The plain record of a solution."""
    return SolveRecord(
        solver=solution.solver,
        version=solution.version,
        termination=solution.termination.value,
        point_status=solution.point_status.value,
        objective=solution.objective,
        bound=solution.bound,
        gap=solution.gap,
        violations=solution.violations,
        certificate=solution.certificate,
        build_s=solution.build_s,
        solve_s=solution.solve_s,
    )


def table_columns(
    hierarchy: Hierarchy, sizes: NDArray[np.int64], table: NDArray[np.int64]
) -> dict[str, NDArray[Any]]:
    """A (R, N) table as columns: region, level (1 = root), and one column a size, named by it."""
    columns: dict[str, NDArray[Any]] = {"region": hierarchy.ids, "level": hierarchy.level_of() + 1}
    for column, size in enumerate(sizes):
        columns[str(size)] = table[:, column]
    return columns
