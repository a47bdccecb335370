"""Model 1 as a mechanism: noisy counts on every level, made consistent by integer least squares.

[Fioretto2021] mechanism M_H. One person's record moves one unit from one size to another in one region of
each level, so each level has L1 sensitivity 2 and squared L2 sensitivity 2; levels add.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from pgsr.groupsizes.base import GroupSizesMechanism, Int64
from pgsr.groupsizes.bounds import exact_rows
from pgsr.groupsizes.guarantee import ModelWords
from pgsr.groupsizes.measured import MeasuredCounts

if TYPE_CHECKING:
    from pgsr.solvers.base import Solver

__all__ = ["L1_SENSITIVITY", "SQUARED_L2_SENSITIVITY", "HierarchicalMechanism", "MeasuredCounts"]

L1_SENSITIVITY = 2
"""One unit leaves one size and enters another, in one region of a level."""
SQUARED_L2_SENSITIVITY = 2

_WORDS = ModelWords(
    table="counts",
    entry="size",
    reach="",
    measured="",
    rho_factor=3,  # squared L2 distance 6 instead of 2 per level
    whole_unit=True,
)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class HierarchicalMechanism(GroupSizesMechanism):
    """Model 1 for a public tree, size list and number of units.

    sizes (N,) strictly increasing; total the number of units G; budget one share a level (root first),
    epsilon for noise "laplace", rho for "gaussian"; z_max the largest z of a person; weights as in
    `level_weights`; loss "l2" or "l1"; solver a registered name, "auto" or a solver; lower, upper (R, N)
    public bounds on the counts.
    invariant_levels: names of levels published exactly, with budget 0; they are disclosed, not protected.
    without_size_zero: must be True if size 0 is not listed; the guarantee then names who is not protected.
    Raises InputError for parameters that do not fit each other, all before any data is seen.
    """

    model: ClassVar[str] = "hierarchical"
    cumulative: ClassVar[bool] = False

    solver: str | Solver = "proximity"
    invariant_levels: tuple[str, ...] = ()

    @property
    def sensitivity(self) -> tuple[int, int]:
        """How far one person's record moves the counts of one level: L1 2, squared L2 2."""
        return L1_SENSITIVITY, SQUARED_L2_SENSITIVITY

    def _words(self) -> ModelWords:
        return _WORDS

    def _measurable(self, counts: Int64) -> Int64:
        return counts

    def _counts(self, table: Int64) -> Int64:
        return table

    def _check_bound(self, name: str) -> None:
        """Any bound on counts has a meaning here."""

    def _bounds(self, table: Int64) -> tuple[Int64 | None, Int64 | None]:
        """Public bounds, and lower = upper = `table` on invariant levels (only those rows are read)."""
        if not self.invariant_levels:
            return self.lower, self.upper
        return exact_rows(self.hierarchy, table, self.total, self.lower, self.upper, self.invariant_levels)
