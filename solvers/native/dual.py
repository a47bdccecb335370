"""A lower bound on the relaxation of Model 1 by Lagrange multipliers, in linear time, compiled.

Any prices `lam` at inner regions (on "children add up to their region") and `mu` (on the total) give

    bound = cost(x) + sum_p lam_p (x_p - sum of children) + mu (total - sum of the root's row)
            + sum_i delta_i,
    delta_i = min over v in [lower, upper] of f_i(v) + h_i v  -  f_i(x_i) - h_i x_i,
    h_i = lam_i (inner regions) - price of the region above,

whatever `x` is. Good prices are read off `x`: each lies between what a unit more and a unit less cost below.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from pgsr.models.problem import Float64, Problem
from pgsr.solvers.native.costs import L1_SLOPE, L2_SLOPE, down_cost, empty_table, up_cost
from pgsr.solvers.native.schedule import Runner, call


@njit(inline="always")
def between(low, high):  # type: ignore[no-untyped-def]
    """A number between `low` and `high` (infinite ends allowed), or their mean if they cross."""
    if low == -np.inf:
        return 0.0 if high == np.inf else high
    return low if high == np.inf else 0.5 * (low + high)


@njit(inline="always")
def gain(mode, w, x, y, h, low, high):  # type: ignore[no-untyped-def]
    """Smallest `f(v) + h v` over v in [low, high], less its value at `x`."""
    if mode == 2:
        slope = 2.0 * w * (x - y) + h
        if w > 0.0:  # noqa: SIM108 - compiled code is clearer with branches
            v = min(max(x - slope / (2.0 * w), low), high)
        else:
            v = low if slope > 0.0 else high  # linear: at one of the ends
        step = v - x
        return slope * step + w * step * step
    best = np.inf
    for v in (low, high, min(max(float(y), low), high)):
        best = min(best, w * (abs(v - y) - abs(x - y)) + h * (v - x))
    return best


@njit(inline="always")
def inner_price(mode, w, x, y, above, low, high, up, down):  # type: ignore[no-untyped-def]
    """Price of an inner entry for its children: between what they want and what it passes on."""
    least = -down
    most = up
    if x > low:
        most = min(most, above + down_cost(mode, w, x, y))
    if x < high:
        least = max(least, above - up_cost(mode, w, x, y))
    return between(least, most)


@njit(nogil=True, cache=True)
def dual_pass(first, last, child_start, x, y, weight, mode, lower, upper, cap, up, down, price):  # type: ignore[no-untyped-def]
    """Add up the terms of the children of regions `first` .. `last - 1`, top-down; sets their prices.

    `price` (inner rows, N) holds the price of every region above; `up`, `down` as `exchange_pass` left them.
    """
    has_lower, has_upper = lower.shape[0] > 0, upper.shape[0] > 0
    total = 0.0
    for p in range(first, last):
        for s in range(y.shape[1]):
            if child_start[p] == child_start[p + 1]:
                continue
            above = price[p, s]
            residual = x[p, s]
            for c in range(child_start[p], child_start[p + 1]):
                low = float(max(lower[c, s], 0)) if has_lower else 0.0
                high = float(min(upper[c, s], cap)) if has_upper else float(cap)
                residual -= x[c, s]
                h = -above
                if child_start[c] < child_start[c + 1]:
                    own = inner_price(
                        mode, weight[c], x[c, s], y[c, s], above, low, high, up[c, s], down[c, s]
                    )
                    price[c, s] = own
                    h += own
                total += gain(mode, weight[c], x[c, s], y[c, s], h, low, high)
            total += above * residual
    return total


# The compiled helpers as plain Python, for the few entries of the root.
_between: Callable[..., float] = between.py_func
_gain: Callable[..., float] = gain.py_func
_up: Callable[..., float] = up_cost.py_func
_down: Callable[..., float] = down_cost.py_func


def dual_bound(problem: Problem, x: Float64, up: NDArray[Any], down: NDArray[Any], run: Runner) -> float:
    """A lower bound on the relaxation of `problem`, from `x` (R, N) and the tables of its exchange passes."""
    none = empty_table()
    lower = none if problem.lower is None else problem.lower
    upper = none if problem.upper is None else problem.upper
    mode = L2_SLOPE if problem.loss == "l2" else L1_SLOPE
    weight = float(problem.region_weights[0])
    low = np.zeros(problem.width) if problem.lower is None else np.maximum(problem.lower[0], 0).astype(float)
    high = np.full(problem.width, float(problem.total))
    if problem.upper is not None:
        high = np.minimum(high, problem.upper[0])
    y, top = problem.target[0], x[0]
    inner = bool(problem.inner()[0])
    below_up, below_down = (up[0], down[0]) if inner else (np.zeros(problem.width), np.zeros(problem.width))
    more = [
        _up(mode, weight, v, t) + b if v < hi else np.inf
        for v, t, b, hi in zip(top, y, below_up, high, strict=True)
    ]
    less = [
        _down(mode, weight, v, t) + b if v > lo else np.inf
        for v, t, b, lo in zip(top, y, below_down, low, strict=True)
    ]
    mu = float(_between(-min(less), min(more)))
    price = np.zeros_like(up)
    total = mu * (problem.total - float(top.sum()))
    for s in range(problem.width):
        h = -mu
        if inner:
            ends = (low[s], high[s], below_up[s], below_down[s])
            price[0, s] = _inner_price(mode, weight, top[s], y[s], mu, *ends)
            h += price[0, s]
        total += _gain(mode, weight, top[s], y[s], h, low[s], high[s])
    arguments = (problem.child_start, x, problem.target, problem.region_weights, mode, lower, upper)
    total += sum(run.down(call(dual_pass, *arguments, problem.total, up, down, price)))
    return float(problem.objective(x) + total)


def _inner_price(  # the compiled helper calls compiled ones, so its plain form is written here
    mode: int, weight: float, x: float, y: int, above: float, low: float, high: float, up: float, down: float
) -> float:
    most = min(up, above + _down(mode, weight, x, y)) if x > low else up
    least = max(-down, above - _up(mode, weight, x, y)) if x < high else -down
    return _between(least, most)
