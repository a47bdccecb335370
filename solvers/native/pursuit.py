"""One solve of `cumulative`: bound and table in turn until they meet; see there."""

from __future__ import annotations

import math
import time
from dataclasses import replace
from fractions import Fraction

import numpy as np

from pgsr.models.problem import Problem
from pgsr.solvers.base import SolveOptions, Termination
from pgsr.solvers.certificate import Stopwatch
from pgsr.solvers.native.closing import MOST_LINEAR, Closing, Whole, face_table
from pgsr.solvers.native.lifting import disjoint_tops, lift
from pgsr.solvers.native.multipliers import multiplier_bound
from pgsr.solvers.native.schedule import Runner
from pgsr.solvers.native.splitting import approach
from pgsr.solvers.native.standing import FLOAT_GAP, Standing
from pgsr.solvers.native.subtrees import open_tops, region_gaps, solved_again

_TURN = 60  # iterations of one turn
_EARLY = 20  # iterations before the first rounding that is worth merging
_EARLY_MOST = 10_000_000  # entries up to which exchanges are tried on it
_IDLE = 2, 5  # turns in a row without gain after which bound or table is given up
_MOST_TURNS = 60
_SLOW = 0.01  # gain of a turn, relative to the gap, that is none
_LITTLE = 1e-3  # gain, in steps of the objective, that is none
_SUBTREES = 40  # solved again at most, each for so many seconds
_SECONDS = 2.0
_BRIEFLY = 4.0  # seconds for a search that comes before all else
_SMALL, _LONG = 5_000, 60.0  # entries above which the last search is limited to so many seconds
_NEARLY = 10  # gap, in steps of the objective, from which it is worth while to look for better bounds
_CLIMBS = 2, 3, 4, 6  # regions above an open one whose subtree is solved for a better bound
_LIFTED = 1000  # of these at most
_TRUST = Fraction(1, 10_000)  # distance, in steps of the objective, that is HiGHS' rounding
_PROOF = 4  # times a bound in float64: what an exact one takes
_TOGETHER = 12  # subtrees that are solved at once


class Pursuit(Standing):
    """One solve: what is done to make table and bound meet."""

    def __init__(
        self, problem: Problem, run: Runner, options: SolveOptions, watch: Stopwatch, *, highs: bool
    ) -> None:
        super().__init__(problem, run, options, watch)
        self._highs = highs
        self._whole = Whole(problem) if highs and problem.target.size <= MOST_LINEAR else None
        self._rng = np.random.default_rng(options.seed)

    def solve(self, *, prove: bool, exchange: bool) -> tuple[Termination, str]:
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
        if prove and self._whole is not None:
            self._linear(self._whole)
            if self._done():
                return self._verdict("linear program")
        self._iterate(_EARLY)
        self._reserve()
        if not exchange:
            self._iterate(_TURN - _EARLY)
            self._round("rounding", improve=False)
            return self._verdict("one rounding")
        self._round("rounding and exchanges", improve=self.problem.target.size <= _EARLY_MOST)
        if self._done():
            return self._verdict("one rounding with exchanges")
        self._iterate(_TURN - _EARLY)
        self._round("rounding and exchanges", improve=True)
        if not prove or self._done():
            return self._verdict("one rounding with exchanges")
        self._take_turns()
        if self._highs and not self._done():
            self._lift()
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

    def _reserve(self) -> None:
        """End the search early enough for the proof of what it has found."""
        if self.run.deadline is not None:
            begin = time.monotonic()
            self.split.check()
            needed = _PROOF * (time.monotonic() - begin)
            early = replace(self.run, deadline=self.run.deadline - needed)
            self.run = self.split.run = self.incumbent.run = early

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

    def _take_turns(self) -> None:
        """Bound and table in turn, whichever gained more last time, until they meet or both stall."""
        unit = _LITTLE * (1.0 if self.step is None else float(self.step))
        if self.step is None:
            unit = FLOAT_GAP * max(1.0, float(self.incumbent.value))
        gains, idle = [math.inf, math.inf], [0, 0]
        if self._extra is not None:
            idle[0] = _IDLE[0]  # the bound is that of the linear program already
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
            if self._highs and table and idle[side] % 2 == 1:
                self._subtrees()
                if not self._done():
                    self._lift()
                if self._done():
                    return

    def _linear(self, whole: Whole) -> None:
        """Approach the linear program, have HiGHS finish it, and search briefly where it is fractional."""
        with self._stage("splitting"):
            approach(self.split, self.run, self._show)
        self._round("first rounding", improve=False)
        if self._done():
            return
        with self._stage("linear program"):
            left = self._left()
            half = None if left is None else left / 2
            self._take(whole.solve(self.split.z, self.split.best, self.options, half))
        if self._done():
            return
        with self._stage("search"):
            self._take(whole.search(self.options, min(_BRIEFLY, self._left() or _BRIEFLY)))

    def _lift(self) -> None:
        """Raise the bound by what small subtrees cost together, if that could close the gap."""
        assert self.incumbent.x is not None
        self._prove()
        if self.step is None or self.lattice is None or self.prices is None:
            return
        parts = multiplier_bound(self.problem, self.prices)
        if self.incumbent.value - Fraction(parts.bound) > _NEARLY * self.step:
            return
        gaps = region_gaps(self.problem, self.incumbent.x, self.prices, parts.per_region)
        with self._stage("subtrees together"):
            for climb in _CLIMBS:
                raised = 0.0
                for top in disjoint_tops(self.problem, gaps, self._open(), climb, _LIFTED):
                    self.run.check()
                    seconds = min(_SECONDS, self._left() or _SECONDS)
                    options = replace(self.options, time_limit_s=seconds)
                    raised += lift(self.problem, self.prices, parts.per_region, top, options)
                bound = Fraction(parts.bound) + Fraction(raised) - _TRUST * self.step
                self.lifted = max(self.lifted, float(self.lattice.up(bound)))
                if self._done():
                    return

    def _close(self) -> None:
        """Hand what is left of a small problem to HiGHS."""
        with self._stage("face program"):
            self._take(face_table(self.problem, self.split.z, self.options, self._left()))
        if self._whole is not None and not self._done():
            left, small = self._left(), self.problem.target.size <= _SMALL
            with self._stage("search"):
                self._take(self._whole.search(self.options, left if small else min(_LONG, left or _LONG)))

    def _take(self, found: Closing) -> None:
        """Take over what HiGHS found: duals after evaluation, tables after recomputation."""
        if found.multipliers is not None:
            value = float(multiplier_bound(self.problem, found.multipliers).bound)
            if value > self.lower:
                self._extra, self._extra_bound = found.multipliers, value
        if found.table is not None:
            self.incumbent.offer(found.table)
        self.trusted = self.trusted or found.claimed
        self._show()
        self.run.check()

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
                    if self._done():
                        return

    def _verdict(self, why: str) -> tuple[Termination, str]:
        value = max(1.0, float(self.incumbent.value))
        if self.proof is not None and self.proof.optimal:
            return Termination.OPTIMAL, "bound and objective meet"
        if self.gap <= max(self.options.gap, FLOAT_GAP if self.step is None else 0.0) * value:
            return Termination.OPTIMAL, "within the gap"
        if self.trusted:
            return Termination.OPTIMAL, "search by HiGHS complete (solver-trusted)"
        return Termination.OTHER_LIMIT, f"{why}: gap {self.gap:.3g}"
