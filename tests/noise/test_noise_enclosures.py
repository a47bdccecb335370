"""Enclosures enclose: against mpmath at a much higher precision, for random rational parameters."""

from __future__ import annotations

import itertools
from fractions import Fraction

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pgsr.noise import DiscreteGaussian, DiscreteLaplace
from pgsr.noise.cells import Gaussian, Geometric, TwoSidedGeometric
from pgsr.noise.exact import exp_minus, powers

HIGH = 1500  # bits of the reference


def as_mp(value: Fraction) -> mpmath.mpf:
    return mpmath.mpf(value.numerator) / value.denominator


def assert_encloses(enclosure: tuple[int, int], truth: mpmath.mpf, precision: int, width: int) -> None:
    low, high = enclosure
    with mpmath.workprec(HIGH):
        scaled = mpmath.ldexp(truth, precision)
        slack = mpmath.ldexp(1, precision - HIGH + 100)  # the reference is rounded itself
        assert low <= scaled + slack
        assert scaled - slack <= high
    assert high - low <= width
    assert low >= 0
    assert high <= 1 << precision


positive = st.fractions(min_value=Fraction(1, 1000), max_value=2000)


@given(t=st.fractions(min_value=0, max_value=400), precision=st.integers(8, 600))
@settings(max_examples=150)
def test_exponential(t, precision):
    with mpmath.workprec(HIGH):
        assert_encloses(exp_minus(t, precision), mpmath.exp(-as_mp(t)), precision, width=2)


@pytest.mark.parametrize(
    "t",
    [Fraction(1, 10**9), Fraction(1, 2**30), Fraction(1, 3), Fraction(255, 256), Fraction(1), Fraction(64)],
)
@pytest.mark.parametrize("precision", [64, 72, 128, 192, 1024])
def test_exponential_at_special_arguments(t, precision):
    with mpmath.workprec(HIGH):
        assert_encloses(exp_minus(t, precision), mpmath.exp(-as_mp(t)), precision, width=2)


def test_exponential_rejects_negative_and_is_exact_at_zero():
    with pytest.raises(ValueError, match="t >= 0"):
        exp_minus(Fraction(-1), 64)
    assert exp_minus(Fraction(0), 64) == (1 << 64, 1 << 64)


def test_powers_stay_enclosures_after_many_steps():
    t = Fraction(1, 7919)
    with mpmath.workprec(HIGH):
        for k, power in enumerate(itertools.islice(powers(t, 128), 20_000), start=1):
            if k % 997 == 0 or k < 4:
                assert_encloses(power, mpmath.exp(-as_mp(t) * k), 128, width=3)


@given(scale=positive, j=st.integers(0, 3000), precision=st.integers(64, 400))
@settings(max_examples=120)
def test_laplace_law(scale, j, precision):
    with mpmath.workprec(HIGH):
        a = mpmath.exp(-1 / as_mp(scale))
        k = (j + 1) // 2
        # c_j = P[-k < X < k] plus the cells of magnitude k that are among 0..j
        truth = 1 - 2 * a ** (k + 1) / (1 + a)
        if j % 2 == 1:
            truth -= (1 - a) / (1 + a) * a**k
    law = DiscreteLaplace(scale=scale)
    assert_encloses(law.enclosure(j, precision), truth, precision, width=3)


def test_laplace_truth_is_the_sum_of_the_masses(masses):
    scale = Fraction(7, 3)
    with mpmath.workprec(HIGH):
        sums = masses.boundaries(lambda k: masses.laplace(scale, k), 80)
    for j, truth in enumerate(sums):
        assert_encloses(DiscreteLaplace(scale=scale).enclosure(j, 200), truth, 200, width=3)


@given(sigma2=st.fractions(min_value=Fraction(1, 200), max_value=150), precision=st.integers(64, 300))
@settings(max_examples=30)
def test_gaussian_law(masses_class, sigma2, precision):
    with mpmath.workprec(HIGH):
        sums = masses_class.boundaries(lambda k: masses_class.gaussian(sigma2, k), 90)
    law = DiscreteGaussian(sigma2=sigma2)
    for j in (0, 1, 2, 3, 10, 25, 60, 89):
        assert_encloses(law.enclosure(j, precision), sums[j], precision, width=3)


@pytest.fixture(scope="session")
def masses_class(request):
    # hypothesis allows no function-scoped fixture; the class has no state
    from_conftest = request.config.pluginmanager.get_plugins()
    return next(plugin.Masses for plugin in from_conftest if hasattr(plugin, "Masses"))


@pytest.mark.parametrize("sigma2", [Fraction(4), Fraction(1000, 7), Fraction(10**12, 4**10)])
def test_half_gaussian(masses, sigma2):
    with mpmath.workprec(HIGH):
        whole = masses.gaussian(sigma2, 0) + (1 - masses.gaussian(sigma2, 0)) / 2
        total = mpmath.mpf(0)
        truths = []
        for k in range(400):
            total += masses.gaussian(sigma2, k) / whole
            truths.append(total)
    cells = Gaussian(sigma2, two_sided=False)
    for j in (0, 1, 2, 17, 399):
        assert_encloses(cells.enclosure(j, 128), truths[j], 128, width=3)
    for j, enclosure in enumerate(itertools.islice(cells.boundaries(128), 400)):
        assert_encloses(enclosure, truths[j], 128, width=3)


@pytest.mark.parametrize("count", [None, 2, 50, 1000])
@pytest.mark.parametrize("t", [Fraction(1, 3), Fraction(1, 12345), Fraction(1, 10**9)])
def test_geometric(count, t):
    cells = Geometric(t, count)
    for j, enclosure in enumerate(itertools.islice(cells.boundaries(96), 1000)):
        with mpmath.workprec(HIGH):
            truth = 1 - mpmath.exp(-as_mp(t) * (j + 1))
            if count is not None:
                truth /= 1 - mpmath.exp(-as_mp(t) * count)
        assert_encloses(enclosure, truth, 96, width=3)
        assert_encloses(cells.enclosure(j, 96), truth, 96, width=3)
    assert j == (999 if count is None else count - 1)
    if count is not None:
        assert enclosure == (1 << 96, 1 << 96)


@pytest.mark.parametrize("cells", [TwoSidedGeometric(Fraction(1, 9)), Gaussian(Fraction(81), two_sided=True)])
def test_boundaries_and_enclosure_speak_of_the_same_number(cells):
    for j, (low, high) in enumerate(itertools.islice(cells.boundaries(128), 120)):
        other_low, other_high = cells.enclosure(j, 128)
        assert max(low, other_low) <= min(high, other_high)
        finer_low, finer_high = cells.enclosure(j, 256)
        assert low << 128 <= finer_high
        assert finer_low <= high << 128


def test_gaussian_beyond_the_summed_cells():
    """Cells that the finite sum does not reach get an enclosure that still holds and ends at 1."""
    low, high = DiscreteGaussian(sigma2=Fraction(1)).enclosure(10_000, 64)
    assert high == 1 << 64
    assert (1 << 64) - 2 <= low < 1 << 64


@pytest.mark.slow
def test_laplace_table_at_scale_a_million():
    scale = Fraction(10**6)
    for j, enclosure in enumerate(itertools.islice(TwoSidedGeometric(1 / scale).boundaries(128), 500_000)):
        if j % 49_999 == 0:
            low, high = DiscreteLaplace(scale=scale).enclosure(j, 128)
            assert max(low, enclosure[0]) <= min(high, enclosure[1])
