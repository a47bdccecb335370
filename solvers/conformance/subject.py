"""The solver under test with its answers: each case is solved once, and all checks look at that."""

from __future__ import annotations

import contextlib
import ctypes
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from pgsr.errors import InputError
from pgsr.models.problem import Problem
from pgsr.solvers.base import Observation, Solution, SolveOptions, Solver
from pgsr.solvers.conformance.case import Case
from pgsr.solvers.running import run

LIMIT_S = 120.0
"""Time limit of one solve of a small case."""

HUGE_LIMIT_S = 2.0
"""Time limit where numbers are so large that a solver need not finish."""


@dataclass(slots=True, kw_only=True, eq=False)
class Answer:
    """What came of one solve.

    `refused`: why `check` or, for `refused_late`, `solve` did not take the problem; `error`: what `solve`
    raised; `output`: what went to standard output and error; `seen`: what `observe` was called with.
    """

    solution: Solution | None = None
    refused: str = ""
    refused_late: bool = False
    error: Exception | None = None
    output: str = ""
    seen: list[tuple[Observation, Any]] = field(default_factory=list)


class Subject:
    """One solver under test.

    `isolate`: solve in processes of their own, for solvers that crash or do not end; then what they print
    is not looked at, and the framework has already put their records right.
    """

    def __init__(self, solver: Solver, *, isolate: bool = False, limit_s: float = LIMIT_S) -> None:
        self.solver, self.isolate, self.limit_s = solver, isolate, limit_s
        self._kept: dict[str, Any] = {}

    def once(self, name: str, make: Callable[[], Any]) -> Any:
        """What `make` returned at the first call for `name`."""
        if name not in self._kept:
            self._kept[name] = make()
        return self._kept[name]

    @property
    def unavailable(self) -> str:
        """Why the solver cannot run here; empty if it can."""
        found = self.once("availability", self.solver.availability)
        return "" if found.available else found.reason or "not available"

    def answer(self, case: Case) -> Answer:
        """The answer to `case`, solved at the first call; one thread, seed 0."""
        limit_s = HUGE_LIMIT_S if "huge" in case.tags else self.limit_s
        found: Answer = self.once(f"answer {case.name}", lambda: self.ask(case.problem, time_limit_s=limit_s))
        return found

    def ask(self, problem: Problem, **options: Any) -> Answer:
        """Solve `problem` afresh; `options` are those of `SolveOptions`."""
        answer = Answer()
        try:
            self.solver.check(problem)
        except InputError as error:
            answer.refused = str(error)
            return answer
        chosen: dict[str, Any] = {
            "time_limit_s": self.limit_s,
            "threads": 1,
            "observe": lambda point, x: answer.seen.append((point, x)),
            **options,
        }
        with _output(answer):
            try:
                answer.solution = self._solve(problem, SolveOptions(**chosen))
            except InputError as error:
                answer.refused, answer.refused_late, answer.error = str(error), True, error
            except Exception as error:
                answer.error = error
        return answer

    def _solve(self, problem: Problem, options: SolveOptions) -> Solution:
        # In this process nothing stands between the solver and its judges.
        if self.isolate:
            return run(self.solver, problem, options, isolate=True)
        return self.solver.solve(problem, options)


@contextlib.contextmanager
def _output(answer: Answer) -> Iterator[None]:
    """Catch what Python or a library writes to standard output and error, in `answer.output`."""
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as file:
        _flush()
        kept = [(handle, os.dup(handle)) for handle in (1, 2)]
        try:
            for handle, _ in kept:
                os.dup2(file.fileno(), handle)
            with contextlib.redirect_stdout(file), contextlib.redirect_stderr(file):
                yield
        finally:
            file.flush()
            _flush()
            for handle, copy in kept:
                os.dup2(copy, handle)
                os.close(copy)
        file.seek(0)
        answer.output = file.read()


def _flush() -> None:
    """Write out what Python and the C library hold back."""
    sys.stdout.flush()
    sys.stderr.flush()
    ctypes.CDLL(None).fflush(None)
