"""One call of a solver through Pyomo's `contrib.solver` interfaces; nothing is judged here.

Every model gets a fresh solver: persistent ones have gone stale after changes (Pyomo #3127).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgsr.models.forms.pyomo_model import moved_table
from pgsr.models.problem import Float64
from pgsr.solvers.adapters.adapter import Outcome, Recorder, out_of_time
from pgsr.solvers.base import SolveOptions
from pgsr.solvers.certificate import Stopwatch
from pgsr.solvers.statuses import termination


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PyomoAnswer:
    """What came back: status name, table (R, N) or None, bound, multipliers (R, N) or None.

    `table` is None unless the interface states that it has a solution: after an error arrays are zeros.
    """

    status: str
    table: NDArray[Any] | None
    bound: float | None
    multipliers: Float64 | None


def call_pyomo(
    model: Any,
    solver: Any,
    options: SolveOptions,
    seconds: float | None,
    settings: dict[str, Any],
    *,
    duals: bool = False,
    **more: Any,
) -> PyomoAnswer:
    """Solve `model` of `pyomo_model` for at most `seconds`, with gaps of `options.gap`.

    `settings` are the solver's own; `more` goes to the interface; `duals` asks for multipliers.
    """
    from pyomo.contrib.solver.common.results import SolutionStatus

    results = solver.solve(
        model,
        load_solutions=False,
        raise_exception_on_nonoptimal_result=False,
        threads=options.threads,
        time_limit=seconds,
        rel_gap=options.gap,
        abs_gap=0.0,
        tee=options.verbose,
        solver_options=settings,
        **more,
    )
    status = results.termination_condition.name
    table, multipliers = None, None
    if results.solution_status in (SolutionStatus.feasible, SolutionStatus.optimal):
        entries = list(model.x.values())
        found = results.solution_loader.get_vars(entries)
        values = np.array([found[v] for v in entries], dtype=np.float64)
        table = moved_table(model, values.reshape(model.origin.shape))
        if duals:
            multipliers = _multipliers(model, results.solution_loader)
    bound = results.objective_bound
    return PyomoAnswer(
        status=status,
        table=table,
        bound=None if bound is None else float(bound),
        multipliers=multipliers,
    )


def outcome_of(
    call: Callable[[float | None], PyomoAnswer], options: SolveOptions, recorder: Recorder, build_s: float
) -> Outcome:
    """What comes of one model, built in `build_s`, that `call` solves within the seconds that it is given."""
    seconds = options.seconds_left()
    if seconds == 0:
        return out_of_time(build_s)
    recorder.start()
    watch = Stopwatch()
    answer = call(seconds)
    solve_s = watch.seconds()
    recorder.found(answer.table)
    recorder.bounded(answer.bound)
    return Outcome(
        termination=termination("pyomo", answer.status),
        raw_status=answer.status,
        x=answer.table,
        build_s=build_s,
        solve_s=solve_s,
        bound=answer.bound,
        multipliers=answer.multipliers,
    )


def _multipliers(model: Any, loader: Any) -> Float64 | None:
    """Multipliers (R, N) on "parent = sum of children", from the duals of the consistency rows."""
    from pyomo.contrib.solver.common.util import NoDualsError

    rows = list(model.consistency.items())
    try:
        found = loader.get_duals([row for _, row in rows])
    except NoDualsError:
        return None
    out = np.zeros(model.origin.shape)
    for place, row in rows:
        out[place] = found[row]
    return out
