"""Compiled loops of the samplers: table look-ups that either are certain or say that they are not.

Imported only when something is drawn, because it loads numba. A loop writes the certain values and
lists the positions of the others; `pgsr.noise.sampler` resolves those in exact Python integers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.uint64]
Ints = NDArray[np.int64]
Guide = NDArray[np.int32]
Function = TypeVar("Function", bound=Callable[..., Any])

UNDECIDED = -1


def compiled(function: Function) -> Function:
    """`function` compiled by numba (cached on disk, without the interpreter lock), its type kept."""
    return cast("Function", numba.njit(cache=True, nogil=True)(function))


@compiled
def look_up(
    words: Words,
    first: int,
    step: int,
    word_shift: np.uint64,
    low: Words,
    high: Words,
    guide: Guide,
    guide_shift: np.uint64,
    known_cells: int,
    cells: Ints,
) -> None:
    """The cell that each prefix implies, or UNDECIDED, from the words first, first + step, ...

    A prefix is a word shifted right by word_shift; the arrays are those of `Table`, and b below is the b
    of that module.
    """
    for i in range(cells.size):
        prefix = words[first + step * i] >> word_shift
        b = np.int64(guide[prefix >> guide_shift])
        while b < low.size and low[b] <= prefix:
            b += 1
        # b boundaries have low <= prefix. `high` does not fall: if the last of them is surely below the
        # prefix, all of them are.
        if b >= known_cells or (b > 0 and high[b - 1] >= prefix):
            b = np.int64(UNDECIDED)
        cells[i] = b


@compiled
def combine_direct(cells: Ints, out: Ints, undecided: Ints) -> int:
    """Values of the cells 0, +1, -1, +2, ...; returns how many positions `undecided` lists."""
    count = 0
    for i in range(out.size):
        cell = cells[i]
        if cell == UNDECIDED:
            undecided[count] = i
            count += 1
        # The sign by arithmetic: a branch on a random sign would be predicted wrongly half the time.
        out[i] = ((cell + 1) >> 1) * (2 * (cell & 1) - 1)
    return count


@compiled
def combine_digits(
    words: Words, high_digits: Ints, low_digits: Ints, base: int, out: Ints, undecided: Ints
) -> int:
    """Magnitude base * high + low, sign from the last of three words; "-0" is listed as undecided."""
    count = 0
    for i in range(out.size):
        high_digit = high_digits[i]
        low_digit = low_digits[i]
        magnitude = base * high_digit + low_digit
        negative = np.int64(words[3 * i + 2] & np.uint64(1))
        if high_digit < 0 or low_digit < 0 or (magnitude == 0 and negative == 1):  # UNDECIDED is below 0
            undecided[count] = i
            count += 1
        out[i] = magnitude * (1 - 2 * negative)
    return count


@compiled
def combine_strips(
    words: Words,
    word_shift: np.uint64,
    strips: Ints,
    strip_bits: int,
    coin_cap: Words,
    out: Ints,
    undecided: Ints,
) -> int:
    """Three words a draw: strip, offset and sign, coin; a coin above its strip's cap surely accepts.

    All other draws, and "-0", are listed as undecided.
    """
    count = 0
    offset_shift = np.uint64(64 - strip_bits)
    for i in range(out.size):
        strip = strips[i]
        offset = np.int64(words[3 * i + 1] >> offset_shift)
        negative = np.int64(words[3 * i + 1] & np.uint64(1))
        coin = words[3 * i + 2] >> word_shift
        magnitude = (strip << strip_bits) + offset
        if strip == UNDECIDED or coin <= coin_cap[strip] or (magnitude == 0 and negative == 1):
            undecided[count] = i
            count += 1
        out[i] = magnitude * (1 - 2 * negative)
    return count
