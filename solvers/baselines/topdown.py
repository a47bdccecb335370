"""`topdown`: parents first, then children given their parent: least squares, then rounding.

What the 2020 US Census' disclosure avoidance system did (Abowd et al. 2022, "The 2020 Census Disclosure
Avoidance System TopDown Algorithm", Harvard Data Science Review, special issue 2, sections on the
non-negative least squares and the rounder), for the one histogram of this problem:

* The root is fitted to its own target: non-negative (Model 2: non-decreasing) and with the public total,
  in whole numbers, which is exact.
* Then, level by level, the children of each parent: least squares on the children's own targets by their
  weights, with "they add up to the parent" for every size, non-negative (Model 2: non-decreasing).
  Model 1: each size is by itself and solved exactly by a monotone active set. Model 2: over-relaxed
  splitting between the sums and the rows, to 1e-4 units.
* Then controlled rounding to whole numbers that keep the parent's counts: Model 1: floors and largest
  remainders, the nearest such table; with equal weights it is even the best whole table given the parent.
  Model 2: the same size by size, each entry at least the one before it.

Different from the publication: one histogram instead of several queries in passes, squares solved by our own
methods instead of a commercial solver, nearest rounding instead of an integer program with a linear
cost, no invariants below the root, no bounds. A region sees its own target and its parent, never its
descendants; so a region of weight 0 takes the sum of its children's targets and its variance. Feasible by
construction, not optimal. Cost: O(R N) for Model 1 but for a few passes and a sort of siblings; Model 2
times the iterations of the splitting.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pgsr.models.problem import Feature, Float64, Int64, Problem
from pgsr.solvers.baselines.heuristic import Draft, Heuristic, measured

if TYPE_CHECKING:
    from pgsr.solvers.native.schedule import Runner

_LARGE = 100_000
"""Entries of a family's table from which the time limit is looked at while it is fitted."""


class TopDownSolver(Heuristic):
    """Level by level from the root; both models, least squares and rounding."""

    name = "topdown"
    features = frozenset(
        {Feature.HIERARCHICAL, Feature.CUMULATIVE, Feature.INTEGER, Feature.L2, Feature.WEIGHTS}
    )

    def draft(self, problem: Problem, run: Runner) -> Draft:
        """Fit the root, then all children of a level at a time, on all threads."""
        from pgsr.solvers.baselines.siblings import share_counts, whole_shares
        from pgsr.solvers.native.schedule import call

        target, weight = measured(problem)
        x = np.zeros(problem.target.shape, dtype=np.int64)
        if problem.cumulative:
            from pgsr.solvers.baselines.rows import fit_squares

            x[0] = fit_squares(target[:1], np.array([problem.total]), problem.total)[0]
            run.down(_Families(problem, run, target, weight, x).share, "children given parents")
            return Draft(x=x)
        width = problem.width
        whole_shares(target[0], np.ones(width), np.zeros(width, dtype=np.int64), problem.total, x[0])
        run.down(call(share_counts, problem.child_start, target, weight, x), "children given parents")
        return Draft(x=x)


class _Families:
    """Children of Model 2; large families stop for the time limit now and then, the others run compiled."""

    def __init__(self, problem: Problem, run: Runner, target: Int64, weight: Float64, x: Int64) -> None:
        self.starts, self.run = problem.child_start, run
        self.target, self.weight, self.x = target, weight, x
        self.large = np.flatnonzero(np.diff(self.starts) * problem.width > _LARGE)

    def share(self, first: int, last: int) -> None:
        """Split the rows `first` .. `last - 1` among their children."""
        from pgsr.solvers.baselines.siblings import share_cumulative

        at = first
        inside = slice(*np.searchsorted(self.large, (first, last)))
        for p in self.large[inside].tolist():
            share_cumulative(at, p, self.starts, self.target, self.weight, self.x)
            self._large(p)
            at = p + 1
        share_cumulative(at, last, self.starts, self.target, self.weight, self.x)

    def _large(self, p: int) -> None:
        from pgsr.solvers.baselines.siblings import MOST, real_rows, start_rows, whole_rows

        children = slice(int(self.starts[p]), int(self.starts[p + 1]))
        row, target, weight = self.x[p], self.target[children], self.weight[children]
        z, u = np.empty(target.shape), np.empty(target.shape)
        start_rows(row, target, z, u)
        step = max(1, _LARGE * 10 // z.size)
        for _ in range(0, MOST, step):
            self.run.check()
            if real_rows(row, target, weight, step, z, u) >= 0:
                break
        whole_rows(row, z, self.x[children])
