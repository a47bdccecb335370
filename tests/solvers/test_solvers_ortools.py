"""OR-Tools' back ends: published and enumerated optima, refusals before overflow, reproducible runs."""

from __future__ import annotations

import json
from dataclasses import replace
from importlib.resources import files

import numpy as np
import pytest

from pgsr.errors import InputError, SolverFault
from pgsr.models.domains import domains
from pgsr.models.forms.matrix import matrix_form
from pgsr.models.problem import Problem, RegionError
from pgsr.models.samples import brute_force, cells, random_problem
from pgsr.solvers.adapters import cpsat, dp_table
from pgsr.solvers.adapters.cpsat import CpSatSolver
from pgsr.solvers.adapters.dp_table import DpTableSolver, order_by_theorem, subproblems
from pgsr.solvers.adapters.highs import HighsSolver
from pgsr.solvers.adapters.mathopt_call import call_mathopt
from pgsr.solvers.adapters.mathopt_pdlp import MathOptPdlpSolver
from pgsr.solvers.adapters.mathopt_scip import MathOptScipSolver
from pgsr.solvers.adapters.mincostflow import MinCostFlowSolver
from pgsr.solvers.base import PointStatus, SolveOptions, Termination
from pgsr.solvers.conformance import named
from pgsr.solvers.conformance.cases import vector_problem

VECTORS = json.loads(files("pgsr.solvers.conformance").joinpath("vectors.json").read_text())
ONE = SolveOptions(threads=1)
STAR = [-1, 0, 0]
BOUNDS = ["none", "lower", "upper", "both", "pins"]

# Model 2 with integer data where the linear program lies below the integer optimum: 48.5 against 49.
STRICT = named("model2-fractional").problem

# Three leaves and two levels, small enough for every table of the dynamic program.
SMALL = Problem(parent=[-1, 0, 0, 1, 1], target=[[4, 3], [3, 1], [0, 3], [1, 1], [3, 0]], total=6)


def problems(model):
    """The published vectors of one model, with what is expected of them."""
    for vector in VECTORS:
        if vector["model"] == model:
            yield vector_problem(vector), vector["expected"]


def assert_proven(solution, optimum):
    assert solution.objective == pytest.approx(optimum, rel=1e-12, abs=1e-12)
    assert solution.termination is Termination.OPTIMAL, solution.refuted
    assert solution.certificate is not False
    assert solution.gap == pytest.approx(0, abs=1e-6)
    assert set(solution.violations.values()) == {0}


def sample(rng, **fields):
    """A random tiny Model 1 problem with dyadic weights and any bounds."""
    return random_problem(
        rng,
        regions=6,
        total=5,
        weights=str(rng.choice(["unit", "dyadic", "zero"])),
        bounds=str(rng.choice(BOUNDS)),
        loss=str(rng.choice(["l2", "l1"])),
        **fields,
    )


def cumulated(problem):
    """Model 2 on the same numbers, without bounds."""
    return replace(problem, cumulative=True, target=np.cumsum(problem.target, axis=1), lower=None, upper=None)


@pytest.mark.parametrize("model", ["hierarchical", "cumulative"])
@pytest.mark.parametrize("solver", [CpSatSolver(), MathOptScipSolver(), MinCostFlowSolver()])
def test_published_integer_optima(solver, model):
    if model == "cumulative" and solver.name == "mincostflow":
        problem, _ = next(problems(model))
        with pytest.raises(InputError, match="does not take cumulative"):
            solver.solve(problem, ONE)
        return
    count = 0
    for problem, expected in problems(model):
        solution = solver.solve(problem, ONE)
        assert_proven(solution, expected["integer_optimum"])
        count += 1
    assert count == 30


@pytest.mark.parametrize("model", ["hierarchical", "cumulative"])
def test_published_relaxed_optima_with_proof(model):
    """PDLP's duals are multipliers of the right sign: they prove its points for Model 2 as well."""
    for problem, expected in problems(model):
        solution = MathOptPdlpSolver().solve(problem.relaxed(), ONE)
        # The published values have six decimals.
        assert solution.objective == pytest.approx(expected["relaxed_optimum"], rel=1e-6, abs=1e-6)
        assert solution.point_status is PointStatus.FEASIBLE
        assert solution.certificate is True


@pytest.mark.parametrize(
    "solver", [CpSatSolver(), CpSatSolver("squares"), MathOptScipSolver(), MathOptScipSolver("squares")]
)
def test_integer_optimum_above_the_linear_program(solver):
    assert HighsSolver().solve(STRICT, ONE).objective == 49
    assert_proven(solver.solve(STRICT, ONE), 49)


