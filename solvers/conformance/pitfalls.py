"""Ten pitfalls, each found in a public thread about some solver: a check that every solver runs."""

from __future__ import annotations

import time

import numpy as np

from pgsr.errors import InputError, PgsrError
from pgsr.models.problem import Problem
from pgsr.solvers.base import PointStatus, Solution, SolveOptions, Termination, tolerance
from pgsr.solvers.conformance.case import Case
from pgsr.solvers.conformance.cases import large_problem
from pgsr.solvers.conformance.checks import accuracy_of, is_feasible, is_optimal, is_ordinary, solution_of
from pgsr.solvers.conformance.subject import Subject
from pgsr.solvers.conformance.verdicts import Check, Failed, Skipped, demand, ended
from pgsr.solvers.running import run

LIMIT_S = 1.0
"""Time limit of the large solves."""

LATE_S = 3.0
"""Seconds after the time limit within which an isolated solve must be back."""

BUILD_S = 10.0
"""Seconds within which a model of 5,000 entries must be built."""

SIZES = ((1000, 20), (250, 20), (50, 20), (10, 10))
"""Regions x sizes of the large problems, tried in turn until the solver takes one."""

KILLED = "killed after"
"""What `running.run` writes as the raw status of a solve that it had to end."""


def pitfall_1_ignored_limits(subject: Subject) -> None:
    """A solve comes back soon after its time limit, because it can be killed.

    HiGHS #992, #2226: quadratic programs that never end, or ignore the limit; seen here too, with integer
    columns for coarse tails. A solver that calls itself `interruptible` must come back without being killed.
    """
    for problem in _large(subject, SIZES):
        started = time.monotonic()
        solution = _isolated(subject, problem)
        seconds = time.monotonic() - started
        demand(seconds <= LIMIT_S + LATE_S, f"back after {seconds:.1f} s, its limit is {LIMIT_S:g} s")
        if getattr(subject.solver, "interruptible", False):
            demand(not solution.raw_status.startswith(KILLED), "interruptible, but it had to be killed")


def pitfall_2_false_optimum(subject: Subject, case: Case) -> None:
    """What is called optimal is feasible and optimal.

    HiGHS #768, #993, #2957: status "optimal" at points that were infeasible, or worse than others.
    """
    solution = solution_of(subject, case)
    demand(not solution.refuted.startswith("claims an optimum"), f"it {solution.refuted}")
    if solution.termination is not Termination.OPTIMAL:
        return
    demand(solution.x is not None, "optimal without a table")
    assert solution.x is not None
    demand(is_feasible(case.problem, solution.x), "optimal at a table that is not feasible")
    right = is_optimal(case, solution.x, accuracy_of(subject.solver))
    demand(right, f"optimal at {case.problem.objective(solution.x)}, optimum {case.optimum}")


def pitfall_3_limit_as_answer(subject: Subject) -> None:
    """A limit that was reached is called so, and the gap of what was found by then is shown.

    CVXPY with SCIP: `optimal_inaccurate` for an incumbent that is far too high.
    """
    for problem in _large(subject, ((60, 10), (10, 10))):
        answer = subject.ask(problem, time_limit_s=0.05)
        if answer.refused:
            continue
        demand(answer.solution is not None, f"with a short limit it ends with {answer.error}")
        assert answer.solution is not None
        solution = answer.solution
        demand(not solution.refuted, f"it {solution.refuted}")
        if solution.termination is Termination.OPTIMAL:
            demand(solution.point_status is PointStatus.FEASIBLE, "optimal without a feasible table")
        gap = solution.gap_relative
        if gap is not None and solution.point_status is PointStatus.FEASIBLE:
            demand(gap >= -accuracy_of(subject.solver), "a gap below zero")


def pitfall_4_default_gaps(subject: Subject, case: Case) -> None:
    """The proof goes to the end: no default gap stops the search near the optimum.

    `mip_rel_gap` is 1e-4 by default, which is 1,000 units where the objective is 1e7.
    """
    solution = solution_of(subject, case)
    demand(solution.x is not None, f"no point: {solution.raw_status}")
    assert solution.x is not None
    value = case.problem.objective(solution.x)
    demand(value == case.optimum, f"objective {value}, optimum {case.optimum}")


def pitfall_5_nearly_integer(subject: Subject, case: Case) -> None:
    """Integer problems get integers that meet all equalities exactly.

    HiGHS #1931: 0.9999 came back for 1, and `int(0.9999)` is 0.
    """
    solution = solution_of(subject, case)
    if solution.x is None:
        raise Skipped("no point: see reaches_the_optimum")
    demand(
        np.issubdtype(solution.x.dtype, np.integer), f"a table of {solution.x.dtype} for an integer problem"
    )
    found = {name: value for name, value in case.problem.violations(solution.x).items() if value}
    demand(not found, f"violates {found}")


def pitfall_6_overflow(subject: Subject, case: Case) -> None:
    """Numbers near 2^53 are refused by name, or handled exactly; never a wrong answer in silence.

    OR-Tools #4352: costs and sums that leave 64 bits on large domains.
    """
    answer = subject.answer(case)
    if answer.refused:
        demand(": " in answer.refused, f"a refusal that does not say where: {answer.refused}")
        raise Skipped(f"refused: {answer.refused}")
    if isinstance(answer.error, OverflowError):
        raise Failed(f"solve raises OverflowError: {answer.error}")
    solution = solution_of(subject, case)
    demand(not solution.refuted, f"it {solution.refuted}")
    if solution.termination is Termination.OPTIMAL:
        assert solution.x is not None
        value = case.problem.objective(solution.x)
        demand(value == case.optimum, f"optimal at {value}, optimum {case.optimum}")


