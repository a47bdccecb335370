"""Running a solver so that it always comes back: a process of its own, a hard kill, an honest record.

Back ends written in C++ may ignore time limits and Ctrl-C, write to standard output, or crash. In a process
of its own a solve can do no harm: it is killed at its deadline, and the best point that it had reported by
then is kept.
"""

from __future__ import annotations

import os
import pickle
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from pgsr.errors import InputError, PgsrError, SolverFault
from pgsr.models.problem import Problem
from pgsr.solvers.base import (
    Observation,
    Solution,
    SolveOptions,
    Solver,
    Termination,
    broken_down,
    in_short,
)
from pgsr.solvers.certificate import Stopwatch, assess, reassessed
from pgsr.solvers.worker import LENGTH

GRACE_S = 2.0
"""Seconds after the call and the time limit at which a process is killed, its start and building included."""

TICK_S = 0.25
"""Seconds between two looks at the clock."""


def run(
    solver: Solver,
    problem: Problem,
    options: SolveOptions | None = None,
    *,
    isolate: bool | None = None,
    log: Path | None = None,
    deadline_s: float | None = None,
) -> Solution:
    """Solve `problem`, in a process of its own if `isolate`; the record is recomputed in any case.

    By default a process of its own is used for solvers that are not `interruptible` if there is a time
    limit, and whenever a `log` is wanted (a file that gets all that the back end prints). It is killed
    `deadline_s` seconds after the call (default: the time limit and `GRACE_S`). Raises InputError if the
    solver does not take the problem, SolverFault if it breaks down or dies.
    """
    options = options or SolveOptions()
    solver.check(problem)
    if isolate is None:
        patient = getattr(solver, "interruptible", False)
        isolate = log is not None or (options.time_limit_s is not None and not patient)
    if not isolate:
        if log is not None:
            raise InputError("a log needs a process of its own", "log", "leave isolate out")
        try:
            solution = solver.solve(problem, options)
        except PgsrError:
            raise
        except Exception as error:
            raise broken_down(solver, error) from error
        return judged(solver, problem, solution, options)
    if deadline_s is None and options.time_limit_s is not None:
        deadline_s = options.time_limit_s + GRACE_S
    with _place(log) as output:
        return _Child(solver, problem, options, deadline_s, output).solution()


@contextmanager
def _place(log: Path | None) -> Iterator[int | BinaryIO]:
    """Where the output of the process goes."""
    if log is None:
        yield subprocess.DEVNULL
        return
    with log.open("wb") as file:
        yield file


