"""Intervals of three-stage draws: variances by dense algebra, the bound of A, coverage by simulation."""

from __future__ import annotations

import numpy as np
import pytest

from pgsr.errors import InputError
from pgsr.noise import SeededBits
from pgsr.sae import draws, threestage
from pgsr.sae.frame import AreaEstimates, AreaFrame
from pgsr.sae.posterior import Posterior
from pgsr.sae.reshrink import reshrunk
from pgsr.sae.stage_intervals import draw_variance, model_weight
from pgsr.sae.threestage import ThreeStageMechanism

P = 0.15


def mechanism(m=16, seed=1, reshrink=False, **parts):
    """Sample sizes from 50 to 420: the noise of T~ is several times a model variance of 0.001."""
    rng = np.random.default_rng(seed)
    n = np.exp(rng.uniform(4, 6, m))
    frame = AreaFrame(
        areas=tuple(f"area{i}" for i in range(m)),
        sensitivity=3 / n,
        design=np.column_stack([np.ones(m), rng.uniform(0.1, 0.3, m)]),
        weight_total=200 * n,
        kish=1.4 / n,
    )
    given = {"rho_p": "1/1000", "rho_b": "1/20", "rho_a": "1/20", "rho_draw": "1/5", "clip": 0.25}
    given |= {"reference": 0.001, "clamp": (0.05, 0.4), **parts}
    return ThreeStageMechanism(frame=frame, reshrink=reshrink, **given)


def truth(frame, rng, a):
    """Of the normal model, which does not keep to 0..1."""
    theta = 0.08 + 0.3 * frame.design[:, 1] + np.sqrt(a) * rng.normal(size=frame.m)
    y = theta + np.sqrt(P * (1 - P) * frame.kish) * rng.normal(size=frame.m)
    return theta, AreaEstimates(areas=frame.areas, values=y)


def coverage(patch, query, a, runs):
    """Shares of areas and runs covered: by the intervals, by those at A~; runs of A~ = 0, bounds below A.

    Normals are numpy's, for speed; their law is tested elsewhere.
    """
    rng, frame = np.random.default_rng(7), query.frame
    noise = np.random.default_rng(8)
    for module in (draws, threestage):
        patch.setattr(module, "standard_normals", lambda n, _: noise.normal(size=n))
    covered, plain, zero, short = [], [], [], []
    for seed in range(runs):
        theta, data = truth(frame, rng, a)
        measured = query.measure(data, SeededBits(seed))
        table = query.estimate(measured).tables["areas"]
        stages = query.measurements(measured)["stages"]
        covered.append((table["lower"] <= theta) & (theta <= table["upper"]))
        posterior = query._posterior(measured.proportion, measured.square)
        sd = np.sqrt(draw_variance(posterior, posterior.model_variance, query.draws))
        plain.append(np.abs(table["estimate"] - theta) <= 1.96 * sd)
        zero.append(posterior.model_variance == 0)
        short.append(stages["model_variance_upper"][0] < a)
    nothing = np.array(zero)
    at_zero = float(np.array(covered)[nothing].mean()) if nothing.any() else float("nan")
    return (
        float(np.mean(covered)),
        float(np.mean(plain)),
        float(nothing.mean()),
        at_zero,
        float(np.mean(short)),
    )


@pytest.mark.parametrize("a", [0.0, 0.004])
@pytest.mark.parametrize("count", [1, 3])
def test_the_variance_of_the_error_is_that_of_dense_algebra(a, count):
    rng = np.random.default_rng(3)
    m, upper = 9, 0.011
    d = rng.uniform(0.001, 0.01, m)
    x = np.column_stack([np.ones(m), rng.normal(size=m)])
    posterior = Posterior(variance=d, model_variance=a, design=x)
    gain, sigma = posterior.gain_matrix(), posterior.covariance_matrix()
    away = gain - np.eye(m)
    error = upper * away @ away.T + gain @ np.diag(d) @ gain.T + sigma / count
    np.testing.assert_allclose(draw_variance(posterior, upper, count), np.diag(error), rtol=1e-10)
    np.testing.assert_allclose(model_weight(posterior), np.diag(away @ away.T), rtol=1e-10)
    below = draw_variance(posterior, a / 2, count)
    np.testing.assert_array_equal(below, posterior.sigma2 * (1 + 1 / count))


