"""A better bound than any prices give, from small subtrees solved in whole numbers by stock HiGHS.

The bound by prices lets every region choose its row alone. Where that leaves a gap, the regions of a subtree
choose together, whole and adding up, with only the link to the region above priced: what they then cost more
than their parts of the bound may be added to it, for any disjoint subtrees. That each of these minima is one
is HiGHS' word, so the sum is believed, not proven. (3.4.4)
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from pgsr.models.forms.piecewise import Windows, piecewise_form
from pgsr.models.problem import Float64, Problem
from pgsr.solvers.base import SolveOptions
from pgsr.solvers.native.subtrees import size_within, subtree_rows

REACH = 2
"""Half-width of the windows round the regions' own best rows; what lies outside is bounded by distance."""

_SLACK = 1e-5  # for HiGHS' tolerances


def disjoint_tops(problem: Problem, gaps: Float64, least: float, climb: int, most_tops: int) -> list[int]:
    """Tops of disjoint subtrees round the regions with a gap above `least`, `climb` regions further up.

    Never the root, and no higher than small subtrees reach; at most `most_tops`, the widest gaps first.
    """
    wide = np.flatnonzero(gaps > least)
    found: list[int] = []
    for region in wide[np.argsort(-gaps[wide], kind="stable")][:most_tops].tolist():
        top = region
        for _ in range(climb):
            above = int(problem.parent[top])
            if above <= 0 or not size_within(problem, above):
                break
            top = above
        if top > 0 and size_within(problem, top):
            found.append(top)
    kept: set[int] = set()
    for top in sorted(set(found)):  # those above come first
        above = int(problem.parent[top])
        while above > 0 and above not in kept:
            above = int(problem.parent[above])
        if above <= 0:
            kept.add(top)
    return sorted(kept, key=found.index)


def lift(problem: Problem, prices: Float64, parts: Float64, top: int, options: SolveOptions) -> float:
    """How much more the subtree of `top` costs than its `parts` (R,) of the bound by `prices`; at least 0.

    `prices` (inner rows or R, N), `parts` as `multiplier_bound` takes and gives them. Squares, no bounds.
    `options.time_limit_s` limits the search; what is known by then counts.
    """
    from pgsr.solvers.adapters.adapter import Recorder
    from pgsr.solvers.adapters.highs_call import call_highs

    rows = subtree_rows(problem, top)
    own = np.zeros((rows.size, problem.width))
    inner = problem.inner()[rows]
    own[inner] = prices[rows[inner]]
    above = prices[problem.parent[rows]]
    weight = problem.region_weights[rows]
    target = problem.target[rows].astype(np.float64)
    centre, excess = _alone(target, own - above, weight, problem.total, parts[rows])
    inside = Problem(
        parent=np.concatenate([[-1], np.searchsorted(rows, problem.parent[rows[1:]])]),
        target=problem.target[rows],
        total=problem.total,
        weights=weight,
        cumulative=True,
    )
    low, high = np.zeros(target.shape, dtype=np.int64), np.full(target.shape, problem.total)
    free = Windows(low=low, high=high, domain_low=low, domain_high=high)
    near = np.where(weight[:, None] > 0, centre, 0.0)
    windows = free.between(
        np.where(weight[:, None] > 0, np.floor(near + 1e-6) - REACH, 0).astype(np.int64),
        np.where(weight[:, None] > 0, np.ceil(near - 1e-6) + REACH, problem.total).astype(np.int64),
    )
    program = piecewise_form(inside, windows)
    tilt = np.zeros(target.size)
    tilt[: problem.width] = above[0]
    loose = program.row_lower.copy(), program.row_upper.copy()
    total_row = int(inner.sum()) * problem.width
    loose[0][total_row], loose[1][total_row] = -np.inf, np.inf
    program = replace(
        program,
        linear=program.linear - tilt[program.entry] * program.step,
        constant=program.constant - float(tilt @ windows.low.ravel()),
        row_lower=loose[0],
        row_upper=loose[1],
    )
    quiet = replace(options, progress=None, observe=None, gap=0.0, start=None)
    recorder = Recorder(inside, quiet)
    answer = call_highs(program, quiet, recorder, seconds=quiet.time_limit_s, partial=True)
    if answer.bound is None:
        return 0.0
    known = float(parts[rows].sum())
    least = answer.bound + program.constant - known
    # A table with an entry outside its window costs its region so much more than the region's own best row.
    below, beyond = windows.artificial()
    outside = math.inf
    for mask, distance in ((below, centre - (windows.low - 1)), (beyond, windows.high + 1 - centre)):
        worth = weight[:, None] * distance**2 - excess[:, None]
        outside = min(outside, float(worth[mask].min(initial=np.inf)))
    return max(0.0, min(least, outside) - _SLACK * max(1.0, float(weight.max())))


def _alone(
    target: Float64, tilt: Float64, weight: Float64, total: int, parts: Float64
) -> tuple[Float64, Float64]:
    """Every region's best real row (k, N), and what its best whole one costs beyond that (k,)."""
    from scipy.optimize import isotonic_regression

    centre, excess = np.zeros(target.shape), np.zeros(weight.size)
    for k in np.flatnonzero(weight > 0):
        wanted = target[k] - tilt[k] / (2.0 * weight[k])
        centre[k] = np.clip(isotonic_regression(wanted).x, 0, total)
        real = weight[k] * ((centre[k] - target[k]) ** 2).sum() + float(tilt[k] @ centre[k])
        excess[k] = max(0.0, parts[k] - real)
    return centre, excess