@pytest.mark.parametrize("solver", [CpSatSolver(), MathOptScipSolver(), MinCostFlowSolver(), DpTableSolver()])
def test_enumerated_optima_of_model_1(solver):
    rng = np.random.default_rng(11)
    count = 0
    while count < 12:
        problem = sample(rng)
        if cells(problem) <= 8 and problem.total > 0:
            assert_proven(solver.solve(problem, ONE), brute_force(problem))
            count += 1


@pytest.mark.parametrize("solver", [CpSatSolver(), MathOptScipSolver()])
def test_model_2_agrees_with_an_independent_solver(solver):
    rng = np.random.default_rng(12)
    for _ in range(8):
        problem = cumulated(sample(rng))
        assert_proven(solver.solve(problem, ONE), HighsSolver().solve(problem, ONE).objective)


def test_flows_agree_with_enumeration_far_from_the_relaxation():
    """Large totals need windows; absolute values have none."""
    rng = np.random.default_rng(13)
    for _ in range(12):
        problem = random_problem(
            rng, regions=12, total=10**6, noise=10**5, weights="dyadic", bounds=str(rng.choice(BOUNDS))
        )
        for loss in ("l2", "l1"):
            solution = MinCostFlowSolver().solve(replace(problem, loss=loss), ONE)
            assert solution.certificate is True
            assert solution.termination is Termination.OPTIMAL
            assert solution.bound == solution.objective


def test_flow_windows_in_the_wrong_place_are_recentred(monkeypatch):
    from pgsr.models.forms.piecewise import Windows
    from pgsr.solvers.adapters import mincostflow

    problem = Problem(parent=STAR, target=[[90, 20], [70, 10], [40, 2]], total=100)

    def misplaced(problem, options, average):
        return Windows.around(problem, np.zeros(problem.target.shape), 1), None

    monkeypatch.setattr(mincostflow, "first_windows", misplaced)
    solution = MinCostFlowSolver().solve(problem, ONE)
    assert solution.details["rounds"] > 1
    assert solution.certificate is True


def test_equal_weights_need_not_be_dyadic():
    problem = replace(SMALL, weights=np.full(5, 0.1))
    for solver in (CpSatSolver(), MinCostFlowSolver(), DpTableSolver()):
        solution = solver.solve(problem, ONE)
        assert solution.certificate is True
        assert solution.termination is Termination.OPTIMAL
        assert solution.bound == pytest.approx(solution.objective, rel=1e-12)


@pytest.mark.parametrize("solver", [CpSatSolver(), MinCostFlowSolver(), DpTableSolver()])
def test_weights_that_integers_cannot_hold_are_refused(solver):
    with pytest.raises(RegionError, match="cannot be written in integers") as caught:
        solver.check(replace(SMALL, weights=np.array([1, 1, 0.1, 1, 1])))
    assert caught.value.region == 2


@pytest.mark.parametrize("solver", [CpSatSolver(), MinCostFlowSolver(), DpTableSolver(), MathOptScipSolver()])
@pytest.mark.parametrize(("far", "weights"), [(-(2**53), [1, 1, 4096]), (2**53, [1, 1, 512])])
def test_costs_beyond_the_back_end_are_refused_naming_the_region(solver, far, weights):
    problem = Problem(parent=STAR, target=[[3, 4], [1, 1], [2, far]], total=7, weights=weights)
    with pytest.raises(RegionError, match=r"64-bit|counts exactly") as caught:
        solver.check(problem)
    assert caught.value.region == 2


def test_squares_beyond_64_bits_are_refused_naming_the_region():
    problem = Problem(parent=STAR, target=[[3], [1], [2**31]], total=7)
    with pytest.raises(RegionError, match="sum") as caught:
        CpSatSolver("squares").solve(problem, ONE)
    assert caught.value.region == 2
    assert CpSatSolver().solve(problem, ONE).certificate is True


def test_sums_of_units_beyond_64_bits_are_refused():
    leaves = 2_000
    problem = Problem(
        parent=np.concatenate([[-1], np.zeros(leaves, dtype=np.int64)]),
        target=np.full((leaves + 1, 1), 2**51),
        total=2**51,
    )
    with pytest.raises(InputError, match="64-bit"):
        MinCostFlowSolver().check(problem)
    with pytest.raises(InputError, match="64-bit"):
        CpSatSolver().solve(replace(problem, loss="l1"), ONE)


