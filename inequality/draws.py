"""Exact random integers from a source of random bits: uniform, and geometric with a rational ratio."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pgsr.noise import BitSource

WORD_BITS = 64
_POOL_WORDS = 8
_CHUNK = 1 << 20


class RandomIntegers:
    """Uniform integers from `rng`, bit by bit; each bit is used once."""

    def __init__(self, rng: BitSource) -> None:
        self._rng = rng
        self._pool = 0
        self._left = 0

    def bits(self, count: int) -> int:
        """A uniform integer below 2^count."""
        while self._left < count:
            fresh = self._rng.words(_POOL_WORDS).astype("<u8", copy=False).tobytes()
            self._pool |= int.from_bytes(fresh, "little") << self._left
            self._left += _POOL_WORDS * WORD_BITS
        drawn = self._pool & ((1 << count) - 1)
        self._pool >>= count
        self._left -= count
        return drawn

    def below(self, limit: int) -> int:
        """A uniform integer in 0..limit-1, by rejection; `limit` positive."""
        count = (limit - 1).bit_length()
        while True:
            drawn = self.bits(count)
            if drawn < limit:
                return drawn


def geometrics(numerator: int, count: int, rng: BitSource) -> NDArray[np.int64]:
    """Independent draws K with P[K = k] = (1 - r) r^k, k = 0, 1, ..., r = numerator / 2^64; (count,) int64.

    A word of 64 bits is below `numerator` with probability exactly r; K counts the successes before a
    failure. 0 < numerator < 2^64. Reads about count / (1 - r) words.
    """
    threshold = np.uint64(numerator)
    expected = (count << WORD_BITS) // ((1 << WORD_BITS) - numerator)
    size = min(max(expected + expected // 8 + 16, 16), _CHUNK)
    failures: list[NDArray[np.int64]] = []
    found, read = 0, 0
    while found < count:
        here = np.flatnonzero(rng.words(size) >= threshold).astype(np.int64) + read
        failures.append(here)
        found += len(here)
        read += size
    return np.diff(np.concatenate(failures)[:count], prepend=-1) - 1
