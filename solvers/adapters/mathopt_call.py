"""One call of OR-Tools' MathOpt with a program in matrices: hand over, solve, read back; no judgement."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgsr.errors import InputError
from pgsr.models.forms.program import Program
from pgsr.models.problem import Float64
from pgsr.solvers.base import SolveOptions


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MathOptAnswer:
    """What MathOpt said: status (`REASON`, or `REASON:LIMIT`), point (n,), duals of the rows (m,), bound.

    `z` is None unless MathOpt states a primal solution. `bound` is on the program's objective with its
    constant; `duals` in the convention of linear programming; `detail` the back end's own words.
    """

    status: str
    z: Float64 | None
    duals: Float64 | None
    bound: float | None
    detail: str
    iterations: int


def call_mathopt(
    program: Program,
    solver: str,
    options: SolveOptions,
    *,
    seconds: float | None,
    start: Float64 | None = None,
    settings: Any = None,
) -> MathOptAnswer:
    """Solve `program` with the MathOpt solver type `solver` (GSCIP, PDLP) in at most `seconds`.

    `start` (n,): a point to begin a search with; `settings`: `SolveParameters` with what is special to the
    solver, whose limits, threads, seed and gaps are set here. Raises InputError if MathOpt does not take the
    combination of solver and program, which it reports with an error of its own making.
    """
    from ortools.math_opt.python import mathopt

    if program.columns == 0:
        return MathOptAnswer(
            status="OPTIMAL", z=np.zeros(0), duals=None, bound=program.constant, detail="", iterations=0
        )
    # A large constant hides differences that matter from floats; a gap is relative to the whole, though.
    offset = program.constant if options.gap > 0 else 0.0
    model = mathopt.Model.from_model_proto(_model(program, offset))
    columns, rows = list(model.variables()), list(model.linear_constraints())
    chosen = settings or mathopt.SolveParameters()
    chosen.enable_output = options.verbose
    chosen.threads = options.cores()
    if seconds is not None:
        chosen.time_limit = timedelta(seconds=seconds)
    more = mathopt.ModelSolveParameters()
    if program.integer.any():
        chosen.random_seed = options.seed % 2**31
        chosen.relative_gap_tolerance = options.gap
        chosen.absolute_gap_tolerance = 0.0
        if start is not None:
            hint = dict(zip(columns, start.tolist(), strict=True))
            more.solution_hints.append(mathopt.SolutionHint(variable_values=hint))
    kind = mathopt.SolverType[solver]
    try:
        result = mathopt.solve(model, kind, params=chosen, model_params=more)
    except AttributeError as error:  # MathOpt 9.15 reports what it does not support by failing to report it
        raise InputError(
            f"MathOpt does not take this program ({error})", f"MathOpt with {solver}", "use another solver"
        ) from error
    return _read(result, columns, rows, program.constant - offset)


def _read(result: Any, columns: list[Any], rows: list[Any], rest: float) -> MathOptAnswer:
    reason, limit = result.termination.reason.name, result.termination.limit
    z: Float64 | None = None
    duals: Float64 | None = None
    if result.solutions:
        first = result.solutions[0]
        if first.primal_solution is not None:
            z = _values(first.primal_solution.variable_values, columns)
        if first.dual_solution is not None:
            duals = _values(first.dual_solution.dual_values, rows)
    bound = float(result.termination.objective_bounds.dual_bound) + rest
    return MathOptAnswer(
        status=f"{reason}:{limit.name}" if limit is not None else reason,
        z=z,
        duals=duals,
        bound=bound if np.isfinite(bound) else None,
        detail=str(result.termination.detail),
        iterations=max(result.solve_stats.first_order_iterations, result.solve_stats.simplex_iterations),
    )


def _values(found: Any, order: list[Any]) -> Float64:
    """The values of a mapping in the order of the program."""
    return np.fromiter((found[key] for key in order), dtype=np.float64, count=len(order))


def _model(program: Program, offset: float) -> Any:
    """The program as a protocol buffer, filled by whole arrays."""
    from ortools.math_opt import model_pb2

    model = model_pb2.ModelProto()
    model.variables.ids.extend(range(program.columns))
    model.variables.lower_bounds.extend(program.lower)
    model.variables.upper_bounds.extend(program.upper)
    model.variables.integers.extend(program.integer.tolist())
    model.objective.offset = offset
    charged = np.flatnonzero(program.linear)
    model.objective.linear_coefficients.ids.extend(charged)
    model.objective.linear_coefficients.values.extend(program.linear[charged])
    squared = np.flatnonzero(program.quadratic)
    model.objective.quadratic_coefficients.row_ids.extend(squared)
    model.objective.quadratic_coefficients.column_ids.extend(squared)
    model.objective.quadratic_coefficients.coefficients.extend(program.quadratic[squared])
    model.linear_constraints.ids.extend(range(program.rows))
    model.linear_constraints.lower_bounds.extend(program.row_lower)
    model.linear_constraints.upper_bounds.extend(program.row_upper)
    matrix = program.matrix.tocsr()
    matrix.sort_indices()
    rows: NDArray[Any] = np.repeat(np.arange(program.rows), np.diff(matrix.indptr))
    model.linear_constraint_matrix.row_ids.extend(rows)
    model.linear_constraint_matrix.column_ids.extend(matrix.indices)
    model.linear_constraint_matrix.coefficients.extend(matrix.data)
    return model
