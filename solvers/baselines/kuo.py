"""`kuo-hc`, `kuo-hg`: group sizes of parents and children matched and merged by inverse variance.

Kuo, Chiu, Kifer, Hay and Machanavajjhala (2018), "Differentially private hierarchical count-of-counts
histograms", PVLDB 11(11); sections 4 (one region) and 5 (the hierarchy). In the publication the number of
units of every region is public. Steps, here as there:

1. One histogram a region. `Hc`: its noisy cumulative counts are made non-decreasing in [0, n], the last one n
   its number of units, by least absolute values (their choice) or squares. `Hg`: its noisy sorted unit
   sizes are made non-decreasing by squares and rounded.
2. Every unit of estimated size s in a region with `h` such units has the variance `c / (w h)`: c is 4 for Hc
   and 2 for Hg in units of the squared scale of the noise, and cancels, as all regions use one method; w
   is the region's weight, for levels with different budgets.
3. From the root down, the units of a parent are matched with those of its children, smallest with
   smallest, which has the least sum of size differences; where children compete for fewer parent's units of
   one size, each child gets its proportional share. A matched child's unit takes the inverse-variance
   mean of both sizes, and the variance of that mean.
4. Sizes at leaves are rounded to the list; all regions above are sums of their leaves.

So the result is whole, non-negative, consistent and holds the total. It minimises no loss: sizes move, not
counts, so the loss is not used. Different from the publication:

* A problem does not hold the units of a region, only the total. Given as `units` they are used as there;
  else they are the noisy last entries made consistent with the total by Model 1 with one size (`proximity`).
* `Hg` adds noise to sorted sizes, which no `Problem` holds, and nothing can be recovered from counts.
  `kuo-hg` is therefore made with the measurements, or used as the function `merge_sizes`; it
  takes the problem only to be judged by it. It cannot be made without them, so it is not registered.
* Ties are shared by rounded cumulative proportions, in the order of children; variances of `Hg` go by the
  units of one rounded size instead of one pooled block.

Cost: O(R N) for the fits (log N more for absolute values); matching handles runs of equal units, so it takes
O(R N L) steps times at most the children of a parent, whatever the number of units; memory the same.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from pgsr.errors import InputError
from pgsr.levelorder import child_starts, level_starts, sum_children
from pgsr.models.problem import Feature, Float64, Int64, Problem, RegionError
from pgsr.solvers.base import Termination
from pgsr.solvers.baselines.heuristic import Draft, Heuristic, measured, remaining

if TYPE_CHECKING:
    from pgsr.solvers.native.schedule import Runner

Norm = Literal["l1", "l2"]

MOST_UNITS = 2**31
"""Units up to which the matching's shares stay in 64 bits."""


class KuoHcSolver(Heuristic):
    """Cumulative counts, isotonic; matching; merging (Kuo et al. 2018, Hc).

    `norm` of the isotonic regression, `units` (R,) public numbers of units of all regions (see the
    module), `sizes` (N,) increasing sizes of the list, by default 0, 1, ..: distances between sizes matter.
    """

    name = "kuo-hc"
    features = frozenset({Feature.CUMULATIVE, Feature.INTEGER, Feature.L2, Feature.L1, Feature.WEIGHTS})

    def __init__(
        self, norm: Norm = "l1", units: Int64 | None = None, sizes: Sequence[float] | Float64 | None = None
    ) -> None:
        if norm not in ("l1", "l2"):
            raise InputError(f"unknown norm '{norm}'", "norm", "use l1 or l2")
        self.norm, self.units, self.sizes = norm, units, sizes

    def check(self, problem: Problem) -> None:
        """Refuse missing features, and more than 2^31 units."""
        super().check(problem)
        _check_units(problem.total)

    def draft(self, problem: Problem, run: Runner) -> Draft:
        """Fit each region, match and merge downwards, add up."""
        from pgsr.solvers.baselines.rows import fit_absolutes, fit_squares

        sizes = _size_list(self.sizes, problem.width)
        target, weight = measured(problem)
        if self.units is None:
            units = _consistent_units(problem, target, weight, run)
            if units is None:
                return Draft(x=None, stopped=True)
        else:
            units = _public_units(problem.parent, self.units)
            if units[0] != problem.total:
                raise RegionError("the units of the root are not the total", 0, "give consistent units")
        run.check()
        fit = fit_absolutes if self.norm == "l1" else fit_squares
        counts = np.diff(fit(target, units, problem.total), axis=1, prepend=0)
        run.check()
        table = merge_counts(problem.parent, counts, weight, sizes)
        return Draft(x=np.cumsum(table, axis=1), details={"norm": self.norm})


