"""The piecewise-linear program over all whole values, solved on the few segments that matter.

The linear program starts with the segments of narrow windows. Its duals price every segment outside: one that
would lower the cost is added, and the simplex method goes on from where it stood. When none is left, the
optimum is that of the program on all segments, although most were never there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from pgsr.models.forms.matrix import constraint_rows
from pgsr.models.forms.piecewise import Windows, piecewise_form, segment_cost
from pgsr.models.forms.program import Program
from pgsr.models.problem import Float64, Int64, Problem
from pgsr.solvers.adapters.highs_call import HighsAnswer, make_highs, read_answer, run_highs, without_columns
from pgsr.solvers.base import SolveOptions

_FIT = 1e-7
"""Reduced cost below which a segment counts as useless: HiGHS' own tolerance."""

MOST_STEPS = 4
"""Segments that one round may add on one side of one entry."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LinearAnswer:
    """What the linear program came to.

    `status` of HiGHS; `table` (R, N) and `duals` of the rows if it has an optimum; `value` with the constant;
    `complete`: no segment outside the windows would lower it, so it is the optimum over all of them;
    `proven`: the caller's proof came first.
    """

    status: str
    table: Float64 | None
    duals: Float64 | None
    value: float | None
    complete: bool
    proven: bool
    rounds: int
    segments: int
    iterations: int
    windows: Windows


Proof = Callable[[Float64, Float64, float], bool]
"""Given a table (R, N), the rows' duals and the value: whether nothing outside the windows can help."""


def solve_linear(
    problem: Problem, windows: Windows, options: SolveOptions, proof: Proof | None = None
) -> LinearAnswer:
    """Solve the relaxation of the piecewise-linear program of `problem`, starting with `windows`.

    Windows that exclude every point are widened. Stops as soon as `proof` holds, or at
    `options.seconds_left()` with what it has.
    """
    master = _Master(problem.relaxed(), windows, options)
    rounds, iterations, proven, complete = 0, 0, False, False
    while True:
        rounds += 1
        answer = master.solve()
        iterations += answer.iterations
        if answer.status == "kInfeasible":
            wider = master.windows.widened()
            if wider.segments == master.windows.segments:
                break
            master = _Master(problem.relaxed(), wider, options)
            continue
        if answer.status not in ("kOptimal", "kModelEmpty") or answer.z is None or answer.duals is None:
            break
        proven = proof is not None and proof(
            master.table(answer.z), answer.duals, (answer.bound or 0.0) + master.program.constant
        )
        complete = not proven and master.price(answer.duals) == 0
        if proven or complete:
            break
    optimal = answer.status in ("kOptimal", "kModelEmpty") and answer.z is not None
    return LinearAnswer(
        status=answer.status,
        table=master.table(answer.z) if optimal and answer.z is not None else None,
        duals=answer.duals if optimal else None,
        value=None if answer.bound is None or not optimal else answer.bound + master.program.constant,
        complete=complete,
        proven=proven,
        rounds=rounds,
        segments=int(master.entry.size),
        iterations=iterations,
        windows=master.windows,
    )


class _Master:
    """The linear program that grows: the segments of the windows, then those that were priced in."""

    def __init__(self, problem: Problem, windows: Windows, options: SolveOptions) -> None:
        self.problem, self.windows, self.options = problem, windows, options
        self.program: Program = piecewise_form(problem, windows)
        self.rows = constraint_rows(problem)[0]
        self._worth: Any = self.rows.T.tocsr()
        self.entry, self.step = self.program.entry, self.program.step
        self.low, self.high = windows.low.ravel().copy(), windows.high.ravel().copy()
        self.highs: Any = None

    def solve(self) -> HighsAnswer:
        if self.entry.size == 0:
            # Nothing can move yet; prices of nothing will say what should.
            return without_columns(self.program)
        seconds = self.options.seconds_left()
        if self.highs is None:
            # Presolve pays for the first solve alone; later ones start from the basis.
            self.highs = make_highs(self.program, self.options, seconds)
        elif seconds is not None:
            # The limit counts from the first call.
            self.highs.setOptionValue("time_limit", self.highs.getRunTime() + seconds)
        run_highs(self.highs)
        return read_answer(self.highs, self.program, whole=False)

    def table(self, z: Float64) -> Float64:
        moved = np.bincount(self.entry, weights=self.step * z, minlength=self.program.origin.size)
        return np.asarray(self.program.origin + moved.reshape(self.program.origin.shape), dtype=np.float64)

    def price(self, duals: Float64) -> int:
        """Add the segments outside that would lower the cost at these `duals`; returns how many."""
        # What one unit more of each entry saves elsewhere.
        worth: Float64 = np.asarray(self._worth @ duals, dtype=np.float64)
        domain_low, domain_high = self.windows.domain_low.ravel(), self.windows.domain_high.ravel()
        scale = 1.0 + np.abs(worth)
        entries, steps, costs = [], [], []
        for _ in range(MOST_STEPS):
            up = np.flatnonzero(self.high < domain_high)
            cost = segment_cost(self.problem, up, self.high[up])
            good = cost - worth[up] < -_FIT * scale[up]
            up, cost = up[good], cost[good]
            down = np.flatnonzero(self.low > domain_low)
            fall = -segment_cost(self.problem, down, self.low[down] - 1)
            good = fall + worth[down] < -_FIT * scale[down]
            down, fall = down[good], fall[good]
            if not up.size and not down.size:
                break
            entries += [up, down]
            steps += [np.ones(up.size), -np.ones(down.size)]
            costs += [cost, fall]
            self.high[up] += 1
            self.low[down] -= 1
        if not entries:
            return 0
        entry, step = np.concatenate(entries), np.concatenate(steps)
        self._add(entry, step, np.concatenate(costs))
        shape = self.windows.low.shape
        self.windows = self.windows.between(self.low.reshape(shape), self.high.reshape(shape))
        return int(entry.size)

    def _add(self, entry: Int64, step: Float64, cost: Float64) -> None:
        if self.highs is None:
            self.highs = make_highs(self.program, self.options, self.options.seconds_left())
        part: Any = self.rows[:, entry]
        columns = part.multiply(step[None, :]).tocsc()
        self.highs.addCols(
            entry.size,
            cost,
            np.zeros(entry.size),
            np.ones(entry.size),
            columns.nnz,
            columns.indptr[:-1].astype(np.int32),
            columns.indices.astype(np.int32),
            columns.data,
        )
        self.entry = np.concatenate([self.entry, entry])
        self.step = np.concatenate([self.step, step])
