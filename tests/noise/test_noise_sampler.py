"""Samplers, draw by draw: against inversion in exact arithmetic fed with the same bits."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pgsr.errors import InputError, PgsrError
from pgsr.noise import DiscreteGaussian, DiscreteLaplace, SeededBits
from pgsr.noise import sampler as sampler_module
from pgsr.noise.cells import Gaussian, Geometric
from pgsr.noise.sampler import DigitSampler, DirectSampler, StripSampler
from pgsr.noise.table import build_table

HIGH = 1500
ONES = 2**64 - 1


def as_mp(value: Fraction) -> mpmath.mpf:
    return mpmath.mpf(value.numerator) / value.denominator


def uniform(prefix_word: int, bits: int, rest: list[int]) -> mpmath.mpf:
    """The number whose bits are the first `bits` of a word and then all of `rest`."""
    number, length = prefix_word >> (64 - bits), bits
    for word in rest:
        number, length = (number << 64) | word, length + 64
    return mpmath.ldexp(number, -length)


def digit_sampler(t: Fraction, base: int, bits: int) -> DigitSampler:
    high, low = build_table(Geometric(t * base), bits), build_table(Geometric(t, base), bits)
    return DigitSampler(high=high, low=low, base=base)


def strip_sampler(sigma2: Fraction, strip_bits: int, bits: int) -> StripSampler:
    strips = build_table(Gaussian(sigma2 / 4**strip_bits, two_sided=False), bits)
    return StripSampler(strips=strips, strip_bits=strip_bits, sigma2=sigma2)


SAMPLERS = {
    "laplace direct": lambda bits: DiscreteLaplace(scale=Fraction(7, 2)).sampler(bits),
    "gaussian direct": lambda bits: DiscreteGaussian(sigma2=Fraction(12)).sampler(bits),
    "laplace digits": lambda bits: digit_sampler(Fraction(1, 20), 9, bits),
    "gaussian strips": lambda bits: strip_sampler(Fraction(300), 1, bits),
}


@pytest.mark.parametrize("bits", [8, 10, 64])
@pytest.mark.parametrize(
    ("name", "mass", "parameter"),
    [
        ("laplace direct", "laplace", Fraction(7, 2)),
        ("gaussian direct", "gaussian", Fraction(12)),
    ],
)
def test_direct_draws_equal_inversion_with_512_bits(name, mass, parameter, bits, masses, scripted):
    sampler = SAMPLERS[name](bits)
    rng = np.random.default_rng(11)
    with mpmath.workprec(HIGH):
        truth = masses.boundaries(lambda k: getattr(masses, mass)(parameter, k), 500)
        refined = 0
        for _ in range(500):
            words = [int(word) for word in rng.integers(0, 2**64, size=9, dtype=np.uint64)]
            if rng.random() < 0.3:  # a number that follows a boundary for a while
                at = int(mpmath.floor(mpmath.ldexp(truth[int(rng.integers(0, 12))], bits + 512)))
                words[0] = (at >> 512) << (64 - bits)
                depth = int(rng.integers(1, 8))
                for i in range(1, depth):
                    words[i] = (at >> (512 - 64 * i)) & ONES
            source = scripted(words)
            value = int(sampler.sample(1, source)[0])
            refined += source.used > 1
            number = uniform(words[0], bits, words[1:])
            cell = next(j for j, boundary in enumerate(truth) if number < boundary)
            assert value == masses.value_of_cell(cell)
    assert refined > 40


@pytest.mark.parametrize("base", [2, 9, 64])
@pytest.mark.parametrize("bits", [8, 64])
def test_digit_draws_equal_inversion_of_both_digits(base, bits, scripted):
    t = Fraction(1, 20)
    sampler = digit_sampler(t, base, bits)
    rng = np.random.default_rng(12)
    rejected = 0
    for _ in range(500):
        words = [int(word) for word in rng.integers(0, 2**64, size=60, dtype=np.uint64)]
        if rng.random() < 0.1:
            words[0] = words[1] = 0  # magnitude 0: half of them are "-0"
        source = scripted(words)
        value = int(sampler.sample(1, source)[0])
        with mpmath.workprec(HIGH):
            expected, used, tries = reference_digit_draw(words, t, base, bits)
        rejected += tries > 1
        assert (value, source.used) == (expected, used)
    assert rejected > 12


def reference_digit_draw(words: list[int], t: Fraction, base: int, bits: int) -> tuple[int, int, int]:
    """The same draw from logarithms: an independent inversion (and how many words and tries it took)."""
    position, tries = 0, 0
    while True:
        tries += 1
        three, position = words[position : position + 3], position + 3
        digits = []
        for word, whole in ((three[0], mpmath.mpf(1)), (three[1], 1 - mpmath.exp(-as_mp(t) * base))):
            step = as_mp(t) * (base if len(digits) == 0 else 1)
            prefix, length = word >> (64 - bits), bits
            while True:  # the digit is floor(-log(1 - U whole) / step); both ends of U's interval must agree
                ends = [mpmath.ldexp(prefix, -length) * whole, mpmath.ldexp(prefix + 1, -length) * whole]
                if ends[1] < 1:
                    low, high = (-mpmath.log(1 - end) / step for end in ends)
                    # an interval that ends exactly on the last boundary is inside the last cell
                    last = len(digits) == 1 and prefix + 1 == 1 << length
                    if mpmath.floor(low) == (base - 1 if last else mpmath.floor(high)):
                        break
                prefix, length = (prefix << 64) | words[position], length + 64
                position += 1
            digits.append(int(mpmath.floor(low)))
        magnitude = base * digits[0] + digits[1]
        if not (three[2] & 1 and magnitude == 0):
            return (-magnitude if three[2] & 1 else magnitude), position, tries


@pytest.mark.parametrize("bits", [8, 64])
@pytest.mark.parametrize("strip_bits", [1, 2])
def test_strip_draws_equal_a_direct_reading_of_the_scheme(strip_bits, bits, scripted):
    sigma2 = Fraction(3001, 3)
    sampler = strip_sampler(sigma2, strip_bits, bits)
    rng = np.random.default_rng(13)
    rejected = 0
    with mpmath.workprec(600):
        weights = [mpmath.exp(-as_mp(Fraction((h << strip_bits) ** 2) / (2 * sigma2))) for h in range(700)]
        total, boundaries = mpmath.mpf(0), []
        for weight in weights:
            total += weight
            boundaries.append(total)
        boundaries = [boundary / total for boundary in boundaries]
        for _ in range(500):
            words = [int(word) for word in rng.integers(0, 2**64, size=80, dtype=np.uint64)]
            if rng.random() < 0.3:
                words[2] = int(rng.integers(0, 2**58, dtype=np.uint64))  # a first coin that may well be 1
            if rng.random() < 0.1:
                words[0] = words[1] = 0
                words[1] |= int(rng.integers(0, 2))
            source = scripted(words)
            value = int(sampler.sample(1, source)[0])
            expected, tries, used = reference_strip_draw(words, sigma2, strip_bits, bits, boundaries)
            rejected += tries > 1
            assert (value, source.used) == (expected, used)
    assert rejected > 25


def reference_strip_draw(words, sigma2, strip_bits, bits, boundaries):
    """Strip by inversion, coin by comparing uniforms with d / k; intervals decide, as bits are read."""
    position, tries = 0, 0

    def extend(prefix, length):
        nonlocal position
        position += 1
        return (prefix << 64) | words[position - 1], length + 64

    while True:
        tries += 1
        three, position = words[position : position + 3], position + 3
        prefix, length = three[0] >> (64 - bits), bits
        while True:
            low, high = mpmath.ldexp(prefix, -length), mpmath.ldexp(prefix + 1, -length)
            strip = sum(1 for boundary in boundaries if boundary <= low)
            if high <= boundaries[strip]:
                break
            prefix, length = extend(prefix, length)
        offset = three[1] >> (64 - strip_bits)
        x = (strip << strip_bits) + offset
        d = (Fraction(x**2) - Fraction((strip << strip_bits) ** 2)) / (2 * sigma2)
        prefix, length, k = three[2] >> (64 - bits), bits, 1
        while True:
            while Fraction(prefix, 2**length) < d / k < Fraction(prefix + 1, 2**length):
                prefix, length = extend(prefix, length)
            if not Fraction(prefix, 2**length) < d / k:
                break
            k += 1
            prefix, length = extend(0, 0)
        if k % 2 == 0:
            continue
        if three[1] & 1 and x == 0:
            continue
        return (-x if three[1] & 1 else x), tries, position


@pytest.mark.parametrize("name", list(SAMPLERS))
def test_prefixes_of_ones_are_beyond_the_table_and_resolved(name, scripted):
    sampler = SAMPLERS[name](64)
    source = scripted([ONES, 0, ONES] if sampler.words_per_draw == 3 else [ONES], SeededBits(3))
    value = int(sampler.sample(1, source)[0])
    assert source.used > sampler.words_per_draw
    assert abs(value) > 20  # at the far end of the table


def test_tiny_prefixes_leave_the_law_unchanged():
    """Eight-bit prefixes refine most draws; the counts still follow the law (chi-square, 4 sigma)."""
    for name, law in [
        ("laplace digits", DiscreteLaplace(scale=Fraction(20))),
        ("gaussian strips", DiscreteGaussian(sigma2=Fraction(300))),
    ]:
        draws = SAMPLERS[name](8).sample(15_000, SeededBits(21))
        inside = np.arange(-30, 31)
        expected = np.array([law.probability(int(k)) for k in inside]) * draws.size
        observed = np.array([(draws == k).sum() for k in inside])
        statistic = ((observed - expected) ** 2 / expected).sum()
        assert abs(statistic - inside.size) < 5 * np.sqrt(2 * inside.size)


@given(
    scale=st.fractions(min_value=Fraction(1, 3), max_value=40),
    bits=st.sampled_from([8, 9, 16, 33]),
    word=st.integers(0, ONES),
    rest=st.lists(st.integers(0, ONES), min_size=8, max_size=8),
)
@settings(max_examples=80)
def test_random_scales_against_logarithms(scale, bits, word, rest):
    """Inversion of |X| from the closed form of the cumulative, at 1500 bits."""
    words = iter(rest)
    sampler = DiscreteLaplace(scale=scale).sampler(bits)
    assert isinstance(sampler, DirectSampler)
    cell = sampler.table.refine(word >> (64 - bits), lambda: next(words))
    with mpmath.workprec(HIGH):
        a = mpmath.exp(-1 / as_mp(scale))
        left = 1 - uniform(word, bits, rest)  # U falls in cell j iff 1 - c_j < 1 - U <= 1 - c_(j-1)

        def tail(j: int) -> mpmath.mpf:
            k = (j + 1) // 2
            return a**k if j % 2 else 2 * a ** (k + 1) / (1 + a)

        assert tail(cell) < left
        assert cell == 0 or left <= tail(cell - 1)


def test_strip_coin_caps_are_exact():
    sampler = DiscreteGaussian(sigma2=Fraction(10**13, 7)).sampler()
    assert isinstance(sampler, StripSampler)
    width = 1 << sampler.strip_bits
    for strip in (0, 1, 100, sampler.strips.known_cells - 1):
        largest = Fraction((width - 1) * (2 * width * strip + width - 1)) / (2 * sampler.sigma2)
        assert int(sampler.coin_cap[strip]) == int(largest * 2**64)
        assert largest < Fraction(1, 50)


def test_strips_that_are_too_wide_are_refused():
    with pytest.raises(ValueError, match="strips too wide"):
        strip_sampler(Fraction(16), 2, 64)


def test_the_coin_accepts_with_probability_exp_minus_d():
    rng = SeededBits(31)
    for exponent in ((1, 3), (1, 1), (5, 2)):
        n = 8_000
        accepted = sum(
            sampler_module._exponential_coin(exponent, int(rng.words(1)[0]) >> 56, 8, rng) for _ in range(n)
        )
        p = float(np.exp(-exponent[0] / exponent[1]))
        assert abs(accepted - n * p) < 5 * np.sqrt(n * p * (1 - p))


@pytest.mark.parametrize(
    "law",
    [
        DiscreteLaplace(scale=3),
        DiscreteLaplace(scale=10**5),
        DiscreteGaussian(sigma2=9),
        DiscreteGaussian(sigma2=10**9),
    ],
)
def test_sampling_interface(law):
    n = sampler_module.CHUNK + 7
    first = law.sample(n, SeededBits(4))
    assert first.dtype == np.int64
    assert first.shape == (n,)
    assert np.array_equal(first, law.sample(n, SeededBits(4)))
    assert not np.array_equal(first, law.sample(n, SeededBits(5)))
    out = np.zeros(n, dtype=np.int64)
    assert law.sample(n, SeededBits(4), out) is out
    assert np.array_equal(out, first)
    assert law.sample(0, SeededBits(4)).shape == (0,)
    source = SeededBits(4)
    assert not np.array_equal(law.sample(n, source), law.sample(n, source))


def test_bad_calls_are_refused():
    law = DiscreteLaplace(scale=3)
    rng = SeededBits(1)
    with pytest.raises(InputError, match="negative number"):
        law.sample(-1, rng)
    read_only = np.zeros(4, dtype=np.int64)
    read_only.flags.writeable = False
    for bad in (np.zeros(3, np.int64), np.zeros(4, np.int32), np.zeros(8, np.int64)[::2], read_only):
        with pytest.raises(InputError, match="`out` is not"):
            law.sample(4, rng, bad)


def test_a_source_that_gives_too_little_is_refused():
    class Short:
        secure = True
        description = "short"

        def words(self, n):
            return np.zeros(max(n - 1, 0), dtype=np.uint64)

    with pytest.raises(PgsrError, match="did not return the words"):
        DiscreteLaplace(scale=3).sample(5, Short())


def test_a_draw_beyond_int64_is_refused():
    for value in (2**63, -(2**63)):
        with pytest.raises(PgsrError, match="int64"):
            sampler_module._checked_int64(value)
    assert sampler_module._checked_int64(-(2**63) + 1) == -(2**63) + 1


@pytest.mark.parametrize("name", list(SAMPLERS))
def test_the_plain_functions_of_the_kernels_do_the_same(name, monkeypatch):
    from pgsr.noise import kernels

    sampler = SAMPLERS[name](9)
    expected = sampler.sample(3000, SeededBits(8))
    for kernel in ("look_up", "combine_direct", "combine_digits", "combine_strips"):
        monkeypatch.setattr(kernels, kernel, getattr(kernels, kernel).py_func)
    assert np.array_equal(sampler.sample(3000, SeededBits(8)), expected)
