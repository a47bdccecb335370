"""The post-processing problem on arrays: Model 1 (hierarchical) and Model 2 (cumulative).

`min sum_r w_r sum_s loss(x[r, s] - target[r, s])` over tables `x` that add up along the tree, are
non-negative (integers) and hold `total` units; for Model 2 `x` is cumulative over sizes, so
non-decreasing along each row. [Fioretto2021] Models 1 and 2.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import Enum
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from pgsr.errors import InputError
from pgsr.levelorder import MAGNITUDE, child_starts, is_level_order, level_starts, region_chunks, sum_children
from pgsr.models.domains import domains
from pgsr.models.exact import CHUNK, exact_sum, sum_absolute, sum_squares, weight_limbs

Int64 = NDArray[np.int64]
Float64 = NDArray[np.float64]
Loss = Literal["l2", "l1"]


class Feature(Enum):
    """What a problem asks for and a solver offers; lists, skips and messages are derived from it."""

    HIERARCHICAL = "hierarchical"
    """Model 1: counts by size."""
    CUMULATIVE = "cumulative"
    """Model 2: cumulative counts, non-decreasing along sizes."""
    INTEGER = "integer"
    """The integer optimum."""
    RELAXED = "relaxed"
    """The continuous relaxation."""
    L2 = "l2"
    """Squared deviations."""
    L1 = "l1"
    """Absolute deviations."""
    WEIGHTS = "weights"
    """Regions with unequal weights."""
    BOUNDS = "bounds"
    """Lower or upper bounds on the entries of any region, integer problem."""
    RELAXED_BOUNDS = "relaxed-bounds"
    """General bounds (`Problem.general_bounds`) in the relaxation, which the active set does not take."""


class RegionError(InputError):
    """Input that is wrong at one region; `region` is its row, so that a caller can name it better."""

    def __init__(self, what: str, region: int, way_out: str = "") -> None:
        super().__init__(what, f"region in row {region}", way_out)
        self.region = region

    def __reduce__(self) -> Any:
        """Pickle by its own three arguments."""
        return type(self), (self.what, self.region, self.way_out)

    def named(self, name: str) -> InputError:
        """The same error with the region's code instead of its row."""
        return InputError(self.what, f"region '{name}'", self.way_out)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Problem:
    """One post-processing problem.

    `parent` (R,) int64 in level order (`parent[0] == -1`, non-decreasing); `target` (R, N) int64 noisy
    counts (cumulative counts if `cumulative`); `total` the public number of units G; `weights` (R,)
    non-negative, positive at leaves (default 1); `lower`, `upper` (R, N) int64 bound the entries of `x`.
    Entries are always at least 0. Raises InputError (RegionError where one region is at fault) for
    wrong shapes, magnitudes above 2^53, zero weight at a leaf and clashing bounds.
    """

    parent: Int64
    target: Int64
    total: int
    weights: Float64 | None = None
    cumulative: bool = False
    integer: bool = True
    loss: Loss = "l2"
    lower: Int64 | None = None
    upper: Int64 | None = None
    child_start: Int64 = field(init=False)
    level_start: Int64 = field(init=False)

    def __post_init__(self) -> None:
        put = object.__setattr__
        parent = np.ascontiguousarray(self.parent, dtype=np.int64)
        if parent.size == 0:
            raise InputError("the region tree is empty", "parent", "give at least one region")
        if not is_level_order(parent):
            raise InputError("not a tree in level order", "parent", "build it with Hierarchy")
        put(self, "parent", parent)
        put(self, "child_start", child_starts(parent))
        put(self, "level_start", level_starts(self.child_start))
        put(self, "target", _table(self.target, parent.size, None, "noisy count"))
        if isinstance(self.total, bool) or int(self.total) != self.total:
            raise InputError("the total is not an integer", "total")
        put(self, "total", int(self.total))
        if not 0 <= self.total <= MAGNITUDE:
            raise InputError(
                "the total is negative or above 2^53", "total", "give the public number of units"
            )
        if self.loss not in ("l2", "l1"):
            raise InputError(f"unknown loss '{self.loss}'", "loss", "use l2 or l1")
        self._check_weights()
        for name in ("lower", "upper"):
            bound = getattr(self, name)
            if bound is not None:
                put(self, name, _table(bound, parent.size, self.target.shape[1], f"{name} bound"))
        if self.lower is not None or self.upper is not None:
            check_bounds(self)

    def _check_weights(self) -> None:
        if self.weights is None:
            object.__setattr__(self, "weights", np.ones(self.parent.size))
            return
        weights = np.ascontiguousarray(self.weights, dtype=np.float64)
        if weights.shape != self.parent.shape:
            raise InputError("wrong number of weights", "weights", f"give {self.parent.size}, one a region")
        bad = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)))
        if bad.size:
            raise RegionError("a weight is negative or not finite", int(bad[0]), "give a weight >= 0")
        positive = weights[weights > 0]
        if positive.size and not (positive.min() >= 2.0**-60 and positive.max() <= 2.0**60):
            far = int(np.flatnonzero((weights > 0) & ((weights < 2.0**-60) | (weights > 2.0**60)))[0])
            raise RegionError("a weight is beyond 2^60 or under 2^-60", far, "scale all weights")
        if positive.size and positive.max() > positive.min() * 2.0**40:
            low = int(np.flatnonzero(weights == positive.min())[0])
            raise RegionError("weights differ by more than 10^12", low, "bring them closer together")
        zero = np.flatnonzero((weights == 0) & ~self.inner())
        if zero.size:
            raise RegionError("a leaf has weight 0", int(zero[0]), "give it a small positive weight")
        object.__setattr__(self, "weights", weights)

    @property
    def regions(self) -> int:
        """Number of regions R."""
        return int(self.parent.size)

    @property
    def width(self) -> int:
        """Number of sizes N."""
        return int(self.target.shape[1])

    @property
    def unit_weights(self) -> bool:
        """Whether every region has weight 1."""
        return bool(np.all(self.region_weights == 1.0))

    @property
    def region_weights(self) -> Float64:
        """Weights (R,), never None."""
        assert self.weights is not None  # set in the constructor
        return self.weights

    def inner(self) -> NDArray[np.bool_]:
        """Mask (R,) of regions that have children."""
        return self.child_start[1:] > self.child_start[:-1]

    def relaxed(self) -> Problem:
        """The same problem without integrality."""
        return replace(self, integer=False)

    def integers(self) -> Problem:
        """The same problem with integrality."""
        return replace(self, integer=True)

    @property
    def general_bounds(self) -> bool:
        """Whether there are bounds other than lower bounds at leaves and entries pinned to one value."""
        floor = np.zeros((1, 1), dtype=np.int64) if self.lower is None else np.maximum(self.lower, 0)
        pinned = np.zeros((1, 1), dtype=np.bool_) if self.upper is None else self.upper <= floor
        low = self.lower is not None and np.any((floor > 0) & ~pinned & self.inner()[:, None])
        return bool(low) or (self.upper is not None and bool(np.any(~pinned & (self.upper < self.total))))

    @property
    def requires(self) -> frozenset[Feature]:
        """The features that a solver must have to take this problem."""
        need = {Feature.CUMULATIVE if self.cumulative else Feature.HIERARCHICAL}
        need.add(Feature.INTEGER if self.integer else Feature.RELAXED)
        need.add(Feature.L2 if self.loss == "l2" else Feature.L1)
        weights = self.region_weights
        if np.any(weights != weights[0]):
            need.add(Feature.WEIGHTS)
        if self.integer:
            if self.lower is not None or self.upper is not None:
                need.add(Feature.BOUNDS)
        elif self.general_bounds:
            need.add(Feature.RELAXED_BOUNDS)
        return frozenset(need)

    def objective(self, x: NDArray[Any]) -> int | float:
        """Weighted loss of the table `x` (R, N).

        For an integer `x` computed exactly: an int if the value is whole, else the nearest float.
        """
        x = self._shaped(x)
        if not np.issubdtype(x.dtype, np.integer):
            return self._float_objective(x)
        value = self.exact_objective(x)
        return int(value) if value.denominator == 1 else float(value)

    def exact_objective(self, x: Int64) -> Fraction:
        """Weighted loss of the integer table `x` (R, N), exactly."""
        x = self._shaped(x)
        weights = self.region_weights
        equal = bool(np.all(weights == weights[0]))
        limbs, k = weight_limbs(weights[:1] if equal else weights)
        add = sum_squares if self.loss == "l2" else sum_absolute
        totals = [0] * len(limbs)
        rows = max(1, CHUNK // self.width)
        for first in range(0, self.regions, rows):
            part = slice(first, first + rows)
            difference = x[part] - self.target[part]
            for j, limb in enumerate(limbs):
                if equal:
                    totals[j] += int(limb[0]) and int(limb[0]) * add(difference)
                else:
                    totals[j] += add(difference, np.broadcast_to(limb[part, None], difference.shape))
        return Fraction(sum(total << (31 * j) for j, total in enumerate(totals))) / Fraction(2) ** k

    def _float_objective(self, x: NDArray[Any]) -> float:
        total = np.longdouble(0)
        rows = max(1, CHUNK // self.width)
        for first in range(0, self.regions, rows):
            part = slice(first, first + rows)
            difference = np.abs(x[part] - self.target[part].astype(np.float64))
            cost = difference * difference if self.loss == "l2" else difference
            total += (cost.sum(axis=1, dtype=np.longdouble) * self.region_weights[part]).sum()
        return float(total)

    def violations(self, x: NDArray[Any]) -> dict[str, int | float]:
        """Largest violation of each condition at `x` (R, N); all zero means feasible.

        Keys: `consistency` (parent against the sum of its children), `validity` (below zero, or not
        whole where the problem is integer), `faithfulness` (total of each level), `monotonicity`
        (Model 2 only), `bounds`. Integers stay integers.
        """
        x = self._shaped(x)
        number: type[int] | type[float] = int if np.issubdtype(x.dtype, np.integer) else float
        if number is int and max(int(x.max()), -int(x.min())) * x.size >= 2**62:
            x = x.astype(object)  # sums would leave 64 bits: slow, exact, and rare
        if number is float and not np.all(np.isfinite(x)):
            worst: float = float("inf")
            return dict.fromkeys(("consistency", "validity", "faithfulness", "monotonicity", "bounds"), worst)
        consistency = number(0)
        for first, last in region_chunks(self.child_start):
            inner = self.child_start[first + 1 : last + 1] > self.child_start[first:last]
            gap = np.abs(x[first:last] - sum_children(self.child_start, x, first, last))[inner]
            consistency = max(consistency, number(gap.max(initial=0)))
        validity = max(number(0), number(-x.min()))
        if self.integer and number is float:
            validity = max(validity, float(np.abs(x - np.rint(x)).max()))
        monotonicity = number(0)
        if self.cumulative and self.width > 1:
            monotonicity = max(number(0), number(-np.diff(x, axis=1).min()))
        bounds = number(0)
        if self.lower is not None:
            bounds = max(bounds, number((self.lower - x).max()))
        if self.upper is not None:
            bounds = max(bounds, number((x - self.upper).max()))
        return {
            "consistency": consistency,
            "validity": validity,
            "faithfulness": number(self._faithfulness(x)),
            "monotonicity": monotonicity,
            "bounds": bounds,
        }

    def _faithfulness(self, x: NDArray[Any]) -> float | int:
        inner = self.inner()
        above: Any = 0  # units in leaves of the levels passed: they belong to every level below
        worst: Any = 0
        for first, last in zip(self.level_start[:-1], self.level_start[1:], strict=True):
            rows = x[first:last, -1] if self.cumulative else x[first:last].sum(axis=1)
            worst = max(worst, abs(above + rows.sum() - self.total))
            leaves = ~inner[first:last]
            if leaves.any():
                above = above + rows[leaves].sum()
        return worst  # type: ignore[no-any-return]

    def _shaped(self, x: NDArray[Any]) -> NDArray[Any]:
        x = np.asarray(x)
        if x.shape != self.target.shape:
            raise InputError("a solution of the wrong shape", "values", f"expected {self.target.shape}")
        return x


def _table(values: Any, regions: int, width: int | None, what: str) -> Int64:
    """Check a (R, N) table of integers of magnitude at most 2^53; returns it as contiguous int64."""
    table = np.asarray(values)
    if table.ndim != 2 or table.shape[0] != regions or table.shape[1] < 1:
        raise InputError(
            f"a table of {what}s of the wrong shape", what, f"give one row for each of {regions} regions"
        )
    if width is not None and table.shape[1] != width:
        raise InputError(f"a table of {what}s of the wrong width", what, f"give {width} sizes")
    if not np.issubdtype(table.dtype, np.integer):
        if not np.issubdtype(table.dtype, np.floating):
            raise InputError(f"a {what} is not a number", what)
        bad = np.argwhere(~np.isfinite(table) | (table != np.rint(table)))
        if bad.size:
            raise RegionError(f"a {what} is not an integer", int(bad[0][0]))
    if table.size and (int(table.max()) > MAGNITUDE or int(table.min()) < -MAGNITUDE):
        row = int(np.argwhere((table > MAGNITUDE) | (table < -MAGNITUDE))[0][0])
        raise RegionError(f"a {what} is above 2^53 in magnitude", row)
    return np.ascontiguousarray(table, dtype=np.int64)


def check_bounds(problem: Problem) -> None:
    """Raise RegionError if no table can meet the bounds of `problem`, size by size and for the total.

    Model 1: exact (the bounds allow a table if and only if this passes). Model 2: necessary only.
    """
    low, high = domains(problem)
    clash = np.argwhere(low > high)
    if clash.size:
        region, size = (int(v) for v in clash[-1])  # the deepest: where the clash arises
        raise RegionError(
            f"bounds clash for entry {size + 1}", region, "lower bounds exceed what is allowed there"
        )
    if problem.cumulative:
        if not low[0, -1] <= problem.total <= high[0, -1]:
            raise RegionError(
                "bounds exclude the public total", 0, "widen the bounds of the root's last entry"
            )
    elif not exact_sum(low[0]) <= problem.total <= exact_sum(high[0]):
        raise RegionError("bounds exclude the public total", 0, "widen them, or correct the total")
