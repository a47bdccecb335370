"""`cvxpy-scip`: integers by CVXPY and SCIP, small problems only."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pgsr.models.problem import Feature, Problem
from pgsr.solvers.adapters.adapter import Adapter, Outcome, Recorder
from pgsr.solvers.adapters.cvxpy_call import call_cvxpy
from pgsr.solvers.adapters.entries import refuse_large_moves, refuse_large_total
from pgsr.solvers.base import SolveOptions

MOST_UNITS = 1e6
"""Distance from target to table, by weight, up to which its tolerances hide no unit."""

MOST_TOTAL = 2**20
"""Total beyond which its bounds can be wrong."""


class CvxpyScipSolver(Adapter):
    """SCIP by way of CVXPY, which hands all squares over as one second-order cone."""

    name = "cvxpy-scip"
    package = "cvxpy"
    modules = ("cvxpy", "pyscipopt")
    extra = "scip"
    scale = 2_000
    most_entries = 2_500  # CVXPY's hand-over takes a time that grows with the square, and keeps no limit
    features = frozenset(Feature) - {Feature.RELAXED, Feature.RELAXED_BOUNDS}

    def check(self, problem: Problem) -> None:
        """Refuse totals, and counts so far from any table, that SCIP's tolerances would hide units."""
        super().check(problem)
        refuse_large_total(problem, self.name, MOST_TOTAL, "its bounds can be wrong")
        refuse_large_moves(problem, self.name, MOST_UNITS, weighted=True)

    def run(self, problem: Problem, options: SolveOptions, recorder: Recorder) -> Outcome:
        """Solve the integer problem; CVXPY passes no starting point to SCIP."""

        def settings(seconds: float | None) -> dict[str, Any]:
            chosen: dict[str, Any] = {
                "limits/gap": options.gap,
                "limits/absgap": 0.0,
                "lp/threads": options.threads,
                "randomization/randomseedshift": options.seed % 2**31,
                "numerics/feastol": 1e-7,
            }
            if seconds is not None:
                chosen["limits/time"] = seconds
            return {"scip_params": chosen}

        return call_cvxpy(
            problem,
            options,
            recorder,
            back_end="SCIP",
            statuses="scip",
            settings=settings,
            read=_read,
        )


def _read(raw: Any) -> tuple[str, float | None, Mapping[str, Any]]:
    bound = float(raw["model"].getDualbound())
    return str(raw["scip_status"]), bound if abs(bound) < 1e20 else None, {}
