"""`scip`: SCIP on matrices: mixed-integer quadratic programs, integers beyond them by unit segments."""

from __future__ import annotations

from pgsr.models.forms.matrix import matrix_form
from pgsr.models.forms.piecewise import filled
from pgsr.models.forms.program import Program
from pgsr.models.problem import Feature, Int64, Problem
from pgsr.solvers.adapters.adapter import Adapter, Outcome, Recorder, out_of_time
from pgsr.solvers.adapters.entries import (
    entries_point,
    exact_origin,
    largest_moves,
    refuse_large_moves,
    whole_start,
)
from pgsr.solvers.adapters.scip_call import ScipModel
from pgsr.solvers.adapters.segments import Raw, solve_in_windows
from pgsr.solvers.base import SolveOptions
from pgsr.solvers.certificate import Stopwatch
from pgsr.solvers.statuses import termination

MOST_SQUARES = 2_000
"""Entries of an integer problem up to which its squares are left to SCIP."""

MOST_UNITS = 10_000
"""Distance from target to table up to which squares of a relaxation, and absolute values, are exact."""

MOST_TOTAL = 1_000_000
"""Total of an integer problem up to which the loss is left to SCIP: far beyond, answers were wrong."""

MOST_WHOLE_UNITS = 1e7
"""The same for integers, whose squares are small or made linear."""


class ScipSolver(Adapter):
    """SCIP by PySCIPOpt, on one thread.

    Its tolerances are relative to squares: with integers counted from a target 1e6 away from any table,
    answers were wrong. So integers are counted from the rounded relaxation, where the optimum's squares are 0
    or 1, and beyond `MOST_SQUARES` entries or a total of `MOST_TOTAL` go by unit segments. Far targets are
    refused.
    """

    name = "scip"
    package = "pyscipopt"
    modules = ("pyscipopt",)
    extra = "scip"
    scale = 5_000
    most_entries = 100_000
    features = frozenset(Feature)

    def check(self, problem: Problem) -> None:
        """Refuse counts so far from any table that its tolerances would hide units."""
        super().check(problem)
        if problem.integer:
            refuse_large_moves(problem, self.name, MOST_WHOLE_UNITS, weighted=True)
        else:
            refuse_large_moves(problem, self.name, MOST_UNITS, weighted=False)

    def run(self, problem: Problem, options: SolveOptions, recorder: Recorder) -> Outcome:
        """Squares and absolute values as they are where SCIP is exact on them, else unit segments."""
        if not _direct(problem):
            return solve_in_windows(problem, options, recorder, _Segments(options, recorder))
        watch = Stopwatch()
        program = matrix_form(problem, exact_origin(problem, options))
        model = ScipModel(program, options, tight=not problem.integer)
        if options.start is not None:
            model.start(entries_point(program, options.start))
        build_s = watch.seconds()
        seconds = options.seconds_left()
        if seconds == 0:
            return out_of_time(build_s)
        recorder.start()
        if problem.integer:
            recorder.found(whole_start(options))
        watch = Stopwatch()
        answer = model.run(recorder, seconds)
        recorder.found(answer.x)
        return Outcome(
            termination=termination("scip", answer.status),
            raw_status=answer.status,
            x=answer.x,
            build_s=build_s,
            solve_s=watch.seconds(),
            bound=None if answer.bound is None else answer.bound + program.constant,
            details={"nodes": answer.nodes},
        )


class _Segments:
    """Hands programs of unit segments to SCIP."""

    def __init__(self, options: SolveOptions, recorder: Recorder) -> None:
        self.options, self.recorder = options, recorder

    def __call__(self, program: Program, start: Int64 | None) -> Raw:
        """One program, from the table `start` if there is one."""
        model = ScipModel(program, self.options)
        if start is not None and program.columns:
            model.start(filled(program, start))
        seconds = self.recorder.seconds_left()
        if seconds == 0:
            return Raw(
                termination=termination("scip", "timelimit"), raw_status="timelimit", x=None, bound=None
            )
        answer = model.run(self.recorder, seconds)
        return Raw(
            termination=termination("scip", answer.status),
            raw_status=answer.status,
            x=answer.x,
            bound=answer.bound,
        )


def _direct(problem: Problem) -> bool:
    """Whether the loss is left to SCIP as it is.

    An absolute value is a row of size `target - x`, with a tolerance relative to that.
    """
    if not problem.integer:
        return True
    if problem.total > MOST_TOTAL:
        return False
    if problem.loss == "l2":
        return problem.target.size <= MOST_SQUARES
    return float(largest_moves(problem).max()) <= MOST_UNITS
