"""A proof of optimality for anybody's Model 2 table, from multipliers alone: no solver is trusted.

The multipliers may come from anywhere: a linear program's duals, a splitting method, a file beside a table.
Their bound is a lower bound on the optimum; where it reaches the objective, the table is optimal.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgsr.errors import InputError
from pgsr.models.problem import Float64, Problem
from pgsr.solvers.base import Certificate
from pgsr.solvers.certificate import RELAXED_GAP
from pgsr.solvers.native.multipliers import multiplier_bound

# Tried after the finest grid: the best prices are often halves of the step, and near ones round to them.
COARSE = (12, 4, 1)


def cumulative_certificate(problem: Problem, x: NDArray[Any], multipliers: Float64) -> Certificate:
    """Try to prove that the feasible `x` (R, N) solves the cumulative `problem`; a gap refutes nothing.

    Integer problems: `x` of integers; the bound is rounded up to the grid of possible objectives, several
    grids of prices are tried, and `optimal` is True only if the bound equals the objective exactly, else
    None. Relaxations: True within 1e-6 of the objective (relative, at least 1), else None; never `exact`.
    Raises InputError as `multiplier_bound`, for an integer problem with other numbers, and if `x` lies
    below an exact bound, which only an infeasible table can.
    """
    if not problem.integer:
        objective = float(problem.objective(x))
        below = min(max(0.0, _round_down(multiplier_bound(problem, multipliers).bound)), objective)
        proven = objective - below <= RELAXED_GAP * max(1.0, abs(objective))
        return Certificate(optimal=True if proven else None, bound=below)
    if not np.issubdtype(x.dtype, np.integer):
        raise InputError("a table of an integer problem is not of integers", "values", "round it first")
    value = problem.exact_objective(x)
    best = Fraction(0)  # no objective is negative
    tried: int | None = None
    for grid in (None, *COARSE):
        if tried is not None and grid is not None and grid >= tried:
            continue
        found = multiplier_bound(problem, multipliers, grid=grid)
        if found.step is None:
            return Certificate(optimal=None, bound=_round_down(min(max(best, Fraction(found.bound)), value)))
        tried = found.grid
        bound = math.ceil(found.bound / found.step) * found.step
        best = max(best, bound)
        if best > value:
            raise InputError("a value below a proven lower bound", "values", "the table is not feasible")
        if best == value:
            break
    number = int(best) if best.denominator == 1 else _round_down(best)
    return Certificate(optimal=True if best == value else None, bound=number, exact=True)


def _round_down(value: Fraction | float) -> float:
    """The largest float that is not above `value`."""
    near = float(value)
    return math.nextafter(near, -math.inf) if Fraction(near) > value else near
