"""Intervals and tests: against brute force, SciPy, and the coverage that they promise."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from pgsr.bench.analysis.statistics import (
    bootstrap_interval,
    fit_line,
    geometric_mean,
    holm,
    mean_interval,
    median_interval,
    ratio_of_means_interval,
    sign_flip,
    signed_rank,
    stratified_interval,
)

SMALL = st.lists(st.integers(-4, 4), min_size=1, max_size=9)


@given(SMALL)
def test_signed_rank_is_that_of_all_signs_with_ties_too(differences):
    found = [value for value in differences if value]
    if not found:
        assert signed_rank(differences) == 1.0
        return
    ranks = stats.rankdata(np.abs(found))
    seen = sum(rank for rank, value in zip(ranks, found, strict=True) if value > 0)
    sums = [sum(itertools.compress(ranks, signs)) for signs in itertools.product((0, 1), repeat=len(found))]
    low = np.mean([total <= seen + 1e-9 for total in sums])
    high = np.mean([total >= seen - 1e-9 for total in sums])
    assert signed_rank(differences) == pytest.approx(min(1.0, 2 * min(low, high)))


@pytest.mark.parametrize("n", [5, 20, 50])
def test_signed_rank_is_scipys_without_ties(n):
    values = np.random.default_rng(n).normal(0.3, 1, n)
    assert signed_rank(values) == pytest.approx(stats.wilcoxon(values, method="exact").pvalue)


def test_signed_rank_of_many_pairs_joins_on_to_the_normal_law():
    values = np.random.default_rng(2).normal(0.12, 1, 201)
    assert signed_rank(values) == pytest.approx(signed_rank(values[:200]), abs=0.02)
    assert signed_rank(values) == pytest.approx(stats.wilcoxon(values, method="approx").pvalue)


@given(SMALL)
def test_sign_flip_is_that_of_all_signs(differences):
    found = [value for value in differences if value]
    sums = [
        abs(sum(s * v for s, v in zip(signs, found, strict=True)))
        for signs in itertools.product((-1, 1), repeat=len(found))
    ]
    assert sign_flip(differences) == pytest.approx(np.mean([total >= abs(sum(found)) for total in sums]))


def test_sign_flip_of_many_pairs_is_scipys():
    values = np.random.default_rng(3).normal(0.4, 1, 30)
    theirs = stats.permutation_test(
        (values,), np.mean, permutation_type="samples", n_resamples=50_000, rng=np.random.default_rng(4)
    )
    assert sign_flip(values) == pytest.approx(theirs.pvalue, abs=0.008)
    assert sign_flip(np.full(40, 1.0)) == 1 / 10_000  # never 0


def test_the_smallest_p_values_of_few_pairs():
    for n in (1, 3, 5, 6):
        assert signed_rank(range(1, n + 1)) == sign_flip(range(1, n + 1)) == 2.0 ** (1 - n)
    assert signed_rank([]) is None
    assert sign_flip([]) is None


def test_holm_by_hand():
    # Holm (1979): 0.01 * 4, 0.02 * 3, 0.03 * 2 and 0.04, each at least the one before.
    assert holm([0.04, 0.01, None, 0.03, 0.02]) == pytest.approx([0.06, 0.04, None, 0.06, 0.06], nan_ok=True)
    assert holm([0.4, 0.6]) == [0.8, 0.8]
    assert holm([]) == []


def test_mean_interval_is_scipys():
    values = [1.0, 4.0, 2.5, 7.0]
    theirs = stats.ttest_1samp(values, 0).confidence_interval(0.95)
    assert mean_interval(values) == pytest.approx((theirs.low, theirs.high))
    assert mean_interval([1.0]) is None


def test_median_interval_of_order_statistics():
    assert median_interval([1, 2, 3, 4, 5]) is None  # 2 / 2^5 > 0.05
    assert median_interval([6, 1, 2, 3, 4, 5]) == (1, 6)
    # n = 20: P[Binomial(20, 1/2) <= 5] = 0.0207, the well-known 6th and 15th.
    assert median_interval(range(1, 21)) == (6, 15)


@pytest.mark.parametrize("n", [4, 8, 12])
def test_the_bootstrap_interval_holds_what_it_says(n):
    rng = np.random.default_rng(5)
    held = 0
    for _ in range(600):
        lower, upper = bootstrap_interval(rng.normal(1, 1, n), resamples=499)
        held += lower <= 1 <= upper
    assert 0.92 < held / 600 < 0.99  # plain percentiles: 0.80 and 0.89


def test_bootstrap_intervals_do_not_change_and_need_two_values():
    assert bootstrap_interval([1, 2, 4]) == bootstrap_interval([1, 2, 4])
    assert bootstrap_interval([1]) is None
    assert bootstrap_interval([2, 2, 2]) == (2, 2)


def test_the_interval_over_groups_holds_what_it_says():
    rng = np.random.default_rng(8)
    held = 0
    for _ in range(600):
        groups = [rng.normal(mean, 1, n) for mean, n in ((0, 3), (5, 6), (-2, 4))]
        lower, upper = stratified_interval(groups, resamples=499)
        held += lower <= 1 <= upper
    assert 0.92 < held / 600 < 0.985
    assert stratified_interval([[1.0, 2.0], [1.0]]) is None
    assert stratified_interval([]) is None


@pytest.mark.parametrize(("n", "m"), [(4, 5), (8, 20)])
def test_the_interval_of_a_ratio_of_means_holds_what_it_says(n, m):
    rng = np.random.default_rng(6)
    held = 0
    for _ in range(600):
        lower, upper = ratio_of_means_interval(rng.gamma(9, 3, n), rng.gamma(9, 2, m), resamples=499)
        held += lower <= 1.5 <= upper
    assert 0.92 < held / 600 < 0.995


def test_a_ratio_of_means_needs_values():
    assert ratio_of_means_interval([1, 2], [0, 0]) is None
    assert ratio_of_means_interval([1] * 9, [0] * 8) is None
    assert ratio_of_means_interval([1], [1, 2]) is None


def test_geometric_mean_with_a_shift():
    assert geometric_mean([1, 4]) == pytest.approx(2)
    assert geometric_mean([0, 3], shift=1) == pytest.approx(1)
    assert geometric_mean([0, 3]) is None
    assert geometric_mean([]) is None


def test_a_line_is_scipys_and_its_interval_holds_the_slope():
    rng = np.random.default_rng(7)
    x = np.log([10, 100, 1000, 10_000] * 3)
    held = 0
    for _ in range(300):
        line = fit_line(x, 1.3 * x - 4 + rng.normal(0, 0.4, len(x)))
        held += line.lower <= 1.3 <= line.upper
    assert 0.91 < held / 300 < 0.985
    exact = fit_line([0, 1, 2], [1, 3, 5])
    assert (exact.slope, exact.intercept, exact.r2) == pytest.approx((2, 1, 1))
    assert fit_line([0, 1, 1], [1, 2, 3]) is None
    assert not math.isnan(exact.lower)
