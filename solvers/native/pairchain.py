"""The best shift between two leaves at all sizes at once, by dynamic programming, compiled.

A shift `d` in {-1, 0, 1} at every size is added to one leaf and all above it, and taken from another leaf and
all above it, up to their lowest common region, which keeps its row. It costs `m d^2 + 2 d g`, where m is the
weight and g the difference of the weighted residuals on both paths, and leaves must stay non-decreasing:
`-n_i <= d_s - d_{s-1} <= n_j`. A leaf alone shifts everything up to the root, whose last entry is pinned.
O(N depth) a pair; for trees of few leaves. [Fioretto2021] Model 2.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from pgsr.models.problem import Int64, Problem
from pgsr.solvers.native.schedule import Runner

MOST_WORK = 100_000_000
"""Pairs of leaves times sizes times levels up to which all pairs are tried."""

_OVERHEAD = 50  # sizes that looking at a pair costs anyway

_FREE = 1 << 62


@njit(nogil=True, cache=True)
def best_shift(m, g, falls, rises, pinned, choice, shift):  # type: ignore[no-untyped-def]
    """The cheapest `shift` (N,) with steps in [-falls, rises] (N,); returns its cost, at most 0.

    `g` (N,), `choice` (N, 3) is room. `pinned`: the last shift is 0.
    """
    width = g.shape[0]
    old0, old1, old2 = np.inf, 0.0, np.inf  # before the first size the shift is 0
    for s in range(width):
        fall, rise = falls[s], rises[s]
        # From each old shift (index - 1) to each new one; staying is always allowed.
        best0, from0 = old0, 0
        if fall >= 1 and old1 < best0:
            best0, from0 = old1, 1
        if fall >= 2 and old2 < best0:
            best0, from0 = old2, 2
        best1, from1 = old1, 1
        if rise >= 1 and old0 < best1:
            best1, from1 = old0, 0
        if fall >= 1 and old2 < best1:
            best1, from1 = old2, 2
        best2, from2 = old2, 2
        if rise >= 1 and old1 < best2:
            best2, from2 = old1, 1
        if rise >= 2 and old0 < best2:
            best2, from2 = old0, 0
        choice[s, 0], choice[s, 1], choice[s, 2] = from0, from1, from2
        old0, old1, old2 = best0 + m - 2.0 * g[s], best1, best2 + m + 2.0 * g[s]
    at, cost = 1, old1
    if not pinned:
        if old0 < cost:
            at, cost = 0, old0
        if old2 < cost:
            at, cost = 2, old2
    for s in range(width - 1, -1, -1):
        shift[s] = at - 1
        at = choice[s, at]
    return cost


@njit(nogil=True, cache=True)
def weigh(r, sign, target, weight, x, g):  # type: ignore[no-untyped-def]
    """Add the weighted residuals of region r to `g`; return its weight."""
    w = sign * weight[r]
    if w != 0.0:
        for s in range(g.shape[0]):
            g[s] += w * (x[r, s] - target[r, s])
    return weight[r]


@njit(nogil=True, cache=True)
def shift_pair(i, j, slack, parent, target, weight, x, changed, now, room):  # type: ignore[no-untyped-def]
    """Apply the best shift between leaves i and j (-1: i alone) if it gains; returns the gain.

    `changed` (R,): when a region was last shifted; nothing is done if for all of them that was before the
    pair was last looked at, which comes with `room`.
    """
    g, falls, rises, choice, shift, since = room
    width = g.shape[0]
    stale = False
    p, q = i, j
    while p != q:
        if p > q:
            stale = stale or changed[p] > since
            p = parent[p]
        else:
            stale = stale or changed[q] > since
            q = parent[q]
    if not stale:
        return 0.0
    g[:] = 0.0
    m = 0.0
    p, q = i, j
    while p != q:  # a parent's row is above its children's, so the lower one of the two climbs
        if p > q:
            m += weigh(p, 1.0, target, weight, x, g)
            p = parent[p]
        else:
            m += weigh(q, -1.0, target, weight, x, g)
            q = parent[q]
    for s in range(width):
        falls[s] = x[i, s] - (x[i, s - 1] if s > 0 else 0)
        rises[s] = _FREE if j < 0 else x[j, s] - (x[j, s - 1] if s > 0 else 0)
    cost = best_shift(m, g, falls, rises, j < 0, choice, shift)
    if not cost < -slack:
        return 0.0
    p, q = i, j
    while p != q:
        if p > q:
            for s in range(width):
                x[p, s] += shift[s]
            changed[p] = now
            p = parent[p]
        else:
            for s in range(width):
                x[q, s] -= shift[s]
            changed[q] = now
            q = parent[q]
    return -cost


@njit(nogil=True, cache=True)
def shift_with(k, slack, leaves, parent, target, weight, x, changed, looked, now):  # type: ignore[no-untyped-def]
    """Shift between leaf number k and every later one, and k alone; returns gain and the new time."""
    width = x.shape[1]
    g, shift = np.empty(width), np.empty(width, dtype=np.int64)
    falls, rises = np.empty(width, dtype=np.int64), np.empty(width, dtype=np.int64)
    choice = np.empty((width, 3), dtype=np.int8)
    gain = 0.0
    for other in range(k, leaves.size):
        j = -1 if other == k else leaves[other]
        now += 1
        room = (g, falls, rises, choice, shift, looked[k, other])
        found = shift_pair(leaves[k], j, slack, parent, target, weight, x, changed, now, room)
        gain += found
        looked[k, other] = now if found == 0.0 else now - 1  # a longer shift may gain once more
    return gain, now


def few_leaves(problem: Problem) -> bool:
    """Whether all pairs of leaves can be tried."""
    leaves = int((~problem.inner()).sum())
    return leaves * leaves * (problem.width + _OVERHEAD) * problem.level_start.size <= MOST_WORK


class PairShifts:
    """Shifts between all pairs of leaves of a problem with `few_leaves`."""

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self._leaves = np.flatnonzero(~problem.inner())

    def improve(self, x: Int64, run: Runner, *, slack: float, rounds: int = 50) -> float:
        """Shift the feasible `x` (R, N) in place until no pair gains more than `slack`; returns the gain.

        `x` is feasible whenever this returns or raises OutOfTime.
        """
        problem, count = self._problem, self._leaves.size
        changed = np.ones(problem.regions, dtype=np.int64)
        looked = np.zeros((count, count), dtype=np.int64)
        gain, now = 0.0, 1
        tables = (self._leaves, problem.parent, problem.target, problem.region_weights, x, changed, looked)
        for _ in range(rounds):
            before = gain
            for k in range(count):
                found, now = shift_with(k, slack, *tables, now)
                gain += found
                run.check()
            if gain == before:
                break
        return gain