@pytest.mark.parametrize("count", [1, 2])
def test_the_error_of_a_predictor_at_a_larger_model_variance(count):
    rng = np.random.default_rng(4)
    m, a, upper = 8, 0.004, 0.02
    d = rng.uniform(0.001, 0.01, m)
    x = np.column_stack([np.ones(m), rng.normal(size=m)])
    posterior = Posterior(variance=d, model_variance=a, design=x)
    gain, sigma = posterior.gain_matrix(), posterior.covariance_matrix()
    columns = [reshrunk(posterior, gain @ unit, count)[0] for unit in np.eye(m)]
    back = np.column_stack(columns)  # P, since M y* is what is shrunk again
    inverse = np.linalg.inv(gain)
    noise = np.diag(d) + inverse @ sigma @ inverse.T / count
    away = back - np.eye(m)
    error = upper * away @ away.T + back @ noise @ back.T
    _, mse = reshrunk(posterior, np.zeros(m), count, upper)
    np.testing.assert_allclose(mse, np.diag(error), rtol=1e-8)
    np.testing.assert_array_equal(reshrunk(posterior, d, count, a)[1], reshrunk(posterior, d, count)[1])


def test_the_bound_is_above_the_estimate_and_rises_with_it():
    query = mechanism()
    squares = np.linspace(-0.02, 0.05, 40)
    uppers = np.array([query._upper(P, square) for square in squares])
    found = np.array([query._posterior(P, square).model_variance for square in squares])
    assert (uppers > found).all()
    assert (np.diff(uppers) >= -1e-12).all()
    assert uppers[0] == uppers[1] > 0  # nothing is said of T~ far below what A = 0 gives
    assert mechanism(rho_a="5")._upper(P, 0.002) < query._upper(P, 0.002)
    assert mechanism(rho_p="1")._upper(P, 0.002) < query._upper(P, 0.002)
    assert mechanism(rho_a="1/1000000")._upper(P, 0.002) == 0.25  # what no proportion exceeds


def test_intervals_cover_although_the_model_variance_is_lost_in_noise(monkeypatch):
    covered, plain, zero, at_zero, short = coverage(monkeypatch, mechanism(), 0.002, 200)
    assert zero > 0.2
    assert plain < 0.92
    assert covered >= 0.95
    assert at_zero >= 0.95
    assert short <= 0.1


@pytest.mark.slow
@pytest.mark.parametrize("m", [8, 16, 60])
@pytest.mark.parametrize("a", [0.0, 0.0003, 0.001, 0.003, 0.01])
def test_coverage_over_model_variances_and_numbers_of_areas(monkeypatch, m, a):
    """Means over areas and 500 runs; their standard error is below 0.01."""
    covered, _, _, _, short = coverage(monkeypatch, mechanism(m), a, 500)
    assert covered >= 0.94
    assert short <= 0.13


def test_reshrunk_errors_and_intervals_use_the_same_bound():
    query = mechanism(reshrink=True)
    _, data = truth(query.frame, np.random.default_rng(2), 0.01)
    for seed in range(10):
        measured = query.measure(data, SeededBits(seed))
        posterior = query._posterior(measured.proportion, measured.square)
        if posterior.model_variance > 0:
            break
    table = query.estimate(measured).tables["areas"]
    upper = query.measurements(measured)["stages"]["model_variance_upper"][0]
    np.testing.assert_allclose(table["sd"] ** 2, draw_variance(posterior, upper, 1), rtol=1e-12)
    assert (table["reshrunk_sd"] ** 2 > reshrunk(posterior, table["estimate"])[1]).all()


def test_a_range_too_wide_for_floating_point_is_refused():
    query = mechanism()
    frame = AreaFrame(
        areas=query.frame.areas,
        sensitivity=query.frame.sensitivity * 1e-12,
        design=query.frame.design,
        weight_total=query.frame.weight_total,
        kish=query.frame.kish,
    )
    small = ThreeStageMechanism(
        frame=frame,
        **{name: getattr(query, name) for name in ("rho_p", "rho_b", "rho_a", "rho_draw")},
        clip=0.25,
        reference=0.001,
        clamp=(0.05, 0.4),
    )
    data = AreaEstimates(areas=frame.areas, values=np.full(frame.m, 0.2))
    query.check(data)
    with pytest.raises(InputError, match="too large for its sensitivity: direct estimate of 'area0'"):
        small.check(data)
