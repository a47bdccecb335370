"""Compiled passes of the splitting method for Model 2: tree step, row step, bound; see `splitting`.

Tables are (R, N) or (inner rows, N), in level order. Region r has weight w, penalty rho (0: the region has
no row of its own to respect, so it is merely the sum of its children) and, in scaled form, the dual u of
"x = z". With `y = z - u`, a region's part of the tree step costs `(x - b)^2 / (2 q)`: leaves have `q = 1/rho,
b = y`, inner ones `q = Q/(1 + rho Q), b = (B + rho Q y)/(1 + rho Q)` where Q, B are sums over children. The
price of a region, `(x - B)/Q`, is the multiplier of "it is the sum of its children".
"""

from __future__ import annotations

import numpy as np
from numba import njit

from pgsr.solvers.native.splitrows import (
    FIT,
    HERE,
    KEPT,
    LINES,
    ROW,
    TARGET,
    breach,
    pool,
    pool_free,
    row_bound,
)

ALPHA = 1.6
"""Over-relaxation."""


@njit(inline="always")
def tree_step(c, inner, p, rho, share, big_q, big_b, price, z, u, total, room):  # type: ignore[no-untyped-def]
    """Value HERE of region c from the prices of its parent p (root: from none); sets its own prices.

    The last entry of the root is the total.
    """
    width = z.shape[1]
    penalty = rho[c]
    if c == 0:
        for s in range(width):
            y = z[0, s] - u[0, s]
            here = y + (big_b[0, s] - y) * share[0] if penalty > 0.0 else big_b[0, s]
            if s == width - 1:
                here = total
            room[HERE, s] = here
            price[0, s] = (here - big_b[0, s]) / big_q[0]
    elif not inner:
        q = 1.0 / penalty
        for s in range(width):
            room[HERE, s] = z[c, s] - u[c, s] + q * price[p, s]
    elif penalty == 0.0:
        for s in range(width):
            room[HERE, s] = big_b[c, s] + big_q[c] * price[p, s]
            price[c, s] = price[p, s]
    else:
        part = share[c]
        q = big_q[c] * part
        inverse = 1.0 / big_q[c]
        for s in range(width):
            y = z[c, s] - u[c, s]
            here = y + (big_b[c, s] - y) * part + q * price[p, s]
            room[HERE, s] = here
            price[c, s] = (here - big_b[c, s]) * inverse


@njit(nogil=True, cache=True)
def pass_start(first, last, child_start, target, weight, low, high, total, whole, z):  # type: ignore[no-untyped-def]
    """Every row by itself into `z` (R, N): the best one without regard to the tree."""
    width = target.shape[1]
    room = np.zeros((LINES, width))
    begin = np.empty(width, dtype=np.int64)
    for p in range(first, last):
        for c in range(child_start[p] if p > 0 else 0, child_start[p + 1]):
            for s in range(width):
                room[TARGET, s] = target[c, s]
            length = width if c > 0 else width - 1
            row_bound(c, length, weight[c], low, high, total, whole, room, begin)
            if c == 0:
                room[ROW, width - 1] = total
            for s in range(width):
                z[c, s] = room[ROW, s]


@njit(nogil=True, cache=True)
def pass_up(first, last, child_start, rho, share, z, u, big_b, leaves):  # type: ignore[no-untyped-def]
    """Complete `big_b` (inner rows, N): sums over inner children, and over leaves too if `leaves`."""
    width = z.shape[1]
    for p in range(last - 1, first - 1, -1):
        begin, end = child_start[p], child_start[p + 1]
        if begin == end:
            continue
        if leaves:
            for s in range(width):
                big_b[p, s] = 0.0
        elif child_start[begin] == child_start[end]:
            continue
        for c in range(begin, end):
            if child_start[c] == child_start[c + 1]:
                if leaves:
                    for s in range(width):
                        big_b[p, s] += z[c, s] - u[c, s]
            elif rho[c] == 0.0:
                for s in range(width):
                    big_b[p, s] += big_b[c, s]
            else:
                for s in range(width):
                    y = z[c, s] - u[c, s]
                    big_b[p, s] += y + (big_b[c, s] - y) * share[c]


@njit(nogil=True, cache=True)
def pass_down(  # type: ignore[no-untyped-def]
    first,
    last,
    child_start,
    target,
    weight,
    rho,
    share,
    big_q,
    big_b,
    price,
    z,
    u,
    low,
    high,
    total,
    whole,
    residual,
):
    """One iteration for the children of a range: tree step, row step; `big_b` restarts with the leaves.

    `residual` (R, 2): sums over sizes of `(x - z)^2` and of `(z - previous z)^2`. `whole`: squares are
    interpolated at the whole numbers. The root comes with its children.
    """
    width = target.shape[1]
    room = np.empty((LINES, width))
    begin = np.empty(width, dtype=np.int64)
    free = low.shape[0] == 0
    for p in range(first, last):
        for c in range(child_start[p] if p > 0 else 0, child_start[p + 1]):
            inner = child_start[c] < child_start[c + 1]
            tree_step(c, inner, p, rho, share, big_q, big_b, price, z, u, total, room)
            if c <= child_start[p]:
                # The parent's sum has been used: by its own tree step, which for the root came just now.
                for s in range(width):
                    big_b[p, s] = 0.0
            penalty = rho[c]
            if penalty == 0.0:
                continue
            pull = 2.0 * weight[c] / (2.0 * weight[c] + penalty)
            for s in range(width):
                t = ALPHA * room[HERE, s] + (1.0 - ALPHA) * z[c, s] + u[c, s]
                room[KEPT, s] = t
                room[FIT, s] = t + pull * (target[c, s] - t)
            half = 0.5 * pull if whole else 0.0
            length = width if c > 0 else width - 1
            if free:
                pool_free(length, half, total, room, begin)
            else:
                pool(length, half, c, low, high, total, room, begin)
            if c == 0:
                room[ROW, width - 1] = room[KEPT, width - 1] = total
            primal, dual = 0.0, 0.0
            for s in range(width):
                value = room[ROW, s]
                off, step = room[HERE, s] - value, value - z[c, s]
                primal += off * off
                dual += step * step
                z[c, s] = value
                u[c, s] = room[KEPT, s] - value
            residual[c, 0] = primal
            residual[c, 1] = dual
            if not inner:
                for s in range(width):
                    big_b[p, s] += z[c, s] - u[c, s]


