"""Model 2 as a mechanism: noisy cumulative counts, made consistent and non-decreasing, then differenced.

[Fioretto2021] mechanism M_c. Measured is `c_s = #{units of size s or smaller}` in every region. One person's
record moves one unit across at most B listed sizes, in one region of each level, and changes each of those
B entries by 1: L1 sensitivity B and squared L2 sensitivity B a level; levels add.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from pgsr.counts import GroupSizes
from pgsr.errors import InputError
from pgsr.groupsizes.base import GroupSizesMechanism, Int64
from pgsr.groupsizes.guarantee import ModelWords


def most_crossed(sizes: Int64, z_max: int) -> int:
    """B: the most sizes of the list that one person with z in 0..z_max can move a unit across.

    The cumulative count of a listed size changes if the unit goes from that size or below to a larger
    listed one, so sizes after the first are counted, as many as fit between a and a + z_max. At most
    min(z_max, N - 1); with gaps fewer. 1 for a list of one size, which nothing crosses: the noise needs a
    scale. `sizes` (N,) strictly increasing.
    """
    later = sizes[1:]
    if not later.size:
        return 1
    # From just below a listed size the most lie ahead: those at most z_max - 1 above it.
    ahead = np.searchsorted(later, later + min(z_max - 1, int(later[-1])), side="right")
    return int((ahead - np.arange(later.size)).max())


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CumulativeMechanism(GroupSizesMechanism):
    """Model 2 for a public tree, size list and number of units.

    sizes (N,) strictly increasing; total the number of units G; budget one share a level (root first),
    epsilon for noise "laplace", rho for "gaussian"; z_max the largest z of a person, which the noise grows
    with; weights as in `level_weights`; loss "l2" or "l1" of the cumulative counts; solver a registered
    name, "auto" (the best that is installed) or a solver.
    lower, upper (R, N): public bounds on the *cumulative* counts, non-decreasing along the sizes. There are
    no invariant levels, and no bounds or structural zeros for single sizes: see `HierarchicalMechanism`.
    without_size_zero: must be True if size 0 is not listed; the guarantee then names who is not protected.
    The last cumulative count of a region is its public number of units; it is measured with noise like the
    others, and only the root's is held at the total. To hold others, give their numbers as bounds.
    Raises InputError for parameters that do not fit each other, all before any data is seen.
    """

    model: ClassVar[str] = "cumulative"
    cumulative: ClassVar[bool] = True

    @property
    def sensitivity(self) -> tuple[int, int]:
        """How far one person's record moves the cumulative counts of one level: L1 B, squared L2 B."""
        crossed = most_crossed(self.sizes, self.z_max)
        return crossed, crossed

    def parameters(self) -> dict[str, Any]:
        """All public parameters as plain data; arrays by digest or by value."""
        return {**GroupSizesMechanism.parameters(self), "sensitivity": self.sensitivity[0]}

    def _words(self) -> ModelWords:
        crossed, _ = self.sensitivity
        return ModelWords(
            table="cumulative counts",
            entry="sizes up to",
            reach=f", which moves a unit across at most B = {crossed} of the listed sizes",
            measured=(
                "Measured are cumulative counts: for each region and listed size, the units of that size or "
                f"smaller; on each level one person's record changes at most {crossed} of them, each by 1. "
                "The last one of a region is its public number of units; it gets noise all the same."
            ),
            rho_factor=2,  # a shift up and one down: squared L2 distance at most 2 B instead of B per level
            whole_unit=False,
        )

    def _measurable(self, counts: Int64) -> Int64:
        return np.cumsum(counts, axis=1)

    def _counts(self, table: Int64) -> Int64:
        return GroupSizes.differences(table)

    def _check_bound(self, name: str) -> None:
        """Bounds meant for single sizes, such as structural zeros, are told by a decrease along the sizes."""
        bound = np.asarray(getattr(self, name))
        if bound.ndim != 2 or bound.shape[0] != self.hierarchy.regions or bound.dtype.kind not in "iu":
            return  # refused with a better message when the problem is made
        falls = np.argwhere(np.diff(bound, axis=1) < 0)
        if falls.size:
            row, column = (int(place) for place in falls[0])
            raise InputError(
                f"a {name} bound decreases along the sizes, but bounds the number of units up to each size",
                f"{name}, region '{self.hierarchy.ids[row]}', size {int(self.sizes[column + 1])}",
                "give bounds on cumulative counts; bounds on single sizes need HierarchicalMechanism",
            )
