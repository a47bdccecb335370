"""Solvers by way of Pyomo and CVXPY: published optima, limits, and what they must not claim."""

from __future__ import annotations

import json
from importlib.resources import files

import numpy as np
import pytest

from pgsr.bench.presets import generate
from pgsr.errors import InputError
from pgsr.models.forms.piecewise import Windows, filled, piecewise_form
from pgsr.models.problem import Problem
from pgsr.solvers.adapters.cvxpy_clarabel import CvxpyClarabelSolver
from pgsr.solvers.adapters.cvxpy_osqp import CvxpyOsqpSolver
from pgsr.solvers.adapters.cvxpy_scip import CvxpyScipSolver
from pgsr.solvers.adapters.cvxpy_scs import CvxpyScsSolver
from pgsr.solvers.adapters.pyomo_highs import PyomoHighsSolver, _windows
from pgsr.solvers.adapters.pyomo_scip import PyomoScipSolver
from pgsr.solvers.base import PointStatus, SolveOptions, Termination
from pgsr.solvers.conformance import named
from pgsr.solvers.conformance.cases import vector_problem

VECTORS = json.loads(files("pgsr.solvers.conformance").joinpath("vectors.json").read_text())
FEW = (3, 20, 21, 36, 51)
"""Trees of both models in the quick run; all 60 are slow."""

NUMBERS = [n if n in FEW else pytest.param(n, marks=pytest.mark.slow) for n in range(len(VECTORS))]
INTEGERS = (PyomoHighsSolver, PyomoScipSolver, CvxpyScipSolver)
RELAXATIONS = (PyomoHighsSolver, PyomoScipSolver, CvxpyClarabelSolver, CvxpyOsqpSolver, CvxpyScsSolver)
COUNTEREXAMPLE = named("model2-fractional").problem


def made(kind):
    solver = kind()
    if not solver.availability().available:
        pytest.skip(solver.availability().reason)
    return solver


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("kind", INTEGERS)
def test_integer_optimum_of_the_vectors(kind, number) -> None:
    solution = made(kind).solve(vector_problem(VECTORS[number]), SolveOptions())
    optimum = VECTORS[number]["expected"]["integer_optimum"]
    assert solution.objective == optimum
    assert solution.x.dtype == np.int64
    assert solution.termination is Termination.OPTIMAL
    assert solution.refuted == ""
    assert solution.bound == pytest.approx(optimum, rel=1e-6)


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("kind", RELAXATIONS)
def test_relaxed_optimum_of_the_vectors(kind, number) -> None:
    problem = vector_problem(VECTORS[number]).relaxed()
    solution = made(kind).solve(problem, SolveOptions())
    # The published values have six decimals.
    assert solution.objective == pytest.approx(
        VECTORS[number]["expected"]["relaxed_optimum"], rel=1e-6, abs=2e-6
    )
    assert solution.termination is Termination.OPTIMAL
    if kind is not PyomoScipSolver or not problem.cumulative:
        # Model 2 is proven by multipliers, which SCIP does not give.
        assert solution.certificate is True


@pytest.mark.parametrize("kind", INTEGERS)
def test_integers_of_the_counterexample(kind) -> None:
    solution = made(kind).solve(COUNTEREXAMPLE, SolveOptions(threads=1, seed=3))
    assert solution.objective == 49
    assert solution.bound == pytest.approx(49, rel=1e-6)


def varied(cumulative: bool, loss: str) -> Problem:
    """Unequal weights, one of them 0, bounds, and targets far outside them."""
    rng = np.random.default_rng(4)
    upper = np.full((9, 3), 40)
    upper[4, 1] = 3
    return Problem(
        parent=np.array([-1, 0, 0, 0, 1, 1, 2, 2, 3]),
        target=rng.integers(-50, 60, (9, 3)),
        total=40,
        weights=np.array([0.0, 1.0, 0.5, 2.0, 1.0, 1.25, 1.0, 3.0, 1.0]),
        upper=upper,
        cumulative=cumulative,
        loss=loss,
    )


