"""The baseline: discrete Laplace noise at the global sensitivity, on the public grid.

The rounded values of neighbours differ by at most D = ceil((G + 2 delta)/g) grid steps, since
|f^ - f^'| <= G + 2 delta and rounding moves no pair further apart than that, rounded up. Discrete Laplace
noise of scale D/epsilon then costs epsilon; clamping is post-processing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction

from pgsr.errors import InputError
from pgsr.inequality.grid import Grid
from pgsr.noise import BitSource, DiscreteLaplace
from pgsr.noise.laws import MAX_SCALE


@dataclass(frozen=True, slots=True, kw_only=True)
class LaplacePlan:
    """What is public of a Laplace release.

    `bound` is at least the global sensitivity G, `delta` bounds the value's error. Raises InputError for a
    step so small that the noise exceeds the sampler's largest scale.
    """

    epsilon: Fraction
    grid: Grid
    bound: Fraction
    delta: Fraction
    sensitivity: int = field(init=False)
    law: DiscreteLaplace = field(init=False)

    def __post_init__(self) -> None:
        sensitivity = max(1, math.ceil((self.bound + 2 * self.delta) / self.grid.step))
        scale = Fraction(sensitivity) / self.epsilon
        if scale > MAX_SCALE:
            raise InputError("the step is too small for Laplace noise", "step", "give a larger step")
        object.__setattr__(self, "sensitivity", sensitivity)
        object.__setattr__(self, "law", DiscreteLaplace(scale=scale))

    def confidential_draw(self, value: float) -> ConfidentialLaplace:
        """The law of the release for an index `value`."""
        return ConfidentialLaplace(plan=self, centre=self.grid.nearest(Fraction(value)))


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfidentialLaplace:
    """CONFIDENTIAL: the law of a Laplace release around `centre`."""

    plan: LaplacePlan
    centre: int = field(repr=False)

    def draw(self, rng: BitSource) -> int:
        """One release: a grid point."""
        noisy = self.centre + int(self.plan.law.sample(1, rng)[0])
        return min(max(noisy, 0), self.plan.grid.last)
