"""From survey records to what a release needs: public facts by area, and confidential variances.

Weights and areas of the records are public, outcomes are not: `RecordFacts` looks at the first two alone, and
a release from records promises the same as one from a file of areas that was made of them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, get_args

import numpy as np

from pgsr.errors import InputError
from pgsr.sae import replicates
from pgsr.sae.checks import Float64, Int64, number, positive, refuse
from pgsr.sae.direct import ConfidentialDirect
from pgsr.sae.microdata import Microdata
from pgsr.sae.sensitivity import free_weight_sensitivity, mean_sensitivity
from pgsr.sae.variances import ConfidentialVariance, confidential_taylor
from pgsr.sae.weights import weight_diagnostics

VarianceMethod = Literal["taylor", "taylor-domains", "sdr", "jk1", "jkn", "brr"]
"""Linearisation with areas as strata or as domains; successive differences; jackknife; half samples."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RecordFacts:
    """Of each area (m,), from weights, areas and households alone: public if these are.

    sensitivity  Delta: how far one unit of `Microdata` (a record, or a household) moves the direct estimate
    counts n; weight_total W; kish sum w^2 / W^2; ratio w_max / w_mean
    """

    sensitivity: Float64 = field(repr=False)
    counts: Int64 = field(repr=False)
    weight_total: Float64 = field(repr=False)
    kish: Float64 = field(repr=False)
    ratio: Float64 = field(repr=False)


def record_facts(data: Microdata, estimator: str = "hajek", population: Any = None) -> RecordFacts:
    """Facts of the areas in the order of `data.areas`; `population` N (m,) for ht_mean, as in `direct`.

    Raises InputError for a household in two areas and for unknown or misused estimators.
    """
    weights = weight_diagnostics(data.weight, data.area_codes, data.m)
    known: Any = estimator
    lower, upper = data.span
    delta = mean_sensitivity(
        data.weight,
        data.area_codes,
        lower=lower,
        upper=upper,
        estimator=known,
        population=population,
        household=data.unit_codes,
    )
    return RecordFacts(
        sensitivity=delta,
        counts=weights.counts,
        weight_total=weights.total,
        kish=weights.kish,
        ratio=weights.ratio,
    )


def moving_sensitivity(data: Microdata, largest: float, rest: Any) -> Float64:
    """Delta (m,) of Hajek means for records that may change weight and area, from public bounds alone.

    `largest`: no weight is above it; `rest`: a number, or one an area (m,), that the weight of an area
    without any one of its records is never below. Both are claims on all data sets that are neighbours of one
    another; InputError, showing no weight, if these data do not keep to them.
    """
    top = number(largest, "largest weight", above=True)
    least = positive(np.broadcast_to(np.asarray(rest, dtype=np.float64), (data.m,)), "rest weight", data.m)
    refuse(
        data.weight > top, "a weight is above the public bound", "weight", "trim weights to the bound first"
    )
    weights = weight_diagnostics(data.weight, data.area_codes, data.m)
    short = np.flatnonzero(weights.total - weights.largest < least)
    if short.size:
        where = f"area '{data.areas[short[0]]}'"
        raise InputError("the weight of the others is below the public bound", where, "merge the area")
    lower, upper = data.span
    return free_weight_sensitivity(least, top, lower=lower, upper=upper)


def confidential_variance(
    data: Microdata, direct: ConfidentialDirect, method: str = "taylor", single_psu: str = "refuse"
) -> ConfidentialVariance:
    """Confidential: sampling variances (m,) of `direct` estimates by one of `VarianceMethod`.

    `single_psu` is for linearisation alone. Raises InputError for an unknown method, and whatever the method
    refuses.
    """
    if method not in get_args(VarianceMethod):
        raise InputError("unknown method", "variance method", f"use {', '.join(get_args(VarianceMethod))}")
    if method.startswith("taylor"):
        areas_are = "strata" if method == "taylor" else "domains"
        return confidential_taylor(data, direct, areas_are=areas_are, single_psu=single_psu)
    schemes = {
        "sdr": replicates.sdr,
        "jk1": replicates.jk1,
        "jkn": replicates.jkn,
        "brr": replicates.brr,
    }
    return replicates.confidential_replicate_variance(data, direct, schemes[method](data))
