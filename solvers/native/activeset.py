"""Continuous relaxation of Model 1 with squares by a monotone active set, compiled.

Solve without signs by one pass up and one pass down the tree, fix every leaf below its lower bound at
it, and repeat; a fixed leaf is never released. The Hessian in leaf variables is ultrametric, so its
inverse is an M-matrix (Martinez, Michon, San Martin 1994) and the complementarity problem has the
least-element property: what is once below its bound stays there. Holds for weights > 0 at leaves and
>= 0 above, and lower bounds at leaves; not for upper bounds, nor for lower bounds of inner regions.

A region's cost as a function of its value has curvature `1/q` around `b`. Leaves: `q = 1/w, b = y` when
free, `q = 0, b = bound` when fixed. Inner regions, with `Q`, `B` the sums over children:
`q = Q/(1 + wQ), b = (B + wQy)/(1 + wQ)`. Down: `x_c = b_c + q_c (x_p - B_p)/Q_p`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from pgsr.levelorder import Int64
from pgsr.models.problem import Float64, Problem
from pgsr.solvers.native.costs import empty_table
from pgsr.solvers.native.schedule import Runner, call, inner_rows


@njit(nogil=True, cache=True)
def pass_up(first, last, child_start, y, weight, lower, fixed, big_q, big_b):  # type: ignore[no-untyped-def]
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
                    wq = w * big_q[c, s]
                    big_q[p, s] += big_q[c, s] / (1.0 + wq)
                    big_b[p, s] += (big_b[c, s] + wq * y[c, s]) / (1.0 + wq)


@njit(nogil=True, cache=True)
def pass_down(first, last, child_start, y, weight, lower, fixed, big_q, big_b, price, write, out):  # type: ignore[no-untyped-def]
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
                    price[c, s] = (value - big_b[c, s]) / big_q[c, s] if big_q[c, s] > 0 else 0.0
                    if write == 1:
                        out[c, s] = int(np.floor(value))
                    elif write == 2:
                        out[c, s] = value
    return count


def root_values(problem: Problem, q: Float64, b: Float64) -> Float64:
    """The dummy root: values (N,) of the root's row that sum to the total."""
    total_q = q.sum()
    return b + q * ((problem.total - b.sum()) / total_q) if total_q > 0 else b


def relax(problem: Problem, run: Runner, *, floor: bool) -> NDArray[Any]:
    """Solve the relaxation; returns the table (R, N), float64, or its floor in int64 if `floor`.

    Needs a problem whose bounds are lower bounds at leaves only. Raises OutOfTime.
    """
    rows = inner_rows(problem)
    lower = empty_table() if problem.lower is None else problem.lower
    out = np.empty(problem.target.shape, dtype=np.int64 if floor else np.float64)
    if rows == 0:
        x = _single(problem, lower)
        out[0] = np.floor(x) if floor else x
        return out
    fixed = np.zeros(problem.target.shape, dtype=np.bool_)
    big_q = np.empty((rows, problem.width))
    big_b = np.empty_like(big_q)
    price = np.empty_like(big_q)
    arrays = (problem.child_start, problem.target, problem.region_weights, lower, fixed, big_q, big_b)
    down = _down(arrays, price)
    passes, fresh, write = 0, -1, 0
    while True:
        run.up(call(pass_up, *arrays))
        weight, y = problem.region_weights[0], problem.target[0]
        wq = weight * big_q[0]
        x = root_values(problem, big_q[0] / (1.0 + wq), (big_b[0] + wq * y) / (1.0 + wq))
        price[0] = np.where(big_q[0] > 0, (x - big_b[0]) / np.where(big_q[0] > 0, big_q[0], 1.0), 0.0)
        out[0] = np.floor(x) if floor else x
        before = fresh
        # The last pass writes the table: the one after a pass that fixed few leaves is probably it.
        write = (1 if floor else 2) if 0 <= before <= out.size // 1000 else 0
        fresh = sum(run.down(down(write, out)))
        passes += 1
        run.report("relaxation", 1.0 - 0.5**passes)
        if fresh == 0:
            break
    if write == 0:
        run.down(down(1 if floor else 2, out))
    return out


def _down(arrays: tuple[Any, ...], price: Float64) -> Callable[[int, NDArray[Any]], Callable[[int, int], int]]:
    def bound(write: int, out: NDArray[Any]) -> Callable[[int, int], int]:
        return call(pass_down, *arrays, price, write, out)

    return bound


def _single(problem: Problem, lower: Int64) -> Float64:
    """A tree of one region: projection of its row onto `x >= bound, sum x = total` by the same active set."""
    y = problem.target[0].astype(np.float64)
    bound = np.maximum(lower[0], 0).astype(np.float64) if lower.size else np.zeros_like(y)
    free = np.ones(y.size, dtype=np.bool_)
    while True:
        x = np.where(free, y, bound)
        if free.any():
            x[free] += (problem.total - x.sum()) / free.sum()
        low = free & (x < bound)
        if not low.any():
            return x
        free &= ~low
