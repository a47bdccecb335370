"""`cumulative`: whole tables of Model 2 against published optima, other solvers, and its own proofs."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from fractions import Fraction
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest

from pgsr.bench.presets import generate
from pgsr.errors import InputError
from pgsr.models.files import read_instance
from pgsr.models.problem import Problem
from pgsr.models.samples import random_parent, random_table
from pgsr.solvers.adapters.highs import HighsSolver
from pgsr.solvers.adapters.window import WindowSolver
from pgsr.solvers.base import PointStatus, SolveOptions, Termination
from pgsr.solvers.native import cumulative as module
from pgsr.solvers.native.closing import Whole, face_table
from pgsr.solvers.native.cumulative import CumulativeSolver
from pgsr.solvers.native.exchanger import Exchanger, exchange_units
from pgsr.solvers.native.incumbent import Incumbent, smallest_gain
from pgsr.solvers.native.lifting import disjoint_tops, lift
from pgsr.solvers.native.merge import merge
from pgsr.solvers.native.multipliers import multiplier_bound
from pgsr.solvers.native.pairchain import PairShifts, best_shift, few_leaves
from pgsr.solvers.native.schedule import OutOfTime, runner
from pgsr.solvers.native.subtrees import open_tops, region_gaps, solved_again, subtree_rows
from pgsr.solvers.native.topdown import round_down_the_tree
from pgsr.solvers.native.treemoves import refresh

HERE = Path(__file__).parent
VECTORS = [
    v
    for v in json.loads(files("pgsr.solvers.conformance").joinpath("vectors.json").read_text())
    if v["model"] == "cumulative"
]
SOLVER = CumulativeSolver()
ALONE = CumulativeSolver(highs=False)
BOTH = pytest.mark.parametrize("solver", [SOLVER, ALONE], ids=["highs", "alone"])
ONE = SolveOptions(threads=1)
WEIGHTS = ["unit", "dyadic", "float", "zero"]

STRICT = Problem(  # the linear program of interpolated squares comes to 48.5
    parent=[-1, 0, 0, 1, 1, 2],
    target=[[2, 0, 2], [2, 3, 5], [1, 1, 1], [-1, 3, 2], [4, 0, 5], [2, 3, 1]],
    total=4,
    cumulative=True,
)


def random_cumulative(rng, *, regions=8, width=4, total=8, noise=3, weights="unit", parent=None):
    """A random Model 2 problem: noise on a random table's cumulative counts."""
    if parent is None:
        parent = random_parent(rng, int(rng.integers(1, regions + 1)))
    parent = np.asarray(parent)
    shape = (parent.size, int(rng.integers(1, width + 1)))
    plain = Problem(parent=parent, target=np.zeros(shape, np.int64), total=int(rng.integers(0, total + 1)))
    weight = {
        "unit": None,
        "dyadic": rng.integers(1, 9, parent.size) / 4.0,
        "float": rng.uniform(0.05, 3.0, parent.size),
        "zero": np.where(plain.inner(), rng.integers(0, 2, parent.size), 1.0),
    }[weights]
    target = np.cumsum(random_table(rng, plain), axis=1) + rng.integers(-noise, noise + 1, shape)
    return Problem(parent=parent, target=target, total=plain.total, weights=weight, cumulative=True)


def feasible(problem, x):
    return x.dtype == np.int64 and max(problem.violations(x).values()) == 0


def rounded(problem, z):
    with runner(problem, ONE) as run:
        return round_down_the_tree(problem, z, run)


def wild_tables(rng, problem):
    """Numbers that no table has: noise, huge, all equal, decreasing."""
    shape = problem.target.shape
    yield rng.normal(0, 1 + problem.total, shape)
    yield rng.uniform(-1e18, 1e18, shape)
    yield np.full(shape, 0.5)
    yield np.zeros(shape)
    yield -np.cumsum(rng.random(shape), axis=1) + problem.total
    yield problem.target + rng.uniform(-0.5, 0.5, shape)


