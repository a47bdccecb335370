"""Guarantees against dense Gaussian algebra, quadrature, published values, and the theory's statements."""

from __future__ import annotations

import math

import dp_accounting
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate

from pgsr.errors import InputError
from pgsr.privacy import zcdp_to_approximate
from pgsr.sae.conversions import (
    PrivacyLoss,
    default_delta,
    delta_exact,
    epsilon_exact,
    epsilon_simple,
    renyi,
    round_up,
)
from pgsr.sae.guarantees import AreaGuarantees, area_rho, conservative_rho, moving_rho
from pgsr.sae.posterior import Posterior

D6 = [0.04, 0.09, 0.16, 0.25, 0.36, 0.49]
DELTA6 = np.array([0.05, 0.08, 0.10, 0.12, 0.15, 0.20])
SLOPE = np.column_stack([np.ones(6), [-1, 0, 1, 2, -2, 0.5]])
MILK_SD = np.fromstring(
    "0.163 0.08 0.083 0.109 0.119 0.141 0.202 0.127 0.168 0.178 0.1 0.201 0.148 0.143 0.149 0.145 "
    "0.135 0.172 0.137 0.163 0.125 0.247 0.14 0.171 0.106 0.121 0.121 0.259 0.106 0.089 0.225 0.205 "
    "0.119 0.067 0.106 0.126 0.092 0.132 0.1 0.113 0.083 0.121 0.129",
    sep=" ",
)


def toy(design=None):
    return Posterior(variance=D6, model_variance=0.1, design=design)


def random_case(seed, m=9, p=3, a=None):
    rng = np.random.default_rng(seed)
    x = np.column_stack([np.ones(m), rng.normal(size=(m, p - 1))])
    d = np.exp(rng.normal(-2, 1, m))
    a = math.exp(rng.normal(-2, 1.5)) if a is None else a
    delta = np.exp(rng.normal(-3, 0.7, m))
    return Posterior(variance=d, model_variance=a, design=x), delta


def dense(posterior):
    """M with mu = M y, and Sigma, from dense matrices."""
    d, a, x = np.diag(posterior.variance), posterior.model_variance, posterior.design
    v_inverse = np.linalg.inv(d + a * np.eye(posterior.m))
    q = np.linalg.inv(x.T @ v_inverse @ x)
    b = d @ v_inverse
    m_matrix = np.eye(posterior.m) - b + b @ x @ q @ x.T @ v_inverse
    sigma = a * b + b @ x @ q @ x.T @ b.T
    return m_matrix, sigma


# --- Published values ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("design", "joint", "marginals", "two_areas", "r"),
    [
        (None, 0.02509691475512014, 0.02825772444475698, 0.05421236445773205, (0, 0.12594415371283782)),
        (SLOPE, 0.026936040729921996, 0.03004926456793949, 0.055843291639619506, (3, 0.3819131027132426)),
    ],
)
def test_toy(design, joint, marginals, two_areas, r):
    found = AreaGuarantees(posterior=toy(design), sensitivity=DELTA6)
    assert found.joint == pytest.approx(joint, rel=1e-13)
    assert found.marginals == pytest.approx(marginals, rel=1e-13)
    assert found.free == pytest.approx(0.040816326530612256, rel=1e-13)
    assert found.correlation2[r[0]] == pytest.approx(r[1], rel=1e-12)
    assert moving_rho(toy(design), DELTA6)[0] == pytest.approx(two_areas, rel=1e-13)
    assert found.own_is_worst
    np.testing.assert_allclose(found.area, found.own, rtol=1e-13)
    assert found.joint_area == 0
    assert found.rho("sequential", 3) == pytest.approx(3 * float(found.own.sum()), rel=1e-12)


def test_milk_with_one_sensitivity():
    posterior = Posterior(variance=MILK_SD**2, model_variance=0.0543112580200617)
    found = AreaGuarantees(posterior=posterior, sensitivity=np.full(43, 0.01))
    assert found.joint == pytest.approx(0.0103126756421, rel=1e-11)
    assert found.marginals == pytest.approx(0.0103211901617, rel=1e-11)
    assert found.free == pytest.approx(0.0111383381599, rel=1e-11)


