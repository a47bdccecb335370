"""The suite: solver x case x check, item by item or as one report, with or without pytest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from pgsr.errors import one_line
from pgsr.solvers.base import Solver
from pgsr.solvers.conformance.case import Case
from pgsr.solvers.conformance.cases import cases
from pgsr.solvers.conformance.checks import ON_ANSWERS
from pgsr.solvers.conformance.declarations import DECLARATIONS, EVEN_IF_MISSING
from pgsr.solvers.conformance.expectations import EXPECTED, ExpectedFailure, expected_reason
from pgsr.solvers.conformance.pitfalls import PITFALLS
from pgsr.solvers.conformance.subject import LIMIT_S, Subject
from pgsr.solvers.conformance.verdicts import Check, Failed, Skipped, Status

CHECKS: tuple[Check, ...] = (*DECLARATIONS, *ON_ANSWERS, *PITFALLS)
"""All checks, in the order in which they are made."""

NO_CASE = "solver"
"""Stands for the case in the names of checks that have none."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Item:
    """One check of one solver, on one case or (None) on the solver itself."""

    subject: Subject = field(repr=False)
    case: Case | None
    check: Check
    expected: tuple[ExpectedFailure, ...] = field(default=(), repr=False)

    @property
    def case_name(self) -> str:
        """The case's name, or "solver"."""
        return NO_CASE if self.case is None else self.case.name

    @property
    def id(self) -> str:
        """`solver-case-check`."""
        return f"{self.subject.solver.name}-{self.case_name}-{self.check.name}"

    @property
    def slow(self) -> bool:
        """Whether it belongs to the long tail: a slow check, or a case that is not quick."""
        return self.check.slow or (self.case is not None and not self.case.quick)


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """How one item ended, and why if it did not pass."""

    status: Status
    reason: str = ""


def suite(
    solver: Solver,
    *,
    slow: bool = True,
    isolate: bool = False,
    expected: Iterable[ExpectedFailure] = EXPECTED,
    extra: Iterable[Case] = (),
    limit_s: float = LIMIT_S,
) -> Iterator[Item]:
    """All items for `solver`: those that its declared features call for.

    `slow`: with the long tail; `isolate`: solve in processes of their own (for solvers that crash or do not
    end); `expected`: known failures; `extra`: cases of your own; `limit_s`: time limit of one small solve.
    Nothing is solved until `run_item`.
    """
    subject, known = Subject(solver, isolate=isolate, limit_s=limit_s), tuple(expected)

    def items() -> Iterator[Item]:
        for check in CHECKS:
            if check.cases is None:
                yield Item(subject=subject, case=None, check=check, expected=known)
        for case in (*cases(), *extra):
            if not case.problem.requires <= solver.features:
                continue
            for check in CHECKS:
                if check.cases is not None and check.cases(case):
                    yield Item(subject=subject, case=case, check=check, expected=known)

    return (item for item in items() if slow or not item.slow)


def run_item(item: Item) -> Result:
    """Make one check. Raises nothing: what goes wrong is the result."""
    result = _judged(item)
    name = item.subject.solver.name
    reason = expected_reason(item.expected, name, item.case_name, item.check.name)
    if reason is None or result.status is Status.SKIPPED:
        return result
    if result.status is Status.PASSED:
        return Result(status=Status.FAILED, reason=f"passes, but was expected to fail: {reason}")
    return Result(status=Status.EXPECTED, reason=f"{reason} ({result.reason})")


def _judged(item: Item) -> Result:
    subject, check = item.subject, item.check
    try:
        if subject.unavailable and check.name not in EVEN_IF_MISSING:
            return Result(status=Status.SKIPPED, reason=subject.unavailable)
        if item.case is None:
            check.judge(subject)
        else:
            check.judge(subject, item.case)
    except Skipped as skip:
        return Result(status=Status.SKIPPED, reason=str(skip))
    except Failed as failure:
        return Result(status=Status.FAILED, reason=str(failure))
    except Exception as error:
        text = one_line(f"{type(error).__name__}: {error}")
        return Result(status=Status.FAILED, reason=f"the check breaks down: {text}")
    return Result(status=Status.PASSED)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Report:
    """All results of one solver; `str` gives the summary: counts, then every failure with its reason."""

    solver: str
    results: tuple[tuple[Item, Result], ...] = field(repr=False)

    @property
    def passed(self) -> bool:
        """Whether nothing failed, and something was checked on a case."""
        checked = any(
            item.case is not None and result.status is Status.PASSED for item, result in self.results
        )
        return checked and not self.failures

    @property
    def failures(self) -> tuple[tuple[str, str], ...]:
        """Names of the failed items with the reasons."""
        return tuple(
            (item.id, result.reason) for item, result in self.results if result.status is Status.FAILED
        )

    @property
    def failed_checks(self) -> frozenset[str]:
        """Names of the checks that failed on some case."""
        return frozenset(item.check.name for item, result in self.results if result.status is Status.FAILED)

    def __str__(self) -> str:
        counts = Counter(result.status for _, result in self.results)
        told = ", ".join(f"{counts[status]} {status.value}" for status in Status if counts[status])
        return "\n".join([f"{self.solver}: {told}", *(f"  {name}: {why}" for name, why in self.failures)])


def report(
    solver: Solver, *, progress: Callable[[Item, Result], None] | None = None, **options: Any
) -> Report:
    """Run the whole suite on `solver`; `options` are those of `suite`. `progress` hears of each item."""
    results = []
    for item in suite(solver, **options):
        result = run_item(item)
        results.append((item, result))
        if progress is not None:
            progress(item, result)
    return Report(solver=solver.name, results=tuple(results))


def parameters(solver: Solver, **options: Any) -> list[Any]:
    """The items of `suite(solver, **options)` for `pytest.mark.parametrize`, the long tail marked `slow`."""
    import pytest

    return [
        pytest.param(item, id=item.id, marks=[pytest.mark.slow] if item.slow else [])
        for item in suite(solver, **options)
    ]


def settle(item: Item) -> None:
    """Run `item` inside a pytest test: skip, expected failure or failure with the reason."""
    import pytest

    result = run_item(item)
    if result.status is Status.SKIPPED:
        pytest.skip(result.reason)
    if result.status is Status.EXPECTED:
        pytest.xfail(result.reason)
    if result.status is Status.FAILED:
        pytest.fail(f"{item.id}: {result.reason} [{item.check.about}]", pytrace=False)
