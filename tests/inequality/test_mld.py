"""Mean log deviation: published numbers, the theorem in 40 digits, brute force, smoothness, error bounds."""

from __future__ import annotations

import math
from itertools import combinations_with_replacement

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mpf

from pgsr.inequality import INDICES, Domain, mld, mld_direct
from pgsr.inequality.domain import Float64

MLD = INDICES["mld"]

# Incomes, L, U, value, A^(0), A^(1), ..., then beta, smooth sensitivity, its rank. The first: Appendix A.1.
VECTORS = [
    (
        [2, 3, 5, 8, 12],
        (1, 20),
        0.1986503546020567,
        [
            0.1787867388461467,
            0.3062900789438748,
            0.5336713439923506,
            0.7600102862111886,
            0.9257773425210815,
            0.969469463203047,
        ],
        (0.5, 0.1963267157971185, 2),
    ),
    (
        [15, 17, 18, 19, 20],
        (1, 20),
        0.004837146143035005,
        [
            0.3704617840246126,
            0.3800567132308311,
            0.3853900077497317,
            0.3882171003711369,
            0.969469463203047,
            0.969469463203047,
        ],
        (0.5, 0.3704617840246126, 0),
    ),
    (
        [7, 7, 7, 7],
        (1, 100),
        0.0,
        [0.7987710261883426, 0.9890746657717397, 1.253944150756168, 1.667328886002396, 2.097142080612722],
        (0.25, 0.7987710261883426, 0),
    ),
    (
        [0.2, 0.2, 0.5, 1.5, 3, 9],
        (0.1, 10),
        0.910588909239842,
        [
            0.4451304401844231,
            0.8620061203850672,
            1.416344968921268,
            1.752589700369273,
            1.931993718194207,
            2.056046366864186,
            2.09467251659812,
        ],
        (0.5, 0.5228331408734825, 1),
    ),
    ([1, 1, 1, 1000], (1, 1000), 3.797517607096511, [3.797517607096511] * 5, (0.5, 3.797517607096511, 0)),
    (
        [1, 20000, 35000, 50000, 64000, 81000, 120000, 250000],
        (1, 1e6),
        1.548075429240499,
        [
            1.290415796273148,
            1.408919737144619,
            1.467913858180411,
            1.534072826119967,
            1.932826282969789,
            2.501070616235785,
            8.796150630167007,
            10.0091371965144,
            10.0091371965144,
        ],
        (0.5, 1.290415796273148, 0),
    ),
]


@pytest.mark.parametrize(("x", "bounds", "value", "rungs", "smooth"), VECTORS)
def test_published_numbers(
    x: list[float],
    bounds: tuple[float, float],
    value: float,
    rungs: list[float],
    smooth: tuple[float, float, int],
) -> None:
    domain = Domain(n=len(x), lower=bounds[0], upper=bounds[1])
    shuffled = np.random.default_rng(0).permutation(np.array(x, dtype=float))
    beta, most, rank = smooth
    assert MLD.value(shuffled) == pytest.approx(value, abs=1e-14)
    assert MLD.ladder(shuffled, domain, len(rungs)) == pytest.approx(rungs, abs=1e-13)
    assert MLD.local(shuffled, domain) == pytest.approx(rungs[0], abs=1e-13)
    assert MLD.global_(domain) == pytest.approx(rungs[-1], abs=1e-12)
    found = MLD.smooth(shuffled, domain, beta)
    assert (found.value, found.rank) == (pytest.approx(most, abs=1e-13), rank)
    ordered = domain.sorted_incomes(shuffled)
    assert mld_direct.ladder(ordered, domain)(0, len(rungs)) == pytest.approx(rungs, abs=1e-13)
    assert mld_direct.smooth(ordered, domain, beta).value == pytest.approx(most, abs=1e-13)


def test_the_papers_first_step() -> None:
    x = np.array([2.0, 3, 5, 8, 12])
    for goal, change in ((1, 0.178786738846), (20, 0.128206235884), (6.25, 0.003806715743)):
        moved = np.where(x == 5, goal, x)
        assert abs(MLD.value(moved) - MLD.value(x)) == pytest.approx(change, abs=1e-12)