@pytest.mark.parametrize(
    ("a", "rho_k", "r_k", "marginals", "total"),
    [
        (10, 0.114205, 0.00047, 0.114258, 2.284),
        (1, 0.065625, 0.0431, 0.068452, 1.3125),
        (0.1, 0.017045, 2.111, 0.05303, 0.3409),
        (0.01, 0.0074257, 13.19, 0.1054, 0.1485),
        (0, 0.00625, 19, 0.125, 0.125),
    ],
)
def test_small_model_variances(a, rho_k, r_k, marginals, total):
    posterior = Posterior(variance=np.ones(20), model_variance=a)
    found = AreaGuarantees(posterior=posterior, sensitivity=np.full(20, 0.5))
    assert found.joint == pytest.approx(rho_k, rel=1e-3)
    assert found.correlation2[0] == pytest.approx(r_k, rel=1e-2)
    assert found.marginals == pytest.approx(marginals, rel=1e-3)
    assert found.sequential == pytest.approx(total, rel=1e-3)


# --- Dense algebra ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(8))
def test_every_figure_against_dense_algebra(seed):
    posterior, delta = random_case(seed)
    m_matrix, sigma = dense(posterior)
    found = AreaGuarantees(posterior=posterior, sensitivity=delta)
    shift = m_matrix * delta
    joint = np.array([s @ np.linalg.solve(sigma, s) / 2 for s in shift.T])
    np.testing.assert_allclose(found.own, joint, rtol=1e-9)
    variance = np.diag(sigma)
    np.testing.assert_allclose(found.marginal_own, (shift**2 / variance[:, None]).sum(axis=0) / 2, rtol=1e-10)
    reach = np.abs(shift)
    np.testing.assert_allclose(found.area, reach.max(axis=1) ** 2 / (2 * variance), rtol=1e-10)
    np.testing.assert_array_equal(found.worst, reach.argmax(axis=1))
    pairs = [
        (s @ np.linalg.solve(sigma, s) / 2, (k, l))
        for k in range(posterior.m)
        for l in range(k + 1, posterior.m)  # noqa: E741
        for s in (shift[:, k] + shift[:, l], shift[:, k] - shift[:, l])
    ]
    rho, pair = moving_rho(posterior, delta)
    assert rho == pytest.approx(max(pairs)[0], rel=1e-9)
    assert tuple(sorted(pair)) == max(pairs)[1]


def test_2462_areas_against_a_cholesky_factor():
    rng = np.random.default_rng(5)
    m = 2462
    x = np.column_stack([np.ones(m), rng.normal(size=(m, 3))])
    d = np.exp(rng.normal(-5, 0.5, m))
    posterior = Posterior(variance=d, model_variance=2.6e-3, design=x)
    delta = np.exp(rng.normal(-6, 0.5, m))
    found = AreaGuarantees(posterior=posterior, sensitivity=delta, per_area=False)
    precision = np.diag(1 / d) + (np.eye(m) - x @ np.linalg.solve(x.T @ x, x.T)) / 2.6e-3
    # rho_k = Delta^2 (Sigma)_kk / (2 D^2) with Sigma from the precision alone.
    sigma = np.linalg.inv(precision)
    np.testing.assert_allclose(found.own, delta**2 * np.diag(sigma) / (2 * d**2), rtol=1e-12)
    with pytest.raises(InputError, match="per_area"):
        found.rho("sequential")


def test_pruned_area_search_with_heavy_shrinkage_and_foreign_records():
    d = np.array([1.0, 0.01, 0.5, 2.0])
    posterior = Posterior(variance=d, model_variance=0.01, design=np.array([[10.0], [1.0], [0.3], [-4.0]]))
    delta = np.array([0.1, 0.5, 0.01, 0.2])
    rho, worst = area_rho(posterior, delta)
    reach = np.abs(posterior.gain_matrix()) * delta
    np.testing.assert_array_equal(worst, reach.argmax(axis=1))
    np.testing.assert_allclose(rho, reach.max(axis=1) ** 2 / (2 * posterior.sigma2), rtol=1e-12)
    assert not AreaGuarantees(posterior=posterior, sensitivity=delta).own_is_worst


