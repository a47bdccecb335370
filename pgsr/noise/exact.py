"""Rigorous fixed-point arithmetic: enclosures of exp(-t) for rational t, in Python integers only.

An enclosure of a real number c at precision P is a pair of integers (L, H) with L <= c 2^P <= H.
Every operation below rounds its lower end down and its upper end up, so a pair stays an enclosure
whatever the number of guard bits; guard bits only decide how narrow it is. No floating point.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

Enclosure = tuple[int, int]


def ceil_div(numerator: int, denominator: int) -> int:
    """The smallest integer not below `numerator / denominator` (positive denominator)."""
    return -((-numerator) // denominator)


def ceil_shift(value: int, bits: int) -> int:
    """The smallest integer not below `value / 2^bits`."""
    return -((-value) >> bits)


def multiply(x: Enclosure, y: Enclosure, precision: int) -> Enclosure:
    """Enclosure of the product of two non-negative numbers, all three at the same precision."""
    return (x[0] * y[0]) >> precision, ceil_shift(x[1] * y[1], precision)


def divide(x: Enclosure, y: Enclosure, precision: int) -> Enclosure:
    """Enclosure of the quotient of a non-negative by a positive number, all at the same precision."""
    return (x[0] << precision) // y[1], ceil_div(x[1] << precision, y[0])


def complement(x: Enclosure, precision: int) -> Enclosure:
    """Enclosure of 1 - x."""
    one = 1 << precision
    return one - x[1], one - x[0]


def reduce_precision(x: Enclosure, bits: int) -> Enclosure:
    """The same number with `bits` fewer bits of precision."""
    return x[0] >> bits, ceil_shift(x[1], bits)


def clip_to_unit(x: Enclosure, precision: int) -> Enclosure:
    """Sharpen the enclosure of a number that is known to lie in [0, 1]."""
    return max(x[0], 0), min(x[1], 1 << precision)


def exp_minus(t: Fraction, precision: int) -> Enclosure:
    """Enclosure of exp(-t) at `precision`, for rational t >= 0; its width is at most 2.

    exp(-t) = exp(-x)^(2^s) with x = t / 2^s < 2^-8; the series of exp(-x), then s squarings.
    A squaring at most doubles the width (numbers below 1), hence the s extra guard bits.
    Raises ValueError for negative t.
    """
    if t < 0:
        raise ValueError("exp_minus needs t >= 0")
    if t == 0:
        return 1 << precision, 1 << precision
    if t >= precision:
        return 0, 1  # exp(-t) < 2^-t <= 2^-precision
    halvings = (t.numerator // t.denominator).bit_length() + 8
    guard = halvings + 16
    working = precision + guard
    scaled = t.numerator << (working - halvings)
    x_low = scaled // t.denominator
    x_high = ceil_div(scaled, t.denominator)
    result = _exp_minus_series(x_low, x_high, working)
    for _ in range(halvings):
        result = multiply(result, result, working)
    return clip_to_unit(reduce_precision(result, guard), precision)


def _exp_minus_series(x_low: int, x_high: int, precision: int) -> Enclosure:
    """Enclosure of exp(-x) from that of x in [0, 1): 1 - x + x^2/2 - x^3/6 + ...

    The terms fall and alternate, so what is left after a term is at most that term in size:
    the last term computed (at most one unit) is given away on both sides.
    """
    one = 1 << precision
    term_low, term_high = one, one
    total_low, total_high = one, one
    k = 0
    while term_high > 1:
        k += 1
        term_low = (term_low * x_low) // (k << precision)
        term_high = ceil_div(term_high * x_high, k << precision)
        if k % 2 == 1:
            total_low -= term_high
            total_high -= term_low
        else:
            total_low += term_low
            total_high += term_high
    return total_low - term_high, total_high + term_high


def powers(t: Fraction, precision: int) -> Iterator[Enclosure]:
    """Enclosures of exp(-t), exp(-2t), exp(-3t), ... at `precision`, by a running product.

    A step adds at most three units of the working precision to the width: with 40 guard bits the
    enclosures stay about one unit wide for 2^38 steps.
    """
    guard = 40
    working = precision + guard
    factor = exp_minus(t, working)
    power = factor
    while True:
        yield reduce_precision(power, guard)
        power = multiply(power, factor, working)
