"""GE(2): changes, the proof of its global sensitivity, exact references, brute force, smoothness."""

from __future__ import annotations

import math
from collections import defaultdict
from fractions import Fraction
from itertools import combinations_with_replacement, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pgsr.inequality import INDICES, Domain, ge2, ratio
from pgsr.inequality.domain import Float64
from pgsr.inequality.numerics import UNIT

GE2 = INDICES["ge2"]


def exact_value(x: list[Fraction]) -> Fraction:
    return (len(x) * sum(z * z for z in x) / sum(x) ** 2 - 1) / 2


@given(
    others=st.lists(st.fractions(1, 50, max_denominator=9), min_size=1, max_size=6),
    pair=st.tuples(st.fractions(1, 50, max_denominator=9), st.fractions(1, 50, max_denominator=9)),
)
def test_changes_are_differences_of_the_stated_formula(
    others: list[Fraction], pair: tuple[Fraction, Fraction]
) -> None:
    n, s = len(others) + 1, sum(others, Fraction(0))
    t = sum((z * z for z in others), Fraction(0)) / s

    def f(y: Fraction) -> Fraction:
        return n * s * (t - y) ** 2 / (2 * (s + y) ** 2 * (s + t))

    x, y = pair
    assert exact_value([*others, y]) - exact_value([*others, x]) == f(y) - f(x)
    assert exact_value([*others, t]) <= exact_value([*others, x])


Polynomial = dict[tuple[int, ...], int]


def add(one: Polynomial, two: Polynomial, factor: int = 1) -> Polynomial:
    result: defaultdict[tuple[int, ...], int] = defaultdict(int, one)
    for power, value in two.items():
        result[power] += factor * value
    return dict(result)


def times(*factors: Polynomial) -> Polynomial:
    result: Polynomial = {(0, 0, 0): 1}
    for factor in factors:
        terms: defaultdict[tuple[int, ...], int] = defaultdict(int)
        for (p, v), (q, w) in product(result.items(), factor.items()):
            terms[tuple(i + j for i, j in zip(p, q, strict=True))] += v * w
        result = dict(terms)
    return result


def test_the_polynomial_of_the_proof_has_no_negative_coefficient() -> None:
    # In q - 1, N - q and d, as the module states.
    one: Polynomial = {(0, 0, 0): 1}
    q = add(one, {(1, 0, 0): 1})
    n_1 = add(q, {(0, 1, 0): 1})
    d: Polynomial = {(0, 0, 1): 1}
    r, s = add(one, d), add(n_1, times(q, d))
    up = add(s, one)
    left = times(n_1, up, up, add(times(s, up), times(r, q, d)))
    right = times(add(n_1, one), r, r, q, q, add(n_1, r), add(n_1, r))
    difference = [value for value in add(left, right, -1).values() if value]
    assert len(difference) > 50
    assert min(difference) > 0


@pytest.mark.parametrize("ratio_", [1.01, 1.5, 4.0, 1e3, 1e9])
@pytest.mark.parametrize("n", [2, 3, 4, 6])
def test_the_global_sensitivity_is_not_exceeded_and_attained(n: int, ratio_: float) -> None:
    domain = Domain(n=n, lower=3, upper=3 * ratio_)
    top = GE2.global_(domain)
    slack = GE2.accuracy(domain).ladder
    grid = np.unique(np.concatenate([np.geomspace(3, 3 * ratio_, 6), np.linspace(3, 3 * ratio_, 6)[:3]]))
    found = max(
        GE2.local(np.clip(x, 3, domain.upper), domain) for x in combinations_with_replacement(grid, n)
    )
    assert found <= top
    at_low = np.full(n, 3.0)
    assert GE2.local(at_low, domain) == pytest.approx(top, abs=2 * slack)


