"""The conformance suite: its frozen optima, the liars that it must catch, and all registered solvers."""

from __future__ import annotations

import itertools
import json
import math
import os
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from pgsr.errors import InputError, SolverFault
from pgsr.models.problem import Feature, Problem
from pgsr.models.samples import enumerate_tables
from pgsr.solvers import registry, rounding
from pgsr.solvers.base import PointStatus, SolveOptions, Termination
from pgsr.solvers.conformance import (
    CHECKS,
    EXPECTED,
    Case,
    ExpectedFailure,
    Report,
    Status,
    cases,
    fakes,
    misdeclared,
    named,
    report,
    run_item,
    slyfakes,
    suite,
    wildfakes,
)
from pgsr.solvers.running import run

HERE = Path(__file__).parent
CASES = cases()
HANDMADE = [case for case in CASES if "-vector-" not in case.name]
LARGE = [case for case in HANDMADE if case.problem.integer and case.tags & {"gap", "huge"}]
SMALL = [case for case in HANDMADE if case.problem.integer and case not in LARGE]
RELAXED = [case for case in HANDMADE if not case.problem.integer]


def ids(case):
    return case.name


# The frozen optima.


def all_tables(problem):
    """Every table that meets all conditions of a tiny problem of either model."""
    plain = replace(problem, cumulative=False, lower=None, upper=None)
    for table in enumerate_tables(plain):
        x = np.cumsum(table, axis=1) if problem.cumulative else table
        if max(problem.violations(x).values()) == 0:
            yield x


@pytest.mark.parametrize("case", SMALL, ids=ids)
def test_integer_optima_by_enumeration(case):
    values = [case.problem.exact_objective(x) for x in all_tables(case.problem)]
    if case.optimum is None:
        assert values == []
        return
    assert case.optimum == (int(min(values)) if min(values).denominator == 1 else float(min(values)))


def nearest_tables(problem):
    """The objectives of all tables that can be optimal, sorted, where no bound holds the optimum back.

    The relaxation is solved in fractions; the objective rises from it by the quadratic form of the free
    entries, so everything as good as the rounded point lies in a small ball.
    """
    leaves = np.flatnonzero(~problem.inner()).tolist()
    places = [(r, s) for r in leaves for s in range(problem.width)]
    pinned, free = places[-1], places[:-1]

    def spread(place, factor=1):
        row, size = place
        out = {}
        while row >= 0:
            out[row, size] = factor
            row = int(problem.parent[row])
        return out

    base = {key: value * problem.total for key, value in spread(pinned).items()}
    columns = []
    for place in free:
        column = spread(place)
        if not problem.cumulative or place[1] == pinned[1]:
            for key, value in spread(pinned, -1).items():
                column[key] = column.get(key, 0) + value
        columns.append({key: value for key, value in column.items() if value})
    target = problem.target.tolist()
    form = [[Fraction(sum(v * b.get(k, 0) for k, v in a.items())) for b in columns] for a in columns]
    right = [sum(v * (target[r][s] - base.get((r, s), 0)) for (r, s), v in a.items()) for a in columns]
    rows = [[*row, Fraction(value)] for row, value in zip(form, right, strict=True)]
    for i in range(len(rows)):
        rows[i] = [value / rows[i][i] for value in rows[i]]
        for j in range(len(rows)):
            if j != i:
                factor = rows[j][i]
                rows[j] = [a - factor * b for a, b in zip(rows[j], rows[i], strict=True)]
    centre = [row[-1] for row in rows]

    def table(point):
        x = [[base.get((r, s), 0) for s in range(problem.width)] for r in range(problem.regions)]
        for column, value in zip(columns, point, strict=True):
            for (r, s), factor in column.items():
                x[r][s] += factor * value
        return x

    def objective(x):
        return sum(
            (x[r][s] - target[r][s]) ** 2 for r in range(problem.regions) for s in range(problem.width)
        )

    relaxed = table(centre)
    assert min(min(row) for row in relaxed) > 0
    if problem.cumulative:
        assert all(a < b for row in relaxed for a, b in itertools.pairwise(row))
    least = np.linalg.eigvalsh(np.array(form, dtype=float))[0]
    rise = objective(table([round(value) for value in centre])) - objective(relaxed)
    radius = math.sqrt(float(rise) / least) + 1e-9
    box = [range(math.ceil(v - radius), math.floor(v + radius) + 1) for v in centre]
    return objective(relaxed), sorted(objective(table(point)) for point in itertools.product(*box))


