"""`dp-table`: the paper's dynamic program, every cost by a constraint program with table constraints.

For each size, `tau^r(v) = w_r loss(v - target^r) + phi^r(v)` over the domain of `v`; `phi^r(v)` is the least
sum of the children's costs at values that sum to `v`, found by one small model in which each child has a
table of (value, cost) pairs. A dummy region above the sizes takes the total; values are read out downwards
by solving `phi` once more. [Fioretto2021], M_H^dp, equations (4a) to (4d). Convexity is not used.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from pgsr.errors import InputError
from pgsr.models.domains import domains
from pgsr.models.problem import Feature, Int64, Problem
from pgsr.solvers.adapters.adapter import Adapter, Outcome, Recorder, out_of_time
from pgsr.solvers.adapters.integer_costs import integer_weights, largest_steps, refuse_large_sum
from pgsr.solvers.base import SolveOptions, Termination
from pgsr.solvers.certificate import Stopwatch
from pgsr.solvers.statuses import termination

MOST_SUBPROBLEMS = 20_000
"""Models that it is ready to solve: milliseconds each, more for larger domains and more children."""

MOST_PAIRS = 200_000
"""Pairs of value and cost that it is ready to keep."""


class DpTableSolver(Adapter):
    """The dynamic program on CP-SAT with table constraints, for small domains; `dp` does the same at once."""

    name = "dp-table"
    package = "ortools"
    modules = ("ortools",)
    scale = 100
    features = frozenset(
        {Feature.HIERARCHICAL, Feature.INTEGER, Feature.L2, Feature.L1, Feature.WEIGHTS, Feature.BOUNDS}
    )

    def check(self, problem: Problem) -> None:
        """Refuse weights that are not dyadic, too many sub-problems or pairs, and costs beyond 64 bits."""
        super().check(problem)
        weights, _ = integer_weights(problem)
        low, high = domains(problem)
        spread = (high - low).astype(np.float64) + 1.0
        count = float(spread[problem.inner()].sum())
        for number, most, what in (
            (count, MOST_SUBPROBLEMS, "sub-problems"),
            (float(spread.sum()), MOST_PAIRS, "pairs of value and cost"),
        ):
            if number > most:
                raise InputError(
                    f"{number:.0f} {what} are more than the {most} that it takes",
                    f"solver {self.name}",
                    "use dp, or bounds that narrow the domains",
                )
        refuse_large_sum(self.name, largest_steps(problem, weights, low, high) * spread, 2.0**61)

    def run(self, problem: Problem, options: SolveOptions, recorder: Recorder) -> Outcome:
        """Tables up, the dummy region, read-out down; the time limit holds within sub-problems as well."""
        watch = Stopwatch()
        program = _DynamicProgram(problem, options, recorder)
        build_s = watch.seconds()
        if options.seconds_left() == 0:
            return out_of_time(build_s)
        recorder.start()
        watch = Stopwatch()
        x, status, kind = None, "OPTIMAL", Termination.OPTIMAL
        try:
            x = program.solve()
        except _Stopped as stop:
            status, kind = stop.status, termination("cpsat", stop.status)
        recorder.found(x)
        return Outcome(
            termination=kind,
            raw_status=status,
            x=x,
            build_s=build_s,
            solve_s=watch.seconds(),
            bound=None if x is None else float(problem.objective(x)),
            details={
                "subproblems": program.solved,
                "subproblems_of_tables": program.solved_up,
                "theorem": order_by_theorem(problem),
            },
        )


def subproblems(problem: Problem) -> int:
    """The number of models `phi^r(v)` that fill the cost tables: `sum over s and inner r of |D_s^r|`.

    The read-out solves one more for each inner region and size, and one for the dummy region.
    """
    low, high = domains(problem)
    return int((high - low + 1)[problem.inner()].sum())


def order_by_theorem(problem: Problem) -> int:
    """The paper's count of optimisation problems (4), `|R| N D` with `D` the largest `|D_s^r|`.

    It is an order of magnitude, attained by `subproblems` per inner region where all domains are equal:
    leaves, whose `phi` is 0, are counted, and the read-out is not. [Fioretto2021], the theorem after (4).
    """
    low, high = domains(problem)
    return problem.target.size * int((high - low + 1).max())


class _Stopped(Exception):
    """A sub-problem ended without an optimum; `status` is CP-SAT's."""

    def __init__(self, status: str) -> None:
        super().__init__(status)
        self.status = status


@dataclass
class _Choice:
    """One model: the children's values, costs by table, their sum as a row whose right side can be set."""

    model: Any
    values: list[Any]
    costs: list[Any]
    row: Any


