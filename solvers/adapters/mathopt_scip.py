"""`mathopt-scip`: integer problems by SCIP, through OR-Tools' MathOpt, as unit segments or as squares.

MathOpt hands SCIP integer variables under a quadratic objective as well, so both forms are there.
"""

from __future__ import annotations

from importlib import import_module
from typing import Literal

import numpy as np

from pgsr.errors import InputError
from pgsr.models.forms.matrix import matrix_form, near_origin
from pgsr.models.forms.piecewise import piecewise_form
from pgsr.models.forms.program import Program
from pgsr.models.problem import Feature, Float64, Int64, Problem
from pgsr.solvers.adapters.adapter import Adapter, Deadline, Outcome, Recorder, out_of_time
from pgsr.solvers.adapters.highs import filled
from pgsr.solvers.adapters.integer_costs import kink_windows, largest_steps, refuse_large
from pgsr.solvers.adapters.mathopt_call import MathOptAnswer, call_mathopt
from pgsr.solvers.adapters.segments import Raw, solve_in_windows
from pgsr.solvers.base import SolveOptions
from pgsr.solvers.certificate import Stopwatch
from pgsr.solvers.statuses import termination

Form = Literal["segments", "squares"]

AVERAGE = 8
"""Segments for each entry, on average, up to which windows hold everything at once."""


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
        if form not in ("segments", "squares"):
            raise InputError(f"unknown form '{form}'", "form", "use segments or squares")
        self.form = form

    def check(self, problem: Problem) -> None:
        """Refuse targets so far out of reach that floats would round: RegionError names the region."""
        super().check(problem)
        kink = kink_windows(problem).low
        refuse_large(self.name, largest_steps(problem, problem.region_weights, kink, kink), LARGEST)

    def run(self, problem: Problem, options: SolveOptions, recorder: Recorder) -> Outcome:
        """Segments in windows that are recentred, or one program. RegionError where floats would round."""
        import_module("ortools.math_opt.python.mathopt")  # seconds the first time, not the search's
        if self.form == "squares" and problem.loss == "l2":
            return _once(matrix_form(problem, near_origin(problem)), options, recorder)
        if problem.loss == "l1":
            return _once(piecewise_form(problem, kink_windows(problem), tails=True), options, recorder)
        deadline: Deadline | None = None

        def call(program: Program, start: Int64 | None) -> Raw:
            nonlocal deadline
            deadline = deadline or Deadline(options)
            seconds = deadline.seconds()
            answer = _search(program, options, seconds, None if start is None else filled(program, start))
            return Raw(
                termination=termination("mathopt", answer.status),
                raw_status=answer.status,
                x=None if answer.z is None else program.whole_table(answer.z),
                bound=None if answer.bound is None else answer.bound - program.constant,
            )

        return solve_in_windows(problem, options, recorder, call, AVERAGE)


def _once(program: Program, options: SolveOptions, recorder: Recorder) -> Outcome:
    """Search one program that is exact by itself."""
    hint: Float64 | None = None
    if options.start is not None:
        start = np.rint(options.start).astype(np.int64)
        squares = program.quadratic_objective
        hint = (start - program.origin).ravel().astype(np.float64) if squares else filled(program, start)
    seconds = options.seconds_left()
    if seconds == 0:
        return out_of_time(0.0)
    recorder.start()
    watch = Stopwatch()
    answer = _search(program, options, seconds, hint)
    x = None if answer.z is None else program.whole_table(answer.z)
    if x is not None:
        recorder.found(x)
    recorder.bounded(answer.bound)
    return Outcome(
        termination=termination("mathopt", answer.status),
        raw_status=answer.status,
        x=x,
        build_s=0.0,
        solve_s=watch.seconds(),
        bound=answer.bound,
        details={"columns": program.columns, "detail": answer.detail},
    )


def _search(
    program: Program, options: SolveOptions, seconds: float | None, hint: Float64 | None
) -> MathOptAnswer:
    if seconds == 0:
        return MathOptAnswer(
            status="NO_SOLUTION_FOUND:TIME", z=None, duals=None, bound=None, detail="", iterations=0
        )
    costs = np.zeros(program.origin.size)
    np.maximum.at(costs, program.entry, np.abs(program.linear))
    refuse_large(NAME, costs.reshape(program.origin.shape), LARGEST)
    return call_mathopt(program, "GSCIP", options, seconds=seconds, start=hint)
