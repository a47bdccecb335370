"""Exchanges of one unit between leaves of a whole Model 2 table, over ranges of sizes, compiled.

One exchange adds 1 to the cumulative counts of a leaf, and of all above it up to a common region, over the
sizes a .. b, and takes 1 from another leaf's. A pass up the tree keeps, at every region, the cheapest leaf to
add to and the cheapest to take from; two children whose sum is negative exchange at once. When no range of
sizes has a gain, no exchange of two leaves helps. O(R (b - a + 1)) a pass. [Fioretto2021] Model 2.
"""

from __future__ import annotations

import numpy as np
from numba import njit

_TRIES = 4  # rounds of exchanges at one region; the next pass goes on
_HUGE = np.inf


@njit(nogil=True, cache=True)
def move_costs(c, child_start, x, target, weight, a, b, up, down):  # type: ignore[no-untyped-def]
    """Cost of one unit more, and of one less, in region c and its cheapest leaf, over sizes a .. b."""
    slope = 0
    for s in range(a, b + 1):
        slope += x[c, s] - target[c, s]
    tilt, curve = 2.0 * weight[c] * slope, weight[c] * (b - a + 1)
    more, less = curve + tilt, curve - tilt
    if child_start[c] < child_start[c + 1]:
        return more + up[c], less + down[c]
    if b + 1 < x.shape[1] and x[c, b + 1] <= x[c, b]:
        more = _HUGE
    if x[c, a] <= (x[c, a - 1] if a > 0 else 0):
        less = _HUGE
    return more, less


@njit(nogil=True, cache=True)
def refresh(p, child_start, x, target, weight, a, b, up, down, up_at, down_at):  # type: ignore[no-untyped-def]
    """Set the cheapest moves below inner region p; return the cheapest exchange of two of its children."""
    up1, up2, down1, down2 = _HUGE, _HUGE, _HUGE, _HUGE
    up_best, down_best = -1, -1
    for c in range(child_start[p], child_start[p + 1]):
        more, less = move_costs(c, child_start, x, target, weight, a, b, up, down)
        if more < up1:
            up1, up2, up_best = more, up1, c
        elif more < up2:
            up2 = more
        if less < down1:
            down1, down2, down_best = less, down1, c
        elif less < down2:
            down2 = less
    up[p], down[p], up_at[p], down_at[p] = up1, down1, up_best, down_best
    if up_best != down_best:
        return up1 + down1
    return min(up1 + down2, up2 + down1)


@njit(nogil=True, cache=True)
def move(  # type: ignore[no-untyped-def]
    c, sign, parent, child_start, x, target, weight, a, b, up, down, up_at, down_at, changed, now
):
    """Add `sign` to region c and its cheapest leaf over sizes a .. b; renew what is known below c's parent.

    Regions with a changed row below them get the time `now` in `changed`.
    """
    top = parent[c]
    while True:
        for s in range(a, b + 1):
            x[c, s] += sign
        if c > 0:
            changed[parent[c]] = now
        if child_start[c] == child_start[c + 1]:
            break
        c = up_at[c] if sign > 0 else down_at[c]
    c = parent[c]
    while c != top:
        refresh(c, child_start, x, target, weight, a, b, up, down, up_at, down_at)
        c = parent[c]


@njit(nogil=True, cache=True)
def exchange_children(  # type: ignore[no-untyped-def]
    p, slack, parent, child_start, x, target, weight, a, b, up, down, up_at, down_at, changed, now
):
    """Exchange between pairs of children of p, the cheapest first, each child once; return the gain."""
    begin = child_start[p]
    count = child_start[p + 1] - begin
    more, less = np.empty(count), np.empty(count)
    for i in range(count):
        more[i], less[i] = move_costs(begin + i, child_start, x, target, weight, a, b, up, down)
    adding, taking = np.argsort(more), np.argsort(less)
    used = np.zeros(count, dtype=np.bool_)
    gain = 0.0
    i, j = 0, 0
    while True:
        while i < count and used[adding[i]]:
            i += 1
        while j < count and used[taking[j]]:
            j += 1
        if count in (i, j):
            break
        give, take = adding[i], taking[j]
        if give == take:  # the second best of either side
            k, m = i + 1, j + 1
            while k < count and used[adding[k]]:
                k += 1
            while m < count and used[taking[m]]:
                m += 1
            other = more[adding[k]] + less[take] if k < count else _HUGE
            if m < count and more[give] + less[taking[m]] < other:
                take = taking[m]
            elif k < count:
                give = adding[k]
            else:
                break
        cost = more[give] + less[take]
        if not cost < -slack:
            break
        used[give] = used[take] = True
        gain -= cost
        move(
            begin + give,
            1,
            parent,
            child_start,
            x,
            target,
            weight,
            a,
            b,
            up,
            down,
            up_at,
            down_at,
            changed,
            now,
        )
        move(
            begin + take,
            -1,
            parent,
            child_start,
            x,
            target,
            weight,
            a,
            b,
            up,
            down,
            up_at,
            down_at,
            changed,
            now,
        )
    return gain


@njit(nogil=True, cache=True)
def pass_exchange(  # type: ignore[no-untyped-def]
    first,
    last,
    slack,
    parent,
    child_start,
    x,
    target,
    weight,
    a,
    b,
    up,
    down,
    up_at,
    down_at,
    changed,
    now,
    since,
):
    """Exchange units below every region of a range, bottom-up, over sizes a .. b; return the gain.

    Regions below which nothing has changed after the time `since` are as they were left then.
    """
    gain = 0.0
    for p in range(last - 1, first - 1, -1):
        begin, end = child_start[p], child_start[p + 1]
        if begin == end:
            continue
        if child_start[begin] < child_start[end]:
            for c in range(begin, end):
                if child_start[c] < child_start[c + 1]:
                    changed[p] = max(changed[p], changed[c])
        if changed[p] <= since:
            continue
        for _ in range(_TRIES):
            if not refresh(p, child_start, x, target, weight, a, b, up, down, up_at, down_at) < -slack:
                break
            gain += exchange_children(
                p, slack, parent, child_start, x, target, weight, a, b, up, down, up_at, down_at, changed, now
            )
        else:
            refresh(p, child_start, x, target, weight, a, b, up, down, up_at, down_at)
            changed[p] = now + 1  # not done here
    return gain


@njit(nogil=True, cache=True)
def move_root(  # type: ignore[no-untyped-def]
    slack, tries, parent, child_start, x, target, weight, a, b, up, down, up_at, down_at, changed, now
):
    """Move single units of the whole tree over sizes a .. b, short of the last; return the gain."""
    gain = 0.0
    for _ in range(tries):
        more, less = move_costs(0, child_start, x, target, weight, a, b, up, down)
        if not min(more, less) < -slack:
            break
        gain -= min(more, less)
        sign = 1 if more <= less else -1
        move(0, sign, parent, child_start, x, target, weight, a, b, up, down, up_at, down_at, changed, now)
    return gain


@njit(nogil=True, cache=True)
def mark_changed(first, last, child_start, old, new, changed, now):  # type: ignore[no-untyped-def]
    """Set `changed` to `now` at regions of a range below which the rows of children differ."""
    for p in range(first, last):
        for c in range(child_start[p], child_start[p + 1]):
            for s in range(old.shape[1]):
                if old[c, s] != new[c, s]:
                    changed[p] = now
                    break
