"""The worst pair of areas for a record that may go from one to the other: shifts with two coordinates.

A record that leaves area k and joins area l moves y_k and y_l by delta_k and delta_l, of any signs and of
sizes up to Delta_k and Delta_l. If the shift of a release costs |F delta|^2 / 2 for a linear map F, the cost
is convex in (delta_k, delta_l), so largest at a corner of their rectangle:

    rho_kl = rho_k + rho_l + Delta_k Delta_l |F_k . F_l|,   rho_k = Delta_k^2 |F_k|^2 / 2,

with the sign of F_k . F_l. By Cauchy and Schwarz it is at most (sqrt(rho_k) + sqrt(rho_l))^2.
"""

from __future__ import annotations

import numpy as np

from pgsr.sae.checks import Float64


def worst_pair(own: Float64, left: Float64, right: Float64) -> tuple[float, tuple[int, int]]:
    """The largest own_k + own_l + |left_k . right_l| over pairs, and the pair; own (m,), the others (m, q).

    The products must be symmetric, and at most 2 sqrt(own_k own_l). With one area, its own alone.
    """
    best, pair = float(own.max()), (int(own.argmax()),) * 2
    order = np.argsort(-own, kind="stable")
    mine, root = own[order], np.sqrt(own[order])
    left, right = left[order], right[order]
    reach = np.sqrt((left * left).sum(axis=1)), np.sqrt((right * right).sum(axis=1))
    # The longest row from each place on.
    ahead = [np.maximum.accumulate(part[::-1])[::-1] for part in reach]
    for a in range(own.size - 1):
        rest = slice(a + 1, None)
        most = min(2 * root[a] * root[a + 1], float(ahead[0][a] * ahead[1][a]))
        if mine[a] + mine[a + 1] + most <= best:
            # No pair of this or later areas can beat the best: products are symmetric, own falls.
            break
        bound = mine[a] + mine[rest] + np.minimum(2 * root[a] * root[rest], reach[0][rest] * reach[1][a])
        rows = a + 1 + np.flatnonzero(bound > best)
        if not rows.size:
            continue
        both = mine[a] + mine[rows] + np.abs(left[rows] @ right[a])
        if float(both.max()) > best:
            best = float(both.max())
            pair = (int(order[a]), int(order[rows[int(both.argmax())]]))
    return best, pair


def two_largest(values: Float64) -> float:
    """The sum of the two largest of m >= 2 numbers: what a record that moves can add to a sum over areas."""
    return float(np.partition(values, -2)[-2:].sum())