def random_case(seed: int) -> tuple[Float64, Domain]:
    rng = np.random.default_rng([13, seed])
    n = int(rng.integers(2, 9))
    high = float(rng.choice([1.01, 2, 20, 1e3, 1e6, 1e9]))
    u = rng.uniform(size=n)
    shapes = [
        1 + u * (high - 1),
        high**u,
        np.full(n, high ** u[0]),
        1 + 1e-9 * u,
        high * (1 - 1e-9 * u),
        np.full(n, 1.0),
        1 + rng.pareto(0.7, n),
        rng.choice([1, high], n),
        np.where(u < 0.5, high, 1 + u * (high - 1)),
    ]
    return np.sort(np.clip(shapes[seed % len(shapes)], 1, high)), Domain(n=n, lower=1, upper=high)


def exact_least(x: list[Fraction], domain: Domain, k: int) -> tuple[Fraction, Fraction]:
    """Bounds on the least sum(z^2) / sum(z): the best window and free value, by rational iteration."""
    low, high, n = Fraction(domain.lower), Fraction(domain.upper), domain.n
    values = []
    for first in range(k + 2):
        kept = x[first : first + n - 1 - k]
        q, s = sum((z * z for z in kept), Fraction(0)), sum(kept, Fraction(0))
        lam = q / s
        for _ in range(60):
            z = min(max(lam / 2, low), high).limit_denominator(10**30)
            lam, before = min(lam, (q + k * z * z) / (s + k * z)).limit_denominator(10**30), lam
            if abs(lam - before) < Fraction(1, 10**25):
                break
        values.append(lam)
    starts = range(n - k)
    largest = max(
        (sum((z * z for z in rest), Fraction(0)) + k * end * end) / (sum(rest, Fraction(0)) + k * end)
        for first in starts
        for end in (low, high)
        for rest in [x[:first] + x[first + k + 1 :]]
    )
    return min(values), largest


@pytest.mark.parametrize("seed", range(36))
def test_sensitivities_in_exact_fractions(seed: int) -> None:
    x, domain = random_case(seed)
    bound, n = GE2.accuracy(domain), domain.n
    exact = [Fraction(one) for one in x.tolist()]
    assert abs(Fraction(GE2.value(x)) - exact_value(exact)) <= Fraction(bound.value)
    assert exact_value(exact) <= Fraction(GE2.largest(domain))
    low, high = Fraction(domain.lower), Fraction(domain.upper)
    top = (n - 1) * (high - low) ** 2 / (2 * ((n - 1) * low + high) ** 2)
    assert top <= Fraction(GE2.global_(domain)) <= top + Fraction(2 * bound.ladder)
    local = Fraction(0)
    for m in range(n):
        others = exact[:m] + exact[m + 1 :]
        t = sum((z * z for z in others), Fraction(0)) / sum(others, Fraction(0))
        for y in (low, high, t):
            local = max(local, abs(exact_value([*others, y]) - exact_value(exact)))
    found = GE2.ladder(x, domain, n + 1)
    assert abs(Fraction(float(found[0])) - local) <= Fraction(bound.ladder)
    convex = ge2.Square(domain)
    k = np.arange(1, n - 1)
    if not k.size:
        return
    sums = ratio.Sums.of(x, convex.phi(x))
    least, largest = ratio.least_ratio(sums, convex, k), ratio.largest_ratio(x, sums, convex, k)
    for rank in k.tolist():
        low_t, up_t = exact_least(exact, domain, rank)
        assert abs(Fraction(float(least[rank - 1])) - low_t) <= 58 * Fraction(UNIT) * low_t
        assert abs(Fraction(float(largest[rank - 1])) - up_t) <= 58 * Fraction(UNIT) * up_t
        s = (
            sum(exact[: n - 1 - rank], Fraction(0)) + rank * low,
            sum(exact[rank + 1 :], Fraction(0)) + rank * high,
        )
        rung = max(exact_move(s, up_t, low, n), exact_move(s, low_t, high, n))
        assert abs(Fraction(float(found[rank])) - min(rung, top)) <= Fraction(bound.ladder)


