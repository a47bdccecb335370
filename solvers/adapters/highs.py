"""`highs`: HiGHS on matrices: linear programs, small quadratic ones, integers by unit segments."""

from __future__ import annotations

from pgsr.models.forms.matrix import matrix_form, near_origin
from pgsr.models.forms.piecewise import filled
from pgsr.models.forms.program import Program
from pgsr.models.problem import Feature, Int64, Problem
from pgsr.solvers.adapters.adapter import Adapter, Outcome, Recorder, out_of_time
from pgsr.solvers.adapters.entries import refuse_large_moves, refuse_many_squares
from pgsr.solvers.adapters.highs_call import call_highs
from pgsr.solvers.adapters.segments import Raw, solve_in_windows
from pgsr.solvers.base import SolveOptions
from pgsr.solvers.certificate import Stopwatch
from pgsr.solvers.statuses import termination

MOST_SQUARES = 5_000
"""Entries up to which its active-set method for quadratic programs gets somewhere."""

MOST_UNITS = 1e8
"""Distance from target to table, by weight, beyond which its tolerances hide units."""


class HighsSolver(Adapter):
    """HiGHS through `passModel`. It has no mixed-integer quadratic solver: integers go by unit segments."""

    name = "highs"
    package = "highspy"
    modules = ("highspy",)
    scale = 50_000
    features = frozenset(Feature)

    def check(self, problem: Problem) -> None:
        """Refuse relaxations with too many squares, and counts too far from any table."""
        super().check(problem)
        refuse_large_moves(problem, self.name, MOST_UNITS, weighted=True)
        refuse_many_squares(problem, self.name, MOST_SQUARES, "its quadratic method stalls")

    def run(self, problem: Problem, options: SolveOptions, recorder: Recorder) -> Outcome:
        """Integers by unit segments in windows, relaxations in matrix form."""
        if not problem.integer:
            return _relaxed(problem, options, recorder)

        def call(program: Program, start: Int64 | None) -> Raw:
            answer = call_highs(
                program,
                options,
                recorder,
                seconds=recorder.seconds_left(),
                start=None if start is None else filled(program, start),
            )
            return Raw(
                termination=termination("highs", answer.status),
                raw_status=answer.status,
                x=None if answer.z is None else program.whole_table(answer.z),
                bound=answer.bound,
            )

        return solve_in_windows(problem, options, recorder, call)


def _relaxed(problem: Problem, options: SolveOptions, recorder: Recorder) -> Outcome:
    watch = Stopwatch()
    program = matrix_form(problem, near_origin(problem))
    build_s = watch.seconds()
    seconds = options.seconds_left()
    if seconds == 0:
        return out_of_time(build_s)
    recorder.start()
    watch = Stopwatch()
    answer = call_highs(program, options, recorder, seconds=seconds)
    return Outcome(
        termination=termination("highs", answer.status),
        raw_status=answer.status,
        x=None if answer.z is None else program.table(answer.z),
        build_s=build_s,
        solve_s=watch.seconds(),
        bound=None if answer.bound is None else answer.bound + program.constant,
        multipliers=None if answer.duals is None else program.multipliers(answer.duals),
        details={"iterations": answer.iterations},
    )
