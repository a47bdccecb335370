"""What stock HiGHS can still close of a small Model 2 gap: the face near the splitting method's limit.

Entries that are nearly whole there are fixed; the others may take either neighbour. Better tables count after
they have been recomputed, duals after they have been evaluated in integers. An optimum that a search in
windows claims is believed, and said to be: it is no certificate.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from pgsr.models.forms.piecewise import Windows, piecewise_form
from pgsr.models.problem import Float64, Int64, Problem
from pgsr.solvers.base import SolveOptions

NEAR = 0.05
"""Distance from a whole number within which an entry is fixed."""

MOST_FACE = 20_000
"""Entries that may be free in the face's program."""

MOST_SEARCH = 5_000
"""Entries of a problem that is searched as a whole."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Closing:
    """What came of it: a table (R, N), prices (R, N), whether the solver claims that the table is optimal."""

    table: Int64 | None = None
    multipliers: Float64 | None = None
    claimed: bool = False


def _quiet(options: SolveOptions, seconds: float | None) -> SolveOptions:
    return replace(options, time_limit_s=seconds, progress=None, observe=None, gap=0.0, start=None)


def face_table(problem: Problem, z: Float64, options: SolveOptions, seconds: float | None) -> Closing:
    """The best whole table on the face near `z` (R, N), by HiGHS; empty if the face is too large."""
    from pgsr.solvers.adapters.adapter import Recorder
    from pgsr.solvers.adapters.highs_call import call_highs

    whole = np.rint(z)
    windows = Windows.around(problem, np.where(np.abs(z - whole) <= NEAR, whole, z), 0)
    if not 0 < windows.segments <= MOST_FACE:
        return Closing()
    program = piecewise_form(problem, windows)
    quiet = _quiet(options, seconds)
    answer = call_highs(program, quiet, Recorder(problem, quiet), seconds=seconds)
    return Closing(table=None if answer.z is None else program.whole_table(answer.z))


def search_table(problem: Problem, z: Float64, options: SolveOptions, seconds: float | None) -> Closing:
    """The linear program over all segments, then whole tables in windows; small problems only."""
    from pgsr.models.forms.matrix import matrix_form
    from pgsr.solvers.adapters.adapter import Recorder
    from pgsr.solvers.adapters.window import objective_step
    from pgsr.solvers.adapters.window_lp import solve_linear
    from pgsr.solvers.adapters.window_search import search
    from pgsr.solvers.base import Termination

    if problem.target.size > MOST_SEARCH:
        return Closing()
    quiet = _quiet(options, seconds)
    linear = solve_linear(problem, Windows.around(problem, z, 0), quiet)
    if linear.table is None or linear.value is None or not linear.complete:
        return Closing()
    multipliers = None
    if linear.duals is not None:
        multipliers = matrix_form(problem).multipliers(linear.duals)
    recorder = Recorder(problem, quiet)
    found = search(problem, linear, linear.value, objective_step(problem), quiet, recorder, {})
    return Closing(table=found.x, multipliers=multipliers, claimed=found.termination is Termination.OPTIMAL)
