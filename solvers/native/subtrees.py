"""Where the gap of a Model 2 table sits, and small subtrees round it solved again by stock HiGHS.

Prices split the gap between objective and bound into one part a region, none negative. A subtree whose root
keeps its row is a problem of its own: a better table of it, recomputed, is a better table of the whole.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

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


def _size_within(problem: Problem, top: int, most: int) -> bool:
    """Whether region `top` and all below it are at most `most` regions."""
    first, last, count = top, top + 1, 0
    while first < last and count <= most:
        count += last - first
        first, last = int(problem.child_start[first]), int(problem.child_start[last])
    return count <= most


def open_tops(problem: Problem, gaps: Float64, least: float, most_tops: int) -> list[int]:
    """The largest subtrees within MOST_ENTRIES round regions with a gap above `least`, widest gap first."""
    most = MOST_ENTRIES // problem.width
    wide = np.flatnonzero(gaps > least)
    tops: list[int] = []
    for region in wide[np.argsort(-gaps[wide], kind="stable")][: 4 * most_tops].tolist():
        top = region if _size_within(problem, region, most) else -1
        while top > 0 and _size_within(problem, int(problem.parent[top]), most):
            top = int(problem.parent[top])
        if top >= 0 and top not in tops and problem.child_start[top] < problem.child_start[top + 1]:
            tops.append(top)
    return tops[:most_tops]


def solved_again(problem: Problem, x: Int64, top: int, options: SolveOptions) -> Int64 | None:
    """The rows of the subtree of `top` after it has been solved with its own row kept; None if no better."""
    from pgsr.solvers.adapters.window import WindowSolver

    rows = subtree_rows(problem, top)
    position = {int(row): k for k, row in enumerate(rows)}
    parent = np.array([-1] + [position[int(p)] for p in problem.parent[rows[1:]]], dtype=np.int64)
    here = x[rows]
    low, high = np.zeros_like(here), np.full_like(here, int(here[0, -1]))
    low[0] = high[0] = here[0]
    part = Problem(
        parent=parent,
        target=problem.target[rows],
        total=int(here[0, -1]),
        weights=problem.region_weights[rows],
        cumulative=True,
        lower=low,
        upper=high,
    )
    quiet = replace(options, progress=None, observe=None, gap=0.0, start=None, threads=1)
    found = WindowSolver().solve(part, quiet).x
    if found is None or max(part.violations(found).values()) > 0:
        return None
    whole: Int64 = found.astype(np.int64)
    return whole if part.exact_objective(whole) < part.exact_objective(here) else None
