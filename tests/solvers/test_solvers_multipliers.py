"""Bounds from multipliers against complete enumeration, linear programs and arbitrary-precision integers."""

from __future__ import annotations

import itertools
import json
from fractions import Fraction
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import Bounds, LinearConstraint, linprog, milp
from scipy.sparse import coo_array

from pgsr.errors import InputError
from pgsr.models.domains import domains
from pgsr.models.problem import Problem, RegionError
from pgsr.models.samples import cells, enumerate_tables, random_parent, random_table
from pgsr.solvers.native import multipliers as module
from pgsr.solvers.native.duality import cumulative_certificate
from pgsr.solvers.native.multipliers import multiplier_bound
from pgsr.solvers.native.schedule import inner_rows

HERE = Path(__file__).parent
VECTORS = [
    v
    for v in json.loads(files("pgsr.solvers.conformance").joinpath("vectors.json").read_text())
    if v["model"] == "cumulative"
]
WEIGHTS = ["unit", "equal", "dyadic", "threes", "float", "zero"]


def random_cumulative(
    rng, *, regions=5, width=3, total=4, noise=5, weights="unit", bounds=False, loss="l2", integer=True
):
    """A random feasible Model 2 problem: bounds, if any, hold at a random table; also that table."""
    parent = random_parent(rng, int(rng.integers(1, regions + 1)))
    shape = (parent.size, int(rng.integers(1, width + 1)))
    total = int(rng.integers(0, total + 1))
    plain = Problem(parent=parent, target=np.zeros(shape, np.int64), total=total)
    weight = {
        "unit": None,
        "equal": np.full(parent.size, 0.3),
        "dyadic": rng.integers(1, 9, parent.size) / 4.0,
        "threes": rng.integers(1, 4, parent.size) * 3.0,
        "float": rng.uniform(0.01, 3.0, parent.size),
        "zero": np.where(plain.inner(), rng.integers(0, 3, parent.size), 1.0),
    }[weights]
    inside = np.cumsum(random_table(rng, plain), axis=1)
    lower = upper = None
    if bounds:
        where = rng.random(shape) < 0.4
        lower = np.where(where, np.maximum(0, inside - rng.integers(0, 3, shape)), 0)
        upper = np.where(rng.random(shape) < 0.4, inside + rng.integers(0, 3, shape), total)
    problem = Problem(
        parent=parent,
        target=rng.integers(-noise, noise + total + 1, shape),
        total=total,
        weights=weight,
        cumulative=True,
        integer=integer,
        loss=loss,
        lower=lower,
        upper=upper,
    )
    return problem, inside


def random_prices(rng, problem):
    scale = 2.0 ** rng.integers(-2, 5)
    prices = rng.normal(0, scale, problem.target.shape)
    return np.rint(prices) / 2 if rng.random() < 0.5 else prices


def tilts(problem, prices, found):
    """Own price minus parent's as fractions, rounded as the result says."""
    unit = (found.step or 1) / Fraction(2) ** found.grid
    factor = float(1 / unit)
    inner = problem.inner()

    def row(r):
        if r < 0 or not inner[r]:
            return [Fraction(0)] * problem.width
        return [int(np.rint(p * factor)) * unit for p in prices[r].tolist()]

    own = [row(r) for r in range(problem.regions)]
    above = [row(int(p)) for p in problem.parent]
    return [[a - b for a, b in zip(x, y, strict=True)] for x, y in zip(own, above, strict=True)]


def pinned_domains(problem):
    low, high = domains(problem)
    low[0, -1] = high[0, -1] = problem.total
    return low.tolist(), high.tolist()


def row_cost(problem, r, z, tilt):
    w = Fraction(float(problem.region_weights[r]))
    target = problem.target[r].tolist()
    gaps = [v - t for v, t in zip(z, target, strict=True)]
    loss = sum(g * g for g in gaps) if problem.loss == "l2" else sum(abs(g) for g in gaps)
    return w * loss + sum(q * v for q, v in zip(tilt, z, strict=True))


