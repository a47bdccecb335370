"""Integers in windows round a fractional linear optimum, and the proof that nothing outside is better."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgsr.models.forms.piecewise import Windows, filled, piecewise_form
from pgsr.models.problem import Float64, Int64, Problem
from pgsr.solvers.adapters.adapter import Recorder
from pgsr.solvers.adapters.highs_call import call_highs
from pgsr.solvers.adapters.window_lp import LinearAnswer
from pgsr.solvers.base import SolveOptions, Termination
from pgsr.solvers.statuses import termination

RINGS = 3
"""Searches that only widen the windows near fractional entries, before all are widened."""

REACH = 2


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Found:
    """What the searches came to; `bound` is on the objective of the problem."""

    termination: Termination
    raw_status: str
    x: Int64 | None
    bound: float


def search(
    problem: Problem,
    linear: LinearAnswer,
    lowest: float,
    step: Fraction | None,
    options: SolveOptions,
    recorder: Recorder,
    details: dict[str, Any],
) -> Found:
    """Search windows round the linear optimum until `lowest`, a proven bound on whole tables, is attained.

    First near fractional entries, then everywhere, wider and wider; an optimum of windows that are wide
    enough is one of the problem (`least_outside`). Counts the searches in `details`.
    """
    assert linear.table is not None
    assert linear.value is not None
    # Only where objectives are multiples of a step is a gap below it a proof.
    settings = {} if step is None else {"mip_abs_gap": 0.999 * float(step)}
    best: Int64 | None = None
    value, bound, raw = np.inf, lowest, ""
    details["searches"] = 0
    for windows, everywhere in _wider(problem, linear):
        program = piecewise_form(problem, windows)
        start = None if best is None else filled(program, best)
        seconds = options.seconds_left()
        if seconds == 0:
            break
        answer = call_highs(
            program,
            options,
            recorder,
            seconds=seconds,
            start=start,
            settings=settings,
            partial=True,
        )
        details["searches"] += 1
        raw = answer.status
        if answer.z is not None:
            x = program.whole_table(answer.z)
            if max(problem.violations(x).values()) == 0 and float(problem.objective(x)) < value:
                best, value = x, float(problem.objective(x))
        if everywhere and answer.bound is not None:
            inside = answer.bound + program.constant
            outside = least_outside(problem, windows, linear.table)
            if math.isfinite(outside):
                # The distance is one from the optimum over all segments, or says nothing.
                outside = linear.value + outside if linear.complete else -math.inf
            bound = max(bound, _raised(min(inside, outside, value), step, value))
        if best is not None and value <= bound + max(options.gap, 1e-9) * max(1.0, abs(value)):
            return Found(termination=Termination.OPTIMAL, raw_status=raw, x=best, bound=min(bound, value))
        if termination("highs", raw) not in (Termination.OPTIMAL, Termination.INFEASIBLE):
            return Found(termination=termination("highs", raw), raw_status=raw, x=best, bound=bound)
    return Found(termination=Termination.TIME_LIMIT, raw_status=raw or "time limit", x=best, bound=bound)


def _raised(bound: float, step: Fraction | None, value: float) -> float:
    """`bound` raised to the objective `value` if no other multiple of `step` lies between."""
    return value if step is not None and bound > value - 0.9999 * float(step) else bound


def _wider(problem: Problem, linear: LinearAnswer) -> Iterator[tuple[Windows, bool]]:
    """Windows to search, each wider than the last; True with those round all entries."""
    assert linear.table is not None
    windows = linear.windows
    near = np.abs(linear.table - np.rint(linear.table)) > 1e-6
    if problem.target.size > 2000:  # where all entries at once are quick, this would be a detour
        yield windows, False
        for _ in range(RINGS):
            yield windows.widened(near), False
            near = _ring(problem, near)
    reach = REACH
    while True:
        yield Windows.around(problem, linear.table, reach), True
        reach *= 2


def _ring(problem: Problem, near: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """The entries of `near` with those of parents, children and siblings, and of the sizes beside them."""
    above = near.copy()
    np.logical_or.at(above, problem.parent[1:], near[1:])
    wide = above.copy()
    wide[1:] |= above[problem.parent[1:]]
    out = wide.copy()
    out[:, 1:] |= wide[:, :-1]
    out[:, :-1] |= wide[:, 1:]
    return out


def least_outside(problem: Problem, windows: Windows, table: Float64) -> float:
    """What a table beyond any artificial end costs at least above the linear program's optimum at `table`.

    `w d (d - 1)`, `d` the distance from the linear program's point to the first whole value outside.
    """
    below, above = windows.artificial()
    weight = np.broadcast_to(problem.region_weights[:, None], table.shape)
    down = (table - (windows.low - 1))[below]
    up = ((windows.high + 1) - table)[above]
    distance, w = np.concatenate([down, up]), np.concatenate([weight[below], weight[above]])
    return float((w * distance * (distance - 1.0)).min(initial=np.inf))
