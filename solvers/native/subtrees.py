"""Where the gap of a Model 2 table sits, and small subtrees round it solved again by stock HiGHS.

Prices split the gap between objective and bound into one part a region, none negative. Subtrees with the
regions above them are a problem of their own if the rest of the tree keeps its rows: a better table of it,
recomputed, is a better table of the whole.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from pgsr.models.problem import Float64, Int64, Problem
from pgsr.solvers.base import SolveOptions

MOST_ENTRIES = 3_000
"""Entries of a subtree that is solved again."""

_CHUNK = 1 << 18


def region_gaps(problem: Problem, x: Int64, prices: Float64, parts: Float64) -> Float64:
    """What each region (R,) costs at the feasible `x` (R, N) above its part of the bound.

    `prices` (inner rows or R, N), `parts` (R,) as `multiplier_bound` takes and gives them; float64.
    """
    inner = problem.inner()
    gaps = np.empty(problem.regions)
    rows = max(1, _CHUNK // problem.width)
    for first in range(0, problem.regions, rows):
        part = slice(first, min(first + rows, problem.regions))
        tilt = np.zeros((part.stop - first, problem.width))
        own = np.flatnonzero(inner[part])
        tilt[own] = prices[first + own]
        skip = 1 if first == 0 else 0
        tilt[skip:] -= prices[problem.parent[first + skip : part.stop]]
        off = (x[part] - problem.target[part]).astype(np.float64)
        cost = problem.region_weights[part] * (off * off).sum(axis=1) + (tilt * x[part]).sum(axis=1)
        gaps[part] = cost - parts[part]
    return gaps


def subtree_rows(problem: Problem, top: int) -> Int64:
    """The rows of region `top` and all below it, in level order."""
    levels = [np.array([top])]
    start = problem.child_start
    while True:
        above = levels[-1]
        first, last = int(start[above[0]]), int(start[above[-1] + 1])
        if first == last:  # a level of a subtree is contiguous
            return np.concatenate(levels)
        levels.append(np.arange(first, last))


def size_within(problem: Problem, top: int) -> bool:
    """Whether region `top` and all below it have at most MOST_ENTRIES entries."""
    first, last, count = top, top + 1, 0
    most = MOST_ENTRIES // problem.width
    while first < last and count <= most:
        count += last - first
        first, last = int(problem.child_start[first]), int(problem.child_start[last])
    return count <= most


def open_tops(problem: Problem, gaps: Float64, least: float, most_tops: int) -> list[int]:
    """The largest subtrees within MOST_ENTRIES round regions with a gap above `least`, widest gap first."""
    wide = np.flatnonzero(gaps > least)
    tops: list[int] = []
    for region in wide[np.argsort(-gaps[wide], kind="stable")][: 4 * most_tops].tolist():
        top = region if size_within(problem, region) else -1
        while top > 0 and size_within(problem, int(problem.parent[top])):
            top = int(problem.parent[top])
        if top >= 0 and top not in tops and problem.child_start[top] < problem.child_start[top + 1]:
            tops.append(top)
    return tops[:most_tops]


def solved_again(
    problem: Problem, x: Int64, tops: list[int], options: SolveOptions
) -> tuple[Int64, Int64] | None:
    """Solve the subtrees of `tops` again, with all above them, while the rest of the tree keeps its rows.

    Returns the rows that may have changed and their values, or None if nothing better was found.
    """
    from pgsr.solvers.adapters.window import WindowSolver

    inside = np.zeros(problem.regions, dtype=np.bool_)
    for top in tops:
        inside[subtree_rows(problem, top)] = True
        above = top
        while above >= 0:
            inside[above] = True
            above = int(problem.parent[above])
    part, rows = _part(problem, x, inside)
    kept = rows >= 0
    quiet = replace(options, progress=None, observe=None, gap=0.0, start=None, threads=1)
    found = WindowSolver().solve(part, quiet).x
    if found is None or max(part.violations(found).values()) > 0:
        return None
    whole: Int64 = found.astype(np.int64)
    here = np.where(kept[:, None], x[np.maximum(rows, 0)], part.target)
    if not part.exact_objective(whole) < part.exact_objective(here):
        return None
    return rows[kept], whole[kept]


def _part(problem: Problem, x: Int64, inside: NDArray[np.bool_]) -> tuple[Problem, Int64]:
    """The problem of the regions `inside` (R,), and their rows; -1 stands for all others below one."""
    start = problem.child_start
    rows, parent, pinned = [0], [-1], {}
    position = 0
    while position < len(rows):
        region = rows[position]
        if region >= 0:
            children = np.arange(start[region], start[region + 1])
            within = inside[children]
            rows += children[within].tolist()
            parent += [position] * int(within.sum())
            if not within.all():
                pinned[len(rows)] = x[children[~within]].sum(axis=0)
                rows.append(-1)
                parent.append(position)
        position += 1
    order = np.array(rows)
    real = np.maximum(order, 0)
    target, weights = problem.target[real], problem.region_weights[real].copy()
    low, high = np.zeros_like(target), np.full_like(target, problem.total)
    for place, row in pinned.items():
        target[place] = low[place] = high[place] = row
        weights[place] = weights.max()
    part = Problem(
        parent=np.array(parent, dtype=np.int64),
        target=target,
        total=problem.total,
        weights=weights,
        cumulative=True,
        lower=low,
        upper=high,
    )
    return part, order