@pytest.mark.parametrize("case", LARGE, ids=ids)
def test_large_optima_by_enumeration_round_the_relaxation(case):
    relaxed, values = nearest_tables(case.problem)
    assert values[0] == case.optimum
    assert values[1] == case.optimum + 1, "the second best must be within reach of a lazy gap"
    assert relaxed < case.optimum
    if "gap" in case.tags:
        assert case.optimum > 10**7
        assert named(f"{case.name}-relaxed").optimum == pytest.approx(float(relaxed), rel=1e-12)


@pytest.mark.parametrize("case", RELAXED, ids=ids)
def test_relaxed_optima_by_an_independent_solver(case):
    cp = pytest.importorskip("cvxpy")
    problem = case.problem
    x = cp.Variable(problem.target.shape)
    conditions = [x >= 0]
    for r in np.flatnonzero(problem.inner()):
        children = x[problem.child_start[r] : problem.child_start[r + 1]]
        conditions.append(x[r] == cp.sum(children, axis=0))
    if problem.cumulative:
        conditions.append(x[0, -1] == problem.total)
        if problem.width > 1:
            conditions.append(x[:, 1:] >= x[:, :-1])
    else:
        conditions.append(cp.sum(x[0]) == problem.total)
    if problem.lower is not None:
        conditions.append(x >= problem.lower)
    if problem.upper is not None:
        conditions.append(x <= problem.upper)
    loss = cp.square if problem.loss == "l2" else cp.abs
    weights = np.repeat(problem.region_weights[:, None], problem.width, axis=1)
    # Relative to the size of the numbers, which interior points need.
    scale = max(1.0, float(np.abs(problem.target).max()) / 10)
    power = 2 if problem.loss == "l2" else 1
    cost = cp.sum(cp.multiply(weights, loss((x - problem.target) / scale)))
    program = cp.Problem(cp.Minimize(cost), conditions)
    found = program.solve(solver="CLARABEL", tol_gap_abs=1e-11, tol_gap_rel=1e-11, tol_feas=1e-11)
    if case.optimum is None:
        assert program.status == "infeasible"
        return
    assert case.optimum == pytest.approx(found * scale**power, rel=1e-8, abs=1e-8)


@pytest.mark.parametrize("case", [case for case in CASES if case.piecewise is not None], ids=ids)
def test_optima_of_the_linear_programs_of_unit_segments(case):
    from scipy.optimize import Bounds, LinearConstraint, milp

    from pgsr.models.forms.piecewise import Windows, piecewise_form

    program = piecewise_form(case.problem, Windows.whole(case.problem))
    if program.columns == 0:
        assert case.piecewise == program.constant
        return
    rows = LinearConstraint(program.matrix, program.row_lower, program.row_upper)
    found = milp(program.linear, constraints=rows, bounds=Bounds(program.lower, program.upper))
    assert found.status == 0
    assert found.fun + program.constant == pytest.approx(case.piecewise, abs=1e-6)


def test_the_published_vectors_belong_to_the_suite():
    from importlib.resources import files

    shipped = json.loads(files("pgsr.solvers.conformance").joinpath("vectors.json").read_text())
    assert len(shipped) == 60
    assert len([case for case in CASES if "-vector-" in case.name]) == 2 * len(shipped) == 120
    assert named("model2-fractional").optimum == 49
    assert named("model2-fractional").piecewise == 48.5
    assert named("model2-fractional-relaxed").optimum == pytest.approx(45.189655, abs=1e-6)


def test_cases_cover_every_feature_and_every_check():
    assert len({case.name for case in CASES}) == len(CASES)
    assert frozenset().union(*(case.problem.requires for case in CASES)) == frozenset(Feature)
    assert len({check.name for check in CHECKS}) == len(CHECKS)
    for check in CHECKS:
        assert check.about.endswith(".")
        assert check.cases is None or any(check.cases(case) for case in CASES)
    numbers = [check.name.split("_")[1] for check in CHECKS if check.name.startswith("pitfall_")]
    assert numbers == [str(number) for number in range(1, 11)]


