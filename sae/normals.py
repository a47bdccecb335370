"""Standard normals from random bits for draws in floating point, and the public grids that draws are put on.

A normal here is (K + U) 2^-28: K an exact draw of the discrete Gaussian with sigma = 2^28, U uniform on the
2^20 midpoints of (-1/2, 1/2). No logarithm or cosine is taken, and the tails are those of the exact sampler.
The number is a multiple of 2^-49, held without rounding while |z| < 16. On each cell of width 2^-28 its law
is flat where the normal density changes by a factor of at most exp(|z| 2^-28): idealised, not exact.

A draw is published on a grid whose step is a public power of two, so the low bits of sums in floating
point, which depend on the confidential mean, are not in it. Rounding is post-processing.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from pgsr.noise import BitSource, DiscreteGaussian
from pgsr.sae.checks import Float64

_SCALE_BITS = 28
_OFFSET_BITS = 20
_GRID_BITS = 16


def standard_normals(n: int, rng: BitSource) -> Float64:
    """N independent standard normals (n,), idealised."""
    law = DiscreteGaussian(sigma2=Fraction(4**_SCALE_BITS))
    whole = law.sample(n, rng).astype(np.float64)
    words = rng.words(n) >> np.uint64(64 - _OFFSET_BITS)
    offset = np.ldexp(words.astype(np.float64) + 0.5, -_OFFSET_BITS) - 0.5
    normals: Float64 = np.ldexp(whole + offset, -_SCALE_BITS)
    return normals


def grid_step(scale: Any) -> Float64:
    """The largest power of two of at most scale 2^-16, for positive public scales."""
    _, exponent = np.frexp(np.asarray(scale, dtype=np.float64))
    step: Float64 = np.ldexp(1.0, exponent - 1 - _GRID_BITS)
    return step


def on_grid(values: Float64, step: Float64) -> Float64:
    """`values` at the nearest multiples of `step`, a power of two."""
    rounded: Float64 = np.rint(values / step) * step
    return rounded
