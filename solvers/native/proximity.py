"""`proximity`: the default solver of Model 1, relaxed or integer, linear time and proven.

Relaxation by the monotone active set; then the dynamic program on windows of four values round it;
then the certificate. Where the relaxation does not apply (absolute values, general bounds) the start is
any feasible table, and windows shrink from large steps to single units. Windows are recentred until the
certificate proves the optimum, so a wrong guess costs time, never the answer.
"""

from __future__ import annotations

from dataclasses import replace
from importlib.metadata import version as installed
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgsr.levelorder import Int64
from pgsr.models.problem import Feature, Problem, domains
from pgsr.solvers.base import Availability, Certificate, Solution, SolveOptions, Termination, refuse_unsupported
from pgsr.solvers.certificate import Stopwatch, assess, certify

_REACH = 1
"""Half-width of the windows: floor - 1 .. floor + 2 holds every integer within 2 of the relaxation."""


class ProximitySolver:
    """Monotone active set, window dynamic program, certificate (numba)."""

    name = "proximity"
    features = frozenset(Feature) - {Feature.CUMULATIVE, Feature.RELAXED_BOUNDS}

    def availability(self) -> Availability:
        """Always available: numba is a runtime dependency."""
        return Availability(available=True)

    def version(self) -> str:
        """Version of pgsr."""
        return installed("pgsr")

    def solve(self, problem: Problem, options: SolveOptions) -> Solution:
        """Solve Model 1; see the module. At the time limit the best feasible table so far is returned."""
        refuse_unsupported(self, problem)
        from pgsr.solvers.native.schedule import OutOfTime, runner

        watch = Stopwatch()
        state = _State()
        termination, raw = Termination.OPTIMAL, "optimal"
        try:
            with runner(problem, options, watch.started) as run:
                if problem.integer:
                    _integer(problem, run, options, state)
                elif problem.loss == "l1":
                    # The data are integers, so an integer table attains the optimum of the relaxation.
                    _integer(replace(problem, integer=True), run, options, state)
                    assert state.x is not None
                    state.x, state.proof = state.x.astype(np.float64), None
                else:
                    from pgsr.solvers.native.activeset import relax

                    state.x = relax(problem, run, floor=False)
        except OutOfTime:
            termination, raw = Termination.TIME_LIMIT, "time limit between two passes"
        return assess(
            problem,
            state.x,
            solver=self.name,
            version=self.version(),
            termination=termination,
            raw_status=raw,
            build_s=0.0,
            solve_s=watch.seconds(),
            options=options,
            proof=state.proof,
        )


class _State:
    """The best table so far; survives the time limit."""

    __slots__ = ("proof", "x")

    def __init__(self) -> None:
        self.x: NDArray[Any] | None = None
        self.proof: Certificate | None = None


def _integer(problem: Problem, run: Any, options: SolveOptions, state: _State) -> None:
    """Set `state.x` to a proven optimum of the integer problem."""
    simple = problem.loss == "l2" and problem.relaxed().requires.isdisjoint({Feature.RELAXED_BOUNDS})
    from pgsr.solvers.native.sweep import Sweep

    sweep = Sweep(problem, run)
    if simple:
        from pgsr.solvers.native.activeset import relax

        base: Int64 = relax(problem, run, floor=True)
        moved = sweep.solve(base, 1, _REACH)
        assert moved is not None, "the relaxation lies inside its own windows"
    else:
        base = feasible_table(problem)
        state.x = base.copy()
        step = _first_step(problem, base)
        while step > 1:
            while sweep.solve(base, step, _REACH + 1):
                state.x = base.copy()
            step //= 2
    state.x = base
    while True:
        run.check()
        proof = certify(problem, base, replace(options, time_limit_s=None))
        if proof.optimal:
            state.proof = proof
            return
        if not sweep.solve(base, 1, _REACH):
            # Float weights only: ties within rounding. The record then says what is proven.
            state.proof = proof
            return


def _first_step(problem: Problem, base: Int64) -> int:
    """Largest power of two not above half the largest distance between table and target."""
    farthest = int(np.abs(base - problem.target).max())
    farthest = min(farthest, problem.total)
    return 1 << max(0, farthest.bit_length() - 2)


def feasible_table(problem: Problem) -> Int64:
    """Any table that meets the bounds, as near to the target as going down the tree allows."""
    low_f, high_f = domains(problem)
    low, high = low_f.astype(np.int64), high_f.astype(np.int64)
    x = np.empty_like(low)
    wish = np.clip(problem.target, low, high)
    x[0] = spread(wish[0], low[0], high[0], problem.total)
    for region in np.flatnonzero(problem.inner()).tolist():
        first, last = problem.child_start[region], problem.child_start[region + 1]
        for s in range(problem.width):
            part = slice(first, last)
            x[part, s] = spread(wish[part, s], low[part, s], high[part, s], int(x[region, s]))
    return x


def spread(wish: Int64, low: Int64, high: Int64, total: int) -> Int64:
    """Integers within [low, high] that sum to `total`, moved from `wish` in one direction only."""
    out = wish.copy()
    excess = int(out.sum()) - total
    room = out - low if excess > 0 else high - out
    reach = np.minimum(np.cumsum(room.astype(object)), abs(excess))
    taken = np.diff(reach, prepend=0).astype(np.int64)
    return out - taken if excess > 0 else out + taken
