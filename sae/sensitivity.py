"""Delta_k: how far one record can move the direct estimate of an area. Functions of public weights alone.

Outcomes lie in a public range [lower, upper] of width R. Neighbours differ in the outcome of one record (or
of all records of one household), unless said otherwise.

Hajek mean: y = sum w Y / W with W = sum w fixed. Changing the outcomes of a set h of records moves it by
|sum_h w (Y' - Y)| / W <= R w_h / W with w_h = sum_h w; attained when all of h go from one end to the other.
Horvitz-Thompson total: R w_h; mean: R w_h / N.

Weight not fixed, at most w_max: y = o + f (Y - o), with o the others' mean, f = w / (S + w), S the others'
weight, so f <= F = w_max / (S_min + w_max). Two such values differ by at most F (upper - o) + F (o - lower)
= F R. f = 0 is a record that is not there, so this covers adding and removing it, and both sides of a move
between areas.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from pgsr.errors import InputError
from pgsr.sae.checks import Float64, Int64, outcome_range, positive, refuse
from pgsr.sae.pairs import two_largest

Estimator = Literal["hajek", "ht_mean", "ht_total"]


def area_index(area: Any, n: int) -> tuple[tuple[str, ...], Int64]:
    """Sorted area labels (m,), and each record's place among them (n,)."""
    found = np.asarray(area)
    if found.shape != (n,):
        raise InputError("not one area a record", "area", "give one label a record")
    names, place = np.unique(found, return_inverse=True)
    return tuple(str(name) for name in names), place.astype(np.int64)


def mean_sensitivity(
    weights: Any,
    area: Any,
    *,
    lower: float = 0.0,
    upper: float = 1.0,
    estimator: Estimator = "hajek",
    population: Any = None,
    household: Any = None,
) -> Float64:
    """Delta_k (m,) in sorted order of the areas, for fixed weights (n,) > 0 and area labels (n,).

    `household` (n,): the unit of privacy is all records of one; households within one area only.
    `population` (m,): the public sizes N_k, for "ht_mean". Default range: a binary outcome.
    Raises InputError for weights that are not positive and households in two areas.
    """
    w = positive(weights, "weights", way_out="leave records without weight out")
    width = outcome_range(lower, upper)
    names, place = area_index(area, w.size)
    m = len(names)
    largest = np.zeros(m)
    if household is None:
        np.maximum.at(largest, place, w)
    else:
        total, home = _household_weights(household, place, w)
        np.maximum.at(largest, home, total)
    if estimator == "ht_total":
        return width * largest
    if estimator == "ht_mean":
        if population is None:
            raise InputError("a mean needs population sizes", "population", "give N of each area")
        return width * largest / positive(population, "population", m)
    if estimator != "hajek":
        raise InputError("unknown estimator", "estimator", "use hajek, ht_mean or ht_total")
    return width * largest / np.bincount(place, weights=w, minlength=m)


def _household_weights(household: Any, place: Int64, w: Float64) -> tuple[Float64, Int64]:
    ids = np.asarray(household)
    if ids.shape != w.shape:
        raise InputError("not one household a record", "household", "give one label a record")
    _, first, home = np.unique(ids, return_index=True, return_inverse=True)
    refuse(
        place != place[first][home],
        "a household in two areas",
        "household",
        "use households within areas as the unit",
    )
    total: Float64 = np.bincount(home, weights=w).astype(np.float64)
    return total, place[first]


def free_weight_sensitivity(others: Any, largest: Any, *, lower: float = 0.0, upper: float = 1.0) -> Float64:
    """Delta (m,) of Hajek means when a record's weight may be anything up to `largest` w_max.

    `others` (m,): public lower bounds S_min > 0 on the weight of an area's other records. `largest`: one
    public number, or one an area. Holds for a replaced, added, removed or moved record alike.
    """
    s = positive(others, "weight of the others")
    top = positive(np.broadcast_to(np.asarray(largest, dtype=np.float64), s.shape), "largest weight")
    return outcome_range(lower, upper) * top / (s + top)


def national_sensitivity(sensitivity: Float64, weight_total: Float64, *, moves: bool = False) -> float:
    """How far sum_k W_k y_k / W, with fixed W, moves when one area's y changes: max_k W_k Delta_k / W.

    With `moves` two areas' y change: the sum of the two largest.
    """
    reach = weight_total * sensitivity / weight_total.sum()
    return two_largest(reach) if moves else float(reach.max())


def clipped_square_sensitivity(sensitivity: Float64, cap: float) -> Float64:
    """How far min(r^2, C^2) moves when r moves by at most Delta (m,): 2 C Delta - Delta^2, or C^2 from C on.

    The largest change goes to the cap: from r = C - Delta, which is C^2 - (C - Delta)^2, or from 0 if
    Delta > C.
    """
    reach = np.minimum(sensitivity, cap)
    return reach * (2.0 * cap - reach)
