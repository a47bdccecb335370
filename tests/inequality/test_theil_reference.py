"""The ladder B1 of the Theil index in 40 digits, and the range of ratios against all data on a grid."""

from __future__ import annotations

import math
from itertools import combinations_with_replacement

import mpmath
import numpy as np
import pytest
from mpmath import mpf

from pgsr.inequality import INDICES, Domain, ratio, theil_tight
from pgsr.inequality.domain import Float64
from pgsr.inequality.numerics import UNIT

THEIL = INDICES["theil"]


def random_case(seed: int) -> tuple[Float64, Domain]:
    """Incomes of many shapes: ties, all equal, at an end, heavy tails, two points; U / L up to 1e9."""
    rng = np.random.default_rng([11, seed])
    n = int(rng.integers(2, 10))
    low = float(10.0 ** rng.uniform(-3, 3))
    high = low * float(rng.choice([1.01, 2, 20, 1e3, 1e6, 1e9]))
    u = rng.uniform(size=n)
    shapes = [
        low + u * (high - low),
        low * (high / low) ** u,
        np.full(n, low * (high / low) ** u[0]),
        low * (1 + 1e-9 * u),
        high * (1 - 1e-9 * u),
        np.full(n, low),
        np.full(n, high),
        low * (1 + rng.pareto(0.7, n)),
        math.sqrt(low * high) * rng.lognormal(0, 0.5, n),
        rng.choice([low, high], n),
        np.where(u < 0.5, high, low + u * (high - low)),
        rng.choice(low * (high / low) ** rng.uniform(size=2), n),
        math.sqrt(low * high) * (1 + 1e-15 * np.floor(8 * u)),
    ]
    x = np.clip(shapes[seed % len(shapes)], low, high)
    return np.sort(x), Domain(n=n, lower=low, upper=high)


def exact_ratios(x: Float64, domain: Domain, k: int) -> tuple[mpf, mpf]:
    """The least and largest H / S (in the unit L) over all windows that may be kept and all free values."""
    low, high, n = mpf(domain.lower), mpf(domain.upper), domain.n
    incomes = [mpf(one) for one in x.tolist()]

    def phi(z: mpf) -> mpf:
        return z * mpmath.log(z / low)

    def least(kept: list[mpf]) -> mpf:
        h, s = sum(map(phi, kept), mpf(0)), sum(kept, mpf(0))
        lam = (h + k * phi(kept[0])) / (s + k * kept[0])
        for _ in range(200):
            z = min(max(low * mpmath.exp(lam - 1), low), high)
            lam, before = (h + k * phi(z)) / (s + k * z), lam
            if lam >= before:
                return before
        raise AssertionError

    def largest(kept: list[mpf]) -> mpf:
        h, s = sum(map(phi, kept), mpf(0)), sum(kept, mpf(0))
        return max((h + k * phi(z)) / (s + k * z) for z in (low, high))

    starts = range(k + 2)
    ends = range(n - k)
    return (
        min(least(incomes[first : first + n - 1 - k]) for first in starts),
        max(largest(incomes[:first] + incomes[first + k + 1 :]) for first in ends),
    )


def exact_b1(x: Float64, domain: Domain) -> list[mpf]:
    """B1^(0), ..., B1^(n) in the working precision, by plain sums."""
    n, low, high = domain.n, mpf(domain.lower), mpf(domain.upper)
    incomes = [mpf(one) for one in x.tolist()]

    def h(y: mpf, s: mpf, total: mpf) -> mpf:
        return (total + y * mpmath.log(y / low)) / (s + y) - mpmath.log((s + y) / (n * low))

    def fixed(m: int) -> mpf:
        others = incomes[:m] + incomes[m + 1 :]
        s, total = sum(others, mpf(0)), sum((z * mpmath.log(z / low) for z in others), mpf(0))
        goals = (low, high, low * mpmath.exp(total / s))
        return max(abs(h(y, s, total) - h(incomes[m], s, total)) for y in goals)

    def f(c: mpf, s: mpf, t: mpf) -> mpf:
        return c * mpmath.log(c / t) / (s + c) + mpmath.log((s + t) / (s + c))

    def most(c: mpf, s: tuple[mpf, mpf], t: mpf) -> mpf:
        r = t / c
        where = s[0]
        if r != 1:
            where = c * (r * mpmath.log(r) - r + 1) / (r - 1 - mpmath.log(r))
        return max(f(c, one, t) for one in (*s, min(max(where, s[0]), s[1])))

    top = f(high, (n - 1) * low, low)
    rungs = [max(map(fixed, range(n)))]
    for k in range(1, n - 1):
        least, largest = exact_ratios(x, domain, k)
        s = (sum(incomes[: n - 1 - k], mpf(0)) + k * low, sum(incomes[k + 1 :], mpf(0)) + k * high)
        to_low = most(low, s, low * mpmath.exp(largest))
        rungs.append(min(top, max(to_low, most(high, s, low * mpmath.exp(least)))))
    return rungs + [top] * (n + 1 - len(rungs))


