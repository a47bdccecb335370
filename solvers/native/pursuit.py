"""One solve of `cumulative`: bound and table in turn until they meet; see there."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from pgsr.models.problem import Float64, Problem
from pgsr.solvers.adapters.window import objective_step
from pgsr.solvers.base import Certificate, Observation, SolveOptions, Termination
from pgsr.solvers.certificate import Stopwatch, certify
from pgsr.solvers.native.closing import face_table, search_table
from pgsr.solvers.native.incumbent import Incumbent
from pgsr.solvers.native.multipliers import multiplier_bound
from pgsr.solvers.native.schedule import Runner
from pgsr.solvers.native.steering import Steered
from pgsr.solvers.native.subtrees import open_tops, region_gaps, solved_again

_TURN = 60  # iterations of one turn
_EARLY = 20  # iterations before the first rounding that is worth merging
_EARLY_MOST = 10_000_000  # entries up to which exchanges are tried on it
_IDLE = 2, 5  # turns in a row without gain after which bound or table is given up
_MOST_TURNS = 60
_SLOW = 0.01  # gain of a turn, relative to the gap, that is none
_LITTLE = 1e-3  # gain, in steps of the objective, that is none
_OPEN = 0.02  # gap of a region, in units of the objective's step, from which it counts as open
_SUBTREES = 40  # solved again at most, each for so many seconds
_SECONDS = 10.0
_TOGETHER = 12  # subtrees that are solved at once
_FLOAT_GAP = 1e-9  # relative gap that is called optimal where weights allow no exact proof


class Pursuit:
    """One solve: the splitting run, the best table, the best prices, and what became of them."""

    def __init__(self, problem: Problem, run: Runner, options: SolveOptions, watch: Stopwatch) -> None:
        self.problem, self.run, self.options, self.watch = problem, run, options, watch
        self.step = objective_step(problem)
        self.split = Steered(problem, run)
        self.incumbent = Incumbent(problem, run)
        self.proof: Certificate | None = None
        self.prices: Float64 | None = None
        self.trace: list[Observation] = []
        self.seconds: defaultdict[str, float] = defaultdict(float)
        self.trusted = False
        self._extra: Float64 | None = None  # prices of a linear program, better than those of the splitting
        self._extra_bound = -math.inf
        self._tried = -math.inf
        self._shown: tuple[Fraction | None, float] = (None, -math.inf)
        self._done_part = 0.0
        self._rng = np.random.default_rng(options.seed)

    @property
    def lower(self) -> float:
        """The best bound in float64."""
        return max(self.split.lower, self._extra_bound)

    @property
    def gap(self) -> float:
        """Objective less bound, in float64."""
        return float(self.incumbent.value - Fraction(self.lower)) if math.isfinite(self.lower) else math.inf

    def solve(self, *, prove: bool) -> tuple[Termination, str]:
        """Work until proven, within the gap, stalled, or OutOfTime."""
        with self._stage("splitting"):
            self.split.start()
        self._round("first rounding", improve=self.problem.regions == 1)
        start = self.options.start
        if start is not None and start.shape == self.problem.target.shape and np.all(np.isfinite(start)):
            self.incumbent.offer(np.rint(np.clip(start, 0, self.problem.total)).astype(np.int64))
            self._show()
        if self.problem.regions == 1:
            self._prove()
            return Termination.OPTIMAL, "one row, fitted"
        self._iterate(_EARLY)
        self._round("rounding and exchanges", improve=self.problem.target.size <= _EARLY_MOST)
        if self._done():
            return self._verdict("one rounding with exchanges")
        self._iterate(_TURN - _EARLY)
        self._round("rounding and exchanges", improve=True)
        if not prove or self._done():
            return self._verdict("one rounding with exchanges")
        self._take_turns()
        if not self._done():
            self._close()
        return self._verdict("neither bound nor table improves")

    def settle(self) -> None:
        """Whatever has happened: a table, prices, and what they prove."""
        unlimited = replace(self.run, deadline=None)
        self.run = self.split.run = self.incumbent.run = unlimited
        if self.incumbent.x is None:
            self._round("first rounding", improve=False)
        if not math.isfinite(self.split.lower):
            with self._stage("bound"):
                self.split.settle()
                if self.problem.regions > 1:
                    self.split.check()
        if self.proof is None or not self.proof.optimal:
            self._prove()

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

    def _iterate(self, count: int, stage: str = "splitting") -> None:
        with self._stage(stage):
            for _ in range(count):
                self.split.iterate()
                if self.split.due and stage == "splitting":
                    self.split.check()
                    self._show()
            self.split.check()
            self._show()

    def _round(self, stage: str, *, improve: bool) -> None:
        with self._stage(stage):
            try:
                self.incumbent.round(self.split.z, improve=improve)
            finally:
                self._show()

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
            return self.gap <= _FLOAT_GAP * max(1.0, float(self.incumbent.value))
        if self.gap < (1 - 1e-7) * self.step and self.lower > self._tried:
            self._tried = self.lower
            self._prove()
        return self.proof is not None and self.proof.optimal is True

    def _prove(self) -> None:
        """Recompute the certificate of the best table from the best prices, in integers."""
        x = self.incumbent.x
        assert x is not None
        with self._stage("proof"):
            self.prices = self.split.best
            if self._extra is not None and self._extra_bound > self.split.lower:
                self.prices = self._extra
            self.proof = certify(self.problem, x, self.options, self.prices)

    def _take_turns(self) -> None:
        """Bound and table in turn, whichever gained more last time, until they meet or both stall."""
        unit = _LITTLE * (1.0 if self.step is None else float(self.step))
        if self.step is None:
            unit = _FLOAT_GAP * max(1.0, float(self.incumbent.value))
        gains, idle = [math.inf, math.inf], [0, 0]
        for turn in range(_MOST_TURNS):
            stuck = [count >= most for count, most in zip(idle, _IDLE, strict=True)]
            if all(stuck):
                return
            table = stuck[0] or (not stuck[1] and gains[1] >= gains[0])
            lower, value = self.lower, self.incumbent.value
            if table:
                self.split.steer(self._rng)
                self._iterate(_TURN * (1 + idle[1]), "steered splitting")
                self._round("rounding and exchanges", improve=True)
            else:
                self.split.release()
                self._iterate(_TURN + 10 * turn)
            side = 1 if table else 0
            gains[side] = (self.lower - lower) + float(value - self.incumbent.value)
            if gains[side] > max(unit, _SLOW * self.gap):
                idle[side] = 0
            else:
                idle[side] += 1
                gains[side] *= 0.5 ** idle[side]
            if self._done():
                return
            if table and idle[side] % 2 == 1:
                self._subtrees()
                if self._done():
                    return

    def _close(self) -> None:
        """Hand what is left of a small problem to HiGHS."""
        for name, method in (("face program", face_table), ("search", search_table)):
            self.run.check()
            with self._stage(name):
                found = method(self.problem, self.split.z, self.options, self._left())
                if found.multipliers is not None:
                    value = float(multiplier_bound(self.problem, found.multipliers).bound)
                    if value > self.lower:
                        self._extra, self._extra_bound = found.multipliers, value
                if found.table is not None:
                    self.incumbent.offer(found.table)
                self.trusted = self.trusted or found.claimed
            self._show()
            if self._done():
                return

    def _subtrees(self) -> None:
        """Solve small subtrees again where the gap sits."""
        self._prove()
        assert self.incumbent.x is not None
        with self._stage("subtrees"):
            tops = open_tops(self.problem, self._gaps(), self._open(), _SUBTREES)
            groups = [[top] for top in tops]
            if 1 < len(tops) <= _TOGETHER:
                groups.insert(0, tops)
            for group in groups:
                self.run.check()
                seconds = min(_SECONDS, self._left() or _SECONDS)
                options = replace(self.options, time_limit_s=seconds)
                found = solved_again(self.problem, self.incumbent.x, group, options)
                if found is not None:
                    self.incumbent.replace_rows(*found)
                    self._show()

    def _left(self) -> float | None:
        """Seconds left for a back end; a hundredth at least."""
        if self.options.time_limit_s is None:
            return None
        return max(0.01, self.options.time_limit_s - self.watch.seconds())

    def _verdict(self, why: str) -> tuple[Termination, str]:
        value = max(1.0, float(self.incumbent.value))
        if self.proof is not None and self.proof.optimal:
            return Termination.OPTIMAL, "bound and objective meet"
        if self.gap <= max(self.options.gap, _FLOAT_GAP if self.step is None else 0.0) * value:
            return Termination.OPTIMAL, "within the gap"
        if self.trusted:
            return Termination.OPTIMAL, "search by HiGHS complete (solver-trusted)"
        return Termination.OTHER_LIMIT, f"{why}: gap {self.gap:.3g}"
