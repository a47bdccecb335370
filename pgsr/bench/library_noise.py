"""Frozen noise for experiments: the same seed gives the same noisy counts, whatever the law.

geometric   discrete Laplace of scale S L / epsilon, drawn exactly: what releases use
laplace     continuous Laplace of the same scale, rounded to whole numbers: what the literature calls the
            Laplace mechanism. Drawn in floating point, so it has no guarantee on a computer (Mironov 2012):
            for comparisons only, no release of this library uses it
gaussian    discrete Gaussian, drawn exactly, for rho = epsilon^2 / 2, the zCDP that pure epsilon implies

L levels share the budget equally; S is the L1 sensitivity of one level, 2 for counts by size and 1 for
cumulative counts. Their squared L2 sensitivities are 2 and 1.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from pgsr.bench.methods_cases import SENSITIVITY, noisy_problem
from pgsr.counts import GroupSizes
from pgsr.noise import BitSource, DiscreteGaussian, SeededBits

Noise = Literal["geometric", "laplace", "gaussian"]

NOISES: tuple[Noise, ...] = ("geometric", "laplace", "gaussian")

_CHUNK = 1 << 20


def rho(epsilon: Fraction) -> Fraction:
    """The zCDP that pure epsilon implies: epsilon^2 / 2 [BunSteinke2016, Proposition 1.4]."""
    return epsilon * epsilon / 2


def noisy_table(
    truth: GroupSizes, *, cumulative: bool, epsilon: Fraction, noise: Noise, seed: int
) -> NDArray[np.int64]:
    """(R, N) int64: counts of `truth`, or cumulative counts, with noise; see the module."""
    if noise == "geometric":
        return noisy_problem(truth, cumulative=cumulative, epsilon=epsilon, seed=seed).target
    clean = truth.cumulative() if cumulative else truth.counts
    levels, sensitivity = truth.hierarchy.levels, SENSITIVITY[cumulative]
    # Numbers below zero: no other noise is drawn from these seeds.
    bits = SeededBits(-1 - 4 * seed - 2 * NOISES.index(noise) + cumulative)
    if noise == "gaussian":
        # One level has rho / L, and L2^2 equals S.
        law = DiscreteGaussian(sigma2=sensitivity * levels / (2 * rho(epsilon)))
        return clean + law.sample(clean.size, bits).reshape(clean.shape)
    return clean + rounded_laplace(float(sensitivity * levels / epsilon), clean.size, bits).reshape(
        clean.shape
    )


def rounded_laplace(scale: float, n: int, rng: BitSource) -> NDArray[np.int64]:
    """`n` continuous Laplace draws by inversion, rounded to the nearest whole number: not private."""
    out = np.empty(n, dtype=np.int64)
    for first in range(0, n, _CHUNK):
        part = out[first : first + _CHUNK]
        words = rng.words(part.size)
        share = ((words >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53
        sign = 1.0 - 2.0 * (words & np.uint64(1)).astype(np.float64)
        part[:] = np.rint(-scale * np.log(share) * sign)
    return out
