"""Tables, prefix by prefix: what is decided is right, and what is undecided becomes right."""

from __future__ import annotations

import bisect
import functools
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from pgsr.noise.cells import Gaussian, Geometric, TwoSidedGeometric
from pgsr.noise.kernels import UNDECIDED, look_up
from pgsr.noise.table import build_table

HIGH = 1500


def as_mp(value: Fraction) -> mpmath.mpf:
    return mpmath.mpf(value.numerator) / value.denominator


@functools.cache
def exact_boundaries(name: str, masses) -> tuple[object, list[mpmath.mpf]]:
    """Cells and their true boundaries (far enough that the rest is below 2^-550)."""
    with mpmath.workprec(HIGH):
        if name.startswith("laplace"):
            scale = Fraction(name.split()[1])
            return TwoSidedGeometric(1 / scale), masses.boundaries(lambda k: masses.laplace(scale, k), 900)
        if name.startswith("gaussian"):
            sigma2 = Fraction(name.split()[1])
            cells = Gaussian(sigma2, two_sided=True)
            return cells, masses.boundaries(lambda k: masses.gaussian(sigma2, k), 600)
        t, count = Fraction(name.split()[1]), int(name.split()[2])
        whole = 1 - mpmath.exp(-as_mp(t) * count)
        truth = [(1 - mpmath.exp(-as_mp(t) * (j + 1))) / whole for j in range(count)]
        return Geometric(t, count), truth


NAMES = [
    "laplace 2",
    "laplace 1/5",
    "laplace 5/3",
    "gaussian 4",
    "gaussian 1/9",
    "gaussian 20",
    "cut 1/30 17",
]


def implied_cells(table, kernel=look_up) -> np.ndarray:
    """What the compiled look-up says of every prefix."""
    prefixes = np.arange(1 << table.bits, dtype=np.uint64)
    words = prefixes << np.uint64(64 - table.bits)
    cells = np.empty(prefixes.size, dtype=np.int64)
    kernel(
        words,
        0,
        1,
        np.uint64(64 - table.bits),
        table.low,
        table.high,
        table.guide,
        np.uint64(table.guide_shift),
        table.known_cells,
        cells,
    )
    return cells


@pytest.mark.parametrize("bits", [8, 12])
@pytest.mark.parametrize("name", NAMES)
def test_every_prefix(name, bits, masses):
    """Decided prefixes lie wholly in their cell; the undecided are only those cut by a boundary or beyond."""
    cells, truth = exact_boundaries(name, masses)
    table = build_table(cells, bits)
    implied = implied_cells(table)
    with mpmath.workprec(HIGH):
        scaled = [mpmath.ldexp(c, bits) for c in truth]
    ends = [0, *scaled]
    for prefix, cell in enumerate(implied):
        if cell == UNDECIDED:
            cut = bisect.bisect_left(scaled, prefix - mpmath.mpf(2) ** -40)
            assert scaled[cut] <= prefix + 1 + mpmath.mpf(2) ** -40 or cut >= table.known_cells
        else:
            assert ends[cell] <= prefix
            assert prefix + 1 <= scaled[cell] or cell == table.known_cells - 1 == len(truth) - 1


@pytest.mark.parametrize("bits", [8, 12])
@pytest.mark.parametrize("name", NAMES)
def test_decided_and_undecided_mass_enclose_each_probability(name, bits, masses):
    cells, truth = exact_boundaries(name, masses)
    table = build_table(cells, bits)
    implied = implied_cells(table)
    undecided = int(np.count_nonzero(implied == UNDECIDED))
    assert undecided < implied.size  # something is decided, or the test says nothing
    with mpmath.workprec(HIGH):
        ends = [mpmath.mpf(0), *truth]
        for cell in range(min(40, len(truth))):
            decided = int(np.count_nonzero(implied == cell))
            probability = mpmath.ldexp(ends[cell + 1] - ends[cell], bits)
            assert decided <= probability + mpmath.mpf(2) ** -200
            assert probability <= decided + min(2, undecided) or cell >= table.known_cells - 1


