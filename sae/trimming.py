"""Trimming survey weights for privacy: caps chosen by a bound on the bias that is public.

Capping weights at t times their mean and spreading the excess over the others in proportion keeps the total
and moves the least weight: w' = min(cap, s w) with s >= 1. The Hajek mean of an outcome in a range of width
R then moves by at most R TV, TV = sum |w - w'| / (2 W) = sum (w - cap)+ / W, for every outcome. The search
looks at this bound, never at the outcomes: to search on the change of an estimate would leak.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pgsr.errors import InputError
from pgsr.mechanism import Columns
from pgsr.sae.checks import Float64, number, outcome_range, positive
from pgsr.sae.sensitivity import area_index


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Trimmed:
    """Trimmed `weights` (n,), the cap `ratio` t in units of the mean weight, and one row an area.

    Columns of `table`: area, n, ratio before and after (w_max / w_mean), sensitivity before and after, kish
    before and after (sum w^2 / W^2), bias_bound R TV.
    """

    weights: Float64 = field(repr=False)
    ratio: float
    table: Columns = field(repr=False)


def trim(weights: Any, ratio: float) -> Float64:
    """Weights of one area (n,) capped at `ratio` >= 1 times their mean; the total stays."""
    w = positive(weights, "weights")
    cap = number(ratio, "ratio", 1.0) * float(w.mean())
    if float(w.max()) <= cap:
        return w
    order = np.argsort(-w, kind="stable")
    down = w[order]
    rest = down[::-1].cumsum()[::-1]  # weight of the j-th largest and all below
    scale = (w.sum() - cap * np.arange(w.size)) / rest  # if the j largest are capped
    fits = np.flatnonzero(scale * down <= cap)
    capped = np.full(w.size, cap)
    if fits.size:
        j = int(fits[0])
        capped[j:] = np.minimum(scale[j] * down[j:], cap)
    out = np.empty_like(w)
    out[order] = capped
    return out


def trim_to_bias(
    weights: Any,
    area: Any,
    *,
    bias: float,
    lower: float = 0.0,
    upper: float = 1.0,
    only: Collection[str] | None = None,
) -> Trimmed:
    """The smallest common cap whose bias bound is at most `bias` in every trimmed area.

    weights (n,), area (n,), both public; `only` the areas to trim, such as the one that pays most (all by
    default). Raises InputError for unknown areas and a bias that is not positive.
    """
    w = positive(weights, "weights")
    names, place = area_index(area, w.size)
    width = outcome_range(lower, upper)
    allowed = number(bias, "bias", above=True) / width
    chosen = set(names) if only is None else set(only)
    unknown = sorted(chosen - set(names))
    if unknown or not chosen:
        raise InputError(f"unknown area '{unknown[0]}'" if unknown else "no area", "only", "name areas")
    order, ends = np.argsort(place, kind="stable"), np.cumsum(np.bincount(place, minlength=len(names)))
    rows_of = np.split(order, ends[:-1])
    groups = [rows for name, rows in zip(names, rows_of, strict=True) if name in chosen]
    parts = [w[rows] / w[rows].mean() for rows in groups]
    cap = max(1.0, *(_smallest_cap(part, allowed) for part in parts))
    step = np.finfo(np.float64).eps
    while max(float(np.maximum(part - cap, 0.0).mean()) for part in parts) > allowed:  # rounding
        cap, step = cap * (1.0 + step), 2.0 * step
    after = w.copy()
    for rows in groups:
        after[rows] = trim(w[rows], cap)
    return Trimmed(weights=after, ratio=cap, table=_table(names, place, w, after, width))


def _smallest_cap(part: Float64, allowed: float) -> float:
    """The smallest t with mean (part - t)+ <= allowed.

    The mean is the largest of (S_j - j t) / n, S_j the sum of the j largest: it is at most `allowed` if t is
    at least every (S_j - n allowed) / j.
    """
    sums = np.cumsum(np.sort(part)[::-1])
    return float(((sums - part.size * allowed) / np.arange(1, part.size + 1)).max())


def _table(names: tuple[str, ...], place: Any, before: Float64, after: Float64, width: float) -> Columns:
    m = len(names)
    n = np.bincount(place, minlength=m)
    total = np.bincount(place, weights=before, minlength=m)
    columns: dict[str, Any] = {"area": np.array(list(names), dtype=np.dtypes.StringDType()), "n": n}
    for when, w in (("before", before), ("after", after)):
        largest = np.zeros(m)
        np.maximum.at(largest, place, w)
        columns[f"ratio_{when}"] = largest * n / total
        columns[f"sensitivity_{when}"] = width * largest / total
        columns[f"kish_{when}"] = np.bincount(place, weights=w * w, minlength=m) / total**2
    change = np.bincount(place, weights=np.abs(before - after), minlength=m) / (2.0 * total)
    columns["bias_bound"] = width * change
    return columns
