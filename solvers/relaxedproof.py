"""Proof that a point of the relaxed Model 1 is optimal, within a small gap, by Lagrange multipliers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgsr.models.problem import Float64, Problem
from pgsr.solvers.base import Certificate, Exchange, SolveOptions

RELAXED_GAP = 1e-6
"""Relative gap at which a continuous point counts as proven optimal."""

SNAPS = (1e-7, 1e-5)
"""Distances from a bound within which a continuous entry may be read as sitting on it."""


def relaxed_certificate(problem: Problem, x: NDArray[Any], options: SolveOptions) -> Certificate:
    """Try to prove or refute that the feasible `x` (R, N) solves the relaxed `problem`, in float64.

    True within `RELAXED_GAP` of a bound by multipliers, False if an exchange clearly improves, else None.
    """
    from pgsr.solvers.native.cheapest import cheapest_exchange

    x = x.astype(np.float64, copy=False)
    objective = float(problem.objective(x))
    allowed = RELAXED_GAP * max(1.0, abs(objective))
    found = cheapest_exchange(problem, x, options)
    bound = -np.inf
    # An interior point is near its bounds, not on them; the bound holds whatever table it is read off.
    for snap in (None, *SNAPS):
        near = found if snap is None else cheapest_exchange(problem, _snapped(problem, x, snap), options)
        assert near.bound is not None
        bound = max(bound, min(near.bound, objective))
        if objective - bound <= allowed:
            return Certificate(optimal=True, bound=bound)
    better = found.change is not None and found.change < 0
    refuted = better and objective - _improved(problem, x, found.exchange()) > allowed
    return Certificate(optimal=False if refuted else None, bound=bound)


def _snapped(problem: Problem, x: Float64, width: float) -> Float64:
    """`x` with every entry that is closer than `width` to one of its bounds put there."""
    width *= max(1.0, 1e-3 * problem.total)
    floor = np.zeros((1, 1)) if problem.lower is None else np.maximum(problem.lower, 0).astype(np.float64)
    near = np.where(x - floor <= width, floor, x)
    if problem.upper is not None:
        near = np.where(problem.upper - near <= width, problem.upper, near)
    return near


def _improved(problem: Problem, x: Float64, exchange: Exchange) -> float:
    """The objective after the best step along `exchange` that the bounds allow."""
    up, down = list(exchange.raised), list(exchange.lowered)
    room = float((x[down, exchange.lowered_size] - _floor(problem, down, exchange.lowered_size)).min())
    if problem.upper is not None:
        room = min(room, float((problem.upper - x)[up, exchange.raised_size].min()))
    curvature = float(problem.region_weights[up].sum() + problem.region_weights[down].sum())
    if problem.loss == "l2" and curvature > 0:
        room = min(room, -exchange.change / (2.0 * curvature))
    moved = x.copy()
    moved[up, exchange.raised_size] += max(room, 0.0)
    moved[down, exchange.lowered_size] -= max(room, 0.0)
    return float(problem.objective(moved))


def _floor(problem: Problem, rows: list[int], size: int) -> Float64:
    if problem.lower is None:
        return np.zeros(len(rows))
    return np.maximum(problem.lower[rows, size], 0).astype(np.float64)
