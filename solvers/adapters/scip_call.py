"""One call of SCIP with a program in matrices: hand over, run, read back; nothing is judged here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgsr.models.forms.program import Program
from pgsr.models.problem import Float64
from pgsr.solvers.adapters.adapter import Recorder
from pgsr.solvers.base import SolveOptions


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ScipAnswer:
    """What SCIP said: status, best table (R, N) or None, bound on the program without its constant, nodes."""

    status: str
    x: NDArray[Any] | None
    bound: float | None
    nodes: int


class ScipModel:
    """A `program` as a SCIP model; each square gets a variable above it, `square >= z^2`, in the objective.

    One such constraint a square: a single constraint for the sum of all makes SCIP overrun its time limit.
    `tight`: feasibility to 1e-7 instead of 1e-6, since every square adds its tolerance to the objective.
    """

    def __init__(self, program: Program, options: SolveOptions, *, tight: bool = False) -> None:
        from pyscipopt import Model

        self.program = program
        self.model: Any = Model()
        if not options.verbose:
            self.model.hideOutput()
        self.model.setParam("limits/gap", options.gap)
        self.model.setParam("randomization/randomseedshift", options.seed % 2**31)
        if tight:
            # SCIP divides it by 1,000 at times, and SoPlex complains on standard error below 1e-10.
            self.model.setParam("numerics/feastol", 1e-7)
        if options.gap > 0:
            # The gap is relative to the objective of the stated problem.
            self.model.addObjoffset(program.constant)
        self.offset = 0.0 if options.gap > 0 else program.constant
        self.columns = self._columns()
        self._rows()
        self.squares = self._squares()

    def _columns(self) -> list[Any]:
        program, add = self.program, self.model.addVar
        kinds = np.where(program.integer, "I", "C").tolist()
        data = (kinds, program.lower.tolist(), program.upper.tolist(), program.linear.tolist())
        return [
            add(vtype=kind, lb=low, ub=None if high == np.inf else high, obj=cost)
            for kind, low, high, cost in zip(*data, strict=True)
        ]

    def _rows(self) -> None:
        from pyscipopt import Expr
        from pyscipopt.scip import Term

        rows = self.program.matrix.tocsr()
        terms = [Term(column) for column in self.columns]
        ends, places, values = rows.indptr.tolist(), rows.indices.tolist(), rows.data.tolist()
        sides = zip(self.program.row_lower.tolist(), self.program.row_upper.tolist(), strict=True)
        for row, (low, high) in enumerate(sides):
            span = slice(ends[row], ends[row + 1])
            left = Expr({terms[j]: value for j, value in zip(places[span], values[span], strict=True)})
            if low == high:
                self.model.addCons(left == low)
                continue
            if low > -np.inf:
                self.model.addCons(left >= low)
            if high < np.inf:
                self.model.addCons(left <= high)

    def _squares(self) -> dict[int, Any]:
        """The variable above the square of each column that has one."""
        from pyscipopt import Expr
        from pyscipopt.scip import Term

        found = {}
        for j in np.flatnonzero(self.program.quadratic).tolist():
            column = self.columns[j]
            above = self.model.addVar(lb=0.0, obj=float(self.program.quadratic[j]))
            self.model.addCons(Expr({Term(column, column): 1.0, Term(above): -1.0}) <= 0.0)
            found[j] = above
        return found

    def start(self, z: Float64) -> None:
        """Offer the point `z` (n,) to begin with; SCIP drops it if it is not feasible.

        SCIP announces no point that it was given, so the caller has to tell the recorder.
        """
        point = self.model.createSol()
        for column, value in zip(self.columns, z.tolist(), strict=True):
            self.model.setSolVal(point, column, value)
        for j, above in self.squares.items():
            self.model.setSolVal(point, above, float(z[j]) ** 2)
        self.model.addSol(point)

    def run(self, recorder: Recorder, seconds: float | None) -> ScipAnswer:
        """Solve for at most `seconds`; better points and bounds go to `recorder` as they come."""
        if not self.columns:
            return ScipAnswer(status="optimal", x=self.program.origin, bound=0.0, nodes=0)
        if seconds is not None:
            self.model.setParam("limits/time", seconds)
        self._watch(recorder)
        self.model.optimize()
        model = self.model
        bound = float(model.getDualbound()) + self.offset - self.program.constant
        finite = abs(bound) < model.infinity() / 2
        return ScipAnswer(
            status=str(model.getStatus()),
            x=self._best() if model.getNSols() > 0 else None,
            bound=bound if finite else None,
            nodes=int(model.getNTotalNodes()),
        )

    def _best(self) -> NDArray[Any]:
        """The table (R, N) at the best point so far."""
        program, best = self.program, self.model.getBestSol()
        z = np.array([self.model.getSolVal(best, column) for column in self.columns], dtype=np.float64)
        return program.whole_table(z) if program.problem.integer else program.table(z)

    def _watch(self, recorder: Recorder) -> None:
        from pyscipopt.scip import PY_SCIP_EVENTTYPE

        def better(model: Any, event: Any) -> None:
            del model, event
            recorder.found(self._best())

        def bounded(model: Any, event: Any) -> None:
            del event
            bound = float(model.getDualbound())
            if abs(bound) < model.infinity() / 2:
                recorder.bounded(bound + self.offset)

        events: Sequence[tuple[Any, Any]] = (
            (better, PY_SCIP_EVENTTYPE.BESTSOLFOUND),
            (bounded, PY_SCIP_EVENTTYPE.DUALBOUNDIMPROVED),
        )
        for action, event in events:
            self.model.attachEventHandlerCallback(action, [event])
