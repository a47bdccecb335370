"""Exact draws of round((f + scale Z) / g) for a standard Cauchy Z and rational f, scale, g.

If (V1, V2) is uniform on the half disk V1^2 + V2^2 < 1, V2 > 0, then Z = V1/V2 is standard Cauchy. A uniform
point of the square is read bit by bit: after b bits, |V1| is in [a, a+1]/2^b and V2 in [c, c+1]/2^b. It is
rejected once a^2 + c^2 >= 4^b, kept once (a+1)^2 + (c+1)^2 <= 4^b, and |Z| is in [a/(c+1), (a+1)/c]. More
bits are read until the half disk and the grid point are both certain; every comparison is one of integers, so
the law is exactly that of the rounded real release, which is post-processing of it. The bits end with
probability 1.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

from pgsr.inequality.draws import RandomIntegers
from pgsr.inequality.grid import Grid
from pgsr.noise import BitSource

_BITS = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfidentialCauchy:
    """CONFIDENTIAL: the law of round((value + scale Z)/step), halves up, clamped to `grid`; scale > 0."""

    value: Fraction = field(repr=False)
    scale: Fraction = field(repr=False)
    grid: Grid

    def draw(self, rng: BitSource) -> int:
        """One release: a grid point."""
        integers = RandomIntegers(rng)
        while True:
            point = self._attempt(integers)
            if point is not None:
                return point

    def _attempt(self, integers: RandomIntegers) -> int | None:
        """One point of the square: its grid point, None if it is outside the half disk."""
        negative = integers.bits(1) == 1
        across = up = bits = 0
        while True:
            across = across << _BITS | integers.bits(_BITS)
            up = up << _BITS | integers.bits(_BITS)
            bits += _BITS
            if outside(across, up, bits):
                return None
            low, high = self.cells(across, up, negative=negative)
            if low == high and inside(across, up, bits):
                return low

    def cells(self, across: int, up: int, *, negative: bool) -> tuple[int, int]:
        """The grid points of the two ends of Z's interval, lower first, for a = `across` and c = `up`."""
        centre = self.value / self.grid.step + Fraction(1, 2)
        width = self.scale / self.grid.step
        near = self._cell(centre, width, across, up + 1, negative=negative)
        far = self._cell(centre, width, across + 1, up, negative=negative)
        return (far, near) if negative else (near, far)

    def _cell(self, centre: Fraction, width: Fraction, a: int, c: int, *, negative: bool) -> int:
        """floor(centre +- width a/c) clamped to the grid; an infinite quotient gives an end of the grid."""
        if c == 0:
            return 0 if negative else self.grid.last
        move = width.numerator * a * centre.denominator
        common = width.denominator * c
        whole = centre.numerator * common + (-move if negative else move)
        return min(max(whole // (centre.denominator * common), 0), self.grid.last)


def outside(across: int, up: int, bits: int) -> bool:
    """Whether the whole cell [a, a+1] x [c, c+1], in units of 2^-bits, is outside the open disk."""
    return across * across + up * up >= 1 << (2 * bits)


def inside(across: int, up: int, bits: int) -> bool:
    """Whether the whole cell is in the closed disk."""
    return (across + 1) ** 2 + (up + 1) ** 2 <= 1 << (2 * bits)
