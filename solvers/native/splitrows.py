"""Compiled parts of the splitting method: fits of one row, non-decreasing and between bounds; penalties.

Rows are fitted by pooling adjacent violators: a block's minimiser is a non-decreasing function of its mean.
Bounds must be non-decreasing along sizes: then [low at its last size, high at its first] is a block's domain,
and never empty, since two blocks are pooled only if the left one's value is above the right one's.

`room` (7, N) float64 and `begin` (N,) int64 are room for one row, allocated once for many rows. What they
hold: FIT what is fitted, SUMS and VALUES of blocks, KEPT whatever the caller wants (tilts here), ROW the
fitted row, HERE the row's value in the tree step, TARGET its target.
"""

from __future__ import annotations

import numpy as np
from numba import njit

FIT, SUMS, VALUES, KEPT, ROW, HERE, TARGET = range(7)
LINES = 7


@njit(nogil=True, cache=True)
def bend(mean, half):  # type: ignore[no-untyped-def]
    """The minimiser of an interpolated square plus a penalty, from the mean; `half` = w/(2w + rho).

    `half` 0 keeps the mean, 1/2 (no penalty) rounds it to nearest.
    """
    if half == 0.0:
        return mean
    floor = np.floor(mean)
    part = mean - floor
    if part <= half:
        return floor if part < 0.5 else floor + 1.0
    if part >= 1.0 - half:
        return floor + 1.0
    return floor + (part - half) / (1.0 - 2.0 * half)


@njit(nogil=True, cache=True)
def write_blocks(top, width, room, begin):  # type: ignore[no-untyped-def]
    """Write the values of blocks 0 to `top` to the fitted row."""
    end = width
    for b in range(top, -1, -1):
        for s in range(begin[b], end):
            room[ROW, s] = room[VALUES, b]
        end = begin[b]


@njit(nogil=True, cache=True)
def pool_free(width, half, total, room, begin):  # type: ignore[no-untyped-def]
    """Fit a row up to `width` sizes, with values in [0, total]."""
    top = -1
    for s in range(width):
        first = s
        value = summed = room[FIT, s]
        # Bounds are the same at all sizes, so values can be bent and cut afterwards.
        while top >= 0 and room[VALUES, top] > value:
            first = begin[top]
            summed += room[SUMS, top]
            value = summed / (s + 1 - first)
            top -= 1
        top += 1
        begin[top] = first
        room[SUMS, top] = summed
        room[VALUES, top] = value
    for b in range(top + 1):
        room[VALUES, b] = min(max(bend(room[VALUES, b], half), 0.0), total)
    write_blocks(top, width, room, begin)


@njit(nogil=True, cache=True)
def pool(width, half, r, low, high, total, room, begin):  # type: ignore[no-untyped-def]
    """Fit a row of region r up to `width` sizes, between `low` and `high` (R, N; no rows: 0 and `total`)."""
    if low.shape[0] == 0:
        pool_free(width, half, total, room, begin)
        return
    top = -1
    for s in range(width):
        first = s
        summed = room[FIT, s]
        value = min(max(bend(summed, half), low[r, s]), high[r, s])
        while top >= 0 and room[VALUES, top] > value:
            first = begin[top]
            summed += room[SUMS, top]
            value = min(max(bend(summed / (s + 1 - first), half), low[r, s]), high[r, first])
            top -= 1
        top += 1
        begin[top] = first
        room[SUMS, top] = summed
        room[VALUES, top] = value
    write_blocks(top, width, room, begin)


@njit(nogil=True, cache=True)
def linear_row(r, width, low, high, total, room, begin):  # type: ignore[no-untyped-def]
    """Minimise `tilt z` over rows of region r: blocks go to an end of their domain."""
    top = -1
    bounded = low.shape[0] > 0
    for s in range(width):
        first = s
        slope = room[KEPT, s]
        while True:
            least = low[r, s] if bounded else 0.0
            most = high[r, first] if bounded else total
            value = least if slope > 0.0 else most
            if top < 0 or room[VALUES, top] <= value:
                break
            first = begin[top]
            slope += room[SUMS, top]
            top -= 1
        top += 1
        begin[top] = first
        room[SUMS, top] = slope
        room[VALUES, top] = value
    write_blocks(top, width, room, begin)


@njit(nogil=True, cache=True)
def row_bound(r, width, w, low, high, total, whole, room, begin):  # type: ignore[no-untyped-def]
    """Minimise `w (z - target)^2 + tilt (z - here)` over rows z of region r, by the lines of `room`."""
    if w > 0.0:
        part = 0.5 / w
        for s in range(width):
            room[FIT, s] = room[TARGET, s] - part * room[KEPT, s]
        pool(width, 0.5 if whole else 0.0, r, low, high, total, room, begin)
    else:
        linear_row(r, width, low, high, total, room, begin)
    squares, linear = 0.0, 0.0
    for s in range(width):
        z = room[ROW, s]
        gap = z - room[TARGET, s]
        squares += gap * gap
        linear += room[KEPT, s] * (z - room[HERE, s])
    return w * squares + linear


@njit(nogil=True, cache=True)
def breach(r, low, high, room):  # type: ignore[no-untyped-def]
    """Largest violation of monotonicity and bounds by the value HERE of region r."""
    worst = 0.0
    for s in range(room.shape[1]):
        here = room[HERE, s]
        worst = max(worst, low[r, s] - here, here - high[r, s])
        if s > 0:
            worst = max(worst, room[HERE, s - 1] - here)
    return worst


@njit(nogil=True, cache=True)
def penalties(child_start, weight, scale, decay, floor, rho):  # type: ignore[no-untyped-def]
    """First penalties into `rho` (R,): `scale w decay^height`, 0 where w = 0.

    Where `floor` (R,) is set, w = 0 is replaced by the stiffness of the children's weights.
    """
    count = rho.shape[0]
    height = np.zeros(count)
    soft = np.zeros(count)
    for r in range(count - 1, -1, -1):
        w = weight[r]
        for c in range(child_start[r], child_start[r + 1]):
            height[r] = max(height[r], height[c] + 1.0)
            soft[r] += 1.0 / soft[c]
        soft[r] = w + 1.0 / soft[r] if child_start[r] < child_start[r + 1] else w
        if w == 0.0:
            w = soft[r] if floor[r] else 0.0
        rho[r] = scale * w * decay ** height[r]


@njit(nogil=True, cache=True)
def stiffness(child_start, rho, share, big_q):  # type: ignore[no-untyped-def]
    """Fill `share`, `big_q` (R,): `1/(1 + rho Q)` and Q, the sum of the children's q."""
    for r in range(rho.shape[0] - 1, -1, -1):
        big_q[r] = 0.0
        for c in range(child_start[r], child_start[r + 1]):
            big_q[r] += big_q[c] * share[c] if child_start[c] < child_start[c + 1] else 1.0 / rho[c]
        share[r] = 1.0 / (1.0 + rho[r] * big_q[r])
