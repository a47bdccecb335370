"""Programs and squares as models of CP-SAT: integer data, bounded domains, sums inside 64 bits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgsr.errors import InputError
from pgsr.models.forms.matrix import constraint_rows
from pgsr.models.forms.piecewise import value_ranges
from pgsr.models.forms.program import Program
from pgsr.models.problem import Float64, Int64, Problem
from pgsr.solvers.adapters.integer_costs import integer_weights, refuse_large, refuse_large_sum

SOLVER = "cpsat"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class IntegerModel:
    """A model (`cp_model.CpModel`) and how to read it.

    The objective of the problem is `unit * (objective of the model) + constant`; `columns` variables decide,
    others follow from them.
    """

    model: Any
    variables: list[Any]
    columns: int
    unit: float
    constant: float


def segment_model(program: Program) -> IntegerModel:
    """The piecewise-linear `program`: one integer variable a column. RegionError if costs leave 64 bits."""
    from ortools.sat.python import cp_model

    problem = program.problem
    _, unit = integer_weights(problem)
    costs = np.rint(program.linear / unit)
    shape = problem.target.shape
    worst = np.zeros(program.origin.size)
    np.maximum.at(worst, program.entry, np.abs(costs))
    refuse_large(SOLVER, worst.reshape(shape), 2.0**53)  # beyond, the program's floats are rounded
    sums = np.bincount(program.entry, weights=np.abs(costs) * program.upper, minlength=worst.size)
    refuse_large_sum(SOLVER, np.asarray(sums, dtype=np.float64).reshape(shape))
    model = cp_model.CpModel()
    variables = [model.new_int_var(0, int(most), "") for most in program.upper]
    _add_rows(model, variables, problem, program.origin, program.matrix)
    constant = round(program.constant / unit)
    # The offset makes gaps relative to the problem's objective; beyond 2^52 it would blur the floats.
    offset = constant if constant < 2**52 else 0
    model.minimize(cp_model.LinearExpr.weighted_sum(variables, costs.astype(np.int64).tolist()) + offset)
    rest = 0.0 if offset or constant == 0 else program.constant
    return IntegerModel(model=model, variables=variables, columns=len(variables), unit=unit, constant=rest)


def square_model(problem: Problem) -> IntegerModel:
    """The squares themselves, by products of variables: one integer variable an entry and one a square.

    Raises RegionError if the squares leave 64 bits.
    """
    from ortools.sat.python import cp_model

    weights, unit = integer_weights(problem)
    low, high = value_ranges(problem)
    far = np.maximum(np.abs(low - problem.target), np.abs(high - problem.target))
    refuse_large_sum(SOLVER, weights[:, None] * far.astype(np.float64) ** 2)
    model = cp_model.CpModel()
    ends = zip(low.ravel().tolist(), high.ravel().tolist(), strict=True)
    values = [model.new_int_var(first, last, "") for first, last in ends]
    squares = [model.new_int_var(0, reach * reach, "") for reach in far.ravel().tolist()]
    for value, square, target in zip(values, squares, problem.target.ravel().tolist(), strict=True):
        model.add_multiplication_equality(square, [value - target, value - target])
    _add_rows(model, values, problem, np.zeros_like(problem.target))
    factors = np.repeat(weights, problem.width).tolist()
    model.minimize(cp_model.LinearExpr.weighted_sum(squares, factors))
    return IntegerModel(model=model, variables=values + squares, columns=len(values), unit=unit, constant=0.0)


def squares_hint(problem: Problem, x: Int64) -> NDArray[Any]:
    """The point of `square_model` at the table `x` (R, N), moved into the domains."""
    near = np.clip(x, *value_ranges(problem)).ravel()
    return np.concatenate([near, (near - problem.target.ravel()) ** 2])


def _add_rows(model: Any, variables: list[Any], problem: Problem, origin: Int64, matrix: Any = None) -> None:
    """Add the problem's rows over `variables`, with bounds moved by `origin` (R, N) in exact integers.

    `matrix`: the rows in terms of the variables; without one these are the entries.
    """
    from ortools.sat.python import cp_model

    rows, first, last = constraint_rows(problem)
    sizes = abs(rows) @ np.abs(origin).ravel().astype(np.float64)
    _refuse_long(problem, sizes)
    moved = np.asarray(rows.astype(np.int64) @ origin.ravel()).tolist()
    table = (rows if matrix is None else matrix).tocsr()
    factors = np.rint(table.data).astype(np.int64).tolist()
    columns, starts = table.indices.tolist(), table.indptr.tolist()
    for row, (low, high) in enumerate(zip(first.tolist(), last.tolist(), strict=True)):
        begin, end = starts[row], starts[row + 1]
        terms = [variables[column] for column in columns[begin:end]]
        model.add_linear_constraint(
            cp_model.LinearExpr.weighted_sum(terms, factors[begin:end]),
            int(low) - moved[row],
            cp_model.INT_MAX if high == np.inf else int(high) - moved[row],
        )


def _refuse_long(problem: Problem, sizes: Float64) -> None:
    if sizes.size and float(sizes.max()) + problem.total >= 2.0**61:
        raise InputError(
            f"sums of values up to {float(sizes.max()):.3g} leave 64-bit integers",
            f"solver {SOLVER}",
            "use proximity",
        )
