"""`cumulative`: Model 2 in whole numbers with squares, at any size, with a proof or a proven gap.

Splitting on interpolated squares approaches the best linear bound, and its prices prove a bound in integer
arithmetic. Its table is rounded down the tree, improved by exchanges and merged with the best one so far.
Ties leave it between corners, so now and then it is steered to one by a little noise on the targets. Bound
and table take turns: whichever gained more last time goes on, until they meet or neither moves. Of problems
up to 400,000 entries HiGHS solves the linear program first, and searches where that is fractional; small
gaps of larger ones go to it in parts. [Fioretto2021] Model 2.
"""

from __future__ import annotations

from pgsr.errors import InputError
from pgsr.models.problem import Feature, Float64, Problem
from pgsr.solvers.base import (
    Solution,
    SolveOptions,
    Termination,
)
from pgsr.solvers.certificate import Stopwatch, assess
from pgsr.solvers.native.solver import NativeSolver


class CumulativeSolver(NativeSolver):
    """Splitting, rounding, exchanges, multipliers (numba).

    `prove=False` stops after one good rounding, with `exchange=False` before that is improved; `highs=False`
    does without HiGHS.
    """

    name = "cumulative"
    features = frozenset({Feature.CUMULATIVE, Feature.INTEGER, Feature.L2, Feature.WEIGHTS})
    scale = 10**9
    preference = 2

    def __init__(self, *, prove: bool = True, exchange: bool = True, highs: bool = True) -> None:
        if prove and not exchange:
            raise InputError("a proof without exchanges", "exchange", "use prove=False as well")
        self.prove, self.exchange, self.highs = prove, exchange, highs

    def solve(self, problem: Problem, options: SolveOptions) -> Solution:
        """Solve Model 2; see the module. At the time limit the best table so far is returned."""
        return self.solve_with_multipliers(problem, options)[0]

    def solve_with_multipliers(
        self, problem: Problem, options: SolveOptions
    ) -> tuple[Solution, Float64 | None]:
        """The solution, and the prices (inner rows, N) that prove its bound, for `multiplier_bound`."""
        self.check(problem)
        from pgsr.solvers.native.pursuit import Pursuit
        from pgsr.solvers.native.schedule import OutOfTime, runner

        watch = Stopwatch()
        with runner(problem, options, watch.started) as run:
            work = Pursuit(problem, run, options, watch, highs=self.highs)
            try:
                termination, raw = work.solve(prove=self.prove, exchange=self.exchange)
            except OutOfTime:
                termination, raw = Termination.TIME_LIMIT, "time limit between two passes"
            work.settle()
            if work.proof is not None and work.proof.optimal:
                termination, raw = Termination.OPTIMAL, "bound and objective meet"
            details = work.details()
        solution = assess(
            problem,
            work.incumbent.x,
            solver=self.name,
            version=self.version(),
            termination=termination,
            raw_status=raw,
            build_s=0.0,
            solve_s=watch.seconds(),
            claimed_bound=work.lifted,
            options=options,
            proof=work.proof,
            multipliers=work.prices,
            trace=work.trace,
            details=details,
        )
        return solution, work.prices
