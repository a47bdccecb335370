"""The exact privacy loss of Cauchy noise scaled to a smooth sensitivity, and its best constants.

Released is f(X) + (S(X)/alpha) Z with a standard Cauchy Z; neighbours have scales S, S' and values f, f'.
Write o for an output, z = alpha (o - f)/S, lam = S/S' and D = alpha (f - f')/S. The ratio of the densities is

    r(z) = (1/lam) (1 + lam^2 (z + D)^2) / (1 + z^2),

a quotient of quadratic forms in (z, 1). Its supremum is 1/lam times the larger eigenvalue of
[[lam^2, lam^2 D], [lam^2 D, 1 + lam^2 D^2]], whose trace is 1 + lam^2 + lam^2 D^2 and determinant lam^2. The
extreme ratios are inverse to each other, with sum 1/lam + lam + lam D^2, so the loss in both directions is

    arccosh( cosh(log(S/S')) + alpha^2 d^2 / (2 S S') ),   d = |f - f'|.                                 (1)

If (A) |log(S/S')| = b <= beta and (B) d <= min(S, S'), then d^2/(S S') <= min(S, S')/max(S, S') = e^-b.
cosh b + (alpha^2/2) e^-b is convex in b, so its maximum over 0 <= b <= beta is at an end:

    cosh(loss) <= max{ 1 + alpha^2/2, cosh beta + (alpha^2/2) e^-beta }.                                  (2)

Solved for alpha^2: loss <= epsilon if and only if

    alpha^2 <= e^epsilon + e^-epsilon - 2
    alpha^2 <= e^(beta+epsilon) + e^(beta-epsilon) - e^(2 beta) - 1.

Functions that a release relies on evaluate this with rational enclosures; the others return floats.
"""

from __future__ import annotations

import math
from fractions import Fraction

from pgsr.errors import InputError
from pgsr.noise.exact import Enclosure, divide, exp_minus

EPSILON_RANGE = (Fraction(1, 1000), Fraction(64))
"""Smallest and largest epsilon of one index: below, nothing but noise is left; above, nothing is private."""

_PRECISION = 512
_ALPHA_BITS = 64
_ONE = 1 << _PRECISION


def pair_loss(distance: float, scale: float, other: float, alpha: float) -> float:
    """Loss (1) of two neighbours: values `distance` apart, smooth sensitivities `scale` and `other`; a float.

    Both sensitivities positive. cosh x - 1 = 2 sinh(x/2)^2 keeps small losses accurate.
    """
    shape = 2.0 * math.sinh(0.5 * math.log(scale / other)) ** 2
    excess = shape + 0.5 * (alpha * distance / scale) * (alpha * distance / other)
    return 2.0 * math.asinh(math.sqrt(0.5 * excess))


def exact_loss(alpha: float, beta: float) -> float:
    """The largest loss that (2) allows for alpha and beta, as a float; attained."""
    at_end = 2.0 * math.sinh(0.5 * beta) ** 2 + 0.5 * alpha**2 * math.exp(-beta)
    return 2.0 * math.asinh(math.sqrt(0.5 * max(0.5 * alpha**2, at_end)))


def alpha_max(epsilon: Fraction, beta: Fraction) -> Fraction:
    """The largest alpha, rounded down to a multiple of 2^-64, whose loss (2) is at most `epsilon`.

    epsilon within `EPSILON_RANGE`, 0 <= beta < epsilon. Raises InputError otherwise.
    """
    squared = _squared_limit(epsilon, beta)
    alpha = Fraction(math.isqrt((max(squared, 0) << (2 * _ALPHA_BITS)) >> _PRECISION), 1 << _ALPHA_BITS)
    if alpha <= 0:
        raise InputError("beta leaves no room for noise", "beta", "give one further below epsilon")
    return alpha


def check_constants(epsilon: Fraction, alpha: Fraction, beta: Fraction) -> None:
    """Raise InputError unless 0 < alpha, 0 <= beta < epsilon and the loss (2) is at most `epsilon`."""
    limit = _squared_limit(epsilon, beta)
    if alpha <= 0:
        raise InputError("alpha is not positive", "alpha", "leave it out for the largest that is private")
    if alpha * alpha * _ONE > limit:
        raise InputError(
            "the privacy loss of alpha and beta is above epsilon",
            f"alpha {float(alpha):.6g}, beta {float(beta):.6g}, epsilon {float(epsilon):.6g}",
            "leave alpha out for the largest that is private",
        )


def corner_beta(epsilon: Fraction) -> Fraction:
    """A multiple of 2^-40 within 2^-39 below log(2 cosh(epsilon) - 1), where both conditions on alpha meet.

    Up to there alpha is 2 sinh(epsilon/2) whatever beta is. Stepping below it absorbs the rounding error of
    the logarithm; privacy does not rest on that, since `alpha_max` takes any beta.
    """
    _check_epsilon(epsilon)
    corner = math.log1p(4.0 * math.sinh(0.5 * float(epsilon)) ** 2)
    return Fraction(math.floor(math.ldexp(corner, 40)) - 1, 1 << 40)


def default_beta(epsilon: Fraction) -> Fraction:
    """epsilon/2, or the corner where that is larger: the corner dominates every smaller beta."""
    return max(epsilon / 2, corner_beta(epsilon))


def _check_epsilon(epsilon: Fraction) -> None:
    low, high = EPSILON_RANGE
    if not low <= epsilon <= high:
        raise InputError(f"epsilon is not between {low} and {high}", "epsilon", "give one in this range")


def _squared_limit(epsilon: Fraction, beta: Fraction) -> int:
    """An integer not above alpha^2 2^512 for the largest alpha allowed."""
    _check_epsilon(epsilon)
    if not 0 <= beta < epsilon:
        raise InputError("beta is not between 0 and epsilon", "beta", "give one below epsilon")
    shift = _exp(epsilon)[0] + _exp(-epsilon)[0] - 2 * _ONE
    end = _exp(beta + epsilon)[0] + _exp(beta - epsilon)[0] - _exp(2 * beta)[1] - _ONE
    return min(shift, end)


def _exp(t: Fraction) -> Enclosure:
    """Enclosure of exp(t) at 512 bits for a rational t of either sign."""
    if t <= 0:
        return exp_minus(-t, _PRECISION)
    return divide((_ONE, _ONE), exp_minus(t, _PRECISION), _PRECISION)
