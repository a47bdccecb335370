"""`piqp`: the relaxation as a sparse quadratic program by an interior-point method."""

from __future__ import annotations

from typing import Any

import numpy as np

from pgsr.models.forms.matrix import matrix_form, near_origin
from pgsr.models.forms.program import Program
from pgsr.models.problem import Feature, Problem
from pgsr.solvers.adapters.adapter import Adapter, Outcome, Recorder, out_of_time
from pgsr.solvers.base import SolveOptions, Termination
from pgsr.solvers.certificate import Stopwatch
from pgsr.solvers.statuses import termination


class PiqpSolver(Adapter):
    """PIQP, called with matrices. It has no time limit of its own: run it in a process of its own."""

    name = "piqp"
    package = "piqp"
    modules = ("piqp",)
    scale = 2_000_000
    features = frozenset(Feature) - {Feature.INTEGER, Feature.BOUNDS}

    def run(self, problem: Problem, options: SolveOptions, recorder: Recorder) -> Outcome:
        """Solve the relaxation; rows that are inequalities are handed over as such."""
        import piqp

        watch = Stopwatch()
        program = matrix_form(problem, near_origin(problem))
        solver = piqp.SparseSolver()
        solver.settings.verbose = options.verbose
        solver.settings.check_duality_gap = True
        solver.settings.eps_duality_gap_rel = 1e-9
        arguments = _arguments(program)
        build_s = watch.seconds()
        if options.seconds_left() == 0:
            return out_of_time(build_s)
        recorder.start()
        watch = Stopwatch()
        solver.setup(**arguments)
        status = str(solver.solve()).rpartition(".")[2]
        solve_s = watch.seconds()
        result = solver.result
        z = np.asarray(result.x, dtype=np.float64)
        kind = termination("piqp", status)
        equal = program.row_lower == program.row_upper
        duals = np.zeros(program.rows)
        # PIQP adds y'(Az - b) to the objective: the opposite sign.
        duals[equal] = -np.asarray(result.y)
        return Outcome(
            termination=kind,
            raw_status=status,
            x=program.table(z) if np.all(np.isfinite(z)) else None,
            build_s=build_s,
            solve_s=solve_s,
            # Away from a solution its duals are not feasible, and their objective bounds nothing.
            bound=float(result.info.dual_obj) + program.constant if kind is Termination.OPTIMAL else None,
            multipliers=program.multipliers(duals) if np.all(np.isfinite(duals)) else None,
            details={"iterations": int(result.info.iter)},
        )


def _arguments(program: Program) -> dict[str, Any]:
    """The program in the terms of PIQP: `1/2 z'Pz + c'z`, `Az = b`, `h_l <= Gz <= h_u`, `x_l <= z <= x_u`."""
    from scipy.sparse import csc_matrix, diags_array

    equal = program.row_lower == program.row_upper
    rows = program.matrix.tocsr()
    found: dict[str, Any] = {
        "P": csc_matrix(diags_array(2.0 * program.quadratic)),
        "c": program.linear,
        "A": csc_matrix(rows[np.flatnonzero(equal)]),
        "b": program.row_lower[equal],
        "x_l": program.lower,
        "x_u": program.upper,
    }
    if not equal.all():
        found["G"] = csc_matrix(rows[np.flatnonzero(~equal)])
        found["h_l"], found["h_u"] = program.row_lower[~equal], program.row_upper[~equal]
    return found
