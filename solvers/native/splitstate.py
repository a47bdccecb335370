"""Tables of one run of the splitting method, its steps, and what they prove; see `splitting`."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgsr.errors import InputError
from pgsr.models.domains import domains
from pgsr.models.problem import Float64, Problem, RegionError
from pgsr.solvers.base import tolerance
from pgsr.solvers.native.schedule import Runner, call, inner_rows
from pgsr.solvers.native.splitkernels import pass_check, pass_down, pass_start, pass_sums, pass_up
from pgsr.solvers.native.splitrows import penalties, stiffness

_START = 6.0, 1.0  # penalty over weight at leaves, and its factor per height above
_START_WHOLE = 4.0, 0.7
_FASTEST = 5.0  # largest change of a penalty at a time
_NARROWEST, _WIDEST = 2.0**-40, 2.0**40  # range of a penalty, over its first value


class Split:
    """Tables of one run, and its steps; `lower`, `upper` are what is proven."""

    def __init__(self, problem: Problem, run: Runner, *, whole: bool) -> None:
        self.problem, self.run, self.whole = problem, run, whole
        rows, count = inner_rows(problem), problem.regions
        self.z, self.u = np.zeros(problem.target.shape), np.zeros(problem.target.shape)
        self.big_b, self.price, self.best, self.sums = (np.zeros((rows, problem.width)) for _ in range(4))
        self.share, self.big_q, self.rho = np.empty(count), np.empty(count), np.empty(count)
        self.residual = np.zeros((count, 2))
        self.bounded = problem.lower is not None or problem.upper is not None
        self.none = np.empty((0, 0))
        self.low = self.high = self.none
        self.ceiling = math.inf
        own = np.zeros(count, dtype=np.bool_)
        if self.bounded:
            own = self._bounds()
        penalties(
            problem.child_start, problem.region_weights, *(_START_WHOLE if whole else _START), own, self.rho
        )
        self.first_rho = self.rho.copy()
        self.lower, self.upper = -math.inf, math.inf
        self.iterations, self.next_check, self.next_balance = 0, 5, 5

    def _bounds(self) -> NDArray[np.bool_]:
        """Set `low`, `high` (R, N), made monotone, and `ceiling`; returns which regions have bounds (R,)."""
        problem = self.problem
        low, high = domains(problem)
        np.maximum.accumulate(low, axis=1, out=low)
        high[:, ::-1] = np.minimum.accumulate(high[:, ::-1], axis=1)
        clash = np.flatnonzero((low > high).any(axis=1))
        if clash.size:
            raise RegionError("bounds allow no non-decreasing row", int(clash[-1]), "widen them")
        self.low, self.high = low.astype(np.float64), high.astype(np.float64)
        far = np.maximum(np.abs(self.low - problem.target), np.abs(self.high - problem.target))
        self.ceiling = float((problem.region_weights * (far * far).sum(axis=1)).sum())
        own = np.zeros(problem.regions, dtype=np.bool_)
        if problem.lower is not None:
            own |= (problem.lower > 0).any(axis=1)
        if problem.upper is not None:
            own |= (problem.upper < problem.total).any(axis=1)
        return own

    def _tables(self) -> tuple[Any, ...]:
        p = self.problem
        return (p.child_start, p.target, p.region_weights)

    def start(self) -> None:
        """Every row starts at its own best."""
        kernel = call(
            pass_start, *self._tables(), self.low, self.high, float(self.problem.total), self.whole, self.z
        )
        if self.problem.regions == 1:
            kernel(0, 1)
            self.lower = self.upper = float(self.problem.objective(self.z))
            return
        self.run.down(kernel)
        self._restart()

    def _restart(self) -> None:
        stiffness(self.problem.child_start, self.rho, self.share, self.big_q)
        self._up(leaves=True)

    def _up(self, *, leaves: bool) -> None:
        start = self.problem.child_start
        self.run.up(call(pass_up, start, self.rho, self.share, self.z, self.u, self.big_b, leaves))

    def _tree(self) -> tuple[Any, ...]:
        penalty = (self.rho, self.share, self.big_q, self.big_b, self.price, self.z, self.u)
        return (*self._tables(), *penalty, self.low, self.high, float(self.problem.total), self.whole)

    def iterate(self) -> None:
        """One iteration; now and then penalties follow the residuals."""
        self.run.down(call(pass_down, *self._tree(), self.residual))
        self.iterations += 1
        if self.iterations < self.next_balance:
            self._up(leaves=False)
            return
        self.next_balance += max(5, self.iterations // 5)
        small = 1e-3 * float(self.residual.mean())
        if small > 0:
            primal, dual = self.residual[:, 0] + small, self.residual[:, 1] + small
            factor = np.clip((primal / dual) ** 0.25, 1 / _FASTEST, _FASTEST)
            old = self.rho
            self.rho = np.clip(old * factor, _NARROWEST * self.first_rho, _WIDEST * self.first_rho)
            self.u *= np.divide(old, self.rho, out=np.ones_like(old), where=old > 0)[:, None]
        self._restart()

    @property
    def due(self) -> bool:
        """Whether bounds should be looked at after this iteration."""
        return self.iterations >= self.next_check

    def check(self, out: Float64 | None = None) -> float:
        """Prove what can be; with `out` (R, N) its leaves are set. Returns the factor they should get."""
        self.next_check = self.iterations + max(5, self.iterations // 8)
        table = self.none if out is None else out
        total = float(self.problem.total)
        parts = self.run.down(call(pass_check, *self._tree(), self.bounded, self.sums, table))
        lower, *sums = (math.fsum(column) for column in list(zip(*parts, strict=True))[:4])
        if lower > self.lower:
            self.lower = lower
            self.price, self.best = self.best, self.price
        if self.lower > self.ceiling * (1 + 1e-6):
            raise InputError("bounds allow no table", "bounds", "widen them")
        if self.whole:
            return 1.0
        above = self.run.up(call(pass_sums, *self._tables(), self.sums, self.none, 1.0))
        squares, cross, sizes = (
            mine + math.fsum(column) for mine, column in zip(sums, zip(*above, strict=True), strict=True)
        )
        worst = max(part[4] for part in parts)
        held = float(self.sums[0, -1])
        factor = 1.0
        if self.bounded:
            if worst > 0.5 * tolerance(self.problem, self.z):
                squares = math.inf
        elif held > 0:
            factor = total / held
            squares += 2 * (factor - 1) * cross + (factor - 1) ** 2 * sizes
        elif total > 0:
            squares = math.inf
        self.upper = squares
        return factor

    def settle(self) -> None:
        """After the time limit struck in the middle: carry on without one, from a consistent state."""
        self.run = replace(self.run, deadline=None)
        if self.problem.regions == 1:
            self.start()
        else:
            self._restart()

    def table(self) -> Float64:
        """The table (R, N) of the last check, which takes the place of `z`."""
        if self.problem.regions == 1:
            return self.z
        self.run = replace(self.run, deadline=None)
        factor = self.check(self.z)
        if not self.bounded and self.sums[0, -1] == 0:
            self.z[np.flatnonzero(~self.problem.inner())[0], -1] = self.problem.total
        self.run.up(call(pass_sums, *self._tables(), self.sums, self.z, factor))
        return self.z

    def multipliers(self) -> Float64:
        """The prices (R, N) of the best lower bound, 0 at leaves."""
        out = np.zeros(self.problem.target.shape)
        rows = self.best.shape[0]
        out[:rows] = self.best
        out[:rows][~self.problem.inner()[:rows]] = 0.0
        return out
