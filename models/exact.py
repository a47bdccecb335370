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


def sum_absolute(difference: Int64, weights: Int64 | None = None) -> int:
    """Sum `weights * |difference|` exactly, for |difference| < 2^62 and 0 <= weights < 2^31."""
    values = np.abs(difference)
    return exact_sum(values) if weights is None else weighted_sum(weights, values)


def dyadic_weights(weights: NDArray[np.float64]) -> tuple[Int64, int] | None:
    """Write `weights` as `integers * 2**-k` with integers below 2^31, or return None if they are not.

    Returns `(integers (R,) int64, k)` with the smallest such `k >= 0`. Compiled kernels are exact for these.
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


def weight_limbs(weights: NDArray[np.float64]) -> tuple[list[Int64], int]:
    """Write any float weights exactly as `sum over j of limbs[j] * 2**(31 j) * 2**-k`, limbs below 2^31.

    Needs weights whose largest and smallest positive ones differ by at most 2^62.
    """
    mantissa, exponent = np.frexp(weights)
    whole = np.ldexp(mantissa, 53).astype(np.int64)
    positive = whole > 0
    lowest = int(exponent[positive].min()) if positive.any() else 0
    shift = np.where(positive, exponent - lowest, 0)
    limbs = [np.zeros(weights.size, dtype=np.int64) for _ in range(5)]
    for start, part in ((0, whole & (2**31 - 1)), (1, whole >> 31)):
        spread = part << (shift % 31)
        for step in range(2):
            piece = (spread >> (31 * step)) & (2**31 - 1)
            for whole_limbs in range(3):
                here = shift // 31 == whole_limbs
                if start + step + whole_limbs < len(limbs):
                    limbs[start + step + whole_limbs] += np.where(here, piece, 0)
    for j in range(len(limbs) - 1):
        limbs[j + 1] += limbs[j] >> 31
        limbs[j] &= 2**31 - 1
    while len(limbs) > 1 and not limbs[-1].any():
        limbs.pop()
    return limbs, 53 - lowest
