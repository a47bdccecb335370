"""Trimming, floors, counterfactuals, robustness, sample size, regressions, errors at equal rho."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize

from pgsr.errors import InputError
from pgsr.sae.accuracy import equal_rho_errors
from pgsr.sae.guarantees import AreaGuarantees, own_rho
from pgsr.sae.levers import (
    equal_weights,
    floor_for_any_model,
    floor_for_this_model,
    robustness,
    sample_size,
)
from pgsr.sae.loglog import log_log
from pgsr.sae.posterior import Posterior
from pgsr.sae.trimming import trim, trim_to_bias

WEIGHTS = st.lists(st.floats(0.1, 30), min_size=2, max_size=12).map(np.array)


def case(m=40, a=0.004, seed=0):
    rng = np.random.default_rng(seed)
    n = np.exp(rng.uniform(3.5, 6, m))
    ratio = rng.uniform(1, 6, m)
    d = 0.12 * rng.uniform(1, 2, m) / n
    x = np.column_stack([np.ones(m), rng.normal(size=m)])
    return Posterior(variance=d, model_variance=a, design=x), ratio / n, n


# --- Trimming -----------------------------------------------------------------------------------------------


@given(WEIGHTS, st.floats(1, 5))
@settings(max_examples=200)
def test_trimming_keeps_the_total_and_the_cap(weights, ratio):
    after = trim(weights, ratio)
    cap = ratio * weights.mean()
    assert after.sum() == pytest.approx(weights.sum(), rel=1e-12)
    assert after.max() <= cap * (1 + 1e-12)
    assert (after > 0).all()
    # Those below the cap keep their proportions, and no one below it loses.
    below = after < cap * (1 - 1e-9)
    scale = (after / weights)[below]
    if scale.size:
        assert scale.min() >= 1 - 1e-12
        assert scale.max() == pytest.approx(scale.min(), rel=1e-9)
    # The least total variation of any weights under the cap with this total.
    moved = np.abs(after - weights).sum() / 2
    assert moved == pytest.approx(np.maximum(weights - cap, 0).sum(), rel=1e-9, abs=1e-9)


def test_trimming_moves_the_least_by_linear_programming():
    w = np.array([9.0, 1.0, 2.0, 4.0, 0.5])
    cap = 1.5 * w.mean()
    k = w.size
    # minimise sum t with |w' - w| <= t, sum w' = sum w, 0 <= w' <= cap
    best = optimize.linprog(
        np.r_[np.zeros(k), np.ones(k)],
        A_ub=np.block([[np.eye(k), -np.eye(k)], [-np.eye(k), -np.eye(k)]]),
        b_ub=np.r_[w, -w],
        A_eq=np.r_[np.ones(k), np.zeros(k)][None, :],
        b_eq=[w.sum()],
        bounds=[(0, cap)] * k + [(0, None)] * k,
    )
    assert np.abs(trim(w, 1.5) - w).sum() == pytest.approx(best.fun, rel=1e-9)


def test_the_search_uses_the_public_bound_and_keeps_to_it():
    rng = np.random.default_rng(3)
    area = np.repeat(["a", "b", "c"], [30, 50, 20])
    w = np.exp(rng.normal(0, 1, 100))
    found = trim_to_bias(w, area, bias=0.05, lower=-1, upper=1)
    table = found.table
    assert table["bias_bound"].max() == pytest.approx(0.05, rel=1e-6)
    assert (table["ratio_after"] <= found.ratio * (1 + 1e-9)).all()
    assert (table["sensitivity_after"] <= table["sensitivity_before"] * (1 + 1e-12)).all()
    assert (table["kish_after"] <= table["kish_before"] * (1 + 1e-12)).all()
    for k, label in enumerate("abc"):
        rows = area == label
        for _ in range(50):
            y = rng.choice([-1.0, 1.0], rows.sum())
            means = [(v[rows] * y).sum() / v[rows].sum() for v in (w, found.weights)]
            assert abs(means[0] - means[1]) <= table["bias_bound"][k] + 1e-12
        # Attained: +1 where weight was lost, -1 where it was gained.
        y = np.where(found.weights[rows] < w[rows], 1.0, -1.0)
        means = [(v[rows] * y).sum() / v[rows].sum() for v in (w, found.weights)]
        assert abs(means[0] - means[1]) == pytest.approx(table["bias_bound"][k], rel=1e-9)
    one = trim_to_bias(w, area, bias=0.05, only=["b"])
    np.testing.assert_array_equal(one.weights[area != "b"], w[area != "b"])
    equal = trim_to_bias(w, area, bias=10.0)
    assert equal.ratio == 1
    np.testing.assert_allclose(equal.table["ratio_after"], 1, rtol=1e-9)


def test_bad_searches_are_refused():
    for parts in ({"bias": 0.0}, {"bias": 0.1, "only": ["x"]}, {"bias": 0.1, "only": []}):
        with pytest.raises(InputError):
            trim_to_bias([1.0, 2.0], ["a", "a"], **parts)
    with pytest.raises(InputError, match="ratio"):
        trim([1.0, 2.0], 0.5)


# --- Floors and counterfactuals -----------------------------------------------------------------------------


@given(st.integers(0, 1000), st.floats(0.005, 0.5))
@settings(max_examples=30, deadline=None)
def test_floors_reach_their_target(seed, target):
    posterior, delta, _ = case(m=15, seed=seed)
    any_model = floor_for_any_model(posterior.variance, delta, target)
    this = floor_for_this_model(posterior, delta, target)
    assert (this >= posterior.variance * (1 - 1e-12)).all()
    assert (this <= any_model * (1 + 1e-9)).all()
    for d in (any_model, this):
        made = Posterior(variance=d, model_variance=0.004, design=posterior.design)
        assert AreaGuarantees(posterior=made, sensitivity=delta, per_area=False).joint <= target * (1 + 1e-8)
    # The floor for this model is no larger than it must be: where it binds, rho is at the target.
    made = Posterior(variance=this, model_variance=0.004, design=posterior.design)
    own = own_rho(made, delta)
    raised = this > posterior.variance * (1 + 1e-6)
    np.testing.assert_allclose(own[raised], target, rtol=1e-6)
    none = floor_for_this_model(posterior, delta, 100.0)
    np.testing.assert_allclose(none, posterior.variance, rtol=1e-9)


def test_equal_weights_both_ways():
    posterior, delta, n = case()
    kish = np.full(40, 1.5) / n
    table = equal_weights(posterior, delta, n, kish)
    np.testing.assert_allclose(table["factor_fixed"], (delta * n) ** 2, rtol=1e-12)
    again = Posterior(variance=posterior.variance / 1.5, model_variance=0.004, design=posterior.design)
    np.testing.assert_allclose(table["rho_recomputed"], own_rho(again, 1 / n), rtol=1e-12)
    assert (table["factor_recomputed"] < table["factor_fixed"]).all()


def test_robustness_and_sample_size():
    posterior, delta, _ = case()
    table = robustness(posterior, delta, [-0.5, -0.1, 0.0, 0.1, 0.5])
    assert table["joint"][2] == pytest.approx(float(own_rho(posterior, delta).max()), rel=1e-14)
    assert table["change_median"][2] == 0
    assert (np.diff(table["joint"]) > 0).all()
    assert (np.diff(table["change_median"]) > 0).all()
    assert (table["change_least"][:2] < 0).all()
    assert (table["change_greatest"][:2] < 0).all()
    what_if = sample_size(posterior, delta, [0.5, 1, 2, 4])
    assert what_if["joint"][1] == pytest.approx(table["joint"][2], rel=1e-14)
    assert (np.diff(what_if["joint"]) < 0).all()
    np.testing.assert_allclose(what_if["free"] * [0.5, 1, 2, 4], what_if["free"][1], rtol=1e-12)
    for bad in ((robustness, [-1.5]), (robustness, []), (sample_size, [0.0]), (sample_size, [])):
        with pytest.raises(InputError):
            bad[0](posterior, delta, bad[1])


# --- Regressions --------------------------------------------------------------------------------------------


def test_log_log_recovers_slopes_with_honest_intervals():
    rng = np.random.default_rng(4)
    inside = 0
    for _ in range(200):
        n, ratio = np.exp(rng.normal(5, 0.6, 30)), np.exp(rng.normal(1, 0.4, 30))
        rho = np.exp(1 - 0.7 * np.log(n) + 1.9 * np.log(ratio) + 0.3 * rng.normal(size=30))
        table = log_log(rho, {"n": n, "ratio": ratio})
        inside += int(table["lower"][1] <= -0.7 <= table["upper"][1])
    assert list(table["term"]) == ["intercept", "n", "ratio"]
    assert 180 <= inside <= 199
    exact = log_log(2 * n**-1.0 * ratio**2, {"n": n, "ratio": ratio})
    np.testing.assert_allclose(exact["slope"], [np.log(2), -1, 2], atol=1e-12)
    assert exact["correlation"][1] == pytest.approx(np.corrcoef(np.log(n), np.log(2 * ratio**2 / n))[0, 1])


def test_bad_regressions_are_refused():
    for outcome, features in (
        ([1.0, 2.0], {"n": [1.0, 2.0]}),
        ([1.0, 2.0, 3.0, -1.0], {"n": [1.0, 2.0, 3.0, 4.0]}),
        ([1.0, 2.0, 3.0, 4.0], {"n": [2.0] * 4}),
    ):
        with pytest.raises(InputError):
            log_log(outcome, features)


# --- Accuracy at equal rho ----------------------------------------------------------------------------------


def test_errors_at_equal_rho():
    m, delta = 500, np.full(500, 0.02)
    alike = Posterior(variance=np.full(m, 0.01), model_variance=0.005)
    rho, table = equal_rho_errors(alike, delta)
    means = {name: float(np.mean(column)) for name, column in table.items()}
    assert rho == pytest.approx(float(own_rho(alike, delta).max()))
    # Areas alike: a draw shrunk again is worth as much as noisy direct estimates.
    assert means["predictor"] < means["noisy_direct"] == pytest.approx(means["reshrunk"], rel=0.01)
    assert means["reshrunk"] / means["draw"] == pytest.approx(1 - (2 / 3) / 2, rel=0.01)
    # Unequal areas: noise that uses the budget in every area is better than either draw.
    unequal = Posterior(variance=np.linspace(0.004, 0.03, m), model_variance=0.005)
    _, table = equal_rho_errors(unequal, delta)
    means = {name: float(np.mean(column)) for name, column in table.items()}
    assert means["noisy_direct"] < 0.9 * means["reshrunk"] < means["draw"]
    # One common number: the draw has 2 D/m, noisy direct estimates D/m + D.
    common = Posterior(variance=np.full(50, 0.01), model_variance=0.0)
    _, table = equal_rho_errors(common, np.full(50, 0.02))
    np.testing.assert_allclose(table["draw"], 2 * 0.01 / 50, rtol=1e-12)
    np.testing.assert_allclose(table["noisy_direct"], 0.01 / 50 + 0.01, rtol=1e-12)
