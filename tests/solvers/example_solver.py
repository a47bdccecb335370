"""`scipy-milp`: unit segments by SciPy's mixed-integer solver, both models, integers."""

from __future__ import annotations

from pgsr.models.forms.program import Program
from pgsr.models.problem import Feature, Int64, Problem
from pgsr.solvers.adapters.adapter import Adapter, Outcome, Recorder
from pgsr.solvers.adapters.entries import refuse_large_moves
from pgsr.solvers.adapters.segments import Raw, solve_in_windows
from pgsr.solvers.base import SolveOptions, Termination

STATUS = {0: Termination.OPTIMAL, 1: Termination.TIME_LIMIT, 2: Termination.INFEASIBLE}


class ScipyMilpSolver(Adapter):
    name = "scipy-milp"
    package = "scipy"  # whose version is reported
    modules = ("scipy",)  # what must be importable
    features = frozenset(Feature) - {Feature.RELAXED, Feature.RELAXED_BOUNDS}
    scale = 500  # entries up to which it is a good choice

    def check(self, problem: Problem) -> None:
        super().check(problem)  # features
        refuse_large_moves(problem, self.name, 1e7, weighted=True)  # its tolerances would hide units

    def run(self, problem: Problem, options: SolveOptions, recorder: Recorder) -> Outcome:
        from scipy.optimize import Bounds, LinearConstraint, milp  # heavy: only when it solves

        def call(form: Program, _start: Int64 | None) -> Raw:
            if form.columns == 0:  # one table only, and SciPy wants a column
                return Raw(termination=Termination.OPTIMAL, raw_status="one table", x=form.origin, bound=0.0)
            rows = LinearConstraint(form.matrix, form.row_lower, form.row_upper)
            within = Bounds(form.lower, form.upper)
            settings = {"mip_rel_gap": options.gap, "disp": options.verbose}
            if (seconds := recorder.seconds_left()) is not None:
                settings["time_limit"] = seconds
            found = milp(
                form.linear, integrality=form.integer, bounds=within, constraints=rows, options=settings
            )
            table = None if found.x is None else form.whole_table(found.x)
            claim = STATUS.get(found.status, Termination.NUMERICAL)
            return Raw(
                termination=claim, raw_status=found.message, x=table, bound=found.get("mip_dual_bound")
            )

        return solve_in_windows(problem, options, recorder, call)
