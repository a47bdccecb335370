"""`window`: exact integers for both models by stock HiGHS, without a search through everything.

The relaxation says where to look. The linear program of unit segments there, grown until no segment outside
would help (or until multipliers prove that), is the best possible linear bound; it is integral for Model 1
and nearly always for Model 2. Where it is not, mixed-integer programs in growing windows give the integers;
multipliers or the distance to the windows' ends give the proof: an integer optimum inside its window alone
proves nothing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from pgsr.models.exact import dyadic_weights
from pgsr.models.forms.matrix import matrix_form, near_origin
from pgsr.models.forms.piecewise import Windows
from pgsr.models.problem import Feature, Float64, Int64, Problem
from pgsr.solvers.adapters.adapter import Adapter, Outcome, Recorder
from pgsr.solvers.adapters.highs_call import call_highs
from pgsr.solvers.adapters.window_lp import LinearAnswer, solve_linear
from pgsr.solvers.adapters.window_search import search
from pgsr.solvers.base import SolveOptions, Termination
from pgsr.solvers.certificate import Stopwatch
from pgsr.solvers.relaxation import first_table, guess
from pgsr.solvers.statuses import termination

WHOLE = 1e-6
"""Distance from a whole number at which an entry of the linear program counts as whole."""


class WindowSolver(Adapter):
    """Relaxation, windowed HiGHS LP, MILP if that is fractional; both models."""

    name = "window"
    package = "highspy"
    modules = ("highspy",)
    scale = 400_000
    preference = 1  # up to there it proves more, and sooner, than `cumulative`
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
        recorder.offer(first_table(problem, found.table))
        state = _State(problem=problem, recorder=recorder, best=found.multipliers)
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
                step = objective_step(problem)
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


@dataclass(slots=True, kw_only=True)
class _State:
    """What is proven so far: the best multipliers (R, N), and a lower bound on whole tables."""

    problem: Problem
    recorder: Recorder
    best: Float64 | None
    bound: float = field(init=False, default=-math.inf)
    form: Any = field(init=False)

    def __post_init__(self) -> None:
        self.form = matrix_form(self.problem)
        if self.best is not None:
            self.bound = self._value(self.best)

    def proof(self, table: Float64, duals: Float64, value: float) -> bool:
        """Whether a linear optimum in its windows is one over all segments, or its point optimal already."""
        if not self.problem.cumulative:
            return False  # duals without exact proof: the program grows to its end, which takes little
        self._offer(self.form.multipliers(duals))
        if value <= self.bound + 1e-9 * max(1.0, abs(value)):
            return True
        whole = np.rint(table).astype(np.int64)
        if np.abs(table - whole).max() > WHOLE or max(self.problem.violations(whole).values()) > 0:
            return False
        self.recorder.found(whole)
        return float(self.problem.objective(whole)) <= self.bound

    def consider(self, linear: LinearAnswer) -> None:
        """Take over what a linear optimum over all segments proves."""
        assert linear.value is not None
        assert linear.table is not None
        if self.problem.cumulative and linear.duals is not None:
            self._offer(self.form.multipliers(linear.duals))
        whole = float(self.problem.objective(np.rint(linear.table).astype(np.int64)))
        exact = whole if abs(whole - linear.value) <= 1e-6 else linear.value
        self.bound = max(self.bound, rounded_up(exact, objective_step(self.problem)))

    def _offer(self, multipliers: Float64) -> None:
        value = self._value(multipliers)
        if value > self.bound or self.best is None:
            self.bound, self.best = max(value, self.bound), multipliers

    def _value(self, multipliers: Float64) -> float:
        from pgsr.solvers.native.multipliers import multiplier_bound

        found = multiplier_bound(self.problem, multipliers)
        if found.step is None:
            return float(found.bound)
        return float(math.ceil(found.bound / found.step) * found.step)


def objective_step(problem: Problem) -> Fraction | None:
    """The largest number of which the objective of every whole table is a multiple; None if unknown."""
    weights = problem.region_weights[problem.region_weights > 0]
    if np.all(weights == weights[0]):
        return Fraction(float(weights[0]))
    dyadic = dyadic_weights(weights)
    return None if dyadic is None else Fraction(math.gcd(*dyadic[0].tolist()), 2 ** dyadic[1])


def rounded_up(bound: float, step: Fraction | None) -> float:
    """A lower bound on a multiple of `step`, raised to the next multiple; floats get a small allowance."""
    if step is None:
        return bound
    units = bound / float(step)
    return float(math.ceil(units - 1e-6 * max(1.0, 1e-6 * abs(units))) * step)


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
    claimed = None if bound is None else rounded_up(bound + program.constant, objective_step(problem))
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
