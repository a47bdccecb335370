"""Solvers that lie in their answers: each must be caught by a named check. Never registered.

All declare Model 1 with squares, integers; those that a proof by exchanges would catch anyway also
have a sibling for Model 2, where only a known optimum can tell.
"""

# ruff: noqa: ARG002 - fakes take what the protocol gives them

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgsr.models.problem import Feature, Problem
from pgsr.solvers.base import (
    Availability,
    PointStatus,
    Solution,
    SolveOptions,
    Termination,
    refuse_unsupported,
)
from pgsr.solvers.certificate import assess

MODEL_1 = frozenset({Feature.HIERARCHICAL, Feature.INTEGER, Feature.L2})
MODEL_2 = frozenset({Feature.CUMULATIVE, Feature.INTEGER, Feature.L2})
RELAXED = frozenset({Feature.HIERARCHICAL, Feature.RELAXED, Feature.L2})


def some_table(problem: Problem) -> NDArray[np.int64]:
    """A feasible table that is hardly ever optimal: all units in the first leaf, at the last size."""
    x = np.zeros(problem.target.shape, dtype=np.int64)
    region = 0
    x[0, -1] = problem.total
    while problem.child_start[region] < problem.child_start[region + 1]:
        region = int(problem.child_start[region])
        x[region, -1] = problem.total
    return x


def true_answer(problem: Problem, options: SolveOptions) -> Solution:
    """The honest answer to a problem of Model 1."""
    from pgsr.solvers.native.proximity import ProximitySolver

    return ProximitySolver().solve(problem, SolveOptions(threads=options.threads))


class Fake:
    """What the fakes share; by itself an honest solver, so that each subclass has one fault only."""

    name: str = "fake-honest"
    features: frozenset[Feature] = MODEL_1

    def availability(self) -> Availability:
        """Always there."""
        return Availability(available=True)

    def version(self) -> str:
        """A version."""
        return "1"

    def check(self, problem: Problem) -> None:
        """Refuse what is not declared."""
        refuse_unsupported(self, problem)

    def solve(self, problem: Problem, options: SolveOptions) -> Solution:
        """Answer with `table` and `claims`."""
        self.check(problem)
        return self.record(problem, self.table(problem, options), **self.claims(problem))

    def table(self, problem: Problem, options: SolveOptions) -> NDArray[Any] | None:
        """The table that it returns."""
        return true_answer(problem, options).x

    def claims(self, problem: Problem) -> dict[str, Any]:
        """What it claims beyond the table."""
        return {}

    def record(self, problem: Problem, x: NDArray[Any] | None, **claims: Any) -> Solution:
        """The record that the framework makes of it."""
        said: dict[str, Any] = {
            "termination": Termination.OPTIMAL,
            "raw_status": "optimal",
            "build_s": 0.0,
            "solve_s": 0.0,
            **claims,
        }
        return assess(problem, x, solver=self.name, version=self.version(), **said)


class InfeasibleOptimum(Fake):
    """Claims an optimum at the target, which does not add up."""

    name = "fake-infeasible-optimum"

    def table(self, problem: Problem, options: SolveOptions) -> NDArray[Any]:
        """The target itself, one off."""
        return problem.target + 1


class WorseOptimum(Fake):
    """Claims an optimum at a feasible table that is not optimal."""

    name = "fake-worse-optimum"

    def table(self, problem: Problem, options: SolveOptions) -> NDArray[Any]:
        """Any feasible table."""
        return some_table(problem)


class WorseOptimumCumulative(WorseOptimum):
    """The same for Model 2, where the framework has no proof against it."""

    name = "fake-worse-optimum-cumulative"
    features = MODEL_2


class BoundAboveObjective(Fake):
    """Claims a bound above the objective of its own table."""

    name = "fake-bound-above-objective"

    def claims(self, problem: Problem) -> dict[str, Any]:
        """A bound that is far too high."""
        return {"claimed_bound": 1e40}


class BoundAboveOptimum(WorseOptimumCumulative):
    """Claims the objective of a table that is not optimal as a bound, for Model 2; no claim of an optimum."""

    name = "fake-bound-above-optimum"

    def claims(self, problem: Problem) -> dict[str, Any]:
        """Its objective as a bound."""
        return {
            "claimed_bound": problem.objective(some_table(problem)),
            "termination": Termination.TIME_LIMIT,
        }


class FalseInfeasibility(Fake):
    """Claims that there is no table."""

    name = "fake-false-infeasibility"

    def table(self, problem: Problem, options: SolveOptions) -> None:
        """None."""

    def claims(self, problem: Problem) -> dict[str, Any]:
        """Infeasible."""
        return {"termination": Termination.INFEASIBLE, "raw_status": "infeasible"}


class ZerosAfterError(Fake):
    """Returns an array of zeros after an error, as HiGHS does for mixed-integer squares."""

    name = "fake-zeros-after-error"

    def table(self, problem: Problem, options: SolveOptions) -> NDArray[Any]:
        """Zeros."""
        return np.zeros_like(problem.target)

    def claims(self, problem: Problem) -> dict[str, Any]:
        """An error."""
        return {"termination": Termination.NUMERICAL, "raw_status": "kSolveError"}


class HandMade(Fake):
    """Builds its record by hand: false objective, violations and certificate."""

    name = "fake-hand-made"

    def record(self, problem: Problem, x: NDArray[Any] | None, **claims: Any) -> Solution:
        """A record that `assess` never saw."""
        return Solution(
            problem=problem,
            solver=self.name,
            version=self.version(),
            termination=Termination.OPTIMAL,
            point_status=PointStatus.FEASIBLE,
            raw_status="optimal",
            x=np.zeros_like(problem.target),
            objective=-1,
            bound=-1,
            violations={"consistency": 0},
            certificate=True,
            proof=None,
            build_s=0.0,
            solve_s=0.0,
        )


class SolvedInfeasible(Fake):
    """Calls a relaxed table solved that misses the total by one unit."""

    name = "fake-solved-infeasible"
    features = RELAXED

    def table(self, problem: Problem, options: SolveOptions) -> NDArray[Any]:
        """The optimum with a little more at the root."""
        x = true_answer(problem, options).x
        assert x is not None
        x[0, 0] += 1.0
        return x


class LimitAsAnswer(WorseOptimumCumulative):
    """Calls what it had at a limit optimal, although its own bound is far below."""

    name = "fake-limit-as-answer"

    def claims(self, problem: Problem) -> dict[str, Any]:
        """A bound of zero."""
        return {"claimed_bound": 0.0}


class HandMadeCumulative(HandMade):
    """The same for Model 2 with bounds, also where no table exists."""

    name = "fake-hand-made-cumulative"
    features = MODEL_2 | {Feature.BOUNDS}

    def table(self, problem: Problem, options: SolveOptions) -> NDArray[Any]:
        """Anything: the record has zeros."""
        return some_table(problem)
