"""How fast the exact samplers draw, on one core, and how that compares with OpenDP's."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from pgsr.noise import BitSource, DiscreteGaussian, DiscreteLaplace, SystemBits

LAPLACE_SCALES = (2, 12, 10**3, 10**6)
GAUSSIAN_SIGMA2 = (4, 100, 10**6, 10**12)
REPEATS = 3
_OPENDP_DRAWS = 20_000

Law = DiscreteLaplace | DiscreteGaussian
Row = dict[str, str | float | None]


def noise_rates(draws: int = 20_000_000) -> list[Row]:
    """One row a law: its parameters, and millions of draws a second with the operating system's bits.

    draws   per timing; the rate is the median of 3 timings on one core, after a warm-up that compiles
            the kernels and builds the tables. Writing the int64 result is included.
    Keys: law, parameter, value, draws_million_s, build_s (tables, once a law), opendp_million_s and
    ratio_to_opendp (None where OpenDP is not installed).
    """
    rng = SystemBits()
    laws: list[tuple[Law, str, int]] = [
        *((DiscreteLaplace(scale=Fraction(s)), "scale", s) for s in LAPLACE_SCALES),
        *((DiscreteGaussian(sigma2=Fraction(s)), "sigma2", s) for s in GAUSSIAN_SIGMA2),
    ]
    for law, _, _ in laws:
        law.sample(1, rng)  # compiles what is not yet on disk
    return [_row(law, parameter, value, draws, rng) for law, parameter, value in laws]


def _row(law: Law, parameter: str, value: int, draws: int, rng: BitSource) -> Row:
    """The measurements of one law."""
    build_s = _seconds(law.sampler)
    out = np.zeros(draws, dtype=np.int64)
    law.sample(draws, rng, out)
    ours = draws / statistics.median(_seconds(lambda: law.sample(draws, rng, out)) for _ in range(REPEATS))
    theirs = _opendp_rate(law)
    return {
        "law": law.name,
        "parameter": parameter,
        "value": float(value),
        "draws_million_s": ours / 1e6,
        "build_s": build_s,
        "opendp_million_s": None if theirs is None else theirs / 1e6,
        "ratio_to_opendp": None if theirs is None else ours / theirs,
    }


def _opendp_rate(law: Law) -> float | None:
    """Draws a second of OpenDP's sampler of the same law (int64 vector), None if it is not installed."""
    try:
        import opendp.prelude as dp
    except ImportError:
        return None
    dp.enable_features("contrib")
    atoms = dp.vector_domain(dp.atom_domain(T="i64"))
    if isinstance(law, DiscreteLaplace):
        measurement = dp.m.make_laplace(atoms, dp.l1_distance(T="i64"), scale=float(law.scale))
    else:
        measurement = dp.m.make_gaussian(atoms, dp.l2_distance(T="f64"), scale=float(law.sigma2) ** 0.5)
    zeros = [0] * _OPENDP_DRAWS
    measurement(zeros)
    return _OPENDP_DRAWS / statistics.median(_seconds(lambda: measurement(zeros)) for _ in range(REPEATS))


def _seconds(action: Callable[[], object]) -> float:
    """Wall-clock seconds of one call."""
    start = time.perf_counter()
    action()
    return time.perf_counter() - start
