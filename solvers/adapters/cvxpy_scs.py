"""`cvxpy-scs`: the relaxation by CVXPY and SCS's splitting method; for comparison, it is inaccurate."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pgsr.models.problem import Feature, Problem
from pgsr.solvers.adapters.adapter import Adapter, Outcome, Recorder
from pgsr.solvers.adapters.cvxpy_call import call_cvxpy
from pgsr.solvers.base import SolveOptions


class CvxpyScsSolver(Adapter):
    """SCS by way of CVXPY."""

    name = "cvxpy-scs"
    package = "cvxpy"
    modules = ("cvxpy", "scs")
    scale = 0
    features = frozenset(Feature) - {Feature.INTEGER, Feature.BOUNDS}

    def run(self, problem: Problem, options: SolveOptions, recorder: Recorder) -> Outcome:
        """Solve the relaxation with tolerances of 1e-8."""

        def settings(seconds: float | None) -> dict[str, Any]:
            chosen = {"eps_abs": 1e-8, "eps_rel": 1e-8, "max_iters": 200_000}
            return chosen if seconds is None else {**chosen, "time_limit_secs": seconds}

        return call_cvxpy(
            problem,
            options,
            recorder,
            back_end="SCS",
            statuses="scs",
            settings=settings,
            read=_read,
        )


def _read(raw: Any) -> tuple[str, float | None, Mapping[str, Any]]:
    return str(raw["info"]["status"]), None, {"iterations": int(raw["info"]["iter"])}
