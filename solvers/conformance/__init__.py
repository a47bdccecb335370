"""The conformance suite: what every solver owes, ours and anybody's; see `docs/add-a-solver.md`."""

from pgsr.solvers.conformance.case import Case
from pgsr.solvers.conformance.cases import cases, named
from pgsr.solvers.conformance.expectations import EXPECTED, ExpectedFailure
from pgsr.solvers.conformance.suite import (
    CHECKS,
    Item,
    Report,
    Result,
    parameters,
    report,
    run_item,
    settle,
    suite,
)
from pgsr.solvers.conformance.verdicts import Check, Status

__all__ = [
    "CHECKS",
    "EXPECTED",
    "Case",
    "Check",
    "ExpectedFailure",
    "Item",
    "Report",
    "Result",
    "Status",
    "cases",
    "named",
    "parameters",
    "report",
    "run_item",
    "settle",
    "suite",
]
