"""What a solve of `cumulative` knows so far: table, bounds, proof, trace, and whether that is enough."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from typing import Any

from pgsr.models.lattice import objective_lattice
from pgsr.models.problem import Float64, Problem
from pgsr.solvers.base import Certificate, Observation, SolveOptions
from pgsr.solvers.certificate import Stopwatch, certify
from pgsr.solvers.native.incumbent import Incumbent
from pgsr.solvers.native.multipliers import multiplier_bound
from pgsr.solvers.native.schedule import Runner
from pgsr.solvers.native.steering import Steered
from pgsr.solvers.native.subtrees import region_gaps

_OPEN = 0.01  # gap of a region, in units of the objective's step, from which it counts as open
FLOAT_GAP = 1e-9
"""Relative gap that is called optimal where weights allow no exact proof."""


class Standing:
    """The splitting run, the best table, the best prices, and what they prove."""

    def __init__(self, problem: Problem, run: Runner, options: SolveOptions, watch: Stopwatch) -> None:
        self.problem, self.run, self.options, self.watch = problem, run, options, watch
        self.lattice = objective_lattice(problem)
        self.step = None if self.lattice is None else self.lattice.step
        self.split = Steered(problem, run)
        self.incumbent = Incumbent(problem, run)
        self.proof: Certificate | None = None
        self.prices: Float64 | None = None
        self.trace: list[Observation] = []
        self.seconds: defaultdict[str, float] = defaultdict(float)
        self.trusted = False  # that the table is optimal is HiGHS' word
        self.lifted = -math.inf  # a bound that is HiGHS' word
        self._extra: Float64 | None = None  # prices of a linear program, better than those of the splitting
        self._extra_bound = -math.inf
        self._tried = -math.inf
        self._shown: tuple[Fraction | None, float] = (None, -math.inf)
        self._done_part = 0.0

    @property
    def lower(self) -> float:
        """The best bound in float64."""
        return max(self.split.lower, self._extra_bound)

    @property
    def gap(self) -> float:
        """Objective less bound, in float64."""
        return float(self.incumbent.value - Fraction(self.lower)) if math.isfinite(self.lower) else math.inf

    def details(self) -> dict[str, Any]:
        """What this solver has to say, as plain data."""
        proof, table = self.proof, self.incumbent
        assert proof is not None
        assert table.x is not None
        exact = proof.exact
        gap = None if proof.bound is None else float(table.value - Fraction(proof.bound))
        return {
            "iterations": self.split.iterations,
            "stages": list(self.seconds),
            "seconds": dict(self.seconds),
            "exchanges": table.route,
            "bound_kind": "exact integers" if exact else "float",
            "gap": gap,
            "open_regions": int((self._gaps() > self._open()).sum()) if gap else 0,
            "closed_by": "solver-trusted" if self.trusted and not proof.optimal else "",
        }

    def _gaps(self) -> Float64:
        """Every region's part of the gap (R,)."""
        assert self.prices is not None
        assert self.incumbent.x is not None
        parts = multiplier_bound(self.problem, self.prices).per_region
        return region_gaps(self.problem, self.incumbent.x, self.prices, parts)

    def _open(self) -> float:
        """The gap from which a region counts as open."""
        return _OPEN * (1.0 if self.step is None else float(self.step))

    @contextmanager
    def _stage(self, name: str) -> Iterator[None]:
        begin = self.watch.seconds()
        try:
            yield
        finally:
            self.seconds[name] += self.watch.seconds() - begin

    def _show(self) -> None:
        """Tell whoever listens of a better table or bound."""
        table = self.incumbent
        if table.x is None:
            return
        # Floating-point bounds may lie above exact ones by their rounding, which is taken off.
        lower = self.lower - 1e-9 * max(1.0, abs(self.lower))
        now = (table.value, max(lower, self._shown[1]))
        if now == self._shown:
            return
        better = table.value != self._shown[0]
        self._shown = now
        point = Observation(
            seconds=self.watch.seconds(),
            objective=int(table.value) if table.value.denominator == 1 else float(table.value),
            bound=now[1] if math.isfinite(now[1]) else None,
        )
        self.trace.append(point)
        if self.options.observe is not None:
            self.options.observe(point, table.x.copy() if better else None)
        if math.isfinite(self.gap):
            goal = max(1e-9, self.options.gap, 0.0 if self.step is None else self._unit())
            left = max(self.gap / max(1.0, float(table.value)), goal)
            done = math.log(min(1.0, left)) / math.log(min(0.5, goal))
            self._done_part = max(self._done_part, min(1.0, done))
            self.run.report("gap", self._done_part)

    def _unit(self) -> float:
        """One step of the objective, relative to it."""
        assert self.step is not None
        return float(self.step / max(Fraction(1), self.incumbent.value))

    def _done(self) -> bool:
        """Whether the gap is what was asked for, or the proof is complete."""
        if self.gap <= self.options.gap * max(1.0, float(self.incumbent.value)) and self.options.gap > 0:
            return True
        if self.step is None:
            return self.gap <= FLOAT_GAP * max(1.0, float(self.incumbent.value))
        if self.gap < (1 - 1e-7) * self.step and self.lower > self._tried:
            self._tried = self.lower
            self._prove()
        if self.lifted >= self.incumbent.value:
            self.trusted = True
        return self.trusted or (self.proof is not None and self.proof.optimal is True)

    def _prove(self) -> None:
        """Recompute the certificate of the best table from the best prices, in integers."""
        x = self.incumbent.x
        assert x is not None
        with self._stage("proof"):
            self.prices = self.split.best
            if self._extra is not None and self._extra_bound > self.split.lower:
                self.prices = self._extra
            self.proof = certify(self.problem, x, self.options, self.prices)

    def _left(self) -> float | None:
        """Seconds left for a back end; a hundredth at least."""
        if self.options.time_limit_s is None:
            return None
        return max(0.01, self.options.time_limit_s - self.watch.seconds())
