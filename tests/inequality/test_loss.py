"""The exact loss of Cauchy noise: formula, published constants, and the slips that it must refuse."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgsr.errors import InputError
from pgsr.inequality.loss import alpha_max, check_constants, corner_beta, default_beta, exact_loss, pair_loss
from pgsr.inequality.query import IndexQuery

# epsilon, alpha_max at beta = epsilon/2, corner alpha, corner beta, exact loss of (epsilon/8, epsilon/2)
TABLE = [
    ("0.25", 0.231220458686, 0.250651550482, 0.060931586236, 0.1283920233),
    ("0.5", 0.497070949648, 0.505224633616, 0.227336293803, 0.2559491721),
    ("1", 1.042190610987, 1.042190610987, 0.735325664056, 0.5090055162),
    ("1.5", 1.644633463872, 1.644633463872, 1.309634466866, 0.7600182915),
    ("2", 2.350402387288, 2.350402387288, 1.875547674095, 1.0097201702),
]

epsilons = st.fractions(Fraction(1, 1000), 64, max_denominator=10**6)


def mp(value):
    return mpmath.mpf(value.numerator) / value.denominator


def high_precision_loss(alpha, beta):
    a, b = mp(alpha), mp(beta)
    return mpmath.acosh(max(1 + a**2 / 2, mpmath.cosh(b) + a**2 / 2 * mpmath.exp(-b)))


@pytest.mark.parametrize(("epsilon", "half", "corner_alpha", "corner", "paper"), TABLE)
def test_constants_of_the_table(epsilon, half, corner_alpha, corner, paper):
    epsilon = Fraction(epsilon)
    assert float(alpha_max(epsilon, epsilon / 2)) == pytest.approx(half, abs=6e-13)
    assert float(corner_beta(epsilon)) == pytest.approx(corner, abs=4e-12)
    assert float(alpha_max(epsilon, corner_beta(epsilon))) == pytest.approx(corner_alpha, abs=6e-13)
    assert exact_loss(float(epsilon / 8), float(epsilon / 2)) == pytest.approx(paper, abs=6e-11)


def test_the_older_pair_of_constants():
    assert exact_loss(1 / 6, 1 / 6) == pytest.approx(0.2261, abs=5e-5)
    check_constants(Fraction(1), Fraction(1, 6), Fraction(1, 6))


@given(epsilons, st.fractions(0, 1).filter(lambda share: share < 1))
def test_alpha_max_is_private_and_the_largest(epsilon, share):
    beta = epsilon * share
    try:
        alpha = alpha_max(epsilon, beta)
    except InputError:
        assert share > 1 - Fraction(1, 10**20)
        return
    check_constants(epsilon, alpha, beta)
    with mpmath.workdps(150):
        assert high_precision_loss(alpha, beta) <= mp(epsilon)
        assert high_precision_loss(alpha + Fraction(2, 2**64), beta) > mp(epsilon)
    with pytest.raises(InputError, match="loss"):
        check_constants(epsilon, alpha + Fraction(2, 2**64), beta)


@given(epsilons)
def test_the_default_beta_dominates_half_of_epsilon(epsilon):
    beta = default_beta(epsilon)
    assert epsilon / 2 <= beta < epsilon
    assert alpha_max(epsilon, beta) >= alpha_max(epsilon, epsilon / 2)
    if beta > epsilon / 2:
        assert alpha_max(epsilon, beta) == alpha_max(epsilon, Fraction(0))  # 2 sinh(epsilon/2)


@pytest.mark.parametrize(
    ("ratio", "distance", "alpha"), [(1.0, 0.0, 0.3), (1.7, 0.4, 1.0), (0.2, 0.2, 2.0), (3.0, 1.0, 0.05)]
)
def test_the_formula_is_the_largest_ratio_of_densities(ratio, distance, alpha):
    """S = 1, S' = ratio: the supremum over outputs, in both directions, found numerically."""

    def density(o, f, scale):
        z = (o - f) / scale
        return 1 / (scale * math.pi * (1 + z * z))

    outputs = 20 * np.tan(np.linspace(-1.5707, 1.5707, 2_000_001))
    one = density(outputs, 0.0, 1 / alpha)
    other = density(outputs, distance, ratio / alpha)
    losses = np.log(one / other)
    worst = pair_loss(distance, 1.0, ratio, alpha)
    assert losses.max() <= worst + 1e-12
    assert -losses.min() <= worst + 1e-12
    if distance > 0:
        assert losses.max() == pytest.approx(worst, rel=1e-6)
        assert -losses.min() == pytest.approx(worst, rel=1e-6)


def test_no_pair_within_the_conditions_loses_more():
    for epsilon, share in itertools.product((0.25, 1.0, 2.0), (0.1, 0.5, 0.9)):
        beta = Fraction(epsilon * share).limit_denominator(1000)
        alpha = float(alpha_max(Fraction(epsilon), beta))
        losses = [
            pair_loss(distance, 1.0, math.exp(b), alpha)
            for b in np.linspace(0, float(beta), 50)
            for distance in np.linspace(0, 1, 50)
        ]
        assert max(losses) <= epsilon * (1 + 1e-12)
        assert max(losses) >= epsilon * (1 - 1e-9)


def test_both_conditions_are_needed():
    """A distance up to the larger of the two sensitivities is too far: 1.53 epsilon at the corner."""
    epsilon = Fraction(1)
    beta = corner_beta(epsilon)
    alpha = float(alpha_max(epsilon, beta))
    larger = math.exp(float(beta))
    assert pair_loss(larger, 1.0, larger, alpha) == pytest.approx(1.53, abs=0.005)
    assert pair_loss(1.0, 1.0, larger, alpha) <= 1 + 1e-9


@pytest.mark.parametrize("epsilon", ["0.25", "1", "2"])
@pytest.mark.parametrize("gamma", [2, 4])
def test_the_public_slip_of_precedence_is_refused(epsilon, gamma):
    """`epsilon / 2 * (gamma + 1)` where `epsilon / (2 (gamma + 1))` was meant."""
    epsilon = Fraction(epsilon)
    slip = epsilon / 2 * (gamma + 1)
    for call in (
        lambda: alpha_max(epsilon, slip),
        lambda: check_constants(epsilon, epsilon / (2 * (gamma + 1)), slip),
        lambda: IndexQuery(index="mld", epsilon=epsilon, noise="cauchy", beta=slip),
    ):
        with pytest.raises(InputError, match="beta"):
            call()
    # The same slip in both constants with a beta that is small enough is caught by the loss itself.
    with pytest.raises(InputError, match="privacy loss"):
        check_constants(epsilon, slip, epsilon / 2)
    assert exact_loss(float(slip), float(slip)) > float(epsilon)


@pytest.mark.parametrize(
    ("epsilon", "beta"), [("0", "0"), ("-1", "0"), ("65", "1"), ("1", "1"), ("1", "-0.1"), ("1", "3")]
)
def test_constants_out_of_range_are_refused(epsilon, beta):
    with pytest.raises(InputError):
        alpha_max(Fraction(epsilon), Fraction(beta))


def test_alpha_must_be_positive():
    with pytest.raises(InputError, match="alpha"):
        check_constants(Fraction(1), Fraction(0), Fraction(1, 2))
