"""`gurobi`: Gurobi on matrices, squares as they are. Proprietary, and size-limited without a licence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgsr.models.forms.matrix import matrix_form
from pgsr.models.forms.program import Program
from pgsr.models.problem import Feature, Float64, Problem
from pgsr.solvers.adapters.adapter import Adapter, Outcome, Recorder, out_of_time
from pgsr.solvers.adapters.entries import entries_point, exact_origin, refuse_large_moves
from pgsr.solvers.base import SolveOptions, Termination
from pgsr.solvers.certificate import Stopwatch
from pgsr.solvers.statuses import termination

SIZE_LIMIT = (
    "SIZE_LIMIT_EXCEEDED: the licence that comes with gurobipy takes 2,000 variables and 2,000 rows, "
    "with squares 200 variables"
)
"""What is said when the licence refuses a model; the numbers are those of gurobipy 13.0."""

MOST_WHOLE_UNITS = 1e7
"""Distance from target to table up to which integer optima are exact."""


class GurobiSolver(Adapter):
    """Gurobi by gurobipy, which is proprietary: the package brings a licence that is limited in size.

    That licence takes 2,000 variables and rows, but only 200 variables if there is any square in the
    objective; beyond, the outcome is `other_limit` without a point. `check` does not know the licence.
    """

    name = "gurobi"
    package = "gurobipy"
    modules = ("gurobipy",)
    extra = "gurobi"
    scale = 200
    features = frozenset(Feature)

    def check(self, problem: Problem) -> None:
        """Refuse integer problems with counts so far from any table that its tolerances would hide units."""
        super().check(problem)
        if problem.integer:
            refuse_large_moves(problem, self.name, MOST_WHOLE_UNITS, weighted=True)

    def run(self, problem: Problem, options: SolveOptions, recorder: Recorder) -> Outcome:
        """Solve the problem in matrix form: integers or not, squares or absolute values."""
        import gurobipy

        watch = Stopwatch()
        program = matrix_form(problem, exact_origin(problem, options))
        with (
            gurobipy.Env(params=_parameters(options)) as environment,
            gurobipy.Model(env=environment) as model,
        ):
            # The gap is relative to the stated objective; without one, a large constant costs accuracy.
            constant = program.constant if options.gap > 0 else 0.0
            left_out = program.constant - constant
            columns, rows = _state(model, program, constant)
            if options.start is not None and problem.integer:
                columns.Start = entries_point(program, options.start)
            build_s = watch.seconds()
            seconds = options.seconds_left()
            if seconds == 0:
                return out_of_time(build_s)
            if seconds is not None:
                model.Params.TimeLimit = seconds
            recorder.start()
            watch = Stopwatch()
            try:
                model.optimize(_watcher(columns, program, recorder, left_out))
            except gurobipy.GurobiError as error:
                if error.errno != gurobipy.GRB.Error.SIZE_LIMIT_EXCEEDED:
                    raise
                return Outcome(
                    termination=Termination.OTHER_LIMIT,
                    raw_status=SIZE_LIMIT,
                    x=None,
                    build_s=build_s,
                    solve_s=watch.seconds(),
                )
            return _outcome(model, columns, rows, program, left_out, build_s, watch.seconds())


def _parameters(options: SolveOptions) -> dict[str, Any]:
    """Gaps as asked for, tolerances as tight as they go; nothing is printed unless asked for."""
    return {
        "OutputFlag": int(options.verbose),
        "MIPGap": options.gap,
        "MIPGapAbs": 0.0,
        "IntFeasTol": 1e-9,
        "FeasibilityTol": 1e-9,
        "OptimalityTol": 1e-9,
        "BarConvTol": 1e-12,
        "Seed": options.seed % 2_000_000_000,
        "Threads": options.cores(),
    }


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Rows:
    """Constraints of one sense and the program's rows that they stand for."""

    places: NDArray[np.intp]
    constraints: Any


def _state(model: Any, program: Program, constant: float) -> tuple[Any, list[_Rows]]:
    """State the program in `model`; its variables and rows."""
    from scipy.sparse import diags_array

    columns = model.addMVar(
        program.columns,
        lb=program.lower,
        ub=program.upper,
        vtype=np.where(program.integer, "I", "C"),
    )
    squares = diags_array(program.quadratic, format="csr") if program.quadratic_objective else None
    model.setMObjective(squares, program.linear, constant, columns, columns, columns, 1)
    equal = program.row_lower == program.row_upper
    senses = (
        ("=", equal, program.row_lower),
        (">", ~equal & (program.row_lower > -np.inf), program.row_lower),
        ("<", ~equal & (program.row_upper < np.inf), program.row_upper),
    )
    matrix, found = program.matrix.tocsr(), []
    for sense, mask, side in senses:
        places = np.flatnonzero(mask)
        if places.size:
            added = model.addMConstr(matrix[places], columns, sense, side[places])
            found.append(_Rows(places=places, constraints=added))
    return columns, found


def _watcher(columns: Any, program: Program, recorder: Recorder, left_out: float) -> Any:
    """A callback that tells the recorder of better points and bounds of a search.

    `left_out`: what the stated objective is above the model's.
    """
    from gurobipy import GRB

    def watch(model: Any, where: int) -> None:
        if where == GRB.Callback.MIPSOL:
            z = np.asarray(model.cbGetSolution(columns), dtype=np.float64)
            recorder.found(program.whole_table(z))
            recorder.bounded(_bound(model.cbGet(GRB.Callback.MIPSOL_OBJBND), left_out))
        elif where == GRB.Callback.MIP:
            recorder.bounded(_bound(model.cbGet(GRB.Callback.MIP_OBJBND), left_out))

    return watch


def _bound(bound: float, left_out: float) -> float | None:
    """A bound on the stated objective, or None for Gurobi's infinity."""
    return None if abs(bound) >= 1e100 else float(bound) + left_out


def _outcome(
    model: Any,
    columns: Any,
    rows: list[_Rows],
    program: Program,
    left_out: float,
    build_s: float,
    solve_s: float,
) -> Outcome:
    """What Gurobi says: its bound is a search's; without a search the duals of the rows prove one."""
    import gurobipy

    statuses = gurobipy.GRB.Status
    status = next(n for n in dir(statuses) if n.isupper() and getattr(statuses, n) == model.Status)
    has_point = model.SolCount > 0
    z: Float64 | None = np.asarray(columns.X, dtype=np.float64) if has_point else None
    x: NDArray[Any] | None = None
    bound, multipliers = None, None
    if program.problem.integer:
        x = None if z is None else program.whole_table(z)
        bound = _bound(model.ObjBound, left_out)
    elif z is not None:
        x = program.table(z)
        duals = np.zeros(program.rows)
        if status == "OPTIMAL":
            for part in rows:
                duals[part.places] += part.constraints.Pi
            multipliers = program.multipliers(duals)
    return Outcome(
        termination=termination("gurobi", status),
        raw_status=status,
        x=x,
        build_s=build_s,
        solve_s=solve_s,
        bound=bound,
        multipliers=multipliers,
        details={"nodes": int(model.NodeCount), "iterations": int(model.IterCount)},
    )
