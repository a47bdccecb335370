"""Algorithm U: the exact law of the private upper bound, enumerated for all neighbouring counts."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from pgsr.errors import InputError
from pgsr.inequality.upper import PrivateUpper, UpperGrid
from pgsr.noise import SeededBits

GRID = UpperGrid(first=Fraction(10), ratio=Fraction(2), count=4)  # 10, 20, 40, 80


def law(counts, r, q, threshold):
    """P[position] for c_0..c_(J-1), exactly: the sum over the threshold is one of geometric series.

    With tau > n, p(tau, c) = q^(T0 - c) y for y = q^K, so the product over earlier points expands into powers
    of y, and the mean of y^m is (1 - r)/(1 - r q^m).
    """
    powers = [q ** (threshold - c) for c in counts]

    def mean(chosen, times):
        """E[prod_(i in chosen) (1 - a_i y) * a y^times]."""
        total = Fraction(0)
        for size in range(len(chosen) + 1):
            for some in itertools.combinations(chosen, size):
                total += (-1) ** size * math.prod(some) * (1 - r) / (1 - r * q ** (size + times))
        return total

    found = [powers[j] * mean(powers[:j], 1) for j in range(len(counts))]
    return [*found, mean(powers, 0)]


def neighbouring_counts(n, points):
    """Counts of n incomes at or below `points` grid points, and what replacing one income makes of them."""
    for counts in itertools.combinations_with_replacement(range(n + 1), points):
        for start, stop in itertools.combinations(range(points + 1), 2):
            other = tuple(c + (start <= j < stop) for j, c in enumerate(counts))
            if max(other) <= n and list(other) == sorted(other):
                yield counts, other


def worst(n, r, q, threshold, law=law):
    found = Fraction(0)
    for counts, other in neighbouring_counts(n, 3):
        here, there = law(counts, r, q, threshold), law(other, r, q, threshold)
        assert sum(here) == 1
        found = max(found, *(max(a / b, b / a) for a, b in zip(here, there, strict=True)))
    return found


@pytest.mark.parametrize("epsilon", ["0.15", "1", "4"])
@pytest.mark.parametrize("share", ["1/2", "2/3", "1/10"])
@pytest.mark.parametrize("n", [1, 3])
def test_no_neighbours_lose_more_than_epsilon(epsilon, share, n):
    epsilon = Fraction(epsilon)
    private = PrivateUpper(grid=GRID, epsilon=epsilon, epsilon_tau=epsilon * Fraction(share))
    r, q = Fraction(private.threshold_ratio, 2**64), Fraction(private.query_ratio, 2**64)
    ratio = worst(n, r, q, private.threshold(n))
    assert ratio <= 1 / (r * q)
    with mpmath.workdps(60):
        assert mpmath.log(mpmath.mpf(ratio.numerator) / ratio.denominator) <= mpmath.mpf(
            epsilon.numerator
        ) / (epsilon.denominator)
        assert mpmath.exp(-mpmath.mpf(epsilon.numerator) / epsilon.denominator) <= mpmath.mpf(
            (r * q).numerator
        ) / ((r * q).denominator)


def test_the_cost_is_used_up_on_a_long_grid():
    """Many points that all but one income are below, then one that all are below: the bound is reached.

    By a truncated sum over the threshold in floats; one income moves below the many points.
    """
    points, epsilon = 400, 1.2
    r, q = math.exp(-2 / 3 * epsilon), math.exp(-1 / 3 * epsilon)
    above = math.ceil(1 / epsilon)  # T0 - n
    threshold = above + np.arange(400)
    mass = (1 - r) * r ** np.arange(400)

    def stop_at_the_end(below):
        return float((mass * (1 - q ** (threshold + below)) ** points * q**threshold).sum())

    assert math.log(stop_at_the_end(1) / stop_at_the_end(0)) == pytest.approx(epsilon, rel=1e-3)


def test_a_fresh_threshold_for_each_point_loses_more():
    """The threshold must be drawn once: with its own at each point nothing bounds the product."""

    def fresh(counts, r, q, threshold):
        crossing = [q ** (threshold - c) * (1 - r) / (1 - r * q) for c in counts]
        stay = list(itertools.accumulate((1 - p for p in crossing), lambda a, b: a * b, initial=Fraction(1)))
        return [*(s * p for s, p in zip(stay, crossing, strict=False)), stay[-1]]

    r, q = Fraction(9, 10), Fraction(1, 10)  # a long threshold, hardly any query noise
    assert worst(2, r, q, 3) <= 1 / (r * q)
    low = fresh((0, 0, 0), q, Fraction(999, 1000), 1)
    high = fresh((1, 1, 1), q, Fraction(999, 1000), 1)
    allowed = 1 / (q * Fraction(999, 1000))
    assert sum(low) == sum(high) == 1
    assert max(a / b for a, b in zip((*low, *high), (*high, *low), strict=True)) > allowed


def test_draws_follow_the_exact_law():
    private = PrivateUpper(grid=GRID, epsilon=Fraction(3), epsilon_tau=Fraction(1))
    x = np.array([5.0, 20.0, 20.5, 39.0])
    counts = private.confidential_counts(x)
    assert counts.tolist() == [1, 2, 4]
    r, q = Fraction(private.threshold_ratio, 2**64), Fraction(private.query_ratio, 2**64)
    expected = np.array([float(p) for p in law(tuple(counts.tolist()), r, q, private.threshold(4))])
    rng = SeededBits(3)
    draws = 20_000
    found = np.bincount([private.draw(x, rng) for _ in range(draws)], minlength=4)
    assert ((found - draws * expected) ** 2 / (draws * expected)).sum() < 16.3  # 3 degrees of freedom, 0.1 %


def test_counts_include_incomes_equal_to_a_point():
    private = PrivateUpper(grid=GRID, epsilon=Fraction(1))
    assert private.confidential_counts(np.array([10.0, 10.000001, 80.0, 81.0, 0.0])).tolist() == [2, 3, 3]


def test_the_default_split_favours_the_threshold():
    private = PrivateUpper(grid=GRID, epsilon="0.15")
    assert (private.epsilon_tau, private.epsilon_queries) == (Fraction(1, 10), Fraction(1, 20))
    assert private.threshold(100) == 100 + 7


def test_the_overshoot_has_the_stated_tail():
    """Counts that are n everywhere: P(m or more steps too far) falls like m^-2 for the default split."""
    grid = UpperGrid(first=Fraction(10), ratio=Fraction(1001, 1000), count=3000)
    private = PrivateUpper(grid=grid, epsilon=Fraction(3))
    rng = SeededBits(8)
    positions = np.array([private.draw(np.array([1.0, 2.0]), rng) for _ in range(4000)])
    assert 0.002 < (positions >= 100).mean() * 100**2 / 100 < 2  # about 10 / 100^2
    assert (positions >= 1000).mean() < 0.005


def test_the_grid_is_public_and_rises():
    assert GRID.values.tolist() == [10, 20, 40, 80]
    grid = UpperGrid.spanning("100", "1e6", "1.02")
    assert grid.values[0] == 100
    assert grid.values[-2] < 1e6 <= grid.values[-1]
    assert np.all(np.diff(np.log(grid.values)) == pytest.approx(math.log(1.02), rel=1e-12))
    with pytest.raises(ValueError, match="read-only"):
        grid.values[0] = 1
    assert UpperGrid.spanning("100", "1e6", "1.02") == grid


@pytest.mark.parametrize(
    "parts",
    [
        {"first": 0, "ratio": 2, "count": 3},
        {"first": -1, "ratio": 2, "count": 3},
        {"first": 1, "ratio": 1, "count": 3},
        {"first": 1, "ratio": "1.00001", "count": 3},
        {"first": 1, "ratio": 2, "count": 1},
        {"first": 1, "ratio": 2, "count": 3.0},
        {"first": 1, "ratio": 2, "count": True},
        {"first": 1, "ratio": 2, "count": 10**9},
        {"first": 1, "ratio": 2, "count": 2000},
        {"first": "1e-320", "ratio": 2, "count": 3},
        {"first": "1e999", "ratio": 2, "count": 3},
    ],
)
def test_impossible_grids_are_refused(parts):
    with pytest.raises(InputError):
        UpperGrid(**parts)


@pytest.mark.parametrize("ends", [("10", "10"), ("10", "5"), ("0", "5"), ("1", "1e999")])
def test_impossible_spans_are_refused(ends):
    with pytest.raises(InputError):
        UpperGrid.spanning(*ends)


@pytest.mark.parametrize(
    ("epsilon", "tau"),
    [("0", None), ("-1", None), ("1", "1"), ("1", "0"), ("1", "2"), ("1e-5", None), ("200", None)],
)
def test_impossible_budgets_are_refused(epsilon, tau):
    with pytest.raises(InputError):
        PrivateUpper(grid=GRID, epsilon=epsilon, epsilon_tau=tau)


def test_the_grid_must_be_one():
    with pytest.raises(InputError, match="UpperGrid"):
        PrivateUpper(grid=[1, 2, 3], epsilon=1)
