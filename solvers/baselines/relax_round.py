"""`relax-round`: the relaxation with every entry rounded, as the paper solves Models 1 and 2.

[Fioretto2021], mechanisms M_H^r (Model 1) and M_c^r (Model 2): integrality is dropped, the convex program
is solved, and its entries are rounded to nearest. Children then need not add up to their parent nor levels
to the total: `violations` says by how much, which is what this baseline is for. The publication's solver
is Gurobi's barrier method; here the relaxations are those of `proximity` and `splitting`, proven to 1e-6, so
the bound of the record is theirs. Model 1 with absolute values has a whole optimal relaxation, so nothing
is broken there; Model 2 with absolute values is refused. Cost: that of the relaxation, then O(R N).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pgsr.errors import InputError
from pgsr.models.problem import Feature, Problem
from pgsr.solvers.base import Solver, Termination
from pgsr.solvers.baselines.heuristic import Draft, Heuristic, remaining

if TYPE_CHECKING:
    from pgsr.solvers.native.schedule import Runner


class RelaxRoundSolver(Heuristic):
    """The relaxation of either model, rounded entry by entry."""

    name = "relax-round"
    features = frozenset(Feature) - {Feature.RELAXED, Feature.RELAXED_BOUNDS}

    def check(self, problem: Problem) -> None:
        """Refuse missing features, and absolute values in Model 2."""
        super().check(problem)
        if problem.cumulative and problem.loss == "l1":
            raise InputError(
                "absolute values in Model 2 have no relaxation of ours", f"solver {self.name}", "use window"
            )

    def draft(self, problem: Problem, run: Runner) -> Draft:
        """Relax and round; at the time limit, round what the relaxation has."""
        solver: Solver
        if problem.cumulative:
            from pgsr.solvers.native.splitting import SplittingSolver

            solver = SplittingSolver()
        else:
            from pgsr.solvers.native.proximity import ProximitySolver

            solver = ProximitySolver()
        relaxed = solver.solve(problem.relaxed(), remaining(run))
        details = {
            "relaxation": relaxed.solver,
            "relaxation_status": relaxed.raw_status,
            "relaxed_objective": relaxed.objective,
        }
        stopped = relaxed.termination is Termination.TIME_LIMIT
        bound = None if relaxed.proof is None else relaxed.proof.bound
        if relaxed.x is None or not np.all(np.isfinite(relaxed.x)):
            return Draft(x=None, stopped=stopped, details=details)
        rounded = np.rint(relaxed.x).astype(np.int64)
        return Draft(x=rounded, bound=bound, stopped=stopped, details=details)
