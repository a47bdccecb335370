"""Exact answers from a solver of integer linear programs: unit segments, tails, recentring.

The program bounds the problem from below wherever its windows lie, and equals it at tables inside them. So
its optimum is the problem's as soon as no tail is used; else windows move to where it went, and grow.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from pgsr.models.forms.matrix import near_origin
from pgsr.models.forms.piecewise import Windows, piecewise_form
from pgsr.models.forms.program import Program
from pgsr.models.problem import Float64, Int64, Problem
from pgsr.solvers.adapters.adapter import Outcome, Recorder
from pgsr.solvers.adapters.entries import whole_start
from pgsr.solvers.adapters.integer_costs import kink_windows
from pgsr.solvers.base import SolveOptions, Termination
from pgsr.solvers.certificate import Stopwatch
from pgsr.solvers.relaxation import first_table, guess

WHOLE = 40
"""Segments for each entry, on average, up to which windows hold everything at once."""

FEW = 8
"""The same for back ends that many segments slow down."""

REACH = 2
"""Unit segments on either side of the relaxation in the first windows."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Raw:
    """A back end's answer to one program: status, whole table (R, N) or None, its bound less the constant."""

    termination: Termination
    raw_status: str
    x: Int64 | None
    bound: float | None


Call = Callable[[Program, Int64 | None], Raw]
"""Solve one program within `recorder.seconds_left()`; the second argument is a table (R, N) to start from."""


def first_windows(problem: Problem, options: SolveOptions, average: int = WHOLE) -> tuple[Windows, Float64]:
    """Windows that hold everything if they are small, else narrow ones round the relaxation; and a guess.

    Absolute values get windows of no width at the target, since tails are exact for them.
    """
    target = near_origin(problem).astype(np.float64)
    if problem.loss == "l1":
        return kink_windows(problem), target
    whole = Windows.whole(problem)
    if whole.segments <= average * problem.target.size:
        return whole, target
    found = guess(problem, options).table
    return Windows.around(problem, found, REACH), found


def solve_in_windows(
    problem: Problem, options: SolveOptions, recorder: Recorder, call: Call, average: int = WHOLE
) -> Outcome:
    """Solve the integer problem by programs of unit segments with tails; see the module.

    `call` hands one program to the back end. The relaxation that places the windows counts as building.
    """
    watch = Stopwatch()
    windows, near = first_windows(problem, options.started(), average)
    program = piecewise_form(problem, windows, tails=True)
    build_s = watch.seconds()
    recorder.start()
    recorder.found(first_table(problem, near))
    watch = Stopwatch()
    x = whole_start(options)
    rounds, reach = 0, REACH
    while True:
        rounds += 1
        raw = call(program, x)
        bound = None if raw.bound is None else raw.bound + program.constant
        recorder.bounded(bound)
        found = raw.x
        recorder.found(found)
        exact = found is None or charged_in_full(problem, windows, found)
        if raw.termination is not Termination.OPTIMAL or exact or recorder.seconds_left() == 0:
            if not exact and raw.termination is Termination.OPTIMAL:
                raw = Raw(
                    termination=Termination.TIME_LIMIT, raw_status="time limit", x=raw.x, bound=raw.bound
                )
            return Outcome(
                termination=raw.termination,
                raw_status=raw.raw_status,
                x=found,
                build_s=build_s,
                solve_s=watch.seconds(),
                bound=bound,
                details={"segments": program.columns, "rounds": rounds},
            )
        assert found is not None
        x, reach = found, 2 * reach
        windows = windows.recentred(found, reach)
        program = piecewise_form(problem, windows, tails=True)


def charged_in_full(problem: Problem, windows: Windows, x: Int64) -> bool:
    """Whether the program charges for `x` what the problem does: the first step outside a window is true.

    So are all steps for absolute values in windows that hold the target, and where there is no weight.
    """
    if problem.loss == "l1" and not np.any((windows.high < problem.target) & (problem.target < x)):
        return not np.any((windows.low > problem.target) & (problem.target > x))
    near = (windows.low - 1 <= x) & (x <= windows.high + 1)
    return bool(np.all(near | (problem.region_weights == 0)[:, None]))