def shapes(rng):
    yield np.arange(-1, 60)
    yield np.r_[-1, np.zeros(90, np.int64)]
    yield np.r_[-1, np.repeat(np.arange(0, 40, 2), 2)]
    yield np.array([-1])
    for _ in range(6):
        yield random_parent(rng, int(rng.integers(2, 40)))


def test_all_vectors_are_there():
    assert len(VECTORS) == 30


@BOTH
@pytest.mark.parametrize("number", range(len(VECTORS)))
def test_vectors_are_proven(number, solver, tmp_path):
    path = tmp_path / "vector.json"
    path.write_text(json.dumps(VECTORS[number]))
    problem = read_instance(path).problem
    solution, prices = solver.solve_with_multipliers(problem, ONE)
    expected = VECTORS[number]["expected"]
    assert solution.objective == expected["integer_optimum"]
    assert solution.bound >= expected["piecewise_linear_relaxation"] - 1e-6
    # All thirty, by multipliers in integer arithmetic, without a solver's word.
    assert solution.certificate is True
    assert solution.proof.exact
    assert solution.termination is Termination.OPTIMAL
    assert solution.details["bound_kind"] == "exact integers"
    assert solution.details["closed_by"] == ""
    again = multiplier_bound(problem, prices).bound
    assert solution.objective - 1 < again <= solution.objective


@BOTH
def test_strict_counterexample_is_proven(solver):
    solution, prices = solver.solve_with_multipliers(STRICT, ONE)
    assert solution.objective == solution.bound == 49
    assert solution.certificate is True
    assert 48 < multiplier_bound(STRICT, prices).bound <= Fraction(97, 2)


@BOTH
@pytest.mark.parametrize("weights", WEIGHTS)
def test_tiny_problems_against_highs(weights, solver):
    rng = np.random.default_rng([3, len(weights)])
    proven = missed = 0
    for _ in range(25):
        problem = random_cumulative(rng, weights=weights)
        optimum = float(HighsSolver().solve(problem, ONE).objective)
        solution = solver.solve(problem, ONE)
        assert solution.point_status is PointStatus.FEASIBLE
        assert solution.refuted == ""
        assert solution.certificate is not False
        assert solution.bound <= optimum + 1e-7
        if solver is ALONE:
            assert float(solution.objective) >= optimum - 1e-7
            missed += float(solution.objective) > optimum + 1e-7
            continue
        assert float(solution.objective) == pytest.approx(optimum, abs=1e-7)
        assert solution.termination is Termination.OPTIMAL
        proven += solution.certificate is True
        if weights == "unit":
            assert solution.certificate is True or solution.details["closed_by"] == "solver-trusted"
    assert missed <= 2
    assert proven >= (20 if weights == "unit" and solver is SOLVER else 0)


@BOTH
def test_household_like_trees_against_window(solver):
    for seed in range(2):
        made = generate("us", scale=0.0001, sizes=7, model="cumulative", seed=seed)
        problem = made.instance().problem
        solution = solver.solve(problem, ONE)
        expected = WindowSolver().solve(problem, ONE)
        assert expected.certificate is True
        assert solution.objective >= expected.objective
        assert solution.objective <= expected.objective + 2
        assert solution.bound <= expected.objective
        assert solution.bound >= expected.objective - 2


def test_rounding_is_feasible_for_any_numbers():
    rng = np.random.default_rng(4)
    for parent in shapes(rng):
        for total in (0, 1, 300):
            problem = random_cumulative(rng, parent=parent, width=6, total=1)
            problem = replace(problem, total=total)
            for z in wild_tables(rng, problem):
                assert feasible(problem, rounded(problem, z))


def test_rounding_keeps_a_feasible_table():
    rng = np.random.default_rng(5)
    for parent in shapes(rng):
        problem = random_cumulative(rng, parent=parent, width=6, total=50)
        x = np.cumsum(random_table(rng, problem), axis=1)
        assert np.array_equal(rounded(problem, x.astype(np.float64)), x)
        near = rounded(problem, x + rng.uniform(-0.2, 0.2, x.shape))
        assert np.abs(near - x).max() <= 1 + problem.target.shape[0] // 2


