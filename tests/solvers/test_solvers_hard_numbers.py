"""Weights far apart, magnitudes up to 2^53, bounds and limits at their edges: verdicts stay true."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pgsr.bench.presets import generate
from pgsr.errors import InputError
from pgsr.models.exact import weight_limbs
from pgsr.models.problem import Problem
from pgsr.models.samples import brute_force, cells, random_problem, random_table
from pgsr.solvers import relaxedproof
from pgsr.solvers.base import PointStatus, SolveOptions, Termination
from pgsr.solvers.certificate import certify
from pgsr.solvers.native import exactsearch
from pgsr.solvers.native.exactsearch import exact_search
from pgsr.solvers.registry import get

STAR = [-1, 0, 0]
BIG = 10**9


def solve(problem, **options):
    return get("proximity").solve(problem, SolveOptions(**options))


@settings(max_examples=100, deadline=None)
@given(st.lists(st.floats(2.0**-20, 2.0**20), min_size=1, max_size=20))
def test_limbs_hold_any_weights_exactly(values):
    weights = np.array([*values, 0.0])
    limbs, k = weight_limbs(weights)
    for r, value in enumerate(weights):
        whole = sum(int(limb[r]) << (31 * j) for j, limb in enumerate(limbs))
        numerator, denominator = float(value).as_integer_ratio()
        assert whole * denominator == numerator << k if k >= 0 else whole * denominator << -k == numerator
        assert all(0 <= int(limb[r]) < 2**31 for limb in limbs)


@settings(max_examples=150, deadline=None)
@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from(["none", "lower", "upper", "both", "pins"]),
    st.sampled_from(["l2", "l1"]),
    st.sampled_from([8, 2**30, 2**53 - 1]),
)
def test_weights_far_apart(seed, bounds, loss, noise):
    """Weights over twelve orders of magnitude: optimal is exactly optimal, and nothing else is."""
    rng = np.random.default_rng(seed)
    problem = random_problem(rng, regions=6, width=3, total=4, noise=noise, bounds=bounds, loss=loss)
    problem = replace(problem, weights=10.0 ** rng.uniform(-5, 6, problem.regions))
    solution = solve(problem)
    assert solution.certificate is True
    assert solution.termination is Termination.OPTIMAL
    if cells(problem) <= 6:
        assert solution.objective == brute_force(problem)
        assert solution.bound == solution.objective
    if bounds == "none":
        table = random_table(rng, problem)
        proof = certify(problem, table)
        assert proof.optimal is (problem.exact_objective(table) == problem.exact_objective(solution.x))
        if not proof.optimal:
            better = proof.exchange.apply(table)
            assert max(problem.violations(better).values()) == 0
            assert problem.exact_objective(better) < problem.exact_objective(table)


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from([20, 2**40, 2**53 - 1]), st.sampled_from([30, 2**50]))
def test_compiled_and_long_integers_find_the_same_exchange(seed, noise, total):
    rng = np.random.default_rng(seed)
    problem = random_problem(
        rng, regions=15, width=4, total=total, noise=noise, weights="dyadic", bounds="both"
    )
    solution = solve(problem)
    assert solution.certificate is True
    best = exact_search(problem, solution.x).cost
    assert best is None or best >= 0
    free = replace(problem, lower=None, upper=None)
    table = random_table(rng, free)
    found, proof = exact_search(free, table), certify(free, table)
    assert proof.optimal is (found.cost is None or found.cost >= 0)
    if not proof.optimal:
        assert proof.exchange.change == float(found.cost)


def test_weights_beyond_compiled_integers():
    problem = Problem(parent=STAR, target=[[10], [10], [10]], total=10, weights=[0, 3e17, 3e17])
    proof = certify(problem, np.array([[10], [10], [0]]))
    assert proof.optimal is False
    assert proof.bound <= problem.objective(np.array([[10], [5], [5]]))
    assert solve(problem).x[1:, 0].tolist() == [5, 5]


def test_an_exchange_never_breaks_a_bound():
    problem = Problem(
        parent=[-1, 0, 0, 1, 2],
        target=[[10], [0], [10], [5], [5]],
        total=10,
        weights=[1e6, 3e17, 3e17, 1e6, 1e6],
        lower=[[0], [0], [0], [5], [0]],
    )
    only = np.array([[10], [5], [5], [5], [5]])
    assert certify(problem, only).optimal is True
    assert solve(problem).objective == problem.objective(only)


@pytest.mark.parametrize(
    ("fields", "x"),
    [
        (
            {"target": [[BIG], [BIG], [0]], "total": BIG, "weights": [1000.1, 0.001, 0.001], "loss": "l1"},
            [[BIG], [0], [BIG]],
        ),
        ({"target": [[1000], [0], [1000]], "total": 1000, "weights": [1e11, 1, 1.1]}, [[1000], [1000], [0]]),
    ],
)
def test_rounding_is_no_excuse(fields, x):
    problem = Problem(parent=STAR, **fields)
    proof = certify(problem, np.array(x))
    assert proof.optimal is False
    assert problem.objective(proof.exchange.apply(np.array(x))) < problem.objective(np.array(x))
    assert solve(problem).objective == 0


def test_large_tables_with_odd_weights_are_not_called_proven(monkeypatch):
    monkeypatch.setattr(exactsearch, "MAX_ENTRIES", 3)
    problem = Problem(parent=STAR, target=[[4, 0], [3, 0], [1, 0]], total=4, weights=[0.1, 0.3, 0.7])
    good, bad = np.array([[4, 0], [3, 0], [1, 0]]), np.array([[4, 0], [1, 0], [3, 0]])
    assert certify(problem, good).optimal is None
    assert certify(problem, bad).optimal is False
    solution = solve(problem)
    assert solution.objective == 0
    assert solution.certificate is None


@pytest.mark.parametrize(
    ("total", "target", "x"),
    [
        (BIG, [[BIG], [BIG // 2], [BIG // 2]], [[BIG + 0.5], [BIG / 2], [BIG / 2]]),
        (BIG, [[BIG], [-10], [BIG]], [[BIG], [1e-3], [BIG - 1e-3]]),
        (10**15, [[10**15], [-1000], [10**15]], [[10**15], [900], [10**15 - 900]]),
    ],
)
def test_relaxed_points_are_not_called_optimal_for_being_large(total, target, x):
    problem = Problem(parent=STAR, target=target, total=total, integer=False)
    proof = certify(problem, np.array(x, dtype=float))
    assert proof.optimal is not True
    best = solve(problem)
    assert proof.bound is None or proof.bound <= best.objective * (1 + 1e-9) + 1e-6


@settings(max_examples=150, deadline=None)
@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from(["unit", "dyadic", "float", "zero"]),
    st.sampled_from(["none", "lower", "upper", "both", "pins"]),
    st.sampled_from(["l2", "l1"]),
)
def test_relaxed_bound_is_a_bound(seed, weights, bounds, loss):
    """The multipliers read off any table bound the optimum, and those off the optimum prove it."""
    rng = np.random.default_rng(seed)
    problem = random_problem(
        rng, regions=15, width=4, total=30, noise=20, weights=weights, bounds=bounds, loss=loss
    )
    best = solve(problem.relaxed())
    assert best.certificate is True
    assert best.gap <= 1e-6 * max(1.0, best.objective)
    exact = solve(problem)
    assert best.objective <= exact.objective + 1e-6 * max(1.0, exact.objective)
    mixed = 0.3 * exact.x + 0.7 * best.x
    proof = certify(problem.relaxed(), mixed)
    assert proof.bound <= best.objective + 1e-6 * max(1.0, best.objective)
    if problem.relaxed().objective(mixed) > best.objective * (1 + 2e-6) + 2e-6:
        assert proof.optimal is not True


def test_the_gap_of_a_relaxation_decides(monkeypatch):
    problem = Problem(parent=STAR, target=[[10], [8], [0]], total=10, integer=False)
    near = np.array([[10.0], [8.99], [1.01]])
    assert certify(problem, near).optimal is not True
    monkeypatch.setattr(relaxedproof, "RELAXED_GAP", 1e-3)
    assert certify(problem, near).optimal is True


def test_windows_that_miss_at_large_magnitudes_are_repaired():
    rng = np.random.default_rng(8)
    for _ in range(40):
        depth = int(rng.integers(60, 120))
        parent = np.concatenate([[-1, 0, 0], np.arange(1, 2 * depth - 1)])
        target = rng.integers(-(2**52), 2**52, (parent.size, 1))
        problem = Problem(parent=parent, target=target, total=int(rng.integers(2**51, 2**52)))
        solution = solve(problem)
        assert solution.point_status is PointStatus.FEASIBLE
        assert solution.certificate is True


def test_absolute_values_beyond_64_bits():
    leaves = 2_100
    problem = Problem(
        parent=np.concatenate([[-1], np.zeros(leaves, dtype=np.int64)]),
        target=np.full((leaves + 1, 1), -(2**53)),
        total=0,
        loss="l1",
    )
    assert problem.objective(np.zeros((leaves + 1, 1), dtype=np.int64)) == (leaves + 1) * 2**53
    assert solve(problem).objective == (leaves + 1) * 2**53


def test_violations_beyond_64_bits():
    leaves = 2_049
    parent = np.concatenate([[-1], np.zeros(leaves, dtype=np.int64)])
    problem = Problem(parent=parent, target=np.zeros((leaves + 1, 1), dtype=np.int64), total=5)
    x = np.full((leaves + 1, 1), 2**53)
    x[:2] = 5
    assert problem.violations(x)["consistency"] == (leaves - 1) * 2**53
    assert certify(problem, x).optimal is False


def test_bounds_that_clash_by_one_at_the_largest_magnitude():
    with pytest.raises(InputError, match=r"clash|exclude"):
        Problem(parent=STAR, target=np.zeros((3, 1)), total=2**53, lower=[[0], [2**53], [1]])
    many = np.concatenate([[-1], np.zeros(2_000, dtype=np.int64)])
    lower = np.full((2_001, 1), 2**53)
    lower[0] = 0
    with pytest.raises(InputError, match=r"clash|exclude"):
        Problem(parent=many, target=np.zeros((2_001, 1)), total=2**53, lower=lower)


@pytest.mark.parametrize(
    "weights", [[1, 1e-310, 1e-310], [1e308, 1e308, 1e308], [1e15, 1, 1], [1, 5e-324, 1]]
)
def test_weights_out_of_range_are_refused(weights):
    with pytest.raises(InputError, match="weight"):
        Problem(parent=STAR, target=np.zeros((3, 1)), total=1, weights=weights)


@pytest.mark.parametrize("relaxed", [False, True])
@pytest.mark.parametrize("limit", [0.001, 0.02, 0.1, 0.3])
def test_at_a_time_limit_the_point_is_honest(relaxed, limit):
    """With bounds a feasible table is there early; whatever comes back is what its status says."""
    problem = generate("star", scale=0.2, seed=3).instance().problem
    upper = np.full(problem.target.shape, 6)
    upper[0] = problem.total
    problem = replace(problem, upper=upper, integer=not relaxed)
    solution = solve(problem, time_limit_s=limit)
    if solution.x is None:
        assert solution.point_status is PointStatus.NONE
        assert solution.termination is Termination.TIME_LIMIT
        return
    assert solution.point_status is PointStatus.FEASIBLE
    assert max(problem.violations(solution.x).values()) <= 1e-6
    assert solution.bound is None or solution.bound <= solution.objective
    if solution.termination is Termination.OPTIMAL:
        assert solution.certificate is True


def test_time_limits_hold():
    """A second of work, cut after a twentieth."""
    problem = generate("us", scale=0.01).instance().problem
    solution = solve(problem, time_limit_s=0.05, threads=1)
    assert solution.termination is Termination.TIME_LIMIT
    assert solution.certificate is not True
    assert solution.solve_s < 3.05
