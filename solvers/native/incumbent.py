"""The best whole table of Model 2 found so far: rounding, exchanges, merging, never worse."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np

from pgsr.models.exact import dyadic_weights
from pgsr.models.problem import Float64, Int64, Problem
from pgsr.solvers.base import tolerance
from pgsr.solvers.native.exchanger import Exchanger
from pgsr.solvers.native.merge import merge
from pgsr.solvers.native.pairchain import PairShifts, few_leaves
from pgsr.solvers.native.schedule import OutOfTime, Runner
from pgsr.solvers.native.topdown import round_down_the_tree


def smallest_gain(problem: Problem) -> float:
    """What a change must gain in float64 to be one: above rounding where weights are not dyadic."""
    weights = problem.region_weights
    least = float(weights[weights > 0].min())
    slack = 1e-6 * least
    if dyadic_weights(weights / least) is not None:
        return slack
    reach = max(problem.total, int(np.abs(problem.target).max()), 1)
    return max(slack, 1e-13 * float(weights.max()) * reach * problem.width)


class Incumbent:
    """The best feasible table so far of a cumulative problem without bounds.

    `x` (R, N) int64 or None, `value` its objective, exactly. Every method leaves `x` feasible and never
    worse, also where it raises OutOfTime.
    """

    def __init__(self, problem: Problem, run: Runner) -> None:
        self.problem, self.run = problem, run
        self.x: Int64 | None = None
        self.value = Fraction(0)
        self._spare: Int64 | None = None
        self._slack = smallest_gain(problem)
        self._pairs = PairShifts(problem) if few_leaves(problem) else None
        self._exchanger = Exchanger(problem) if self._pairs is None else None
        self._last: Int64 | None = None  # the table that exchanges were tried on last

    @property
    def route(self) -> str:
        """Which exchanges are used."""
        return "pairs of leaves" if self._pairs is not None else "tree exchanges"

    def round(self, z: Float64, *, improve: bool) -> None:
        """Round `z` (R, N), improve the result by exchanges if asked to, and merge it in."""
        found = round_down_the_tree(self.problem, z, replace(self.run, deadline=None), self._spare)
        self._spare = None
        late: OutOfTime | None = None
        if improve:
            try:
                self._exchange(found)
            except OutOfTime as error:
                late = error
        self._merge(found, improve=improve and late is None)
        if late is not None:
            raise late

    def offer(self, x: Int64) -> None:
        """Merge in the table `x` (R, N) if it is feasible; it may be overwritten."""
        if max(self.problem.violations(x).values()) <= tolerance(self.problem, x):
            self._merge(x, improve=False)
            self._forget()

    def replace_rows(self, rows: Int64, values: Int64) -> None:
        """Put `values` (rows, N) into `rows` of the table, which the caller knows to be better so."""
        assert self.x is not None
        self.x[rows] = values
        self.value = self.problem.exact_objective(self.x)
        self._forget()

    def _forget(self) -> None:
        """The table has changed behind the exchanges' back: they look at everything again."""
        if self._exchanger is not None:
            self._exchanger, self._last = Exchanger(self.problem), None

    def _exchange(self, x: Int64) -> None:
        if self._exchanger is None:
            assert self._pairs is not None
            self._pairs.improve(x, self.run, slack=self._slack)
            return
        if self._last is not None and self._last is not x:
            self._exchanger.moved(self._last, x, replace(self.run, deadline=None))
        self._last = x
        self._exchanger.improve(x, self.run, slack=self._slack)

    def _merge(self, found: Int64, *, improve: bool) -> None:
        if self.x is None:
            self.x, self.value = found, self.problem.exact_objective(found)
            return
        gain = merge(self.problem, self.x, found, slack=self._slack)
        if gain > 0:
            self.value = self.problem.exact_objective(self.x)
        self._spare = found
        if not improve:
            return
        try:
            self._exchange(self.x)
        finally:
            self.value = self.problem.exact_objective(self.x)
