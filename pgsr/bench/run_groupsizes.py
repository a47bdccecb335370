"""One run of a suite, family groupsizes: a method repairs a noisy table."""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pgsr.bench.judged import about, judged, point_status, stated_bound
from pgsr.bench.pages import Row
from pgsr.bench.task import NOISY, RELAXED, ROUNDED, Task
from pgsr.errors import PgsrError
from pgsr.models.problem import Feature, Problem
from pgsr.solvers.base import Solution, SolveOptions, Solver
from pgsr.solvers.certificate import certify
from pgsr.solvers.registry import get

if TYPE_CHECKING:
    from pgsr.bench.one import Say


def run_groupsizes(task: Task, say: Say) -> Row:
    """Build, warm up, solve, judge. See `COLUMNS` for what is filled."""
    from pgsr.bench.library import open_case

    name, _, variant = task.method.partition(":")
    kind = variant or NOISY
    solver = None
    if task.method != NOISY:
        solver = get(name)
        kind = variant or ("heuristic" if getattr(solver, "heuristic", False) else "exact")
        found = _cannot(solver, task.model, relaxed=bool(variant))
        if found is not None:
            return found | {"kind": kind}
    drawn: dict[str, Any] = {}
    if task.seed is not None:  # else the noisy counts are part of the instance
        drawn = {"epsilon": task.epsilon, "noise": task.noise, "seed": task.seed}
    model: Any = task.model
    case = open_case(task.instance, model=model, base=Path(task.base), **drawn)
    problem: Problem = case.instance.problem
    head = about(problem) | {"kind": kind, "fingerprint": case.fingerprint}
    if case.rho is not None:
        head["rho"] = float(case.rho)
    if solver is None:
        say(head)
        say({})
        return judged(problem, problem.target, case.truth) | {
            "outcome": "ran",
            "point_status": point_status(problem, problem.target),
            "certificate": _certificate(problem, problem.target),
        }
    head["version"] = solver.version()
    lacking = _cannot(solver, head["model"], relaxed=bool(variant))
    if lacking is not None:
        return head | lacking
    asked = problem.relaxed() if variant else problem
    try:
        solver.check(asked)
    except PgsrError as error:
        missing = asked.requires - solver.features
        return head | {"outcome": "lacks" if missing else "refused", "reason": str(error)}
    _warm_up(solver, asked, task)
    say(head)
    try:
        solution, took = _timed(solver, asked, task)
    finally:
        say({})
    return _row(solution, took, problem, case.truth, variant)


def _cannot(solver: Solver, model: str | None, *, relaxed: bool) -> Row | None:
    """The outcome of a solver that is not installed, or not made for this."""
    available = solver.availability()
    if not available.available:
        return {"outcome": "missing", "reason": available.reason}
    need = {Feature.RELAXED if relaxed else Feature.INTEGER}
    if model is not None:
        need.add(Feature(model))
    lacking = ", ".join(sorted(feature.value for feature in need - solver.features))
    if not lacking:
        return None
    return {"outcome": "lacks", "reason": f"does not take {lacking}", "version": solver.version()}


def _warm_up(solver: Solver, asked: Problem, task: Task) -> None:
    """Load and compile what the solve needs, on three regions; what goes wrong will go wrong again."""
    tiny = Problem(
        parent=np.array([-1, 0, 0]),
        target=np.array([[3, 4], [1, 1], [1, 4]]),
        total=6,
        cumulative=asked.cumulative,
        integer=asked.integer,
        loss=asked.loss,
    )
    with suppress(Exception):
        solver.solve(tiny, SolveOptions(time_limit_s=task.build_limit_s, threads=task.threads))


def _timed(solver: Solver, asked: Problem, task: Task) -> tuple[Solution, float]:
    """The solve, and its seconds by the clock."""
    from pgsr.solvers.running import run

    stop_at = time.monotonic() + task.time_limit_s + task.grace_s
    options = SolveOptions(time_limit_s=task.time_limit_s, threads=task.threads, stop_at=stop_at)
    start = time.perf_counter()
    solution = run(solver, asked, options, isolate=False)
    return solution, time.perf_counter() - start


def _row(solution: Solution, took: float, problem: Problem, truth: Any, variant: str) -> Row:
    """What came of the solve."""
    row: Row = {
        "outcome": "ran",
        "reason": solution.refuted or None,
        "version": solution.version,
        "termination": solution.termination.value,
        "point_status": solution.point_status.value,
        "certificate": solution.certificate,
        "bound": stated_bound(solution.bound, solution.objective),
        "build_s": solution.build_s,
        # An adapter knows best when its back end began; nobody is quicker than the clock.
        "solve_s": min(solution.solve_s, took),
    }
    if solution.x is None:
        return row
    if variant == ROUNDED:
        return row | _rounded(problem, solution, truth)
    row |= judged(problem, solution.x, truth)
    if variant == RELAXED:
        row |= {"objective": _float(solution.objective), "objective_exact": None}
    return row | {"gap": _gap(row)}


def _rounded(problem: Problem, relaxed: Solution, truth: Any) -> Row:
    """A relaxation rounded entry by entry to the nearest whole number, judged as an answer in integers."""
    assert relaxed.x is not None
    x = np.rint(relaxed.x).astype(np.int64)
    row = judged(problem, x, truth)
    bound = relaxed.proof.bound if relaxed.proof is not None else None
    row["bound"] = stated_bound(bound, row["objective"])
    # The bound is one for tables that add up: below it is only what does not.
    return row | {
        "point_status": point_status(problem, x),
        "certificate": _certificate(problem, x),
        "gap": _gap(row),
    }


def _gap(row: Row) -> float | None:
    """Objective less bound, where both are known."""
    return None if row["bound"] is None or row["objective"] is None else row["objective"] - row["bound"]


def _certificate(problem: Problem, x: Any) -> bool | None:
    return certify(problem, x).optimal


def _float(value: float | None) -> float | None:
    return None if value is None else float(value)
