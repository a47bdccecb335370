"""The two laws as data: what they accept, what they say of themselves, their probabilities."""

from __future__ import annotations

import copy
import dataclasses
import math
import pickle
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pgsr.errors import InputError
from pgsr.noise import DiscreteGaussian, DiscreteLaplace, NoiseLaw, SeededBits, sample


@pytest.mark.parametrize("bad", [0, -1, Fraction(-1, 3), 0.5, "1", None, True, 2**30 + 1])
def test_scales_that_are_refused(bad):
    with pytest.raises(InputError, match="scale is not"):
        DiscreteLaplace(scale=bad)


@pytest.mark.parametrize("bad", [0, -1, Fraction(-1, 3), 0.5, "1", None, True, 2**60 + 1])
def test_variances_that_are_refused(bad):
    with pytest.raises(InputError, match="sigma2 is not"):
        DiscreteGaussian(sigma2=bad)


def test_messages_carry_no_value():
    with pytest.raises(InputError) as caught:
        DiscreteLaplace(scale=-12345)
    assert "12345" not in str(caught.value)


@pytest.mark.parametrize(
    ("law", "text"),
    [
        (DiscreteLaplace(scale=Fraction(24, 7)), {"law": "discrete Laplace", "scale": "24/7"}),
        (DiscreteGaussian(sigma2=100), {"law": "discrete Gaussian", "sigma2": "100"}),
    ],
)
def test_laws_are_plain_frozen_data(law, text):
    assert isinstance(law, NoiseLaw)
    assert law.describe() == text
    assert law.name == text["law"]
    field = dataclasses.fields(law)[0].name
    assert isinstance(getattr(law, field), Fraction)
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(law, field, Fraction(1))
    with pytest.raises(TypeError):
        type(law)(Fraction(1))
    before = hash(law)
    law.sample(3, SeededBits(1))
    for twin in (copy.copy(law), copy.deepcopy(law), pickle.loads(pickle.dumps(law))):
        assert twin == law
        assert hash(twin) == before
    assert len(pickle.dumps(law)) < 300
    assert "_sampler" not in repr(law)


@given(scale=st.fractions(min_value=Fraction(1, 50), max_value=10**9), k=st.integers(-100, 100))
@settings(max_examples=150)
def test_laplace_numbers(scale, k):
    law = DiscreteLaplace(scale=scale)
    with mpmath.workprec(400):
        a = mpmath.exp(-mpmath.mpf(scale.denominator) / scale.numerator)
        assert law.variance == pytest.approx(float(2 * a / (1 - a) ** 2), rel=1e-13)
        expected = float((1 - a) / (1 + a) * a ** abs(k))
    assert law.probability(k) == pytest.approx(expected, rel=1e-10, abs=1e-300)


@given(sigma2=st.fractions(min_value=Fraction(1, 50), max_value=10**4), k=st.integers(-40, 40))
@settings(max_examples=60)
def test_gaussian_numbers(sigma2, k):
    law = DiscreteGaussian(sigma2=sigma2)
    reach = int(40 * math.sqrt(sigma2)) + 40
    support = np.arange(-reach, reach + 1).astype(float)
    weights = np.exp(-(support**2) / (2 * float(sigma2)))
    assert law.variance == pytest.approx((support**2 * weights).sum() / weights.sum(), rel=1e-11)
    expected = math.exp(-k * k / (2 * float(sigma2))) / weights.sum()
    assert law.probability(k) == pytest.approx(expected, rel=1e-11, abs=1e-300)


@pytest.mark.parametrize(
    "law", [DiscreteLaplace(scale=Fraction(1, 10**6)), DiscreteGaussian(sigma2=Fraction(1, 10**400))]
)
def test_vanishing_noise(law):
    """Extreme parameters neither overflow nor fail."""
    assert law.variance == 0.0
    assert law.probability(0) == 1.0
    assert law.probability(1) == 0.0
    assert not law.sample(1000, SeededBits(1)).any()


def test_the_function_and_the_method_agree():
    law = DiscreteLaplace(scale=Fraction(5))
    out = np.empty(50, dtype=np.int64)
    assert sample(law, 50, SeededBits(9), out) is out
    assert np.array_equal(out, law.sample(50, SeededBits(9)))