# The liars.


DECLARED_FALSELY = tuple(
    c
    for c in vars(misdeclared).values()
    if isinstance(c, type) and issubclass(c, fakes.Fake) and c is not fakes.Fake
)


def stated(solver, **options):
    """The report on the cases stated by hand; what a solver says of itself only where that is false."""
    items = [item for item in suite(solver, slow=False, **options) if "-vector-" not in item.case_name]
    if not isinstance(solver, DECLARED_FALSELY):
        items = [item for item in items if item.case is not None or "pitfall" in item.check.name]
    return Report(solver=solver.name, results=tuple((item, run_item(item)) for item in items))


def test_the_honest_fake_passes():
    found = report(fakes.Fake(), slow=False)
    assert found.passed, str(found)
    assert str(found).startswith("fake-honest: ")
    assert stated(fakes.Fake()).passed


LIES = {
    fakes.InfeasibleOptimum: {"pitfall_2_false_optimum", "point_is_feasible", "claims_stand"},
    fakes.WorseOptimum: {"pitfall_2_false_optimum", "reaches_the_optimum", "claims_stand"},
    fakes.WorseOptimumCumulative: {"pitfall_2_false_optimum", "reaches_the_optimum", "pitfall_6_overflow"},
    fakes.BoundAboveObjective: {"bound_is_valid", "claims_stand"},
    fakes.BoundAboveOptimum: {"bound_is_valid"},
    fakes.FalseInfeasibility: {"claims_stand", "reaches_the_optimum"},
    fakes.ZerosAfterError: {"point_is_feasible", "reaches_the_optimum"},
    slyfakes.NearlyInteger: {"pitfall_5_nearly_integer"},
    slyfakes.TruncatedFloats: {"pitfall_5_nearly_integer"},
    slyfakes.DropsSquares: {"pitfall_10_stale_model", "reaches_the_optimum"},
    slyfakes.Stale: {"pitfall_10_stale_model"},
    fakes.HandMade: {"record_is_true", "certificate_is_true", "pitfall_2_false_optimum"},
    fakes.SolvedInfeasible: {"pitfall_8_solved_infeasible", "point_is_feasible"},
    slyfakes.StopsEarly: {"pitfall_4_default_gaps"},
    fakes.LimitAsAnswer: {"pitfall_3_limit_as_answer"},
    slyfakes.ChangesItsMind: {"pitfall_7_other_table"},
    fakes.HandMadeCumulative: {"record_is_true", "infeasibility_is_told"},
    slyfakes.RisingTrace: {"trace_is_monotone"},
    slyfakes.LedAstray: {"start_is_accepted"},
    wildfakes.Prints: {"writes_nothing"},
    wildfakes.Raises: {"returns_a_solution"},
    misdeclared.TakesAnything: {"refuses_what_it_does_not_declare"},
    misdeclared.DeclaresNoModel: {"declares_itself"},
    misdeclared.LoadsItsLibrary: {"availability_is_light"},
    misdeclared.NamesNoCommand: {"missing_library_is_named"},
    misdeclared.NamesNoVersion: {"version_is_told"},
    misdeclared.CannotBePickled: {"can_be_pickled"},
}
# Where nothing else is wrong, nothing else may fail: a check that always fails catches every liar.
ONLY = {
    slyfakes.LedAstray,
    slyfakes.RisingTrace,
    wildfakes.Prints,
    misdeclared.TakesAnything,
    misdeclared.LoadsItsLibrary,
    misdeclared.NamesNoCommand,
    misdeclared.NamesNoVersion,
    misdeclared.CannotBePickled,
}


@pytest.mark.parametrize("liar", LIES, ids=lambda liar: liar.name)
def test_a_liar_is_caught_by_the_right_check(liar):
    found = stated(liar())
    assert not found.passed
    assert found.failed_checks >= LIES[liar]
    if liar in ONLY:
        assert found.failed_checks == LIES[liar]
    for name, reason in found.failures:
        assert "the check breaks down" not in reason
        assert f"{name}: {reason}" in str(found)


