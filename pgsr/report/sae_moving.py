"""What a record pays that may go from one area to another, area by area: plain records for a review."""

from __future__ import annotations

from typing import Any

import numpy as np

from pgsr.sae.checks import Float64
from pgsr.sae.draws import PosteriorMechanism
from pgsr.sae.guarantees import moving_rho, own_rho
from pgsr.sae.pairs import two_largest
from pgsr.sae.posterior import Posterior

Record = dict[str, Any]

_BLOCK = 512


def with_another(values: Float64) -> Float64:
    """Each of m >= 2 numbers plus the largest of the others (m,)."""
    return values + _largest_other(values)


def moving_columns(mechanism: PosteriorMechanism) -> tuple[dict[str, Float64], Record]:
    """Bounds by area (m,) for a record that leaves or joins it, `rho` and `rho_free`; and the whole.

    `rho` is the largest over the other area, in O(m^2 p); `rho_free` holds for joint draws, every model
    variance and design: two Delta^2 / (2 D).
    """
    frame, posterior, count = mechanism.frame, mechanism.posterior, mechanism.draws
    delta, d = frame.sensitivity, posterior.variance
    joint, marginals = (moving_rho(posterior, delta, kind) for kind in ("joint", "marginals"))
    is_joint = mechanism.kind == "joint"
    most, pair = joint if is_joint else marginals
    alone = delta**2 / (2.0 * d)
    columns = {"rho": count * _rho_by_area(posterior, delta, joint=is_joint)}
    if is_joint:
        columns["rho_free"] = count * with_another(alone)
    whole: Record = {
        "draws": count,
        "rho_joint": joint[0],
        "rho_marginals": marginals[0],
        "a_free": two_largest(alone),
        "w_plus": posterior.w_plus,
        "moving": {"rho": count * most, "areas": [frame.areas[place] for place in pair]},
    }
    return columns, whole


def _rho_by_area(posterior: Posterior, delta: Float64, *, joint: bool) -> Float64:
    """Of each area k the largest rho_kl of `pgsr.sae.pairs` over the others l (m,), for one draw."""
    own = own_rho(posterior, delta)
    t = posterior.factor * (delta / posterior.variance)[:, None]
    left = right = t
    if not joint:  # the products of `moving_rho`
        sigma2 = np.where(posterior.sigma2 > 0, posterior.sigma2, 1.0)
        kept = (posterior.g1 / sigma2)[:, None] * t
        own = own * (1.0 + posterior.correlation2_sum)
        left = np.hstack([t, kept])
        right = np.hstack([kept + t @ ((posterior.factor / sigma2[:, None]).T @ posterior.factor), t])
    most = np.empty(own.size)
    for start in range(0, own.size, _BLOCK):
        rows = np.arange(start, min(start + _BLOCK, own.size))
        cost = own[rows, None] + own[None, :] + np.abs(left[rows] @ right.T)
        cost[rows - start, rows] = own[rows]  # a record that stays
        most[rows] = cost.max(axis=1)
    return most


def _largest_other(values: Float64) -> Float64:
    first = int(values.argmax())
    second = float(np.delete(values, first).max())
    others = np.full(values.shape, float(values[first]))
    others[first] = second
    return others
