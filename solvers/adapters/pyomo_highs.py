"""`pyomo-highs`: HiGHS through Pyomo; integer squares by unit segments, all else directly."""

from __future__ import annotations

from typing import Any

import numpy as np

from pgsr.models.forms.matrix import near_origin
from pgsr.models.forms.piecewise import Windows, value_ranges
from pgsr.models.forms.program import Program
from pgsr.models.forms.pyomo_model import pyomo_model
from pgsr.models.problem import Feature, Int64, Problem
from pgsr.solvers.adapters.adapter import Adapter, Outcome, Recorder
from pgsr.solvers.adapters.entries import refuse_large_moves, refuse_many_squares
from pgsr.solvers.adapters.highs_call import silent_highs
from pgsr.solvers.adapters.pyomo_call import PyomoAnswer, call_pyomo, outcome_of
from pgsr.solvers.adapters.segments import Raw, solve_in_windows
from pgsr.solvers.base import SolveOptions, Termination
from pgsr.solvers.certificate import Stopwatch
from pgsr.solvers.statuses import termination

MOST_SQUARES = 2_000
"""Entries up to which the active-set method of HiGHS for quadratic programs gets somewhere."""

MOST_UNITS = 1e7
"""Distance from target to table, by weight, up to which its tolerances on costs hide no unit."""


class PyomoHighsSolver(Adapter):
    """HiGHS by way of Pyomo's own interface. It has no mixed-integer quadratic solver: unit segments."""

    name = "pyomo-highs"
    package = "pyomo"
    modules = ("pyomo", "highspy")
    scale = 10_000
    most_entries = 100_000
    features = frozenset(Feature)

    def check(self, problem: Problem) -> None:
        """Refuse relaxations with too many squares, and counts too far from any table."""
        super().check(problem)
        refuse_large_moves(problem, self.name, MOST_UNITS, weighted=True)
        refuse_many_squares(problem, self.name, MOST_SQUARES, "its quadratic method stalls")

    def run(self, problem: Problem, options: SolveOptions, recorder: Recorder) -> Outcome:
        """Integer squares by the piecewise form in windows with tails, all else as it stands."""
        if not problem.integer or problem.loss == "l1":
            return _direct(problem, options, recorder)

        def call(program: Program, _: Int64 | None) -> Raw:
            model = pyomo_model(
                problem, form="piecewise", windows=_windows(program), tails=True, origin=program.origin
            )
            seconds = recorder.seconds_left()
            if seconds == 0:
                return Raw(termination=Termination.TIME_LIMIT, raw_status="no time left", x=None, bound=None)
            answer = _call(model, options, seconds)
            return Raw(
                termination=termination("pyomo", answer.status),
                raw_status=answer.status,
                x=answer.table,
                bound=None if answer.bound is None else answer.bound - program.constant,
            )

        return solve_in_windows(problem, options, recorder, call)


def _call(model: Any, options: SolveOptions, seconds: float | None) -> PyomoAnswer:
    from pyomo.contrib.solver.common.factory import SolverFactory

    if options.threads:
        # HiGHS keeps one pool of threads a process, with the size of the first call.
        silent_highs().resetGlobalScheduler(True)
    settings = {"random_seed": options.seed % 2**31}
    return call_pyomo(model, SolverFactory("highs"), options, seconds, settings, duals=True)


def _windows(program: Program) -> Windows:
    """The windows of a program of unit segments."""
    low, high = value_ranges(program.problem)
    segments = np.bincount(program.entry[: program.segments], minlength=low.size).reshape(low.shape)
    return Windows(low=program.origin, high=program.origin + segments, domain_low=low, domain_high=high)


def _direct(problem: Problem, options: SolveOptions, recorder: Recorder) -> Outcome:
    watch = Stopwatch()
    model = pyomo_model(problem, origin=near_origin(problem))
    return outcome_of(lambda seconds: _call(model, options, seconds), options, recorder, watch.seconds())
