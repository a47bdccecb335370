"""The range of a ratio sum(phi(z)) / sum(z) over all but one income, after k replacements.

After k replacements, all records but one consist of n - 1 - k of the present incomes and k free values. Let
phi be convex with phi >= 0 and phi(z) / z not falling, and psi(z) = phi(z) - lam z (Dinkelbach 1967).

- lam is the least ratio if the least sum of psi is 0. The free values then are where psi is least, which is
  at most 0, so psi(y) >= 0 for the largest income y that is kept. A smaller z has
  psi(z) <= z psi(y) / y <= psi(y), so keeping it in place of y costs nothing: the smallest are kept.
- lam is the largest ratio if the largest sum of psi is 0. The free values then are at L or at U, and the
  k + 1 incomes with the smallest psi are left out, which are neighbours in the sorted list.

What is kept is summed without any subtraction.

Errors. u = 2^-53, e = `Convex.error`. The rank where the incomes left out start is found by comparing chords
(phi(b) - phi(a)) / (b - a), which do not fall from start to start, with lam. A chord has a relative error of
e u, so the choice is exactly optimal for a lam' within e u of lam; the free value for the least ratio may be
a little off the minimum of psi, which counts squared. Sums have a relative error of e u (phi) and 5 u (z), so
the sum W of psi has one of at most (e + 6) u lam Z when it is near zero, Z being the sum of z. For the least
ratio, lam (1 - d), d = (4 e + 24) u, with W of at least (2 e + 8) u lam Z is a lower bound but for e u: the
true W at lam' is positive. And lam, a ratio of data that can occur or a value refused before, is an upper
bound but for (4 e + 14) u. So lam is returned, within (5 e + 32) u of the truth. The least ratio itself makes
W at least d - 2 (e + 6) u times lam Z and is accepted; until then lam falls by a factor of 1 - d or more at
each step, in practice quadratically. The same holds for the largest ratio.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from pgsr.inequality.domain import Domain, Float64
from pgsr.inequality.numerics import UNIT, Indices, prefix_sums
from pgsr.inequality.smooth import Ranks

_BLOCK = 1 << 15


class Convex(Protocol):
    """A convex phi with phi >= 0 and phi(z) / z not falling on [L, U], and what the search needs of it."""

    @property
    def domain(self) -> Domain:
        """Where the incomes lie."""

    @property
    def error(self) -> int:
        """Bounds, in units of 2^-53, the relative errors of a chord and of a sum of phi."""

    def phi(self, x: Float64) -> Float64:
        """The phi of each x."""

    def chord(self, a: Float64, b: Float64) -> Float64:
        """(phi(b) - phi(a)) / (b - a), or phi'(a) if equal, for a <= b."""

    def lowest(self, lam: Float64) -> tuple[Float64, Float64]:
        """The z in [L, U] with the least phi(z) - lam z, and its phi."""


@dataclass(frozen=True, slots=True, eq=False)
class Sums:
    """Sums of sorted x and of phi(x) from below and from above, (n + 1,) each."""

    x: tuple[Float64, Float64]
    phi: tuple[Float64, Float64]

    @classmethod
    def of(cls, x: Float64, phi: Float64) -> Sums:
        """The sums of sorted x (n,) and its phi (n,)."""
        return cls(*((prefix_sums(z), prefix_sums(z[::-1])[::-1]) for z in (x, phi)))

    def others(self) -> Iterator[tuple[slice, Float64, Float64]]:
        """In blocks: a slice of incomes, and for each of them the sums of z and of phi(z) over all others."""
        n = self.x[0].size - 1
        for first in range(0, n, _BLOCK):
            at = slice(first, min(first + _BLOCK, n))
            after = slice(at.start + 1, at.stop + 1)
            yield at, self.x[0][at] + self.x[1][after], self.phi[0][at] + self.phi[1][after]


def least_ratio(sums: Sums, convex: Convex, k: Indices) -> Float64:
    """The least sum(phi) / sum(z) at each of the ranks k, 1 <= k <= n - 2, to (5 e + 32) u."""
    n = sums.x[0].size - 1

    def at(lam: Float64, k: Indices) -> tuple[Float64, Float64]:
        z, phi_z = convex.lowest(lam)
        return sums.phi[0][n - 1 - k] + k * phi_z, sums.x[0][n - 1 - k] + k * z

    return _solve(at, k, float(sums.phi[0][n - 1] / sums.x[0][n - 1]), -1, convex.error)


