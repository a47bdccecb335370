"""The piecewise-linear form: unit segments in windows, exact at whole numbers, for LP and MILP solvers.

Each entry starts at the low end of its window and climbs by segments of length 1 whose costs are the
differences of the loss, which increase (convexity), so that a solver fills them in order. What lies outside a
window can be left out (then a solution inside all artificial ends is still a global optimum of the linear
program) or be reached by `tails`, columns that charge the first outside step for every further one: less than
the truth, so the program bounds the problem from below, and an optimum that uses no tail is exact. Regions
without weight cost nothing anywhere: their windows are always everything, in one column.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from pgsr.models.domains import domains
from pgsr.models.forms.matrix import constraint_rows
from pgsr.models.forms.program import Program
from pgsr.models.problem import Float64, Int64, Problem, RegionError

if TYPE_CHECKING:
    from scipy.sparse import csc_array


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Windows:
    """A range of whole values for every entry: `low <= x <= high` (R, N), inside what the bounds allow.

    `domain_low`, `domain_high` (R, N): what bounds, subtree and, for Model 2, neighbouring sizes allow.
    """

    low: Int64
    high: Int64
    domain_low: Int64
    domain_high: Int64

    @classmethod
    def whole(cls, problem: Problem) -> Self:
        """Windows that hold everything."""
        low, high = value_ranges(problem)
        return cls(low=low, high=high, domain_low=low, domain_high=high)

    @classmethod
    def around(cls, problem: Problem, guess: NDArray[Any], reach: int) -> Self:
        """Windows `floor - reach .. ceil + reach` round a table of any numbers (R, N)."""
        low, high = value_ranges(problem)
        first, last = (np.clip(end, low, high) for end in _span(guess, reach))
        free = problem.region_weights == 0
        first[free], last[free] = low[free], high[free]
        return cls(low=first, high=last, domain_low=low, domain_high=high)

    @property
    def segments(self) -> int:
        """Number of unit segments in all windows."""
        # A few ranges of 2^53 leave 64 bits.
        return int((self.high - self.low).sum(dtype=np.float64))

    def artificial(self) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Masks (R, N): whose low end, whose high end is there for the window's sake alone."""
        return self.low > self.domain_low, self.high < self.domain_high

    def touched(self, x: NDArray[Any]) -> NDArray[np.bool_]:
        """Mask (R, N) of entries of `x` that sit on an artificial end, or beyond it."""
        below, above = self.artificial()
        return (below & (x <= self.low + 1e-6)) | (above & (x >= self.high - 1e-6))

    def recentred(self, x: NDArray[Any], reach: int) -> Windows:
        """Windows of `reach` round `x` where it touches an end, the present ones elsewhere."""
        touched = self.touched(x)
        first, last = _span(x, reach)
        return self.between(np.where(touched, first, self.low), np.where(touched, last, self.high))

    def widened(self, where: NDArray[np.bool_] | Literal[True] = True) -> Windows:
        """Windows that reach one unit further on either side, `where` (R, N) is true."""
        return self.between(
            np.where(where, self.low - 1, self.low), np.where(where, self.high + 1, self.high)
        )

    def between(self, low: Int64, high: Int64) -> Windows:
        """Windows from `low` to `high` (R, N), as far as the domain goes."""
        clip = (self.domain_low, self.domain_high)
        return replace(self, low=np.clip(low, *clip), high=np.clip(high, *clip))


def _span(table: NDArray[Any], reach: int) -> tuple[Int64, Int64]:
    """`floor - reach` and `ceil + reach` of any numbers; what is whole up to 1e-6 counts as whole."""
    size = float(2**53)
    near = np.clip(np.nan_to_num(np.asarray(table, dtype=np.float64)), -size, size)
    first = np.floor(near + 1e-6).astype(np.int64) - reach
    return first, np.ceil(near - 1e-6).astype(np.int64) + reach


def value_ranges(problem: Problem) -> tuple[Int64, Int64]:
    """Smallest and largest value (R, N) that bounds, subtree and (Model 2) neighbouring sizes allow.

    Raises RegionError if they leave a region nothing.
    """
    low, high = domains(problem)
    if problem.cumulative:
        low = np.maximum.accumulate(low, axis=1)
        high = np.minimum.accumulate(high[:, ::-1], axis=1)[:, ::-1].copy()
        low[0, -1] = max(low[0, -1], min(problem.total, high[0, -1]))
    clash = np.flatnonzero(np.any(low > high, axis=1))
    if clash.size:
        raise RegionError("bounds allow no non-decreasing row", int(clash[0]), "widen them")
    return low, high