def random_case(seed: int) -> tuple[Float64, Domain]:
    """Incomes of many shapes: ties, all equal, at an end, heavy tails, two points; U / L up to 1e9."""
    rng = np.random.default_rng([7, seed])
    n = int(rng.integers(2, 9))
    low = float(10.0 ** rng.uniform(-3, 3))
    high = low * float(rng.choice([1.01, 2, 20, 1e3, 1e6, 1e9]))
    u = rng.uniform(size=n)
    shapes = [
        low + u * (high - low),
        low * (high / low) ** u,
        np.full(n, low * (high / low) ** u[0]),
        low * (1 + 1e-9 * u),
        high * (1 - 1e-9 * u),
        low * (1 + rng.pareto(0.7, n)),
        math.sqrt(low * high) * rng.lognormal(0, 0.5, n),
        rng.choice([low, high], n),
        np.where(u < 0.5, low, low + u * (high - low)),
        np.where(u < 0.5, high, low + u * (high - low)),
        rng.choice(low * (high / low) ** rng.uniform(size=2), n),
        low * (1 + np.floor(20 * u)),
    ]
    x = np.clip(shapes[seed % len(shapes)], low, high)
    return np.sort(x), Domain(n=n, lower=low, upper=high)


def theorem(x: Float64, domain: Domain) -> list[mpf]:
    """A^(0), ..., A^(n) by Theorem 3.3, in the working precision, by plain sums over all records."""
    n, low, high = domain.n, mpf(domain.lower), mpf(domain.upper)
    incomes = [mpf(one) for one in x.tolist()]

    def h(y: mpf, s: mpf) -> mpf:
        return mpmath.log(s + y) - mpmath.log(y) / n

    def fixed(s: mpf, one: mpf) -> mpf:
        return max(abs(h(y, s) - h(one, s)) for y in (low, high, s / (n - 1)))

    def moved(s: mpf) -> mpf:
        return max(h(low, s), h(high, s)) - h(s / (n - 1), s)

    def sums(m: int, q: int) -> tuple[mpf, mpf]:
        others = incomes[:m] + incomes[m + 1 :]
        return sum(others[: n - 1 - q], mpf(0)) + q * low, sum(others[q:], mpf(0)) + q * high

    rungs = [max(fixed(sums(m, 0)[0], incomes[m]) for m in range(n))]
    for k in range(1, n):
        found = [fixed(s, incomes[m]) for m in range(n) for s in sums(m, k)]
        rungs.append(max(found + [moved(s) for m in range(n) for s in sums(m, k - 1)]))
    return [*rungs, moved((n - 1) * low)]


def check_against_theorem(seed: int) -> None:
    x, domain = random_case(seed)
    bound = MLD.accuracy(domain)
    with mpmath.workdps(40):
        true = theorem(x, domain)
        fast = MLD.ladder(x, domain, domain.n + 1)
        direct = mld_direct.ladder(x, domain)(0, domain.n + 1)
        for one, two, rung in zip(fast.tolist(), direct.tolist(), true, strict=True):
            assert abs(one - rung) <= min(1e-13, bound.ladder)
            assert abs(two - rung) <= min(1e-13, bound.ladder)
        mean = sum(map(mpf, x.tolist())) / domain.n
        value = sum((mpmath.log(mean / mpf(one)) for one in x.tolist()), mpf(0)) / domain.n
        assert abs(MLD.value(x) - value) <= bound.value
        assert value <= MLD.largest(domain)
        assert true[-1] <= MLD.global_(domain) <= true[-1] + 2 * bound.ladder
        for beta in (0.03, 0.4, 2.0):
            smooth = max(mpmath.exp(-mpf(beta) * k) * rung for k, rung in enumerate(true))
            assert abs(MLD.smooth(x, domain, beta).value - smooth) <= bound.ladder
            assert abs(mld_direct.smooth(x, domain, beta).value - smooth) <= bound.ladder


@pytest.mark.parametrize("first", range(0, 150, 15))
def test_fast_equals_the_theorem_in_forty_digits(first: int) -> None:
    for seed in range(first, first + 15):
        check_against_theorem(seed)


@pytest.mark.slow
def test_fast_equals_the_theorem_in_forty_digits_a_thousand_times() -> None:
    for seed in range(1000):
        check_against_theorem(seed)


def test_fast_equals_direct_on_many_records() -> None:
    rng = np.random.default_rng(5)
    for shape in (
        np.clip(rng.lognormal(10, 1, 300), 1, 1e6),
        np.round(np.clip(rng.lognormal(3, 1, 300), 1, 1e6)),
        np.clip(1 + rng.pareto(0.8, 300), 1, 1e6),
        rng.choice([1.0, 1e6], 300),
        np.clip(1e6 - rng.pareto(1, 300) * 1e4, 1, 1e6),
    ):
        x, domain = np.sort(shape), Domain(n=300, lower=1, upper=1e6)
        fast, direct = mld.ladder(x, domain), mld_direct.ladder(x, domain)
        assert np.abs(fast(0, 302) - direct(0, 302)).max() <= 2 * MLD.accuracy(domain).ladder
        assert fast(100, 200) == pytest.approx(fast(0, 302)[100:200], rel=1e-14)
        for beta in (0.001, 0.02, 0.5):
            one, two = MLD.smooth(x, domain, beta), mld_direct.smooth(x, domain, beta)
            assert one.value == pytest.approx(two.value, abs=2 * MLD.accuracy(domain).ladder)


