"""Sources of random bits: the operating system's for releases, a fixed seed for experiments.

Both are the key stream of AES-256 in counter mode (NIST SP 800-38A), read from its beginning in words
of 64 bits. They differ in the key: fresh from the operating system, or the hash of a seed.
"""

from __future__ import annotations

import hashlib
import os
import threading
from typing import TYPE_CHECKING, NoReturn, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from pgsr.errors import InputError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers import CipherContext

_KEY_BYTES = 32
_COUNTER_BYTES = 16
_WORD_BYTES = 8
_SEED_DOMAIN = b"pgsr.noise.SeededBits/1:"
_PROCESS = tuple[int, int]


@runtime_checkable
class BitSource(Protocol):
    """Where random bits come from; passed explicitly to everything that draws.

    secure        True only if the bits are fit for a release: unpredictable and never repeated
    description   one line for the guarantee of a release
    """

    @property
    def secure(self) -> bool:
        """True only if the bits are fit for a release."""

    @property
    def description(self) -> str:
        """One line for the guarantee of a release."""

    def words(self, n: int) -> NDArray[np.uint64]:
        """The next n words of 64 uniform bits, (n,) uint64."""


class _KeyStream:
    """The AES-256-CTR key stream of one key; every byte of it is handed out once.

    The counter starts at 0 and has 128 bits, so it cannot come round. The lock keeps two threads from
    reading the same part.
    """

    def __init__(self, key: bytes) -> None:
        from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

        self._lock = threading.Lock()
        cipher = Cipher(algorithms.AES(key), modes.CTR(bytes(_COUNTER_BYTES)))
        self._encryptor: CipherContext = cipher.encryptor()

    def words(self, n: int) -> NDArray[np.uint64]:
        """The next n words; bytes are read in little-endian order on every machine."""
        if n < 0:
            raise InputError("a negative number of random words", "noise.BitSource.words")
        stream = np.zeros(n, dtype="<u8")  # encrypting zeros in place gives the key stream itself
        with self._lock:
            if n > 0:
                as_bytes = stream.data.cast("B")
                written = self._encryptor.update_into(as_bytes, as_bytes)
                if written != n * _WORD_BYTES:
                    raise RuntimeError("the cipher returned a key stream of the wrong length")
        return stream.astype(np.uint64, copy=False)


class SystemBits:
    """AES-256-CTR keyed by the operating system; the source of every real release.

    A forked child gets a fresh key before its first word, and copying or pickling is refused, so no two
    owners ever read the same stream.
    """

    secure = True
    description = "AES-256-CTR keyed by the operating system"

    def __init__(self) -> None:
        self._owned = self._fresh_stream()

    def words(self, n: int) -> NDArray[np.uint64]:
        """The next n words of 64 uniform bits, (n,) uint64."""
        # One attribute holds owner and stream, so that threads never see one without the other.
        owner, stream = self._owned
        if owner != _this_process():
            self._owned = self._fresh_stream()
            stream = self._owned[1]
        return stream.words(n)

    @staticmethod
    def _fresh_stream() -> tuple[_PROCESS, _KeyStream]:
        """A stream under a new key of the operating system, and the process that owns it."""
        return _this_process(), _KeyStream(os.urandom(_KEY_BYTES))

    def __reduce__(self) -> NoReturn:
        """Refuse copying and pickling: two copies would give the same noise twice."""
        raise TypeError("SystemBits cannot be copied or pickled: make a new one where it is needed")


def _this_process() -> _PROCESS:
    """Process and parent: a child differs from its parent even if a process number is used again.

    The parent's number may also change when the parent ends; that costs one fresh key and nothing else.
    """
    return os.getpid(), os.getppid()


class SeededBits:
    """Reproducible bits for experiments and tests; whoever knows the seed can subtract the noise.

    seed          any integer
    The same seed gives the same sequence of words, however the calls cut it into pieces.
    Raises InputError if the seed is not an integer.
    """

    secure = False

    def __init__(self, seed: int) -> None:
        if isinstance(seed, bool) or not isinstance(seed, int):
            raise InputError("the seed is not an integer", "noise.SeededBits")
        self.seed = seed
        self.description = f"fixed seed {seed}: NOT PRIVATE"
        key = hashlib.sha256(_SEED_DOMAIN + str(seed).encode("ascii")).digest()
        self._stream = _KeyStream(key)

    def words(self, n: int) -> NDArray[np.uint64]:
        """The next n words of 64 bits, (n,) uint64."""
        return self._stream.words(n)

    def __reduce__(self) -> NoReturn:
        """Refuse copying and pickling: two copies would give the same noise twice."""
        raise TypeError("SeededBits cannot be copied or pickled: make a new one with its own seed")