def test_rounding_in_parallel_is_the_same():
    rng = np.random.default_rng(6)
    parent = np.r_[-1, np.zeros(300, np.int64), np.repeat(np.arange(1, 301), 40)]
    problem = random_cumulative(rng, parent=parent, width=7, total=5000)
    z = rng.uniform(0, 3, problem.target.shape)
    with runner(problem, SolveOptions(threads=2)) as run:
        assert np.array_equal(round_down_the_tree(problem, z, run), rounded(problem, z))


@pytest.mark.parametrize("weights", WEIGHTS)
def test_exchanges_never_lose(weights):
    rng = np.random.default_rng([7, len(weights)])
    better = 0
    for parent in shapes(rng):
        problem = random_cumulative(rng, parent=parent, width=5, total=60, weights=weights)
        slack = smallest_gain(problem)
        x = rounded(problem, rng.uniform(0, 5, problem.target.shape))
        before = problem.exact_objective(x)
        with runner(problem, ONE) as run:
            gain = exchange_units(problem, x, run, slack=slack)
        assert feasible(problem, x)
        after = problem.exact_objective(x)
        assert float(before - after) == pytest.approx(gain, rel=1e-9, abs=1e-6)
        assert gain >= 0
        better += gain > 0
        with runner(problem, ONE) as run:
            assert exchange_units(problem, x, run, slack=slack) == 0
            shifted = PairShifts(problem).improve(x, run, slack=slack)
        assert feasible(problem, x)
        assert float(after - problem.exact_objective(x)) == pytest.approx(shifted, rel=1e-9, abs=1e-6)
    assert better > 3


def unit_exchanges(problem, x):
    """Every feasible table that one exchange over a range of sizes makes of `x`."""
    leaves = [*np.flatnonzero(~problem.inner()).tolist(), -1]
    for i in leaves:
        for j in leaves:
            for a in range(problem.width):
                for b in range(a, problem.width):
                    moved = x.copy()
                    for leaf, sign in ((i, 1), (j, -1)):
                        region = leaf
                        while region >= 0:
                            moved[region, a : b + 1] += sign
                            region = problem.parent[region]
                    if i != j and feasible(problem, moved):
                        yield moved


@pytest.mark.parametrize("weights", ["unit", "dyadic", "zero"])
@pytest.mark.parametrize("route", ["tree", "pairs"])
def test_no_exchange_is_left(weights, route):
    """Against all exchanges written out: after the passes none of them helps."""
    rng = np.random.default_rng([8, len(weights)])
    for _ in range(12):
        problem = random_cumulative(rng, regions=9, width=4, total=9, weights=weights)
        x = rounded(problem, rng.uniform(0, 5, problem.target.shape))
        slack = smallest_gain(problem)
        with runner(problem, ONE) as run:
            if route == "tree":
                exchange_units(problem, x, run, slack=slack)
            else:
                PairShifts(problem).improve(x, run, slack=slack)
        value = problem.exact_objective(x)
        assert all(problem.exact_objective(moved) >= value for moved in unit_exchanges(problem, x))


def test_exchanger_follows_changed_tables():
    """A table that `moved` was told of ends as good as one that is looked at for the first time."""
    rng = np.random.default_rng(9)
    for parent in shapes(rng):
        problem = random_cumulative(rng, parent=parent, width=5, total=60)
        with runner(problem, ONE) as run:
            exchanger = Exchanger(problem)
            x = rounded(problem, rng.uniform(0, 5, problem.target.shape))
            exchanger.improve(x, run, slack=1e-6)
            for _ in range(3):
                other = rounded(problem, x + rng.choice([0.0, 0.0, 1.4], x.shape))
                exchanger.moved(x, other, run)
                exchanger.improve(other, run, slack=1e-6)
                assert feasible(problem, other)
                assert exchange_units(problem, other.copy(), run, slack=1e-6) == 0
                x = other


