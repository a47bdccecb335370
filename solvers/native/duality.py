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
from pgsr.levelorder import MAGNITUDE
from pgsr.models.multiplierfiles import MOST_PLACES
from pgsr.models.problem import Float64, Problem
from pgsr.solvers.base import Certificate, Solution
from pgsr.solvers.native.multipliers import multiplier_bound, raised
from pgsr.solvers.relaxedproof import RELAXED_GAP

# Tried after the finest grid: the best prices are often halves of the step, and near ones round to them.
COARSE = (12, 4, 1)
_FAR = 100  # steps of the objective that no other grid of the same prices will close


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
        best = max(best, Fraction(raised(problem, found)))
        if best > value:
            raise InputError("a value below a proven lower bound", "values", "the table is not feasible")
        if best == value or value - best > _FAR * found.step:
            break
    number = int(best) if best.denominator == 1 else _round_down(best)
    return Certificate(optimal=True if best == value else None, bound=number, exact=True)


def on_grid(solution: Solution) -> tuple[Float64, int] | None:
    """Multipliers of a Model 2 `solution` for its file: multiples of 2^-grid, and the grid (0 to 40).

    The coarsest of the grids of the certificate on which they prove as much as the record's bound; if none
    does, the one that proves most. Exactly what is returned has been evaluated. None if there are no
    multipliers, they prove nothing, or the file does not hold numbers as large (2^53 units).
    """
    proof, given = solution.proof, solution.multipliers
    if given is None or proof is None or proof.bound is None or (proof.bound <= 0 and not proof.optimal):
        return None
    finest = multiplier_bound(solution.problem, given)
    given = np.where(solution.problem.inner()[: len(given), None], given, 0.0)
    step = Fraction(1) if finest.step is None else finest.step
    most = max(0, min(finest.grid, MOST_PLACES))
    best: tuple[Float64, int] | None = None
    reached = Fraction(-1)
    for places in (*sorted(grid for grid in COARSE if grid < most), most):
        unit = step / 2**places
        grid = min(MOST_PLACES, unit.denominator.bit_length() - 1)
        prices = np.rint(given / float(unit)) * float(unit)
        units = np.rint(np.ldexp(prices, grid))
        if units.size and not float(np.abs(units).max()) <= MAGNITUDE:
            continue
        prices = np.ldexp(units, -grid)
        found = multiplier_bound(solution.problem, prices)
        bound = Fraction(raised(solution.problem, found) if solution.problem.integer else found.bound)
        if bound > reached:
            best, reached = (prices, grid), bound
        if reached >= proof.bound:
            break
    return best


def _round_down(value: Fraction | float) -> float:
    """The largest float that is not above `value`."""
    near = float(value)
    return math.nextafter(near, -math.inf) if Fraction(near) > value else near