class _DynamicProgram:
    """The two passes; costs in integers, relative to the cheapest value of each region and size."""

    def __init__(self, problem: Problem, options: SolveOptions, recorder: Recorder) -> None:
        from ortools.sat.python import cp_model

        self.problem, self.options, self.recorder = problem, options, recorder
        self.low, self.high = domains(problem)
        self.weights, _ = integer_weights(problem)
        self.total = subproblems(problem) + int(problem.inner().sum()) * problem.width + 1
        self.solved = self.solved_up = 0
        self.solver = cp_model.CpSolver()
        settings = self.solver.parameters
        settings.num_workers = 1
        # Models this small are solved in less time than it takes to simplify them.
        settings.cp_model_presolve = False
        settings.cp_model_probing_level = settings.symmetry_level = settings.linearization_level = 0
        settings.random_seed = options.seed % 2**31
        settings.log_search_progress = options.verbose
        settings.relative_gap_limit = settings.absolute_gap_limit = 0.0

    def solve(self) -> Int64:
        """The optimal table (R, N)."""
        problem = self.problem
        x = np.zeros(problem.target.shape, dtype=np.int64)
        choices: dict[tuple[int, int], _Choice] = {}
        roots = []
        for size in range(problem.width):
            tables: list[Int64] = [np.empty(0, dtype=np.int64)] * problem.regions
            for region in range(problem.regions - 1, -1, -1):
                first, last = self.children(region)
                table = self.deviations(region, size)
                if last > first:
                    choice = self.choice(self.low[first:last, size], tables[first:last])
                    choices[region, size] = choice
                    costs = [self.phi(choice, v)[0] for v in self.domain(region, size)]
                    table = table + np.array(costs, dtype=np.int64)
                tables[region] = table
            roots.append(tables[0])
        self.solved_up = self.solved
        _, x[0] = self.phi(self.choice(self.low[0], roots), problem.total)
        for region in range(problem.regions):
            first, last = self.children(region)
            if last > first:
                for size in range(problem.width):
                    _, x[first:last, size] = self.phi(choices[region, size], int(x[region, size]))
        return x

    def children(self, region: int) -> tuple[int, int]:
        """First child, and one past the last."""
        starts = self.problem.child_start
        return int(starts[region]), int(starts[region + 1])

    def domain(self, region: int, size: int) -> range:
        """The values that bounds and the total allow: D_s^r."""
        return range(int(self.low[region, size]), int(self.high[region, size]) + 1)

    def deviations(self, region: int, size: int) -> Int64:
        """Cost (4a) without `phi` at every value of the domain, over that of the value nearest the target."""
        values = np.arange(self.low[region, size], self.high[region, size] + 1)
        target = int(self.problem.target[region, size])
        nearest = int(np.clip(target, values[0], values[-1]))
        if self.problem.loss == "l2":  # (v - t)^2 - (n - t)^2, without the large squares
            costs = (values - nearest) * (values - target + (nearest - target))
        else:
            costs = np.abs(values - target) - abs(nearest - target)
        return np.asarray(self.weights[region] * costs, dtype=np.int64)

    def choice(self, low: Int64, tables: list[Int64]) -> _Choice:
        """Equations (4b) to (4d): a table of (value, cost) for each child, least sum of costs."""
        from ortools.sat.python import cp_model

        model = cp_model.CpModel()
        values, costs = [], []
        for first, table in zip(low.tolist(), tables, strict=True):
            value = model.new_int_var(first, first + table.size - 1, "")
            cost = model.new_int_var(int(table.min()), int(table.max()), "")
            pairs = [(first + i, c) for i, c in enumerate(table.tolist())]
            model.add_allowed_assignments([value, cost], pairs)
            values.append(value)
            costs.append(cost)
        row = model.add_linear_constraint(cp_model.LinearExpr.sum(values), 0, 0)
        model.minimize(cp_model.LinearExpr.sum(costs))
        return _Choice(model=model, values=values, costs=costs, row=row)

    def phi(self, choice: _Choice, value: int) -> tuple[int, Int64]:
        """Least cost and the children's values whose sum is `value`."""
        left = self.recorder.seconds_left()
        if left == 0:
            raise _Stopped("UNKNOWN")
        if left is not None:
            self.solver.parameters.max_time_in_seconds = left
        domain = choice.row.proto.linear.domain
        domain[0] = domain[1] = value
        status = self.solver.status_name(self.solver.solve(choice.model))
        if status != "OPTIMAL":
            raise _Stopped(status)
        self.solved += 1
        if self.options.progress is not None:
            self.options.progress("sub-problems", self.solved / self.total)
        found = np.array([self.solver.value(v) for v in choice.values], dtype=np.int64)
        return sum(int(self.solver.value(c)) for c in choice.costs), found