@pytest.mark.parametrize("bits", [8, 12, 64])
@pytest.mark.parametrize("name", NAMES)
def test_refinement_equals_inversion_with_512_bits(name, bits, masses):
    """Numbers at, just below and just above every boundary, to depths of up to eight words."""
    cells, truth = exact_boundaries(name, masses)
    table = build_table(cells, bits)
    rng = np.random.default_rng(5)
    length = bits + 8 * 64
    with mpmath.workprec(HIGH):
        scaled = [int(mpmath.floor(mpmath.ldexp(c, length))) for c in truth]
    picks = range(len(truth) - 1) if len(truth) < 30 else [0, 1, 2, 3, 4, 5, 8, 13, 30, 50]
    for j in picks:
        for depth in (0, 1, 60, 130, 300, 500):
            offset = int(rng.integers(1, 9)) << (length - bits - depth if depth <= length - bits else 0)
            for number in (scaled[j] - offset, scaled[j] + offset):
                if not 0 <= number < 1 << length:
                    continue
                expected = bisect.bisect_right(scaled, number)  # boundaries <= number: c_j = floor, not tied
                tail = [(number >> shift) & (2**64 - 1) for shift in range(length - bits - 64, -1, -64)]
                words = iter(tail)
                assert table.refine(number >> (length - bits), lambda words=words: next(words)) == expected


def test_guide_and_arrays_are_consistent():
    table = build_table(TwoSidedGeometric(Fraction(1, 50)), 64)
    assert np.all(table.low[1:] >= table.low[:-1])
    assert np.all(table.high[1:] >= table.high[:-1])
    assert np.all(table.high >= table.low)
    assert np.all(table.high - table.low <= 1)
    starts = np.arange(table.guide.size, dtype=np.uint64) << np.uint64(table.guide_shift)
    for start, first in zip(starts.tolist(), table.guide.tolist(), strict=True):
        assert first == int(np.searchsorted(table.low, np.uint64(start), side="right"))


def test_table_ends_where_less_than_two_to_the_minus_forty_is_left():
    scale = 12
    table = build_table(TwoSidedGeometric(Fraction(1, scale)), 64)
    left = [1.0 - float(Fraction(int(low), 2**64)) for low in table.low[[-2, -1]]]
    assert left[1] < 2.0**-40 * 1.0001
    assert left[0] > 2.0**-40 * 0.9999


@pytest.mark.parametrize("bits", [7, 65, 0])
def test_prefix_lengths_are_checked(bits):
    with pytest.raises(ValueError, match="8 to 64"):
        build_table(TwoSidedGeometric(Fraction(1, 2)), bits)


def test_too_large_a_table_is_refused():
    with pytest.raises(ValueError, match="too many cells"):
        build_table(TwoSidedGeometric(Fraction(1, 10**5)), 64)


def test_the_plain_function_of_the_kernel_does_the_same():
    table = build_table(Gaussian(Fraction(20), two_sided=True), 10)
    assert np.array_equal(implied_cells(table), implied_cells(table, look_up.py_func))


class VagueCells:
    """Correct but needlessly wide enclosures: half of the bits are thrown away."""

    count = None

    def __init__(self, cells):
        self.cells = cells

    def widen(self, enclosure, precision):
        slack = 1 << (precision // 2)
        return max(enclosure[0] - slack, 0), min(enclosure[1] + slack, 1 << precision)

    def enclosure(self, j, precision):
        return self.widen(self.cells.enclosure(j, precision), precision)

    def boundaries(self, precision):
        for enclosure in self.cells.boundaries(precision):
            yield self.widen(enclosure, precision)


@pytest.mark.parametrize("name", ["laplace 2", "gaussian 4"])
def test_wide_enclosures_cost_bits_and_change_nothing(name, masses):
    """Only comparisons that an enclosure implies may decide, on either side of a boundary."""
    cells, truth = exact_boundaries(name, masses)
    bits, more = 64, 8 * 64
    table = build_table(VagueCells(cells), bits)
    with mpmath.workprec(HIGH):
        scaled = [int(mpmath.floor(mpmath.ldexp(c, bits + more))) for c in truth]
    for j in range(12):
        # inside the first enclosure, on both sides of the boundary, at several distances from it
        for depth in (more // 2 + 40, more - 54, more - 4):
            for number in (scaled[j] - (1 << depth), scaled[j] + (1 << depth)):
                used = []
                tail = [(number >> shift) & (2**64 - 1) for shift in range(more - 64, -1, -64)]

                def next_word(tail=tail, used=used):
                    used.append(tail[len(used)])
                    return used[-1]

                assert table.refine(number >> more, next_word) == bisect.bisect_right(scaled, number)
                assert used
