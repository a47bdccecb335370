"""`cpsat`: integer problems by OR-Tools' constraint solver, as unit segments or as squares.

Unit segments in windows are the default; squares as products of variables, for comparison, are for tens of
entries.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgsr.errors import InputError
from pgsr.models.forms.piecewise import filled, piecewise_form
from pgsr.models.forms.program import Program
from pgsr.models.problem import Feature, Int64, Problem
from pgsr.solvers.adapters.adapter import Adapter, Outcome, Recorder, out_of_time
from pgsr.solvers.adapters.cpsat_model import IntegerModel, segment_model, square_model, squares_hint
from pgsr.solvers.adapters.entries import Form, known_form, whole_start
from pgsr.solvers.adapters.integer_costs import (
    integer_weights,
    kink_windows,
    refuse_large,
    unavoidable_steps,
)
from pgsr.solvers.adapters.segments import FEW, Raw, solve_in_windows
from pgsr.solvers.base import SolveOptions
from pgsr.solvers.certificate import Stopwatch
from pgsr.solvers.statuses import termination


class CpSatSolver(Adapter):
    """CP-SAT on models in integers. `form="squares"` is there for comparison.

    With one thread and one seed the same run comes out each time.
    """

    name = "cpsat"
    package = "ortools"
    modules = ("ortools",)
    scale = 5_000
    most_entries = 200_000
    features = frozenset(Feature) - {Feature.RELAXED, Feature.RELAXED_BOUNDS}

    def __init__(self, form: Form = "segments") -> None:
        self.form = known_form(form)

    def check(self, problem: Problem) -> None:
        """Refuse weights that are not dyadic and targets out of reach: RegionError names the region."""
        super().check(problem)
        weights, _ = integer_weights(problem)
        refuse_large(self.name, unavoidable_steps(problem, weights), 2.0**53)

    def run(self, problem: Problem, options: SolveOptions, recorder: Recorder) -> Outcome:
        """Segments in windows that are recentred, or one model. RegionError if sums leave 64 bits."""
        import_module("ortools.sat.python.cp_model")  # seconds the first time, which are not the search's
        if problem.loss == "l1":
            return _absolute(problem, options, recorder)
        if self.form == "squares":
            return _squares(problem, options, recorder)

        def call(program: Program, start: Int64 | None) -> Raw:
            stated = segment_model(program)
            hint = None if start is None else filled(program, start)
            answer = _search(stated, program.whole_table, options, recorder, hint)
            bound = None if answer.bound is None else answer.bound - program.constant
            return Raw(
                termination=termination("cpsat", answer.status),
                raw_status=answer.status,
                x=None if answer.z is None else program.whole_table(answer.z),
                bound=bound,
            )

        return solve_in_windows(problem, options, recorder, call, FEW)


def _absolute(problem: Problem, options: SolveOptions, recorder: Recorder) -> Outcome:
    """Absolute values are linear on either side of the target: two columns an entry, no windows."""
    watch = Stopwatch()
    program = piecewise_form(problem, kink_windows(problem), tails=True)
    stated = segment_model(program)
    start = whole_start(options)
    hint = None if start is None else filled(program, start)
    return _outcome(stated, program.whole_table, options, recorder, watch.seconds(), hint)


def _squares(problem: Problem, options: SolveOptions, recorder: Recorder) -> Outcome:
    watch = Stopwatch()
    stated = square_model(problem)

    def table(z: NDArray[Any]) -> Int64:
        return np.asarray(z, dtype=np.int64).reshape(problem.target.shape)

    start = whole_start(options)
    hint = None if start is None else squares_hint(problem, start)
    return _outcome(stated, table, options, recorder, watch.seconds(), hint)


def _outcome(
    stated: IntegerModel,
    table: Callable[[NDArray[Any]], Int64],
    options: SolveOptions,
    recorder: Recorder,
    build_s: float,
    hint: NDArray[Any] | None,
) -> Outcome:
    """Search one model that is exact by itself."""
    if options.seconds_left() == 0:
        return out_of_time(build_s)
    recorder.start()
    watch = Stopwatch()
    answer = _search(stated, table, options, recorder, hint)
    recorder.bounded(answer.bound)
    return Outcome(
        termination=termination("cpsat", answer.status),
        raw_status=answer.status,
        x=None if answer.z is None else table(answer.z),
        build_s=build_s,
        solve_s=watch.seconds(),
        bound=answer.bound,
        details={"variables": len(stated.variables), "branches": answer.branches},
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Answer:
    """What CP-SAT said: status name, values of all variables or None, bound on the problem's objective."""

    status: str
    z: Int64 | None
    bound: float | None
    branches: int


def _search(
    stated: IntegerModel,
    table: Callable[[NDArray[Any]], Int64],
    options: SolveOptions,
    recorder: Recorder,
    hint: NDArray[Any] | None,
) -> Answer:
    """Run CP-SAT in the time that is left, telling `recorder` of tables and bounds as they come."""
    from ortools.sat.python import cp_model

    seconds = recorder.seconds_left()
    if seconds == 0:
        return Answer(status="UNKNOWN", z=None, bound=None, branches=0)
    model = stated.model
    if hint is not None:
        for variable, value in zip(stated.variables, np.rint(hint).astype(np.int64).tolist(), strict=True):
            model.add_hint(variable, value)
    flaw = model.validate()
    if flaw:
        raise InputError(f"CP-SAT does not take the model ({flaw[:200]})", "solver cpsat", "use proximity")
    lock = threading.Lock()  # bounds arrive on the threads of the search
    failures: list[BaseException] = []
    heard: list[float] = []

    def tell(news: Callable[[], None]) -> None:
        """Pass news on; what an observer raises must not travel through C++."""
        try:
            with lock:
                news()
        except BaseException as error:  # raised again below
            failures.append(error)
            solver.stop_search()

    class Listener(cp_model.CpSolverSolutionCallback):
        def on_solution_callback(self) -> None:
            values = np.array([self.value(v) for v in stated.variables[: stated.columns]], dtype=np.int64)
            tell(lambda: recorder.found(table(values)))

    def bounded(bound: float) -> None:
        heard.append(bound * stated.unit + stated.constant)
        tell(lambda: recorder.bounded(heard[-1]))

    solver = cp_model.CpSolver()
    settings = solver.parameters
    settings.num_workers = options.cores()
    settings.random_seed = options.seed % 2**31
    # Gaps are relative to an objective that `segment_model` could not always shift.
    settings.relative_gap_limit = 0.0 if stated.constant else options.gap
    settings.absolute_gap_limit = 0.0
    settings.linearization_level = 2  # all rows in the linear relaxation
    settings.log_search_progress = options.verbose
    if seconds is not None:
        settings.max_time_in_seconds = seconds
    solver.best_bound_callback = bounded
    status = solver.status_name(solver.solve(model, Listener()))
    if failures:
        raise failures[0]
    found = status in ("OPTIMAL", "FEASIBLE")
    bound: float | None = None
    if found:
        bound = solver.best_objective_bound * stated.unit + stated.constant
    elif status == "UNKNOWN":
        # Then `best_objective_bound` may be a 0 that was never set; what was told on the way is proven.
        bound = max(heard, default=None)
    return Answer(
        status=status,
        z=np.array(list(solver.response_proto.solution)[: stated.columns], dtype=np.int64) if found else None,
        bound=bound,
        branches=int(solver.num_branches),
    )
