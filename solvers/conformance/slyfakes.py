"""Solvers that are right in part: nearly whole, nearly optimal, at times, or at first. Never registered."""

# ruff: noqa: ARG002 - fakes take what the protocol gives them

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgsr.models.problem import Problem
from pgsr.solvers.base import Observation, SolveOptions
from pgsr.solvers.conformance.fakes import Fake, some_table, true_answer


class NearlyInteger(Fake):
    """Returns floats such as 0.9999 for integers."""

    name = "fake-nearly-integer"

    def table(self, problem: Problem, options: SolveOptions) -> NDArray[Any]:
        """The optimum, a little less."""
        x = true_answer(problem, options).x
        assert x is not None
        less: NDArray[np.float64] = np.asarray(x, dtype=np.float64) * (1.0 - 1e-4) - (
            0.0 if x.any() else 1e-4
        )
        return less


class TruncatedFloats(NearlyInteger):
    """Cuts such floats off, so that 0.9999 becomes 0."""

    name = "fake-truncated-floats"

    def table(self, problem: Problem, options: SolveOptions) -> NDArray[Any]:
        """Whole numbers, some of them one too small."""
        cut: NDArray[np.int64] = np.trunc(super().table(problem, options)).astype(np.int64)
        return cut


class DropsSquares(Fake):
    """Minimises the linear part alone: all units where the targets along the path are largest."""

    name = "fake-drops-squares"

    def table(self, problem: Problem, options: SolveOptions) -> NDArray[Any]:
        """All units in one leaf and size."""
        worth = problem.target * problem.region_weights[:, None]
        for region in range(1, problem.regions):
            worth[region] += worth[problem.parent[region]]
        leaves = np.flatnonzero(~problem.inner())
        place = int(np.argmax(worth[leaves]))
        region, size = int(leaves[place // problem.width]), place % problem.width
        x = np.zeros(problem.target.shape, dtype=np.int64)
        while region >= 0:
            x[region, size] = problem.total
            region = int(problem.parent[region])
        return x


class Stale(Fake):
    """Returns the answer to the first problem for every problem of the same shape."""

    name = "fake-stale"

    def __init__(self) -> None:
        self._first: dict[tuple[int, ...], NDArray[Any] | None] = {}

    def table(self, problem: Problem, options: SolveOptions) -> NDArray[Any] | None:
        """The table of the first problem."""
        key = (*problem.parent.tolist(), problem.width, problem.total)
        if key not in self._first:
            self._first[key] = true_answer(problem, options).x
        return self._first[key]


class StopsEarly(Fake):
    """Is content with a table within 1e-4 of the optimum, as default gaps are."""

    name = "fake-stops-early"

    def table(self, problem: Problem, options: SolveOptions) -> NDArray[Any]:
        """The optimum, or a table with one unit moved to another leaf if that costs next to nothing."""
        best = true_answer(problem, options).x
        assert best is not None
        last = problem.regions - 1
        for region in np.flatnonzero(~problem.inner()).tolist():
            x = best.copy()
            for row, step in ((region, -1), (last, 1)):
                while row >= 0:
                    x[row, 0] += step
                    row = int(problem.parent[row])  # noqa: PLW2901 - up to the root
            cost = problem.objective(x) - problem.objective(best)
            if x.min() >= 0 and 0 < cost <= 1e-4 * problem.objective(best):
                return x
        return best


class ChangesItsMind(Fake):
    """Returns another table at every other call."""

    name = "fake-changes-its-mind"

    def __init__(self) -> None:
        self._calls = 0

    def table(self, problem: Problem, options: SolveOptions) -> NDArray[Any] | None:
        """The optimum, or any table."""
        self._calls += 1
        return some_table(problem) if self._calls % 2 == 0 else super().table(problem, options)


class RisingTrace(Fake):
    """Keeps a trace in which the objective rises."""

    name = "fake-rising-trace"

    def claims(self, problem: Problem) -> dict[str, Any]:
        """Two points, the worse one last."""
        worse = problem.objective(some_table(problem))
        points = (Observation(seconds=0.1, objective=worse), Observation(seconds=0.2, objective=worse + 1))
        return {"trace": points}


class SlowModel(Fake):
    """Takes a minute to build a small model."""

    name = "fake-slow-model"

    def claims(self, problem: Problem) -> dict[str, Any]:
        """A minute."""
        return {"build_s": 60.0}


class LedAstray(Fake):
    """Loses the optimum as soon as it is given a table to start from."""

    name = "fake-led-astray"

    def table(self, problem: Problem, options: SolveOptions) -> NDArray[Any] | None:
        """The optimum, or any table."""
        return super().table(problem, options) if options.start is None else some_table(problem)
