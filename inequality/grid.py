"""The public grid of a release: multiples of a step, from 0 to the index's largest value."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from pgsr.errors import InputError

_MOST = 1 << 62


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """The points 0, step, ..., last * step; `step` in the index's unit, exact."""

    step: Fraction
    last: int

    def __post_init__(self) -> None:
        if self.step <= 0 or not 1 <= self.last < _MOST:
            raise InputError("the grid is empty or has more than 2^62 points", "step", "give another step")

    @classmethod
    def covering(cls, largest: float, step: Fraction) -> Grid:
        """The grid up to the first point not below `largest`, the public bound of the index."""
        if step <= 0:
            raise InputError("the step is not positive", "step", "give a positive fraction")
        return cls(step=step, last=max(1, math.ceil(Fraction(largest) / step)))

    def nearest(self, value: Fraction) -> int:
        """round(value/step), halves up, clamped to the grid.

        |round(a) - round(b)| <= ceil(|a - b|), and clamping moves no pair apart.
        """
        return min(max(math.floor(value / self.step + Fraction(1, 2)), 0), self.last)

    def value(self, point: int, largest: float) -> float:
        """`point` in the index's unit, clamped to `largest`; post-processing."""
        return min(float(point * self.step), largest)


def power_of_two_below(value: float, bits: int) -> Fraction:
    """2^-bits times the largest power of two that is at most `value` (positive)."""
    exponent = math.frexp(value)[1] - 1 - bits
    return Fraction(2) ** exponent
