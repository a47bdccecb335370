"""The splitting method for Model 2 against published values, CLARABEL, PIQP and by its own proofs."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from importlib.resources import files
from pathlib import Path

import cvxpy as cp
import numpy as np
import pytest
from scipy.sparse import coo_array

from pgsr.errors import InputError
from pgsr.models.files import read_instance
from pgsr.models.problem import Problem, RegionError
from pgsr.models.samples import random_parent, random_table
from pgsr.solvers.adapters.piqp import PiqpSolver
from pgsr.solvers.base import PointStatus, SolveOptions, Termination
from pgsr.solvers.native.multipliers import multiplier_bound
from pgsr.solvers.native.schedule import runner
from pgsr.solvers.native.splitrows import FIT, LINES, ROW, pool
from pgsr.solvers.native.splitting import SplittingSolver, piecewise_guess, relax_cumulative

HERE = Path(__file__).parent
VECTORS = [
    v
    for v in json.loads(files("pgsr.solvers.conformance").joinpath("vectors.json").read_text())
    if v["model"] == "cumulative"
]
SOLVER = SplittingSolver()


def problem_of(vector, folder):
    path = folder / "vector.json"
    path.write_text(json.dumps(vector))
    return read_instance(path).problem


def cumulative(parent, target, total, **more):
    return Problem(
        parent=np.asarray(parent), target=target, total=total, cumulative=True, integer=False, **more
    )


def relax(problem, **options):
    with runner(problem, SolveOptions(**options)) as run:
        return relax_cumulative(problem, run)


def piecewise(problem, iterations=1000, **options):
    with runner(problem, SolveOptions(**options)) as run:
        return piecewise_guess(problem, run, iterations=iterations)


def solved(problem, **options):
    """Solve, and hold the record to what every solved relaxation must be."""
    solution = SOLVER.solve(problem, SolveOptions(**options))
    assert solution.termination is Termination.OPTIMAL, solution.raw_status
    assert solution.certificate is True
    assert solution.point_status is PointStatus.FEASIBLE
    assert solution.gap_relative <= 1e-6
    if problem.lower is None and problem.upper is None:
        size = max(1.0, float(problem.total))
        assert solution.violations["monotonicity"] <= 1e-14 * size
        assert solution.violations["validity"] == 0
        assert max(solution.violations.values()) <= 1e-11 * size
    return solution


def random_problem(rng, *, regions, width, total, weights="unit", bounds=False):
    """A feasible random problem: bounds, if any, vary by size and hold at a random table."""
    parent = random_parent(rng, int(rng.integers(2, regions + 1)))
    shape = (parent.size, int(rng.integers(1, width + 1)))
    plain = Problem(parent=parent, target=np.zeros(shape, np.int64), total=total)
    weight = {
        "unit": None,
        "float": rng.uniform(0.05, 3.0, parent.size),
        "zero": np.where(
            plain.inner(), rng.integers(0, 2, parent.size) * 1.0, rng.uniform(0.5, 2, parent.size)
        ),
        "wide": 2.0 ** rng.integers(-6, 7, parent.size),
    }[weights]
    lower = upper = None
    if bounds:
        inside = np.cumsum(random_table(rng, plain), axis=1)
        slack = rng.integers(0, 3, shape)
        lower = np.where(rng.random(shape) < 0.4, np.maximum(0, inside - slack), 0)
        upper = np.where(rng.random(shape) < 0.4, inside + rng.integers(0, 3, shape), total)
    target = np.cumsum(rng.integers(-3, 6, shape), axis=1)
    return cumulative(parent, target, total, weights=weight, lower=lower, upper=upper)


def clarabel(problem):
    """Optimum of the relaxation, written down independently of the package's own forms."""
    regions, width = problem.target.shape
    x = cp.Variable((regions, width))
    children = np.arange(1, regions)
    rule = [x >= 0, x[0, width - 1] == problem.total]
    inner = np.flatnonzero(problem.inner())
    ones = np.ones(regions - 1)
    sums = coo_array((ones, (problem.parent[1:], children)), shape=(regions, regions)).tocsr()
    rule.append(x[inner] == sums[inner] @ x)
    if width > 1:
        rule.append(cp.diff(x, axis=1) >= 0)
    if problem.lower is not None:
        rule.append(x >= problem.lower)
    if problem.upper is not None:
        rule.append(x <= problem.upper)
    root = np.sqrt(problem.region_weights)[:, None]
    cost = cp.sum_squares(cp.multiply(root, x - problem.target))
    program = cp.Problem(cp.Minimize(cost), rule)
    program.solve(solver=cp.CLARABEL, tol_gap_rel=1e-10, tol_gap_abs=1e-10, tol_feas=1e-10)
    return program.value


