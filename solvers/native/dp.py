"""`dp`: the paper's dynamic program with convex piecewise-linear tables, full domains; the reference.

Every region keeps the cost of each value 0 .. total (as slopes), children are merged one unit at a
time, a dummy root shares the total among the sizes. [Fioretto2021], M_H^dp. Memory is
regions x sizes x total, so it is for small problems: everything faster is checked against it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pgsr.errors import InputError
from pgsr.models.domains import domains
from pgsr.models.problem import Feature, Problem
from pgsr.solvers.base import Solution, SolveOptions, Termination
from pgsr.solvers.certificate import Stopwatch, assess
from pgsr.solvers.native.solver import NativeSolver

MAX_TABLE_BYTES = 2 * 1024**3


class DpSolver(NativeSolver):
    """Full-table dynamic program (numba)."""

    name = "dp"
    scale = 10**4
    features = frozenset(
        {Feature.HIERARCHICAL, Feature.INTEGER, Feature.L2, Feature.L1, Feature.WEIGHTS, Feature.BOUNDS}
    )

    def check(self, problem: Problem) -> None:
        """Refuse missing features, and tables of more than 2 GiB."""
        super().check(problem)
        size = 8 * problem.regions * problem.width * problem.total
        if size > MAX_TABLE_BYTES:
            raise InputError(
                f"tables of {problem.regions} regions x {problem.width} sizes x {problem.total} units "
                f"need {size / 1024**3:.0f} GiB",
                "solver dp",
                "use proximity",
            )

    def solve(self, problem: Problem, options: SolveOptions) -> Solution:
        """Solve Model 1 with integers."""
        self.check(problem)
        from pgsr.solvers.native.schedule import OutOfTime

        watch = Stopwatch()
        x, termination, raw = None, Termination.OPTIMAL, "optimal"
        try:
            x = _solve(problem, options, watch)
        except OutOfTime:
            termination, raw = Termination.TIME_LIMIT, "time limit between two passes"
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
        )


def _solve(problem: Problem, options: SolveOptions, watch: Stopwatch) -> NDArray[np.int64]:
    from pgsr.solvers.native.costs import L1_STEP, L2_STEP, numeric_weights, reach_of
    from pgsr.solvers.native.schedule import call, runner
    from pgsr.solvers.native.slopetables import leaf_tables, minimisers, tables_down, tables_up, walk

    weight, _, _ = numeric_weights(problem, reach_of(problem))
    mode = L2_STEP if problem.loss == "l2" else L1_STEP
    # Values of a region run over all that its own bounds and its subtree allow.
    low, high = (np.ascontiguousarray(d.T) for d in domains(problem))
    tables = np.zeros((problem.width, problem.regions, problem.total), dtype=weight.dtype)
    leaf_tables(problem.child_start, problem.target, weight, mode, tables, low, high)
    x = np.zeros(problem.target.shape, dtype=np.int64)
    with runner(problem, options, watch.started) as run:
        run.up(
            call(tables_up, problem.child_start, problem.target, weight, mode, tables, low, high),
            "tables up",
        )
        if not problem.inner()[0]:
            run.check()
        sizes = np.empty(problem.width, dtype=np.int64)
        top, top_low, top_high = tables[:, 0], low[:, 0].copy(), high[:, 0].copy()
        value = minimisers(top, top_low, top_high, sizes)
        walk(top, top_low, top_high, sizes, value, problem.total, np.empty(0, dtype=weight.dtype))
        x[0] = sizes
        run.down(call(tables_down, problem.child_start, tables, low, high, x), "tables down")
    return x
