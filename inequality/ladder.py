"""Algorithm L: a ladder release on a public grid 0..N in exact integers [Zhang2015], [Durfee2025].

Needed of the sensitivities I_t(X), for all neighbours X, X': |f(X) - f(X')| <= I_0(X), I_t(X) <= I_(t+1)(X'),
and |f - f'| <= G. Known are floats f^, I^_t, G^ with |f^ - f| <= delta, |I^_t - I_t| <= eta, G^ >= G; delta,
eta, G^, the grid step g and the number T of data-dependent rungs are public. In units of g:

    centre  c = round(f^/g) clamped to 0..N
    cap     = G^ + 2 delta + (2T + 2) eta
    widths  w_t = max(1, ceil(min(I^_t + 2 delta + (2t+1) eta, cap) / g)) for t < T
            w_t = max(1, ceil(cap / g)) for t >= T

(1) |c - c'| <= w_0(X) and <= w_0(X'). Rounding moves no pair further apart than ceil(|f^ - f^'|/g), clamping
    not at all; |f^ - f^'| <= |f - f'| + 2 delta, at most I_0 + 2 delta <= I^_0 + 2 delta + eta, and at most
    the cap. Both hold for X and for X'.
(2) w_t(X) <= w_(t+1)(X'). For t + 1 < T: I^_t(X) + 2 delta + (2t+1) eta <= I_t(X) + 2 delta + (2t+2) eta
    <= I_(t+1)(X') + 2 delta + (2t+2) eta <= I^_(t+1)(X') + 2 delta + (2t+3) eta; min, ceil and max keep the
    order. For t + 1 >= T the right side is the cap. The pad must grow with t: a constant one fails.

Let E_t = w_0 + ... + w_(t-1), R_(ts+i) = E_t + floor(i w_t / s) for 0 <= i < s, and
score(o) = min{j : |o - c| <= R_j}.

(3) |score(o) - score'(o)| <= s. With j = score(o) = ts + i: |o - c'| <= |o - c| + |c - c'|
    <= w_0(X') + E_t(X) + floor(i w_t(X)/s) <= w_0(X') + [w_1(X') + ... + w_t(X')] + floor(i w_(t+1)(X')/s)
    = R_((t+1)s+i)(X'), so score'(o) <= j + s; and the same with X and X' exchanged.

An output o is drawn with probability proportional to W_score(o), weights that fall by at most exp(-epsilon/2)
over s scores (see `weights`). By (3) weight and normaliser change by at most that factor each: the release is
epsilon-DP. Widths rounded down, weights rounded one by one, a lattice anchored at f, or T chosen from the
data all break this.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import accumulate
from operator import mul, sub

from pgsr.inequality.draws import RandomIntegers
from pgsr.inequality.grid import Grid
from pgsr.inequality.weights import ratio_numerator, rungs, settled, weights
from pgsr.noise import BitSource

SUBRUNGS = 4
"""s: scores to a rung. More make the steps of the law finer; any number is private."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LadderPlan:
    """What is public of a ladder release.

    epsilon of the release; grid its range; n records; bound G^, delta and eta as above, all in the index's
    unit.
    """

    epsilon: Fraction
    grid: Grid
    n: int
    bound: Fraction
    delta: Fraction
    eta: Fraction
    subrungs: int = SUBRUNGS
    rungs: int = field(init=False)
    cap: Fraction = field(init=False)
    cap_width: int = field(init=False)
    weights: tuple[int, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        put = object.__setattr__
        put(self, "rungs", rungs(self.epsilon, self.grid.last, self.n))
        put(self, "cap", self.bound + 2 * self.delta + (2 * self.rungs + 2) * self.eta)
        put(self, "cap_width", max(1, _ceil(*(self.cap / self.grid.step).as_integer_ratio())))
        numerator = ratio_numerator(self.epsilon / (2 * self.subrungs))
        beyond = -(-self.grid.last // self.cap_width)  # rungs of the cap's width that cover the whole range
        put(self, "weights", tuple(weights(numerator, self.subrungs * (self.rungs + beyond + 1) + 1)))
        enough = self.subrungs * (self.rungs + beyond) < len(self.weights)
        assert enough or settled(numerator, self.weights[-1])

    def confidential_widths(self, ladder: Sequence[float]) -> list[int]:
        """w_0..w_(T-1) in grid steps, from I^_0..I^_(T-1); (1) and (2) above.

        In integers over a common denominator. The cap is applied after rounding up, which comes to the same.
        """
        common = math.lcm(self.delta.denominator, self.eta.denominator)
        pad, more = (int(part * common) for part in (2 * self.delta + self.eta, 2 * self.eta))
        above, below = self.grid.step.denominator, self.grid.step.numerator * common
        widths = []
        for entry in ladder[: self.rungs]:
            top, bottom = entry.as_integer_ratio()
            width = _ceil((top * common + pad * bottom) * above, bottom * below)
            widths.append(max(1, min(width, self.cap_width)))
            pad += more
        assert len(widths) == self.rungs
        return widths

    def confidential_draw(self, value: float, ladder: Sequence[float]) -> ConfidentialLadder:
        """The law of the release for an index `value` and its `ladder` (T or more entries)."""
        widths = self.confidential_widths(ladder)
        return ConfidentialLadder(plan=self, centre=self.grid.nearest(Fraction(value)), widths=tuple(widths))


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfidentialLadder:
    """CONFIDENTIAL: the law of a ladder release around `centre` with `widths` in grid steps."""

    plan: LadderPlan
    centre: int = field(repr=False)
    widths: tuple[int, ...] = field(repr=False)
    _radii: tuple[int, ...] = field(init=False, repr=False)
    _mass: tuple[int, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        radii = self._all_radii()
        within = [self._within(radius) for radius in radii]
        points = map(sub, within, [0, *within])  # with each score
        masses = map(mul, points, self.plan.weights)
        object.__setattr__(self, "_radii", tuple(radii))
        object.__setattr__(self, "_mass", tuple(accumulate(masses)))

    def _all_radii(self) -> list[int]:
        """R_0, R_1, ... until they cover the grid, at most one a weight.

        Scores from the last weight on all have that weight: they are one score whose radius covers the grid.
        """
        s, last = self.plan.subrungs, len(self.plan.weights) - 1
        reach = max(self.centre, self.plan.grid.last - self.centre)
        radii, start, t = [0], 0, 0
        while radii[-1] < reach:
            width = self.widths[t] if t < len(self.widths) else self.plan.cap_width
            radii.extend(start + i * width // s for i in range(1, s + 1))
            start += width
            t += 1
            if len(radii) > last:
                del radii[last:]
                radii.append(reach)
        return radii

    def _within(self, radius: int) -> int:
        """Grid points at most `radius` from the centre."""
        return min(radius, self.centre) + min(radius, self.plan.grid.last - self.centre) + 1

    @property
    def total(self) -> int:
        """The sum of the weights of all grid points."""
        return self._mass[-1]

    def at(self, position: int) -> int:
        """The grid point that owns `position` in 0..total-1; it owns as many as its weight."""
        j = bisect_right(self._mass, position)
        offset = (position - (self._mass[j - 1] if j else 0)) // self.plan.weights[j]
        if j == 0:
            return self.centre
        inner = self._radii[j - 1]
        below = max(min(self._radii[j], self.centre) - inner, 0)
        if offset < below:
            return self.centre - inner - 1 - offset
        return self.centre + inner + 1 + offset - below

    def draw(self, rng: BitSource) -> int:
        """One release: a grid point."""
        return self.at(RandomIntegers(rng).below(self.total))


def _ceil(numerator: int, denominator: int) -> int:
    """The smallest integer not below the quotient; the denominator is positive."""
    return -(-numerator // denominator)
