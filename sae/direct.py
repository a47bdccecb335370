"""Confidential: design-based direct estimates by area, Hajek and Horvitz-Thompson.

Weighted totals and sums of weights are summed without rounding errors, so an estimate errs by a few units in
its last place, however many records there are: exact mechanisms need it within 2^-20 of its sensitivity,
which may be 1/n of the outcome's range.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

import numpy as np

from pgsr.errors import InputError
from pgsr.sae.checks import Float64, Int64, positive
from pgsr.sae.microdata import Microdata

Estimator = Literal["hajek", "ht_mean", "ht_total"]
"""hajek: sum w Y / sum w; ht_mean: sum w Y / N with N the public number of persons; ht_total: sum w Y."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ConfidentialDirect:
    """CONFIDENTIAL: direct estimates `estimate` (m,) of `areas`; `counts` (m,) and `estimator` are public.

    `overall` is the same estimate from all records together. `divisor` (m,): sum of weights, N, or 1.
    """

    areas: tuple[str, ...] = field(repr=False)
    estimator: str
    counts: Int64 = field(repr=False)
    estimate: Float64 = field(repr=False)
    overall: float = field(repr=False)
    divisor: Float64 = field(repr=False)


def confidential_direct(
    data: Microdata, estimator: str = "hajek", population: Any = None
) -> ConfidentialDirect:
    """Confidential: direct estimates by area. `population` N (m,) > 0, public, for ht_mean alone."""
    divisor = divisors(data, estimator, population)
    totals = exact_sums(data, data.weight * data.outcome)
    whole = 1.0 if estimator == "ht_total" else float(divisor.sum())
    return ConfidentialDirect(
        areas=data.areas,
        estimator=estimator,
        counts=data.counts,
        estimate=totals / divisor,
        overall=float(totals.sum()) / whole,
        divisor=divisor,
    )


def exact_sums(data: Microdata, x: Float64) -> Float64:
    """Sums (m,) of x (n,) over the records of each area, each rounded once (Shewchuk 1997)."""
    order = np.argsort(data.area_codes, kind="stable")
    ends = np.cumsum(data.counts)
    parts = np.split(x[order], ends[:-1])
    return np.array([math.fsum(part.tolist()) for part in parts])


def divisors(data: Microdata, estimator: str, population: Any = None) -> Float64:
    """What each area's weighted total is divided by (m,). InputError for an unknown or misused estimator."""
    if estimator not in get_args(Estimator):
        raise InputError("unknown estimator", "estimator", f"use {', '.join(get_args(Estimator))}")
    if (population is not None) != (estimator == "ht_mean"):
        raise InputError(
            "ht_mean, and it alone, divides by the population", "population", "give both or none"
        )
    if estimator == "hajek":
        return exact_sums(data, data.weight)
    return np.ones(data.m) if population is None else positive(population, "population", data.m)


def linearised(data: Microdata, direct: ConfidentialDirect) -> Float64:
    """Confidential: what each record adds to its area's estimate (n,), to first order.

    Hajek: u = w (Y - ybar) / sum w; Horvitz-Thompson: w Y / N, or w Y.
    """
    outcome = data.outcome
    if direct.estimator == "hajek":
        outcome = outcome - direct.estimate[data.area_codes]
    return data.weight * outcome / direct.divisor[data.area_codes]
