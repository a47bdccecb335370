"""Tables of prefixes: the first bits of every cumulative boundary, for inversion by comparison.

A table knows each boundary c_j only to its first `bits` bits, but knows it rigorously:
low_j <= c_j 2^bits < high_j + 1 for integers low_j, high_j. For a prefix u of the uniform number
U (u <= U 2^bits < u + 1) let

    a = number of j with high_j < u:  then c_j 2^bits < high_j + 1 <= u <= U 2^bits, so U is beyond cell j;
    b = number of j with low_j <= u:  for every other j, U 2^bits < u + 1 <= low_j <= c_j 2^bits,
                                      so U is in cell j or before it.

If a = b, then U lies in cell a for certain. Otherwise more bits of U are needed (`refine`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pgsr.noise.cells import Cells
from pgsr.noise.exact import Enclosure

WORD_BITS = 64
TAIL_BITS = 40  # a table of infinitely many cells ends where what is left is below 2^-40
MAX_CELLS = 1 << 18
_BUCKETS_PER_CELL = 8
_MAX_GUIDE_BITS = 16


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Table:
    """Prefixes of the boundaries of one distribution on cells, and what refines them.

    low, high     (n,) uint64, non-decreasing prefixes of `bits` bits (see the module)
    known_cells   cells that the table can name: n, or n + 1 if cell n is the last one of all
    guide         (2^g,) int32: number of j with low_j <= the first prefix of the bucket; a bucket is
                  the set of prefixes with the same first g bits, so b >= guide[u >> guide_shift]
    fine          the enclosures of the n boundaries at precision bits + 64
    """

    cells: Cells
    bits: int
    low: NDArray[np.uint64]
    high: NDArray[np.uint64]
    known_cells: int
    guide: NDArray[np.int32]
    guide_shift: int
    fine: tuple[Enclosure, ...]

    def refine(self, prefix: int, next_word: Callable[[], int]) -> int:
        """The cell of the uniform number that starts with `prefix`, drawing more bits as needed.

        prefix       the first `bits` bits; next_word gives 64 fresh bits at each call.
        Starts at a cell that is certainly not too high and moves up only on an implied comparison,
        so the answer is that of inversion with infinitely many bits.
        """
        j = int(np.searchsorted(self.high, np.uint64(prefix), side="left"))  # boundaries surely below
        bits = self.bits
        while True:
            lower, upper = self._enclosure(j, bits + WORD_BITS)
            if (prefix + 1) << WORD_BITS <= lower:
                return j
            if prefix << WORD_BITS >= upper:
                j += 1
            else:
                prefix = (prefix << WORD_BITS) | next_word()
                bits += WORD_BITS

    def _enclosure(self, j: int, precision: int) -> Enclosure:
        """Enclosure of c_j, from the table where it has it."""
        if precision == self.bits + WORD_BITS and j < len(self.fine):
            return self.fine[j]
        return self.cells.enclosure(j, precision)


def build_table(cells: Cells, bits: int = WORD_BITS) -> Table:
    """The table of `cells` with prefixes of `bits` bits (8 to 64; below 64 only to test refinement).

    Raises ValueError for other `bits`, or if the table would exceed 2^18 cells.
    """
    if not 8 <= bits <= WORD_BITS:
        raise ValueError("prefixes have 8 to 64 bits")
    fine = _fine_enclosures(cells, bits + WORD_BITS)
    largest = (1 << bits) - 1
    low = np.array([lower >> WORD_BITS for lower, _ in fine], dtype=np.uint64)
    # No prefix exceeds the largest one, so capping at it changes no comparison high_j < u.
    high = np.array([min(upper >> WORD_BITS, largest) for _, upper in fine], dtype=np.uint64)
    # The boundaries do not fall, so neither need their bounds.
    low = np.maximum.accumulate(low)
    high = np.minimum.accumulate(high[::-1])[::-1].copy()
    guide_bits = min(bits, _MAX_GUIDE_BITS, 1 + (len(fine) * _BUCKETS_PER_CELL).bit_length())
    guide_shift = bits - guide_bits
    first_of_bucket = np.arange(1 << guide_bits, dtype=np.uint64) << np.uint64(guide_shift)
    return Table(
        cells=cells,
        bits=bits,
        low=low,
        high=high,
        known_cells=len(fine) if cells.count is None else cells.count,
        guide=np.searchsorted(low, first_of_bucket, side="right").astype(np.int32),
        guide_shift=guide_shift,
        fine=tuple(fine),
    )


def _fine_enclosures(cells: Cells, precision: int) -> list[Enclosure]:
    """Enclosures of the boundaries of a table: all but the last, or until 1 - c_j < 2^-40."""
    close_to_one = (1 << precision) - (1 << (precision - TAIL_BITS))
    fine: list[Enclosure] = []
    for j, (lower, upper) in enumerate(cells.boundaries(precision)):
        if cells.count is not None and j == cells.count - 1:
            break  # the last boundary is 1: nothing lies beyond it
        if j >= MAX_CELLS:
            raise ValueError("too many cells for a table")
        fine.append((lower, upper))
        if cells.count is None and lower > close_to_one:
            break
    return fine
