"""A feasible table near a guess: one pass down the tree within what the bounds allow, compiled."""

from __future__ import annotations

import numpy as np
from numba import njit

from pgsr.levelorder import Int64
from pgsr.models.domains import domains
from pgsr.models.problem import Problem


@njit(nogil=True, cache=True)
def _share(values, low, high, excess):  # type: ignore[no-untyped-def]
    """Take `excess` (or give, if negative) from `values` in equal parts as far as [low, high] allows."""
    while excess != 0:
        open_count = 0
        for i in range(values.size):
            if (excess > 0 and values[i] > low[i]) or (excess < 0 and values[i] < high[i]):
                open_count += 1
        if open_count == 0:
            return False
        part = max(1, abs(excess) // open_count)
        for i in range(values.size):
            if excess > 0:
                move = min(part, excess, values[i] - low[i])
            elif excess < 0:
                move = max(-part, excess, values[i] - high[i])
            else:
                break
            values[i] -= move
            excess -= move
    return True


@njit(nogil=True, cache=True)
def _repair_down(child_start, total, low, high, x):  # type: ignore[no-untyped-def]
    """Make `x` (R, N), within [low, high], add up along the tree and to `total`, from the top down."""
    if not _share(x[0], low[0], high[0], x[0].sum() - total):
        return False
    for p in range(x.shape[0]):
        begin, end = child_start[p], child_start[p + 1]
        if begin == end:
            continue
        for s in range(x.shape[1]):
            excess = x[begin:end, s].sum() - x[p, s]
            if not _share(x[begin:end, s], low[begin:end, s], high[begin:end, s], excess):
                return False
    return True


def repair(problem: Problem, guess: Int64) -> Int64:
    """Return a table that meets the bounds of `problem` (Model 1), close to `guess` (R, N).

    The constructor of `Problem` has checked that one exists; AssertionError otherwise.
    """
    low, high = domains(problem)
    x = np.clip(guess, low, high)
    assert _repair_down(problem.child_start, problem.total, low, high, x), "the bounds allow a table"
    return x
