"""Confidential: the data sets behind a sensitivity, as in Tables 1 and 2 of [Li2026]."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from pgsr.errors import InputError
from pgsr.inequality import mld, mld_direct, theil, theil_tight
from pgsr.inequality.domain import Domain, Float64
from pgsr.inequality.ratio import Sums, largest_ratio, least_ratio


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Witness:
    """Confidential: `data` (n,) within `rank` replacements of the incomes, and the `change` that it allows.

    Moving the income at `position` from `before` to `after` changes the index by `change` in size, which
    is A^(rank). The data are in the order of the sorted incomes.
    """

    rank: int
    data: Float64
    position: int
    before: float
    after: float
    change: float


def _moved(x: Float64, position: int, domain: Domain, *, count: int, up: bool) -> Float64:
    """Sorted x with `count` of the others moved: the largest to L or, if `up`, the smallest to U."""
    data = x.copy()
    others = np.delete(np.arange(x.size), position)
    data[others[:count] if up else others[x.size - 1 - count :]] = domain.upper if up else domain.lower
    return data


def _final(data: Float64, position: int, domain: Domain, rank: int) -> Witness:
    """The largest change that the income at `position` of `data` allows."""
    before, n = float(data[position]), domain.n
    s = float(np.delete(data, position).sum())
    goals = np.array([domain.lower, domain.upper, np.clip(s / (n - 1), domain.lower, domain.upper)])
    changes = np.abs(mld.change(s, before, goals, n))
    at = int(changes.argmax())
    return Witness(
        rank=rank,
        data=data,
        position=position,
        before=before,
        after=float(goals[at]),
        change=float(changes[at]),
    )


def mld_witness(x: Any, domain: Domain, rank: int) -> Witness:
    """Confidential: a data set that attains A^(rank) of the mean log deviation, and the final change.

    O(n): Theorem 3.3 evaluated for every record. Raises InputError for a negative rank and for incomes
    that do not fit the domain.
    """
    if rank < 0:
        raise InputError("a negative rank", "rank", "give 0 or more")
    x = domain.sorted_incomes(x)
    if rank >= domain.n:
        return _final(np.full(domain.n, domain.lower), 0, domain, rank)
    found = mld_direct.candidates(x, domain, rank)
    options = []
    for up, fixed, moved in (
        (False, found.fixed_low, found.moved_low),
        (True, found.fixed_up, found.moved_up),
    ):
        at = int(fixed.argmax())
        options.append(_final(_moved(x, at, domain, count=rank, up=up), at, domain, rank))
        if moved.size:
            at = int(moved.argmax())
            data = _moved(x, at, domain, count=rank - 1, up=up)
            others = float(np.delete(data, at).sum())
            data[at] = np.clip(others / (domain.n - 1), domain.lower, domain.upper)
            options.append(_final(data, at, domain, rank))
    return max(options, key=lambda option: option.change)


def theil_local_witness(x: Any, domain: Domain) -> Witness:
    """Confidential: the single replacement that changes the Theil index most (Proposition 4.1).

    Raises InputError for incomes that do not fit the domain.
    """
    x = domain.sorted_incomes(x)
    goals: list[float | None] = [domain.lower, domain.upper, None]
    best = (-1.0, 0, 0.0)
    for at, s, h in Sums.of(x, theil.weighted_logs(x, domain)).others():
        moves = theil.local_moves(s, h, x[at], domain)
        goal, here = (int(one) for one in np.unravel_index(int(moves.argmax()), moves.shape))
        if moves[goal, here] > best[0]:
            lowest = float(np.clip(domain.lower * np.exp(h[here] / s[here]), domain.lower, domain.upper))
            end = goals[goal]
            best = (float(moves[goal, here]), at.start + here, lowest if end is None else end)
    change, position, after = best
    before = float(x[position])
    return Witness(rank=0, data=x, position=position, before=before, after=after, change=change)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TheilRange:
    """Confidential: what bounds the Theil index's changes at `rank`: a row of Table 2, and the tighter range.

    `smallest` and `largest` (n - 1,) are the others with the smallest and the largest sum; `low_t`..`up_t`
    and `bound` are the paper's range of t and B_T; `tight_low_t`..`tight_up_t` and `tight_bound` those of B1
    (at rank 0 B1 is the local sensitivity; at rank n - 1 all others are free, and so is t).
    """

    rank: int
    smallest: Float64
    largest: Float64
    low_t: float
    up_t: float
    bound: float
    tight_low_t: float
    tight_up_t: float
    tight_bound: float


def theil_range(x: Any, domain: Domain, rank: int) -> TheilRange:
    """Confidential: the ranges of S and t at a rank 0 <= rank <= n - 1, in the paper and in B1.

    Raises InputError for another rank and for incomes that do not fit the domain.
    """
    n = domain.n
    if not 0 <= rank < n:
        raise InputError("no such rank", "rank", f"give 0 to {n - 1}")
    x = domain.sorted_incomes(x)
    k = np.array([rank])
    found = theil.paper_ranges(x, domain, k)
    tight = np.array([domain.lower, domain.upper])
    convex = theil_tight.WeightedLog(domain)
    sums = Sums.of(x, convex.phi(x))
    if 1 <= rank <= n - 2:
        ends = np.append(least_ratio(sums, convex, k), largest_ratio(x, sums, convex, k))
        tight = domain.lower * np.exp(ends)
    elif rank == 0:
        ratios = [h / s for _, s, h in sums.others()]
        ends = np.array([min(r.min() for r in ratios), max(r.max() for r in ratios)])
        tight = domain.lower * np.exp(ends)
    return TheilRange(
        rank=rank,
        smallest=np.append(x[: n - 1 - rank], np.full(rank, domain.lower)),
        largest=np.append(x[rank + 1 :], np.full(rank, domain.upper)),
        low_t=float(found["low_t"][0]),
        up_t=float(found["up_t"][0]),
        bound=float(theil.paper_ladder(x, domain)(rank, rank + 1)[0]),
        tight_low_t=float(tight[0]),
        tight_up_t=float(tight[1]),
        tight_bound=float(theil_tight.ladder(x, domain)(rank, rank + 1)[0]),
    )
