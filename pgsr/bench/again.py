"""Which runs that are in the results already are done again."""

from __future__ import annotations

from collections.abc import Collection

from pgsr.bench.child import WHEN
from pgsr.bench.pages import Row
from pgsr.bench.task import NOISY, Task
from pgsr.errors import InputError, SolverFault

OUTCOMES = ("ran", "killed", "memory", "fault", "refused", "lacks", "missing")
"""All that can become of a run."""


def read_outcomes(text: str) -> frozenset[str]:
    """The outcomes of a list such as "fault,killed"; InputError for others."""
    found = frozenset(word.strip() for word in text.split(",") if word.strip())
    if unknown := sorted(found - set(OUTCOMES)):
        raise InputError(f"unknown outcome '{unknown[0]}'", "--again", f"use {', '.join(OUTCOMES)}")
    return found


def to_repeat(task: Task, row: Row, again: Collection[str]) -> bool:
    """Whether the run with this row is done again: its outcome is in `again`, or the hindrance is gone.

    Gone is a library that was missing and is there now, a lack of another version of the solver, and a
    `build_limit_s` that was reached and is higher now.
    """
    outcome = row["outcome"]
    if outcome in again:
        return True
    if outcome == "killed":
        reason, spent = row["reason"] or "", row["wall_s"]
        return spent is not None and task.build_limit_s > spent and any(when in reason for when in WHEN)
    return outcome in ("missing", "lacks") and task.method != NOISY and _otherwise(task.method, row)


def _otherwise(method: str, row: Row) -> bool:
    """Whether the solver of a method is there now, or another version of it."""
    from pgsr.solvers.registry import get

    try:
        solver = get(method.partition(":")[0])
        if not solver.availability().available:
            return False
        return row["outcome"] == "missing" or bool(solver.version() != row["version"])
    except SolverFault:
        return False
