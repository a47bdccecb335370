"""Exact sums of products of large integers, vectorised.

Sums of 59 million squares exceed 2^53 and can exceed 2^63; here they are exact Python integers.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Int64 = NDArray[np.int64]

_LOW = np.int64((1 << 32) - 1)
_HALF = 27  # splits |d| < 2^55 into two signed parts whose products fit int64
CHUNK = 1 << 20


def exact_sum(values: Int64) -> int:
    """Sum an int64 array exactly (at most 2^31 entries a call)."""
    low = int((values & _LOW).sum())
    high = int((values >> 32).sum())
    return (high << 32) + low


def weighted_sum(weights: Int64, values: Int64) -> int:
    """Sum `weights * values` exactly, for 0 <= weights < 2^31 and any int64 values, same shape."""
    low = exact_sum(weights * (values & _LOW))
    high = exact_sum(weights * (values >> 32))
    return (high << 32) + low


def sum_squares(difference: Int64, weights: Int64 | None = None) -> int:
    """Sum `weights * difference**2` exactly, for |difference| < 2^55 and 0 <= weights < 2^31."""
    if difference.size == 0:
        return 0

    def total(values: Int64) -> int:
        return exact_sum(values) if weights is None else weighted_sum(weights, values)

    largest = max(int(difference.max()), -int(difference.min()))
    if largest < 2**31:
        return total(difference * difference)
    high = difference >> _HALF
    low = difference - (high << _HALF)
    return (total(high * high) << (2 * _HALF)) + (total(2 * high * low) << _HALF) + total(low * low)


def dyadic_weights(weights: NDArray[np.float64]) -> tuple[Int64, int] | None:
    """Write `weights` as `integers * 2**-k` with integers below 2^31, or return None if they are not.

    Returns `(integers (R,) int64, k)` with the smallest such `k >= 0`. Exact solvers and the
    certificate need it; other weights are computed with in float64.
    """
    if weights.size and float(weights.max()) >= 2.0**31:
        return None
    values = np.unique(weights)
    for k in range(31):
        scaled = np.ldexp(values, k)
        if scaled.size and scaled[-1] >= 2.0**31:
            return None
        if np.array_equal(scaled, np.rint(scaled)):
            return np.ldexp(weights, k).astype(np.int64), k
    return None