def test_an_area_of_zeros_at_model_variance_zero_costs_nothing():
    posterior = Posterior(variance=np.ones(3), model_variance=0.0, design=np.array([[1.0], [2.0], [0.0]]))
    found = AreaGuarantees(posterior=posterior, sensitivity=np.ones(3))
    assert found.area[2] == 0
    assert found.own[2] == 0
    assert found.joint == pytest.approx(0.5 * 4 / 5, rel=1e-13)


# --- Statements of the theory -------------------------------------------------------------------------------


@given(st.integers(0, 10**6), st.floats(0, 2))
@settings(max_examples=60, deadline=None)
def test_marginals_cost_at_least_the_joint_draw_and_the_free_bound_holds_for_it(seed, a):
    posterior, delta = random_case(seed, a=a)
    found = AreaGuarantees(posterior=posterior, sensitivity=delta)
    assert (found.marginal_own >= found.own).all()
    assert found.joint <= found.marginals <= found.sequential * (1 + 1e-12)
    assert found.joint <= found.free * (1 + 1e-12)
    # No single area costs more than the joint draw, and one costs as much.
    assert float(found.area.max()) == pytest.approx(found.joint, rel=1e-9)


def test_independent_marginals_can_exceed_the_bound_free_of_the_model_variance():
    posterior = Posterior(variance=np.full(20, 1.0), model_variance=0.3)
    found = AreaGuarantees(posterior=posterior, sensitivity=np.full(20, 0.5))
    tiny = Posterior(variance=np.r_[np.full(19, 1.0), 50.0], model_variance=1e-3)
    worse = AreaGuarantees(posterior=tiny, sensitivity=np.r_[np.full(19, 0.5), 0.5])
    assert found.joint < found.free
    heavy = Posterior(variance=np.r_[1e-3, np.full(60, 10.0)], model_variance=1e-4)
    worst = AreaGuarantees(posterior=heavy, sensitivity=np.r_[1e-2, np.full(60, 1e-3)])
    assert max(g.marginals / g.free for g in (found, worse, worst)) > 1.5


@given(st.integers(0, 10**6), st.floats(0.001, 3), st.floats(0.01, 5))
@settings(max_examples=60, deadline=None)
def test_every_rho_rises_with_the_model_variance(seed, a, more):
    low, delta = random_case(seed, a=a)
    high = Posterior(variance=low.variance, model_variance=a + more, design=low.design)
    first, second = (AreaGuarantees(posterior=q, sensitivity=delta, per_area=False) for q in (low, high))
    assert (second.own >= first.own * (1 - 1e-12)).all()


def test_the_paper_s_bound_fails_for_unequal_variances_and_is_refused():
    posterior = Posterior(variance=[1.0, 0.01], model_variance=0.01, design=[[10.0], [1.0]])
    assert posterior.gain_matrix()[0, 1] == pytest.approx(3.32, abs=5e-3)
    with pytest.raises(InputError, match="proved for equal sampling variances"):
        conservative_rho(posterior, [0.1, 0.1])
    found = AreaGuarantees(posterior=posterior, sensitivity=[0.1, 0.1])
    assert float(found.area[0]) > 0.1**2 / (2 * posterior.sigma2[0])


@given(st.integers(0, 10**6), st.floats(0.001, 3))
@settings(max_examples=60, deadline=None)
def test_the_paper_s_bound_holds_for_equal_variances(seed, a):
    base, delta = random_case(seed, a=a)
    posterior = Posterior(variance=np.full(base.m, 0.3), model_variance=a, design=base.design)
    found = AreaGuarantees(posterior=posterior, sensitivity=delta)
    assert (found.area <= conservative_rho(posterior, delta) * (1 + 1e-12)).all()


def test_a_moving_record_costs_between_one_and_four_times_as_much():
    for seed in range(30):
        posterior, delta = random_case(seed)
        own = AreaGuarantees(posterior=posterior, sensitivity=delta).joint
        assert own < moving_rho(posterior, delta)[0] <= 4 * own * (1 + 1e-12)


