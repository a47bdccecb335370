"""The cheapest exchange of a whole table: the passes over the tree, the dummy root, and its paths."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgsr.levelorder import Int64
from pgsr.models.problem import Problem
from pgsr.solvers.base import Exchange, SolveOptions
from pgsr.solvers.native.costs import (
    INFINITE,
    L1_SLOPE,
    L1_STEP,
    L2_SLOPE,
    L2_STEP,
    empty_table,
    numeric_weights,
    reach_of,
)
from pgsr.solvers.native.exchange import exchange_pass, node_costs
from pgsr.solvers.native.schedule import call, inner_rows, runner

_Arguments = tuple[NDArray[Any], Int64, NDArray[Any], int, tuple[Int64, Int64], float]
"""Table, target, weights, mode, bounds, slack: what `node_costs` needs besides rows and passes."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Cheapest:
    """The cheapest exchange: `cost` = `numerator / denominator` (exactly, if `exact`), `error` its bound.

    `cost` is infinite (2^61 at least) if there is no exchange. `where` is (region, size) of the lowest
    region that it leaves alone, or (-1, -1) for the dummy root, where the two sizes differ.
    """

    cost: float
    numerator: int
    denominator: int
    exact: bool
    error: float
    where: tuple[int, int]
    problem: Problem
    arguments: _Arguments
    tables: tuple[NDArray[Any], NDArray[Any]]

    def exchange(self) -> Exchange:
        """Follow the cheapest choices down to the leaves; two paths."""
        region, size = self.where
        if region >= 0:
            start = self.problem.child_start
            rows = np.arange(start[region], start[region + 1])
            up, down = self._costs(rows)
            raised, lowered = _best_pair(up[:, size], down[:, size])
            tops, sizes = (int(rows[raised]), int(rows[lowered])), (size, size)
        else:
            up, down = self._costs(np.zeros(1, dtype=np.int64))
            raised, lowered = _best_pair(up[0], down[0])
            tops, sizes = (0, 0), (raised, lowered)
        return Exchange(
            raised=self._path(tops[0], sizes[0], 0),
            raised_size=sizes[0],
            lowered=self._path(tops[1], sizes[1], 1),
            lowered_size=sizes[1],
            change=self.cost,
        )

    def _costs(self, rows: Int64) -> tuple[NDArray[Any], NDArray[Any]]:
        return node_costs(rows, self.problem.child_start, *self.arguments, self.tables)

    def _path(self, top: int, size: int, which: int) -> tuple[int, ...]:
        path = [top]
        start = self.problem.child_start
        while start[path[-1]] < start[path[-1] + 1]:
            rows = np.arange(start[path[-1]], start[path[-1] + 1])
            path.append(int(rows[int(np.argmin(self._costs(rows)[which][:, size]))]))
        return tuple(path)


def _best_pair(up: NDArray[Any], down: NDArray[Any]) -> tuple[int, int]:
    """Indices (i, j), i != j, of the smallest `up[i] + down[j]`; needs two entries at least."""
    ups, downs = np.argsort(up, kind="stable")[:2], np.argsort(down, kind="stable")[:2]
    pairs = [(int(i), int(j)) for i in ups for j in downs if i != j]
    return min(pairs, key=lambda pair: up[pair[0]] + down[pair[1]])


def cheapest_exchange(problem: Problem, x: NDArray[Any], options: SolveOptions) -> Cheapest:
    """Find the cheapest exchange of one unit at the feasible table `x` (R, N); linear time."""
    if problem.integer:
        weight, k, exact = numeric_weights(problem, reach_of(problem))
        mode = L2_STEP if problem.loss == "l2" else L1_STEP
        slack: float | int = 0
    else:
        weight, k, exact = problem.region_weights, 0, False
        mode = L2_SLOPE if problem.loss == "l2" else L1_SLOPE
        slack = 1e-9 * max(1.0, 1e-3 * problem.total)
        x = x.astype(np.float64, copy=False)
    none = empty_table()
    bounds = (
        none if problem.lower is None else problem.lower,
        none if problem.upper is None else problem.upper,
    )
    up = np.empty((inner_rows(problem), problem.width), dtype=weight.dtype)
    down = np.empty_like(up)
    cost: Any = weight.dtype.type(INFINITE)
    where = (-1, -1)
    # No time limit here: a certificate is a few linear passes, and half of one is worth nothing.
    untimed = SolveOptions(threads=options.threads, progress=options.progress)
    arguments = (x, problem.target, weight, mode, bounds, slack)
    with runner(problem, untimed) as run:
        bound = call(
            exchange_pass, problem.child_start, x, problem.target, weight, mode, *bounds, slack, up, down
        )
        for value, region, size in run.up(bound, "certificate"):
            if value < cost:
                cost, where = value, (int(region), int(size))
    top_up, top_down = node_costs(np.zeros(1, dtype=np.int64), problem.child_start, *arguments, (up, down))
    if problem.width > 1:
        i, j = _best_pair(top_up[0], top_down[0])
        value = top_up[0, i] + top_down[0, j]
        if top_up[0, i] < INFINITE and top_down[0, j] < INFINITE and value < cost:
            cost, where = value, (-1, -1)
    numerator = int(cost) if exact else 0
    value = float(Fraction(numerator, 2**k)) if exact else float(cost)
    return Cheapest(
        cost=value,
        numerator=numerator,
        denominator=2**k,
        exact=exact,
        error=0.0 if exact else rounding_error(problem),
        where=where,
        problem=problem,
        arguments=arguments,
        tables=(up, down),
    )


def rounding_error(problem: Problem) -> float:
    """Bound on the float64 rounding of a sum of marginal costs along two paths of the tree."""
    largest = float(problem.region_weights.max()) * (2.0 * reach_of(problem) + 1.0)
    return 4.0 * problem.level_start.size * np.finfo(np.float64).eps * largest
