"""`pyomo-scip`: SCIP through Pyomo, squares under epigraph variables; integers and relaxations."""

from __future__ import annotations

from pgsr.models.forms.pyomo_model import pyomo_model
from pgsr.models.problem import Feature, Problem
from pgsr.solvers.adapters.adapter import Adapter, Outcome, Recorder
from pgsr.solvers.adapters.entries import (
    exact_origin,
    refuse_large_moves,
    refuse_large_total,
    refuse_many_squares,
    whole_start,
)
from pgsr.solvers.adapters.pyomo_call import PyomoAnswer, call_pyomo, outcome_of
from pgsr.solvers.base import SolveOptions
from pgsr.solvers.certificate import Stopwatch

MOST_SQUARES = 1_000
"""Entries up to which its cuts converge; `python -m pgsr.bench.comparison` measures how fast."""

MOST_UNITS = 1e4
"""Distance from target to table up to which its relaxations are exact."""

MOST_WHOLE_UNITS = 400.0
"""The same for integers, by weight: a tolerance relative to the square of more hides half a unit."""

MOST_TOTAL = 2**20
"""Total beyond which answers can be one unit off."""


class PyomoScipSolver(Adapter):
    """SCIP by way of Pyomo's `scip_direct` (from Pyomo 6.10.1 on)."""

    name = "pyomo-scip"
    package = "pyomo"
    modules = ("pyomo", "pyscipopt")
    extra = "scip"
    scale = 2_500
    most_entries = 20_000
    features = frozenset(Feature)

    def check(self, problem: Problem) -> None:
        """Refuse counts so far from any table that tolerances would hide units, and large relaxations."""
        super().check(problem)
        refuse_many_squares(problem, self.name, MOST_SQUARES, "its cuts converge slowly")
        refuse_large_total(problem, self.name, MOST_TOTAL, "its answers can be a unit off")
        limit = MOST_WHOLE_UNITS if problem.integer else MOST_UNITS
        refuse_large_moves(problem, self.name, limit, weighted=problem.integer)

    def run(self, problem: Problem, options: SolveOptions, recorder: Recorder) -> Outcome:
        """State the epigraph form near the relaxation and solve it."""
        from pyomo.contrib.solver.common.factory import SolverFactory

        watch = Stopwatch()
        origin = exact_origin(problem, options)
        model = pyomo_model(problem, form="epigraph", origin=origin)
        start = whole_start(options) if problem.integer else None
        if start is not None:
            for entry, move in zip(model.x.values(), (start - origin).ravel().tolist(), strict=True):
                entry.set_value(move, skip_validation=True)
        settings = {"randomization/randomseedshift": options.seed % 2**31, "numerics/feastol": 1e-7}

        def call(seconds: float | None) -> PyomoAnswer:
            solver = SolverFactory("scip_direct")
            warm = start is not None
            return call_pyomo(model, solver, options, seconds, settings, warmstart_discrete_vars=warm)

        return outcome_of(call, options, recorder, watch.seconds())
