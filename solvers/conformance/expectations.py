"""Expected failures: data with a reason each, and strict, so that none outlives its cause."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase

from pgsr.errors import InputError


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedFailure:
    """One thing that a solver is known not to do, and why.

    `case` and `check` may hold `*`; then every item that matches must fail. An expected failure that passes
    is a failure. `case` is "solver" for checks without a case. Raises InputError without a reason.
    """

    solver: str
    case: str
    check: str
    reason: str

    def __post_init__(self) -> None:
        if not self.reason.strip():
            raise InputError("an expected failure without a reason", f"solver {self.solver}", "say why")

    def matches(self, solver: str, case: str, check: str) -> bool:
        """Whether it is about this item."""
        return solver == self.solver and fnmatchcase(case, self.case) and fnmatchcase(check, self.check)


def expected_reason(expected: Iterable[ExpectedFailure], solver: str, case: str, check: str) -> str | None:
    """The reason why this item is expected to fail, or None if it is not."""
    for failure in expected:
        if failure.matches(solver, case, check):
            return failure.reason
    return None


FIRST_ORDER = "a first-order method: at counts of 24,000 it leaves violations of more than 1e-6 of a unit"
NOT_FEASIBLE = (
    "reaches_the_optimum",
    "point_is_feasible",
    "claims_stand",
    "pitfall_2_false_optimum",
    "pitfall_8_solved_infeasible",
)

EXPECTED: tuple[ExpectedFailure, ...] = tuple(
    ExpectedFailure(solver=solver, case=case, check=check, reason=FIRST_ORDER)
    for solver, case in (
        ("cvxpy-osqp", "model2-large-objective-relaxed"),
        ("cvxpy-scs", "model1-large-objective-relaxed"),
    )
    for check in NOT_FEASIBLE
)
"""The expected failures of the solvers that come with pgsr."""
