"""Exchanges of units over all ranges of sizes, on one Model 2 table after another; see `treemoves`."""

from __future__ import annotations

import numpy as np

from pgsr.models.problem import Int64, Problem
from pgsr.solvers.native.schedule import Runner, call, inner_rows
from pgsr.solvers.native.treemoves import mark_changed, move_root, pass_exchange

_BUDGET = 3e9  # entries looked at in one round of ranges
_KEPT = 1 << 24  # numbers that are kept of each kind
_ROOT_TRIES = 1000


def size_ranges(problem: Problem) -> list[tuple[int, int]]:
    """Ranges of sizes (first, last) worth a pass: all of them, or the short ones of a large problem."""
    width, looked = problem.width, 0.0
    out = []
    for length in range(1, width + 1):
        looked += float(problem.regions) * length * (width - length + 1)
        if length > 1 and looked > _BUDGET:
            break
        out += [(a, a + length - 1) for a in range(width - length + 1)]
    return out


class Exchanger:
    """Exchanges on one table after another; regions that have not changed since are not looked at again."""

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self._ranges = size_ranges(problem)
        rows = max(1, inner_rows(problem))
        # What is known of a range of sizes is kept, where memory allows, for the next pass over it.
        self._kept = rows * len(self._ranges) <= _KEPT
        sets = len(self._ranges) if self._kept else 1
        small = np.int32 if problem.regions < 2**31 else np.int64
        self._costs = [(np.zeros(rows), np.zeros(rows)) for _ in range(sets)]
        self._places = [(np.zeros(rows, dtype=small), np.zeros(rows, dtype=small)) for _ in range(sets)]
        self._changed = np.ones(rows, dtype=np.int64)
        self._looked = np.zeros(len(self._ranges), dtype=np.int64)
        self._now = 1

    def moved(self, old: Int64, new: Int64, run: Runner) -> None:
        """Take note that the next table is `new` (R, N); `old` is the one improved last."""
        self._now += 1
        run.up(call(mark_changed, self._problem.child_start, old, new, self._changed, self._now))

    def improve(self, x: Int64, run: Runner, *, slack: float, rounds: int = 20) -> float:
        """Improve the feasible `x` (R, N) in place until no exchange over any range gains more than `slack`.

        `x` is the table improved last, or one that `moved` was told of. At most `rounds` of all ranges.
        Returns the gain. `x` is feasible whenever this returns or raises OutOfTime.
        """
        problem = self._problem
        tree = (problem.parent, problem.child_start, x, problem.target, problem.region_weights)
        gain, idle = 0.0, 0
        for _ in range(rounds):
            for k, (a, b) in enumerate(self._ranges):
                self._now += 1
                here = k if self._kept else 0
                since = int(self._looked[k]) if self._kept else -1
                tail = (*tree, a, b, *self._costs[here], *self._places[here], self._changed, self._now)
                found = 0.0
                if problem.regions > 1:
                    found = sum(run.up(call(pass_exchange, slack, *tail, since)))
                if b + 1 < problem.width:
                    found += move_root(slack, _ROOT_TRIES, *tail)
                self._looked[k] = self._now
                gain += found
                idle = 0 if found > 0 else idle + 1
                run.check()
                if idle >= len(self._ranges):
                    return gain
        return gain


def exchange_units(problem: Problem, x: Int64, run: Runner, *, slack: float) -> float:
    """Improve the feasible `x` (R, N) in place by exchanges until none gains; returns the gain."""
    return Exchanger(problem).improve(x, run, slack=slack)