def test_sensitivities_must_fit():
    for bad in ([0.1] * 5, [0.1] * 5 + [0.0], [0.1] * 5 + [float("nan")]):
        with pytest.raises(InputError, match="sensitivity"):
            AreaGuarantees(posterior=toy(), sensitivity=bad)
    with pytest.raises(InputError, match="unknown release"):
        AreaGuarantees(posterior=toy(), sensitivity=DELTA6).rho("means")


def test_assumptions_are_stated_in_words():
    parts = {"posterior": toy(), "sensitivity": DELTA6}
    public = AreaGuarantees(**parts)
    assert any("do not come from these data" in text for text in public.assumptions())
    assert any("independently" in text for text in public.assumptions("marginals"))
    own = AreaGuarantees(**parts, unit="household", weights_fixed=False, variances="invariant")
    assert own.assumptions()[0].startswith("Conditional figure, not a DP guarantee for these data: D_i and A")
    assert any("one household's record" in text and "may change" in text for text in own.assumptions())
    with pytest.raises(InputError, match="unknown"):
        public.assumptions("means")


# --- Conversions --------------------------------------------------------------------------------------------

CONVERSIONS = [
    (0.048, 1e-7, 1.8071686573, 1.4864913836),
    (0.188, 1e-5, 3.1304003721, 2.5054938918),
    (1.51, 1e-7, 11.3767774745, 10.0845579594),
    (17.8, 1e-5, 46.4307578158, 42.4944134187),
    (195, 1e-7, 307.1254413938, 296.7914543223),
    (49.6, 1e-5, 97.3929326601, 91.2468875268),
]


@pytest.mark.parametrize(("rho", "delta", "simple", "exact"), CONVERSIONS)
def test_epsilon_at_the_paper_s_figures(rho, delta, simple, exact):
    assert epsilon_simple(rho, delta) == pytest.approx(simple, abs=6e-11)
    # The table's last figures come from a solver with tolerance 1e-8; dp_accounting decides to 6 digits.
    assert epsilon_exact(rho, delta) == pytest.approx(exact, rel=1e-8)
    if rho < 1:
        pld = dp_accounting.pld.privacy_loss_distribution.from_gaussian_mechanism(1 / math.sqrt(2 * rho))
        assert epsilon_exact(rho, delta) == pytest.approx(pld.get_epsilon_for_delta(delta), rel=1e-5)
    gaussian = dp_accounting.get_epsilon_gaussian(1 / math.sqrt(2 * rho), delta)
    assert epsilon_exact(rho, delta) == pytest.approx(gaussian, rel=1e-6)
    assert float(zcdp_to_approximate(rho, delta, method="gaussian").epsilon) == pytest.approx(exact, rel=1e-7)


@given(st.floats(1e-8, 1e4), st.floats(1e-12, 0.5))
@settings(max_examples=100, deadline=None)
def test_exact_epsilon_meets_its_delta_and_is_below_the_simple_one(rho, delta):
    epsilon = epsilon_exact(rho, delta)
    assert 0 <= epsilon <= epsilon_simple(rho, delta)
    if epsilon > 0:
        assert delta_exact(rho, epsilon) == pytest.approx(delta, rel=1e-5)
    else:
        assert delta_exact(rho, 0.0) <= delta


