"""Exact discrete noise: sources of random bits, the two laws, and their samplers.

No draw passes through floating point: the law of every number returned is exactly the stated one,
given uniform random bits (see the modules `table` and `sampler` for the proof). `import pgsr.noise`
loads neither numba nor cryptography; the first source and the first draw do.
"""

from pgsr.noise.bits import BitSource, SeededBits, SystemBits
from pgsr.noise.laws import DiscreteGaussian, DiscreteLaplace, NoiseLaw, sample

__all__ = [
    "BitSource",
    "DiscreteGaussian",
    "DiscreteLaplace",
    "NoiseLaw",
    "SeededBits",
    "SystemBits",
    "sample",
]
