"""Theil index: published numbers, brute force, smoothness between neighbours, error bounds."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import combinations_with_replacement, product

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mpf

from pgsr.inequality import INDICES, Domain, theil, theil_tight
from pgsr.inequality.domain import Float64

THEIL = INDICES["theil"]

# Incomes, L, U, value, local sensitivity, the paper's B_T, then B1 (both up to GS). First: Appendix A.2.
VECTORS = [
    (
        [2, 3, 5, 8, 12],
        (1, 20),
        0.1810316281115921,
        0.1428338330346945,
        [0.5354770608992089, 0.8280309952300737, 0.9278276433811472, 0.9278276433811472, 0.9278276433811472],
        [0.1428338330, 0.4797013234, 0.7234346224, 0.8812335105, 0.9278276434],
    ),
    (
        [15, 17, 18, 19, 20],
        (1, 20),
        0.004746009925128822,
        0.1704849371675161,
        [0.1973449523462953, 0.2538259224300036, 0.3480436344018895, 0.6505389118673982, 0.9278276433811472],
        [0.1704849372, 0.2441796153, 0.3438448045, 0.5354770609, 0.9278276434],
    ),
    (
        [7, 7, 7, 7],
        (1, 100),
        0.0,
        0.7341495322915026,
        [0.7341495322915026, 1.222604388412674, 1.222604388412674, 1.222604388412674],
        [0.7341495323, 1.2226043884, 1.2226043884, 1.2226043884],
    ),
    (
        [0.2, 0.2, 0.5, 1.5, 3, 9],
        (0.1, 10),
        0.7001359132668596,
        0.3310484092627607,
        [0.9458890501631929, 1.393095269050508, *[1.523675486678238] * 4],
        [0.3310484093, 1.2429854276, *[1.5236754867] * 4],
    ),
    (
        [1, 1, 1, 1000],
        (1, 1000),
        1.362637570149119,
        1.362637570149119,
        [1.362637570149119] * 4,
        [1.3626375701] * 4,
    ),
    (
        [1, 20000, 35000, 50000, 64000, 81000, 120000, 250000],
        (1, 1e6),
        0.4189534158504932,
        0.6308506210144186,
        [2.079337833807385] * 8,
        [0.6308506210, 1.1754516450, 1.7320871425, *[2.0793378338] * 5],
    ),
]


@pytest.mark.parametrize(("x", "bounds", "value", "local", "paper", "tight"), VECTORS)
def test_published_numbers(
    x: list[float],
    bounds: tuple[float, float],
    value: float,
    local: float,
    paper: list[float],
    tight: list[float],
) -> None:
    n = len(x)
    domain = Domain(n=n, lower=bounds[0], upper=bounds[1])
    shuffled = np.random.default_rng(0).permutation(np.array(x, dtype=float))
    ordered = domain.sorted_incomes(shuffled)
    assert THEIL.value(shuffled) == pytest.approx(value, abs=1e-14)
    assert THEIL.local(shuffled, domain) == pytest.approx(local, abs=1e-13)
    assert THEIL.global_(domain) == pytest.approx(paper[-1], abs=1e-11)
    assert theil.paper_ladder(ordered, domain)(0, n) == pytest.approx(paper, abs=1e-12)
    assert THEIL.ladder(shuffled, domain, n) == pytest.approx(tight, abs=1e-10)
    assert (theil.paper_ladder(ordered, domain)(0, n) + 1e-12 >= THEIL.ladder(shuffled, domain, n)).all()


@pytest.mark.parametrize(
    ("case", "beta", "paper", "tight"),
    [
        (0, 0.5, 0.5354770608992089, 0.2909535601),
        (1, 0.5, 0.1973449523462953, 0.1704849371675161),
        (2, 0.25, 0.9521652550823263, 0.9521652550823263),
        (3, 0.5, 0.9458890501631929, None),
    ],
)
def test_published_smooth_bounds(case: int, beta: float, paper: float, tight: float | None) -> None:
    x, bounds = VECTORS[case][:2]
    domain = Domain(n=len(x), lower=bounds[0], upper=bounds[1])
    ordered = np.array(x, dtype=float)
    assert theil.paper_smooth(ordered, domain, beta).value == pytest.approx(paper, abs=1e-12)
    if tight is not None:
        assert THEIL.smooth(ordered, domain, beta).value == pytest.approx(tight, abs=1e-10)


def test_the_papers_first_step() -> None:
    x = np.array([2.0, 3, 5, 8, 12])
    for goal, change in ((1, 0.142833833035), (20, 0.130328238845), (6.917186539902, 0.002020706420)):
        moved = np.where(x == 8, goal, x)
        assert abs(THEIL.value(moved) - THEIL.value(x)) == pytest.approx(change, abs=1e-12)


def local_sensitivities(
    grid: tuple[float, ...], n: int, value: Callable[[Float64], float]
) -> dict[tuple[float, ...], float]:
    """By trying every move to a finer grid, for each data set on the grid."""
    goals = np.concatenate([np.linspace(grid[0], grid[-1], 25), grid])
    found = {}
    for x in combinations_with_replacement(grid, n):
        here = value(np.array(x))
        moves = [np.array([*x[:m], y, *x[m + 1 :]]) for m in range(n) for y in goals]
        found[x] = max(abs(value(one) - here) for one in moves)
    return found


def distance(x: tuple[float, ...], other: tuple[float, ...]) -> int:
    """How many replacements lead from one multiset to the other."""
    rest = list(other)
    for one in x:
        if one in rest:
            rest.remove(one)
    return len(rest)


@pytest.mark.parametrize(
    "grid", [(1.0, 2.0, 9.0), (1.0, 3.0, 4.0, 30.0), (0.1, 0.4, 2.0), (1.0, 1.2, 1.5, 2.0)]
)
@pytest.mark.parametrize("n", [2, 3, 4])
def test_no_data_set_on_a_grid_exceeds_either_ladder(grid: tuple[float, ...], n: int) -> None:
    domain = Domain(n=n, lower=grid[0], upper=grid[-1])
    local = local_sensitivities(grid, n, THEIL.value)
    for x in local:
        tight = THEIL.ladder(np.array(x), domain, n + 1)
        paper = theil.paper_ladder(np.array(x), domain)(0, n + 1)
        for k in range(n + 1):
            near = max(one for other, one in local.items() if distance(x, other) <= k)
            assert near <= tight[k] + 1e-12
            assert tight[k] <= paper[k] + 1e-12
        assert tight[0] == pytest.approx(local[x], rel=1e-2, abs=1e-6)


@st.composite
def neighbours(draw: st.DrawFn) -> tuple[Float64, Float64, Domain]:
    n = draw(st.integers(2, 9))
    high = draw(st.sampled_from([1.01, 3.0, 100.0, 1e6, 1e9]))
    income = st.one_of(st.floats(1, high), st.sampled_from([1.0, high, math.sqrt(high)]))
    x = draw(st.lists(income, min_size=n, max_size=n))
    other = [*x]
    other[draw(st.integers(0, n - 1))] = draw(income)
    return np.array(x), np.array(other), Domain(n=n, lower=1, upper=high)


@settings(max_examples=250)
@given(neighbours())
def test_both_ladders_climb_by_one_rung_between_neighbours(pair: tuple[Float64, Float64, Domain]) -> None:
    x, other, domain = pair
    slack, n = 2 * THEIL.accuracy(domain).ladder, domain.n
    here, there = (THEIL.ladder(one, domain, n + 2) for one in (x, other))
    assert (here[:-1] <= there[1:] + slack).all()
    assert (here[:-1] <= here[1:] + slack).all()
    error = THEIL.accuracy(domain).value
    assert abs(THEIL.value(x) - THEIL.value(other)) <= here[0] + slack + 2 * error
    for beta in (0.05, 0.7):
        one, two = THEIL.smooth(x, domain, beta).value, THEIL.smooth(other, domain, beta).value
        assert one <= math.exp(beta) * two + 4 * slack
    here, there = (theil.paper_ladder(np.sort(one), domain)(0, n + 2) for one in (x, other))
    assert (here[:-1] <= there[1:] + 1e-10).all()


def test_local_sensitivity_of_one_income_at_the_top() -> None:
    # One at U, the rest at L: sums formed by subtraction would be too small here.
    for n in (3, 10, 1000):
        domain = Domain(n=n, lower=1, upper=1e9)
        x = np.append(np.ones(n - 1), 1e9)
        with mpmath.workdps(40):
            top = mpf(10) ** 9
            true = top * mpmath.log(top) / (n - 1 + top) - mpmath.log((n - 1 + top) / n)
            assert abs(THEIL.local(x, domain) - true) <= min(1e-13, THEIL.accuracy(domain).ladder)


def test_ranks_may_be_asked_for_in_parts() -> None:
    rng = np.random.default_rng(9)
    for shape in (rng.lognormal(10, 1, 400), 1 + rng.pareto(0.8, 400), rng.choice([1.0, 50.0, 1e6], 400)):
        x, domain = np.sort(np.clip(shape, 1, 1e6)), Domain(n=400, lower=1, upper=1e6)
        ranks = theil_tight.ladder(x, domain)
        everything = ranks(0, 402)
        assert np.abs(ranks(0, 20) - everything[:20]).max() <= 2 * THEIL.accuracy(domain).ladder
        assert np.abs(ranks(150, 250) - everything[150:250]).max() <= 2 * THEIL.accuracy(domain).ladder


def test_a_bound_attained_at_rank_zero_is_the_local_sensitivity() -> None:
    x = np.random.default_rng(2).lognormal(10.8, 0.9, 5000)
    domain = Domain(n=5000, lower=1, upper=1e6)
    x = domain.clip(x)
    found = THEIL.smooth(x, domain, 0.5)
    assert (found.rank, found.value) == (0, THEIL.local(x, domain))


@pytest.mark.parametrize("ratio", [1.001, 1.5, 20, 1e4, 1e9, 1e15])
@pytest.mark.parametrize("n", [2, 3, 5, 12])
def test_the_largest_value_is_that_of_incomes_at_the_ends(n: int, ratio: float) -> None:
    domain = Domain(n=n, lower=2, upper=2 * ratio)
    at_ends = [np.where(np.arange(n) < j, domain.upper, domain.lower) for j in range(n + 1)]
    true = max(THEIL.value(x) for x in at_ends)
    bound = THEIL.accuracy(domain).value
    slack = 3 * bound + 64 * 2.0**-53 * (1 + math.log(ratio))
    assert true - bound <= THEIL.largest(domain) <= min(true, math.log(n)) + slack


def test_the_largest_move_is_found_between_the_ends() -> None:
    # S* is 0 / 0 at t = c; the maximum over S must not depend on which formula is used. S* is near c.
    domain = Domain(n=3, lower=1, upper=10)
    s = np.array([[0.5], [20.0]])
    with mpmath.workdps(40):
        for gap in (0.0, 1e-12, 1e-6, 0.9999e-3, 1.0001e-3, 1e-2, 0.3, 0.8):
            for c, t in ((1.0, 1 + gap), (10.0, 10 * (1 - gap))):
                log_t = mpmath.log(mpf(t))
                found = theil.move_at_most(s, np.array([float(log_t)]), c, domain)[0]
                level = mpmath.exp(mpf(float(log_t)))
                best = max(
                    c * mpmath.log(c / level) / (z + c) + mpmath.log((z + level) / (z + c))
                    for z in (mpf(i) / 100 for i in range(50, 2001))
                )
                assert best - 2e-16 <= found <= best + 1e-4 * best + 2e-16


def test_all_moves_of_few_incomes() -> None:
    # The three candidates against a fine grid of goals.
    domain = Domain(n=3, lower=1, upper=30)
    for x in product((1.0, 4.0, 11.0, 30.0), repeat=3):
        incomes = np.array(x)
        goals = np.linspace(1, 30, 88)
        moves = [np.array([*x[:m], y, *x[m + 1 :]]) for m in range(3) for y in goals]
        most = max(abs(THEIL.value(one) - THEIL.value(incomes)) for one in moves)
        assert most - 1e-12 <= THEIL.local(incomes, domain) <= most + 1e-3