def test_every_liar_is_tried_and_none_is_registered():
    modules = (fakes, slyfakes, misdeclared, wildfakes)
    made = {c for m in modules for c in vars(m).values() if isinstance(c, type) and issubclass(c, fakes.Fake)}
    wild = {wildfakes.Exits, wildfakes.Aborts, wildfakes.NeverEnds, wildfakes.IgnoresSignals}
    assert made == {fakes.Fake, slyfakes.SlowModel, *LIES, *wild}
    assert not {solver.name for solver in made} & set(registry.names())
    assert len({solver.name for solver in made}) == len(made)


def test_every_check_catches_somebody():
    elsewhere = {"pitfall_1_ignored_limits", "pitfall_9_slow_model", "rounding_is_honest"}
    assert elsewhere.union(*LIES.values()) == {check.name for check in CHECKS}


def test_rounding_that_hides_what_it_broke_is_caught(monkeypatch):
    honest = rounding.rounded
    hidden = {"violations": {"consistency": 0}, "point_status": PointStatus.FEASIBLE}
    monkeypatch.setattr(rounding, "rounded", lambda solution: replace(honest(solution), **hidden))
    solver = registry.get("proximity")
    items = [item for item in suite(solver) if item.check.name == "rounding_is_honest"]
    assert items
    assert {run_item(item).status for item in items} == {Status.FAILED}


def one_case(solver, *checks, **options):
    """Results of the named checks, on the plain case or on the solver itself."""
    found = {}
    for item in suite(solver, **options):
        if item.check.name in checks and item.case_name in ("solver", "model1-plain"):
            found[item.check.name] = run_item(item)
    assert set(found) == set(checks)
    return found


@pytest.mark.parametrize("solver", [wildfakes.Exits(), wildfakes.Aborts()], ids=lambda solver: solver.name)
def test_a_crash_is_caught_and_named(solver):
    with pytest.raises(SolverFault, match=r"died \((exit code 3|signal SIGABRT)\)"):
        run(solver, named("model1-plain").problem, isolate=True)
    found = one_case(solver, "returns_a_solution", "pitfall_1_ignored_limits", isolate=True)
    for result in found.values():
        assert result.status is Status.FAILED
        assert "died" in result.reason


@pytest.mark.parametrize("solver", [wildfakes.NeverEnds(), wildfakes.IgnoresSignals()], ids=lambda s: s.name)
def test_a_solver_that_never_ends_is_killed(solver):
    started = time.monotonic()
    solution = run(solver, named("model1-plain").problem, SolveOptions(), isolate=True, deadline_s=1.0)
    assert time.monotonic() - started < 3.0
    assert solution.termination is Termination.TIME_LIMIT
    assert solution.point_status is PointStatus.NONE
    left = subprocess.run(
        ["ps", "-o", "args=", "--ppid", str(os.getpid())], capture_output=True, text=True, check=True
    )
    assert "pgsr.solvers.worker" not in left.stdout


def test_a_solver_that_never_ends_fails_the_suite():
    names = ("reaches_the_optimum", "pitfall_1_ignored_limits")
    found = one_case(wildfakes.IgnoresSignals(), *names, isolate=True, limit_s=0.2)
    assert "killed after" in found["reaches_the_optimum"].reason
    assert "had to be killed" in found["pitfall_1_ignored_limits"].reason
    assert {result.status for result in found.values()} == {Status.FAILED}


def test_a_slow_model_fails_the_suite():
    found = one_case(slyfakes.SlowModel(), "pitfall_9_slow_model", "reaches_the_optimum")
    assert found["reaches_the_optimum"].status is Status.PASSED
    assert found["pitfall_9_slow_model"].status is Status.FAILED
    assert "built in 60.0 s" in found["pitfall_9_slow_model"].reason


