"""What the linear program of `window` proves: a bound on whole tables, by multipliers in integers."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pgsr.models.forms.matrix import matrix_form
from pgsr.models.lattice import objective_lattice
from pgsr.models.problem import Float64, Problem
from pgsr.solvers.adapters.adapter import Recorder
from pgsr.solvers.adapters.window_lp import LinearAnswer

WHOLE = 1e-6
"""Distance from a whole number at which an entry of the linear program counts as whole."""


@dataclass(slots=True, kw_only=True)
class Proven:
    """What is proven so far: the best multipliers (R, N), and a lower bound on whole tables.

    Whole tables that turn up go to the `recorder`.
    """

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
        lattice = objective_lattice(self.problem)
        self.bound = max(self.bound, exact if lattice is None else lattice.up_roughly(exact))

    def _offer(self, multipliers: Float64) -> None:
        value = self._value(multipliers)
        if value > self.bound or self.best is None:
            self.bound, self.best = max(value, self.bound), multipliers

    def _value(self, multipliers: Float64) -> float:
        from pgsr.solvers.native.multipliers import multiplier_bound, raised

        return float(raised(self.problem, multiplier_bound(self.problem, multipliers)))