@pytest.mark.parametrize("loss", ["l2", "l1"])
@pytest.mark.parametrize("solver", [CpSatSolver(), MinCostFlowSolver(), MathOptScipSolver()])
def test_large_totals_that_fit_are_exact(solver, loss):
    total = 2**50 + 1
    problem = Problem(
        parent=STAR, target=[[total - 3, 5], [2**49, 3], [2**49 + 7, 3]], total=total, loss=loss
    )
    solution = solver.solve(problem, ONE)
    assert solution.certificate is True
    assert solution.termination is Termination.OPTIMAL


@pytest.mark.parametrize("solver", [CpSatSolver(), MathOptScipSolver()])
def test_one_thread_and_one_seed_give_the_same_table(solver):
    rng = np.random.default_rng(14)
    problem = cumulated(random_problem(rng, regions=12, width=4, total=30, noise=3))
    problem = replace(problem, target=problem.target // 9)  # many optima
    first, second = (solver.solve(problem, SolveOptions(threads=1, seed=5)) for _ in range(2))
    assert np.array_equal(first.x, second.x)
    assert first.raw_status == second.raw_status


@pytest.mark.parametrize("form", ["segments", "squares"])
def test_the_trace_of_cpsat_leads_to_the_optimum(form):
    seen = []
    options = SolveOptions(threads=1, observe=lambda point, x: seen.append((point, x)))
    solution = CpSatSolver(form).solve(STRICT, options)
    assert solution.trace
    assert solution.trace[-1].objective == solution.trace[-1].bound == 49
    assert [point for point, _ in seen] == list(solution.trace)
    assert any(x is not None and STRICT.objective(x) == 49 for _, x in seen)


def test_cpsat_proves_nothing_before_it_has_searched(monkeypatch):
    """Its bound is 0 then, which says nothing where the model's objective leaves a large constant out."""
    monkeypatch.setattr("pgsr.solvers.adapters.adapter.Recorder.seconds_left", lambda self: 1e-9)
    far = replace(STRICT, target=STRICT.target - np.array([[0], [2**27], [0], [0], [0], [0]]))
    solution = CpSatSolver().solve(far, ONE)
    assert solution.raw_status == "UNKNOWN"
    assert solution.bound is None
    assert not any(point.bound for point in solution.trace)


def test_what_an_observer_raises_comes_out_of_cpsat():
    def fail(point, x):
        raise LookupError("observer")

    with pytest.raises(SolverFault, match="observer"):
        CpSatSolver().solve(STRICT, SolveOptions(threads=1, observe=fail))


@pytest.mark.parametrize("form", ["segments", "squares"])
def test_cpsat_begins_with_the_start_table(form):
    best = HighsSolver().solve(STRICT, ONE).x
    solution = CpSatSolver(form).solve(STRICT, SolveOptions(threads=1, start=best))
    assert 49 in [point.objective for point in solution.trace[:3]]
    far = np.full(STRICT.target.shape, 10**6)
    assert_proven(CpSatSolver(form).solve(STRICT, SolveOptions(threads=1, start=far)), 49)


@pytest.mark.parametrize("loss", ["l2", "l1"])
def test_scip_takes_a_start_table(loss):
    problem = replace(STRICT, loss=loss)
    optimum = MathOptScipSolver().solve(problem, ONE)
    for form in ("segments", "squares"):
        again = MathOptScipSolver(form).solve(problem, SolveOptions(threads=1, start=optimum.x))
        assert_proven(again, optimum.objective)


def test_a_gap_is_relative_to_the_objective_of_the_problem():
    """The constant of the segments is large beside what they decide."""
    rng = np.random.default_rng(15)
    problem = cumulated(random_problem(rng, regions=14, width=4, total=60, noise=40))
    exact = CpSatSolver().solve(problem, ONE).objective
    for solver in (CpSatSolver(), MathOptScipSolver()):
        loose = solver.solve(problem, SolveOptions(threads=1, gap=0.05))
        assert loose.termination is Termination.OPTIMAL
        assert exact <= loose.objective <= exact * 1.06
        assert loose.bound <= exact + 1e-6 * exact


def test_subproblems_are_as_many_as_the_formula_says():
    problem = SMALL
    solution = DpTableSolver().solve(problem, ONE)
    whole = problem.total + 1  # every domain is 0 .. total
    assert solution.details["subproblems_of_tables"] == 2 * problem.width * whole
    assert solution.details["theorem"] == problem.regions * problem.width * whole
    assert solution.details["subproblems"] == 2 * problem.width * whole + 2 * problem.width + 1


def test_bounds_save_subproblems():
    rng = np.random.default_rng(16)
    for _ in range(6):
        problem = random_problem(rng, regions=6, width=2, total=5, bounds="both")
        low, high = domains(problem)
        solution = DpTableSolver().solve(problem, ONE)
        up = solution.details["subproblems_of_tables"]
        assert up == subproblems(problem) == (high - low + 1)[problem.inner()].sum()
        assert up <= order_by_theorem(problem) == solution.details["theorem"]


def test_dynamic_program_refuses_more_subproblems_than_it_takes(monkeypatch):
    DpTableSolver().check(SMALL)
    with pytest.raises(InputError, match="20002 sub-problems are more"):
        DpTableSolver().check(replace(SMALL, target=SMALL.target[:, :1], total=10_000))
    monkeypatch.setattr(dp_table, "MOST_PAIRS", 60)
    with pytest.raises(InputError, match="70 pairs"):
        DpTableSolver().check(SMALL)


def test_dynamic_program_reports_progress_up_to_the_end():
    seen = []
    DpTableSolver().solve(SMALL, SolveOptions(progress=lambda stage, part: seen.append((stage, part))))
    parts = [part for stage, part in seen if stage == "sub-problems"]
    assert parts == sorted(parts)
    assert parts[-1] == 1.0


@pytest.mark.parametrize(
    "solver", [CpSatSolver(), CpSatSolver("squares"), DpTableSolver(), MathOptScipSolver()]
)
def test_a_time_limit_is_kept_and_told(solver):
    rng = np.random.default_rng(17)
    problem = Problem(
        parent=[-1, *([0] * 5), *np.repeat(np.arange(1, 6), 8)],
        target=rng.integers(-5, 40, (46, 3)),
        total=60,
    )
    solution = solver.solve(problem, SolveOptions(threads=1, time_limit_s=0.05))
    assert solution.solve_s < 3
    assert solution.termination in (Termination.TIME_LIMIT, Termination.OPTIMAL)
    assert (solution.x is None) or solution.certificate is not None
    if solution.termination is Termination.OPTIMAL:
        assert solution.certificate is True


@pytest.mark.parametrize(
    "solver", [CpSatSolver(), MinCostFlowSolver(), DpTableSolver(), MathOptScipSolver(), MathOptPdlpSolver()]
)
def test_nothing_is_started_when_no_time_is_left(solver):
    problem = SMALL if solver.name != "mathopt-pdlp" else SMALL.relaxed()
    solution = solver.solve(problem, SolveOptions(stop_at=0.0))
    assert solution.termination is Termination.TIME_LIMIT
    # The table that the answer would have to beat is there without a search.
    assert solution.point_status in (PointStatus.NONE, PointStatus.FEASIBLE)
    assert solution.bound is None or solution.bound <= solution.objective


def test_mathopt_combinations_that_do_not_exist_are_explained():
    with pytest.raises(InputError, match="MathOpt with PDLP"):
        call_mathopt(matrix_form(SMALL), "PDLP", ONE, seconds=5.0)


def test_relaxations_in_l1_and_with_bounds():
    rng = np.random.default_rng(18)
    from pgsr.solvers.registry import get

    for _ in range(10):
        problem = sample(rng).relaxed()
        solution = MathOptPdlpSolver().solve(problem, ONE)
        assert solution.termination is Termination.OPTIMAL
        best = get("proximity").solve(problem, ONE).objective
        assert solution.objective == pytest.approx(best, rel=MathOptPdlpSolver.accuracy, abs=1e-7)
        assert solution.certificate is not False


def test_an_unknown_form_is_refused():
    for kind in (CpSatSolver, MathOptScipSolver):
        with pytest.raises(InputError, match="unknown form"):
            kind("circles")


def test_a_model_that_cpsat_calls_invalid_is_refused(monkeypatch):
    from ortools.sat.python import cp_model

    monkeypatch.setattr(cp_model.CpModel, "validate", lambda self: "possible overflow")
    with pytest.raises(InputError, match="possible overflow"):
        cpsat.CpSatSolver().solve(STRICT, ONE)


def test_totals_beyond_a_first_order_method_are_refused():
    problem = replace(SMALL, total=2**41, integer=False)
    with pytest.raises(InputError, match="more than the 1099511627776"):
        MathOptPdlpSolver().check(problem)


def test_far_targets_are_no_proof_that_nothing_is_feasible():
    """PDLP's default tolerance for rays calls this problem infeasible."""
    problem = Problem(
        parent=STAR, target=[[2**40, 0], [0, -(2**40)], [2**39, 2**40]], total=2**20, loss="l1", integer=False
    )
    solution = MathOptPdlpSolver().solve(problem, SolveOptions(threads=1, time_limit_s=5))
    assert solution.x is not None
