"""A problem as one mathematical program in sparse matrices, for any solver that takes matrices."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pgsr.models.problem import Float64, Int64, Problem

if TYPE_CHECKING:
    from scipy.sparse import csc_array


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Program:
    """`min constant + linear'z + quadratic'z^2`, `row_lower <= matrix z <= row_upper`, `lower <= z <= upper`.

    `linear`, `quadratic`, `lower`, `upper` (n,), `integer` (n,) bool; `matrix` (m, n); `row_lower`,
    `row_upper` (m,). Infinite bounds are `inf`. The table is `origin + sum of step * z` over the columns of
    each entry: `entry` (n,) is the entry's place `region * sizes + size`, or -1 for a column of none; `step`
    (n,) its factor. The first rows are "sum of children - parent", inner regions in order, size by size;
    then the total. `segments`: None, or the number of columns at the front that are
    unit segments, entry by entry from below; the cost then equals the problem's at whole numbers only.
    """

    problem: Problem
    constant: float
    linear: Float64
    quadratic: Float64
    lower: Float64
    upper: Float64
    integer: NDArray[np.bool_]
    matrix: csc_array[np.float64]
    row_lower: Float64
    row_upper: Float64
    origin: Int64
    entry: Int64
    step: Float64
    segments: int | None = None

    @property
    def columns(self) -> int:
        """Number of columns n."""
        return int(self.linear.size)

    @property
    def rows(self) -> int:
        """Number of rows m."""
        return int(self.row_lower.size)

    @property
    def quadratic_objective(self) -> bool:
        """Whether any column has a square in the objective."""
        return bool(np.any(self.quadratic))

    def table(self, z: NDArray[Any]) -> Float64:
        """The table (R, N) at the point `z` (n,), as floats."""
        return np.asarray(self.origin + self._moved(z), dtype=np.float64)

    def whole_table(self, z: NDArray[Any]) -> Int64:
        """The table (R, N) of integers nearest to the point `z`; whether it is feasible is not checked."""
        # Rounded before the origin is added, which may be large.
        whole = np.rint(np.nan_to_num(self._moved(z), posinf=2.0**53, neginf=-(2.0**53)))
        return self.origin + whole.astype(np.int64)

    def _moved(self, z: NDArray[Any]) -> Float64:
        """How far (R, N) the point `z` is from the origin."""
        kept = self.entry >= 0
        change = self.step[kept] * np.asarray(z, dtype=np.float64)[kept]
        moved = np.bincount(self.entry[kept], weights=change, minlength=self.origin.size)
        return np.asarray(moved, dtype=np.float64).reshape(self.origin.shape)

    def multipliers(self, duals: NDArray[Any]) -> Float64:
        """Multipliers (R, N) on "parent = sum of its children" from the rows' duals (m,).

        `duals` in the convention of linear programming: the change of the optimum when a row's right side
        grows. Multiplier `pi` of a region adds `pi (x_region - sum of its children)`; 0 at leaves.
        """
        out = np.zeros(self.origin.shape)
        inner = self.problem.inner()
        count = int(inner.sum()) * self.problem.width
        out[inner] = np.asarray(duals, dtype=np.float64)[:count].reshape(-1, self.problem.width)
        return out