@njit(nogil=True, cache=True)
def pass_check(  # type: ignore[no-untyped-def]
    first,
    last,
    child_start,
    target,
    weight,
    rho,
    share,
    big_q,
    big_b,
    price,
    z,
    u,
    low,
    high,
    total,
    whole,
    own,
    sums,
    out,
):
    """The next tree step, and what it proves; `z` and `u` stay as they are.

    Returns the range's part of the lower bound, three sums of squares of its leaves and the largest
    violation by its values. Sets `price`, and `sums` (inner rows, N) to the sums of leaf children. Leaves
    are made feasible by themselves (not if `own`: tables with bounds), and written if `out` has rows.
    """
    width = target.shape[1]
    room = np.empty((LINES, width))
    begin = np.empty(width, dtype=np.int64)
    bound, worst = 0.0, 0.0
    squares, cross, sizes = 0.0, 0.0, 0.0
    for p in range(first, last):
        if child_start[p] == child_start[p + 1]:
            continue
        for s in range(width):
            sums[p, s] = 0.0
        for c in range(child_start[p] if p > 0 else 0, child_start[p + 1]):
            inner = child_start[c] < child_start[c + 1]
            tree_step(c, inner, p, rho, share, big_q, big_b, price, z, u, total, room)
            if rho[c] > 0.0 or c == 0:
                for s in range(width):
                    room[TARGET, s] = target[c, s]
                    tilt = price[c, s] if inner else 0.0
                    room[KEPT, s] = tilt - price[p, s] if c > 0 else tilt
                length = width if c > 0 else width - 1
                bound += row_bound(c, length, weight[c], low, high, total, whole, room, begin)
                if c == 0:
                    bound += weight[0] * (total - target[0, width - 1]) ** 2
            if own:
                worst = max(worst, breach(c, low, high, room))
            if inner:
                continue
            line = HERE
            if not own:
                line = ROW
                for s in range(width):
                    room[FIT, s] = room[HERE, s]
                pool_free(width, 0.0, total, room, begin)
            part, mixed, size = 0.0, 0.0, 0.0
            for s in range(width):
                here = room[line, s]
                gap = here - target[c, s]
                part += gap * gap
                mixed += gap * here
                size += here * here
                sums[p, s] += here
                if out.shape[0] > 0:
                    out[c, s] = here
            squares += weight[c] * part
            cross += weight[c] * mixed
            sizes += weight[c] * size
    return bound, squares, cross, sizes, worst


@njit(nogil=True, cache=True)
def pass_sums(first, last, child_start, target, weight, sums, out, factor):  # type: ignore[no-untyped-def]
    """Complete `sums` (inner rows, N) upwards; returns three sums of squares of the range's regions.

    If `out` has rows, its rows of leaves are multiplied by `factor` and those of the range filled instead.
    """
    width = target.shape[1]
    lost = np.empty(width)
    squares, cross, sizes = 0.0, 0.0, 0.0
    for p in range(last - 1, first - 1, -1):
        begin, end = child_start[p], child_start[p + 1]
        if begin == end:
            continue
        for c in range(begin, end):
            if out.shape[0] > 0:
                if child_start[c] == child_start[c + 1]:
                    for s in range(width):
                        out[c, s] *= factor
            elif child_start[c] < child_start[c + 1]:
                for s in range(width):
                    sums[p, s] += sums[c, s]
        if out.shape[0] > 0:
            for s in range(width):
                out[p, s] = lost[s] = 0.0
            for c in range(begin, end):  # compensated: a star has millions of leaves
                for s in range(width):
                    value = out[c, s]
                    old = out[p, s]
                    new = old + value
                    lost[s] += (old - new) + value if abs(old) >= abs(value) else (value - new) + old
                    out[p, s] = new
            for s in range(width):
                out[p, s] += lost[s]
            continue
        part, mixed, size = 0.0, 0.0, 0.0
        for s in range(width):
            gap = sums[p, s] - target[p, s]
            part += gap * gap
            mixed += gap * sums[p, s]
            size += sums[p, s] * sums[p, s]
        squares += weight[p] * part
        cross += weight[p] * mixed
        sizes += weight[p] * size
    return squares, cross, sizes
