"""What a solver claims is held against the problem; what is refuted is reported as such."""

from __future__ import annotations

import numpy as np
import pytest

from pgsr.errors import InputError
from pgsr.models.problem import Problem
from pgsr.solvers.base import PointStatus, SolveOptions, Termination
from pgsr.solvers.certificate import assess
from pgsr.solvers.native.proximity import ProximitySolver
from pgsr.solvers.rounding import rounded
from pgsr.solvers.statuses import TABLE, termination

PROBLEM = Problem(parent=[-1, 0, 0], target=[[5, 2], [1, 1], [3, 3]], total=8)
BEST = np.array([[5, 3], [1, 0], [4, 3]])


def claim(x, kind, problem=PROBLEM, **more):
    return assess(
        problem,
        x,
        solver="liar",
        version="1",
        termination=kind,
        raw_status="optimal!",
        build_s=0.0,
        solve_s=0.0,
        **more,
    )


def optimum():
    return ProximitySolver().solve(PROBLEM, SolveOptions())


def test_true_claims_stand():
    best = optimum()
    for bound in (None, best.objective, best.objective - 1e-9, best.objective + 1e-9, float("nan")):
        told = claim(best.x, Termination.OPTIMAL, claimed_bound=bound)
        assert told.termination is Termination.OPTIMAL
        assert told.refuted == ""
        assert told.bound == best.objective


def test_optimal_and_infeasible_is_refuted():
    told = claim(optimum().x + np.array([[1, 0], [0, 0], [0, 0]]), Termination.OPTIMAL)
    assert told.termination is Termination.NUMERICAL
    assert "violates consistency by 1" in told.refuted
    assert told.raw_status == "optimal!"
    assert told.point_status is PointStatus.INFEASIBLE
    assert told.certificate is False


def test_optimal_and_worse_is_refuted():
    worse = np.array([[8, 0], [0, 0], [8, 0]])
    told = claim(worse, Termination.OPTIMAL)
    assert told.termination is Termination.NUMERICAL
    assert told.refuted == "claims an optimum, but its point is not optimal"
    assert told.point_status is PointStatus.FEASIBLE


def test_a_gap_that_was_asked_for_is_no_lie():
    worse = np.array([[6, 2], [1, 0], [5, 2]])
    assert max(PROBLEM.violations(worse).values()) == 0
    assert claim(worse, Termination.OPTIMAL).refuted
    assert claim(worse, Termination.OPTIMAL, options=SolveOptions(gap=0.999)).refuted == ""


def test_a_bound_above_the_own_objective_is_dropped():
    cumulative = Problem(parent=[-1], target=[[1, 2]], total=2, cumulative=True)
    told = claim(np.array([[0, 2]]), Termination.OPTIMAL, cumulative, claimed_bound=5.0)
    assert told.bound is None
    assert "above its own point" in told.refuted
    assert told.termination is Termination.NUMERICAL


def test_an_own_gap_belies_optimality():
    cumulative = Problem(parent=[-1], target=[[1, 2]], total=2, cumulative=True)
    told = claim(np.array([[0, 2]]), Termination.OPTIMAL, cumulative, claimed_bound=0.0)
    assert told.refuted == "claims an optimum with a gap of its own"


@pytest.mark.parametrize(
    "kind", [Termination.OPTIMAL, Termination.UNBOUNDED, Termination.INFEASIBLE], ids=lambda k: k.value
)
def test_claims_without_a_point(kind):
    told = claim(None, kind)
    assert told.termination is Termination.NUMERICAL
    assert told.refuted
    assert told.point_status is PointStatus.NONE


def test_a_limit_without_a_point_stands():
    assert claim(None, Termination.TIME_LIMIT).termination is Termination.TIME_LIMIT


def test_infeasible_may_be_true_for_bounded_cumulative_problems():
    # Both leaves must have 1 unit of the first size, the root none.
    problem = Problem(parent=[-1], target=[[0, 2]], total=2, cumulative=True, upper=[[1, 2]], lower=[[0, 2]])
    assert claim(None, Termination.INFEASIBLE, problem).termination is Termination.INFEASIBLE


def test_relaxed_points_of_interior_methods_are_proven_not_refuted():
    relaxed = PROBLEM.relaxed()
    best = ProximitySolver().solve(relaxed, SolveOptions())
    for size in (1e-9, 1e-8):
        near = best.x.copy()
        near[0] += np.array([size, -size])
        near[1] += np.array([size, -size])
        told = claim(np.abs(near), Termination.OPTIMAL, relaxed)
        assert told.refuted == ""
        assert told.certificate is True


def test_relaxed_points_that_can_be_improved_are_refuted():
    relaxed = PROBLEM.relaxed()
    told = claim(np.array([[8.0, 0.0], [4.0, 0.0], [4.0, 0.0]]), Termination.OPTIMAL, relaxed)
    assert told.certificate is False
    assert told.termination is Termination.NUMERICAL


def test_rounding_reports_what_it_breaks():
    problem = Problem(parent=[-1, 0, 0, 0], target=[[1, 1], [0, 0], [0, 0], [0, 0]], total=2)
    relaxed = ProximitySolver().solve(problem.relaxed(), SolveOptions())
    told = rounded(relaxed)
    assert told.problem.integer
    assert told.point_status is PointStatus.INFEASIBLE
    assert told.violations["consistency"] == 1
    assert told.certificate is False
    assert told.details["relaxed_objective"] == relaxed.objective
    assert told.bound == relaxed.bound
    assert told.x.dtype == np.int64


def test_rounding_needs_a_point():
    with pytest.raises(InputError, match="no point to round"):
        rounded(claim(None, Termination.TIME_LIMIT, PROBLEM.relaxed()))


def test_status_table():
    assert termination("highs", "kOptimal") is Termination.OPTIMAL
    assert termination("clarabel", "AlmostSolved") is not Termination.OPTIMAL
    assert termination("highs", "kBrandNew") is Termination.UNKNOWN
    for back_end, words in TABLE.items():
        claims = [word for word, kind in words.items() if kind is Termination.OPTIMAL]
        assert claims, back_end
        assert not [word for word in claims if "inaccurate" in word.lower() or "feasible" in word.lower()]
