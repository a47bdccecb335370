"""Model 2 on random problems: no bound exceeds the enumerated optimum, and what is called optimal is."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pgsr.models.problem import Problem
from pgsr.models.samples import enumerate_tables, random_parent, random_table
from pgsr.solvers.adapters.window import WindowSolver
from pgsr.solvers.base import PointStatus, SolveOptions, Termination
from pgsr.solvers.certificate import certify
from pgsr.solvers.native.cumulative import CumulativeSolver
from pgsr.solvers.native.lifting import lift
from pgsr.solvers.native.multipliers import multiplier_bound, raised
from pgsr.solvers.native.splitting import SplittingSolver

ONE = SolveOptions(threads=1)
SEEDS = st.integers(0, 2**32 - 1)
WEIGHTS = st.sampled_from(["unit", "dyadic", "float", "zero"])
LOSSES = st.sampled_from(["l2", "l1"])
SHAPES = st.sampled_from(["chain", "star", "even levels", "any"])


def tiny(rng, *, weights="unit", loss="l2", shape="any"):
    """A random problem of at most 7 leaf cells and 5 units, which enumeration can solve."""
    parent = {
        "chain": np.arange(-1, int(rng.integers(1, 5))),
        "star": np.r_[-1, np.zeros(int(rng.integers(1, 4)), np.int64)],
        "even levels": np.array([[-1, 0], [-1, 0, 0], [-1, 0, 0, 0]][int(rng.integers(3))], dtype=object),
        "any": random_parent(rng, int(rng.integers(1, 7))),
    }[shape].astype(np.int64)
    leaves = int((np.bincount(parent[1:], minlength=parent.size) == 0).sum())
    width = int(rng.integers(1, max(1, min(4, 7 // leaves)) + 1))
    inner = np.bincount(parent[1:], minlength=parent.size) > 0
    weight = {
        "unit": None,
        "dyadic": rng.integers(1, 9, parent.size) / 4.0,
        "float": rng.uniform(0.05, 3.0, parent.size),
        "zero": np.where(inner, rng.integers(0, 2, parent.size), 1.0),
    }[weights]
    return Problem(
        parent=parent,
        target=rng.integers(-3, 8, (parent.size, width)),
        total=int(rng.integers(0, 6)),
        weights=weight,
        cumulative=True,
        loss=loss,
    )


def optimum(problem):
    """The exact optimum over all tables of non-negative counts, accumulated over the sizes."""
    counts = enumerate_tables(replace(problem, cumulative=False))
    return min(problem.exact_objective(np.cumsum(x, axis=1)) for x in counts)


def bounds_hold(rng, problem):
    """Any multipliers at all prove at most the optimum, also rounded up, and in a certificate."""
    best = optimum(problem)
    for size in (0.0, 1.0, 30.0):
        prices = rng.normal(0, size, problem.target.shape) if size else np.zeros(problem.target.shape)
        found = multiplier_bound(problem, prices)
        assert found.bound <= best + (0 if found.exact else 1e-9)
        assert raised(problem, found) <= best + (0 if found.exact else 1e-9)
        if problem.loss == "l2" and problem.regions > 2:
            top = int(rng.integers(1, problem.regions))
            more = lift(problem, prices, found.per_region, top, ONE)
            assert float(found.bound) + more <= float(best) + 1e-4


@settings(max_examples=120, deadline=None)
@given(SEEDS, WEIGHTS, LOSSES, SHAPES)
def test_no_multipliers_prove_too_much(seed, weights, loss, shape):
    rng = np.random.default_rng(seed)
    bounds_hold(rng, tiny(rng, weights=weights, loss=loss, shape=shape))


@pytest.mark.slow
def test_no_multipliers_prove_too_much_on_thousands():
    for seed in range(4000):
        rng = np.random.default_rng([21, seed])
        weights = ["unit", "unit", "dyadic", "float", "zero"][seed % 5]
        shape = ["any", "even levels", "any", "star"][seed % 4]
        bounds_hold(rng, tiny(rng, weights=weights, loss=["l2", "l1"][seed % 7 == 0], shape=shape))


@settings(max_examples=60, deadline=None)
@given(SEEDS, WEIGHTS, SHAPES)
def test_solvers_find_the_enumerated_optimum(seed, weights, shape):
    problem = tiny(np.random.default_rng(seed), weights=weights, shape=shape)
    best = optimum(problem)
    for solver in (CumulativeSolver(), WindowSolver()):
        solution = solver.solve(problem, ONE)
        assert solution.termination is Termination.OPTIMAL
        assert float(solution.objective) == pytest.approx(float(best), rel=1e-12, abs=1e-9)
        assert solution.bound <= float(best) + 1e-7
    alone = CumulativeSolver(highs=False).solve(problem, ONE)
    assert alone.point_status is PointStatus.FEASIBLE
    assert float(alone.objective) >= float(best) - 1e-9
    if alone.certificate is True:
        assert float(alone.objective) == pytest.approx(float(best), rel=1e-12, abs=1e-9)
    relaxed = SplittingSolver().solve(problem.relaxed(), ONE)
    assert relaxed.objective <= float(best) + 1e-6 * max(1.0, float(best))


@settings(max_examples=60, deadline=None)
@given(SEEDS, WEIGHTS, st.booleans())
def test_a_worse_table_is_never_certified(seed, weights, near):
    """Whatever the multipliers are: those that prove the optimum, or those a little off."""
    rng = np.random.default_rng(seed)
    problem = tiny(rng, weights=weights)
    solution, prices = CumulativeSolver().solve_with_multipliers(problem, ONE)
    if prices is None:
        return
    if near:
        prices = prices + rng.normal(0, 0.3, prices.shape)
    worse = np.cumsum(random_table(rng, replace(problem, cumulative=False)), axis=1)
    proof = certify(problem, worse, ONE, prices)
    if problem.exact_objective(worse) > problem.exact_objective(solution.x):
        assert proof.optimal is not True


@settings(max_examples=12, deadline=None)
@given(SEEDS, st.sampled_from(["zeros", "one region", "long list", "deep", "unequal"]))
def test_shapes_that_users_have(seed, kind):
    """All-zero data, one dominating region, 5,000 sizes, deep chains, unequal weights."""
    rng = np.random.default_rng(seed)
    parent = random_parent(rng, 12)
    width, weights = 5, None
    if kind == "deep":
        parent, width = np.r_[np.arange(-1, 300), 150, 150], 3
        parent = np.sort(parent)
    if kind == "long list":
        parent, width = np.array([-1, 0, 0, 1, 1]), 5000
    if kind == "unequal":
        weights = 2.0 ** rng.integers(-6, 7, parent.size)
    plain = Problem(parent=parent, target=np.zeros((parent.size, width), np.int64), total=400)
    table = np.zeros(plain.target.shape, np.int64)
    if kind == "one region":
        table[int(np.flatnonzero(~plain.inner())[0]), 0] = 400
        for region in range(plain.regions - 1, 0, -1):
            table[plain.parent[region]] += table[region]
    elif kind != "zeros":
        table = random_table(rng, plain)
    problem = Problem(
        parent=parent,
        target=np.cumsum(table, axis=1) + rng.integers(-3, 4, table.shape),
        total=0 if kind == "zeros" else 400,
        weights=weights,
        cumulative=True,
    )
    solution = CumulativeSolver().solve(problem, SolveOptions(threads=1, time_limit_s=20.0))
    assert solution.point_status is PointStatus.FEASIBLE
    assert solution.bound <= solution.objective
    assert solution.refuted == ""
    assert solution.gap_relative <= 0.02
    if kind == "zeros":
        assert solution.certificate is True
        assert not solution.x.any()