def check_in_forty_digits(seed: int) -> None:
    x, domain = random_case(seed)
    bound = THEIL.accuracy(domain)
    with mpmath.workdps(40):
        true = exact_b1(x, domain)
        found = THEIL.ladder(x, domain, domain.n + 1).tolist()
        assert all(abs(one - rung) <= bound.ladder for one, rung in zip(found, true, strict=True))
        assert all(abs(one - rung) <= 1e-13 for one, rung in zip(found, true, strict=True))
        mean = sum(map(mpf, x.tolist())) / domain.n
        shares = [mpf(one) / mean for one in x.tolist()]
        value = sum((r * mpmath.log(r) for r in shares), mpf(0)) / domain.n
        assert abs(THEIL.value(x) - value) <= bound.value
        assert value <= THEIL.largest(domain)
        assert true[-1] <= THEIL.global_(domain) <= true[-1] + 2 * bound.ladder
        for beta in (0.03, 0.4, 2.0):
            smooth = max(mpmath.exp(-mpf(beta) * k) * rung for k, rung in enumerate(true))
            assert abs(THEIL.smooth(x, domain, beta).value - smooth) <= bound.ladder


@pytest.mark.parametrize("first", range(0, 104, 13))
def test_the_tight_ladder_in_forty_digits(first: int) -> None:
    for seed in range(first, first + 13):
        check_in_forty_digits(seed)


@pytest.mark.slow
def test_the_tight_ladder_in_forty_digits_a_thousand_times() -> None:
    for seed in range(1000):
        check_in_forty_digits(seed)


def test_ratio_ranges_of_clustered_incomes() -> None:
    # Incomes that differ in the last place make the comparisons of psi drown in rounding.
    rng = np.random.default_rng(3)
    for trial in range(40):
        n = int(rng.integers(4, 10))
        high = float(rng.choice([10.0, 1e6]))
        base = float(rng.uniform(1, high))
        x = np.sort(np.clip(base * (1 + 2.3e-16 * rng.integers(0, 6, n)), 1, high))
        x[rng.integers(0, n, 2)] = rng.uniform(1, high, 2)
        x, domain = np.sort(x), Domain(n=n, lower=1, upper=high)
        convex = theil_tight.WeightedLog(domain)
        sums = ratio.Sums.of(x, convex.phi(x))
        k = np.arange(1, n - 1)
        least, largest = ratio.least_ratio(sums, convex, k), ratio.largest_ratio(x, sums, convex, k)
        with mpmath.workdps(40):
            for rank, one, two in zip(k.tolist(), least.tolist(), largest.tolist(), strict=True):
                low, top = exact_ratios(x, domain, rank)
                assert abs(one - low) <= 132 * UNIT * low, trial
                assert abs(two - top) <= 132 * UNIT * top, trial


def feasible(x: tuple[float, ...], k: int, grid: tuple[float, ...]) -> set[tuple[float, ...]]:
    """All others on the grid that k replacements allow: leave out k + 1 incomes, add k."""
    n = len(x)
    kept = {
        tuple(x[i] for i in range(n) if i not in left)
        for left in combinations_with_replacement(range(n), k + 1)
        if len(set(left)) == k + 1
    }
    return {tuple(sorted(one + free)) for one in kept for free in combinations_with_replacement(grid, k)}


@pytest.mark.parametrize("grid", [(1.0, 2.0, 5.0, 40.0), (0.1, 0.2, 0.5, 1.0, 3.0), (1.0, 1.1, 1.3)])
def test_ratio_ranges_hold_all_data_on_a_grid(grid: tuple[float, ...]) -> None:
    rng = np.random.default_rng(6)
    for _ in range(12):
        n = int(rng.integers(3, 6))
        x = tuple(np.sort(rng.choice(grid, n)).tolist())
        domain = Domain(n=n, lower=grid[0], upper=grid[-1])
        convex, incomes = theil_tight.WeightedLog(domain), np.array(x)
        sums = ratio.Sums.of(incomes, convex.phi(incomes))
        k = np.arange(1, n - 1)
        least, largest = ratio.least_ratio(sums, convex, k), ratio.largest_ratio(incomes, sums, convex, k)
        for rank in k.tolist():
            sums = [
                (sum(z * math.log(z / grid[0]) for z in one), sum(one)) for one in feasible(x, rank, grid)
            ]
            ratios = [h / s for h, s in sums]
            assert least[rank - 1] <= min(ratios) + 1e-14
            assert largest[rank - 1] >= max(ratios) - 1e-14
            # The largest uses nothing but data and the ends, so that it is attained on the grid.
            assert largest[rank - 1] == pytest.approx(max(ratios), abs=1e-13)