class _Child:
    """One solve in a process of its own."""

    def __init__(
        self,
        solver: Solver,
        problem: Problem,
        options: SolveOptions,
        deadline_s: float | None,
        output: int | BinaryIO,
    ) -> None:
        self.solver, self.problem, self.options = solver, problem, options
        self.watch = Stopwatch()
        self.end = None if deadline_s is None else time.monotonic() + deadline_s
        self.output = output
        self.trace: list[Observation] = []
        self.best: Any = None
        self.silent = True

    def solution(self) -> Solution:
        """Start the process, follow it to its end, and make the record."""
        sent = replace(
            self.options,
            progress=None,
            observe=None,
            stop_at=self.end,
            verbose=self.output != subprocess.DEVNULL,
        )
        try:
            task = pickle.dumps((self.solver, self.problem, sent), protocol=pickle.HIGHEST_PROTOCOL)
        except Exception as error:
            raise InputError(
                f"solver '{self.solver.name}' cannot be sent to a process of its own ({in_short(error)})",
                "solver",
                "define its class in a module that can be imported",
            ) from error
        with tempfile.TemporaryDirectory(prefix="pgsr-") as scratch:
            reading, writing = os.pipe()
            try:
                process = self._start(writing, scratch)
            except BaseException:
                os.close(reading)
                raise
            finally:
                os.close(writing)
            try:
                with os.fdopen(reading, "rb", buffering=0) as pipe:
                    return self._follow(process, pipe, task)
            finally:
                _end(process)

    def _start(self, writing: int, scratch: str) -> subprocess.Popen[bytes]:
        # What a killed back end leaves behind goes with the folder.
        environment = {**os.environ, "TMPDIR": scratch, "PYTHONSAFEPATH": "1"}
        return subprocess.Popen(  # noqa: S603 - our own module, no shell
            [sys.executable, "-m", "pgsr.solvers.worker", str(writing)],
            stdin=subprocess.PIPE,
            stdout=self.output,
            stderr=subprocess.STDOUT if self.output != subprocess.DEVNULL else subprocess.DEVNULL,
            pass_fds=(writing,),
            env=environment,
            start_new_session=True,  # Ctrl-C reaches this process, which then kills the other
        )

    def _follow(self, process: subprocess.Popen[bytes], pipe: Any, task: bytes) -> Solution:
        assert process.stdin is not None
        try:
            pickle.dump((sys.path, task), process.stdin, protocol=pickle.HIGHEST_PROTOCOL)
            process.stdin.close()
        except BrokenPipeError:
            pass  # it died at once: there will be no frame
        while True:
            data = self._read(pipe, LENGTH.size)
            body = None if not data else self._read(pipe, LENGTH.unpack(data)[0])
            if data is None or (data and body is None):
                return self._stopped(Termination.TIME_LIMIT, f"killed after {self.watch.seconds():.1f} s")
            if not data or not body:
                return self._died(process)
            kind, content = pickle.loads(body)  # noqa: S301 - written by our own worker
            if kind == "solved":
                return judged(self.solver, self.problem, content, self.options, moved=True)
            if kind == "raised":
                self._raise(content)
            elif kind == "observed":
                self._observed(*content)
            elif kind == "progress" and self.options.progress is not None:
                self.silent = False
                self.options.progress(*content)

    def _observed(self, point: Any, x: Any) -> None:
        if not isinstance(point, Observation) or (x is not None and not _fits(self.problem, x)):
            return  # a solver's own mistake is no reason to lose the rest
        self.trace.append(point)
        if x is not None:
            self.best = x
        if self.options.observe is not None:
            self.options.observe(point, x)

    def _read(self, pipe: Any, size: int) -> bytes | None:
        """`size` bytes; fewer if the process has ended, None at the deadline."""
        parts, missing = [], size
        while missing:
            if not self._wait(pipe):
                return None
            part = pipe.read(min(missing, 1 << 20))
            if not part:
                break
            parts.append(part)
            missing -= len(part)
        return b"".join(parts)

    def _wait(self, pipe: Any) -> bool:
        """Wait for something to read; False at the deadline. A silent back end's progress is its time."""
        while True:
            left = TICK_S if self.end is None else min(TICK_S, self.end - time.monotonic())
            if left <= 0:
                return False
            if select.select([pipe], [], [], left)[0]:
                return True
            if self.silent and self.options.progress is not None:
                limit = self.options.time_limit_s
                done = 0.0 if limit is None else min(1.0, self.watch.seconds() / limit)
                self.options.progress(self.solver.name, done)

    def _died(self, process: subprocess.Popen[bytes]) -> Solution:
        """The process ended without a word."""
        code = process.wait()
        if code == -signal.SIGKILL:
            return self._stopped(
                Termination.OTHER_LIMIT, "killed from outside, most likely for want of memory"
            )
        how = f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
        raise SolverFault(f"solver '{self.solver.name}' died ({how})")

    def _stopped(self, termination: Termination, raw_status: str) -> Solution:
        """The record of a process that was killed: the best point that it had reported, if any."""
        bounds = [point.bound for point in self.trace if point.bound is not None]
        start = self.options.start
        if self.best is None and start is not None and self.problem.integer:
            whole = np.rint(start).astype(np.int64)
            self.best = whole if max(self.problem.violations(whole).values()) == 0 else None
        return assess(
            self.problem,
            self.best,
            solver=self.solver.name,
            version=self.solver.version(),
            termination=termination,
            raw_status=raw_status,
            build_s=0.0,
            solve_s=self.watch.seconds(),
            claimed_bound=max(bounds, default=None),
            options=self.options,
            trace=self.trace,
        )

    def _raise(self, error: BaseException) -> None:
        if isinstance(error, PgsrError):
            raise error
        raise broken_down(self.solver, error) from error


def judged(
    solver: Solver, problem: Problem, solution: Any, options: SolveOptions, *, moved: bool = False
) -> Solution:
    """The record of `solver`'s answer to `problem`: recomputed, unless our own code has just done that.

    `moved`: it comes from another process, which had a copy of the problem. SolverFault for an answer that
    is no record, or whose table does not fit.
    """
    if not isinstance(solution, Solution):
        raise SolverFault(f"solver '{solver.name}' returned no Solution")
    if solution.x is not None and not _fits(problem, solution.x):
        raise SolverFault(f"solver '{solver.name}' returned a table that does not fit the problem")
    record: Solution = replace(solution, problem=problem) if moved else solution
    ours = type(solver).__module__.startswith(_OURS)
    if ours and record.assessed and record.problem is problem:
        return record
    try:
        return reassessed(replace(record, problem=problem), options)
    except PgsrError as error:
        raise SolverFault(
            f"the answer of solver '{solver.name}' cannot be judged ({in_short(error)})"
        ) from error


_OURS = ("pgsr.solvers.native.", "pgsr.solvers.adapters.", "pgsr.solvers.baselines.")


def _fits(problem: Problem, x: Any) -> bool:
    """Whether `x` is a table of numbers of the problem's shape."""
    return isinstance(x, np.ndarray) and x.shape == problem.target.shape and x.dtype.kind in "iuf"


def _end(process: subprocess.Popen[bytes]) -> None:
    """Kill the process with all that it started, and take its exit code."""
    with suppress(ProcessLookupError, PermissionError):  # it may have ended by itself
        os.killpg(process.pid, signal.SIGKILL)
    if process.stdin is not None:
        with suppress(BrokenPipeError):
            process.stdin.close()
    process.wait()
