"""`mathopt-pdlp`: relaxations by a first-order method with restarts, through OR-Tools' MathOpt."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from pgsr.errors import InputError
from pgsr.models.forms.matrix import matrix_form, near_origin
from pgsr.models.forms.program import Program
from pgsr.models.problem import Feature, Problem
from pgsr.solvers.adapters.adapter import Adapter, Outcome, Recorder, out_of_time
from pgsr.solvers.adapters.mathopt_call import call_mathopt
from pgsr.solvers.base import SolveOptions
from pgsr.solvers.certificate import Stopwatch
from pgsr.solvers.statuses import termination

TOLERANCE = 1e-10
"""Residuals at which it stops, relative and absolute; its default 1e-6 leaves violations of 1e-3."""

INFEASIBLE = 1e-14
"""Residual of a ray below which it proves that the program has no point, or no bound."""

LARGEST = 2**40
"""The largest total: beyond, the floats of a first-order method are coarser than a unit."""


class MathOptPdlpSolver(Adapter):
    """PDLP, with squares as a diagonal quadratic."""

    name = "mathopt-pdlp"
    package = "ortools"
    modules = ("ortools",)
    scale = 200_000
    accuracy = 1e-8
    features = frozenset(Feature) - {Feature.INTEGER, Feature.BOUNDS}

    def check(self, problem: Problem) -> None:
        """Refuse totals beyond 2^40."""
        super().check(problem)
        if problem.total > LARGEST:
            raise InputError(
                f"a total of {problem.total} is more than the {LARGEST} that it resolves",
                f"solver {self.name}",
                "use proximity or piqp",
            )

    def run(self, problem: Problem, options: SolveOptions, recorder: Recorder) -> Outcome:
        """Solve the relaxation in its entries; the bound is PDLP's dual objective."""
        from ortools.math_opt.python import mathopt

        watch = Stopwatch()
        program = _open_ended(matrix_form(problem, near_origin(problem)))
        settings = mathopt.SolveParameters()
        criteria = settings.pdlp.termination_criteria.simple_optimality_criteria
        criteria.eps_optimal_relative = criteria.eps_optimal_absolute = TOLERANCE
        # The default, 1e-8, takes targets far out of reach for a proof that nothing is feasible.
        settings.pdlp.termination_criteria.eps_primal_infeasible = INFEASIBLE
        settings.pdlp.termination_criteria.eps_dual_infeasible = INFEASIBLE
        build_s = watch.seconds()
        seconds = options.seconds_left()
        if seconds == 0:
            return out_of_time(build_s)
        recorder.start()
        watch = Stopwatch()
        answer = call_mathopt(program, "PDLP", options, seconds=seconds, settings=settings)
        kind = termination("mathopt", answer.status)
        return Outcome(
            termination=kind,
            raw_status=answer.status,
            x=None if answer.z is None else program.table(answer.z),
            build_s=build_s,
            solve_s=watch.seconds(),
            bound=answer.bound,
            multipliers=None if answer.duals is None else program.multipliers(answer.duals),
            details={"iterations": answer.iterations, "detail": answer.detail},
        )


def _open_ended(program: Program) -> Program:
    """The program without upper bounds at the total, which its rows imply: they coarsen residuals."""
    total = (program.problem.total - program.origin).ravel().astype(np.float64)
    upper = program.upper.copy()
    entries = upper[: total.size]
    entries[entries >= total] = np.inf
    return replace(program, upper=upper)
