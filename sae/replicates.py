"""Confidential: sampling variances by replication: SDR, JK1, JKn, BRR and Fay.

A replicate estimate is the direct estimate with the weights times a factor; the variance is the sum over
replicates r of coefficient_r (estimate_r - estimate)^2, about the full-sample estimate.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pgsr.errors import InputError
from pgsr.sae.checks import Float64, Int64, number, vector
from pgsr.sae.direct import ConfidentialDirect
from pgsr.sae.hadamard import hadamard, next_order
from pgsr.sae.microdata import Microdata
from pgsr.sae.variances import ConfidentialVariance

SDR_REPLICATES = 80


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Replicates:
    """A replication scheme: R = len(`coefficients`) replicates of n records.

    `column(r)` gives the replicate weights (n,) of replicate r, made when asked for.
    """

    name: str
    coefficients: Float64 = field(repr=False)
    column: Callable[[int], Float64] = field(repr=False)


def given(weights: Any, coefficients: Any, name: str = "given") -> Replicates:
    """Replicate weights (n, R) that come with the data; one coefficient for all, or R of them.

    The census bureaus' 80 replicate weights (SDR) have coefficient 4/80.
    """
    matrix = np.asarray(weights)
    if matrix.ndim != 2 or matrix.dtype.kind not in "iuf" or not np.isfinite(matrix).all():
        raise InputError("not a matrix of numbers", "replicate weights", "give one row a record")
    shared = np.full(matrix.shape[1], coefficients) if np.ndim(coefficients) == 0 else coefficients
    checked = vector(shared, "coefficients of the replicates", matrix.shape[1])
    return Replicates(name=name, coefficients=checked, column=lambda r: matrix[:, r].astype(np.float64))


def sdr(data: Microdata) -> Replicates:
    """Successive difference replication (Fay and Train 1995), 80 replicates; the order of records matters.

    Factors 1 + 2^-1.5 a_{i,r} - 2^-1.5 a_{i+1,r} with rows a of an order-80 Hadamard matrix, its first row
    left out. Records walk through the 79 rows; the k-th round takes steps of k, so no pair of rows recurs
    within 39 rounds. For a total of 79 records it is half the sum of squared successive differences, on a
    circle.
    """
    signs = hadamard(SDR_REPLICATES)
    q = SDR_REPLICATES - 1
    records = np.arange(data.n)
    step = records // q % (q - 1) + 1
    here, there = 1 + records % q * step % q, 1 + (records % q + 1) * step % q

    def column(r: int) -> Float64:
        signed = signs[:, r].astype(np.float64)
        factors: Float64 = 1.0 + 2**-1.5 * (signed[here] - signed[there])
        return data.weight * factors

    coefficients = np.full(SDR_REPLICATES, 4 / SDR_REPLICATES)
    return Replicates(name="sdr", coefficients=coefficients, column=column)


def jk1(data: Microdata) -> Replicates:
    """The unstratified jackknife: each replicate leaves out one PSU, coefficient (J - 1)/J."""
    count = int(data.psu_codes.max()) + 1
    if count < 2:
        raise InputError("a single primary sampling unit", "psu", "the jackknife needs two")

    def column(r: int) -> Float64:
        return data.weight * np.where(data.psu_codes == r, 0.0, count / (count - 1))

    return Replicates(name="jk1", coefficients=np.full(count, (count - 1) / count), column=column)


def jkn(data: Microdata) -> Replicates:
    """The stratified jackknife: each replicate leaves out one PSU and scales up the others of its stratum.

    Coefficient (n_h - 1)/n_h. Raises InputError for a stratum with one PSU.
    """
    stratum_of, sizes = _strata(data)
    if (sizes < 2).any():
        raise InputError("a stratum with a single primary sampling unit", "strata", "merge strata")
    n_h = sizes[stratum_of].astype(np.float64)

    def column(r: int) -> Float64:
        others = np.where(data.strata_codes == stratum_of[r], n_h[r] / (n_h[r] - 1), 1.0)
        return data.weight * np.where(data.psu_codes == r, 0.0, others)

    return Replicates(name="jkn", coefficients=(n_h - 1) / n_h, column=column)


def brr(data: Microdata, fay: float = 0.0) -> Replicates:
    """Balanced repeated replication: two PSUs a stratum, weights times 2 - k and k by a Hadamard matrix.

    `fay` is k in [0, 1): 0 keeps half samples (BRR); Fay's method perturbs less. Coefficient 1/(R (1 - k)^2)
    with R the next order above the number of strata. Raises InputError unless every stratum has two PSUs.
    """
    k = number(fay, "fay")
    if k >= 1:
        raise InputError("not below 1", "fay", "give a number in [0, 1), often 0.3 or 0.5")
    stratum_of, sizes = _strata(data)
    if (sizes != 2).any():
        raise InputError("a stratum without exactly two primary sampling units", "strata", "use jkn")
    order = next_order(len(sizes) + 1)
    signs = hadamard(order).T
    first = np.zeros(len(sizes), dtype=np.int64)
    first[stratum_of[::-1]] = np.arange(len(stratum_of))[::-1]
    side = np.where(data.psu_codes == first[data.strata_codes], 1.0, -1.0)

    def column(r: int) -> Float64:
        factors: Float64 = 1.0 + (1.0 - k) * side * signs[1 + data.strata_codes, r]
        return data.weight * factors

    name = "brr" if k == 0 else "fay"
    return Replicates(name=name, coefficients=np.full(order, 1 / (order * (1 - k) ** 2)), column=column)


def confidential_replicate_variance(
    data: Microdata, direct: ConfidentialDirect, replicates: Replicates
) -> ConfidentialVariance:
    """Confidential: sampling variances (m,) of `direct` over `replicates`, in time O(n R).

    Hajek estimates are divided by the replicate's own sum of weights, Horvitz-Thompson ones by N or 1. Raises
    InputError, naming both, if a replicate leaves an area without weight.
    """
    variance = np.zeros(data.m)
    for r, coefficient in enumerate(replicates.coefficients):
        weight = replicates.column(r)
        if weight.shape != (data.n,):
            raise InputError("not one replicate weight a record", "replicate weights", "give n rows")
        divisor = data.sum_by_area(weight) if direct.estimator == "hajek" else direct.divisor
        if (divisor <= 0).any():
            where = f"area '{data.areas[int(np.flatnonzero(divisor <= 0)[0])]}', replicate {r + 1}"
            raise InputError(
                "a replicate leaves the area without weight", where, "use taylor, or merge areas"
            )
        move = data.sum_by_area(weight * data.outcome) / divisor - direct.estimate
        variance += coefficient * move * move
    return ConfidentialVariance(method=replicates.name, variance=variance)


def _strata(data: Microdata) -> tuple[Int64, Int64]:
    """The stratum of each PSU, and the number of PSUs of each stratum."""
    stratum_of = np.zeros(int(data.psu_codes.max()) + 1, dtype=np.int64)
    stratum_of[data.psu_codes] = data.strata_codes
    return stratum_of, np.bincount(stratum_of)
