"""The three-stage mechanism: each stage's cost by its own definition, debiasing, floors and refusals."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pgsr
from pgsr.errors import InputError
from pgsr.ledger import Ledger
from pgsr.noise import SeededBits, SystemBits
from pgsr.privacy import Neighbours
from pgsr.sae.fayherriot import confidential_fit
from pgsr.sae.frame import AreaEstimates, AreaFrame
from pgsr.sae.guarantees import AreaGuarantees
from pgsr.sae.posterior import Posterior
from pgsr.sae.stages import floored_variance, proportion_scale
from pgsr.sae.threestage import ThreeStageMechanism


def public(m=60, seed=0, p=2, n=None):
    rng = np.random.default_rng(seed)
    n = np.exp(rng.uniform(4, 6, m)) if n is None else np.full(m, float(n))
    ratio = rng.uniform(1.2, 4, m)
    kish = rng.uniform(1.1, 1.8, m) / n
    x = np.column_stack([np.ones(m), rng.normal(size=(m, p - 1))])
    frame = AreaFrame(
        areas=tuple(f"area{i}" for i in range(m)),
        sensitivity=ratio / n,
        design=x,
        weight_total=n * rng.uniform(50, 90, m),
        kish=kish,
    )
    return frame, rng


def mechanism(frame, **parts):
    given = {
        "rho_p": "0.001",
        "rho_b": "0.02",
        "rho_a": "0.04",
        "rho_draw": "0.5",
        "clip": 0.4,
        "reference": 0.004,
        "clamp": (0.02, 0.6),
    }
    return ThreeStageMechanism(frame=frame, **{**given, **parts})


def truth(frame, rng, a=0.004):
    theta = 0.15 + 0.02 * frame.design[:, 1] + math.sqrt(a) * rng.normal(size=frame.m)
    y = theta + np.sqrt(0.15 * 0.85 * frame.kish) * rng.normal(size=frame.m)
    return theta, AreaEstimates(areas=frame.areas, values=np.clip(y, 0, 1))


def run(query, data, rng=None):
    ledger = Ledger.zcdp(10, neighbours=Neighbours.SUBSTITUTE)
    return pgsr.release(query, data, ledger=ledger, rng=rng or SeededBits(1)), ledger


# --- Cost ---------------------------------------------------------------------------------------------------


def test_the_cost_is_the_sum_fixed_beforehand():
    frame, rng = public()
    query = mechanism(frame)
    assert query.event.rho == Fraction("0.561")
    _, data = truth(frame, rng)
    _, ledger = run(query, data)
    assert ledger.spent.rho == Fraction("0.561")
    assert mechanism(frame, draws=3).event.rho == Fraction("0.561")


@given(st.integers(0, 10**6), st.sampled_from(["variance", "sensitivity"]))
@settings(max_examples=40, deadline=None)
def test_no_record_costs_more_than_its_share_in_the_first_two_stages(seed, weighting):
    frame, _ = public(m=12, seed=seed)
    query = mechanism(frame, weighting=weighting)
    # Stage 1: the national mean of y in standard deviations of its noise.
    scale = proportion_scale(frame, float(query.rho_p))
    share = frame.weight_total / frame.weight_total.sum()
    cost = (share * frame.sensitivity / scale) ** 2 / 2
    assert cost.max() == pytest.approx(0.001, rel=1e-12)
    # Stage 2: the shift of beta in the metric of its covariance, from the map and the root that are used.
    stage = query._stage(0.15)
    omega = stage.omega
    x = frame.design
    g = x.T @ (omega[:, None] * x)
    np.testing.assert_allclose(stage.beta_map, np.linalg.solve(g, x.T * omega), rtol=1e-9, atol=1e-12)
    covariance = stage.beta_root @ stage.beta_root.T
    shift = stage.beta_map * frame.sensitivity
    costs = np.einsum("pk,pq,qk->k", shift, np.linalg.inv(covariance), shift) / 2
    assert costs.max() == pytest.approx(0.02, rel=1e-8)


@given(st.integers(0, 10**6), st.floats(0.01, 1), st.data())
@settings(max_examples=150, deadline=None)
def test_the_clipped_sum_never_moves_further_than_its_sensitivity(seed, clip, data):
    frame, rng = public(m=8, seed=seed)
    query = mechanism(frame, clip=clip)
    stage = query._stage(0.15)
    most = stage.t_scale * math.sqrt(2 * 0.04)
    r = rng.uniform(-2 * clip, 2 * clip, 8)
    k = data.draw(st.integers(0, 7))
    moved = r.copy()
    moved[k] += data.draw(st.floats(-1, 1)) * frame.sensitivity[k]
    values = [stage.share @ np.minimum(part**2, clip**2) for part in (r, moved)]
    assert abs(values[1] - values[0]) <= most * (1 + 1e-9) + 1e-15


def test_the_clipped_sum_attains_its_sensitivity():
    frame, _ = public(m=8, seed=3)
    stage = mechanism(frame)._stage(0.15)
    moved = [
        share * (0.4**2 - (0.4 - delta) ** 2)
        for share, delta in zip(stage.share, frame.sensitivity, strict=True)
    ]
    assert max(moved) == pytest.approx(stage.t_scale * math.sqrt(2 * 0.04), rel=1e-12)


@given(st.floats(-1, 2), st.floats(-1, 3), st.sampled_from([1, 4]))
@settings(max_examples=60, deadline=None)
def test_the_draws_keep_to_their_share_whatever_the_stages_said(proportion, square, draws):
    frame, _ = public(m=15, seed=4, n=40)
    query = mechanism(frame, draws=draws, rho_draw="0.3")
    posterior = query._posterior(proportion, square)
    found = AreaGuarantees(posterior=posterior, sensitivity=frame.sensitivity, per_area=False)
    assert draws * found.joint <= 0.3 * (1 + 1e-12)
    assert draws * found.free <= 0.3 * (1 + 1e-12)


def test_the_floor_holds_for_every_model_variance_and_design():
    rng = np.random.default_rng(5)
    for _ in range(50):
        m = 7
        delta, d = np.exp(rng.normal(-2, 1, m)), np.exp(rng.normal(-5, 2, m))
        floored = floored_variance(d, delta, 0.2)
        assert (floored >= d).all()
        x = np.column_stack([np.ones(m), rng.normal(size=m)])
        for a in (0.0, 0.1, 1e5):
            posterior = Posterior(variance=floored, model_variance=a, design=x)
            assert AreaGuarantees(posterior=posterior, sensitivity=delta).joint <= 0.2 * (1 + 1e-12)


def test_a_record_moves_a_release_with_the_same_noise_by_no_more_than_its_cost():
    """For the same first three outputs the draw moves by M_.k Delta_k."""
    frame, _ = public(m=10, seed=6)
    query = mechanism(frame)
    posterior = query._posterior(0.15, 0.01)
    sigma = posterior.covariance_matrix()
    for k in range(10):
        y = np.zeros(10)
        y[k] = frame.sensitivity[k]
        shift = posterior.mean(y)
        assert shift @ np.linalg.solve(sigma, shift) / 2 <= 0.5 * (1 + 1e-9)


# --- Accuracy -----------------------------------------------------------------------------------------------


def test_the_expectation_of_the_clipped_sum_is_debiased_exactly():
    frame, rng = public(m=14, seed=8)
    stage = mechanism(frame, clip=1e3)._stage(0.15)
    x = frame.design
    h = x @ stage.beta_map
    np.testing.assert_allclose(np.diag(h), stage.leverage, rtol=1e-9)
    v = rng.uniform(0.01, 0.1, 14)
    residual = np.eye(14) - h
    direct = stage.share @ np.diag(residual @ np.diag(v) @ residual.T)
    assert stage.expected(v) == pytest.approx(direct, rel=1e-10)
    noise = np.diag(x @ stage.beta_root @ stage.beta_root.T @ x.T)
    np.testing.assert_allclose(stage.beta_spread, noise, rtol=1e-9)
    d = v - 0.005
    expected = stage.expected(v) + stage.share @ noise
    assert stage.model_variance(expected, d) == pytest.approx(0.005, rel=1e-9)
    assert stage.model_variance(-1.0, d) == 0.0


def test_the_model_variance_is_found():
    frame, rng = public(m=400, seed=9)
    query = mechanism(frame, reshrink=True)
    found, fitted, covered, again = [], [], [], []
    for seed in range(12):
        theta, data = truth(frame, rng)
        made, _ = run(query, data, SeededBits(seed))
        stages = made.measurements["stages"]
        assert stages["proportion"][0] == pytest.approx(0.15, abs=0.02)
        found.append(stages["model_variance"][0])
        fitted.append(
            confidential_fit(data.values, 0.15 * 0.85 * frame.kish, frame.design).model_variance.value
        )
        table = made.estimate.tables["areas"]
        covered.append((table["lower"] <= theta) & (theta <= table["upper"]))
        again.append((table["reshrunk"] - theta) ** 2 / (table["estimate"] - theta).var())
    assert np.mean(found) == pytest.approx(np.mean(fitted), abs=3e-4)
    assert np.std(found) < 8e-4
    assert np.mean(covered) == pytest.approx(0.95, abs=0.02)
    assert np.mean(again) < 1


# --- What is stated and refused -----------------------------------------------------------------------------


def test_the_guarantee_holds_nothing_invariant_and_names_what_is_fixed():
    frame, _ = public()
    guarantee = mechanism(frame).guarantee(SystemBits())
    assert guarantee.invariants == ()
    assert guarantee.sampler == "idealised"
    for part in ("0.561-zCDP", "nothing", "clip 0.4", "floored", "posterior means are not published"):
        assert part.lower() in guarantee.text.lower()


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"rho_p": 0}, "rho_p"),
        ({"rho_draw": "x"}, "rho_draw"),
        ({"clip": 0.0}, "clip"),
        ({"reference": -1.0}, "reference"),
        ({"clamp": (0.0, 0.5)}, "clamp"),
        ({"clamp": (0.5, 0.2)}, "clamp"),
        ({"clamp": (0.5, 1.0)}, "clamp"),
        ({"deff": 0.0}, "deff"),
        ({"draws": 0}, "draws"),
        ({"weighting": "equal"}, "weighting"),
    ],
)
def test_parameters_that_do_not_fit_are_refused(parts, message):
    frame, _ = public()
    with pytest.raises(InputError, match=message):
        mechanism(frame, **parts)


def test_frames_and_data_that_do_not_fit_are_refused():
    frame, rng = public()
    parts = {"areas": frame.areas, "sensitivity": frame.sensitivity, "design": frame.design}
    with pytest.raises(InputError, match="weight_total"):
        mechanism(AreaFrame(**parts, kish=frame.kish))
    with pytest.raises(InputError, match="kish"):
        mechanism(AreaFrame(**parts, weight_total=frame.weight_total))
    _, data = truth(frame, rng)
    values = data.values.copy()
    values[4] = 1.25
    with pytest.raises(InputError, match="direct estimates, row 5") as refusal:
        run(mechanism(frame), AreaEstimates(areas=frame.areas, values=values))
    assert "1.25" not in str(refusal.value)


def test_nothing_confidential_is_written():
    frame, rng = public()
    _, data = truth(frame, rng)
    query = mechanism(frame, draws=2)
    made, _ = run(query, data)
    stages = made.measurements["stages"]
    posterior = query._posterior(stages["proportion"][0], stages["clipped_square"][0])
    national = frame.weight_total @ data.values / frame.weight_total.sum()
    secret = np.r_[posterior.mean(data.values), data.values, national, posterior.beta(data.values)]
    tables = (*made.estimate.tables.values(), *made.measurements.values())
    numbers = np.concatenate(
        [np.asarray(c, dtype=float) for table in tables for c in table.values() if c.dtype.kind in "if"]
    )
    assert np.abs(numbers[:, None] - secret).min() > 1e-9