def non_decreasing(candidates):
    for z in itertools.product(*candidates):
        if all(a <= b for a, b in itertools.pairwise(z)):
            yield z


def brute_regions(problem, tilt):
    """Every region's minimum over all whole non-decreasing rows in its domain."""
    low, high = pinned_domains(problem)
    out = []
    for r in range(problem.regions):
        ranges = [range(a, b + 1) for a, b in zip(low[r], high[r], strict=True)]
        out.append(min(row_cost(problem, r, z, tilt[r]) for z in non_decreasing(ranges)))
    return out


def candidate_regions(problem, tilt):
    """The same from candidate values only, so for numbers of any size; also over real numbers."""
    low, high = pinned_domains(problem)
    out = []
    for r in range(problem.regions):
        w = Fraction(float(problem.region_weights[r]))
        target, width = problem.target[r].tolist(), problem.width
        values = {*low[r], *high[r]}
        if problem.loss == "l1":
            values |= set(target)
        elif w > 0:
            for a in range(width):
                for b in range(a + 1, width + 1):
                    mean = sum(target[s] - tilt[r][s] / (2 * w) for s in range(a, b)) / (b - a)
                    values |= {mean // 1, -(-mean // 1)} if problem.integer else {mean}
        choices = [sorted(v for v in values if low[r][s] <= v <= high[r][s]) for s in range(width)]
        out.append(min(row_cost(problem, r, z, tilt[r]) for z in non_decreasing(choices)))
    return out


def cumulative_tables(problem):
    """Every feasible table of a tiny problem."""
    plain = Problem(parent=problem.parent, target=problem.target, total=problem.total)
    for table in enumerate_tables(plain):
        x = np.cumsum(table, axis=1)
        if (problem.lower is None or np.all(x >= problem.lower)) and (
            problem.upper is None or np.all(x <= problem.upper)
        ):
            yield x


@pytest.mark.parametrize("loss", ["l2", "l1"])
@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("bounds", [False, True])
def test_inner_minimum_is_that_of_enumeration(loss, weights, bounds):
    rng = np.random.default_rng([WEIGHTS.index(weights), bounds, loss == "l1"])
    for _ in range(80):
        problem, _ = random_cumulative(rng, weights=weights, bounds=bounds, loss=loss)
        prices = random_prices(rng, problem)
        found = multiplier_bound(problem, prices)
        assert found.exact
        expected = brute_regions(problem, tilts(problem, prices, found))
        assert found.bound == sum(expected)
        np.testing.assert_allclose(found.per_region, [float(v) for v in expected], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("loss", ["l2", "l1"])
@pytest.mark.parametrize("weights", ["unit", "dyadic", "float", "zero"])
def test_relaxed_inner_minimum(loss, weights):
    rng = np.random.default_rng([7, WEIGHTS.index(weights), loss == "l1"])
    for turn in range(60):
        problem, _ = random_cumulative(rng, weights=weights, bounds=turn % 2 == 1, loss=loss, integer=False)
        prices = random_prices(rng, problem)
        found = multiplier_bound(problem, prices)
        expected = sum(candidate_regions(problem, tilts(problem, prices, found)))
        if loss == "l1":
            assert found.exact
            assert found.bound == expected
            assert found.bound == multiplier_bound(problem.integers(), prices).bound
        else:
            assert not found.exact
            assert Fraction(found.bound) <= expected
            assert found.bound == pytest.approx(float(expected), rel=1e-11, abs=1e-11)


@pytest.mark.parametrize("loss", ["l2", "l1"])
@pytest.mark.parametrize("weights", WEIGHTS)
def test_never_above_the_optimum_and_proof_only_at_the_optimum(loss, weights):
    rng = np.random.default_rng([11, WEIGHTS.index(weights), loss == "l1"])
    proofs = 0
    for turn in range(40):
        problem, _ = random_cumulative(
            rng, regions=4, total=3, weights=weights, bounds=turn % 3 == 0, loss=loss
        )
        if cells(problem) > 6:
            continue
        tables = list(cumulative_tables(problem))
        values = [problem.exact_objective(x) for x in tables]
        best = min(values)
        for prices in (random_prices(rng, problem), np.zeros(problem.target.shape)):
            assert multiplier_bound(problem, prices).bound <= best
            assert multiplier_bound(problem.relaxed(), prices).bound <= best
            for at in {int(i) for i in rng.integers(0, len(values), 3)} | {values.index(best)}:
                proof = cumulative_certificate(problem, tables[at], prices)
                assert proof.exact
                assert proof.bound <= best
                assert proof.optimal in ({True, None} if values[at] == best else {None})
                proofs += proof.optimal is True
    assert proofs > 0


@pytest.mark.parametrize("plain", [False, True])
@pytest.mark.parametrize("loss", ["l2", "l1"])
@pytest.mark.parametrize("weights", ["unit", "dyadic", "zero"])
def test_float_bound_is_below_the_exact_one(monkeypatch, loss, weights, plain):
    """Prices on both grids: the float bound must not exceed the exact one, and hardly fall short of it."""
    rng = np.random.default_rng([13, WEIGHTS.index(weights), loss == "l1", plain])
    cases = []
    for turn in range(36):
        size = {"regions": 6, "width": 4, "total": 5} if plain else {"regions": 30, "width": 40}
        if not plain:
            size |= {"total": 10**6, "noise": 10**6}
        problem, _ = random_cumulative(rng, weights=weights, bounds=turn % 2 == 1, loss=loss, **size)
        unit = float(module.whole_weights(problem.region_weights)[1]) / 8
        prices = np.rint(random_prices(rng, problem) / unit) * unit
        cases.append((problem, prices, multiplier_bound(problem, prices)))
    monkeypatch.setattr(module, "whole_weights", lambda weights: (None, Fraction(1)))
    monkeypatch.setattr(module, "SMALL", 0)
    for problem, prices, exact in cases:
        rough = multiplier_bound(problem, prices)
        assert exact.exact
        assert not rough.exact
        assert rough.step is None
        assert Fraction(rough.bound) <= exact.bound
        scale = max(1.0, abs(float(exact.bound)), float(np.abs(problem.target).max()) * problem.total)
        assert float(exact.bound) - rough.bound <= 1e-8 * scale
        np.testing.assert_allclose(rough.per_region, exact.per_region, rtol=1e-9, atol=1e-9 * scale)


@pytest.mark.parametrize("loss", ["l2", "l1"])
@pytest.mark.parametrize("weights", WEIGHTS)
def test_compiled_integers_equal_python_integers(monkeypatch, loss, weights):
    rng = np.random.default_rng([17, WEIGHTS.index(weights), loss == "l1"])
    problem = Problem(
        parent=random_parent(rng, 80),
        target=np.sort(rng.integers(-1000, 10**5, (80, 60)), axis=1) + rng.integers(-500, 500, (80, 60)),
        total=10**5,
        cumulative=True,
        loss=loss,
    )
    inner = problem.inner()
    weight = {
        "unit": np.ones(80),
        "equal": np.full(80, 0.3),
        "dyadic": rng.integers(1, 9, 80) / 4.0,
        "threes": rng.integers(1, 4, 80) * 3.0,
        "float": rng.uniform(0.01, 3.0, 80),
        "zero": np.where(inner, rng.integers(0, 2, 80), 1.0),
    }[weights]
    problem = Problem(
        parent=problem.parent,
        target=problem.target,
        total=problem.total,
        weights=weight,
        cumulative=True,
        loss=loss,
    )
    prices = rng.normal(0, 300, problem.target.shape)
    compiled = multiplier_bound(problem, prices)
    monkeypatch.setattr(module, "_finest_grid", lambda *_: -1)
    python = multiplier_bound(problem, prices, grid=compiled.grid)
    assert python.exact
    assert (python.bound, python.step, python.grid) == (compiled.bound, compiled.step, compiled.grid)
    np.testing.assert_allclose(python.per_region, compiled.per_region, rtol=1e-12)


@pytest.mark.parametrize("loss", ["l2", "l1"])
@pytest.mark.parametrize("exponent", [20, 26, 30, 36, 45, 53])
def test_large_numbers_do_not_overflow(monkeypatch, loss, exponent):
    """From numbers that int64 holds easily up to the largest allowed, through every way of computing."""
    rng = np.random.default_rng([19, exponent, loss == "l1"])
    large = 2**exponent
    kinds = set()
    for turn in range(18):
        parent = random_parent(rng, 5)
        weight = [None, np.full(5, 2.0**-60), rng.integers(1, 2**31, 5).astype(float)][turn % 3]
        target = rng.choice([-large, large, large - 1, 0, large // 2], (5, 3))
        problem = Problem(
            parent=parent, target=target, total=large, weights=weight, cumulative=True, loss=loss
        )
        size = 1.0 if weight is None else float(weight.max())
        prices = rng.choice([-1.0, 1.0, 0.3], target.shape) * size * (large if loss == "l2" else 1)
        found = multiplier_bound(problem, prices)
        assert found.exact
        expected = sum(candidate_regions(problem, tilts(problem, prices, found)))
        assert found.bound == expected
        with monkeypatch.context() as patch:
            patch.setattr(module, "SMALL", 0)
            other = multiplier_bound(problem, prices)
        kinds.add(other.exact)
        if other.exact:
            assert other.bound == found.bound  # the very same computation
        else:
            # Prices are whole multiples of the float grid, the exact one is finer or equal.
            scale = 3 * 5 * size * float(large) ** (2 if loss == "l2" else 1) * 8
            assert other.bound <= float(found.bound) + 1e-12 * scale
            assert other.bound == pytest.approx(float(found.bound), abs=1e-11 * scale)
    if exponent == 20:
        assert True in kinds
    if exponent == 53:
        assert False in kinds


def test_large_tables_fall_back_to_floats():
    """Too large for int64 and too many entries for Python integers."""
    rng = np.random.default_rng(23)
    parent = np.concatenate([[-1], np.zeros(99, dtype=np.int64)])
    target = rng.integers(-(2**53), 2**53, (100, 200))
    problem = Problem(parent=parent, target=target, total=2**53, cumulative=True)
    x = np.zeros((100, 200), dtype=np.int64)
    x[1], x[0] = 2**53, 2**53
    found = multiplier_bound(problem, np.zeros(target.shape))
    assert not found.exact
    assert 0 < Fraction(found.bound) <= problem.exact_objective(x)
    proof = cumulative_certificate(problem, x, np.zeros(target.shape))
    assert (proof.optimal, proof.exact) == (None, False)


# Linear programs --------------------------------------------------------------------------------------


def program(problem):
    """The piecewise-linear program: unit segments y, x = sum of y. Returns c, A_eq, b_eq, A_ub, links."""
    shape, total = problem.target.shape, problem.total
    entry = np.arange(problem.target.size).reshape(shape)
    w = problem.region_weights[:, None, None]
    step = np.arange(total)
    gap = step - problem.target[:, :, None]
    cost = w * ((gap + 1) ** 2 - gap**2 if problem.loss == "l2" else np.abs(gap + 1) - np.abs(gap))

    def row(signs):
        return np.concatenate([sign * np.ones(total) for _, sign in signs]), np.concatenate(
            [at * total + step for at, _ in signs]
        )

    def matrix(rows):
        parts = [row(signs) for signs in rows]
        data = np.concatenate([p[0] for p in parts])
        columns = np.concatenate([p[1] for p in parts])
        index = np.concatenate([np.full(p[0].size, i) for i, p in enumerate(parts)])
        return coo_array((data, (index, columns)), shape=(len(rows), cost.size)).tocsr()

    links = [(r, s) for r in np.flatnonzero(problem.inner()).tolist() for s in range(shape[1])]
    equal = [
        [(entry[r, s], 1), *((entry[c, s], -1) for c in range(*problem.child_start[r : r + 2]))]
        for r, s in links
    ]
    equal.append([(entry[0, -1], 1)])
    right = np.zeros(len(equal))
    right[-1] = total
    order = [[(entry[r, s], 1), (entry[r, s + 1], -1)] for r in range(shape[0]) for s in range(shape[1] - 1)]
    return cost.ravel(), matrix(equal), right, matrix(order) if order else None, links


def solve_program(problem):
    """Optimum of the linear program and its prices."""
    cost, equal, right, order, links = program(problem)
    zeros = None if order is None else np.zeros(order.shape[0])
    found = linprog(cost, A_ub=order, b_ub=zeros, A_eq=equal, b_eq=right, bounds=(0, 1), method="highs")
    assert found.status == 0
    prices = np.zeros(problem.target.shape)
    for (r, s), marginal in zip(links, found.eqlin.marginals, strict=False):
        prices[r, s] = -marginal
    zero = np.zeros(problem.target.shape, dtype=np.int64)
    return found.fun + float(problem.exact_objective(zero)), prices


def solve_integers(problem):
    cost, equal, right, order, _ = program(problem)
    constraints = [LinearConstraint(equal, right, right)]
    if order is not None:
        constraints.append(LinearConstraint(order, -np.inf, 0))
    found = milp(cost, integrality=np.ones(cost.size), bounds=Bounds(0, 1), constraints=constraints)
    assert found.status == 0
    return np.rint(found.x.reshape(*problem.target.shape, -1).sum(axis=2)).astype(np.int64)


def strict_gap():
    """The smallest instance known whose linear program lies below the integer optimum: 48.5 and 49."""
    target = [[2, 0, 2], [2, 3, 5], [1, 1, 1], [-1, 3, 2], [4, 0, 5], [2, 3, 1]]
    return Problem(parent=np.array([-1, 0, 0, 1, 1, 2]), target=target, total=4, cumulative=True)


def test_strict_gap_is_closed_by_rounding_up():
    problem = strict_gap()
    value, prices = solve_program(problem)
    assert value == pytest.approx(48.5)
    found = multiplier_bound(problem, prices)
    assert float(found.bound) == pytest.approx(48.5, abs=1e-5)
    assert multiplier_bound(problem, prices, grid=4).bound == Fraction(97, 2)
    x = solve_integers(problem)
    assert problem.objective(x) == 49
    proof = cumulative_certificate(problem, x, prices)
    assert (proof.optimal, proof.bound, proof.exact) == (True, 49, True)
    # Prices that are only nearly right, as a splitting method gives them, round to good ones.
    nearly = prices + np.random.default_rng(1).uniform(-0.02, 0.02, prices.shape)
    assert cumulative_certificate(problem, x, nearly).optimal is True
    # Here the finest grid alone would leave a gap.
    farther = prices + np.random.default_rng(0).uniform(-0.2, 0.2, prices.shape)
    assert multiplier_bound(problem, farther).bound < 48
    assert cumulative_certificate(problem, x, farther).optimal is True
    # Bad prices prove nothing, and refute nothing.
    poor = cumulative_certificate(problem, x, np.zeros(prices.shape))
    assert poor.optimal is None
    assert poor.bound < 49
    assert cumulative_certificate(problem, x, 100 * prices).bound == 0


@pytest.mark.parametrize("loss", ["l2", "l1"])
@pytest.mark.parametrize("weights", ["unit", "dyadic", "threes", "float", "zero"])
def test_duals_of_the_linear_program_attain_its_optimum(loss, weights):
    rng = np.random.default_rng([29, WEIGHTS.index(weights), loss == "l1"])
    for _ in range(8):
        problem, _ = random_cumulative(rng, regions=8, width=4, total=8, weights=weights, loss=loss)
        if problem.total == 0:
            continue
        value, prices = solve_program(problem)
        found = multiplier_bound(problem, prices)
        assert float(found.bound) == pytest.approx(value, rel=1e-7, abs=1e-4)
        x = solve_integers(problem)
        proof = cumulative_certificate(problem, x, prices)
        assert proof.bound <= problem.exact_objective(x)
        if weights in ("unit", "threes") and problem.level_start.size <= 3:  # two levels: no gap
            assert proof.optimal is True


@pytest.mark.parametrize("vector", VECTORS, ids=[str(i) for i in range(len(VECTORS))])
def test_published_optima_are_proven(vector):
    place = {region["id"]: i for i, region in enumerate(vector["regions"])}
    problem = Problem(
        parent=[place.get(region["parent"], -1) for region in vector["regions"]],
        target=[region["noisy"] for region in vector["regions"]],
        total=vector["total"],
        cumulative=True,
    )
    expected = vector["expected"]
    assert multiplier_bound(problem, np.zeros(problem.target.shape)).bound <= expected["integer_optimum"]
    value, prices = solve_program(problem)
    assert value == pytest.approx(expected["piecewise_linear_relaxation"], abs=1e-4)
    proof = cumulative_certificate(problem, solve_integers(problem), prices)
    assert (proof.optimal, proof.bound) == (True, expected["integer_optimum"])


# The rest ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", ["l2", "l1"])
@pytest.mark.parametrize("integer", [True, False])
def test_last_entry_of_the_root_is_pinned(loss, integer):
    cost = 25 if loss == "l2" else 5
    kind = {"total": 5, "cumulative": True, "loss": loss, "integer": integer}
    alone = Problem(parent=[-1], target=[[0, 0]], **kind)
    assert float(multiplier_bound(alone, np.zeros((1, 2))).bound) == pytest.approx(cost)
    # A free root (weight 0) with a price on its total: unpinned, it would go to 0 or 5 as the price has it.
    tree = Problem(parent=[-1, 0], target=[[0, 0], [0, 0]], weights=[0.0, 1.0], **kind)
    prices = np.zeros((2, 2))
    prices[0, 1] = {"l2": 10.0, "l1": 1.0}[loss]
    assert float(multiplier_bound(tree, prices).bound) == pytest.approx(cost)
    x = np.array([[0, 5], [0, 5]])
    assert cumulative_certificate(tree, x, prices).optimal is True
    # The target's row above the total: earlier entries must not pool with the pin.
    above = Problem(parent=[-1], target=[[9, 0]], **kind)
    expected = 16 + 25 if loss == "l2" else 4 + 5
    assert float(multiplier_bound(above, np.zeros((1, 2))).bound) == pytest.approx(expected)


def test_relaxed_certificate():
    """Prices from the linear equations of a relaxation whose order constraints are slack."""
    rng = np.random.default_rng(31)
    parent = np.array([-1, 0, 0, 1, 1, 2, 2])
    leaves = np.cumsum(rng.integers(50, 90, (7, 4)), axis=1)
    leaves[:3] = 0
    x = leaves.copy()
    for r in range(6, 0, -1):
        x[parent[r]] += x[r]
    weights = np.array([0.5, 1.0, 1.5, 2.0, 0.7, 1.0, 1.0])
    problem = Problem(
        parent=parent,
        target=x + rng.integers(-5, 6, x.shape),
        total=int(x[0, -1]),
        weights=weights,
        cumulative=True,
        integer=False,
    )
    link = np.eye(3, 7)
    for r in range(1, 7):
        link[parent[r], r] = -1
    values, prices = np.empty(x.shape), np.zeros(x.shape)
    for s in range(4):
        rows, right = link, np.zeros(3)
        if s == 3:
            rows, right = np.vstack([link, np.eye(7)[:1]]), np.append(right, problem.total)
        system = np.block([[np.diag(2 * weights), rows.T], [rows, np.zeros((right.size, right.size))]])
        solved = np.linalg.solve(system, np.append(2 * weights * problem.target[:, s], right))
        values[:, s], prices[:3, s] = solved[:7], solved[7:10]
    proof = cumulative_certificate(problem, values, prices)
    assert proof.optimal is True
    assert not proof.exact
    assert proof.bound == pytest.approx(problem.objective(values), rel=1e-9)
    assert cumulative_certificate(problem, values, np.zeros(x.shape)).optimal is None
    # A feasible table that is not the optimum gets no proof.
    assert cumulative_certificate(problem, x.astype(float), prices).optimal is None
    # The relaxation of a whole table with absolute values.
    whole = Problem(parent=parent, target=x, total=problem.total, cumulative=True, integer=False, loss="l1")
    assert cumulative_certificate(whole, x, np.zeros(x.shape)).optimal is True


def test_rows_of_leaves_are_ignored_and_may_be_left_out():
    rng = np.random.default_rng(37)
    problem, _ = random_cumulative(rng, regions=30, width=4, total=20)
    prices = random_prices(rng, problem)
    expected = multiplier_bound(problem, prices)
    ignored = np.where(problem.inner()[:, None], prices, np.nan)
    for given in (ignored, prices[: inner_rows(problem)]):
        found = multiplier_bound(problem, given)
        assert found.bound == expected.bound
        np.testing.assert_array_equal(found.per_region, expected.per_region)


def test_many_chunks_are_one_table(monkeypatch):
    rng = np.random.default_rng(41)
    for loss in ("l2", "l1"):
        for integer in (True, False):
            problem, _ = random_cumulative(
                rng, regions=90, width=4, total=20, bounds=True, loss=loss, integer=integer
            )
            prices = random_prices(rng, problem)
            expected = multiplier_bound(problem, prices)
            with monkeypatch.context() as patch:
                patch.setattr(module, "_ENTRIES", 8)
                found = multiplier_bound(problem, prices)
            assert float(found.bound) == pytest.approx(float(expected.bound), rel=1e-14)
            np.testing.assert_array_equal(found.per_region, expected.per_region)


def test_coarser_grids_are_taken_and_finer_ones_cut():
    problem = strict_gap()
    prices = np.full((6, 3), 0.3)
    assert multiplier_bound(problem, prices, grid=0).bound == multiplier_bound(problem, 0 * prices).bound
    assert multiplier_bound(problem, prices, grid=99).grid == module.FINEST
    assert multiplier_bound(problem, prices, grid=-5).grid == 0


def test_bad_input_is_refused():
    problem = strict_gap()
    good = np.zeros((6, 3))
    with pytest.raises(InputError, match="not a cumulative problem"):
        multiplier_bound(Problem(parent=problem.parent, target=problem.target, total=4), good)
    for shape in ((6, 2), (5, 3), (18,)):
        with pytest.raises(InputError, match="wrong shape"):
            multiplier_bound(problem, np.zeros(shape))
    for bad in (np.nan, np.inf, -1e200):
        prices = good.copy()
        prices[2, 1] = bad
        with pytest.raises(InputError, match="not finite"):
            multiplier_bound(problem, prices)
    with pytest.raises(InputError, match="not of integers"):
        cumulative_certificate(problem, good, good)
    with pytest.raises(InputError, match="below a proven lower bound"):
        cumulative_certificate(problem, np.clip(problem.target, 0, 4), solve_program(problem)[1])
    low, high = np.zeros((3, 2), dtype=np.int64), np.full((3, 2), 4)
    low[1, 0], high[1, 1] = 3, 2
    clash = Problem(parent=[-1, 0, 0], target=low, total=4, cumulative=True, lower=low, upper=high)
    with pytest.raises(RegionError, match="no non-decreasing row"):
        multiplier_bound(clash, np.zeros((3, 2)))
