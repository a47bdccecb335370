"""`splitting`: Model 2 with squares by splitting, relaxed or interpolated at the whole numbers.

Over-relaxed ADMM (Boyd et al. 2011) between "the table adds up and holds the total" (x, two passes over the
tree) and "rows are non-decreasing and within bounds" (z, one fit per row); all cost is in z. Penalties are
per region and follow the residuals: the ratio of a region's two residuals moves its penalty. Every few
iterations the prices of the tree step prove a lower bound, and its leaves, made monotone and scaled to the
total, sum up to a feasible table: the gap between them is the stopping rule.

With interpolated squares the limit is the linear program whose optimum bounds the integer problem best.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from pgsr.errors import InputError
from pgsr.models.problem import Feature, Float64, Problem
from pgsr.solvers.base import (
    Observation,
    Solution,
    SolveOptions,
    Termination,
)
from pgsr.solvers.certificate import Stopwatch, assess
from pgsr.solvers.native.solver import NativeSolver

if TYPE_CHECKING:
    from pgsr.solvers.native.schedule import Runner
    from pgsr.solvers.native.splitstate import Split

GAP = 5e-7
"""Relative gap to reach; half of what counts as proven."""

FINE_GAP = 1e-9
"""What is tried for where it is cheap."""

MOST = 20_000
"""Iterations after which the relaxation is given up."""

_CHEAP = 1 << 20  # entries up to which the finer gap is tried for
_STALL = 1e-8  # relative improvement of the bound that is none
_PATIENCE = 60  # iterations, at least, over which it must not improve


class Relaxation(NamedTuple):
    """A table (R, N) float64, prices (R, N) of "a region is the sum of its children", a bound, a count."""

    x: Float64
    multipliers: Float64
    bound: float
    iterations: int


def relax_cumulative(
    problem: Problem, run: Runner, *, gap: float = GAP, iterations: int = MOST
) -> Relaxation:
    """Solve the relaxation of the cumulative `problem` to a relative `gap`, or as far as time allows.

    `x` adds up along the tree (to rounding) and, without bounds, is feasible; with bounds it violates them by
    the tolerance at most once the gap is reached. `multipliers[r] (x[r] - sum of children)` is added to the
    objective, 0 at leaves; `bound` is the lower bound that they prove, in float64 (3.3.3). Never raises
    OutOfTime; RegionError or InputError if bounds are found to exclude every table.
    """
    from pgsr.solvers.native.splitstate import Split

    split = Split(problem, run, whole=False)
    _relax(split, gap, iterations, None)
    x = split.table()
    return Relaxation(x, split.multipliers(), min(split.lower, split.upper), split.iterations)


def piecewise_guess(problem: Problem, run: Runner, *, iterations: int = 1000) -> Relaxation:
    """Approach the linear program with squares interpolated at whole numbers, until its bound stalls.

    `x` holds monotone rows within bounds that add up only in the limit; `multipliers` those of the best
    lower bound seen, which holds for the integer problem (3.4.1, 3.4.2), in float64. At most `iterations`,
    and no longer than the runner's time; never raises OutOfTime.
    """
    from pgsr.solvers.native.schedule import OutOfTime
    from pgsr.solvers.native.splitstate import Split

    split = Split(problem, run, whole=True)
    try:
        split.start()
        approach(split, run, lambda: None, iterations=iterations)
    except OutOfTime:
        split.settle()
        if not math.isfinite(split.lower):
            split.check()
    return Relaxation(split.z, split.multipliers(), split.lower, split.iterations)


def approach(split: Split, run: Runner, note: Callable[[], None], *, iterations: int = 1000) -> None:
    """Iterate until the bound of `split` stalls, `iterations` at most; `note` is called after each bound."""
    seen: list[tuple[int, float]] = []
    while split.iterations < iterations and split.problem.regions > 1:
        split.iterate()
        if not split.due and split.iterations < iterations:
            continue
        split.check()
        note()
        seen.append((split.iterations, split.lower))
        run.report("splitting", split.iterations / iterations)
        since = split.iterations - max(_PATIENCE, split.iterations // 3)
        before = [bound for at, bound in seen if at <= since]
        if before and split.lower - before[-1] <= _STALL * max(1.0, abs(split.lower)):
            return


def _relax(split: Split, gap: float, most: int, note: Callable[[float, float], None] | None) -> Termination:
    """Iterate to the gap; the state is fit for `table` afterwards whatever happens."""
    from pgsr.solvers.native.schedule import OutOfTime

    until, goal = most, gap
    done = 0.0
    narrowest, narrowed = math.inf, 0
    try:
        split.start()
        while split.problem.regions > 1:
            split.iterate()
            if not split.due and split.iterations < until:
                continue
            split.check()
            if note is not None:
                note(split.upper, split.lower)
            left = math.inf
            if split.upper < math.inf:  # rounding can put the bound above it
                left = abs(split.upper - split.lower) / max(1.0, split.upper)
            if left < 1.0:
                done = max(done, math.log10(max(left, goal)) / math.log10(goal))
            split.run.report("splitting", done)
            if left <= goal:
                if goal <= FINE_GAP or split.z.size > _CHEAP:
                    return Termination.OPTIMAL
                goal, until = FINE_GAP, min(most, 2 * split.iterations + 20)
            if left < 0.9 * narrowest:
                narrowest, narrowed = left, split.iterations
            if narrowest < math.inf and split.iterations > 2 * narrowed + 500:
                return Termination.OPTIMAL if narrowest <= gap else Termination.NUMERICAL
            if split.iterations >= until:
                return Termination.OPTIMAL if narrowest <= gap else Termination.OTHER_LIMIT
    except OutOfTime:
        split.settle()
        return Termination.TIME_LIMIT
    return Termination.OPTIMAL


_SAID = {
    Termination.OPTIMAL: "gap closed",
    Termination.TIME_LIMIT: "time limit",
    Termination.OTHER_LIMIT: "gave up",
    Termination.NUMERICAL: "rounding keeps the gap open",
}


class SplittingSolver(NativeSolver):
    """Splitting between the tree and the rows, with a proven gap (numba)."""

    name = "splitting"
    features = frozenset(
        {Feature.CUMULATIVE, Feature.RELAXED, Feature.L2, Feature.WEIGHTS, Feature.RELAXED_BOUNDS}
    )
    scale = 10**9

    def solve(self, problem: Problem, options: SolveOptions) -> Solution:
        """Solve the relaxation of Model 2; see the module. At the time limit the table so far is returned."""
        self.check(problem)
        from pgsr.solvers.native.schedule import runner
        from pgsr.solvers.native.splitstate import Split

        watch = Stopwatch()
        trace: list[Observation] = []
        x = multipliers = None
        details = {}

        best = [math.inf, -math.inf]

        def note(upper: float, lower: float) -> None:
            best[:] = min(best[0], upper), max(best[1], lower)
            objective = best[0] if best[0] < math.inf else None
            trace.append(Observation(seconds=watch.seconds(), objective=objective, bound=best[1]))
            if options.observe is not None:
                options.observe(trace[-1], None)

        try:
            with runner(problem, options, watch.started) as run:
                split = Split(problem, run, whole=False)
                termination = _relax(split, max(GAP, options.gap), MOST, note)
                raw = f"{_SAID[termination]} after {split.iterations} iterations"
                x, multipliers = split.table(), split.multipliers()
                details["iterations"] = split.iterations
        except InputError as error:
            termination, raw = Termination.INFEASIBLE, str(error)
        return assess(
            problem,
            x,
            solver=self.name,
            version=self.version(),
            termination=termination,
            raw_status=raw,
            build_s=0.0,
            solve_s=watch.seconds(),
            options=options,
            multipliers=multipliers,
            trace=trace,
            details=details,
        )