class KuoHgSolver(Heuristic):
    """Noisy sorted sizes, isotonic; matching; merging (Kuo et al. 2018, Hg).

    `measurements`: for each region its noisy sorted unit sizes; `sizes` as for `KuoHcSolver`. The problem
    gives the tree, the weights and what the table is judged by (either model).
    """

    name = "kuo-hg"
    features = KuoHcSolver.features | {Feature.HIERARCHICAL}

    def __init__(
        self, measurements: Sequence[NDArray[Any]], sizes: Sequence[float] | Float64 | None = None
    ) -> None:
        self.measurements, self.sizes = measurements, sizes

    def check(self, problem: Problem) -> None:
        """Refuse missing features, and measurements of another tree or total."""
        super().check(problem)
        _check_units(problem.total)
        units = _public_units(problem.parent, np.array([len(noisy) for noisy in self.measurements]))
        if units[0] != problem.total:
            raise RegionError("the units of the root are not the total", 0, "give the problem's own")

    def draft(self, problem: Problem, run: Runner) -> Draft:
        """Fit each region's sizes, match and merge downwards, add up."""
        run.check()
        table = merge_sizes(
            problem.parent, self.measurements, _size_list(self.sizes, problem.width), measured(problem)[1]
        )
        return Draft(x=np.cumsum(table, axis=1) if problem.cumulative else table)


def sorted_sizes(counts: Int64, sizes: Sequence[float] | Float64) -> list[Float64]:
    """The query of `Hg`: for each region (row of counts by size, (R, N)) the sorted sizes of its units.

    One more record in a unit changes one entry by 1, so each level has L1 sensitivity 1 for 0/1 data, Z
    if a record counts up to Z; add noise of scale L/eps (Z L/eps) to every entry and give the result to
    `merge_sizes`. Lengths are the units of regions: public in this method.
    """
    listed = np.asarray(sizes, dtype=np.float64)
    return [np.repeat(listed, row) for row in np.asarray(counts)]


def merge_sizes(
    parent: Int64,
    measurements: Sequence[NDArray[Any]],
    sizes: Sequence[float] | Float64,
    weights: Float64 | None = None,
) -> Int64:
    """`Hg` from noisy sorted sizes, one array a region: a consistent table (R, N) of counts by size.

    `parent` (R,) in level order, `sizes` (N,) increasing, `weights` (R,) inverse variances of the noise
    (default equal). Lengths must add up along the tree. Raises InputError, RegionError otherwise.
    """
    from pgsr.solvers.baselines.rows import fit_reals

    listed = _size_list(sizes, len(sizes))
    parent = np.ascontiguousarray(parent, dtype=np.int64)
    _check_units(_public_units(parent, np.array([len(m) for m in measurements]))[0])
    counts = np.zeros((parent.size, listed.size), dtype=np.int64)
    for r, noisy in enumerate(measurements):
        fitted = fit_reals(np.asarray(noisy, dtype=np.float64), float(listed[0]), float(listed[-1]))
        counts[r] = np.bincount(_nearest(fitted, listed), minlength=listed.size)
    weight = np.ones(parent.size) if weights is None else np.asarray(weights, dtype=np.float64)
    return merge_counts(parent, counts, weight, listed)