@pytest.mark.parametrize("loss", ["l2", "l1"])
@pytest.mark.parametrize("cumulative", [False, True])
def test_all_agree_on_weights_bounds_and_losses(cumulative, loss) -> None:
    problem = varied(cumulative, loss)
    found = [made(kind).solve(problem, SolveOptions(time_limit_s=60)) for kind in INTEGERS]
    assert len({solution.objective for solution in found}) == 1
    assert all(solution.termination is Termination.OPTIMAL for solution in found)
    if not cumulative:
        assert all(solution.certificate is True for solution in found)
    relaxed = [made(kind).solve(problem.relaxed(), SolveOptions(time_limit_s=60)) for kind in RELAXATIONS]
    first = relaxed[0].objective
    assert all(solution.objective == pytest.approx(first, rel=1e-5) for solution in relaxed)
    assert first <= found[0].objective * (1 + 1e-9)


def large(regions: int, sizes: int, **options) -> Problem:
    rng = np.random.default_rng(1)
    parent = np.array([-1, *((np.arange(1, regions) - 1) // 6)])
    target = rng.integers(-3, 20, (regions, sizes))
    return Problem(parent=parent, target=target, total=30 * regions, **options)


@pytest.mark.parametrize("kind", [PyomoScipSolver, CvxpyScipSolver])
def test_a_time_limit_is_a_limit_with_the_point_that_was_found(kind) -> None:
    problem = generate("uniform", scale=0.1, model="cumulative").instance().problem
    solution = made(kind).solve(problem, SolveOptions(time_limit_s=0.3))
    assert solution.termination is Termination.TIME_LIMIT
    assert solution.certificate is not True
    if solution.x is not None and solution.point_status is PointStatus.FEASIBLE:
        assert solution.bound is None or solution.bound <= solution.objective


@pytest.mark.parametrize("kind", [CvxpyClarabelSolver, CvxpyOsqpSolver, CvxpyScsSolver])
def test_splitting_and_interior_point_methods_keep_their_time_limit(kind) -> None:
    problem = large(3000, 20, cumulative=True, integer=False)
    solution = made(kind).solve(problem, SolveOptions(time_limit_s=0.3))
    assert solution.termination is Termination.TIME_LIMIT, solution.raw_status
    assert solution.solve_s < 20


@pytest.mark.parametrize("kind", INTEGERS)
def test_no_time_left_after_building_gives_no_point(kind) -> None:
    solution = made(kind).solve(COUNTEREXAMPLE, SolveOptions(time_limit_s=5, stop_at=0.0))
    assert solution.termination is Termination.TIME_LIMIT
    # At most the table that there is without any search.
    assert solution.point_status in (PointStatus.NONE, PointStatus.FEASIBLE)


@pytest.mark.parametrize("kind", INTEGERS)
def test_counts_far_from_any_table_are_refused_by_region(kind) -> None:
    target = np.array([[5, 5], [2**50, 5], [0, 0]])
    problem = Problem(parent=np.array([-1, 0, 0]), target=target, total=10)
    with pytest.raises(InputError, match=r"region in row [01]"):
        made(kind).solve(problem, SolveOptions())


def test_large_relaxations_are_refused_by_the_active_set_of_highs() -> None:
    with pytest.raises(InputError, match="stalls"):
        PyomoHighsSolver().check(large(400, 10, integer=False))


def test_a_warm_start_reaches_scip() -> None:
    problem = COUNTEREXAMPLE
    first = made(PyomoScipSolver).solve(problem, SolveOptions())
    again = made(PyomoScipSolver).solve(problem, SolveOptions(start=first.x))
    assert again.objective == 49


@pytest.mark.parametrize("seed", range(20))
def test_the_point_of_a_table_among_segments_and_tails(seed) -> None:
    rng = np.random.default_rng(seed)
    problem = Problem(parent=np.array([-1, 0, 0]), target=rng.integers(0, 9, (3, 2)), total=8)
    windows = Windows.around(problem, rng.integers(0, 9, (3, 2)), int(rng.integers(0, 3)))
    program = piecewise_form(problem, windows, tails=True)
    x = rng.integers(0, 9, (3, 2))
    z = filled(program, x)
    assert np.array_equal(program.whole_table(z), x)
    assert np.all((program.lower <= z) & (z <= program.upper))
    assert np.all(_windows(program).low == windows.low)
    assert np.all(_windows(program).high == windows.high)
