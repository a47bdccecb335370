"""`scip`: SCIP on matrices: mixed-integer quadratic programs, integers beyond them by unit segments."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgsr.models.forms.matrix import matrix_form
from pgsr.models.forms.program import Program
from pgsr.models.problem import Feature, Int64, Problem
from pgsr.solvers.adapters.adapter import Adapter, Outcome, Recorder, out_of_time
from pgsr.solvers.adapters.entries import entries_point, exact_origin, largest_moves, refuse_large_moves
from pgsr.solvers.adapters.highs import filled
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
"""Total of an integer problem up to which the loss is left to SCIP; from 2^36 on wrong answers were seen."""

MOST_WHOLE_UNITS = 1e7
"""The same for integers, whose squares are small or made linear; from 1e9 on wrong answers were seen."""


class ScipSolver(Adapter):
    """SCIP by PySCIPOpt, on one thread.

    Its tolerances are relative to squares: with integers counted from the target, tables 1e6 away from it
    came back "optimal" and were not feasible. So integers are counted from the rounded relaxation, where the
    optimum's squares are 0 or 1, and beyond 2,000 entries or totals of a million go by unit segments, which
    stayed exact up to totals of 2^50. Far targets are refused.
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
        if problem.integer and options.start is not None:
            recorder.found(np.rint(options.start).astype(np.int64))
        watch = Stopwatch()
        answer = model.run(recorder, seconds)
        x: NDArray[Any] | None = None
        if answer.z is not None:
            x = program.whole_table(answer.z) if problem.integer else program.table(answer.z)
        if x is not None:
            recorder.found(x)
        return Outcome(
            termination=termination("scip", answer.status),
            raw_status=answer.status,
            x=x,
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
            x=None if answer.z is None else program.whole_table(answer.z),
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
