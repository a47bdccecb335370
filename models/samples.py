"""Small random problems and their complete enumeration: the ground truth that solvers are checked against."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from pgsr.models.problem import Int64, Loss, Problem

Weights = Literal["unit", "dyadic", "float", "zero"]
Bounds = Literal["none", "lower", "upper", "both", "pins"]


def random_parent(rng: np.random.Generator, regions: int) -> Int64:
    """Parents of a random tree in level order; leaves may lie at any depth."""
    parent = [-1]
    for region in range(1, regions):
        parent.append(int(rng.integers(max(0, parent[-1]), region)))
    return np.array(parent, dtype=np.int64)


def random_table(rng: np.random.Generator, problem: Problem) -> Int64:
    """A random table of whole units that adds up along the tree and to the total (Model 1; no bounds)."""
    leaves = np.flatnonzero(~problem.inner())
    cells = leaves.size * problem.width
    x = np.zeros(problem.target.shape, dtype=np.int64)
    x[leaves] = rng.multinomial(problem.total, rng.dirichlet(np.ones(cells))).reshape(
        leaves.size, problem.width
    )
    return add_up(problem, x)


def add_up(problem: Problem, x: Int64) -> Int64:
    """Replace the rows of inner regions by the sums of their children, in place."""
    for region in range(problem.regions - 1, 0, -1):
        x[problem.parent[region]] += x[region]
    return x


def random_problem(
    rng: np.random.Generator,
    *,
    regions: int = 8,
    width: int = 3,
    total: int = 6,
    noise: int = 8,
    weights: Weights = "unit",
    bounds: Bounds = "none",
    loss: Loss = "l2",
) -> Problem:
    """A random feasible Model 1 problem with at most the given sizes.

    Targets are uniform within `noise` of 0; weights: 1, multiples of 1/4, any float, or whole numbers
    with 0 at some inner regions; bounds hold at a random table, so the problem is feasible.
    """
    parent = random_parent(rng, int(rng.integers(1, regions + 1)))
    shape = (parent.size, int(rng.integers(1, width + 1)))
    target = rng.integers(-noise, noise + 1, shape)
    plain = Problem(parent=parent, target=target, total=int(rng.integers(0, total + 1)))
    weight = None
    if weights == "dyadic":
        weight = rng.integers(1, 9, parent.size) / 4.0
    elif weights == "float":
        weight = rng.uniform(0.01, 3.0, parent.size)
    elif weights == "zero":
        weight = np.where(plain.inner(), rng.integers(0, 3, parent.size), 1.0)
    lower: Int64 | None = None
    upper: Int64 | None = None
    if bounds != "none":
        inside = random_table(rng, plain)
        where = rng.random(shape) < 0.3
        slack = 0 if bounds == "pins" else 2
        if bounds != "upper":
            lower = np.where(where, np.maximum(0, inside - rng.integers(0, slack + 1, shape)), 0)
        if bounds != "lower":
            upper = np.where(where, inside + rng.integers(0, slack + 1, shape), plain.total)
    return Problem(
        parent=parent,
        target=target,
        total=plain.total,
        weights=weight,
        lower=lower,
        upper=upper,
        loss=loss,
    )


def enumerate_tables(problem: Problem) -> Iterator[Int64]:
    """Every table that meets all conditions of a tiny Model 1 problem, bounds included."""
    leaves = np.flatnonzero(~problem.inner())
    for cells in _compositions(problem.total, leaves.size * problem.width):
        x = np.zeros(problem.target.shape, dtype=np.int64)
        x[leaves] = np.array(cells).reshape(leaves.size, problem.width)
        add_up(problem, x)
        if (problem.lower is None or np.all(x >= problem.lower)) and (
            problem.upper is None or np.all(x <= problem.upper)
        ):
            yield x


def brute_force(problem: Problem) -> int | float:
    """The optimum of a tiny Model 1 problem, by enumeration."""
    return min(problem.objective(x) for x in enumerate_tables(problem))


def _compositions(total: int, parts: int) -> Iterator[tuple[int, ...]]:
    """All ways to write `total` as `parts` whole numbers from 0 up."""
    if parts == 1:
        yield (total,)
        return
    for first in range(total + 1):
        for rest in _compositions(total - first, parts - 1):
            yield (first, *rest)


def cells(problem: Problem) -> int:
    """Number of leaf cells, which the enumeration is exponential in."""
    return int((~problem.inner()).sum()) * problem.width


def permute_siblings(problem: Problem, rng: np.random.Generator) -> tuple[Problem, NDArray[np.int64]]:
    """The same problem with the children of every region in another order, and the row each region had."""
    order = [0]
    for region in order:
        children = np.arange(problem.child_start[region], problem.child_start[region + 1])
        order.extend(rng.permutation(children).tolist())
    rows = np.array(order, dtype=np.int64)
    position = np.empty_like(rows)
    position[rows] = np.arange(rows.size)
    parent = np.where(problem.parent[rows] < 0, -1, position[problem.parent[rows]])

    def moved(table: Int64 | None) -> Int64 | None:
        return None if table is None else table[rows]

    permuted = Problem(
        parent=parent,
        target=problem.target[rows],
        total=problem.total,
        weights=problem.region_weights[rows],
        lower=moved(problem.lower),
        upper=moved(problem.upper),
        loss=problem.loss,
        integer=problem.integer,
        cumulative=problem.cumulative,
    )
    return permuted, rows