def ranks(count: Int64) -> Int64:
    """0, 1, ... `count[i] - 1` for one i after the other: the places of items within their runs."""
    starts = np.cumsum(count) - count
    return np.arange(int(count.sum())) - np.repeat(starts, count)


def segment_cost(problem: Problem, places: Int64, values: Int64) -> Float64:
    """Cost of the step from `values` to `values + 1` at the entries `places` (`region * N + size`)."""
    weight = problem.region_weights[places // problem.width]
    gap = (values - problem.target.ravel()[places]).astype(np.float64)
    if problem.loss == "l2":
        return weight * (2.0 * gap + 1.0)
    return weight * np.where(gap >= 0, 1.0, -1.0)


def piecewise_form(problem: Problem, windows: Windows, *, tails: bool = False) -> Program:
    """The problem as a linear program of unit segments, integer columns if the problem is integer.

    Objective and point equal the problem's at whole tables inside the windows. With `tails` nothing is
    excluded, and the optimum is at most the problem's. The loss of the windows' low ends is the constant.
    """
    from scipy.sparse import csc_array

    low, high = windows.low.ravel(), windows.high.ravel()
    places = np.arange(low.size)
    free = np.repeat(problem.region_weights == 0, problem.width)
    count = np.where(free, 0, high - low)
    entry = np.repeat(places, count)
    cost = segment_cost(problem, entry, np.repeat(low, count) + ranks(count))
    step, length, segments = np.ones(entry.size), np.ones(entry.size), entry.size
    whole = np.flatnonzero(free & (high > low))
    if whole.size:
        entry = np.concatenate([entry, whole])
        cost = np.concatenate([cost, np.zeros(whole.size)])
        step = np.concatenate([step, np.ones(whole.size)])
        length = np.concatenate([length, (high - low)[whole].astype(np.float64)])
    if tails:
        below, above = (np.flatnonzero(mask.ravel()) for mask in windows.artificial())
        entry = np.concatenate([entry, below, above])
        step = np.concatenate([step, -np.ones(below.size), np.ones(above.size)])
        down = (windows.low - windows.domain_low).ravel()[below]
        up = (windows.domain_high - windows.high).ravel()[above]
        length = np.concatenate([length, down, up]).astype(np.float64)
        cost = np.concatenate(
            [cost, -segment_cost(problem, below, low[below] - 1), segment_cost(problem, above, high[above])]
        )
    rows, row_lower, row_upper = constraint_rows(problem)
    moved = rows @ low.astype(np.float64)
    return Program(
        problem=problem,
        constant=float(problem.objective(windows.low)),
        linear=cost,
        quadratic=np.zeros(entry.size),
        lower=np.zeros(entry.size),
        upper=length,
        integer=np.full(entry.size, problem.integer),
        matrix=_spread(csc_array(rows), entry, step),
        row_lower=row_lower - moved,
        row_upper=row_upper - moved,
        origin=windows.low,
        entry=entry,
        step=step,
        segments=segments,
    )


def _spread(rows: csc_array[np.float64], entry: Int64, step: Float64) -> csc_array[np.float64]:
    """Columns of `rows` at `entry`, times `step`."""
    from scipy.sparse import csc_array

    if not np.all(step == 1.0):
        return csc_array(rows[:, entry].multiply(step[None, :]))
    return csc_array(rows[:, entry])


def filled(program: Program, x: Int64) -> Float64:
    """The point (n,) of a piecewise-linear program at the table `x`: segments from below, then tails."""
    rise = np.asarray(x - program.origin, dtype=np.float64).ravel()
    z = np.zeros(program.columns)
    assert program.segments is not None
    places = program.entry[: program.segments]
    count = np.bincount(places, minlength=rise.size)
    z[: program.segments] = ranks(count) < rise[places]
    left = rise - np.bincount(program.entry, weights=program.step * z, minlength=rise.size)
    tail = np.arange(program.segments, program.columns)
    z[tail] = np.clip(program.step[tail] * left[program.entry[tail]], 0.0, program.upper[tail])
    return z