def distance(x: tuple[float, ...], other: tuple[float, ...]) -> int:
    """How many replacements lead from one multiset to the other."""
    rest = list(other)
    for one in x:
        if one in rest:
            rest.remove(one)
    return len(rest)


@pytest.mark.parametrize("grid", [(1.0, 2.0, 9.0), (1.0, 3.0, 4.0, 30.0), (1.0, 1.2, 1.5, 2.0)])
@pytest.mark.parametrize("n", [2, 3, 4])
def test_no_data_set_on_a_grid_exceeds_the_ladder(grid: tuple[float, ...], n: int) -> None:
    # Local sensitivities by trying every move to a finer grid, then their maximum within k replacements.
    domain = Domain(n=n, lower=grid[0], upper=grid[-1])
    goals = np.concatenate([np.linspace(grid[0], grid[-1], 25), grid])
    local = {}
    for x in combinations_with_replacement(grid, n):
        moves = [np.array([*x[:m], y, *x[m + 1 :]]) for m in range(n) for y in goals]
        local[x] = max(abs(MLD.value(one) - MLD.value(np.array(x))) for one in moves)
    for x, most in local.items():
        rungs = MLD.ladder(np.array(x), domain, n + 1)
        for k in range(n + 1):
            near = max(one for other, one in local.items() if distance(x, other) <= k)
            assert near <= rungs[k] + 1e-12
        assert rungs[0] == pytest.approx(most, rel=1e-2, abs=1e-6)


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
def test_the_ladder_climbs_by_one_rung_between_neighbours(pair: tuple[Float64, Float64, Domain]) -> None:
    x, other, domain = pair
    here, there = (MLD.ladder(one, domain, domain.n + 2) for one in (x, other))
    slack = 2 * MLD.accuracy(domain).ladder
    assert (here[:-1] <= there[1:] + slack).all()
    assert (here[:-1] <= here[1:] + slack).all()
    error = MLD.accuracy(domain).value
    assert abs(MLD.value(x) - MLD.value(other)) <= here[0] + slack + 2 * error
    for beta in (0.05, 0.7):
        one, two = MLD.smooth(x, domain, beta).value, MLD.smooth(other, domain, beta).value
        assert one <= math.exp(beta) * two + 4 * slack


@pytest.mark.parametrize("ratio", [1.001, 1.5, 20, 1e4, 1e9, 1e15])
@pytest.mark.parametrize("n", [2, 3, 5, 12])
def test_the_largest_value_is_that_of_incomes_at_the_ends(n: int, ratio: float) -> None:
    domain = Domain(n=n, lower=2, upper=2 * ratio)
    at_ends = [np.where(np.arange(n) < j, domain.upper, domain.lower) for j in range(n + 1)]
    true = max(MLD.value(x) for x in at_ends)
    bound = MLD.accuracy(domain).value
    assert true - bound <= MLD.largest(domain) <= true + 3 * bound


def test_the_value_of_many_incomes_keeps_its_error_bound() -> None:
    rng = np.random.default_rng(8)
    n = 20_000
    tails = 1.0 + np.minimum(rng.pareto(0.3, n), 1e9)
    for x in (tails, np.where(rng.uniform(size=n) < 0.9, 1.0, 1e9), 1e9 - rng.uniform(0, 1, n)):
        domain = Domain(n=n, lower=1, upper=2e9)
        with mpmath.workdps(40):
            incomes = [mpf(one) for one in x.tolist()]
            mean = mpmath.fsum(incomes) / n
            true = mpmath.log(mean) - mpmath.fsum(map(mpmath.log, incomes)) / n
            assert abs(MLD.value(x) - true) <= MLD.accuracy(domain).value


def test_error_bounds_are_small_and_public() -> None:
    for n, ratio in ((2, 1.1), (10**3, 1e6), (10**7, 1e9)):
        domain = Domain(n=n, lower=1, upper=ratio)
        bound = MLD.accuracy(domain)
        assert bound.ladder < 1e-12 * MLD.global_(domain)
        assert bound.value < 1e-13 * (1 + math.log(ratio)) / 10
        assert bound == MLD.accuracy(Domain(n=n, lower=1, upper=ratio))
