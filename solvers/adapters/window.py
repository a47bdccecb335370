"""`window`: exact integers for both models by stock HiGHS, without a search through everything.

The relaxation says where to look. The linear program of unit segments there, grown until no segment outside
would help (or until multipliers prove that), is the best possible linear bound; it is integral for Model 1
and nearly always for Model 2. Where it is not, mixed-integer programs in growing windows give the integers;
multipliers or the distance to the windows' ends give the proof: an integer optimum inside its window alone
proves nothing.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pgsr.models.forms.matrix import matrix_form, near_origin
from pgsr.models.forms.piecewise import Windows
from pgsr.models.lattice import objective_lattice
from pgsr.models.problem import Feature, Int64, Problem
from pgsr.solvers.adapters.adapter import Adapter, Outcome, Recorder
from pgsr.solvers.adapters.highs_call import call_highs
from pgsr.solvers.adapters.window_lp import solve_linear
from pgsr.solvers.adapters.window_proof import WHOLE, Proven
from pgsr.solvers.adapters.window_search import search
from pgsr.solvers.base import SolveOptions, Termination
from pgsr.solvers.certificate import Stopwatch
from pgsr.solvers.relaxation import first_table, guess
from pgsr.solvers.statuses import termination


class WindowSolver(Adapter):
    """Relaxation, windowed HiGHS LP, MILP if that is fractional; both models."""

    name = "window"
    package = "highspy"
    modules = ("highspy",)
    scale = 400_000
    preference = 1
    features = frozenset(Feature) - {Feature.RELAXED, Feature.RELAXED_BOUNDS}

    def run(self, problem: Problem, options: SolveOptions, recorder: Recorder) -> Outcome:
        """Squares in windows; absolute values have two segments an entry, so they need none."""
        options = options.started()
        if problem.loss == "l1":
            return _absolute(problem, options, recorder)
        watch = Stopwatch()
        recorder.start()
        found = guess(problem, options)
        details: dict[str, Any] = {"guess_s": watch.seconds()}
        recorder.found(first_table(problem, found.table))
        state = Proven(problem=problem, recorder=recorder, best=found.multipliers)
        windows = Windows.around(problem, found.table, 0)
        linear = solve_linear(problem, windows, options, state.proof)
        details |= {
            "rounds": linear.rounds,
            "segments": linear.segments,
            "iterations": linear.iterations,
            "linear_value": linear.value,
        }
        kind, raw, x = termination("highs", linear.status), linear.status, None
        bound: float | None = None if state.bound == -math.inf else state.bound
        if linear.table is not None and (linear.complete or linear.proven):
            state.consider(linear)
            x = np.rint(linear.table).astype(np.int64)
            details["fractional"] = int((np.abs(linear.table - x) > WHOLE).sum())
            bound = state.bound
            if details["fractional"]:
                recorder.bounded(bound)
                lattice = objective_lattice(problem)
                step = None if lattice is None else lattice.step
                answer = search(problem, linear, bound, step, options, recorder, details)
                kind, raw, x, bound = answer.termination, answer.raw_status, answer.x, answer.bound
        return Outcome(
            termination=kind,
            raw_status=raw,
            x=x,
            build_s=0.0,
            solve_s=watch.seconds(),
            bound=bound,
            multipliers=state.best,
            details=details,
        )


def _absolute(problem: Problem, options: SolveOptions, recorder: Recorder) -> Outcome:
    """Absolute values: the linear program of the matrix form, and a search if it is fractional."""
    watch = Stopwatch()
    program = matrix_form(problem.relaxed(), near_origin(problem))
    build_s = watch.seconds()
    recorder.start()
    watch = Stopwatch()
    answer = call_highs(program, options, recorder, seconds=options.seconds_left())
    x: Int64 | None = None
    kind, bound = termination("highs", answer.status), answer.bound
    multipliers = None if answer.duals is None else program.multipliers(answer.duals)
    details: dict[str, Any] = {"linear_value": None if bound is None else bound + program.constant}
    if kind is Termination.OPTIMAL and answer.z is not None:
        table = program.table(answer.z)
        x = program.whole_table(answer.z)
        details["fractional"] = int((np.abs(table - x) > WHOLE).sum())
        if details["fractional"]:
            recorder.bounded(details["linear_value"])
            program = matrix_form(problem, near_origin(problem))
            answer = call_highs(program, options, recorder, seconds=options.seconds_left())
            kind, bound = termination("highs", answer.status), answer.bound
            x = None if answer.z is None else program.whole_table(answer.z)
    claimed = None if bound is None else bound + program.constant
    lattice = objective_lattice(problem)
    if claimed is not None and lattice is not None:
        claimed = lattice.up_roughly(claimed)
    return Outcome(
        termination=kind,
        raw_status=answer.status,
        x=x,
        build_s=build_s,
        solve_s=watch.seconds(),
        bound=claimed,
        multipliers=multipliers,
        details=details,
    )
