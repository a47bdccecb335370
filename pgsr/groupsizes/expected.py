"""Expected error of noisy counts by level, from public parameters: what a dry run shows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from pgsr.hierarchy import Hierarchy
from pgsr.noise import DiscreteGaussian, DiscreteLaplace, NoiseLaw


@dataclass(frozen=True, slots=True, kw_only=True)
class LevelError:
    """One level: its number of cells (regions times sizes), its share of the budget, its noise.

    `absolute` is the expected absolute error of one noisy count, `l1` the sum over all cells; both are
    None for a level that is not measured, and 0 for one that is published exactly.
    """

    level: str
    cells: int
    share: Fraction
    noise: str
    absolute: float | None
    l1: float | None

    def to_dict(self) -> dict[str, Any]:
        """Plain record; the share as text."""
        record = {name: getattr(self, name) for name in self.__dataclass_fields__}
        record["share"] = str(self.share)
        return record


def expected_errors(
    hierarchy: Hierarchy,
    width: int,
    shares: Sequence[Fraction],
    laws: Sequence[NoiseLaw | None],
    invariant_levels: Sequence[str],
) -> tuple[LevelError, ...]:
    """One `LevelError` a level, root first."""
    starts = hierarchy.level_start
    errors = []
    for level, (name, law) in enumerate(zip(hierarchy.level_names, laws, strict=True)):
        cells = int(starts[level + 1] - starts[level]) * width
        absolute: float | None
        if law is not None:
            noise, absolute = law.name, expected_absolute(law)
        elif name in invariant_levels:
            noise, absolute = "none (published exactly)", 0.0
        else:
            noise, absolute = "none (not measured)", None
        l1 = None if absolute is None else absolute * cells
        errors.append(
            LevelError(level=name, cells=cells, share=shares[level], noise=noise, absolute=absolute, l1=l1)
        )
    return tuple(errors)


def expected_absolute(law: NoiseLaw) -> float:
    """E|X| of a law.

    Discrete Laplace: 2a/(1 - a^2) = 1/sinh(1/scale). Discrete Gaussian: summed, from variance 400 on by
    Euler and Maclaurin, sqrt(2/pi) (sigma - 1/(12 sigma)). Any other law: its standard deviation,
    an upper bound.
    """
    if isinstance(law, DiscreteLaplace):
        t = float(1 / law.scale)
        return 1 / math.sinh(t) if t < 700 else 0.0
    if isinstance(law, DiscreteGaussian):
        sigma2 = float(law.sigma2)
        sigma = math.sqrt(sigma2)
        if sigma2 >= 400:
            return math.sqrt(2 / math.pi) * (sigma - 1 / (12 * sigma))
        last = math.ceil(40 * sigma) + 1
        return math.fsum(2 * k * law.probability(k) for k in range(1, last))
    return math.sqrt(law.variance)
