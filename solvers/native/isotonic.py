"""The cheapest non-decreasing row between bounds, for many rows at once, compiled.

Row `r` minimises `sum_s a loss(z_s - target[r, s]) + tilt[r, s] z_s` over non-decreasing `z` with `low[r,
s] <= z_s <= high[r, s]`, where `a = weight[r] >= 0`. `low` and `high` must themselves be non-decreasing
with `low <= high`: then the domain [largest low, smallest high] of a pooled block is never empty, because
two blocks are pooled only if the left one's minimiser is above the right one's.

Squares are fitted by pooling adjacent violators. It stays exact on whole numbers: the minimiser of a block
on the whole numbers is its real minimiser rounded to nearest (halves up: the largest minimiser, throughout)
and clipped. Absolute values take a pass over sizes that keeps the slopes of `min over z_1 <= .. <= z_s <=
v` as a heap of breakpoints. All kernels are plain loops, so that their `py_func` runs on tables of Python
integers too.
"""

from __future__ import annotations

import numpy as np
from numba import njit

LIMB = 31
_MASK = (1 << LIMB) - 1


@njit(nogil=True, cache=True)
def whole_squares(target, tilt, weight, low, high, begin, pull, at, value, limbs):  # type: ignore[no-untyped-def]
    """Minimum over whole numbers of each row's squares, less `a target^2`, summed over rows into `limbs`.

    All tables (rows, N) and `weight` (rows,) int64, or objects for the plain function. `begin`, `pull`,
    `at` (N,) are room for blocks, of the same kind. The sum is `sum_i limbs[i] 2^(31 i)`, exact if nothing
    leaves int64: `N (a (2 |target| + 2 high + 2) + |tilt|) < 2^62`, and fewer than 2^28 entries. `value`
    (rows,) float64 receives the rows' minima, rounded and with `a target^2`.
    """
    rows, width = target.shape
    for r in range(rows):
        a = weight[r]
        top = -1
        for s in range(width):
            first = s
            p = 2 * a * target[r, s] - tilt[r, s]  # the block's cost is a n z^2 - p z + constant
            while True:
                n = s + 1 - first
                if a > 0:
                    z = min(max((p + a * n) // (2 * a * n), low[r, s]), high[r, first])
                elif p < 0:
                    z = low[r, s]
                else:
                    z = high[r, first]
                if top < 0 or at[top] <= z:
                    break
                first = begin[top]
                p += pull[top]
                top -= 1
            top += 1
            begin[top], pull[top], at[top] = first, p, z
        end = width
        total = 0.0
        for b in range(top, -1, -1):
            z = at[b]
            term = a * (end - begin[b]) * z - pull[b]
            z_high, z_low = z >> LIMB, z & _MASK
            term_high, term_low = term >> LIMB, term & _MASK
            lowest = z_low * term_low
            middle = z_high * term_low + z_low * term_high
            highest = z_high * term_high
            limbs[0] += lowest & _MASK
            limbs[1] += (lowest >> LIMB) + (middle & _MASK)
            limbs[2] += (middle >> LIMB) + (highest & _MASK)
            limbs[3] += highest >> LIMB
            for s in range(begin[b], end):
                gap = float(z - target[r, s])
                total += float(a) * gap * gap + float(tilt[r, s]) * float(z)
            end = begin[b]
        value[r] = total


@njit(nogil=True, cache=True)
def real_squares(target, tilt, weight, low, high, whole, begin, sums, tilts, at, value, size):  # type: ignore[no-untyped-def]
    """Minimum of each row's squares over real numbers, or whole ones if `whole`, in float64.

    All tables (rows, N) and `weight` (rows,) float64; `begin` (N,) int64, `sums`, `tilts`, `at` (N,)
    float64 are room for blocks. Sets `value` (rows,) and `size` (rows,): the sum of the magnitudes of the
    terms added up.
    """
    rows, width = target.shape
    for r in range(rows):
        a = weight[r]
        top = -1
        for s in range(width):
            first = s
            t, q = target[r, s], tilt[r, s]
            while True:
                p = 2.0 * a * t - q
                if a > 0.0:
                    z = p / (2.0 * a * (s + 1 - first))
                    if whole:
                        z = np.floor(z + 0.5)
                    z = min(max(z, low[r, s]), high[r, first])
                elif p < 0.0:
                    z = low[r, s]
                else:
                    z = high[r, first]
                if top < 0 or at[top] <= z:
                    break
                first = begin[top]
                t += sums[top]
                q += tilts[top]
                top -= 1
            top += 1
            begin[top], sums[top], tilts[top], at[top] = first, t, q, z
        end = width
        total, magnitude = 0.0, 0.0
        for b in range(top, -1, -1):
            z = at[b]
            for s in range(begin[b], end):
                gap = z - target[r, s]
                square, linear = a * gap * gap, tilt[r, s] * z
                total += square + linear
                magnitude += square + abs(linear)
            end = begin[b]
        value[r], size[r] = total, magnitude


@njit(nogil=True, cache=True)
def absolutes(target, tilt, weight, low, high, point, change, value):  # type: ignore[no-untyped-def]
    """Minimum of each row's absolute values into `value` (rows,); on whole data real numbers attain no less.

    Tables, `weight` and `value` int64, float64 or (plain function) objects; `point`, `change` (2 N,) of the
    same kind are room for the heap. In int64 exact if `4 N (|target| + high + 1) (a + |tilt|) < 2^62`.
    After size s the cost of the sizes so far, as a function of an upper bound v on z_s, is `best + sum_i
    change[i] max(0, point[i] - v)`, for v >= low[r, s].
    """
    rows, width = target.shape
    for r in range(rows):
        a = weight[r]
        best = 0 * a
        size = 0
        for s in range(width):
            floor, cap, q = low[r, s], high[r, s], tilt[r, s]
            t = min(max(target[r, s], floor), cap)
            best += a * abs(target[r, s] - t) + a * (cap - t) + q * cap  # the cost at v = cap
            slope = a + q  # to the right of all breakpoints
            for turn in range(2):
                spot, jump = (t, 2 * a) if turn == 0 else (cap, -slope)
                if jump <= 0:
                    continue
                i = size
                size += 1
                while i > 0 and point[(i - 1) >> 1] < spot:
                    above = (i - 1) >> 1
                    point[i], change[i] = point[above], change[above]
                    i = above
                point[i], change[i] = spot, jump
            here = cap
            while slope > 0:  # walk left to the minimum
                there = point[0] if size > 0 and point[0] > floor else floor
                best -= slope * (here - there)
                here = there
                if here == floor:
                    size = 0
                    break
                if change[0] > slope:
                    change[0] -= slope
                    break
                slope -= change[0]
                size -= 1
                spot, jump = point[size], change[size]
                i = 0
                while 2 * i + 1 < size:
                    below = 2 * i + 1
                    if below + 1 < size and point[below + 1] > point[below]:
                        below += 1
                    if point[below] <= spot:
                        break
                    point[i], change[i] = point[below], change[below]
                    i = below
                point[i], change[i] = spot, jump
        value[r] = best
