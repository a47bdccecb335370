"""The matrix form: squares as a quadratic program, absolute values as a linear one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pgsr.models.forms.program import Program
from pgsr.models.problem import Float64, Int64, Problem

if TYPE_CHECKING:
    from scipy.sparse import csc_array


def tree_rows(problem: Problem) -> csc_array[np.float64]:
    """Rows over the entries (R*N, region by region): "sum of children - parent", then the total.

    For Model 1 the total is the sum of the root's row, for Model 2 its last entry.
    """
    from scipy.sparse import csc_array

    width, inner = problem.width, problem.inner()
    rank = np.cumsum(inner) - 1
    sizes = np.arange(width)
    own = np.flatnonzero(inner)
    below = np.arange(1, problem.regions)
    top = np.array([width - 1]) if problem.cumulative else sizes
    rows = np.concatenate(
        [
            (rank[own][:, None] * width + sizes).ravel(),
            (rank[problem.parent[below]][:, None] * width + sizes).ravel(),
            np.full(top.size, own.size * width),
        ]
    )
    columns = np.concatenate(
        [(own[:, None] * width + sizes).ravel(), (below[:, None] * width + sizes).ravel(), top]
    )
    values = np.ones(rows.size)
    values[: own.size * width] = -1.0
    shape = (own.size * width + 1, problem.target.size)
    return csc_array((values, (rows, columns)), shape=shape)


def monotone_rows(problem: Problem) -> csc_array[np.float64]:
    """Rows "entry of a size - entry of the size before" of every region (Model 2), over the entries."""
    from scipy.sparse import csc_array

    width = problem.width
    places = np.arange(problem.target.size).reshape(problem.target.shape)
    later, earlier = places[:, 1:].ravel(), places[:, :-1].ravel()
    rows = np.arange(later.size)
    return csc_array(
        (
            np.concatenate([np.ones(later.size), -np.ones(later.size)]),
            (np.concatenate([rows, rows]), np.concatenate([later, earlier])),
        ),
        shape=(problem.regions * (width - 1), problem.target.size),
    )


def constraint_rows(problem: Problem) -> tuple[csc_array[np.float64], Float64, Float64]:
    """All rows over the entries with their bounds: the tree, the total, and monotony for Model 2."""
    from scipy.sparse import csc_array, vstack

    tree = tree_rows(problem)
    low = np.zeros(tree.shape[0])
    low[-1] = problem.total
    if not problem.cumulative or problem.width == 1:
        return tree, low, low.copy()
    chain = monotone_rows(problem)
    both = csc_array(vstack([tree, chain], format="csc"))
    high = np.concatenate([low, np.full(chain.shape[0], np.inf)])
    return both, np.concatenate([low, np.zeros(chain.shape[0])]), high


def own_bounds(problem: Problem) -> tuple[Int64, Int64]:
    """The bounds that the problem states for every entry (R, N): at least 0, at most the total."""
    low = np.zeros(problem.target.shape, dtype=np.int64)
    high = np.full(problem.target.shape, problem.total, dtype=np.int64)
    if problem.lower is not None:
        np.maximum(low, problem.lower, out=low)
    if problem.upper is not None:
        np.minimum(high, problem.upper, out=high)
    return low, high


def near_origin(problem: Problem) -> Int64:
    """A whole table (R, N) near the target and inside the bounds: as `origin` it keeps all numbers small."""
    low, high = own_bounds(problem)
    return np.clip(problem.target, low, np.maximum(low, high))


def matrix_form(problem: Problem, origin: Int64 | None = None) -> Program:
    """The problem as a program in its entries, relative to the table `origin` (R, N; default 0).

    Squares: one column an entry. Absolute values: two more columns an entry, excess over and shortfall
    under the target, with one row an entry after all others. [Fioretto2021] Models 1 and 2.
    """
    from scipy.sparse import csc_array, eye_array, hstack, vstack

    start = np.zeros(problem.target.shape, dtype=np.int64) if origin is None else origin
    matrix, row_lower, row_upper = constraint_rows(problem)
    moved = matrix @ start.ravel().astype(np.float64)
    row_lower, row_upper = row_lower - moved, row_upper - moved
    low, high = own_bounds(problem)
    lower = (low - start).ravel().astype(np.float64)
    upper = (high - start).ravel().astype(np.float64)
    weight = np.repeat(problem.region_weights, problem.width)
    goal = (problem.target - start).ravel().astype(np.float64)
    entries = goal.size
    entry = np.arange(entries)
    step = np.ones(entries)
    integer = np.full(entries, problem.integer)
    if problem.loss == "l2":
        linear, quadratic = -2.0 * weight * goal, weight.copy()
        constant = float(np.sum(weight * goal * goal, dtype=np.longdouble))
    else:
        linear = np.concatenate([np.zeros(entries), weight, weight])
        quadratic, constant = np.zeros(3 * entries), 0.0
        one = eye_array(entries, format="csc")
        matrix = csc_array(
            vstack(
                [
                    hstack([matrix, csc_array((matrix.shape[0], 2 * entries))]),
                    hstack([one, -one, one]),  # x - excess + shortfall = target
                ],
                format="csc",
            )
        )
        row_lower, row_upper = np.concatenate([row_lower, goal]), np.concatenate([row_upper, goal])
        lower = np.concatenate([lower, np.zeros(2 * entries)])
        upper = np.concatenate([upper, np.full(2 * entries, np.inf)])
        entry = np.concatenate([entry, np.full(2 * entries, -1)])
        step = np.concatenate([step, np.zeros(2 * entries)])
        integer = np.concatenate([integer, np.zeros(2 * entries, dtype=np.bool_)])
    return Program(
        problem=problem,
        constant=constant,
        linear=linear,
        quadratic=quadratic,
        lower=lower,
        upper=upper,
        integer=integer,
        matrix=matrix,
        row_lower=row_lower,
        row_upper=row_upper,
        origin=start,
        entry=entry,
        step=step,
    )