def test_renyi_divergence_and_privacy_loss_by_quadrature():
    posterior, delta = random_case(3)
    k = 2
    found = AreaGuarantees(posterior=posterior, sensitivity=delta)
    shift = posterior.gain[k] * delta[k]
    sd = math.sqrt(posterior.sigma2[k])

    def density(t, centre):
        return math.exp(-((t - centre) ** 2) / (2 * sd**2)) / (sd * math.sqrt(2 * math.pi))

    for order in (1.5, 2, 4, 8):
        middle = order * shift
        value, _ = integrate.quad(
            lambda t, order=order: density(t, shift) ** order * density(t, 0.0) ** (1 - order),
            middle - 12 * sd,
            middle + 12 * sd,
            epsabs=0,
            epsrel=1e-12,
        )
        # The own term: theta_k alone costs what the joint draw costs for a record of area k.
        assert math.log(value) / (order - 1) == pytest.approx(renyi(float(found.own[k]), order), rel=1e-9)
    loss = PrivacyLoss(rho=float(found.own[k]))
    draws = np.random.default_rng(1).normal(shift, sd, 400_000)
    values = ((draws - 0) ** 2 - (draws - shift) ** 2) / (2 * sd**2)
    assert values.mean() == pytest.approx(loss.mean, abs=5 * math.sqrt(loss.variance / 4e5))
    assert values.var() == pytest.approx(loss.variance, rel=0.02)
    above = loss.mean + math.sqrt(loss.variance)
    assert loss.exceeds(above) == pytest.approx((values > above).mean(), abs=3e-3)


@pytest.mark.parametrize("design", [None, np.array([[1.0], [-3.0]])])
def test_renyi_divergence_of_both_kinds_of_draw_by_quadrature(design):
    """All areas at once, in two dimensions; one area alone, for its worst record."""
    posterior = Posterior(variance=[0.04, 0.3], model_variance=0.02, design=design)
    delta = np.array([0.05, 0.4])
    found = AreaGuarantees(posterior=posterior, sensitivity=delta)
    m_matrix, sigma = dense(posterior)
    sd = np.sqrt(np.diag(sigma))
    nodes, weights = np.polynomial.legendre.leggauss(200)

    def divergence(shift, covariance, order):
        """Of N(shift, covariance) from N(0, covariance): log of the integral of p^order q^(1 - order)."""
        size = len(shift)
        inverse, log_det = np.linalg.inv(covariance), np.linalg.slogdet(2 * math.pi * covariance)[1]
        half = 12 * np.sqrt(np.diag(covariance))
        axes = [c + h * nodes for c, h in zip(order * shift, half, strict=True)]
        points = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)
        logs = [
            -(np.einsum("...i,ij,...j", points - c, inverse, points - c) + log_det) / 2
            for c in (shift, np.zeros(size))
        ]
        values = np.exp(order * logs[0] + (1 - order) * logs[1])
        for h in half:
            values = np.tensordot(h * weights, values, axes=(0, 0))
        return math.log(float(values)) / (order - 1)

    for order in (1.5, 4, 16):
        for k in range(2):
            shift = m_matrix[:, k] * delta[k]
            joint = divergence(shift, sigma, order)
            assert joint == pytest.approx(renyi(float(found.own[k]), order), rel=1e-8)
            marginals = divergence(shift, np.diag(sd**2), order)
            assert marginals == pytest.approx(renyi(float(found.marginal_own[k]), order), rel=1e-8)
        for i in range(2):
            alone = [
                divergence(m_matrix[i, k : k + 1] * delta[k], sigma[i : i + 1, i : i + 1], order)
                for k in range(2)
            ]
            assert max(alone) == pytest.approx(renyi(float(found.area[i]), order), rel=1e-8)


def test_default_delta_is_below_one_over_n():
    assert [default_delta(n) for n in (1, 9, 10, 24197, 3_190_000)] == [0.1, 0.1, 0.01, 1e-5, 1e-7]
    for n in (1, 7, 99, 100, 12345):
        assert default_delta(n) < 1 / n
    for bad in (0, -1, 2.5, True):
        with pytest.raises(InputError, match="records"):
            default_delta(bad)


@given(st.floats(1e-15, 1e5))
def test_rounded_costs_are_above_and_close(rho):
    assert rho * (1 + 1e-10) < round_up(rho) <= rho * (1 + 2e-6) + 1e-9


def test_bad_conversions_are_refused():
    for call in (
        lambda: epsilon_exact(-1, 1e-6),
        lambda: epsilon_simple(1, 0),
        lambda: epsilon_exact(1, 1),
        lambda: renyi(1, 1),
        lambda: round_up(float("inf")),
    ):
        with pytest.raises(InputError):
            call()
    assert epsilon_exact(0, 1e-6) == 0
    assert PrivacyLoss(rho=0).exceeds(0.1) == 0