def counterexample():
    """The smallest known tree whose linear program is fractional: 48.5, while integers cost 49."""
    target = np.array([[2, 0, 2], [2, 3, 5], [1, 1, 1], [-1, 3, 2], [4, 0, 5], [2, 3, 1]])
    return cumulative([-1, 0, 0, 1, 1, 2], target, 4)


def test_all_vectors_are_there():
    assert len(VECTORS) == 30


@pytest.mark.parametrize("number", range(len(VECTORS)))
def test_relaxed_optimum(number, tmp_path):
    problem = problem_of(VECTORS[number], tmp_path).relaxed()
    solution = solved(problem)
    # The published values have six decimals.
    expected = VECTORS[number]["expected"]["relaxed_optimum"]
    assert solution.objective == pytest.approx(expected, rel=1e-6, abs=1e-6)
    assert solution.bound == pytest.approx(expected, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("number", range(len(VECTORS)))
def test_piecewise_limit(number, tmp_path):
    problem = problem_of(VECTORS[number], tmp_path)
    found = piecewise(problem)
    expected = VECTORS[number]["expected"]
    limit = expected["piecewise_linear_relaxation"]
    assert found.bound == pytest.approx(limit, rel=1e-6, abs=1e-6)
    exact = multiplier_bound(problem, found.multipliers)
    assert float(exact.bound) == pytest.approx(found.bound, rel=1e-4, abs=1e-4)  # prices on a grid
    assert exact.bound <= expected["integer_optimum"]


def test_the_fractional_counterexample():
    problem = counterexample()
    assert solved(problem).objective == pytest.approx(45.189655, abs=1e-6)
    found = piecewise(problem)
    assert found.bound == pytest.approx(48.5, abs=1e-6)
    assert found.bound <= 48.5 + 1e-9


@pytest.mark.parametrize("bounds", [False, True])
@pytest.mark.parametrize("weights", ["unit", "float", "zero", "wide"])
def test_random_trees_against_clarabel(weights, bounds):
    rng = np.random.default_rng([7, len(weights), bounds])
    for _ in range(4):
        problem = random_problem(rng, regions=12, width=6, total=20, weights=weights, bounds=bounds)
        expected = clarabel(problem)
        assert solved(problem).objective == pytest.approx(expected, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("bounds", [False, True])
@pytest.mark.parametrize("weights", ["unit", "float", "zero", "wide"])
def test_larger_trees_against_piqp(weights, bounds):
    rng = np.random.default_rng([8, len(weights), bounds])
    for _ in range(8):
        problem = random_problem(rng, regions=60, width=12, total=300, weights=weights, bounds=bounds)
        expected = PiqpSolver().solve(problem, SolveOptions())
        assert solved(problem).objective == pytest.approx(expected.objective, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("bounds", [False, True])
def test_bounds_stay_below_the_optimum(bounds):
    """At every stage of both modes: an early bound is as valid as the last."""
    rng = np.random.default_rng([9, bounds])
    for number in range(40):
        kind = ["unit", "float", "zero", "wide"][number % 4]
        problem = random_problem(rng, regions=10, width=4, total=9, weights=kind, bounds=bounds)
        final = relax(problem)
        optimum = problem.objective(final.x)
        limit = piecewise(problem)
        for iterations in (1, 3, 12):
            with runner(problem, SolveOptions()) as run:
                early = relax_cumulative(problem, run, iterations=iterations)
            assert early.iterations <= iterations
            assert early.bound <= optimum * (1 + 1e-6) + 1e-6
            exact = multiplier_bound(problem, early.multipliers).bound
            assert exact == pytest.approx(early.bound, rel=1e-6, abs=1e-6)
            assert piecewise(problem, iterations).bound <= limit.bound + 1e-6 * max(1, limit.bound)
        assert limit.bound >= optimum * (1 - 1e-6) - 1e-6


def test_rows_with_bounds_that_vary_by_size():
    """Cutting the unbounded fit would give 2, 2: the block as a whole must move."""
    low, high = np.array([[0.0, 0.0, 5.0]]), np.array([[1.0, 9.0, 9.0]])
    room, begin = np.zeros((LINES, 3)), np.zeros(3, np.int64)
    room[FIT] = [6.0, 0.0, 0.0]
    pool(3, 0.0, 0, low, high, 9.0, room, begin)
    # The first entry is held at 1, so it does not pull the second one up to 3.
    assert room[ROW].tolist() == [1.0, 1.0, 5.0]


@pytest.mark.parametrize("half", [0.0, 0.2])
def test_fitted_rows_against_enumeration(half):
    """`pool` minimises the penalised cost over all monotone rows on a fine lattice."""
    rng = np.random.default_rng(3)
    pull, steps = 2 * half, 20
    values = np.arange(3 * steps + 1) / steps
    grid = np.stack(np.meshgrid(values, values, values, indexing="ij"), axis=-1).reshape(-1, 3)
    grid = grid[(np.diff(grid, axis=1) >= 0).all(axis=1)]

    def cost(z, target, t):
        # Weight 1: the interpolated (half > 0) or no square, and the penalty of the same fit.
        floor = np.floor(z)
        square = (floor - target) ** 2 + (z - floor) * (2 * (floor - target) + 1)
        rho = (2 - 2 * pull) / pull if half else 1.0
        return ((square if half else 0 * z) + 0.5 * rho * (z - t) ** 2).sum(axis=-1)

    for _ in range(20):
        target, t = rng.integers(-1, 4, 3), rng.uniform(-1, 4, 3)
        low = np.maximum.accumulate(rng.integers(0, 3, 3)).astype(float)
        high = np.maximum.accumulate(low + rng.integers(0, 3, 3)).clip(max=3).astype(float)
        high = np.maximum(high, low)
        room, begin = np.zeros((LINES, 3)), np.zeros(3, np.int64)
        room[FIT] = t + pull * (target - t)
        pool(3, half, 0, low[None], high[None], 3.0, room, begin)
        fitted = room[ROW].copy()
        assert np.all((fitted >= low) & (fitted <= high))
        assert np.all(np.diff(fitted) >= 0)
        allowed = grid[((grid >= low) & (grid <= high)).all(axis=1)]
        assert cost(fitted, target, t) <= cost(allowed, target, t).min() + 1e-9


def shapes():
    rng = np.random.default_rng(11)
    chain = np.arange(-1, 2999)
    star = np.r_[-1, np.zeros(4000, np.int64)]
    comb = np.r_[-1, np.repeat(np.arange(0, 400, 2), 2)]  # a leaf beside every inner region
    for name, parent in (("chain", chain), ("star", star), ("comb", comb)):
        yield name, parent, np.cumsum(rng.integers(-2, 6, (parent.size, 4)), axis=1)


@pytest.mark.parametrize(("name", "parent", "target"), list(shapes()))
@pytest.mark.parametrize("total", [0, 1, 5000])
def test_chains_stars_and_zero_totals(name, parent, target, total):
    solution = solved(cumulative(parent, target, total))
    if total == 0:
        assert not solution.x.any()
    if name == "chain":  # all rows are the same row: one isotonic fit of the mean
        assert np.all(solution.x == solution.x[0])
    assert np.isfinite(piecewise(cumulative(parent, target, total), 20).bound)


def test_single_regions_and_one_size():
    row = cumulative([-1], np.array([[5, 1, -2, 9]]), 4)
    assert solved(row).x.tolist() == [[pytest.approx(4 / 3)] * 3 + [4.0]]
    assert solved(cumulative([-1], np.array([[7]]), 4)).objective == 9
    assert piecewise(row).bound == pytest.approx(16 + 0 + 9 + 25)  # at 1, 1, 1, 4
    flat = cumulative([-1, 0, 0], np.array([[7], [1], [2]]), 4)
    assert solved(flat).x.ravel().tolist() == pytest.approx([4, 1.5, 2.5])


@pytest.mark.parametrize(("reach", "total"), [(2**40, 2**40), (2**40, 10), (10, 2**50)])
def test_huge_values(reach, total):
    rng = np.random.default_rng(12)
    parent = np.r_[-1, np.zeros(20, np.int64), np.repeat(np.arange(1, 21), 5)]
    problem = cumulative(parent, rng.integers(-reach, reach, (parent.size, 5)), total)
    solution = SOLVER.solve(problem, SolveOptions())
    assert solution.termination is Termination.OPTIMAL
    assert solution.point_status is PointStatus.FEASIBLE
    assert solution.certificate is True


def test_rounding_is_not_called_a_proof():
    """Where float64 cannot hold the table to 1e-6 of the objective, nothing is certified."""
    rng = np.random.default_rng(13)
    parent = np.r_[-1, np.zeros(20, np.int64), np.repeat(np.arange(1, 21), 5)]
    target = np.zeros((parent.size, 5), np.int64)
    target[21:] = np.cumsum(rng.integers(0, 2**38, (100, 5)), axis=1)
    for region in range(parent.size - 1, 0, -1):
        target[parent[region]] += target[region]
    noise = rng.integers(-3, 4, target.shape)
    solution = SOLVER.solve(cumulative(parent, target + noise, int(target[0, -1])), SolveOptions())
    assert solution.point_status is PointStatus.FEASIBLE
    assert solution.certificate is None
    assert solution.bound <= solution.objective


def test_bounds_that_exclude_everything():
    parent, target = [-1, 0, 0], np.zeros((3, 2), np.int64)
    lower, upper = np.zeros((3, 2), np.int64), np.full((3, 2), 9)
    lower[1, 0], upper[1, 1] = 3, 2  # no monotone row
    problem = cumulative(parent, target, 9, lower=lower, upper=upper)
    with pytest.raises(RegionError, match="non-decreasing"):
        relax(problem)
    solution = SOLVER.solve(problem, SolveOptions())
    assert solution.termination is Termination.INFEASIBLE
    assert solution.x is None


def test_bounds_that_no_single_row_excludes():
    """Children of at least 2 each and a parent of at most 3, one size later: seen by the bound alone."""
    parent, target = [-1, 0, 0], np.zeros((3, 2), np.int64)
    lower, upper = np.zeros((3, 2), np.int64), np.full((3, 2), 9)
    lower[1:, 0] = 2
    upper[0, 1] = 9
    upper[1:, 1] = [5, 3]  # the total of 9 does not fit
    with pytest.raises(InputError):
        relax(cumulative(parent, target, 9, lower=lower, upper=upper))


@pytest.fixture(scope="module")
def taxi():
    data = np.load(HERE / "taxi_eps1_instance.npz")
    return cumulative(data["parent"], data["noisy_cumulative"], int(data["total"]))


def test_taxi(taxi):
    solution = solved(taxi, threads=1)
    assert solution.objective == pytest.approx(2_314_635.58, rel=1e-7)
    assert solution.details["iterations"] < 400
    bounds = [point.bound for point in solution.trace]
    assert bounds == sorted(bounds)
    threaded = SOLVER.solve(taxi, SolveOptions(threads=3))
    assert np.array_equal(threaded.x, solution.x)
    assert threaded.bound == solution.bound


def test_taxi_piecewise_approaches_the_integer_optimum(taxi):
    found = piecewise(taxi, 60)
    assert 2_321_780 < found.bound < 2_321_821
    assert multiplier_bound(taxi.integers(), found.multipliers).bound <= 2_321_821


def test_time_limit(taxi):
    started = time.monotonic()
    solution = SOLVER.solve(taxi, SolveOptions(time_limit_s=0.05))
    assert time.monotonic() - started < 5
    assert solution.termination is Termination.TIME_LIMIT
    assert solution.point_status is PointStatus.FEASIBLE
    assert solution.bound <= 2_314_636 <= solution.objective
    early = piecewise(taxi, time_limit_s=0.05)
    assert np.isfinite(early.bound)
    assert early.bound <= 2_321_821
    tiny = SOLVER.solve(counterexample(), SolveOptions(time_limit_s=1e-9))
    assert tiny.termination is Termination.TIME_LIMIT
    assert tiny.point_status is PointStatus.FEASIBLE


def test_progress_and_trace():
    rng = np.random.default_rng(14)
    problem = random_problem(rng, regions=200, width=10, total=500)
    seen, points = [], []
    solution = solved(
        problem,
        progress=lambda stage, done: seen.append((stage, done)),
        observe=lambda point, x: points.append(point),
    )
    assert {stage for stage, _ in seen} == {"splitting"}
    fractions = [done for _, done in seen]
    assert fractions == sorted(fractions)
    assert 0 <= fractions[0] <= fractions[-1] <= 1
    assert tuple(points) == solution.trace
    assert points[-1].objective - points[-1].bound <= 1e-6 * points[-1].objective


def test_refuses_what_it_does_not_take():
    problem = counterexample()
    for other in (problem.integers(), replace(problem, cumulative=False), replace(problem, loss="l1")):
        with pytest.raises(InputError, match="splitting"):
            SOLVER.check(other)
    assert SOLVER.availability().available
    assert SOLVER.interruptible
