"""Continuous relaxation of Model 1 with squares by a monotone active set, compiled.

Solve without signs by one pass up and one pass down the tree, fix every leaf below its lower bound at
it, and repeat; a fixed leaf is never released. The Hessian in leaf variables is ultrametric, so its
inverse is an M-matrix (Martinez, Michon, San Martin 1994) and the complementarity problem has the
least-element property: what is once below its bound stays there. Holds for weights > 0 at leaves and
>= 0 above, lower bounds at leaves, and entries pinned to one value (lower = upper) anywhere; not for
other upper bounds, nor for other lower bounds of inner regions: those are ignored here.

A region's cost as a function of its value has curvature `1/q` around `b`. Leaves: `q = 1/w, b = y` when
free, `q = 0, b = bound` when fixed. Inner regions, with `Q`, `B` the sums over children:
`q = Q/(1 + wQ), b = (B + wQy)/(1 + wQ)`. Down: `x_c = b_c + q_c (x_p - B_p)/Q_p`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from pgsr.levelorder import Int64
from pgsr.models.problem import Float64, Problem
from pgsr.solvers.native.costs import empty_table
from pgsr.solvers.native.schedule import Runner, call, inner_rows


@njit(inline="always")
def pinned(lower, upper, c, s):  # type: ignore[no-untyped-def]
    """Whether the bounds leave one value to the entry."""
    if upper.shape[0] == 0:
        return False
    return upper[c, s] <= (max(lower[c, s], 0) if lower.shape[0] > 0 else 0)


@njit(nogil=True, cache=True)
def pass_up(first, last, child_start, y, weight, lower, upper, fixed, big_q, big_b):  # type: ignore[no-untyped-def]
    """Fill `big_q`, `big_b` (inner rows, N): sums over children of their q and b."""
    width = y.shape[1]
    has_lower = lower.shape[0] > 0
    for p in range(last - 1, first - 1, -1):
        if child_start[p] == child_start[p + 1]:
            continue
        for s in range(width):
            big_q[p, s] = 0.0
            big_b[p, s] = 0.0
        for c in range(child_start[p], child_start[p + 1]):
            w = weight[c]
            if child_start[c] == child_start[c + 1]:
                q = 1.0 / w
                for s in range(width):
                    if fixed[c, s]:
                        if has_lower:
                            big_b[p, s] += max(lower[c, s], 0)
                    else:
                        big_q[p, s] += q
                        big_b[p, s] += y[c, s]
            else:
                for s in range(width):
                    if pinned(lower, upper, c, s):
                        big_b[p, s] += upper[c, s]
                        continue
                    wq = w * big_q[c, s]
                    big_q[p, s] += big_q[c, s] / (1.0 + wq)
                    big_b[p, s] += (big_b[c, s] + wq * y[c, s]) / (1.0 + wq)


@njit(nogil=True, cache=True)
def pass_down(  # type: ignore[no-untyped-def]
    first, last, child_start, y, weight, lower, upper, fixed, big_q, big_b, price, write, out
):
    """Read the table out; returns the number of leaves newly fixed.

    `price` (inner rows, N) holds `(x - B)/Q` of each region, set for the root by the caller and for
    inner children here. With `write` 0 only leaves below their bound are fixed; 1 writes the floor of
    every value into `out` (int64), 2 the value itself (float64).
    """
    width = y.shape[1]
    has_lower = lower.shape[0] > 0
    count = 0
    for p in range(first, last):
        for c in range(child_start[p], child_start[p + 1]):
            w = weight[c]
            if child_start[c] == child_start[c + 1]:
                q = 1.0 / w
                for s in range(width):
                    bound = max(lower[c, s], 0) if has_lower else 0
                    if fixed[c, s]:
                        value = float(bound)
                    else:
                        value = y[c, s] + q * price[p, s]
                        if value < bound:
                            fixed[c, s] = True
                            count += 1
                            value = float(bound)
                    if write == 1:
                        out[c, s] = int(np.floor(value))
                    elif write == 2:
                        out[c, s] = value
            else:
                for s in range(width):
                    wq = w * big_q[c, s]
                    b = (big_b[c, s] + wq * y[c, s]) / (1.0 + wq)
                    value = b + big_q[c, s] / (1.0 + wq) * price[p, s]
                    if pinned(lower, upper, c, s):
                        value = float(upper[c, s])
                    price[c, s] = (value - big_b[c, s]) / big_q[c, s] if big_q[c, s] > 0 else 0.0
                    if write == 1:
                        out[c, s] = int(np.floor(value))
                    elif write == 2:
                        out[c, s] = value
    return count


def relax(problem: Problem, run: Runner, *, floor: bool) -> NDArray[Any]:
    """Solve the relaxation; returns the table (R, N), float64, or its floor in int64 if `floor`.

    Bounds that the active set cannot take (see the module) are ignored. Raises OutOfTime.
    """
    rows = inner_rows(problem)
    none = empty_table()
    lower = none if problem.lower is None else problem.lower
    upper = none if problem.upper is None else problem.upper
    out = np.empty(problem.target.shape, dtype=np.int64 if floor else np.float64)
    fixed = _pins(problem)
    if rows == 0:
        x = _single(problem, lower, ~fixed[0])
        out[0] = np.floor(x) if floor else x
        return out
    big_q = np.empty((rows, problem.width))
    big_b = np.empty_like(big_q)
    price = np.empty_like(big_q)
    arrays = (problem.child_start, problem.target, problem.region_weights, lower, upper, fixed, big_q, big_b)
    passes, fresh, write = 0, -1, 0
    final = 1 if floor else 2
    while True:
        run.up(call(pass_up, *arrays))
        x = _root(problem, big_q[0], big_b[0], fixed[0])
        price[0] = np.where(big_q[0] > 0, (x - big_b[0]) / np.where(big_q[0] > 0, big_q[0], 1.0), 0.0)
        out[0] = np.floor(x) if floor else x
        # The last pass writes the table: the one after a pass that fixed few leaves is probably it.
        write = final if 0 <= fresh <= out.size // 1000 else 0
        fresh = sum(run.down(call(pass_down, *arrays, price, write, out)))
        passes += 1
        run.report("relaxation", 1.0 - 0.5**passes)
        if fresh == 0:
            break
    if write == 0:
        run.down(call(pass_down, *arrays, price, final, out))
    return out


def _pins(problem: Problem) -> NDArray[np.bool_]:
    """Mask (R, N) of entries whose bounds leave one value; leaves are fixed at it from the start."""
    if problem.upper is None:
        return np.zeros(problem.target.shape, dtype=np.bool_)
    floor = 0 if problem.lower is None else np.maximum(problem.lower, 0)
    return np.asarray(problem.upper <= floor)


def _root(problem: Problem, big_q: Float64, big_b: Float64, pins: NDArray[np.bool_]) -> Float64:
    """The dummy root: values (N,) of the root's row that sum to the total."""
    wq = problem.region_weights[0] * big_q
    q: Float64 = big_q / (1.0 + wq)
    b: Float64 = (big_b + wq * problem.target[0]) / (1.0 + wq)
    if pins.any():
        assert problem.upper is not None
        q, b = np.where(pins, 0.0, q), np.where(pins, problem.upper[0], b)
    total_q = q.sum()
    if total_q > 0:
        b = b + q * ((problem.total - b.sum()) / total_q)
    return b


def _single(problem: Problem, lower: Int64, free: NDArray[np.bool_]) -> Float64:
    """A tree of one region: projection of its row onto `x >= bound, sum x = total` by the same active set."""
    y = problem.target[0].astype(np.float64)
    bound = np.maximum(lower[0], 0).astype(np.float64) if lower.size else np.zeros_like(y)
    while True:
        x: Float64 = np.where(free, y, bound)
        if free.any():
            x[free] += (problem.total - x.sum()) / free.sum()
        low = free & (x < bound)
        if not low.any():
            return x
        free = free & ~low