def test_best_shift_against_enumeration():
    rng = np.random.default_rng(10)
    for _ in range(60):
        width = int(rng.integers(1, 6))
        m, g = float(rng.integers(1, 6)), rng.integers(-4, 5, width).astype(np.float64)
        falls, rises = rng.integers(0, 3, width), rng.integers(0, 3, width)
        pinned = bool(rng.integers(2))
        best = 0.0
        for code in range(3**width):
            d = np.array([code // 3**k % 3 - 1 for k in range(width)])
            step = np.diff(d, prepend=0)
            if np.all(-falls <= step) and np.all(step <= rises) and not (pinned and d[-1]):
                best = min(best, float((m * d * d + 2 * d * g).sum()))
        shift, choice = np.empty(width, np.int64), np.empty((width, 3), np.int8)
        assert best_shift(m, g, falls, rises, pinned, choice, shift) == best
        assert float((m * shift * shift + 2 * shift * g).sum()) == best
        assert np.all(-falls <= np.diff(shift, prepend=0))
        assert np.all(np.diff(shift, prepend=0) <= rises)


@pytest.mark.parametrize("weights", WEIGHTS)
def test_merging_never_loses(weights):
    rng = np.random.default_rng([11, len(weights)])
    mixed = 0
    bushy = np.r_[-1, np.zeros(30, np.int64), np.repeat(np.arange(1, 31), 4)]
    for parent in (*shapes(rng), bushy, bushy, bushy):
        problem = random_cumulative(rng, parent=parent, width=6, total=400, weights=weights)
        first = rounded(problem, problem.target.astype(np.float64))
        moved = np.where(problem.inner()[:, None], 0.0, rng.normal(0, 1, first.shape))
        second = rounded(problem, first + moved)
        values = [problem.exact_objective(table) for table in (first, second)]
        best = first.copy()
        gain = merge(problem, best, second, slack=smallest_gain(problem))
        assert feasible(problem, best)
        value = problem.exact_objective(best)
        assert float(value) <= float(min(values)) + 1e-6
        assert float(values[0] - value) == pytest.approx(gain, rel=1e-9, abs=1e-6)
        mixed += value < min(values)
    assert mixed >= 3


@pytest.mark.parametrize("few", [True, False])
def test_incumbent_never_gets_worse(few, monkeypatch):
    monkeypatch.setattr("pgsr.solvers.native.incumbent.few_leaves", lambda problem: few)
    rng = np.random.default_rng(12)
    for parent in shapes(rng):
        problem = random_cumulative(rng, parent=parent, width=6, total=40)
        with runner(problem, ONE) as run:
            best = Incumbent(problem, run)
            values = []
            for improve in (False, True, False, True, True):
                best.round(rng.uniform(0, 3, problem.target.shape), improve=improve)
                assert feasible(problem, best.x)
                assert best.value == problem.exact_objective(best.x)
                values.append(best.value)
                if improve and not few:  # nothing that has changed was overlooked
                    for table in (best.x, best._spare):
                        assert table is None or exchange_units(problem, table.copy(), run, slack=1e-6) == 0
            assert values == sorted(values, reverse=True)


def test_cheapest_pair_of_children_against_all_pairs():
    rng = np.random.default_rng(19)
    for _ in range(40):
        parent = np.r_[-1, np.zeros(int(rng.integers(2, 5)), np.int64)]
        problem = random_cumulative(rng, parent=parent, width=1, total=9, noise=6)
        x = np.cumsum(random_table(rng, problem), axis=1)
        empty, place = np.zeros(1), np.zeros(1, np.int64)
        tables = (problem.child_start, x, problem.target, problem.region_weights)
        found = refresh(0, *tables, 0, 0, empty, empty.copy(), place, place.copy())
        gaps = (x - problem.target)[1:, 0]
        more, less = 1.0 + 2 * gaps, np.where(x[1:, 0] > 0, 1.0 - 2 * gaps, np.inf)
        pairs = [more[i] + less[j] for i in range(gaps.size) for j in range(gaps.size) if i != j]
        assert found == min(pairs)


def test_region_gaps_add_up_and_subtrees_help():
    rng = np.random.default_rng(13)
    made = generate("us", scale=0.0001, sizes=5, model="cumulative", seed=1)
    problem = made.instance().problem
    x = rounded(problem, problem.target + rng.uniform(-0.5, 0.5, problem.target.shape))
    prices = SOLVER.solve_with_multipliers(problem, SolveOptions(threads=1))[1]
    found = multiplier_bound(problem, prices)
    gaps = region_gaps(problem, x, prices, found.per_region)
    assert gaps.min() >= -1e-3  # the bound's prices are on a grid
    assert float(gaps.sum()) == pytest.approx(float(problem.exact_objective(x) - found.bound), abs=0.1)
    before = problem.exact_objective(x)
    tops = open_tops(problem, gaps, 0.02, 3)
    assert tops
    for group in ([tops[0]], tops):
        again = solved_again(problem, x, group, SolveOptions(threads=1, time_limit_s=20.0))
        if again is not None:
            assert set(subtree_rows(problem, group[0]).tolist()) <= set(again[0].tolist())
            x[again[0]] = again[1]
    assert feasible(problem, x)
    assert problem.exact_objective(x) < before


def test_closing_finds_what_the_other_stages_miss():
    z = np.array(STRICT.target, dtype=np.float64)
    whole = Whole(STRICT)
    assert whole.search(ONE, None).table is None  # the linear program comes first
    linear = whole.solve(z, np.zeros(STRICT.target.shape), ONE, None)
    assert multiplier_bound(STRICT, linear.multipliers).bound == Fraction(97, 2)
    found = whole.search(ONE, None)
    assert found.claimed
    assert STRICT.objective(found.table) == 49
    face = face_table(STRICT, found.table + 0.4, ONE, None)
    assert face.table is None or not feasible(STRICT, face.table) or STRICT.objective(face.table) >= 49


@pytest.mark.parametrize("total", [0, 1, 700])
def test_shapes(total):
    """Chains of thousands, stars, combs: feasible, bounded, and where it is small also optimal."""
    rng = np.random.default_rng(14)
    for parent in (np.arange(-1, 2499), np.r_[-1, np.zeros(3000, np.int64)]):
        target = np.cumsum(rng.integers(-2, 6, (parent.size, 3)), axis=1)
        problem = Problem(parent=parent, target=target, total=total, cumulative=True)
        solution = SOLVER.solve(problem, SolveOptions(threads=1, time_limit_s=2.0))
        assert solution.point_status is PointStatus.FEASIBLE
        assert solution.bound <= solution.objective
        if parent[-1] > 0 or total == 0:  # all rows of a chain are one row
            assert solution.certificate is True


def test_long_size_lists_and_a_dominating_region():
    rng = np.random.default_rng(15)
    plain = Problem(parent=[-1, 0, 0, 1, 1, 2, 2], target=np.zeros((7, 5000), np.int64), total=90_000)
    table = np.zeros((7, 5000), np.int64)
    table[3] = rng.multinomial(89_900, np.r_[np.full(50, 0.019), np.full(4950, 0.05 / 4950)])
    table[6] = rng.multinomial(100, np.full(5000, 1 / 5000))
    for child in range(6, 0, -1):
        table[plain.parent[child]] += table[child]
    target = np.cumsum(table, axis=1) + rng.integers(-2, 3, table.shape)
    problem = replace(plain, target=target, cumulative=True)
    assert few_leaves(problem)
    solution = SOLVER.solve(problem, SolveOptions(threads=1, time_limit_s=20.0))
    assert solution.certificate is True
    assert np.abs(solution.x - np.cumsum(table, axis=1)).max() <= 20


def test_one_region_and_one_size():
    row = Problem(parent=[-1], target=[[5, 1, -2, 9]], total=4, cumulative=True)
    solution = SOLVER.solve(row, ONE)
    assert solution.x.tolist() == [[1, 1, 1, 4]]
    assert solution.certificate is True
    flat = Problem(parent=[-1, 0, 0], target=[[7], [1], [2]], total=4, cumulative=True)
    solution = SOLVER.solve(flat, ONE)
    assert solution.objective == 9 + 1
    assert solution.certificate is True


@pytest.fixture(scope="module")
def taxi():
    data = np.load(HERE / "taxi_eps1_instance.npz")
    return Problem(
        parent=data["parent"], target=data["noisy_cumulative"], total=int(data["total"]), cumulative=True
    )


@BOTH
def test_taxi_is_proven(taxi, solver):
    solution = solver.solve(taxi, ONE)
    assert solution.objective == solution.bound == 2_321_821
    assert solution.certificate is True
    assert solution.proof.exact
    objectives = [point.objective for point in solution.trace]
    assert objectives == sorted(objectives, reverse=True)
    bounds = [point.bound for point in solution.trace if point.bound is not None]
    assert bounds == sorted(bounds)


def test_without_proof(taxi):
    solution = CumulativeSolver(prove=False).solve(taxi, ONE)
    assert 2_321_821 <= solution.objective <= 2_321_900
    assert solution.bound <= 2_321_821
    assert solution.termination is Termination.OTHER_LIMIT
    assert solution.details["iterations"] == 60
    greedy = CumulativeSolver(prove=False, exchange=False).solve(taxi, ONE)
    assert solution.objective < greedy.objective <= 2_321_821 * 1.05
    assert greedy.details["iterations"] == 60
    assert greedy.raw_status.startswith("one rounding")
    with pytest.raises(InputError, match="exchange"):
        CumulativeSolver(exchange=False)


def test_gap_target(taxi):
    solution = ALONE.solve(taxi, SolveOptions(threads=1, gap=1e-4))
    assert solution.termination is Termination.OPTIMAL
    assert solution.certificate is None
    assert 0 < solution.gap_relative <= 1e-4


@BOTH
def test_time_limit(taxi, solver):
    for limit in (1e-9, 0.05):
        started = time.monotonic()
        solution = solver.solve(taxi, SolveOptions(time_limit_s=limit))
        assert time.monotonic() - started < 8
        assert solution.termination is Termination.TIME_LIMIT
        assert solution.point_status is PointStatus.FEASIBLE
        assert solution.bound <= 2_321_821 <= solution.objective
    tiny = SOLVER.solve(STRICT, SolveOptions(time_limit_s=1e-9))
    assert tiny.point_status is PointStatus.FEASIBLE


@BOTH
def test_time_limit_strikes_anywhere(monkeypatch, solver):
    """Wherever OutOfTime is raised, what is left is feasible."""
    rng = np.random.default_rng(16)
    problem = random_cumulative(rng, parent=random_parent(rng, 60), width=6, total=300, noise=6)
    whole = SOLVER.solve(problem, ONE)
    for after in range(0, 400, 37):
        count = 0

        def check(self, limit=after):
            nonlocal count
            count += 1
            if self.deadline is not None and count > limit:
                raise OutOfTime

        monkeypatch.setattr("pgsr.solvers.native.schedule.Runner.check", check)
        solution = solver.solve(problem, SolveOptions(threads=1, time_limit_s=1000.0))
        assert solution.point_status is PointStatus.FEASIBLE
        assert solution.refuted == ""
        assert solution.bound <= whole.objective <= solution.objective


def test_threads_and_seeds():
    made = generate("us", scale=0.001, sizes=7, model="cumulative", seed=4)
    problem = made.instance().problem
    one, two = (
        CumulativeSolver(prove=False).solve(problem, SolveOptions(threads=threads)) for threads in (1, 2)
    )
    assert one.point_status is two.point_status is PointStatus.FEASIBLE
    assert one.bound == two.bound
    assert np.array_equal(one.x, two.x)
    assert one.gap_relative < 1e-4


def test_seed_decides(taxi):
    first, second, other = (SOLVER.solve(taxi, SolveOptions(threads=1, seed=seed)) for seed in (1, 1, 2))
    assert np.array_equal(first.x, second.x)
    assert other.certificate is True


def test_start_is_used(taxi):
    x = SOLVER.solve(taxi, ONE).x
    seen = []
    options = SolveOptions(threads=1, start=x, observe=lambda point, table: seen.append(point.objective))
    solution = SOLVER.solve(taxi, options)
    assert 2_321_821 in seen[:2]
    assert solution.objective == 2_321_821
    broken = SOLVER.solve(STRICT, SolveOptions(threads=1, start=np.full((6, 3), 7.0)))
    assert broken.objective == 49


def test_progress():
    rng = np.random.default_rng(17)
    problem = random_cumulative(rng, parent=random_parent(rng, 80), width=6, total=300)
    seen = []
    SOLVER.solve(problem, SolveOptions(threads=1, progress=lambda stage, done: seen.append((stage, done))))
    assert seen
    assert all(stage and 0 <= done <= 1 for stage, done in seen)


def test_huge_values():
    rng = np.random.default_rng(18)
    for reach, total in ((2**40, 2**40), (2**40, 10), (10, 2**50)):
        parent = np.r_[-1, np.zeros(4, np.int64), np.repeat(np.arange(1, 5), 3)]
        target = rng.integers(-reach, reach, (parent.size, 4))
        problem = Problem(parent=parent, target=target, total=total, cumulative=True)
        solution = SOLVER.solve(problem, SolveOptions(threads=1, time_limit_s=4.0))
        assert solution.point_status is PointStatus.FEASIBLE
        assert solution.bound <= solution.objective
        assert solution.refuted == ""


def test_refuses_what_it_does_not_take():
    upper = np.full((6, 3), 4)
    for other in (
        STRICT.relaxed(),
        replace(STRICT, cumulative=False),
        replace(STRICT, loss="l1"),
        replace(STRICT, upper=upper),
    ):
        with pytest.raises(InputError, match="cumulative"):
            SOLVER.check(other)
    assert SOLVER.availability().available
    assert module.CumulativeSolver.interruptible


def test_subtrees_lift_the_bound_but_never_above_the_optimum():
    """Against HiGHS on whole tiny problems, at best prices and at any others."""
    rng = np.random.default_rng(19)
    lifted = 0
    for number in range(60):
        weights = WEIGHTS[number % len(WEIGHTS)]
        problem = random_cumulative(rng, regions=12, weights=weights)
        if problem.regions < 3:
            continue
        optimum = float(HighsSolver().solve(problem, ONE).objective)
        best = SOLVER.solve_with_multipliers(problem, ONE)[1]
        for prices in (best, best + rng.normal(0, 1, best.shape), rng.normal(0, 3, best.shape)):
            found = multiplier_bound(problem, prices)
            for climb in (1, 3):
                tops = disjoint_tops(problem, np.ones(problem.regions), 0.5, climb, 1000)
                rows = np.concatenate([subtree_rows(problem, top) for top in tops])
                assert np.unique(rows).size == rows.size  # no region twice
                raised = sum(lift(problem, prices, found.per_region, top, ONE) for top in tops)
                assert float(found.bound) + raised <= optimum + 1e-4
                lifted += raised > 0.01
    assert lifted > 50


def test_a_lift_reaches_beyond_the_best_prices():
    """The linear program of this tree is fractional in one small subtree, which costs the bound a unit."""
    problem = generate("us", scale=0.0003, sizes=7, model="cumulative", seed=0).instance().problem
    solution, prices = SOLVER.solve_with_multipliers(problem, ONE)
    assert solution.certificate is True  # since an even number of levels leaves every second number alone
    found = multiplier_bound(problem, prices)
    assert float(found.bound) <= solution.objective - 1
    gaps = region_gaps(problem, solution.x, prices, found.per_region)
    tops = disjoint_tops(problem, gaps, 0.01, 4, 1000)
    raised = sum(lift(problem, prices, found.per_region, top, ONE) for top in tops)
    assert solution.objective - 0.01 < float(found.bound) + raised <= solution.objective + 1e-4
