"""Theorem 3.3 of [Li2026] evaluated directly, record by record: the reference for `pgsr.inequality.mld`.

One rank costs O(n), all of them O(n^2). For each record m, the k largest of the others go to L or the k
smallest to U while m keeps its income (D), or k - 1 of them do and m moves as well (R).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from pgsr.inequality import mld
from pgsr.inequality.domain import Domain, Float64
from pgsr.inequality.numerics import prefix_sums
from pgsr.inequality.smooth import Ranks, Smooth


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Candidates:
    """Confidential: for each record m (n,), the largest change in the four situations of Theorem 3.3.

    Others to L or to U with m fixed (`fixed_low`, `fixed_up`), and with m moved too (`moved_low`, `moved_up`,
    empty at rank 0).
    """

    fixed_low: Float64
    fixed_up: Float64
    moved_low: Float64
    moved_up: Float64

    def largest(self) -> float:
        """A^(k)."""
        parts = (self.fixed_low, self.fixed_up, self.moved_low, self.moved_up)
        return max(float(part.max()) for part in parts if part.size)


def _all_but_one(x: Float64) -> Float64:
    """(n,) the sum of all x but each."""
    below, above = prefix_sums(x), prefix_sums(x[::-1])[::-1]
    return below[:-1] + above[1:]


def lowered(x: Float64, domain: Domain, count: int) -> Float64:
    """(n,) for each record of sorted x, the sum of the others once the `count` largest of them are at L."""
    kept = x.size - count
    rest = float(prefix_sums(x[: kept - 1])[-1])
    return np.append(_all_but_one(x[:kept]), np.full(count, rest)) + count * domain.lower


def raised(x: Float64, domain: Domain, count: int) -> Float64:
    """(n,) for each record of sorted x, the sum of the others once the `count` smallest of them are at U."""
    rest = float(prefix_sums(x[count + 1 :])[-1])
    return np.append(np.full(count, rest), _all_but_one(x[count:])) + count * domain.upper


def candidates(x: Float64, domain: Domain, k: int) -> Candidates:
    """All candidates of sorted x (n,) at rank k, 0 <= k <= n - 1."""
    low, up = lowered(x, domain, k), raised(x, domain, k)
    moved = (lowered(x, domain, k - 1), raised(x, domain, k - 1)) if k else (np.empty(0), np.empty(0))
    return Candidates(
        fixed_low=mld.change_at_most(low, x, domain),
        fixed_up=mld.change_at_most(up, x, domain),
        moved_low=mld.range_at_most(moved[0], domain),
        moved_up=mld.range_at_most(moved[1], domain),
    )


def ladder(x: Float64, domain: Domain) -> Ranks:
    """A^(k) of sorted x (n,), O(n) for each rank."""
    s = np.array((domain.n - 1) * domain.lower)

    def ranks(first: int, stop: int) -> Float64:
        result: Float64 = np.full(stop - first, float(mld.change(s, domain.lower, domain.upper, domain.n)))
        for k in range(first, min(stop, domain.n)):
            result[k - first] = candidates(x, domain, k).largest()
        return result

    return ranks


def smooth(x: Float64, domain: Domain, beta: float) -> Smooth:
    """The smooth sensitivity of sorted x (n,), rank by rank with early stopping: the paper's Algorithm 1."""
    most = mld.global_sensitivity(domain)
    best = Smooth(value=0.0, rank=0)
    for k in range(domain.n + 1):
        if best.value >= math.exp(-beta * k) * most:
            break
        value = math.exp(-beta * k) * float(ladder(x, domain)(k, k + 1)[0])
        if value > best.value:
            best = Smooth(value=value, rank=k)
    return best
