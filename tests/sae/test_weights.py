"""Weight diagnostics and smoothed variances."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgsr.errors import InputError
from pgsr.sae.smoothing import confidential_gvf, kish_variance
from pgsr.sae.weights import weight_diagnostics


def test_by_hand() -> None:
    found = weight_diagnostics([1, 2, 3, 4, 4], [0, 1, 0, 1, 1], 2)
    assert found.counts.tolist() == [2, 3]
    assert found.ratio.tolist() == [1.5, 1.2]
    assert found.effective_n.tolist() == [16 / 10, 100 / 36]
    assert found.design_effect.tolist() == [1.25, 1.08]
    assert found.influence.tolist() == [9 / 10, 16 / 36]
    assert found.share.tolist() == [0.75, 0.4]


@given(weights=st.lists(st.floats(1e-3, 1e3), min_size=1, max_size=20), scale=st.floats(1e-6, 1e6))
def test_bounds_and_scale(weights: list[float], scale: float) -> None:
    n = len(weights)
    codes = np.zeros(n, dtype=int)
    found = weight_diagnostics(weights, codes, 1)
    scaled = weight_diagnostics(np.array(weights) * scale, codes, 1)
    for name in ("ratio", "effective_n", "design_effect", "influence", "share"):
        np.testing.assert_allclose(getattr(found, name), getattr(scaled, name), rtol=1e-12)
    slack = 1e-12
    assert 1 - slack <= found.ratio[0] <= n + slack
    assert 1 - slack <= found.effective_n[0] <= n * (1 + slack)
    assert 1 / n - slack <= found.influence[0] <= 1 + slack
    assert found.influence[0] == pytest.approx(found.share[0] ** 2 * found.effective_n[0])


@pytest.mark.parametrize(
    ("weights", "codes", "m", "message"),
    [
        ([1, 0], [0, 0], 1, "weight, row 2"),
        ([1, -1], [0, 0], 1, "weight, row 2"),
        ([1, 1], [0, 2], 2, "places in 0..1"),
        ([1, 1], [0, -1], 2, "places in 0..1"),
        ([1, 1], [0, 0], 2, "area 2 of 2"),
        ([1, 1], [0], 1, "whole number a weight"),
        ([1, 1], [0.0, 0.0], 1, "whole number a weight"),
        ([], np.zeros(0, dtype=int), 1, "places"),
    ],
)
def test_unusable_weights_are_refused(weights: Any, codes: Any, m: int, message: str) -> None:
    with pytest.raises(InputError, match=message):
        weight_diagnostics(weights, codes, m)


def test_kish_variance() -> None:
    weights = weight_diagnostics([1, 2, 3, 4, 4], [0, 1, 0, 1, 1], 2).kish
    expected = 0.2 * 0.8 * np.array([10 / 16, 36 / 100])
    np.testing.assert_allclose(kish_variance(weights, prevalence=0.2), expected, rtol=1e-15)
    np.testing.assert_allclose(
        kish_variance(weights, unit_variance=3.0, design_effect=[1, 2]),
        [3 * 10 / 16, 6 * 36 / 100],
        rtol=1e-15,
    )
    for options in ({}, {"prevalence": 0.2, "unit_variance": 1.0}):
        with pytest.raises(InputError, match="give either"):
            kish_variance(weights, **options)
    for p in (0, 1, -0.1, 2, np.nan):
        with pytest.raises(InputError, match="prevalence"):
            kish_variance(weights, prevalence=p)
    with pytest.raises(InputError, match="unit_variance"):
        kish_variance(weights, unit_variance=0)
    with pytest.raises(InputError, match="design effect"):
        kish_variance(weights, prevalence=0.2, design_effect=0)


def test_a_variance_function_is_recovered() -> None:
    rng = np.random.default_rng(2)
    n, p = rng.integers(20, 2000, 4000), rng.uniform(0.05, 0.5, 4000)
    truth = np.exp(0.3 - 0.9 * np.log(n) + 1.1 * np.log(p * (1 - p)))
    # E exp(0.5 z) = exp(0.125): the fit's correction for the logarithm.
    noisy = truth * np.exp(0.5 * rng.normal(size=4000))
    found = confidential_gvf(noisy, n, p)
    np.testing.assert_allclose(found.coefficients, [0.3, -0.9, 1.1], atol=0.1)
    assert found.residual_variance == pytest.approx(0.25, rel=0.1)
    np.testing.assert_allclose(found.variance, truth * np.exp(0.125), rtol=0.15)
    exact = confidential_gvf(truth, n, p)
    np.testing.assert_allclose(exact.variance, truth, rtol=1e-10)
    assert repr(found) == "ConfidentialGvf()"


def test_a_variance_function_by_textbook_least_squares() -> None:
    n, d = np.array([10.0, 25, 60, 150, 300]), np.array([0.021, 0.012, 0.003, 0.0017, 0.0006])
    (slope, level), (squares,), *_ = np.polyfit(np.log(n), np.log(d), 1, full=True)
    found = confidential_gvf(d, n)
    np.testing.assert_allclose(found.coefficients, [level, slope], rtol=1e-10)
    assert found.residual_variance == pytest.approx(squares / 3, rel=1e-10)
    np.testing.assert_allclose(found.variance, np.exp(level + squares / 6) * n**slope, rtol=1e-10)


def test_zero_variances_get_a_value_but_take_no_part() -> None:
    n = np.array([10, 20, 40, 80, 160])
    found = confidential_gvf([0, 0.05, 0.025, 0.0125, 0], n)
    np.testing.assert_allclose(found.variance, 1 / n, rtol=1e-12)
    assert found.fitted_areas == 3


@pytest.mark.parametrize(
    ("variance", "size", "prevalence", "message"),
    [
        ([0.1, -0.1, 0.1], [1, 2, 3], None, "variance, row 2"),
        ([0.1, 0.1, 0], [1, 2, 3], None, "too few areas"),
        ([0.1, 0.1, 0.2], [5, 5, 5], None, "intercept, log size"),
        ([0.1, 0.1, 0.2], [5, 0, 5], None, "size, row 2"),
        ([0.1, 0.1, 0.2], [5, 6, 7], [0.1, 1.0, 0.2], "prevalence, row 2"),
    ],
)
def test_unusable_variances_are_refused(variance: Any, size: Any, prevalence: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        confidential_gvf(variance, size, prevalence)
