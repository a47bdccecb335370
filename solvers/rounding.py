"""Rounding a relaxation entry by entry, as the paper does, with the violations that it causes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from pgsr.errors import InputError
from pgsr.solvers.base import Solution, Termination
from pgsr.solvers.certificate import assess


def rounded(solution: Solution) -> Solution:
    """The relaxed `solution` with every entry rounded to the nearest whole number, judged as such.

    The record is one of the integer problem: `violations` says what rounding broke (children need not add
    up, the total need not be met), `details["relaxed_objective"]` where it came from. The relaxation's
    proven bound is one of the integer problem too. [Fioretto2021], M_H^r and M_c^r. InputError for a
    solution without a point.
    """
    if solution.x is None or not np.all(np.isfinite(solution.x)):
        raise InputError("there is no point to round", f"solver {solution.solver}", "allow more time")
    proven = solution.certificate is True or (solution.proof is not None and solution.proof.bound is not None)
    record = assess(
        solution.problem.integers(),
        np.rint(solution.x).astype(np.int64),
        solver=solution.solver,
        version=solution.version,
        termination=Termination.UNKNOWN,  # nobody claims anything about the rounded table
        raw_status=solution.raw_status,
        build_s=solution.build_s,
        solve_s=solution.solve_s,
        claimed_bound=solution.bound if proven else None,
        trace=solution.trace,
        details={**solution.details, "rounded": True, "relaxed_objective": solution.objective},
    )
    claim = solution.termination
    return record if claim is Termination.OPTIMAL else replace(record, termination=claim)
