"""Random small problems: brute force, the paper's dynamic program and `proximity` agree."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pgsr.errors import InputError
from pgsr.models.problem import Feature, Problem
from pgsr.models.samples import brute_force, cells, permute_siblings, random_problem
from pgsr.solvers.base import PointStatus, SolveOptions
from pgsr.solvers.registry import get

ONE = SolveOptions(threads=1)
WEIGHTS = st.sampled_from(["unit", "dyadic", "float", "zero"])
BOUNDS = st.sampled_from(["none", "lower", "upper", "both", "pins"])
LOSSES = st.sampled_from(["l2", "l1"])
SEEDS = st.integers(0, 2**32 - 1)


def solve(problem, solver="proximity"):
    return get(solver).solve(problem, ONE)


def assert_optimal(solution, value):
    """All conditions hold, the value is `value`, and it is proven."""
    assert set(solution.violations.values()) == {0}
    assert solution.point_status is PointStatus.FEASIBLE
    assert solution.objective == pytest.approx(value, rel=1e-12, abs=1e-9)
    if isinstance(value, int):
        assert solution.objective == value
    assert solution.certificate is True
    assert solution.x.dtype == np.int64


@settings(max_examples=150, deadline=None)
@given(SEEDS, WEIGHTS, BOUNDS, LOSSES)
def test_brute_force_dp_and_proximity_agree(seed, weights, bounds, loss):
    rng = np.random.default_rng(seed)
    problem = random_problem(rng, regions=6, width=3, total=5, weights=weights, bounds=bounds, loss=loss)
    if cells(problem) > 7:
        return
    value = brute_force(problem)
    for solver in ("dp", "proximity"):
        assert_optimal(solve(problem, solver), value)


@settings(max_examples=200, deadline=None)
@given(SEEDS, WEIGHTS, BOUNDS, LOSSES, st.sampled_from([3, 30, 1000]))
def test_dp_and_proximity_agree_on_larger_trees(seed, weights, bounds, loss, noise):
    rng = np.random.default_rng(seed)
    problem = random_problem(
        rng, regions=25, width=5, total=60, noise=noise, weights=weights, bounds=bounds, loss=loss
    )
    assert_optimal(solve(problem), solve(problem, "dp").objective)


@settings(max_examples=100, deadline=None)
@given(SEEDS, WEIGHTS, BOUNDS)
def test_relaxation_is_below_the_integers_and_proven(seed, weights, bounds):
    rng = np.random.default_rng(seed)
    problem = random_problem(rng, regions=20, width=4, total=40, noise=30, weights=weights, bounds=bounds)
    relaxed = solve(problem.relaxed())
    assert relaxed.certificate is True
    assert relaxed.point_status is PointStatus.FEASIBLE
    assert relaxed.objective <= solve(problem).objective + 1e-9


@settings(max_examples=60, deadline=None)
@given(SEEDS, WEIGHTS, BOUNDS, LOSSES)
def test_sibling_order_does_not_matter(seed, weights, bounds, loss):
    rng = np.random.default_rng(seed)
    problem = random_problem(rng, regions=20, width=3, total=30, weights=weights, bounds=bounds, loss=loss)
    permuted, _ = permute_siblings(problem, rng)
    assert solve(permuted).objective == pytest.approx(solve(problem).objective, rel=1e-12, abs=1e-9)


def test_relaxation_agrees_with_an_independent_solver():
    """Clarabel through CVXPY, with the constraints written out."""
    cp = pytest.importorskip("cvxpy")
    rng = np.random.default_rng(3)
    kinds = ("none", "lower", "upper", "both", "pins")
    for weights, bounds in itertools.product(("unit", "dyadic", "float", "zero"), kinds):
        problem = random_problem(rng, regions=12, width=4, total=25, noise=12, weights=weights, bounds=bounds)
        x = cp.Variable(problem.target.shape)
        inner = np.flatnonzero(problem.inner())
        children = [range(problem.child_start[i], problem.child_start[i + 1]) for i in inner]
        conditions = [x >= 0, cp.sum(x[0]) == problem.total]
        conditions += [x[i] == cp.sum(x[list(c)], axis=0) for i, c in zip(inner, children, strict=True)]
        cost = cp.sum(cp.multiply(problem.region_weights[:, None], cp.square(x - problem.target)))
        if problem.lower is not None:
            conditions.append(x >= problem.lower)
        if problem.upper is not None:
            conditions.append(x <= problem.upper)
        value = cp.Problem(cp.Minimize(cost), conditions).solve(solver=cp.CLARABEL)
        solution = solve(problem.relaxed())
        assert solution.objective == pytest.approx(value, rel=1e-6, abs=1e-6)
        assert solution.certificate is True


def chain(depth, width=3):
    rng = np.random.default_rng(depth)
    target = rng.integers(-50, 200, (depth, width))
    return Problem(parent=np.arange(-1, depth - 1), target=target, total=90)


def test_deep_chain():
    problem = chain(20_000)
    # All rows are equal in a chain, so the rows collapse into their mean.
    mean = problem.target.mean(axis=0)
    options = [(a, b, 90 - a - b) for a in range(91) for b in range(91 - a)]
    best = min(options, key=lambda row: float(((np.array(row) - mean) ** 2).sum()))
    value = problem.objective(np.tile(np.array(best), (20_000, 1)))
    assert_optimal(solve(problem), value)


@pytest.mark.parametrize("total", [0, 7])
def test_single_region(total):
    problem = Problem(parent=[-1], target=[[5, -3, 9, 0]], total=total)
    assert_optimal(solve(problem), brute_force(problem))
    assert_optimal(solve(problem, "dp"), brute_force(problem))
    relaxed = solve(problem.relaxed())
    assert relaxed.certificate is True
    assert relaxed.point_status is PointStatus.FEASIBLE


def test_one_size():
    problem = Problem(parent=[-1, 0, 0], target=[[9], [-4], [8]], total=6)
    assert_optimal(solve(problem), brute_force(problem))


def test_wide_star():
    rng = np.random.default_rng(1)
    leaves = 30_000
    problem = Problem(
        parent=np.concatenate([[-1], np.zeros(leaves, dtype=np.int64)]),
        target=rng.integers(-20, 25, (leaves + 1, 2)),
        total=leaves,
    )
    solution = solve(problem)
    assert_optimal(solution, solution.objective)


def test_huge_noise():
    rng = np.random.default_rng(2)
    for _ in range(20):
        problem = random_problem(rng, regions=20, width=3, total=10, noise=2**45)
        assert_optimal(solve(problem), solve(problem, "dp").objective)


def test_zero_total():
    rng = np.random.default_rng(4)
    problem = random_problem(rng, regions=20, width=3, total=0)
    solution = solve(problem)
    assert_optimal(solution, problem.objective(np.zeros_like(problem.target)))
    relaxed = solve(problem.relaxed())
    assert relaxed.certificate is True
    assert np.all(relaxed.x == 0)


def test_bounds_far_from_the_relaxation():
    """Upper bounds push a whole nation into one corner: windows must travel far."""
    target = np.array([[0], [100_000], [0], [50_000], [50_000], [0], [0]])
    upper = np.array([[10**6], [10], [10**6], [5], [10**6], [40_000], [10**6]])
    problem = Problem(parent=[-1, 0, 0, 1, 1, 2, 2], target=target, total=100_000, upper=upper)
    assert_optimal(solve(problem), solve(problem, "dp").objective)


def test_relaxation_with_upper_bounds():
    """The case in which an active set that never releases gives (0, 1, 0)."""
    problem = Problem(
        parent=[-1, 0, 0, 0],
        target=[[0], [-3], [0], [0]],
        total=1,
        upper=[[1], [1], [1], [2]],
        lower=[[1], [0], [0], [0]],
        integer=False,
    )
    tight = Problem(parent=[-1, 0, 0], target=[[0], [9], [1]], total=4, upper=[[4], [2], [4]], integer=False)
    assert Feature.RELAXED_BOUNDS in tight.requires
    for case, leaves in ((problem, [0, 0.5, 0.5]), (tight, [2, 2])):
        solution = solve(case)
        assert solution.x[1:, 0].tolist() == pytest.approx(leaves, abs=1e-6)
        assert solution.certificate is True


def test_dp_refuses_large_domains():
    with pytest.raises(InputError, match="use proximity"):
        solve(Problem(parent=[-1], target=[[1, 2]], total=2**40), "dp")
