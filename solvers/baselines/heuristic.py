"""What all baselines share: a record that claims nothing, and regions that nobody measured."""

from __future__ import annotations

import time
from abc import abstractmethod
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from pgsr.levelorder import MAGNITUDE, sum_children
from pgsr.models.problem import Float64, Int64, Problem
from pgsr.solvers.base import Solution, SolveOptions, Termination
from pgsr.solvers.certificate import Stopwatch, assess
from pgsr.solvers.native.solver import NativeSolver

if TYPE_CHECKING:
    from pgsr.solvers.native.schedule import Runner


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A table (R, N) of whole numbers, a bound that is proven elsewhere, and plain data about the run.

    `stopped`: a part of the method was cut short, so the table is not what the method gives.
    """

    x: Int64 | None
    bound: int | float | None = None
    stopped: bool = False
    details: dict[str, Any] = field(default_factory=dict)


class Heuristic(NativeSolver):
    """A solver that returns a table and claims nothing about it; subclasses say how in `draft`."""

    heuristic = True
    scale = 0

    @abstractmethod
    def draft(self, problem: Problem, run: Runner) -> Draft:
        """Make the table; may raise OutOfTime."""

    def solve(self, problem: Problem, options: SolveOptions) -> Solution:
        """Run the method to its end: `unknown`, "heuristic". At the time limit there may be no table."""
        self.check(problem)
        from pgsr.solvers.native.schedule import OutOfTime, runner

        watch = Stopwatch()
        made = Draft(x=None, stopped=True)
        try:
            with runner(problem, options, watch.started) as run:
                made = self.draft(problem, run)
        except OutOfTime:
            pass
        return assess(
            problem,
            made.x,
            solver=self.name,
            version=self.version(),
            termination=Termination.TIME_LIMIT if made.stopped else Termination.UNKNOWN,
            raw_status="time limit" if made.stopped else "heuristic",
            build_s=0.0,
            solve_s=watch.seconds(),
            claimed_bound=made.bound,
            options=options,
            details=made.details,
        )


def remaining(run: Runner) -> SolveOptions:
    """Options for a solver that is called inside `run`: the time that is left; raises OutOfTime if none."""
    run.check()
    left = None if run.deadline is None else max(1e-3, run.deadline - time.monotonic())
    return replace(run.options, time_limit_s=left, gap=0.0, start=None, observe=None)


def measured(problem: Problem) -> tuple[Int64, Float64]:
    """Targets (R, N) and weights (R,), none of them 0, taken for inverse variances.

    An inner region of weight 0 was not measured: it gets the sum of its children's targets, and the
    variance of that sum.
    """
    weight = problem.region_weights
    if np.all(weight > 0):
        return problem.target, weight
    weight, target = weight.copy(), problem.target.copy()
    starts = problem.level_start
    for first, last in zip(starts[-2::-1], starts[:0:-1], strict=True):
        unknown = np.flatnonzero(weight[first:last] == 0)
        if unknown.size == 0:
            continue
        begin, end = problem.child_start[first], problem.child_start[last]
        variance = np.zeros((problem.regions, 1))
        variance[begin:end, 0] = 1.0 / weight[begin:end]
        summed = sum_children(problem.child_start, target.astype(np.float64), first, last)
        summed = np.clip(summed, -MAGNITUDE, MAGNITUDE).astype(np.int64)
        target[first + unknown] = summed[unknown]
        weight[first + unknown] = 1.0 / sum_children(problem.child_start, variance, first, last)[unknown, 0]
    return target, weight
