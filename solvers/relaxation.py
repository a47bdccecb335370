"""Where to look: guesses at the optimum that windows are placed round, and a first feasible table."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from pgsr.models.forms.matrix import near_origin
from pgsr.models.problem import Float64, Int64, Problem
from pgsr.solvers.base import SolveOptions

_WHOLE = 0.02
"""Distance from a whole number at which an entry of the interpolated relaxation is taken for it."""

_ITERATIONS = 1000


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Guess:
    """A table (R, N) near the optimum, whole where it is nearly so; nothing rests on its accuracy.

    `multipliers` (R, N), if any, prove a bound for Model 2; whoever uses them recomputes it.
    """

    table: Float64
    multipliers: Float64 | None = None


def guess(problem: Problem, options: SolveOptions) -> Guess:
    """A guess at the integer optimum, within `options.seconds_left()`.

    Model 1: the relaxation by the active set. Model 2 with squares: the splitting method on squares that
    are interpolated at the whole numbers. Absolute values: the target inside its bounds.
    """
    seconds = options.seconds_left()
    if problem.loss == "l1" or seconds == 0:
        return Guess(table=near_origin(problem).astype(np.float64))
    quiet = SolveOptions(
        time_limit_s=seconds,
        threads=options.threads,
        stop_at=options.stop_at,
        progress=options.progress,
    )
    if not problem.cumulative:
        from pgsr.solvers.native.proximity import ProximitySolver

        found = ProximitySolver().solve(problem.relaxed(), quiet)
        if found.x is None:
            return Guess(table=near_origin(problem).astype(np.float64))
        return Guess(table=np.asarray(found.x, dtype=np.float64))
    from pgsr.solvers.native.schedule import runner
    from pgsr.solvers.native.splitting import piecewise_guess

    with runner(problem, quiet, time.monotonic()) as run:
        split = piecewise_guess(problem, run, iterations=_ITERATIONS)
    whole = np.rint(split.x)
    near = np.where(np.abs(split.x - whole) < _WHOLE, whole, split.x)
    return Guess(table=near, multipliers=split.multipliers)


def first_table(problem: Problem, near: Float64) -> Int64 | None:
    """A feasible whole table (R, N) near the table `near`, quickly; None for Model 2 with bounds.

    What a back end's answer has to beat, and what is left if its time runs out.
    """
    if not problem.cumulative:
        from pgsr.solvers.native.feasible import repair

        return repair(problem, np.rint(near).astype(np.int64))
    if problem.lower is not None or problem.upper is not None:
        return None
    from pgsr.solvers.native.schedule import runner
    from pgsr.solvers.native.topdown import round_down_the_tree

    with runner(problem, SolveOptions(threads=1), time.monotonic()) as run:
        return round_down_the_tree(problem, near, run)
