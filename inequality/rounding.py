"""Smooth sensitivity in floating point, with its errors paid for: the constants of a Cauchy release.

The exact loss (`loss`) asks of the numbers used, for all neighbours,
    (A) |log(S^/S^')| <= beta   and   (B) |f^ - f^'| <= min(S^, S^').
Let S be the exact smooth sensitivity max_k exp(-b k) I_k at b = beta_run: S >= LS, S <= e^b S'. Known are
floats with |S_float - S| <= eta and |f^ - f| <= delta, eta and delta public. Take

    tau > 0 public,   beta_run <= beta - log(1 + tau),   kappa = eta + max(2 delta, 2 eta/tau),
    S^ = S_float + kappa.

(B) |f^ - f^'| <= LS + 2 delta <= S + 2 delta <= S_float + eta + 2 delta <= S^; likewise for X'.
(A) S^ <= S + eta + kappa, and e^beta S^' >= (1 + tau) e^b (S' - eta + kappa) >= (1 + tau)(S - eta + kappa).
    The latter is at least S + eta + kappa, as tau (S - eta + kappa) >= tau (2 eta/tau) = 2 eta.
Here beta_run <= beta - tau, since log(1 + tau) <= tau. alpha is the largest private one, rounded down. S^
must not be rounded to an arithmetic grid: that is no relative error, and breaks (A).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction

from pgsr.errors import InputError
from pgsr.inequality.cauchy import ConfidentialCauchy
from pgsr.inequality.grid import Grid, power_of_two_below
from pgsr.inequality.loss import check_constants

_LARGEST_TAU = Fraction(1, 1 << 10)
_SMOOTH_ROUNDING = Fraction(1, 1 << 45)
"""Of the global sensitivity: bounds the rounding of exp(-b k), some last places, and of the product."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CauchyPlan:
    """What is public of a Cauchy release; raises InputError if alpha and beta are not private at epsilon.

    bound: at least the global sensitivity; delta, ladder_eta: absolute errors of value and ladder.
    `eta` is the error of the smooth sensitivity, `beta_run` the exponent that it must be computed with.
    """

    epsilon: Fraction
    alpha: Fraction
    beta: Fraction
    grid: Grid
    bound: Fraction
    delta: Fraction
    ladder_eta: Fraction
    tau: Fraction = field(init=False)
    beta_run: float = field(init=False)
    eta: Fraction = field(init=False)
    kappa: Fraction = field(init=False)

    def __post_init__(self) -> None:
        put = object.__setattr__
        check_constants(self.epsilon, self.alpha, self.beta)
        if self.beta <= 0:
            raise InputError("beta is not positive", "beta", "give one between 0 and epsilon")
        put(self, "tau", min(_LARGEST_TAU, power_of_two_below(float(self.beta), 4)))
        if self.tau >= self.beta:
            raise InputError("beta is too small", "beta", "give a larger one")
        put(self, "beta_run", float_below(self.beta - self.tau))
        put(self, "eta", self.ladder_eta + _SMOOTH_ROUNDING * self.bound)
        put(self, "kappa", self.eta + max(2 * self.delta, 2 * self.eta / self.tau))

    def confidential_draw(self, value: float, smooth: float) -> ConfidentialCauchy:
        """The law of the release for an index `value` and its smooth sensitivity at `beta_run`."""
        scale = (Fraction(smooth) + self.kappa) / self.alpha
        return ConfidentialCauchy(value=Fraction(value), scale=scale, grid=self.grid)


def float_below(value: Fraction) -> float:
    """A double that is not above the positive `value`, and next to it."""
    near = float(value)
    return math.nextafter(near, 0.0) if near > value else near
