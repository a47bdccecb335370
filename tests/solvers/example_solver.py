"""`scipy-milp`: unit segments by SciPy's mixed-integer solver, both models, integers; for small problems."""

from __future__ import annotations

from pgsr.errors import InputError
from pgsr.models.forms.piecewise import Windows, piecewise_form
from pgsr.models.problem import Feature, Problem
from pgsr.solvers.adapters.adapter import Adapter, Outcome, Recorder, out_of_time
from pgsr.solvers.base import SolveOptions, Termination
from pgsr.solvers.certificate import Stopwatch

STATUS = {0: Termination.OPTIMAL, 1: Termination.TIME_LIMIT, 2: Termination.INFEASIBLE}


class ScipyMilpSolver(Adapter):
    name = "scipy-milp"
    package = "scipy"  # whose version is reported
    modules = ("scipy",)  # what must be importable
    features = frozenset(Feature) - {Feature.RELAXED, Feature.RELAXED_BOUNDS}
    scale = 500

    def check(self, problem: Problem) -> None:
        super().check(problem)  # features
        if problem.total * problem.target.size > 50_000:
            raise InputError("the total makes too many segments", f"solver {self.name}", "use highs")

    def run(self, problem: Problem, options: SolveOptions, recorder: Recorder) -> Outcome:
        from scipy.optimize import Bounds, LinearConstraint, milp  # heavy: only when it solves

        watch = Stopwatch()
        form = piecewise_form(problem, Windows.whole(problem))
        rows = LinearConstraint(form.matrix, form.row_lower, form.row_upper)
        within = Bounds(form.lower, form.upper)
        build_s, seconds = watch.seconds(), options.seconds_left()
        if seconds == 0:
            return out_of_time(build_s)
        settings = {"mip_rel_gap": options.gap, "disp": options.verbose, "time_limit": seconds}
        recorder.start()
        watch = Stopwatch()
        if form.columns == 0:  # one table only, and SciPy wants at least one column
            claim = Termination.OPTIMAL
            return Outcome(
                termination=claim, raw_status="one table", x=form.origin, build_s=build_s, solve_s=0.0
            )
        found = milp(form.linear, integrality=form.integer, bounds=within, constraints=rows, options=settings)
        table = None if found.x is None else form.whole_table(found.x)
        if table is not None:
            recorder.found(table)
        dual = found.get("mip_dual_bound")
        return Outcome(
            termination=STATUS.get(found.status, Termination.NUMERICAL),
            raw_status=found.message,
            x=table,
            build_s=build_s,
            solve_s=watch.seconds(),
            bound=None if dual is None else dual + form.constant,
        )
