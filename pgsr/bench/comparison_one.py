"""One solver on one instance, as the comparison runs it in a process of its own."""

from __future__ import annotations

import time

import numpy as np

from pgsr.bench.pages import Row
from pgsr.errors import InputError, SolverFault
from pgsr.models.files import read_instance
from pgsr.models.problem import Problem
from pgsr.solvers.base import SolveOptions
from pgsr.solvers.registry import get

GRACE_S = 20.0
"""Seconds beyond the limit until a process is killed: its start, the instance, the model, the proof."""


def one(name: str, path: str, relaxed: bool, limit_s: float) -> Row:
    """Solve the instance at `path` with solver `name`, after a tiny problem that loads what it needs."""
    stop_at = time.monotonic() + limit_s + GRACE_S
    problem = read_instance(path).problem
    solver = get(name)
    tiny = Problem(
        parent=np.array([-1, 0, 0]),
        target=np.array([[3, 4], [1, 1], [1, 4]]),
        total=6,
        cumulative=problem.cumulative,
    )
    solver.solve(tiny.relaxed() if relaxed else tiny, SolveOptions(time_limit_s=limit_s))
    solution = solver.solve(
        problem.relaxed() if relaxed else problem, SolveOptions(time_limit_s=limit_s, stop_at=stop_at)
    )
    return {
        "version": solution.version,
        "termination": solution.termination.value,
        "point_status": solution.point_status.value,
        "raw_status": solution.raw_status,
        "refuted": solution.refuted,
        "objective": solution.objective,
        "bound": solution.bound,
        "gap_relative": solution.gap_relative,
        "certificate": solution.certificate,
        "worst_violation": max(solution.violations.values(), default=None),
        "build_s": solution.build_s,
        "solve_s": solution.solve_s,
    }


def one_or_fault(name: str, path: str, relaxed: bool, limit_s: float) -> Row:
    """The row of `one`, or what went wrong under the key `fault`."""
    try:
        return one(name, path, relaxed, limit_s)
    except (SolverFault, InputError, MemoryError) as error:
        return {"fault": str(error)}
