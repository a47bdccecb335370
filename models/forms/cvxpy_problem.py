"""The problem in CVXPY: one variable, at most three constraints whatever the size, no parameters.

A constraint for each region takes far longer to compile than one sparse matrix for all.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from pgsr.models.forms.matrix import constraint_rows, own_bounds
from pgsr.models.problem import Int64, Problem


def cvxpy_problem(problem: Problem, origin: Int64 | None = None) -> tuple[Any, Any]:
    """The problem as `(cvxpy.Problem, variable)`; the table is `origin + variable` (region by region).

    `origin` (R, N, default 0) keeps numbers small, see `near_origin`. Constraints in order: tree and total
    (rows as in the matrix form), bounds (`lower <= z`, `z <= upper` in one), and for Model 2 monotony. The
    objective is the weighted sum of squares or of absolute values; weights 0 are left out. An integer
    problem has an integer variable. [Fioretto2021] Models 1 and 2.
    """
    from scipy.sparse import csr_array, eye_array, vstack

    cp: Any = import_module("cvxpy")
    start = np.zeros_like(problem.target) if origin is None else origin
    z: Any = cp.Variable(problem.target.size, integer=problem.integer)
    matrix, low, high = constraint_rows(problem)
    moved = matrix @ start.ravel().astype(np.float64)
    rows = matrix.tocsr()
    equal = low == high
    lower, upper = own_bounds(problem)
    one = eye_array(problem.target.size, format="csr")
    sides = np.concatenate([(upper - start).ravel(), (start - lower).ravel()]).astype(np.float64)
    both_sides: Any = csr_array(vstack([one, -one], format="csr"))
    constraints = [
        csr_array(rows[np.flatnonzero(equal)]) @ z == (low - moved)[equal],
        both_sides @ z <= sides,
    ]
    if not equal.all():
        constraints.append(csr_array(rows[np.flatnonzero(~equal)]) @ z >= (low - moved)[~equal])
    weight = np.repeat(problem.region_weights, problem.width)
    priced = np.flatnonzero(weight)
    goal = (problem.target - start).ravel().astype(np.float64)[priced]
    moves = z if priced.size == weight.size else csr_array(one[priced]) @ z
    factor = weight[priced]
    if problem.loss == "l1":
        objective = cp.norm1(_scaled(factor, moves - goal))
    elif origin is None:
        objective = cp.sum_squares(_scaled(np.sqrt(factor), moves - goal))
    else:
        # Near the optimum these squares are small, and so is what tolerances relative to them hide.
        objective = cp.sum_squares(_scaled(np.sqrt(factor), moves))
        if goal.any():
            objective += (-2.0 * factor * goal) @ moves + float(np.sum(factor * goal * goal))
    return cp.Problem(cp.Minimize(objective), constraints), z


def _scaled(scale: Any, expression: Any) -> Any:
    """A vector times a diagonal, left out if it is the unit matrix."""
    return expression if np.all(scale == 1.0) else import_module("cvxpy").multiply(scale, expression)