def exact_move(s: tuple[Fraction, Fraction], t: Fraction, c: Fraction, n: int) -> Fraction:
    """The largest f_c for S in s[0]..s[1], by ternary search."""

    def f(at: Fraction) -> Fraction:
        return n * at * (t - c) ** 2 / (2 * (at + c) ** 2 * (at + t))

    low, high = s
    for _ in range(90):
        one, two = (low + (high - low) / 3), (high - (high - low) / 3)
        one, two = one.limit_denominator(10**20), two.limit_denominator(10**20)
        low, high = (one, high) if f(one) < f(two) else (low, two)
    return max(f(s[0]), f(s[1]), f(low))


def test_the_largest_move_is_found_between_the_ends() -> None:
    domain = Domain(n=3, lower=1, upper=10)
    sums = np.linspace(0.05, 20, 4000)
    for c, t in product((1.0, 10.0), (1.0, 1.5, 4.0, 10.0)):
        best = float(ge2.move(sums, np.array(t), c, domain).max())
        found = float(ge2.move_at_most(sums[[0, -1], None], np.array([t]), c, domain)[0])
        assert best * (1 - 1e-14) <= found <= best * (1 + 1e-5)


def distance(x: tuple[float, ...], other: tuple[float, ...]) -> int:
    rest = list(other)
    for one in x:
        if one in rest:
            rest.remove(one)
    return len(rest)


@pytest.mark.parametrize("grid", [(1.0, 2.0, 9.0), (1.0, 3.0, 4.0, 30.0), (1.0, 1.2, 1.5, 2.0)])
@pytest.mark.parametrize("n", [2, 3, 4])
def test_no_data_set_on_a_grid_exceeds_the_ladder(grid: tuple[float, ...], n: int) -> None:
    domain = Domain(n=n, lower=grid[0], upper=grid[-1])
    goals = np.concatenate([np.linspace(grid[0], grid[-1], 25), grid])
    local = {}
    for x in combinations_with_replacement(grid, n):
        moves = [np.array([*x[:m], y, *x[m + 1 :]]) for m in range(n) for y in goals]
        local[x] = max(abs(GE2.value(one) - GE2.value(np.array(x))) for one in moves)
    for x, most in local.items():
        rungs = GE2.ladder(np.array(x), domain, n + 1)
        for k in range(n + 1):
            near = max(one for other, one in local.items() if distance(x, other) <= k)
            assert near <= rungs[k] + 1e-12
        assert rungs[0] == pytest.approx(most, rel=1e-2, abs=1e-6)


@st.composite
def neighbours(draw: st.DrawFn) -> tuple[Float64, Float64, Domain]:
    n = draw(st.integers(2, 9))
    high = draw(st.sampled_from([1.01, 3.0, 100.0, 1e6]))
    income = st.one_of(st.floats(1, high), st.sampled_from([1.0, high, math.sqrt(high)]))
    x = draw(st.lists(income, min_size=n, max_size=n))
    other = [*x]
    other[draw(st.integers(0, n - 1))] = draw(income)
    return np.array(x), np.array(other), Domain(n=n, lower=1, upper=high)


@settings(max_examples=250)
@given(neighbours())
def test_the_ladder_climbs_by_one_rung_between_neighbours(pair: tuple[Float64, Float64, Domain]) -> None:
    x, other, domain = pair
    here, there = (GE2.ladder(one, domain, domain.n + 2) for one in (x, other))
    slack, error = 2 * GE2.accuracy(domain).ladder, GE2.accuracy(domain).value
    assert (here[:-1] <= there[1:] + slack).all()
    assert (here[:-1] <= here[1:] + slack).all()
    assert abs(GE2.value(x) - GE2.value(other)) <= here[0] + slack + 2 * error


@pytest.mark.parametrize("ratio_", [1.001, 1.5, 20, 1e4, 1e9])
@pytest.mark.parametrize("n", [2, 3, 5, 12])
def test_the_largest_value_is_that_of_incomes_at_the_ends(n: int, ratio_: float) -> None:
    domain = Domain(n=n, lower=2, upper=2 * ratio_)
    at_ends = [np.where(np.arange(n) < j, domain.upper, domain.lower) for j in range(n + 1)]
    true = max(GE2.value(x) for x in at_ends)
    bound = GE2.accuracy(domain).value
    assert true - bound <= GE2.largest(domain) <= true + 3 * bound
