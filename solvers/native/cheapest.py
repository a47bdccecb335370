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
    L1_SLOPE,
    L1_STEP,
    L2_SLOPE,
    L2_STEP,
    empty_table,
    infinite,
    numeric_weights,
    reach_of,
)
from pgsr.solvers.native.dual import dual_bound
from pgsr.solvers.native.exchange import exchange_pass, node_costs
from pgsr.solvers.native.schedule import call, inner_rows, runner

_Arguments = tuple[NDArray[Any], Int64, NDArray[Any], int, tuple[Int64, Int64], float, Any]
"""Table, target, weights, mode, bounds, slack, infinity: what `node_costs` needs besides rows and passes."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Cheapest:
    """The cheapest exchange at a table, as compiled numbers see it.

    `cost`: int or float in units of `2**-k`, None if there is no exchange; `exact`: integers, so the cost is
    exactly that. `where`: (region, size) of the lowest region that it leaves alone, or (-1, -1) for the dummy
    root, where the two sizes differ. `bound`: a lower bound on the relaxation, for continuous tables.
    """

    cost: Any
    k: int
    exact: bool
    where: tuple[int, int]
    bound: float | None
    problem: Problem
    arguments: _Arguments
    tables: tuple[NDArray[Any], NDArray[Any]]

    @property
    def change(self) -> Fraction | None:
        """The cost as a fraction, or None if there is no exchange."""
        return None if self.cost is None else Fraction(self.cost) / 2**self.k

    def exchange(self) -> Exchange:
        """Follow the cheapest choices down to the leaves; two paths. Needs a cost."""
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
        change = self.change
        assert change is not None
        return Exchange(
            raised=self._path(tops[0], sizes[0], 0),
            raised_size=sizes[0],
            lowered=self._path(tops[1], sizes[1], 1),
            lowered_size=sizes[1],
            change=float(change),
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
    """Find the cheapest exchange of one unit at the feasible table `x` (R, N); linear time.

    For a continuous table the costs are derivatives, and the bound of the relaxation is computed as well.
    """
    slack: float | int = 0
    if problem.integer:
        weight, k, exact = numeric_weights(problem, reach_of(problem))
        mode = L2_STEP if problem.loss == "l2" else L1_STEP
    else:
        weight, k, exact = problem.region_weights, 0, False
        mode = L2_SLOPE if problem.loss == "l2" else L1_SLOPE
        slack = 1e-9 * max(1.0, 1e-3 * problem.total)
        x = x.astype(np.float64, copy=False)
    huge = infinite(weight)
    none = empty_table()
    bounds = (
        none if problem.lower is None else problem.lower,
        none if problem.upper is None else problem.upper,
    )
    up = np.empty((inner_rows(problem), problem.width), dtype=weight.dtype)
    down = np.empty_like(up)
    cost: Any = huge
    where = (-1, -1)
    bound = None
    # No time limit here: a certificate is a few linear passes, and half of one is worth nothing.
    untimed = SolveOptions(threads=options.threads, progress=options.progress)
    arguments = (x, problem.target, weight, mode, bounds, slack, huge)
    with runner(problem, untimed) as run:
        tail = (*bounds, slack, huge, up, down)
        kernel = call(exchange_pass, problem.child_start, x, problem.target, weight, mode, *tail)
        for value, region, size in run.up(kernel, "certificate"):
            if value < cost:
                cost, where = value, (int(region), int(size))
        if not problem.integer:
            bound = dual_bound(problem, x, up, down, run)
    top_up, top_down = node_costs(np.zeros(1, dtype=np.int64), problem.child_start, *arguments, (up, down))
    if problem.width > 1:
        i, j = _best_pair(top_up[0], top_down[0])
        if top_up[0, i] < huge and top_down[0, j] < huge and top_up[0, i] + top_down[0, j] < cost:
            cost, where = top_up[0, i] + top_down[0, j], (-1, -1)
    found = None if cost >= huge else (int(cost) if exact else float(cost))
    return Cheapest(
        cost=found,
        k=k,
        exact=exact,
        where=where,
        bound=bound,
        problem=problem,
        arguments=arguments,
        tables=(up, down),
    )
