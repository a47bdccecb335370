"""Geometric weights in exact integers, with a rational ratio that is never below exp(-t).

Rounding the ratio up keeps every quotient of weights on the private side; rounding the weights one by one
would not, so each weight is made from the one before.
"""

from __future__ import annotations

import math
from fractions import Fraction

from pgsr.noise.exact import exp_minus

RATIO_BITS = 64
START = 1 << 256
"""The weight of the best score."""


def ratio_numerator(t: Fraction) -> int:
    """The smallest integer a known with a / 2^64 >= exp(-t), for 2^-40 <= t <= 64.

    At most 2 above the smallest there is, from an enclosure at 64 bits; below 2^64, so a / 2^64 is a ratio.
    Raises ValueError for another t: with it the ratio would be 1, or the rounding no longer small.
    """
    if not Fraction(1, 1 << 40) <= t <= RATIO_BITS:
        raise ValueError("the exponent is out of range")
    return exp_minus(t, RATIO_BITS)[1]


def weights(numerator: int, count: int, start: int = START) -> list[int]:
    """W_0 = start, W_(i+1) = ceil(W_i a / 2^64) with a = `numerator`: at most `count`, until they stay equal.

    W_(i+1) >= W_i a / 2^64, hence W_(i+s) >= W_i (a / 2^64)^s >= W_i exp(-s t) for every i and s, also where
    the list ends because all later weights equal its last. Positive throughout.
    """
    found = [start]
    while len(found) < count:
        following = -((-found[-1] * numerator) >> RATIO_BITS)
        if following == found[-1]:
            break
        found.append(following)
    return found


def settled(numerator: int, weight: int) -> bool:
    """Whether all weights after `weight` equal it."""
    return -((-weight * numerator) >> RATIO_BITS) == weight


def rungs(epsilon: Fraction, last: int, n: int) -> int:
    """T, how many data-dependent rungs a ladder has: min(n, ceil((2/epsilon)(ln(last + 1) + 40))).

    Public: a function of epsilon, the grid's last point and n only. A T chosen by looking at the data (such
    as by the mass that is left) breaks privacy. Beyond T all rungs have the public width of the global
    sensitivity.
    """
    return min(n, math.ceil(2 / float(epsilon) * (math.log(last + 1) + 40)))
