"""The cheapest exchange in integers of any length: for weights that compiled integers cannot hold.

The same recursion as `pgsr.solvers.native.exchange`, in Python; for small problems, since it takes about a
microsecond an entry and step.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from pgsr.levelorder import Int64
from pgsr.models.exact import weight_limbs
from pgsr.models.problem import Problem
from pgsr.solvers.base import Exchange

MAX_ENTRIES = 2**18
"""Entries above which this takes too long (seconds)."""

Cost = int | None
"""Cost in units of `2**-k`; None is infinite."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """The cheapest exchange and its exact cost; both None if nothing can be exchanged."""

    cost: Fraction | None
    exchange: Exchange | None


def exact_search(problem: Problem, x: Int64) -> Found:
    """Find the cheapest exchange at the feasible integer table `x` (R, N), exactly, whatever the weights."""
    limbs, k = weight_limbs(problem.region_weights)
    weights = [sum(int(limb[r]) << (31 * j) for j, limb in enumerate(limbs)) for r in range(problem.regions)]
    start = problem.child_start.tolist()
    shape = problem.target.shape
    up: list[list[Cost]] = [[None] * shape[1] for _ in range(shape[0])]
    down: list[list[Cost]] = [[None] * shape[1] for _ in range(shape[0])]
    floor = np.zeros(shape, dtype=np.int64) if problem.lower is None else np.maximum(problem.lower, 0)
    best: tuple[int, int, int, int, int] | None = None  # cost, raised row and size, lowered row and size
    for r in range(shape[0] - 1, -1, -1):
        for s in range(shape[1]):
            value, target = int(x[r, s]), int(problem.target[r, s])
            more, less = _steps(weights[r], value, target, problem.loss)
            kids = range(start[r], start[r + 1])
            if kids:
                cheapest = _best_pair(up, down, [(c, s) for c in kids])
                if cheapest is not None and (best is None or cheapest[0] < best[0]):
                    best = cheapest
                more_below = _least([up[c][s] for c in kids])
                less_below = _least([down[c][s] for c in kids])
            else:
                more_below, less_below = 0, 0
            at_top = problem.upper is not None and value >= int(problem.upper[r, s])
            up[r][s] = None if at_top or more_below is None else more + more_below
            down[r][s] = None if value <= floor[r, s] or less_below is None else less + less_below
    cheapest = _best_pair(up, down, [(0, s) for s in range(shape[1])])
    if cheapest is not None and (best is None or cheapest[0] < best[0]):
        best = cheapest
    if best is None:
        return Found(cost=None, exchange=None)
    cost = Fraction(best[0]) / Fraction(2) ** k
    exchange = Exchange(
        raised=_path(start, up, best[1], best[2]),
        raised_size=best[2],
        lowered=_path(start, down, best[3], best[4]),
        lowered_size=best[4],
        change=float(cost),
    )
    return Found(cost=cost, exchange=exchange)


def _steps(weight: int, value: int, target: int, loss: str) -> tuple[int, int]:
    """Cost of one unit more, and of one less."""
    if loss == "l2":
        return weight * (2 * (value - target) + 1), weight * (2 * (target - value) + 1)
    return (weight if value >= target else -weight), (weight if value <= target else -weight)


def _least(costs: list[Cost]) -> Cost:
    """The smallest finite cost, or None."""
    return min((cost for cost in costs if cost is not None), default=None)


def _best_pair(
    up: list[list[Cost]], down: list[list[Cost]], cells: list[tuple[int, int]]
) -> tuple[int, int, int, int, int] | None:
    """The cheapest `up` and `down` at two different cells, or None."""

    def two(table: list[list[Cost]]) -> list[tuple[int, tuple[int, int]]]:
        finite = [(cost, cell) for cell in cells if (cost := table[cell[0]][cell[1]]) is not None]
        return sorted(finite)[:2]

    pairs = [(a + b, *i, *j) for a, i in two(up) for b, j in two(down) if i != j]
    return min(pairs, default=None)


def _path(start: list[int], table: list[list[Cost]], row: int, size: int) -> tuple[int, ...]:
    """From `row` down to a leaf along the cheapest children."""
    path = [row]
    while start[path[-1]] < start[path[-1] + 1]:
        finite = [
            (cost, c)
            for c in range(start[path[-1]], start[path[-1] + 1])
            if (cost := table[c][size]) is not None
        ]
        path.append(min(finite)[1])
    return tuple(path)
