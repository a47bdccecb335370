"""`isotonic-dp`: Model 2 by Model 1: make rows monotone, take differences, solve these exactly, add up.

An approximate scheme in the spirit of [Fioretto2021], section on the cumulative mechanism: every region's
noisy cumulative counts are replaced by the nearest non-decreasing whole numbers in [0, G] (pooling
adjacent violators; the root's last entry is G), their differences are the targets of Model 1, whose exact
optimum (`proximity`, in place of the paper's dynamic program) is cumulated again. The table is
feasible, and far from Model 2's optimum on long size lists: errors of differences add up along sizes.
With `fit="relaxation"` the rows come from Model 2's relaxation, rounded, instead of from each region by
itself. Cost: O(R N) for the fit and as `proximity` for Model 1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from pgsr.errors import InputError
from pgsr.models.problem import Feature, Int64, Problem
from pgsr.solvers.base import Termination
from pgsr.solvers.baselines.heuristic import Draft, Heuristic, measured, remaining

if TYPE_CHECKING:
    from pgsr.solvers.native.schedule import Runner

Fit = Literal["isotonic", "relaxation"]


class IsotonicDpSolver(Heuristic):
    """Monotone rows, Model 1 on their differences, sums."""

    name = "isotonic-dp"
    features = frozenset({Feature.CUMULATIVE, Feature.INTEGER, Feature.L2, Feature.WEIGHTS})

    def __init__(self, fit: Fit = "isotonic") -> None:
        if fit not in ("isotonic", "relaxation"):
            raise InputError(f"unknown fit '{fit}'", "fit", "use isotonic or relaxation")
        self.fit = fit

    def draft(self, problem: Problem, run: Runner) -> Draft:
        """Fit, difference, solve Model 1, cumulate."""
        from pgsr.solvers.native.proximity import ProximitySolver

        rows = _relaxed(problem, run) if self.fit == "relaxation" else _isotonic(problem)
        plain = Problem(
            parent=problem.parent,
            target=np.diff(rows, axis=1, prepend=0),
            total=problem.total,
            weights=problem.region_weights,
        )
        found = ProximitySolver().solve(plain, remaining(run))
        stopped = found.termination is Termination.TIME_LIMIT
        details = {"fit": self.fit, "model1_objective": found.objective}
        if found.x is None:
            return Draft(x=None, stopped=stopped, details=details)
        return Draft(x=np.cumsum(found.x, axis=1), stopped=stopped, details=details)


def _isotonic(problem: Problem) -> Int64:
    from pgsr.solvers.baselines.rows import fit_squares

    target, _ = measured(problem)
    last = np.full(problem.regions, -1, dtype=np.int64)
    last[0] = problem.total
    return fit_squares(target, last, problem.total)


def _relaxed(problem: Problem, run: Runner) -> Int64:
    from pgsr.solvers.native.splitting import relax_cumulative

    x = np.rint(relax_cumulative(problem.relaxed(), run).x).astype(np.int64)
    return np.maximum.accumulate(np.clip(x, 0, problem.total), axis=1)