def merge_counts(parent: Int64, counts: Int64, weights: Float64, sizes: Float64) -> Int64:
    """Steps 2 to 4 on one estimate a region: `counts` (R, N) whole, >= 0, rows with consistent sums.

    `weights` (R,) positive inverse variances; `sizes` (N,) increasing. Returns a consistent table (R, N).
    """
    from pgsr.solvers.baselines.matching import merge_level

    parent = np.ascontiguousarray(parent, dtype=np.int64)
    starts = child_starts(parent)
    levels = level_starts(starts)
    table = np.zeros_like(counts)
    if parent.size == 1:
        return counts.copy()
    some = np.flatnonzero(counts[0])
    # Runs of units of one size and precision, in order of size: those of region `first + i` are
    # entries `begin[i]` to `end[i]`.
    number, size = counts[0, some], sizes[some]
    precision = weights[0] * number
    begin, end = np.zeros(1, dtype=np.int64), np.array([some.size])
    for first, last in itertools.pairwise(levels.tolist()):
        if starts[first] == starts[last]:
            break
        # A child's runs are pieces between the ends of its own sizes and of its parent's runs.
        children = slice(starts[first], starts[last])
        above = (end - begin)[parent[children] - first]
        own = np.minimum(counts[children].sum(axis=1), above + counts.shape[1])
        own[starts[children.start + 1 : children.stop + 1] == starts[children]] = 0  # leaves go to the table
        child_begin = np.cumsum(own) - own
        child_end = child_begin.copy()
        pieces = int(own.sum())
        runs = np.empty(pieces, dtype=np.int64), np.empty(pieces), np.empty(pieces)
        merge_level(
            first, last, starts, counts, weights, sizes, (number, size, precision), begin, end,
            runs, child_begin, child_end, table,
        )  # fmt: skip
        (number, size, precision), begin, end = runs, child_begin, child_end
    for first, last in zip(levels[-2::-1], levels[:0:-1], strict=True):
        inner = np.flatnonzero(starts[first + 1 : last + 1] > starts[first:last])
        table[first + inner] = sum_children(starts, table, int(first), int(last))[inner]
    return table


def _nearest(values: Float64, sizes: Float64) -> NDArray[np.intp]:
    """Columns of the sizes nearest to `values`; halfway goes up."""
    return np.searchsorted((sizes[:-1] + sizes[1:]) / 2.0, values, side="right")


def _consistent_units(problem: Problem, target: Int64, weight: Float64, run: Runner) -> Int64 | None:
    """Units (R,) of all regions from the last entries, by Model 1 with one size; None if out of time."""
    from pgsr.solvers.native.proximity import ProximitySolver

    last = Problem(parent=problem.parent, target=target[:, -1:], total=problem.total, weights=weight)
    found = ProximitySolver().solve(last, remaining(run))
    if found.x is None or found.termination is Termination.TIME_LIMIT:
        return None
    return np.ascontiguousarray(found.x[:, 0], dtype=np.int64)


def _public_units(parent: Int64, units: Int64) -> Int64:
    units = np.ascontiguousarray(units, dtype=np.int64)
    if units.shape != parent.shape:
        raise InputError("units for another number of regions", "units", f"give {parent.size}, one a region")
    sums = np.zeros_like(units)
    np.add.at(sums, parent[1:], units[1:])
    inner = np.bincount(parent[1:], minlength=parent.size) > 0
    bad = np.flatnonzero((units < 0) | (inner & (sums != units)))
    if bad.size:
        raise RegionError("units are negative or not the sum of the children's", int(bad[0]), "correct them")
    return units


def _check_units(total: int) -> None:
    if total > MOST_UNITS:
        raise InputError("more than 2^31 units", "solver kuo", "use another baseline")


def _size_list(sizes: Sequence[float] | Float64 | None, width: int) -> Float64:
    if sizes is None:
        return np.arange(width, dtype=np.float64)
    listed = np.asarray(sizes, dtype=np.float64)
    if listed.shape != (width,) or not np.all(np.diff(listed) > 0):
        raise InputError("sizes are not an increasing list", "sizes", f"give {width} sizes")
    return listed
