"""Exact samplers: many draws by compiled table look-ups, the undecided ones in Python integers.

Three schemes, all exact; a law chooses one by its scale.

DirectSampler  one table over the cells 0, +1, -1, +2, -2, ...

DigitSampler   a discrete Laplace with a large scale. The magnitude is base * H + R. For a geometric
               magnitude, P[M = m] proportional to exp(-t m), and exp(-t (base H + R)) is the product
               of exp(-(t base) H) and exp(-t R): H is geometric, R is geometric cut off at `base`,
               and they are independent. A fair sign follows, and (-, 0) is rejected as a whole, so
               that 0 is not counted twice: each k keeps a weight proportional to exp(-t |k|).

StripSampler   a discrete Gaussian with a large sigma. The magnitude is x = w h + r with w = 2^strip_bits
               and 0 <= r < w. Since x^2 = (w h)^2 + r (2 w h + r),
                   exp(-x^2 / 2 sigma2) = exp(-h^2 / (2 sigma2 / w^2)) * exp(-d),
                   d = r (2 w h + r) / (2 sigma2).
               So: h from a table of the half-Gaussian with sigma2 / w^2, r uniform, accept with
               probability exp(-d), fair sign, reject (-, 0); after any rejection all is drawn afresh.
               The coin exp(-d), 0 <= d <= 1, is that of Canonne, Kamath and Steinke (2020, Algorithm 1):
               let A_k be 1 with probability d / k; if A_K is the first 0, accept when K is odd. Indeed
               P[K > k] = d^k / k!, so P[K odd] = 1 - d + d^2/2! - d^3/3! + ... = exp(-d). Each A_k
               compares a uniform number with a rational one, exactly, with as many bits as that takes.
               The compiled loop accepts when A_1 = 0 whatever r is; d is below 1/50, so it mostly does.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from pgsr.errors import InputError, PgsrError
from pgsr.noise.bits import BitSource
from pgsr.noise.exact import ceil_div
from pgsr.noise.table import WORD_BITS, Table

Words = NDArray[np.uint64]
Ints = NDArray[np.int64]
Ratio = tuple[int, int]  # numerator and positive denominator

CHUNK = 1 << 15  # draws at a time: their words stay in the processor's cache
_LARGEST = (1 << 63) - 1


class Sampler(ABC):
    """Exact draws of one law.

    words_per_draw   random words that a first attempt takes; more are read only when undecided
    """

    words_per_draw: int

    def sample(self, n: int, rng: BitSource, out: Ints | None = None) -> Ints:
        """Independent draws, (n,) int64, written to `out` if given.

        Memory beyond the result is below three megabytes. The same seed and the same calls give the
        same draws. Raises InputError for a negative n or an `out` that does not fit, and PgsrError if
        a draw exceeds int64 (less likely than 2^-1000; it depends on the noise only, not on data).
        """
        result = _result_array(n, out)
        undecided = np.empty(min(n, CHUNK), dtype=np.int64)
        for start in range(0, n, CHUNK):
            block = result[start : start + CHUNK]
            words = _read_words(rng, self.words_per_draw * block.size)
            count = self._fill(words, block, undecided)
            for position in undecided[:count].tolist():
                first = position * self.words_per_draw
                attempt = [int(word) for word in words[first : first + self.words_per_draw]]
                block[position] = _checked_int64(self._resolve(attempt, rng))
        return result

    @abstractmethod
    def _fill(self, words: Words, block: Ints, undecided: Ints) -> int:
        """Write the certain draws to `block`, list the positions of the others, return their number."""

    @abstractmethod
    def _resolve(self, attempt: list[int], rng: BitSource) -> int:
        """The draw that begins with the words of `attempt`, exactly; fresh words come from `rng`."""


class DirectSampler(Sampler):
    """Inversion over the cells 0, +1, -1, +2, -2, ... of one table."""

    words_per_draw = 1

    def __init__(self, table: Table) -> None:
        self.table = table

    def _fill(self, words: Words, block: Ints, undecided: Ints) -> int:
        from pgsr.noise.kernels import combine_direct

        return combine_direct(_cells(self.table, words, 0, 1), block, undecided)

    def _resolve(self, attempt: list[int], rng: BitSource) -> int:
        cell = _refined_cell(self.table, attempt[0], rng)
        magnitude = (cell + 1) // 2
        return magnitude if cell % 2 == 1 else -magnitude


class DigitSampler(Sampler):
    """Magnitude base * H + R from two tables, a sign bit, and no "-0" (see the module)."""

    words_per_draw = 3

    def __init__(self, *, high: Table, low: Table, base: int) -> None:
        if high.bits != low.bits or low.cells.count != base:
            raise ValueError("the low table must have `base` cells and both the same prefixes")
        self.high = high
        self.low = low
        self.base = base

    def _fill(self, words: Words, block: Ints, undecided: Ints) -> int:
        from pgsr.noise.kernels import combine_digits

        high_digits = _cells(self.high, words, 0, self.words_per_draw)
        low_digits = _cells(self.low, words, 1, self.words_per_draw)
        return combine_digits(words, high_digits, low_digits, self.base, block, undecided)

    def _resolve(self, attempt: list[int], rng: BitSource) -> int:
        while True:
            high_digit = _refined_cell(self.high, attempt[0], rng)
            low_digit = _refined_cell(self.low, attempt[1], rng)
            negative = attempt[2] & 1 == 1
            magnitude = self.base * high_digit + low_digit
            if not (negative and magnitude == 0):
                return -magnitude if negative else magnitude
            attempt = [_read_word(rng) for _ in range(self.words_per_draw)]


class StripSampler(Sampler):
    """A strip from a half-Gaussian table, a uniform offset and an exact coin (see the module)."""

    words_per_draw = 3

    def __init__(self, *, strips: Table, strip_bits: int, sigma2: Fraction) -> None:
        if not 1 <= strip_bits < WORD_BITS:
            raise ValueError("a strip is 2 to 2^63 wide")
        self.strips = strips
        self.strip_bits = strip_bits
        self.sigma2 = sigma2
        largest_offset = (1 << strip_bits) - 1
        largest = [self._exponent(strip, largest_offset) for strip in range(strips.known_cells)]
        if any(numerator >= denominator for numerator, denominator in largest):
            raise ValueError("strips too wide: an exponent inside the table reaches 1")
        # U <= d only if floor(2^bits U) <= floor(2^bits d); the largest d of a strip caps them all.
        caps = [(numerator << strips.bits) // denominator for numerator, denominator in largest]
        self.coin_cap = np.array(caps, dtype=np.uint64)

    def _exponent(self, strip: int, offset: int) -> Ratio:
        """The d = r (2 w h + r) / (2 sigma2) of the acceptance."""
        numerator = offset * (2 * (strip << self.strip_bits) + offset) * self.sigma2.denominator
        return numerator, 2 * self.sigma2.numerator

    def _fill(self, words: Words, block: Ints, undecided: Ints) -> int:
        from pgsr.noise.kernels import combine_strips

        strips = _cells(self.strips, words, 0, self.words_per_draw)
        shift = _word_shift(self.strips)
        return combine_strips(words, shift, strips, self.strip_bits, self.coin_cap, block, undecided)

    def _resolve(self, attempt: list[int], rng: BitSource) -> int:
        while True:
            strip = _refined_cell(self.strips, attempt[0], rng)
            offset = attempt[1] >> (WORD_BITS - self.strip_bits)
            negative = attempt[1] & 1 == 1
            magnitude = (strip << self.strip_bits) + offset
            coin = attempt[2] >> (WORD_BITS - self.strips.bits)
            accepted = _exponential_coin(self._exponent(strip, offset), coin, self.strips.bits, rng)
            if accepted and not (negative and magnitude == 0):
                return -magnitude if negative else magnitude
            attempt = [_read_word(rng) for _ in range(self.words_per_draw)]


def _exponential_coin(exponent: Ratio, prefix: int, bits: int, rng: BitSource) -> bool:
    """True with probability exp(-exponent); `prefix` holds the first `bits` bits of the first coin.

    An exponent above 1 (only far outside a table) is split into equal parts of at most 1, all of
    whose coins must succeed.
    """
    numerator, denominator = exponent
    parts = max(1, ceil_div(numerator, denominator))
    for already_drawn in range(parts):
        if already_drawn > 0:
            prefix, bits = _read_word(rng), WORD_BITS
        k = 1
        while _uniform_below((numerator, denominator * parts * k), prefix, bits, rng):
            k += 1
            prefix, bits = _read_word(rng), WORD_BITS
        if k % 2 == 0:
            return False
    return True


def _uniform_below(bound: Ratio, prefix: int, bits: int, rng: BitSource) -> bool:
    """Whether the uniform number that starts with `prefix` is below the rational `bound`, exactly."""
    numerator, denominator = bound
    while True:
        scaled = numerator << bits
        if (prefix + 1) * denominator <= scaled:
            return True
        if prefix * denominator >= scaled:
            return False
        prefix = (prefix << WORD_BITS) | _read_word(rng)
        bits += WORD_BITS


def _refined_cell(table: Table, word: int, rng: BitSource) -> int:
    """The cell of the uniform number whose first bits are the first bits of `word`."""
    return table.refine(word >> (WORD_BITS - table.bits), lambda: _read_word(rng))


def _cells(table: Table, words: Words, first: int, step: int) -> Ints:
    """What the words first, first + step, ... imply: a cell of `table` each, or UNDECIDED."""
    from pgsr.noise.kernels import look_up

    cells = np.empty(words.size // step, dtype=np.int64)
    guide_shift = np.uint64(table.guide_shift)
    look_up(
        words,
        first,
        step,
        _word_shift(table),
        table.low,
        table.high,
        table.guide,
        guide_shift,
        table.known_cells,
        cells,
    )
    return cells


def _word_shift(table: Table) -> np.uint64:
    """By how many bits a word is shifted to leave a prefix of the table."""
    return np.uint64(WORD_BITS - table.bits)


def _read_word(rng: BitSource) -> int:
    """One fresh word as a Python integer."""
    return int(_read_words(rng, 1)[0])


def _read_words(rng: BitSource, n: int) -> Words:
    """Fresh words; refuses a source that gives anything else."""
    words = rng.words(n)
    if words.shape != (n,) or words.dtype != np.uint64:
        raise PgsrError("the source of random bits did not return the words asked for")
    return words


def _result_array(n: int, out: Ints | None) -> Ints:
    """`out`, checked, or a new array."""
    if n < 0:
        raise InputError("a negative number of draws", "noise.sample")
    if out is None:
        return np.empty(n, dtype=np.int64)
    if out.shape != (n,) or out.dtype != np.int64 or not out.flags.c_contiguous or not out.flags.writeable:
        raise InputError("`out` is not a writable, contiguous int64 array of n draws", "noise.sample")
    return out


def _checked_int64(value: int) -> int:
    """`value`, or PgsrError if it does not fit."""
    if abs(value) > _LARGEST:
        raise PgsrError("a draw exceeds the range of int64: nothing was returned")
    return value