def test_isolation_keeps_output_to_itself_and_puts_records_right(capfd):
    problem = named("model1-plain").problem
    assert run(wildfakes.Prints(), problem, isolate=True).objective == 152
    assert capfd.readouterr().out == ""
    for isolate in (False, True):
        solution = run(fakes.HandMade(), problem, isolate=isolate)
        assert solution.objective == 198
        assert solution.certificate is False
        assert solution.point_status is PointStatus.INFEASIBLE
        assert solution.termination is Termination.NUMERICAL
    with pytest.raises(SolverFault, match="unexpected status 7"):
        run(wildfakes.Raises(), problem)


# Expected failures.


def expecting(check, case="*", solver="fake-prints", reason="it is known to print"):
    return ExpectedFailure(solver=solver, case=case, check=check, reason=reason)


def test_an_expected_failure_is_no_failure():
    found = stated(wildfakes.Prints(), expected=[expecting("writes_nothing")])
    assert found.passed, str(found)
    assert "expected" in str(found)


@pytest.mark.parametrize(
    "stale", [expecting("point_is_feasible"), expecting("writes_nothing", solver="fake-honest")]
)
def test_an_expected_failure_that_passes_is_a_failure(stale):
    solver = wildfakes.Prints() if stale.solver == "fake-prints" else fakes.Fake()
    found = stated(solver, expected=[stale, expecting("writes_nothing")])
    assert found.failed_checks == {stale.check}
    assert all("passes, but was expected to fail: it is known" in why for _, why in found.failures)


def test_expected_failures_are_for_one_solver_and_need_a_reason():
    other = expecting("writes_nothing", solver="another")
    assert not stated(wildfakes.Prints(), expected=[other]).passed
    with pytest.raises(InputError, match="without a reason"):
        expecting("writes_nothing", reason=" ")


def test_a_case_of_ones_own_is_checked():
    problem = Problem(parent=[-1], target=[[3, 0]], total=1)
    wrong = Case(name="mine", problem=problem, optimum=5)
    assert stated(fakes.Fake(), extra=[replace(wrong, optimum=4)]).passed
    found = stated(fakes.Fake(), extra=[wrong])
    assert ("fake-honest-mine-reaches_the_optimum") in dict(found.failures)


def test_a_solver_that_is_not_available_is_skipped_with_the_reason():
    found = stated(misdeclared.NamesNoCommand())
    skipped = [result for item, result in found.results if item.case is not None]
    assert {result.status for result in skipped} == {Status.SKIPPED}
    assert {result.reason for result in skipped} == {"something is missing"}
    assert not found.passed


def test_the_suite_needs_neither_pytest_nor_a_heavy_library():
    code = (
        "import pgsr.solvers.conformance as c, sys; c.cases(); print(*{n.split('.')[0] for n in sys.modules})"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"pytest", "scipy", "numba", "highspy", "cvxpy", "pyomo"} & set(done.stdout.split())


# All registered solvers.


def registered():
    """Every registered solver that loads, but for heuristics, which promise nothing."""
    for name in registry.names():
        with suppress(SolverFault):
            solver = registry.get(name)
            if not getattr(solver, "heuristic", False):
                yield solver


@pytest.mark.parametrize("name", registry.names())
def test_a_registered_solver_loads(name):
    assert registry.get(name).name == name


def gathered(*, slow):
    """The items, quick or slow, gathered by solver and case: 14,000 tests of their own would take minutes."""
    for solver in registered():
        items = [item for item in suite(solver) if item.slow == slow]
        for name, group in itertools.groupby(items, lambda item: item.case_name):
            yield pytest.param(list(group), id=f"{solver.name}-{name}")


def failures(items):
    results = [(item.id, run_item(item)) for item in items]
    return [(name, result.reason) for name, result in results if result.status is Status.FAILED]


@pytest.mark.parametrize("items", list(gathered(slow=False)))
def test_a_registered_solver_conforms(items):
    assert failures(items) == []


@pytest.mark.slow
@pytest.mark.parametrize("items", list(gathered(slow=True)))
def test_a_registered_solver_conforms_in_the_long_tail(items):
    assert failures(items) == []


def test_every_expected_failure_is_about_something():
    items = [item for solver in registered() for item in suite(solver)]
    for failure in EXPECTED:
        assert any(
            failure.matches(item.subject.solver.name, item.case_name, item.check.name) for item in items
        ), failure
