"""Solving one instance of the library as well as the installed solvers can."""

from __future__ import annotations

from dataclasses import replace

from pgsr.bench.best_known import BestKnown, Proof, better
from pgsr.bench.library import LibraryCase, open_case
from pgsr.bench.library_adversarial import LINEAR_VALUE, MOST_COPIES, side_by_side
from pgsr.bench.library_parameters import read_parameters, whole
from pgsr.bench.pages import today
from pgsr.errors import SolverFault
from pgsr.solvers.base import PointStatus, Solution, SolveOptions, Solver, Termination
from pgsr.solvers.registry import get, select
from pgsr.solvers.running import run

LINEAR_UP_TO = 200_000
"""Entries up to which the linear program of Model 2 is solved too."""

SMALL = 1_000
"""Entries up to which a solver needs no process of its own to keep to its limit."""


def solved(case: LibraryCase, limit_s: float) -> BestKnown:
    """The best that the default solver finds, and `window` too for Model 2: that gives the linear value.

    Copies of the fractional problem are also put together from the optimum of one. SolverFault if there is
    no table at all.
    """
    problem = case.instance.problem
    chosen = [select(problem)]
    if problem.cumulative and problem.target.size <= LINEAR_UP_TO and chosen[0].name != "window":
        chosen.append(get("window"))
    found = [_record(case, solver, limit_s) for solver in chosen]
    if case.name.startswith("fractional:"):
        found.append(_constructed(case, limit_s))
    best: BestKnown | None = None
    for record in found:
        best = best if record is None else better(best, record)
    if best is None:
        raise SolverFault(f"no solver found a table for {case.name} in {limit_s:g} s")
    return best


def _constructed(case: LibraryCase, limit_s: float) -> BestKnown | None:
    """Copies of the proven optimum of `fractional`, side by side: optimal, since nothing joins the copies."""
    one, problem = open_case("fractional").instance.problem, case.instance.problem
    copies = whole(read_parameters(case.name, ("copies",)), "copies", 1, MOST_COPIES)
    solver = select(one)
    solution = run(solver, one, SolveOptions(time_limit_s=limit_s))
    if solution.certificate is not True or solution.x is None or copies == 1:
        return None
    table = side_by_side(one, solution.x, copies)
    if max(problem.violations(table).values()) > 0:
        raise SolverFault("copies of a feasible table are not feasible")
    objective = problem.objective(table)
    return replace(
        _stated(case, solver, solution),
        objective=objective,
        bound=objective,
        proof="construction",
        linear=LINEAR_VALUE * copies,
    )


def _record(case: LibraryCase, solver: Solver, limit_s: float) -> BestKnown | None:
    """What one solver finds; None without a feasible table."""
    problem = case.instance.problem
    alone = None if problem.target.size > SMALL else False
    solution = run(solver, problem, SolveOptions(time_limit_s=limit_s), isolate=alone)
    if solution.point_status is not PointStatus.FEASIBLE or solution.objective is None:
        return None
    return _stated(case, solver, solution)


def _stated(case: LibraryCase, solver: Solver, solution: Solution) -> BestKnown:
    problem, objective = case.instance.problem, solution.objective
    assert objective is not None
    linear = solution.details.get("linear_value") if problem.cumulative else None
    return BestKnown(
        name=case.name,
        model=case.model,
        noise=case.noise,
        epsilon=None if case.epsilon is None else str(case.epsilon),
        seed=case.seed,
        fingerprint=case.fingerprint,
        entries=int(problem.target.size),
        objective=objective,
        bound=solution.bound,
        proof=_proof(solution),
        linear=None if linear is None else round(float(linear), 6),
        solver=solver.name,
        version=solution.version,
        date=today(),
    )


def _proof(solution: Solution) -> Proof:
    if solution.certificate is True and solution.proof is not None and solution.proof.exact:
        return "certificate"
    claimed = solution.termination is Termination.OPTIMAL and solution.bound is not None
    return "solver" if claimed and solution.gap is not None and solution.gap <= 0 else ""
