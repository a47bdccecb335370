"""A feasible whole table from any table of numbers: one pass down the tree, compiled.

The children of a region share its row size by size. Their values there are moved by a common amount so that
they add up, not below what each child has at the size before, and rounded; the few units left over go where
rounding lost most. Parents come first, so every region follows its own value, not the sum of its leaves'
(which is far off before a splitting method has converged). [Fioretto2021] Model 2; O(R N log R) at most.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from pgsr.models.problem import Float64, Int64, Problem
from pgsr.solvers.native.schedule import Runner, call

_STEPS = 100  # Newton steps: two or three do, and what is left over is shared out anyway


@njit(nogil=True, cache=True)
def level_of(value, low, wanted, count):  # type: ignore[no-untyped-def]
    """The amount t at which `max(low, value + t)` sums up to `wanted`, over `count` entries.

    The sum is convex and increasing in t, so Newton's method from the right never overshoots.
    """
    summed = 0.0
    for i in range(count):
        summed += value[i]
    t = (wanted - summed) / count
    for _ in range(_STEPS):
        excess, free = -float(wanted), 0
        for i in range(count):
            moved = value[i] + t
            if moved > low[i]:
                excess += moved
                free += 1
            else:
                excess += low[i]
        if free == 0 or excess <= 1e-9 * max(1.0, abs(float(wanted))):
            break
        t -= excess / free
    return t


@njit(nogil=True, cache=True)
def hand_out(whole, part, low, left, count):  # type: ignore[no-untyped-def]
    """Add `left` units (take away, if negative) to `whole`, largest `part` first (last), not below `low`."""
    while left != 0:
        open_count = 0
        for i in range(count):
            if left > 0 or whole[i] > low[i]:
                open_count += 1
        step = max(1, abs(left) // open_count)
        if abs(left) <= 2 or count <= 4:
            best = -1
            for i in range(count):
                if left > 0:
                    if best < 0 or part[i] > part[best]:
                        best = i
                elif whole[i] > low[i] and (best < 0 or part[i] < part[best]):
                    best = i
            move = step if left > 0 else -min(step, whole[best] - low[best])
            whole[best] += move
            part[best] -= move
            left -= move
            continue
        order = np.argsort(part[:count])
        for k in range(count):
            if left > 0:
                i = order[count - 1 - k]
                move = min(step, left)
            else:
                i = order[k]
                move = -min(step, -left, whole[i] - low[i])
            whole[i] += move
            part[i] -= move
            left -= move
            if left == 0:
                break


@njit(nogil=True, cache=True)
def pass_round(first, last, child_start, z, total, x):  # type: ignore[no-untyped-def]
    """Fill `x` (R, N) int64 for the children of a range of regions, near `z` (R, N); the root comes too."""
    width = z.shape[1]
    most = 1
    for p in range(first, last):
        most = max(most, child_start[p + 1] - child_start[p])
    value, part = np.empty(most), np.empty(most)
    low, whole = np.empty(most, dtype=np.int64), np.empty(most, dtype=np.int64)
    for p in range(first, last):
        if p == 0:
            floor = 0
            for s in range(width):
                near = min(max(z[0, s], 0.0), float(total))
                floor = max(floor, min(total, np.int64(np.floor(near + 0.5))))
                x[0, s] = floor
            x[0, width - 1] = total
        begin, end = child_start[p], child_start[p + 1]
        count = end - begin
        if count == 0:
            continue
        if count == 1:
            for s in range(width):
                x[begin, s] = x[p, s]
            continue
        for i in range(count):
            low[i] = 0
        for s in range(width):
            wanted = x[p, s]
            for i in range(count):
                value[i] = min(max(z[begin + i, s], 0.0), float(total))
            t = level_of(value, low, wanted, count)
            left = wanted
            for i in range(count):
                moved = value[i] + t
                whole[i] = max(low[i], np.int64(np.floor(moved + 0.5)))
                part[i] = moved - whole[i]
                left -= whole[i]
            hand_out(whole, part, low, left, count)
            for i in range(count):
                x[begin + i, s] = low[i] = whole[i]


def round_down_the_tree(problem: Problem, z: Float64, run: Runner, out: Int64 | None = None) -> Int64:
    """A feasible table (R, N) of the cumulative `problem` (no bounds) near the finite numbers `z` (R, N).

    Always gives one, good or bad as `z` may be; never raises OutOfTime if `run` has no deadline.
    """
    x = np.empty(problem.target.shape, dtype=np.int64) if out is None else out
    kernel = call(pass_round, problem.child_start, z, problem.total, x)
    if problem.regions == 1:
        kernel(0, 1)
    else:
        run.down(kernel)
    return x
