"""Checks on the answer to a case: what every solver owes for every problem that it takes."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgsr.models.problem import Problem
from pgsr.solvers.base import PointStatus, Solution, Solver, Termination, tolerance
from pgsr.solvers.conformance.case import Case
from pgsr.solvers.conformance.subject import Subject
from pgsr.solvers.conformance.verdicts import Check, Failed, Skipped, demand, ended
from pgsr.solvers.relaxedproof import RELAXED_GAP

ACCURACY = 1e-6
"""Relative error of a relaxation's objective that is allowed if a solver declares no `accuracy`."""

SLACK = 1e-6
"""Relative error allowed in a bound that was computed in floating point."""


def solution_of(subject: Subject, case: Case) -> Solution:
    """The solution of `case`; Skipped if there is none."""
    solution = ended(subject.answer(case)).solution
    assert solution is not None  # `ended` has looked
    return solution


def accuracy_of(solver: Solver) -> float:
    """The relative error of its objective that `solver` declares for relaxations."""
    return float(getattr(solver, "accuracy", ACCURACY))


def is_feasible(problem: Problem, x: NDArray[Any]) -> bool:
    """Whether `x` (R, N) meets all conditions, as recomputed here."""
    return max(problem.violations(x).values()) <= tolerance(problem, x)


def is_optimal(case: Case, x: NDArray[Any], accuracy: float) -> bool:
    """Whether the objective at `x` is the optimum: exactly for integers, else within `accuracy`."""
    assert case.optimum is not None
    value = case.problem.objective(x)
    if case.problem.integer:
        return value == case.optimum
    return abs(value - case.optimum) <= accuracy * max(1.0, abs(case.optimum)) + case.precision


def returns_a_solution(subject: Subject, case: Case) -> None:
    """`solve` returns a Solution for every problem that `check` takes, and raises nothing."""
    answer = subject.answer(case)
    # Only the numbers themselves can show that they are too large, or that bounds allow nothing.
    by_values = "huge" in case.tags or case.optimum is None
    if answer.refused and (by_values or not answer.refused_late):
        raise Skipped(f"refused: {answer.refused}")
    if answer.error is not None:
        raise Failed(f"solve raises {type(answer.error).__name__}: {answer.error}")
    demand(isinstance(answer.solution, Solution), "solve does not return a Solution")


def reaches_the_optimum(subject: Subject, case: Case) -> None:
    """The table is optimal: exactly for integers, within the declared accuracy for relaxations."""
    solution = solution_of(subject, case)
    said = f"(it says {solution.termination.value}: {solution.refuted or solution.raw_status})"
    demand(solution.x is not None, f"no point {said}")
    assert solution.x is not None
    value = case.problem.objective(solution.x)
    right = is_optimal(case, solution.x, accuracy_of(subject.solver))
    demand(right, f"objective {value}, optimum {case.optimum} {said}")
    demand(solution.termination is Termination.OPTIMAL, f"the optimum, but not the word for it {said}")


def point_is_feasible(subject: Subject, case: Case) -> None:
    """The table meets all conditions, recomputed from the problem."""
    solution = solution_of(subject, case)
    if solution.x is None:
        raise Skipped("no point: see reaches_the_optimum")
    demand(solution.x.shape == case.problem.target.shape, f"a table of shape {solution.x.shape}")
    found = {name: value for name, value in case.problem.violations(solution.x).items() if value}
    demand(is_feasible(case.problem, solution.x), f"violates {found}")


def record_is_true(subject: Subject, case: Case) -> None:
    """Objective, violations and point status of the record are those of its table."""
    solution = solution_of(subject, case)
    demand(solution.problem is case.problem, "the record is one of another problem")
    demand(solution.solver == subject.solver.name, f"the record names the solver '{solution.solver}'")
    demand(solution.build_s >= 0 and solution.solve_s >= 0, "negative seconds")
    if solution.x is None:
        demand(solution.objective is None, "an objective without a table")
        demand(solution.point_status is PointStatus.NONE, f"'{solution.point_status.value}' without a table")
        return
    value = case.problem.objective(solution.x)
    demand(solution.objective == value, f"objective {solution.objective}, its table's is {value}")
    violations = case.problem.violations(solution.x)
    demand(
        dict(solution.violations) == violations, f"violations {dict(solution.violations)}, not {violations}"
    )
    right = PointStatus.FEASIBLE if is_feasible(case.problem, solution.x) else PointStatus.INFEASIBLE
    demand(
        solution.point_status is right, f"a table that is {right.value} as '{solution.point_status.value}'"
    )


def claims_stand(subject: Subject, case: Case) -> None:
    """Nothing that the back end claimed had to be refuted."""
    solution = solution_of(subject, case)
    demand(not solution.refuted, f"it {solution.refuted}")
    if case.optimum is not None:
        demand(solution.termination is not Termination.INFEASIBLE, "infeasible, but there is a table")
        demand(solution.termination is not Termination.UNBOUNDED, "unbounded, but no loss is negative")


def bound_is_valid(subject: Subject, case: Case) -> None:
    """The bound is at most the optimum, and no bound above the point's own objective was claimed."""
    solution = solution_of(subject, case)
    demand(not solution.refuted.startswith("claims a bound"), f"it {solution.refuted}")
    if solution.bound is None or case.optimum is None:
        return
    slack = SLACK if case.problem.integer else accuracy_of(subject.solver)
    most = case.optimum + slack * max(1.0, abs(float(case.optimum))) + case.precision
    demand(solution.bound <= most, f"bound {solution.bound}, optimum {case.optimum}")
    proof = solution.proof
    if case.problem.integer and proof is not None and proof.exact and proof.bound is not None:
        demand(proof.bound <= case.optimum, f"proven bound {proof.bound}, optimum {case.optimum}")


