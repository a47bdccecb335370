"""Which numbers the objective of a whole table can be: the room between them turns a bound into a proof.

With weights that are whole multiples of a step, so are all objectives. Often only every second multiple is
one: a square and an absolute value are odd where the difference is odd, so an objective is even or odd as
the weighted sum of all differences is. In that sum every leaf counts once for each region above it (and
itself), times their weights; if that is even for all leaves, targets alone decide, whatever the table is.
Equal weights on a tree with an even number of levels are such a case.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from pgsr.models.exact import dyadic_weights
from pgsr.models.problem import Float64, Int64, Problem


@dataclass(frozen=True, slots=True, kw_only=True)
class Lattice:
    """The numbers `offset + k step` for whole k; `0 <= offset < step`."""

    step: Fraction
    offset: Fraction

    def up(self, value: Fraction | float) -> Fraction:
        """The smallest of the numbers that is not below `value`."""
        return self.offset + math.ceil((Fraction(value) - self.offset) / self.step) * self.step

    def up_roughly(self, value: float) -> float:
        """The same for a number with a rounding error: one that is hardly above one of them stays there."""
        units = (value - float(self.offset)) / float(self.step)
        return float(self.offset + math.ceil(units - 1e-6 * max(1.0, 1e-6 * abs(units))) * self.step)


def whole_weights(weights: Float64) -> tuple[Int64 | None, Fraction]:
    """Write `weights` (R,) as whole numbers (below 2^31) times a step, or None where that cannot be."""
    largest = float(weights.max())
    if np.all((weights == largest) | (weights == 0)):
        return (weights > 0).astype(np.int64), Fraction(largest)
    found = dyadic_weights(weights)
    if found is None:
        return None, Fraction(1)
    divisor = int(np.gcd.reduce(found[0]))
    return found[0] // divisor, Fraction(divisor, 2 ** found[1])


def objective_lattice(problem: Problem) -> Lattice | None:
    """Numbers among which the objectives of all feasible whole tables are; None if weights allow none."""
    whole, step = whole_weights(problem.region_weights)
    if whole is None:
        return None
    odd = whole % 2
    above = odd.copy()  # sum of the weights from the root down to here, modulo 2
    starts = problem.level_start
    for first, last in zip(starts[1:-1].tolist(), starts[2:].tolist(), strict=True):
        above[first:last] ^= above[problem.parent[first:last]]
    if above[~problem.inner()].any():
        return Lattice(step=step, offset=Fraction(0))
    sums = np.bitwise_xor.reduce(problem.target & 1, axis=1)
    return Lattice(step=2 * step, offset=step * int((odd & sums).sum() % 2))