def pitfall_7_other_table(subject: Subject, case: Case) -> None:
    """The same seed and one thread give the same table, even among ties.

    OR-Tools #4195: answers that change from run to run with several workers and time limits.
    """
    first = ended(subject.ask(case.problem, seed=7)).solution
    second = ended(subject.ask(case.problem, seed=7)).solution
    assert first is not None
    assert second is not None
    if first.x is None or second.x is None:
        raise Skipped("no point: see reaches_the_optimum")
    demand(np.array_equal(first.x, second.x), "two runs with the same seed give two tables")


def pitfall_8_solved_infeasible(subject: Subject, case: Case) -> None:
    """A relaxed table that is called feasible, or optimal, violates nothing beyond the tolerance.

    OSQP #609, #273: infeasible points reported as solved; seen here with OSQP and SCS as well.
    """
    solution = solution_of(subject, case)
    if solution.x is None:
        raise Skipped("no point: see reaches_the_optimum")
    worst = max(case.problem.violations(solution.x).values())
    within = worst <= tolerance(case.problem, solution.x)
    named = solution.termination is Termination.OPTIMAL or solution.point_status is PointStatus.FEASIBLE
    demand(within or not named, f"violations of {worst:.3g} in a table called {solution.point_status.value}")
    demand("optimum at a point that violates" not in solution.refuted, f"it {solution.refuted}")


def pitfall_9_slow_model(subject: Subject) -> None:
    """Building the model takes time in proportion to its size.

    CVXPY #1332, #1622: canonicalisation that takes longer, and more memory, than the solve.
    """
    for problem in _large(subject, ((500, 10), (50, 10))):
        solution = _isolated(subject, problem, deadline_s=BUILD_S + LIMIT_S + LATE_S)
        demand(
            not solution.raw_status.startswith(KILLED),
            f"{problem.target.size} entries: {solution.raw_status}",
        )
        demand(
            solution.build_s <= BUILD_S, f"{problem.target.size} entries: built in {solution.build_s:.1f} s"
        )


def pitfall_10_stale_model(subject: Subject, case: Case) -> None:
    """One object solves A, then B, then A again, and each answer is that problem's own.

    Pyomo #3127: a persistent model that went stale. Also a square that was silently dropped (cuOpt #1272,
    linopy #171): A and B have the same linear part up to scale, so without squares they get the same answer.
    """
    assert case.twin is not None
    tables = []
    for turn in (case, case.twin, case):
        solution = ended(subject.ask(turn.problem)).solution
        assert solution is not None
        demand(solution.x is not None, f"no point: {solution.raw_status}")
        assert solution.x is not None
        right = is_optimal(turn, solution.x, accuracy_of(subject.solver))
        value = turn.problem.objective(solution.x)
        demand(right, f"{turn.name} after others: objective {value}, optimum {turn.optimum}")
        tables.append(solution.x)
    demand(not np.array_equal(tables[0], tables[1]), "two problems with different optima get the same table")


def _large(subject: Subject, sizes: tuple[tuple[int, int], ...]) -> list[Problem]:
    """For each model, and integers or not, the largest problem that the solver declares and takes."""
    found = []
    features = subject.solver.features
    for cumulative in (False, True):
        for integer in (True, False):
            for regions, width in sizes:
                problem = large_problem(regions, width, cumulative=cumulative, integer=integer)
                if not problem.requires <= features:
                    break
                try:
                    subject.solver.check(problem)
                except InputError:
                    continue
                found.append(problem)
                break
    if not found:
        raise Skipped("it takes none of the large problems")
    return found


def _isolated(subject: Subject, problem: Problem, deadline_s: float | None = None) -> Solution:
    options = SolveOptions(time_limit_s=LIMIT_S, threads=1)
    try:
        return run(subject.solver, problem, options, isolate=True, deadline_s=deadline_s)
    except PgsrError as error:
        raise Failed(f"{problem.target.size} entries: {error}") from error


PITFALLS: tuple[Check, ...] = (
    Check(judge=pitfall_1_ignored_limits, cases=None, slow=True),
    Check(judge=pitfall_2_false_optimum, cases=is_ordinary),
    Check(judge=pitfall_3_limit_as_answer, cases=None),
    Check(judge=pitfall_4_default_gaps, cases=lambda case: "gap" in case.tags and case.problem.integer),
    Check(judge=pitfall_5_nearly_integer, cases=lambda case: is_ordinary(case) and case.problem.integer),
    Check(judge=pitfall_6_overflow, cases=lambda case: "huge" in case.tags),
    Check(judge=pitfall_7_other_table, cases=lambda case: "ties" in case.tags),
    Check(
        judge=pitfall_8_solved_infeasible, cases=lambda case: is_ordinary(case) and not case.problem.integer
    ),
    Check(judge=pitfall_9_slow_model, cases=None, slow=True),
    Check(judge=pitfall_10_stale_model, cases=lambda case: case.twin is not None),
)
"""The ten pitfalls, in order."""
