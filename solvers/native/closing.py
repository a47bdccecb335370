"""What stock HiGHS can still close of a small Model 2 gap: the face near the splitting method's limit.

Entries that are nearly whole there are fixed; the others may take either neighbour. Better tables count after
they have been recomputed, duals after they have been evaluated in integers. An optimum that a search in
windows claims is believed, and said to be: it is no certificate.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from pgsr.models.forms.piecewise import Windows, piecewise_form
from pgsr.models.lattice import objective_lattice
from pgsr.models.problem import Float64, Int64, Problem
from pgsr.solvers.base import SolveOptions, Termination

if TYPE_CHECKING:
    from pgsr.solvers.adapters.window_lp import LinearAnswer

NEAR = 0.05
"""Distance from a whole number within which an entry is fixed."""

MOST_FACE = 20_000
"""Entries that may be free in the face's program."""

MOST_LINEAR = 400_000
"""Entries of a problem whose linear program is solved as a whole."""


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


class Whole:
    """The linear program over all segments of a `problem`, and searches in windows round its optimum."""

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self._linear: LinearAnswer | None = None
        self._lowest = -math.inf

    def solve(self, z: Float64, prices: Float64, options: SolveOptions, seconds: float | None) -> Closing:
        """Solve the linear program, from segments next to `z` (R, N), until `prices` prove it."""
        from pgsr.solvers.adapters.adapter import Recorder
        from pgsr.solvers.adapters.window_lp import solve_linear
        from pgsr.solvers.adapters.window_proof import Proven

        quiet = _quiet(options, seconds).started()
        recorder = Recorder(self._problem, quiet)
        known = Proven(problem=self._problem, recorder=recorder, best=prices)
        linear = solve_linear(self._problem, Windows.around(self._problem, z, 0), quiet, known.proof)
        if linear.table is not None and (linear.complete or linear.proven):
            known.consider(linear)
            recorder.found(np.rint(linear.table).astype(np.int64))
            self._linear, self._lowest = linear, known.bound
        return Closing(table=recorder.best, multipliers=known.best)

    def search(self, options: SolveOptions, seconds: float | None) -> Closing:
        """Search for whole tables near the linear program's optimum, if that was found."""
        from pgsr.solvers.adapters.adapter import Recorder
        from pgsr.solvers.adapters.window_search import search

        if self._linear is None:
            return Closing()
        quiet = _quiet(options, seconds).started()
        recorder = Recorder(self._problem, quiet)
        lattice = objective_lattice(self._problem)
        step = None if lattice is None else lattice.step
        found = search(self._problem, self._linear, self._lowest, step, quiet, recorder, {})
        return Closing(table=found.x, claimed=found.termination is Termination.OPTIMAL)
