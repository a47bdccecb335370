"""`proximity`: the default solver of Model 1, relaxed or integer, linear time and proven.

Relaxation by the monotone active set; then the dynamic program on windows of four values round it;
then the certificate. Where the relaxation is only a guess (absolute values, general bounds) it is made
feasible first, and windows shrink from large steps to single units; relaxations with general bounds are
solved that way on a fine grid. Windows are recentred until the certificate proves the optimum, so a wrong
guess costs time, never the answer.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pgsr.levelorder import Int64
from pgsr.models.problem import Feature, Problem
from pgsr.solvers.base import (
    Certificate,
    Solution,
    SolveOptions,
    Termination,
)
from pgsr.solvers.certificate import Stopwatch, assess, certify
from pgsr.solvers.native.solver import NativeSolver

if TYPE_CHECKING:
    from pgsr.solvers.native.schedule import Runner
    from pgsr.solvers.native.sweep import Sweep

_REACH = 1
"""Half-width of the windows: floor - 1 .. floor + 2 holds every integer within 2 of the relaxation."""

_GRID_BITS = 24
"""Finest grid on which a relaxation with general bounds is solved: steps of 2^-24."""

_PATIENCE = 4
"""Improving rounds at one step length after which the step is lengthened."""


class ProximitySolver(NativeSolver):
    """Monotone active set, window dynamic program, certificate (numba)."""

    name = "proximity"
    scale = 10**9
    preference = 1
    features = frozenset(Feature) - {Feature.CUMULATIVE}

    def solve(self, problem: Problem, options: SolveOptions) -> Solution:
        """Solve Model 1; see the module. At the time limit the best feasible table so far is returned."""
        self.check(problem)
        # Loaded here, so that the time limit counts from when all is there.
        from pgsr.solvers.native import activeset, cheapest, sweep  # noqa: F401
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
                elif problem.general_bounds:
                    _on_grid(problem, run, options, state)
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


def _integer(problem: Problem, run: Runner, options: SolveOptions, state: _State) -> None:
    """Set `state.x` to a proven optimum of the integer problem."""
    from pgsr.solvers.native.activeset import relax
    from pgsr.solvers.native.feasible import repair
    from pgsr.solvers.native.sweep import Sweep

    sweep = Sweep(problem, run)
    base: Int64 = relax(problem, run, floor=True)
    step = 1
    # With magnitudes near 2^53 even a true relaxation can be off by more than a window.
    if problem.loss != "l2" or problem.general_bounds or sweep.solve(base, 1, _REACH) is None:
        guess = base
        base = repair(problem, guess)
        step = 1 << int(np.abs(base - guess).max(initial=0)).bit_length()
        step = min(step, 1 << problem.total.bit_length())
    state.x = base
    while True:
        _descend(problem, sweep, base, step)
        run.check()
        proof = state.proof = certify(problem, base, replace(options, time_limit_s=None))
        if proof.optimal is not False:
            return
        state.proof = None
        before, value = base.copy(), problem.exact_objective(base)
        sweep.solve(base, 1, _REACH)
        step = 4
        if not problem.exact_objective(base) < value:
            # Weights that float64 rounds: windows see a tie where there is none, the exact exchange does not.
            assert proof.exchange is not None, "a feasible table is refuted by an exchange"
            base[:] = proof.exchange.apply(before)
            step = 1


def _on_grid(problem: Problem, run: Runner, options: SolveOptions, state: _State) -> None:
    """Set `state.x` to the relaxation's optimum on a grid of `2**-k`: the integer problem in finer units.

    The active set does not take general bounds; the integer optimum of the finer problem lies within two
    grid steps of the continuous one in every entry that was ever tried, and its gap is proven afterwards.
    """
    largest = max(problem.total, int(np.abs(problem.target).max()), 1)
    k = max(0, min(_GRID_BITS, 52 - largest.bit_length()))
    lower, upper = problem.lower, problem.upper
    fine = Problem(
        parent=problem.parent,
        target=problem.target << k,
        total=problem.total << k,
        weights=problem.region_weights,
        lower=None if lower is None else np.maximum(lower, 0) << k,
        upper=None if upper is None else np.minimum(upper, problem.total) << k,
    )
    try:
        _integer(fine, run, options, state)
    finally:  # also at the time limit
        if state.x is not None:
            state.x, state.proof = np.ldexp(state.x.astype(np.float64), -k), None


def _descend(problem: Problem, sweep: Sweep, base: Int64, step: int) -> None:
    """Improve the feasible table `base` in windows of `step`, halving it, down to steps of 2.

    A step that keeps improving is too short and grows again.
    """
    largest = 1 << problem.total.bit_length()
    rounds = 0
    value = problem.exact_objective(base) if step > 1 else Fraction(0)
    while step > 1:
        sweep.solve(base, step, _REACH + 1)
        before, value = value, problem.exact_objective(base)
        rounds = rounds + 1 if value < before else 0
        if rounds == 0:
            step //= 2
        elif rounds == _PATIENCE:
            step, rounds = min(4 * step, largest), 0
