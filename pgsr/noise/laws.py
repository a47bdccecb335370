"""Noise laws on the integers: the discrete Laplace and the discrete Gaussian, sampled exactly.

The parameters are exact fractions. Probabilities and variances are given in floating point for
planning and for tests; no draw depends on them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from typing import Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from pgsr.errors import InputError
from pgsr.noise.bits import BitSource
from pgsr.noise.cells import Gaussian, Geometric, TwoSidedGeometric
from pgsr.noise.exact import Enclosure
from pgsr.noise.sampler import DigitSampler, DirectSampler, Sampler, StripSampler
from pgsr.noise.table import TAIL_BITS, WORD_BITS, build_table

MAX_SCALE = 1 << 30  # largest scale of the Laplace and largest sigma of the Gaussian
_DIRECT_SCALE = 256  # up to here one table of at most 15,000 cells
_DIRECT_SIGMA = 1024  # up to here one table of at most 15,000 cells
_STRIPS_PER_SIGMA_BITS = 10  # a strip is sigma / 2^11 to sigma / 2^10 wide, and at least 2
_SMOOTH_SIGMA2 = 100  # from here sums over the integers equal integrals to double precision


@runtime_checkable
class NoiseLaw(Protocol):
    """A symmetric law on the integers with mean 0 that can be sampled exactly."""

    @property
    def name(self) -> str:
        """What the law is called."""

    @property
    def variance(self) -> float:
        """Variance of one draw."""

    def describe(self) -> dict[str, str]:
        """Name and parameters as text, exact, for a guarantee."""

    def probability(self, k: int) -> float:
        """P[X = k], in floating point."""

    def enclosure(self, j: int, precision: int) -> Enclosure:
        """Integers L <= c_j 2^precision <= H, c_j the probability of cells 0..j of 0, +1, -1, +2, ..."""

    def sample(self, n: int, rng: BitSource, out: NDArray[np.int64] | None = None) -> NDArray[np.int64]:
        """Independent draws, (n,) int64."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscreteLaplace:
    """Two-sided geometric law: P[X = k] = (1-a)/(1+a) a^|k| with a = exp(-1/scale).

    scale   exact, positive, at most 2^30; an int or a Fraction (a float is refused: 0.1 is not 1/10)
    With scale = sensitivity / epsilon it gives pure epsilon-DP for an integer query of that L1 sensitivity.
    Raises InputError for any other scale. Ghosh, Roughgarden and Sundararajan (2009).
    """

    scale: Fraction
    _sampler: Sampler | None = field(default=None, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        scale = _positive_fraction(self.scale, "scale", "DiscreteLaplace", MAX_SCALE)
        object.__setattr__(self, "scale", scale)

    @property
    def name(self) -> str:
        """What the law is called."""
        return "discrete Laplace"

    @property
    def variance(self) -> float:
        """2a / (1-a)^2 = 1 / (2 sinh(t/2)^2) with t = 1/scale: no cancellation at large scales."""
        half = _as_float(1 / (2 * self.scale))
        if half > 350.0:
            return 0.0  # below the smallest double
        return 0.5 / math.sinh(half) ** 2

    def describe(self) -> dict[str, str]:
        """Name and parameters as text, exact."""
        return {"law": self.name, "scale": str(self.scale)}

    def probability(self, k: int) -> float:
        """P[X = k] = tanh(t/2) exp(-t |k|) with t = 1/scale."""
        return math.tanh(_as_float(1 / (2 * self.scale))) * math.exp(-_as_float(abs(k) / self.scale))

    def enclosure(self, j: int, precision: int) -> Enclosure:
        """Integers L <= c_j 2^precision <= H, c_j the probability of cells 0..j of 0, +1, -1, +2, ..."""
        return TwoSidedGeometric(1 / self.scale).enclosure(j, precision)

    def sampler(self, prefix_bits: int = WORD_BITS) -> Sampler:
        """A new sampler with prefixes of that many bits (fewer than 64 only to test refinement)."""
        t = 1 / self.scale
        if self.scale <= _DIRECT_SCALE:
            return DirectSampler(build_table(TwoSidedGeometric(t), prefix_bits))
        # The high table has about ln(2^40) scale / base cells and the low one `base`: make them equal.
        # Any base gives the same law; the floating point only balances the sizes.
        base = math.isqrt(math.ceil(TAIL_BITS * math.log(2) * float(self.scale)))
        return DigitSampler(
            high=build_table(Geometric(t * base), prefix_bits),
            low=build_table(Geometric(t, base), prefix_bits),
            base=base,
        )

    def sample(self, n: int, rng: BitSource, out: NDArray[np.int64] | None = None) -> NDArray[np.int64]:
        """Independent draws, (n,) int64, into `out` if given; errors as `Sampler.sample`."""
        return _cached_sampler(self).sample(n, rng, out)

    def __reduce__(self) -> tuple[Callable[[], Self], tuple[()]]:
        """Copy and pickle the parameters, not the tables."""
        return partial(type(self), scale=self.scale), ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscreteGaussian:
    """Gaussian weights on the integers: P[X = k] proportional to exp(-k^2 / (2 sigma2)).

    sigma2   exact, positive, at most 2^60; an int or a Fraction (a float is refused)
    With sigma2 = sensitivity^2 / (2 rho) it gives rho-zCDP for an integer query of that L2 sensitivity.
    Raises InputError for any other sigma2. Canonne, Kamath and Steinke (2020).
    """

    sigma2: Fraction
    _sampler: Sampler | None = field(default=None, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        sigma2 = _positive_fraction(self.sigma2, "sigma2", "DiscreteGaussian", MAX_SCALE**2)
        object.__setattr__(self, "sigma2", sigma2)

    @property
    def name(self) -> str:
        """What the law is called."""
        return "discrete Gaussian"

    @property
    def variance(self) -> float:
        """Variance by summation; sigma2 itself from 100 on, where they agree in double precision.

        By Poisson summation they differ by a relative 8 pi^2 sigma2 exp(-2 pi^2 sigma2).
        """
        if self.sigma2 >= _SMOOTH_SIGMA2:
            return float(self.sigma2)
        weights = _gaussian_weights(self.sigma2)
        squares = math.fsum(2.0 * k * k * weight for k, weight in enumerate(weights))
        return squares / self._normaliser()

    def describe(self) -> dict[str, str]:
        """Name and parameters as text, exact."""
        return {"law": self.name, "sigma2": str(self.sigma2)}

    def probability(self, k: int) -> float:
        """P[X = k] = exp(-k^2 / (2 sigma2)) / (sum over all integers)."""
        return math.exp(-_as_float(k * k / (2 * self.sigma2))) / self._normaliser()

    def _normaliser(self) -> float:
        """Sum of exp(-k^2 / (2 sigma2)) over all integers; from 100 on it equals sqrt(2 pi sigma2)."""
        if self.sigma2 >= _SMOOTH_SIGMA2:
            return math.sqrt(2.0 * math.pi * float(self.sigma2))
        weights = _gaussian_weights(self.sigma2)
        return math.fsum(weights) + math.fsum(weights[1:])

    def enclosure(self, j: int, precision: int) -> Enclosure:
        """Integers L <= c_j 2^precision <= H, c_j the probability of cells 0..j of 0, +1, -1, +2, ...

        Costs about sigma sqrt(2 precision) multiplications. Large sigma is sampled by strips, without it.
        """
        return Gaussian(self.sigma2, two_sided=True).enclosure(j, precision)

    def sampler(self, prefix_bits: int = WORD_BITS) -> Sampler:
        """A new sampler with prefixes of that many bits (fewer than 64 only to test refinement)."""
        if self.sigma2 <= _DIRECT_SIGMA**2:
            return DirectSampler(build_table(Gaussian(self.sigma2, two_sided=True), prefix_bits))
        strip_bits = max(1, math.isqrt(int(self.sigma2)).bit_length() - 1 - _STRIPS_PER_SIGMA_BITS)
        strips = Gaussian(self.sigma2 / 4**strip_bits, two_sided=False)
        return StripSampler(
            strips=build_table(strips, prefix_bits), strip_bits=strip_bits, sigma2=self.sigma2
        )

    def sample(self, n: int, rng: BitSource, out: NDArray[np.int64] | None = None) -> NDArray[np.int64]:
        """Independent draws, (n,) int64, into `out` if given; errors as `Sampler.sample`."""
        return _cached_sampler(self).sample(n, rng, out)

    def __reduce__(self) -> tuple[Callable[[], Self], tuple[()]]:
        """Copy and pickle the parameters, not the tables."""
        return partial(type(self), sigma2=self.sigma2), ()


def sample(law: NoiseLaw, n: int, rng: BitSource, out: NDArray[np.int64] | None = None) -> NDArray[np.int64]:
    """Independent draws of `law`, (n,) int64, into `out` if given; errors as `Sampler.sample`."""
    return law.sample(n, rng, out)


def _cached_sampler(law: DiscreteLaplace | DiscreteGaussian) -> Sampler:
    """The sampler of this law, built at its first use and kept on the instance."""
    if law._sampler is None:
        object.__setattr__(law, "_sampler", law.sampler())
    sampler = law._sampler
    assert sampler is not None
    return sampler


def _positive_fraction(value: object, what: str, where: str, largest: int) -> Fraction:
    """`value` as an exact fraction in (0, largest]; InputError otherwise."""
    if isinstance(value, bool) or not isinstance(value, (int, Fraction)):
        raise InputError(f"{what} is not exact", f"noise.{where}", "give an int or a Fraction")
    if not 0 < value <= largest:
        raise InputError(f"{what} is not above 0 and at most {largest}", f"noise.{where}")
    return Fraction(value)


def _as_float(value: Fraction) -> float:
    """`value` as a double; infinity if it is too large for one."""
    try:
        return float(value)
    except OverflowError:
        return math.inf


def _gaussian_weights(sigma2: Fraction) -> list[float]:
    """exp(-k^2 / (2 sigma2)), k = 0, 1, ..., as far as doubles go (sigma2 below 100)."""
    weights: list[float] = []
    while not weights or weights[-1] > 0.0:
        k = len(weights)
        weights.append(math.exp(-_as_float(k * k / (2 * sigma2))))
    return weights
