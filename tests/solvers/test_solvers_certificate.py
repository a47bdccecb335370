"""The certificate against complete enumeration: true exactly at the optima, false with a way to improve."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pgsr.models.problem import Problem
from pgsr.models.samples import cells, enumerate_tables, random_problem, random_table
from pgsr.solvers.base import PointStatus, Termination
from pgsr.solvers.certificate import assess, certify

SEEDS = st.integers(0, 2**32 - 1)


@settings(max_examples=150, deadline=None)
@given(
    SEEDS,
    st.sampled_from(["unit", "dyadic", "zero"]),
    st.sampled_from(["none", "lower", "upper", "both", "pins"]),
    st.sampled_from(["l2", "l1"]),
)
def test_true_exactly_at_the_optima(seed, weights, bounds, loss):
    rng = np.random.default_rng(seed)
    problem = random_problem(rng, regions=6, width=3, total=4, weights=weights, bounds=bounds, loss=loss)
    if cells(problem) > 6:
        return
    tables = list(enumerate_tables(problem))
    values = [problem.objective(x) for x in tables]
    best = min(values)
    for x, value in zip(tables, values, strict=True):
        proof = certify(problem, x)
        assert proof.exact
        assert proof.optimal is (value == best)
        assert proof.bound <= best
        if not proof.optimal:
            better = proof.exchange.apply(x)
            assert max(problem.violations(better).values()) == 0
            assert problem.objective(better) == pytest.approx(value + proof.exchange.change, abs=1e-9)
            assert problem.objective(better) < value


@settings(max_examples=100, deadline=None)
@given(SEEDS, st.sampled_from(["unit", "dyadic", "float"]))
def test_bound_of_any_table_is_below_any_other(seed, weights):
    rng = np.random.default_rng(seed)
    problem = random_problem(rng, regions=30, width=4, total=50, noise=40, weights=weights)
    first, second = random_table(rng, problem), random_table(rng, problem)
    assert certify(problem, first).bound <= problem.objective(second) + 1e-9


def test_infeasible_points_are_refused_without_an_exchange():
    problem = Problem(parent=[-1, 0, 0], target=[[2, 2], [1, 1], [1, 1]], total=4)
    good = np.array([[2, 2], [1, 1], [1, 1]])
    assert certify(problem, good).optimal is True
    for row, size, change in ((0, 0, 1), (1, 1, -1), (2, 0, 5)):
        bad = good.copy()
        bad[row, size] += change
        proof = certify(problem, bad)
        assert proof.optimal is False
        assert proof.exchange is None
    assert certify(problem, good.astype(float)).optimal is False, "an integer problem needs integers"


def test_objectives_beyond_64_bits_are_exact():
    shift = 2**50
    problem = Problem(parent=[-1, 0, 0], target=[[shift], [shift], [-shift]], total=3)
    proof = certify(problem, np.array([[3], [3], [0]]))
    assert proof.optimal is True
    assert proof.bound == (shift - 3) ** 2 * 2 + shift**2


def test_relaxed_certificate_refuses_a_worse_point():
    problem = Problem(parent=[-1, 0, 0], target=[[10], [8], [0]], total=10, integer=False)
    assert certify(problem, np.array([[10.0], [9.0], [1.0]])).optimal is True
    worse = certify(problem, np.array([[10.0], [8.5], [1.5]]))
    assert worse.optimal is False
    assert worse.bound <= 2.0 + 1e-9


def test_cumulative_points_are_not_judged():
    problem = Problem(parent=[-1], target=[[1, 2]], total=2, cumulative=True)
    assert certify(problem, np.array([[1, 2]])).optimal is None
    assert certify(problem, np.array([[2, 1]])).optimal is False


def test_a_lying_solver_is_shown_for_what_it_is():
    """Whatever is claimed, objective, violations and certificate come from the problem."""
    problem = Problem(parent=[-1, 0, 0], target=[[4, 0], [3, 0], [1, 0]], total=4)
    claim = {"solver": "liar", "version": "1", "termination": Termination.OPTIMAL, "raw_status": "OPTIMAL"}
    times = {"build_s": 0.0, "solve_s": 0.0}
    broken = assess(problem, np.array([[4, 0], [3, 0], [2, 0]]), claimed_bound=99.0, **claim, **times)
    assert broken.point_status is PointStatus.INFEASIBLE
    assert broken.violations["consistency"] == 1
    assert broken.certificate is False
    worse = assess(problem, np.array([[4, 0], [1, 0], [3, 0]]), claimed_bound=99.0, **claim, **times)
    assert worse.objective == 8
    assert worse.bound <= 0, "the claimed bound is not believed where one can be proven"
    assert worse.certificate is False
    nothing = assess(problem, None, **claim, **times)
    assert nothing.point_status is PointStatus.NONE
    assert nothing.objective is None
    assert nothing.gap is None
