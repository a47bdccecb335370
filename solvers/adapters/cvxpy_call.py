"""One solve through CVXPY; nothing is judged here.

CVXPY's own status merges what differs: a time limit with a search's poor point is `optimal_inaccurate`
there, as is a point that almost meets the tolerances. So the problem is compiled and solved in two steps,
and the status is the back end's.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from pgsr.models.forms.cvxpy_problem import cvxpy_problem
from pgsr.models.problem import Float64, Problem
from pgsr.solvers.adapters.adapter import Outcome, Recorder, out_of_time
from pgsr.solvers.adapters.entries import exact_origin
from pgsr.solvers.base import SolveOptions
from pgsr.solvers.certificate import Stopwatch
from pgsr.solvers.statuses import termination

Settings = Callable[[float | None], dict[str, Any]]
"""The back end's own settings, given the seconds that it may take (None: no limit)."""

Read = Callable[[Any], tuple[str, float | None, Mapping[str, Any]]]
"""Status, bound on the objective without its constant (or None), and details, of the back end's answer."""


def call_cvxpy(
    problem: Problem,
    options: SolveOptions,
    recorder: Recorder,
    *,
    back_end: str,
    statuses: str,
    settings: Settings,
    read: Read,
) -> Outcome:
    """Solve `problem` with CVXPY's `back_end`, whose statuses are the table `statuses`.

    Multipliers are read from the duals of the tree's rows, for relaxations.
    """
    watch = Stopwatch()
    origin = exact_origin(problem, options)
    stated, variable = cvxpy_problem(problem, origin)
    data, chain, inverse = stated.get_problem_data(
        back_end, verbose=options.verbose, solver_opts=settings(None)
    )
    build_s = watch.seconds()
    seconds = options.seconds_left()
    if seconds == 0:
        return out_of_time(build_s)
    chosen = settings(seconds)
    recorder.start()
    watch = Stopwatch()
    raw = chain.solve_via_data(stated, data, verbose=options.verbose, solver_opts=chosen)
    solve_s = watch.seconds()
    status, bound, details = read(raw)
    if bound is not None and problem.loss == "l2":
        bound += float(problem.objective(origin))  # the constant, which CVXPY keeps from the back end
    z, duals = _unpacked(stated, variable, raw, chain, inverse)
    x: Any = None
    if z is not None:
        table = z.reshape(origin.shape)
        x = origin + (np.rint(table).astype(np.int64) if problem.integer else table)
        recorder.found(x)
    recorder.bounded(bound)
    return Outcome(
        termination=termination(statuses, status),
        raw_status=status,
        x=x,
        build_s=build_s,
        solve_s=solve_s,
        bound=bound,
        multipliers=None if problem.integer or duals is None else _multipliers(problem, duals),
        details=details,
    )


def _unpacked(
    stated: Any, variable: Any, raw: Any, chain: Any, inverse: Any
) -> tuple[Float64 | None, Float64 | None]:
    """The point and the duals of the first constraint, None where CVXPY has none."""
    from cvxpy.error import SolverError

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that a point may be inaccurate: it is judged anyway
        try:
            stated.unpack_results(raw, chain, inverse)
        except SolverError:
            return None, None
    found = [variable.value, stated.constraints[0].dual_value]
    z, duals = (None if v is None or not np.all(np.isfinite(v)) else np.asarray(v, np.float64) for v in found)
    return z, duals


def _multipliers(problem: Problem, duals: Float64) -> Float64:
    """Multipliers (R, N) on "parent = sum of children"; CVXPY adds dual'(Az - b) to the objective."""
    out = np.zeros(problem.target.shape)
    inner = problem.inner()
    out[inner] = -duals[:-1].reshape(-1, problem.width)
    return out