def largest_ratio(x: Float64, sums: Sums, convex: Convex, k: Indices) -> Float64:
    """The largest sum(phi) / sum(z) of sorted x at each of the ranks k; see `least_ratio`."""
    domain, n = convex.domain, x.size
    ends = np.array([domain.lower, domain.upper])
    phi_ends = convex.phi(ends)

    def at(lam: Float64, k: Indices) -> tuple[Float64, Float64]:
        first = _start(x, convex, lam, k + 1, n - 1 - k)
        top = (phi_ends[1] - lam * ends[1] > phi_ends[0] - lam * ends[0]).astype(np.intp)
        kept = [part[0][first] + part[1][first + k + 1] for part in (sums.phi, sums.x)]
        return kept[0] + k * phi_ends[top], kept[1] + k * ends[top]

    return _solve(at, k, float(sums.phi[1][1] / sums.x[1][1]), 1, convex.error)


def _start(x: Float64, convex: Convex, lam: Float64, size: Indices, last: Indices) -> Indices:
    """The first start s <= `last` from where the window x[s : s + size] would not lose psi by moving up."""
    low, high = np.zeros_like(last), last.copy()
    while bool((low < high).any()):
        middle = (low + high) // 2
        # A search that has ended may stand at `last`, where there is no next income.
        after = np.minimum(middle + size, x.size - 1)
        falls = (convex.chord(x[middle], x[after]) < lam) & (low < high)
        low = np.where(falls, middle + 1, low)
        high = np.where(falls, high, middle)
    return low


def _solve(
    at: Callable[[Float64, Indices], tuple[Float64, Float64]], k: Indices, start: float, sign: int, error: int
) -> Float64:
    """Dinkelbach's iteration; `sign` is -1 for the least and 1 for the largest ratio.

    `start` is a ratio that can occur at each rank: that of all incomes but one.
    """
    step, margin = (4 * error + 24) * UNIT, (2 * error + 8) * UNIT
    result = np.empty(k.size)
    open_, lam = np.arange(k.size), np.full(k.size, start)
    while open_.size:
        probe = lam * (1 + sign * step)
        phi, z = at(probe, k[open_])
        done = sign * (probe * z - phi) >= margin * probe * z
        result[open_[done]] = lam[done]
        ratio = phi / z
        lam = (np.minimum(ratio, probe) if sign < 0 else np.maximum(ratio, probe))[~done]
        open_ = open_[~done]
    return result


def ratio_ladder(
    x: Float64,
    convex: Convex,
    local: Callable[[Sums], float],
    move_at_most: Callable[[Float64, Float64, float], Float64],
    most: float,
) -> Ranks:
    """I_k of sorted x (n,) for an index whose changes f_c(S, t) are as stated here.

    A change by one income, S and H being the sums of z and phi(z) over the others, is at most the larger of
    f_L and f_U at t = H / S; f_L rises and f_U falls in t. I_0 is the local sensitivity, I_k for
    1 <= k <= n - 2 the larger of the two at the ends of the ranges of t and S, I_k = GS (`most`) beyond.
    This is a ladder: the data within k replacements of x are within k + 1 of a neighbour of x, so that the
    ranges grow, and the local sensitivity at x is bounded by what the neighbour's ranges for k = 1 contain.
    `local` gives I_0; move_at_most(s, t, c) the largest f_c for S in s[0]..s[1].
    """
    n, domain = x.size, convex.domain
    sums = Sums.of(x, convex.phi(x))

    def ranks(first: int, stop: int) -> Float64:
        result: Float64 = np.full(stop - first, most)
        if first == 0 < stop:
            result[0] = local(sums)
        k = np.arange(max(first, 1), min(stop, n - 1))
        if k.size:
            s = np.stack([sums.x[0][n - 1 - k] + k * domain.lower, sums.x[1][k + 1] + k * domain.upper])
            low_t, up_t = least_ratio(sums, convex, k), largest_ratio(x, sums, convex, k)
            to_low, to_high = move_at_most(s, up_t, domain.lower), move_at_most(s, low_t, domain.upper)
            result[k - first] = np.maximum(to_low, to_high)
        return np.minimum(result, most, out=result)

    return ranks
