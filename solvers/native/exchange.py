"""Cheapest exchange of one unit between two leaves, in linear time, compiled.

At every inner region `up` is the cheapest way to add a unit to its subtree and `down` the cheapest way
to take one away; `min up_c + down_d` over two different children is the cheapest exchange that leaves
the region itself alone. A point is optimal if and only if no exchange has negative cost, at any inner
region or at the dummy root whose children are the sizes (separable convex costs on a laminar family).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from pgsr.levelorder import Int64
from pgsr.models.problem import Float64
from pgsr.solvers.native.costs import down_cost, up_cost


@njit(nogil=True, cache=True)
def exchange_pass(first, last, child_start, x, y, weight, mode, lower, upper, slack, huge, up, down):  # type: ignore[no-untyped-def]
    """Fill `up`, `down` of inner regions `last - 1` .. `first`; return the cheapest (cost, region, size).

    `x`, `y` (R, N); `up`, `down` (inner rows, N) of the weights' dtype; `lower`, `upper` (R, N) or
    (0, 0); `slack` is how near a bound counts as at it (0 for integers); `huge` stands for infinity and is
    of the weights' type (for floats it is infinite).
    """
    width = y.shape[1]
    best = huge
    best_region, best_size = -1, -1
    has_lower, has_upper = lower.shape[0] > 0, upper.shape[0] > 0
    for p in range(last - 1, first - 1, -1):
        begin, end = child_start[p], child_start[p + 1]
        if begin == end:
            continue
        for s in range(width):
            up1, up2, down1, down2 = huge, huge, huge, huge
            up_at, down_at = -1, -1
            for c in range(begin, end):
                u = up_cost(mode, weight[c], x[c, s], y[c, s])
                d = down_cost(mode, weight[c], x[c, s], y[c, s])
                if has_upper and x[c, s] + slack >= upper[c, s]:
                    u = huge
                floor = lower[c, s] if has_lower and lower[c, s] > 0 else 0
                if x[c, s] - slack <= floor:
                    d = huge
                if child_start[c] < child_start[c + 1]:
                    u = min(huge, u + up[c, s]) if u < huge else huge
                    d = min(huge, d + down[c, s]) if d < huge else huge
                if u < up1:
                    up1, up2, up_at = u, up1, c
                elif u < up2:
                    up2 = u
                if d < down1:
                    down1, down2, down_at = d, down1, c
                elif d < down2:
                    down2 = d
            up[p, s] = up1
            down[p, s] = down1
            if up_at != down_at:
                total = up1 + down1 if up1 < huge and down1 < huge else huge
            else:
                total = min(up1 + down2 if down2 < huge else huge, up2 + down1 if up2 < huge else huge)
            if total < best:
                best, best_region, best_size = total, p, s
    return best, best_region, best_size


def node_costs(
    rows: Int64,
    child_start: Int64,
    x: NDArray[Any],
    y: Int64,
    weight: Int64 | Float64,
    mode: int,
    bounds: tuple[Int64, Int64],
    slack: float,
    huge: Any,
    tables: tuple[NDArray[Any], NDArray[Any]],
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Costs of one unit more and one less in the subtrees of `rows`, each (len(rows), N); numpy."""
    lower, upper = bounds
    xs, ys = x[rows], y[rows]
    w = weight[rows][:, None]
    if mode == 0:
        up, down = w * (2 * (xs - ys) + 1), w * (2 * (ys - xs) + 1)
    elif mode == 2:
        up, down = w * (2.0 * (xs - ys)), w * (2.0 * (ys - xs))
    else:
        up, down = np.where(xs >= ys, w, -w), np.where(xs <= ys, w, -w)
    floor = np.maximum(lower[rows], 0) if lower.size else np.zeros_like(ys)
    down = np.where(xs - slack <= floor, huge, down)
    if upper.size:
        up = np.where(xs + slack >= upper[rows], huge, up)
    inner = np.flatnonzero(child_start[rows] < child_start[rows + 1])
    if inner.size:
        below = rows[inner]
        for cost, table in ((up, tables[0]), (down, tables[1])):
            cost[inner] = np.where(cost[inner] >= huge, huge, np.minimum(cost[inner], huge) + table[below])
            cost[inner] = np.minimum(cost[inner], huge)
    return up, down
