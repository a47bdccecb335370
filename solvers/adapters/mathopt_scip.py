"""`mathopt-scip`: integer problems by SCIP, through OR-Tools' MathOpt, as unit segments or as squares.

MathOpt hands SCIP integer variables under a quadratic objective as well, so both forms are there.
"""

from __future__ import annotations

from importlib import import_module

import numpy as np

from pgsr.models.forms.matrix import matrix_form, near_origin
from pgsr.models.forms.piecewise import filled, piecewise_form
from pgsr.models.forms.program import Program
from pgsr.models.problem import Feature, Float64, Int64, Problem
from pgsr.solvers.adapters.adapter import Adapter, Outcome, Recorder, out_of_time
from pgsr.solvers.adapters.entries import Form, entries_point, known_form, whole_start
from pgsr.solvers.adapters.integer_costs import kink_windows, refuse_large, unavoidable_steps
from pgsr.solvers.adapters.mathopt_call import MathOptAnswer, call_mathopt
from pgsr.solvers.adapters.segments import FEW, Raw, solve_in_windows
from pgsr.solvers.base import SolveOptions
from pgsr.solvers.certificate import Stopwatch
from pgsr.solvers.statuses import termination

NAME = "mathopt-scip"

LARGEST = 2.0**30
"""Costs of a unit up to which SCIP's tolerances (1e-9, relative) can tell one table from the next."""


class MathOptScipSolver(Adapter):
    """SCIP on programs in matrices. `form="squares"` states squares as they are, for comparison."""

    name = NAME
    package = "ortools"
    modules = ("ortools",)
    scale = 1_000
    most_entries = 50_000
    features = frozenset(Feature) - {Feature.RELAXED, Feature.RELAXED_BOUNDS}

    def __init__(self, form: Form = "segments") -> None:
        self.form = known_form(form)

    def check(self, problem: Problem) -> None:
        """Refuse targets so far out of reach that floats would round: RegionError names the region."""
        super().check(problem)
        refuse_large(self.name, unavoidable_steps(problem, problem.region_weights), LARGEST)

    def run(self, problem: Problem, options: SolveOptions, recorder: Recorder) -> Outcome:
        """Segments in windows that are recentred, or one program. RegionError where floats would round."""
        import_module("ortools.math_opt.python.mathopt")  # seconds the first time, not the search's
        watch = Stopwatch()
        if problem.loss == "l1":
            program = piecewise_form(problem, kink_windows(problem), tails=True)
            return _once(program, options, recorder, watch.seconds())
        if self.form == "squares":
            program = matrix_form(problem, near_origin(problem))
            return _once(program, options, recorder, watch.seconds())

        def call(program: Program, start: Int64 | None) -> Raw:
            answer = _search(program, options, recorder, start)
            return Raw(
                termination=termination("mathopt", answer.status),
                raw_status=answer.status,
                x=None if answer.z is None else program.whole_table(answer.z),
                bound=None if answer.bound is None else answer.bound - program.constant,
            )

        return solve_in_windows(problem, options, recorder, call, FEW)


def _once(program: Program, options: SolveOptions, recorder: Recorder, build_s: float) -> Outcome:
    """Search one program that is exact by itself."""
    if options.seconds_left() == 0:
        return out_of_time(build_s)
    recorder.start()
    watch = Stopwatch()
    answer = _search(program, options, recorder, whole_start(options))
    x = None if answer.z is None else program.whole_table(answer.z)
    recorder.found(x)
    recorder.bounded(answer.bound)
    return Outcome(
        termination=termination("mathopt", answer.status),
        raw_status=answer.status,
        x=x,
        build_s=build_s,
        solve_s=watch.seconds(),
        bound=answer.bound,
        details={"columns": program.columns, "detail": answer.detail},
    )


def _search(
    program: Program, options: SolveOptions, recorder: Recorder, start: Int64 | None
) -> MathOptAnswer:
    """Run SCIP in the time that is left, from the table `start` if there is one."""
    seconds = recorder.seconds_left()
    if seconds == 0:
        return MathOptAnswer(
            status="NO_SOLUTION_FOUND:TIME", z=None, duals=None, bound=None, detail="", iterations=0
        )
    costs = np.zeros(program.origin.size)
    np.maximum.at(costs, program.entry, np.abs(program.linear))
    refuse_large(NAME, costs.reshape(program.origin.shape), LARGEST)
    hint: Float64 | None = None
    if start is not None:
        hint = entries_point(program, start) if program.segments is None else filled(program, start)
    return call_mathopt(program, "GSCIP", options, seconds=seconds, start=hint)
