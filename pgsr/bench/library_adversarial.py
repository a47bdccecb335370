"""Hard cases of Model 2: linear programs that have fractions, and windows that mislead."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np

from pgsr.bench.library_parameters import Parameters, whole
from pgsr.bench.presets import Model
from pgsr.bench.trees import regular
from pgsr.counts import GroupSizes
from pgsr.models.problem import Int64, Problem

MOST_COPIES = 10_000
LINEAR_VALUE = 48.5
"""Of the linear program of one copy; its optimum in whole numbers is 49."""


def deep(parameters: Parameters, seed: int) -> GroupSizes:
    """Counts of 0 and 1 in the leaves of a binary tree, at random."""
    levels, sizes = whole(parameters, "levels", 9, 20), whole(parameters, "sizes", 6, 1_000)
    tree = regular(levels, 2, [f"{chr(ord('a') + level)}" for level in range(levels)])
    leaf_counts = np.random.default_rng(seed).integers(0, 2, (2 ** (levels - 1), sizes))
    return GroupSizes.from_leaf_counts(tree, np.arange(1, sizes + 1), leaf_counts)


def fractional(parameters: Parameters, _model: Model) -> Problem:
    """Copies of the smallest known problem whose linear program is fractional, below a root of weight 0.

    Each copy holds 4 units, by bounds on the last entry of its top region, so that nothing ties it to the
    others: the linear program costs 48.5 a copy and the integers 49, whatever their number. One copy stands
    alone, without bounds.
    """
    from pgsr.solvers.conformance.cases import named

    one = named("model2-fractional").problem
    copies = whole(parameters, "copies", 1, MOST_COPIES)
    if copies == 1:
        return one
    parent = [np.array([-1])]
    above, start = np.zeros(copies, dtype=np.int64), 1  # where each copy's parents begin, and the level
    for first, last in itertools.pairwise(one.level_start.tolist()):
        inside = one.parent[first:last] - one.parent[first]
        parent.append((above[:, None] + inside).ravel())
        above = start + (last - first) * np.arange(copies)
        start += (last - first) * copies
    target = side_by_side(one, one.target, copies)
    lower, upper = np.zeros_like(target), np.full_like(target, one.total * copies)
    lower[1 : 1 + copies, -1] = upper[1 : 1 + copies, -1] = one.total
    weights = np.ones(len(target))
    weights[0] = 0.0
    return Problem(
        parent=np.concatenate(parent),
        target=target,
        total=one.total * copies,
        weights=weights,
        cumulative=True,
        lower=lower,
        upper=upper,
    )


def side_by_side(one: Problem, table: Int64, copies: int) -> Int64:
    """Rows for several copies below a root that is their sum; `table` (R, N) has the rows of `one`.

    Of an optimal table of one copy, an optimal table of all: the problem is the sum of separate ones.
    """
    levels = itertools.pairwise(one.level_start.tolist())
    rows = [np.tile(table[first:last], (copies, 1)) for first, last in levels]
    return np.concatenate([copies * table[:1], *rows])


def window_trap(_parameters: Parameters, _model: Model) -> Problem:
    """The conformance case of that name; its leaf above the last level gets a child that takes its weight."""
    from pgsr.solvers.conformance.cases import named

    one = named("model2-window-trap").problem
    leaf = 3
    weights = np.append(one.region_weights, one.region_weights[leaf])
    weights[leaf] = 0.0
    return replace(
        one,
        parent=np.append(one.parent, leaf),
        target=np.vstack([one.target, one.target[leaf]]),
        weights=weights,
    )
