"""How a pass over the tree is cut into ranges that run at once, compiled, without the interpreter lock.

A kernel works on a range of regions. Bottom-up it walks the range backwards, top-down forwards, so a
range may hold many levels: deep chains cost nothing. Large levels are cut into ranges for all cores.
"""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from pgsr.levelorder import Int64
from pgsr.models.problem import Problem
from pgsr.solvers.base import SolveOptions

T = TypeVar("T")
Range = tuple[int, int]

_SMALL = 20_000  # entries of a level below which a range of its own is not worth a thread
_CHUNK = 2_000_000  # entries a range: a fraction of a second, so that limits and Ctrl-C are seen


class OutOfTime(Exception):
    """The time limit was reached between two ranges (internal to the native solvers)."""


def ranges(problem: Problem) -> list[list[Range]]:
    """Cut the inner regions into groups, bottom-up; the ranges of a group are independent."""
    groups: list[list[Range]] = []
    serial: Range | None = None
    starts, child_start = problem.level_start, problem.child_start
    for first, last in zip(starts[-2::-1].tolist(), starts[:0:-1].tolist(), strict=True):
        begin, end = int(child_start[first]), int(child_start[last])
        if begin == end:
            continue
        if (end - begin) * problem.width < _SMALL:
            serial = (first, serial[1]) if serial else (first, last)
            continue
        if serial:
            groups.append([serial])
            serial = None
        groups.append(_cut(child_start, first, last, problem.width))
    if serial:
        groups.append([serial])
    return groups


def _cut(child_start: Int64, first: int, last: int, width: int) -> list[Range]:
    """Cut one level into ranges of about equal numbers of children (at least 8 ranges if possible)."""
    begin, end = int(child_start[first]), int(child_start[last])
    pieces = max(8, (end - begin) * width // _CHUNK)
    edges = np.searchsorted(child_start[first : last + 1], np.linspace(begin, end, pieces + 1)) + first
    edges[0], edges[-1] = first, last
    edges = np.unique(edges)
    return [(int(a), int(b)) for a, b in itertools.pairwise(edges)]


def cores() -> int:
    """Number of cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Runner:
    """Runs kernels over the groups of a problem, on several threads, within a time limit."""

    groups: list[list[Range]]
    pool: ThreadPoolExecutor | None
    deadline: float | None
    options: SolveOptions

    def up(self, kernel: Callable[[int, int], T], stage: str = "") -> list[T]:
        """Run `kernel(first, last)` over all groups bottom-up; returns every range's result."""
        return self._run(self.groups, kernel, stage)

    def down(self, kernel: Callable[[int, int], T], stage: str = "") -> list[T]:
        """The same top-down."""
        return self._run(self.groups[::-1], kernel, stage)

    def check(self) -> None:
        """Raise OutOfTime when the deadline has passed."""
        if self.deadline is not None and time.monotonic() > self.deadline:
            raise OutOfTime

    def report(self, stage: str, fraction: float) -> None:
        """Tell the caller's progress bar, if there is one."""
        if self.options.progress is not None:
            self.options.progress(stage, fraction)

    def _run(self, groups: list[list[Range]], kernel: Callable[[int, int], T], stage: str) -> list[T]:
        out: list[T] = []
        count = sum(len(group) for group in groups)
        for group in groups:
            for result in self._results(group, kernel):
                out.append(result)
                if stage:
                    self.report(stage, len(out) / count)
                self.check()
        return out

    def _results(self, group: list[Range], kernel: Callable[[int, int], T]) -> Iterator[T]:
        if self.pool is None or len(group) == 1:
            for first, last in group:
                yield kernel(first, last)
            return
        futures = [self.pool.submit(kernel, first, last) for first, last in group]
        try:
            for future in futures:
                yield future.result()
        finally:
            for future in futures:
                future.cancel()


@contextmanager
def runner(problem: Problem, options: SolveOptions, started: float | None = None) -> Iterator[Runner]:
    """Open a runner for `problem`; its deadline counts from `started` (time.monotonic())."""
    threads = options.threads or cores()
    begin = time.monotonic() if started is None else started
    deadline = None if options.time_limit_s is None else begin + options.time_limit_s
    pool = ThreadPoolExecutor(threads) if threads > 1 else None
    try:
        yield Runner(groups=ranges(problem), pool=pool, deadline=deadline, options=options)
    finally:
        if pool is not None:
            pool.shutdown(wait=True, cancel_futures=True)


def inner_rows(problem: Problem) -> int:
    """Number of rows that arrays over inner regions need: the last inner region's row, plus one."""
    return int(np.searchsorted(problem.child_start, problem.child_start[-1], side="left"))


def call(kernel: Callable[..., T], *arguments: Any) -> Callable[[int, int], T]:
    """Bind the arrays of a kernel: `call(k, a, b)(first, last)` is `k(first, last, a, b)`."""

    def bound(first: int, last: int) -> T:
        return kernel(first, last, *arguments)

    return bound
