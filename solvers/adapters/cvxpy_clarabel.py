"""`cvxpy-clarabel`: the relaxation by CVXPY and Clarabel's interior-point method."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pgsr.models.problem import Feature, Problem
from pgsr.solvers.adapters.adapter import Adapter, Outcome, Recorder
from pgsr.solvers.adapters.cvxpy_call import call_cvxpy
from pgsr.solvers.base import SolveOptions


class CvxpyClarabelSolver(Adapter):
    """Clarabel by way of CVXPY."""

    name = "cvxpy-clarabel"
    package = "cvxpy"
    modules = ("cvxpy", "clarabel")
    scale = 200_000
    features = frozenset(Feature) - {Feature.INTEGER, Feature.BOUNDS}

    def run(self, problem: Problem, options: SolveOptions, recorder: Recorder) -> Outcome:
        """Solve the relaxation with tolerances of 1e-9."""

        def settings(seconds: float | None) -> dict[str, Any]:
            chosen = {
                "tol_gap_abs": 1e-9,
                "tol_gap_rel": 1e-9,
                "tol_feas": 1e-9,
                "max_threads": options.threads,
                "accept_unknown": True,  # hand the point over where progress ended
            }
            return chosen if seconds is None else {**chosen, "time_limit": seconds}

        return call_cvxpy(
            problem,
            options,
            recorder,
            back_end="CLARABEL",
            statuses="clarabel",
            settings=settings,
            read=_read,
        )


def _read(raw: Any) -> tuple[str, float | None, Mapping[str, Any]]:
    return str(raw.status), None, {"iterations": int(raw.iterations)}
