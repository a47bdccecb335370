"""Marginal costs of one unit more or less, compiled; shared by the dynamic programs and the certificate.

Modes: 0 squares on integers, 1 absolute values on integers, 2 squares, 3 absolute values (derivatives).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from pgsr.levelorder import Int64
from pgsr.models.exact import dyadic_weights
from pgsr.models.problem import Float64, Problem

L2_STEP, L1_STEP, L2_SLOPE, L1_SLOPE = 0, 1, 2, 3

# In int64 no finite sum of marginal costs reaches this (checked by `step_weights`), and twice it fits.
INFINITE = 2**61


def infinite(weights: Int64 | Float64) -> Any:
    """What stands for infinity beside these weights, of their type."""
    return np.float64(np.inf) if weights.dtype.kind == "f" else np.int64(INFINITE)


@njit(inline="always")
def up_cost(mode, weight, x, y):  # type: ignore[no-untyped-def]
    """Cost of one unit more at value `x`, target `y` (or the right derivative)."""
    if mode == 0:
        return weight * (2 * (x - y) + 1)
    if mode in (1, 3):  # not a set: that takes seconds to compile
        return weight if x >= y else -weight
    return weight * (2 * (x - y))


@njit(inline="always")
def down_cost(mode, weight, x, y):  # type: ignore[no-untyped-def]
    """Cost of one unit less at value `x`, target `y` (or minus the left derivative)."""
    if mode == 0:
        return weight * (2 * (y - x) + 1)
    if mode in (1, 3):  # not a set: that takes seconds to compile
        return weight if x <= y else -weight
    return weight * (2 * (y - x))


def step_weights(problem: Problem, reach: int) -> tuple[Int64, int] | None:
    """Weights as int64 times `2**-k` if sums of marginal costs stay exact, else None.

    `reach`: bound on |x - target|. A sum runs over one path up and one path down the tree.
    """
    exact = dyadic_weights(problem.region_weights)
    if exact is None:
        return None
    largest = int(exact[0].max(initial=0)) * (2 * reach + 1)
    depth = problem.level_start.size
    return exact if 2 * (depth + 1) * largest < INFINITE else None


def numeric_weights(problem: Problem, reach: int) -> tuple[Int64 | Float64, int, bool]:
    """Weights for a kernel: `(weights, k, exact)`, int64 in units of `2**-k` or plain float64 (k = 0)."""
    exact = step_weights(problem, reach)
    if exact is not None:
        return exact[0], exact[1], True
    return problem.region_weights, 0, False


def reach_of(problem: Problem) -> int:
    """Bound on |x - target| over all feasible x."""
    top, bottom = int(problem.target.max()), int(problem.target.min())
    return max(problem.total - min(bottom, 0), abs(top), abs(bottom)) + 1


def empty_table() -> Int64:
    """A (0, 0) table: stands for `no bounds` in kernels."""
    return np.empty((0, 0), dtype=np.int64)
