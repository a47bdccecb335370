"""Exact random integers: uniform, geometric, and the weights and grids of the releases."""

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
from pgsr.inequality.draws import RandomIntegers, geometrics
from pgsr.inequality.grid import Grid, power_of_two_below
from pgsr.inequality.weights import START, ratio_numerator, rungs, settled, weights
from pgsr.noise import SeededBits


class Words:
    """The given words, then a fault."""

    secure = False
    description = "scripted"

    def __init__(self, words):
        self.left = list(words)

    def words(self, n):
        given, self.left = self.left[:n], self.left[n:]
        return np.array(given + [2**64 - 1] * (n - len(given)), dtype=np.uint64)


def test_bits_come_in_order_and_once():
    words = [0x0123456789ABCDEF, 0xFEDCBA9876543210, *range(6)]
    integers = RandomIntegers(Words(words))
    stream = sum(word << (64 * i) for i, word in enumerate(words))
    for count in (1, 0, 3, 60, 64, 70, 200):
        assert integers.bits(count) == stream & ((1 << count) - 1)
        stream >>= count


@pytest.mark.parametrize("limit", [1, 2, 3, 7, 8, 2**70 + 1])
def test_uniform_integers_by_rejection(limit):
    integers = RandomIntegers(SeededBits(limit))
    drawn = [integers.below(limit) for _ in range(4000)]
    assert min(drawn) >= 0
    assert max(drawn) < limit
    if limit <= 8:
        counts = np.bincount(drawn, minlength=limit)
        assert ((counts - 4000 / limit) ** 2 / (4000 / limit)).sum() < 26  # 0.1 % level for up to 8 values


def test_a_geometric_counts_the_words_below_the_threshold():
    a = 1 << 63
    words = [0, 5, a - 1, a, a + 7, 1, 2**64 - 1]  # three successes, a failure, a failure, one success, ...
    assert geometrics(a, 3, Words(words)).tolist() == [3, 0, 1]


@pytest.mark.parametrize("r", [0.01, 0.5, 0.9, 0.999])
def test_geometrics_follow_their_law(r):
    numerator = int(Fraction(r) * 2**64)
    drawn = geometrics(numerator, 20_000, SeededBits(9))
    assert drawn.min() >= 0
    assert drawn.mean() == pytest.approx(r / (1 - r), abs=5 * math.sqrt(r) / (1 - r) / math.sqrt(20_000))
    assert (drawn == 0).mean() == pytest.approx(1 - r, abs=5 * math.sqrt(r * (1 - r) / 20_000))


def test_geometrics_need_no_more_than_a_chunk_at_a_time(monkeypatch):
    whole = geometrics(3 << 62, 500, SeededBits(1))
    monkeypatch.setattr("pgsr.inequality.draws._CHUNK", 16)
    assert geometrics(3 << 62, 500, SeededBits(1)).tolist() == whole.tolist()


exponents = st.fractions(Fraction(1, 10**9), 64, max_denominator=10**9).filter(
    lambda t: t >= Fraction(1, 2**30)
)


@given(exponents)
def test_ratios_are_never_below_the_exponential(t):
    numerator = ratio_numerator(t)
    with mpmath.workdps(80):
        exact = mpmath.exp(-mpmath.mpf(t.numerator) / t.denominator) * 2**64
        assert exact <= numerator <= exact + 2
    assert 0 < numerator < 2**64


@pytest.mark.parametrize("t", [0, -1, Fraction(1, 2**50), 65])
def test_ratios_out_of_range_are_refused(t):
    with pytest.raises(ValueError, match="range"):
        ratio_numerator(Fraction(t))


@given(st.fractions(Fraction(1, 50), 8, max_denominator=100), st.sampled_from([1, 2, 17, 2**20, START]))
def test_weights_never_fall_faster_than_the_ratio(t, start):
    numerator = ratio_numerator(t)
    made = weights(numerator, 10**6, start)
    assert made[0] == start
    assert min(made) >= 1
    assert settled(numerator, made[-1])
    with mpmath.workdps(60):
        for s in (1, 4):
            floor = Fraction(numerator, 2**64) ** s
            # Beyond the end all weights equal the last.
            longer = made + [made[-1]] * s
            assert all(longer[i + s] >= longer[i] * floor for i in range(len(made)))
    assert weights(numerator, 3, start) == made[:3]


def test_weights_rounded_one_by_one_do_fall_faster():
    """The slip that the recurrence avoids: round(W_0 e^(-t i)) loses more than e^-t in a step."""
    with mpmath.workdps(40):
        t = mpmath.mpf(1) / 8
        apart = [int(mpmath.ceil(20 * mpmath.exp(-t * i))) for i in range(40)]
        assert any(b < a * mpmath.exp(-t) for a, b in itertools.pairwise(apart))


def test_the_number_of_rungs_is_public():
    assert rungs(Fraction(1), 10**6, 5) == 5
    assert rungs(Fraction(1), 10**6, 10**9) == math.ceil(2 * (math.log(10**6 + 1) + 40))
    assert rungs(Fraction(1, 2), 10**6, 10**9) == math.ceil(4 * (math.log(10**6 + 1) + 40))


@given(st.floats(1e-300, 1e300), st.integers(0, 20))
def test_steps_are_powers_of_two(value, bits):
    step = power_of_two_below(value, bits)
    assert step <= Fraction(value) / 2**bits < 2 * step
    assert (step.numerator & (step.numerator - 1)) == 0
    assert (step.denominator & (step.denominator - 1)) == 0


@given(
    st.fractions(-1, 20, max_denominator=1000),
    st.fractions(-1, 20, max_denominator=1000),
    st.fractions(Fraction(1, 100), 3, max_denominator=100),
    st.floats(0.1, 15.0),
)
def test_rounding_moves_no_pair_further_apart(a, b, step, largest):
    grid = Grid.covering(largest, step)
    assert (grid.last - 1) * step < Fraction(largest) or grid.last == 1
    assert grid.last * step >= Fraction(largest)
    assert abs(grid.nearest(a) - grid.nearest(b)) <= math.ceil(abs(a - b) / step)
    inside = min(max(a, Fraction(0)), grid.last * step)
    assert abs(grid.nearest(a) * step - inside) <= step / 2


def test_impossible_grids_are_refused():
    for step in (Fraction(0), Fraction(-1), Fraction(1, 2**70)):
        with pytest.raises(InputError, match="step"):
            Grid.covering(1.0, step)
    assert Grid.covering(0.5, Fraction(2)).last == 1
    assert Grid.covering(1.0, Fraction(3, 8)).value(3, 1.0) == 1.0
