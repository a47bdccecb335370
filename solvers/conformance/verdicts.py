"""Checks, and how they end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from pgsr.solvers.conformance.case import Case
from pgsr.solvers.conformance.subject import Answer


class Failed(Exception):
    """A check found a fault; the text says what."""


class Skipped(Exception):
    """A check could not be made; the text says why."""


class Status(Enum):
    """How a check ended."""

    PASSED = "passed"
    """Nothing is wrong."""
    FAILED = "failed"
    """The solver does not do what it declares; or an expected failure did not happen."""
    SKIPPED = "skipped"
    """The solver is not available, or refuses the case."""
    EXPECTED = "expected"
    """It failed, as an `ExpectedFailure` says."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One check.

    `judge(subject, case)` raises `Failed` or `Skipped`; its docstring says what is checked. `cases` selects
    the cases it is for; None: it is made once, as `judge(subject)`. `slow`: takes seconds.
    """

    judge: Callable[..., None]
    cases: Callable[[Case], bool] | None
    slow: bool = False

    @property
    def name(self) -> str:
        """The name of the check."""
        return self.judge.__name__

    @property
    def about(self) -> str:
        """What it checks, in one line."""
        return (self.judge.__doc__ or "").partition("\n")[0]


def demand(condition: object, reason: str) -> None:
    """Raise Failed(reason) unless `condition` holds."""
    if not condition:
        raise Failed(reason)


def ended(answer: Answer) -> Answer:
    """`answer` if it has a solution; Skipped otherwise, since `returns_a_solution` reports that."""
    if answer.refused:
        raise Skipped(f"refused: {answer.refused}")
    if answer.solution is None:
        raise Skipped("no solution: see returns_a_solution")
    return answer
