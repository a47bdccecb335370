"""A problem with its labels: the hierarchy, the sizes, and the rows of the file it came from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgsr.errors import InputError
from pgsr.hierarchy import Hierarchy
from pgsr.models.problem import Problem, RegionError

Int64 = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Instance:
    """A post-processing problem on a named tree.

    `sizes` (N,) int64; `problem` in the hierarchy's order; `order` (R,) the row that each region has in
    the file it was read from (None: the same order), so that solutions are written in the file's order.
    Raises InputError if the parts do not fit together.
    """

    hierarchy: Hierarchy
    sizes: Int64
    problem: Problem
    order: Int64 | None = None

    def __post_init__(self) -> None:
        if self.problem.target.shape != (self.hierarchy.regions, len(self.sizes)):
            raise InputError("the problem does not fit the regions and sizes", "instance")
        if not np.array_equal(self.problem.parent, self.hierarchy.parent):
            raise InputError("the problem is on another tree", "instance")

    @classmethod
    def build(
        cls,
        hierarchy: Hierarchy,
        sizes: Int64,
        noisy: Int64,
        total: int,
        *,
        order: Int64 | None = None,
        **options: Any,
    ) -> Instance:
        """Make the problem for `noisy` (R, N); `options` go to `Problem`. Errors name regions by code."""
        try:
            problem = Problem(parent=hierarchy.parent, target=noisy, total=total, **options)
        except RegionError as error:
            raise error.named(str(hierarchy.ids[error.region])) from None
        return cls(hierarchy=hierarchy, sizes=sizes, problem=problem, order=order)

    def to_file_order(self, table: NDArray[Any]) -> NDArray[Any]:
        """Rows of `table` (R, N), in the hierarchy's order, put in the file's order."""
        if self.order is None:
            return table
        out = np.empty_like(table)
        out[self.order] = table
        return out
