"""`pyomo-scip`: SCIP through Pyomo, squares under epigraph variables; integers and relaxations."""

from __future__ import annotations

import numpy as np

from pgsr.errors import InputError
from pgsr.models.forms.pyomo_model import pyomo_model
from pgsr.models.problem import Feature, Problem
from pgsr.solvers.adapters.adapter import Adapter, Outcome, Recorder, out_of_time
from pgsr.solvers.adapters.entries import exact_origin, refuse_large_moves
from pgsr.solvers.adapters.pyomo_call import call_pyomo
from pgsr.solvers.base import SolveOptions
from pgsr.solvers.certificate import Stopwatch
from pgsr.solvers.statuses import termination

MOST_SQUARES = 1_000
"""Entries up to which relaxations are solved in about a minute."""

MOST_UNITS = 1e4
"""Distance from target to table up to which its relaxations are exact."""

MOST_WHOLE_UNITS = 400.0
"""The same for integers, by weight: a tolerance relative to the square of more hides half a unit."""

MOST_TOTAL = 2**20
"""Total above which answers were seen to be one unit off."""


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
        if not problem.integer and problem.loss == "l2" and problem.target.size > MOST_SQUARES:
            raise InputError(
                f"its cuts converge slowly beyond {MOST_SQUARES} entries, here are {problem.target.size}",
                f"solver {self.name}",
                "use piqp",
            )
        if problem.total > MOST_TOTAL:
            raise InputError(
                f"its answers can be a unit off for totals above {MOST_TOTAL}, here {problem.total}",
                f"solver {self.name}",
                "use window or scip",
            )
        limit = MOST_WHOLE_UNITS if problem.integer else MOST_UNITS
        refuse_large_moves(problem, self.name, limit, weighted=problem.integer)

    def run(self, problem: Problem, options: SolveOptions, recorder: Recorder) -> Outcome:
        """State the epigraph form near the relaxation and solve it."""
        from pyomo.contrib.solver.common.factory import SolverFactory

        watch = Stopwatch()
        origin = exact_origin(problem, options)
        model = pyomo_model(problem, form="epigraph", origin=origin)
        started = problem.integer and options.start is not None
        if options.start is not None and started:
            moves = np.rint(options.start).astype(np.int64) - origin
            for entry, move in zip(model.x.values(), moves.ravel().tolist(), strict=True):
                entry.set_value(move, skip_validation=True)
        build_s = watch.seconds()
        seconds = options.seconds_left()
        if seconds == 0:
            return out_of_time(build_s)
        recorder.start()
        watch = Stopwatch()
        answer = call_pyomo(
            model,
            SolverFactory("scip_direct"),
            options,
            seconds,
            {"randomization/randomseedshift": options.seed % 2**31, "numerics/feastol": 1e-7},
            warmstart_discrete_vars=started,
        )
        solve_s = watch.seconds()
        if answer.table is not None:
            recorder.found(answer.table)
        recorder.bounded(answer.bound)
        return Outcome(
            termination=termination("pyomo", answer.status),
            raw_status=answer.status,
            x=answer.table,
            build_s=build_s,
            solve_s=solve_s,
            bound=answer.bound,
        )
