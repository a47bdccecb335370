"""Bit sources: reproducible where they should be, never repeated where they must not be."""

from __future__ import annotations

import copy
import hashlib
import os
import pickle
import subprocess
import sys
import threading

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from pgsr.errors import InputError
from pgsr.noise import BitSource, SeededBits, SystemBits


def run_python(code: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", code]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def test_seeded_words_are_the_documented_key_stream():
    key = hashlib.sha256(b"pgsr.noise.SeededBits/1:42").digest()
    encryptor = Cipher(algorithms.AES(key), modes.CTR(bytes(16))).encryptor()
    expected = np.frombuffer(encryptor.update(bytes(8 * 1001)), dtype="<u8")
    words = SeededBits(42).words(1001)
    assert words.dtype == np.uint64
    assert np.array_equal(words, expected)


@pytest.mark.parametrize("cuts", [[1, 1, 1, 7, 990], [1000], [0, 333, 0, 667], [999, 1]])
def test_the_same_seed_gives_the_same_words_however_the_calls_are_cut(cuts):
    source = SeededBits(7)
    pieces = [source.words(n) for n in cuts]
    assert np.array_equal(np.concatenate(pieces), SeededBits(7).words(1000))


def test_seeds_differ_and_any_integer_is_a_seed():
    streams = [SeededBits(seed).words(4).tolist() for seed in (0, 1, -1, 2**200, 10)]
    assert len({tuple(stream) for stream in streams}) == len(streams)


@pytest.mark.parametrize("seed", [1.0, "1", None, True])
def test_other_seeds_are_refused(seed):
    with pytest.raises(InputError, match="seed is not an integer"):
        SeededBits(seed)


def test_what_a_release_will_say():
    assert isinstance(SystemBits(), BitSource)
    assert isinstance(SeededBits(3), BitSource)
    assert SystemBits().secure is True
    assert SystemBits().description == "AES-256-CTR keyed by the operating system"
    assert SeededBits(3).secure is False
    assert SeededBits(3).description == "fixed seed 3: NOT PRIVATE"


def test_system_bits_never_repeat():
    first, second = SystemBits(), SystemBits()
    words = np.concatenate([first.words(50_000), first.words(50_000), second.words(100_000)])
    assert np.unique(words).size == words.size


def test_system_bits_look_uniform():
    words = SystemBits().words(200_000)
    ones = np.bitwise_count(words).sum(dtype=np.int64)
    assert abs(int(ones) - 32 * words.size) < 6 * np.sqrt(16 * words.size)
    per_position = [(words >> np.uint64(bit) & np.uint64(1)).sum(dtype=np.int64) for bit in range(64)]
    assert np.abs(np.array(per_position) - words.size / 2).max() < 6 * np.sqrt(words.size / 4)


def test_the_key_comes_from_the_operating_system(monkeypatch):
    asked = []

    def urandom(size):
        asked.append(size)
        return bytes(range(size))

    monkeypatch.setattr(os, "urandom", urandom)
    words = SystemBits().words(10)
    assert asked == [32]
    encryptor = Cipher(algorithms.AES(bytes(range(32))), modes.CTR(bytes(16))).encryptor()
    assert np.array_equal(words, np.frombuffer(encryptor.update(bytes(80)), dtype="<u8"))


FORK = """
import os, sys
from pgsr.noise import SystemBits
source = SystemBits()
source.words(3)
streams = []
for _ in range(3):
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        inner = source.words(4).tobytes()
        if os.fork() == 0:
            os.write(write, source.words(4).tobytes())
            os._exit(0)
        os.wait()
        os.write(write, inner)
        os._exit(0)
    os.waitpid(child, 0)
    os.close(write)
    blob = os.read(read, 1000)
    streams += [blob[:32], blob[32:64]]
    os.close(read)
streams.append(source.words(4).tobytes())
assert all(len(stream) == 32 for stream in streams), streams
print(len(set(streams)))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_forked_children_and_grandchildren_get_their_own_stream():
    done = run_python(FORK)
    assert done.stdout.strip() == "7", done.stderr


@pytest.mark.parametrize("source", [SystemBits(), SeededBits(1)], ids=["system", "seeded"])
@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, pickle.dumps])
def test_sources_cannot_be_duplicated(source, duplicate):
    with pytest.raises(TypeError, match="cannot be copied or pickled"):
        duplicate(source)


@pytest.mark.parametrize("source", [SystemBits(), SeededBits(1)], ids=["system", "seeded"])
def test_threads_share_a_source_without_repeats(source):
    results = []
    threads = [
        threading.Thread(target=lambda: results.append([source.words(n) for n in range(1, 200)]))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    words = np.concatenate([piece for pieces in results for piece in pieces])
    assert words.size == 4 * 19_900
    assert np.unique(words).size == words.size


def test_negative_numbers_of_words_are_refused():
    with pytest.raises(InputError, match="negative number"):
        SeededBits(1).words(-1)
    assert SeededBits(1).words(0).shape == (0,)


def test_importing_the_package_loads_no_heavy_library():
    code = (
        "import sys, pgsr.noise as n; from fractions import Fraction as F; "
        "n.DiscreteLaplace(scale=F(3)).variance; "
        "print([m for m in ('numba', 'cryptography', 'scipy', 'mpmath') if m in sys.modules])"
    )
    done = run_python(code)
    assert done.stdout.strip() == "[]", done.stderr