def certificate_is_true(subject: Subject, case: Case) -> None:
    """The certificate is True for optimal tables only, False for others only."""
    solution = solution_of(subject, case)
    if solution.certificate is None or solution.x is None:
        demand(solution.certificate is not True, "a certificate without a table")
        return
    assert case.optimum is not None
    right = is_feasible(case.problem, solution.x)
    right = right and (
        case.problem.objective(solution.x) <= case.optimum or is_optimal(case, solution.x, RELAXED_GAP)
    )
    if solution.certificate:
        demand(right, f"certified, but objective {solution.objective}, optimum {case.optimum}")
    else:
        demand(not right or not case.problem.integer, "an optimal table with the certificate False")


def trace_is_monotone(subject: Subject, case: Case) -> None:
    """Times and bounds of the trace never fall, objectives never rise; observers saw the same."""
    answer = ended(subject.answer(case))
    solution = solution_of(subject, case)
    for before, after in itertools.pairwise(solution.trace):
        demand(before.seconds <= after.seconds, "time runs backwards in the trace")
        if before.objective is not None:
            demand(after.objective is not None and after.objective <= before.objective, "its objective rises")
        if before.bound is not None:
            demand(after.bound is not None and after.bound >= before.bound, "its bound falls")
    if solution.trace and solution.point_status is PointStatus.FEASIBLE and case.problem.integer:
        best = solution.trace[-1].objective
        assert solution.objective is not None
        demand(best is None or solution.objective <= best, f"{best} was found, {solution.objective} returned")
    demand([point for point, _ in answer.seen] == list(solution.trace), "observers did not see the trace")
    for point, x in answer.seen:
        if x is not None:
            demand(is_feasible(case.problem, x), "an observed table is not feasible")
            demand(case.problem.objective(x) == point.objective, "an observed objective is not its table's")


def writes_nothing(subject: Subject, case: Case) -> None:
    """Nothing goes to standard output or standard error unless `verbose` is set."""
    if subject.isolate:
        raise Skipped("a process of its own keeps its output to itself")
    answer = ended(subject.answer(case))
    demand(not answer.output, f"writes {answer.output[:60]!r}")


def start_is_accepted(subject: Subject, case: Case) -> None:
    """Whatever table a search is started from, feasible or not, the optimum is the same."""
    solution = solution_of(subject, case)
    starts: list[NDArray[Any]] = [np.zeros_like(case.problem.target), case.problem.target]
    if solution.x is not None:
        starts.append(solution.x)
    for start in starts:
        found = subject.ask(case.problem, start=start)
        demand(found.solution is not None, f"with a start it ends with {found.error or found.refused}")
        assert found.solution is not None
        x = found.solution.x
        right = x is not None and is_optimal(case, x, accuracy_of(subject.solver))
        demand(right, f"objective {found.solution.objective} with a start, optimum {case.optimum}")


def rounding_is_honest(subject: Subject, case: Case) -> None:
    """Rounding a relaxed answer entry by entry reports the violations that it causes."""
    from pgsr.solvers.rounding import rounded

    solution = solution_of(subject, case)
    if solution.x is None:
        raise Skipped("no point: see reaches_the_optimum")
    record = rounded(solution)
    table = np.rint(solution.x).astype(np.int64)
    demand(record.x is not None and np.array_equal(record.x, table), "not rounded entry by entry")
    violations = case.problem.integers().violations(table)
    demand(dict(record.violations) == violations, f"rounded: {dict(record.violations)}, not {violations}")
    broken = max(violations.values()) > 0
    demand((record.point_status is PointStatus.INFEASIBLE) == broken, "the rounded table's status is wrong")
    demand(not (broken and record.certificate), "a rounded table that breaks conditions is certified")


def infeasibility_is_told(subject: Subject, case: Case) -> None:
    """Where no table exists, none is called feasible or optimal."""
    solution = solution_of(subject, case)
    demand(solution.termination is not Termination.OPTIMAL, "says optimal, but there is no table")
    demand(solution.point_status is not PointStatus.FEASIBLE, "calls a table feasible, but there is none")
    demand(solution.certificate is not True, "certifies a table, but there is none")


def has_an_optimum(case: Case) -> bool:
    """Whether there is any table."""
    return case.optimum is not None


def is_ordinary(case: Case) -> bool:
    """Whether every solver that takes `case` has to find its optimum."""
    return has_an_optimum(case) and "huge" not in case.tags


ON_ANSWERS: tuple[Check, ...] = (
    Check(judge=returns_a_solution, cases=lambda _: True),
    Check(judge=reaches_the_optimum, cases=is_ordinary),
    Check(judge=point_is_feasible, cases=is_ordinary),
    Check(judge=record_is_true, cases=lambda _: True),
    Check(judge=claims_stand, cases=lambda _: True),
    Check(judge=bound_is_valid, cases=has_an_optimum),
    Check(judge=certificate_is_true, cases=has_an_optimum),
    Check(judge=trace_is_monotone, cases=lambda _: True),
    Check(judge=writes_nothing, cases=lambda _: True),
    Check(judge=start_is_accepted, cases=lambda case: "start" in case.tags),
    Check(
        judge=rounding_is_honest,
        cases=lambda case: not case.problem.integer and bool(case.tags & {"start", "round"}),
    ),
    Check(judge=infeasibility_is_told, cases=lambda case: case.optimum is None),
)
"""Checks on the answer to a case, in the order in which they are made."""
