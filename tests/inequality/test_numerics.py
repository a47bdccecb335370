"""Logarithms and sums against exact and 40-digit arithmetic, within the bounds that they state."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mpmath import mpf

from pgsr.inequality import numerics
from pgsr.inequality.numerics import (
    UNIT,
    TopSums,
    log_ratio,
    log_ratio_shifted,
    prefix_sums,
    total,
)

positive = st.floats(1e-12, 1e12)


def error(found: float, true: mpf) -> float:
    return float(abs(mpf(found) - true))


@given(a=positive, b=positive)
def test_log_ratio_is_right_to_twelve_units(a: float, b: float) -> None:
    with mpmath.workdps(60):
        true = mpmath.log(mpf(a) / b)
        assert error(log_ratio(a, b), true) <= 12 * UNIT * abs(true)


@given(a=positive, steps=st.integers(1, 1000), up=st.booleans())
def test_log_ratio_of_close_numbers_keeps_its_relative_error(a: float, steps: int, up: bool) -> None:
    b = a
    for _ in range(steps):
        b = math.nextafter(b, math.inf if up else 0)
    with mpmath.workdps(60):
        true = mpmath.log(mpf(a) / b)
        assert error(log_ratio(a, b), true) <= 12 * UNIT * abs(true)


def test_log_ratio_over_nine_decades() -> None:
    # log1p((a - b) / b) alone is off by 4e-8 here.
    rng = np.random.default_rng(1)
    b = 1e9 * rng.uniform(0.5, 1, 500)
    a = rng.uniform(0.5, 1.5, 500)
    naive = np.log1p((a - b) / b)
    worst_naive = worst = 0.0
    with mpmath.workdps(40):
        for first, second, one, two in zip(a, b, log_ratio(a, b), naive, strict=True):
            true = mpmath.log(mpf(first) / mpf(second))
            worst, worst_naive = max(worst, error(one, true)), max(worst_naive, error(two, true))
    assert worst < 1e-14 < 1e-9 < worst_naive


@given(s=st.floats(0, 1e15), a=positive, b=positive)
def test_shifted_log_ratio_keeps_its_relative_error(s: float, a: float, b: float) -> None:
    with mpmath.workdps(60):
        true = mpmath.log((mpf(s) + a) / (mpf(s) + b))
        assert error(log_ratio_shifted(s, a, b), true) <= 13 * UNIT * abs(true)


def hard_sums() -> list[np.ndarray]:
    rng = np.random.default_rng(2)
    tiny = np.full(70_000, 2.0**-53 * 0.999)
    return [
        np.concatenate([[1.0], tiny]),
        np.concatenate([tiny, [1.0]]),
        rng.pareto(0.4, 70_000) + 1e-9,
        10.0 ** rng.uniform(-12, 12, 70_000),
        np.full(70_000, 0.1),
        np.tile([1e16, 1.0], 35_000),
        np.zeros(5),
    ]


def exact_prefix(x: np.ndarray) -> list[Fraction]:
    sums = [Fraction(0)]
    for value in x.tolist():
        sums.append(sums[-1] + Fraction(value))
    return sums


@pytest.mark.parametrize("case", range(len(hard_sums())))
def test_running_sums_are_rounded_about_once(case: int) -> None:
    x = hard_sums()[case]
    bound = Fraction(11, 10) * Fraction(UNIT)
    found = prefix_sums(x)
    for index, true in list(enumerate(exact_prefix(x)))[:: max(1, x.size // 997)]:
        assert abs(Fraction(float(found[index])) - true) <= bound * true
    true = exact_prefix(x)[-1]
    assert abs(Fraction(float(found[-1])) - true) <= bound * true
    assert abs(Fraction(total(x)) - true) <= Fraction(UNIT) * Fraction(33, 32) * true


def test_a_plain_running_sum_would_fail() -> None:
    x = hard_sums()[0]
    true = exact_prefix(x)[-1]
    assert abs(Fraction(float(np.cumsum(x)[-1])) - true) > 1000 * Fraction(UNIT) * true


def test_cumulative_sums_of_numpy_run_from_the_left() -> None:
    # What the corrections rest on: each entry is the one before it plus one term, rounded once.
    x = np.random.default_rng(3).lognormal(0, 5, 100_000)
    sums = np.cumsum(x)
    assert all(after == before + term for (before, after), term in zip(pairwise(sums), x[1:], strict=True))


@given(
    x=st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=300),
    block=st.sampled_from([4, 64]),
)
def test_signed_totals_lose_little_of_the_sizes(x: list[float], block: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(numerics, "_BLOCK", block)
        found = total(np.array(x))
    true = sum(map(Fraction, x), Fraction(0))
    sizes = sum((abs(Fraction(value)) for value in x), Fraction(0))
    assert abs(Fraction(found) - true) <= Fraction(UNIT) * (abs(true) + sizes / 32)


@given(x=st.lists(positive, min_size=2, max_size=40), depth=st.integers(1, 45))
def test_top_sums_hold_what_they_promise(x: list[float], depth: int) -> None:
    incomes = np.sort(np.array(x))
    n = incomes.size
    sums = TopSums(incomes, depth)
    below, above = exact_prefix(incomes), exact_prefix(incomes[::-1])
    bound = Fraction(22, 10) * Fraction(UNIT)
    for count in range(max(n - depth, 0), n + 1):
        at = np.array(count)
        assert abs(Fraction(float(sums.smallest(at))) - below[count]) <= bound * below[count]
        assert abs(Fraction(float(sums.largest(at))) - above[count]) <= bound * above[count]


@pytest.mark.parametrize("name", ["log", "log1p", "exp"])
def test_functions_of_this_machine_are_as_good_as_assumed(name: str) -> None:
    # 4 units in the last place, in vectors and alone (numpy may use other code for either).
    rng = np.random.default_rng(12)
    spread = 10.0 ** rng.uniform(-15, 15, 1500)
    near = 1 + rng.uniform(-0.5, 0.5, 500) * 10.0 ** -rng.uniform(0, 15, 500)
    x = rng.uniform(-40, 40, 2000) if name == "exp" else np.concatenate([spread, near])
    found = getattr(np, name)(x)
    with mpmath.workdps(50):
        for one, value in zip(x, found, strict=True):
            true = getattr(mpmath, name)(mpf(float(one)))
            assert abs(mpf(float(value)) - true) <= 4 * math.ulp(float(true))
            assert abs(mpf(float(getattr(np, name)(one))) - true) <= 4 * math.ulp(float(true))
