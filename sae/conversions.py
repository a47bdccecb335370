"""What a Gaussian shift of size rho costs: Renyi orders, epsilon and delta, and the privacy loss itself.

If two neighbours give N(mu, S) and N(mu', S) with the same covariance, everything depends on
rho = (mu - mu')' S^-1 (mu - mu') / 2 alone. The privacy loss is N(rho, 2 rho) (Theorem 1), the Renyi
divergence of order alpha is alpha rho, and the release is (sqrt(2 rho))-GDP, so its (epsilon, delta) is known
exactly. Figures here are floats for planning; the ledger's own conversion is
`pgsr.privacy.zcdp_to_approximate`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from pgsr.errors import InputError
from pgsr.sae.checks import number


@dataclass(frozen=True, slots=True, kw_only=True)
class PrivacyLoss:
    """Theorem 1: the privacy loss variable of a Gaussian shift, N(rho, 2 rho).

    It is unbounded, so no release of this kind is epsilon-DP at delta 0 unless rho is 0.
    """

    rho: float
    mean: float = field(init=False)
    variance: float = field(init=False)

    def __post_init__(self) -> None:
        rho = number(self.rho, "rho")
        for name, value in (("rho", rho), ("mean", rho), ("variance", 2.0 * rho)):
            object.__setattr__(self, name, value)

    def exceeds(self, epsilon: float) -> float:
        """The probability that the loss is above `epsilon`."""
        from scipy.special import ndtr

        if self.rho == 0:
            return 0.0 if epsilon >= 0 else 1.0
        return float(ndtr((self.mean - epsilon) / math.sqrt(self.variance)))


def renyi(rho: float, order: float) -> float:
    """The Renyi divergence of that order (above 1): order times rho."""
    return number(order, "order", 1.0, above=True) * number(rho, "rho")


def epsilon_simple(rho: float, delta: float) -> float:
    """Rho + 2 sqrt(rho ln(1/delta)), for every rho-zCDP release (the paper's equation 6)."""
    r = number(rho, "rho")
    return r + 2.0 * math.sqrt(r * math.log(1.0 / _checked(delta)))


def delta_exact(rho: float, epsilon: float) -> float:
    """The smallest delta of a Gaussian shift at `epsilon` >= 0.

    Phi(mu/2 - eps/mu) - e^eps Phi(-mu/2 - eps/mu) with mu = sqrt(2 rho) (Balle and Wang 2018, Theorem 8).
    """
    return math.exp(_log_delta(number(rho, "rho"), number(epsilon, "epsilon")))


def epsilon_exact(rho: float, delta: float) -> float:
    """The smallest epsilon of a Gaussian shift at `delta`; below `epsilon_simple` by 10 to 20 % usually."""
    from scipy.optimize import brentq

    r, target = number(rho, "rho"), math.log(_checked(delta))
    if _log_delta(r, 0.0) <= target:
        return 0.0
    # The simple formula is an upper bound, so the root lies below it.
    top = epsilon_simple(r, delta)
    root, result = brentq(
        lambda e: _log_delta(r, e) - target, 0.0, top, xtol=1e-300, rtol=1e-14, full_output=True
    )
    assert result.converged
    return float(root)


def _log_delta(rho: float, epsilon: float) -> float:
    from scipy.special import log_ndtr

    if rho == 0:
        return -math.inf
    mu = math.sqrt(2.0 * rho)
    first = float(log_ndtr(mu / 2 - epsilon / mu))
    second = epsilon + float(log_ndtr(-mu / 2 - epsilon / mu))
    gap = second - first
    return first + math.log(-math.expm1(gap)) if gap < 0 else -math.inf


def default_delta(records: int) -> float:
    """The largest power of ten below 1/N for N `records`."""
    count: Any = records
    if isinstance(count, bool) or not isinstance(count, (int, np.integer)) or count < 1:
        raise InputError("not a number of records", "records", "give a whole number from 1 up")
    power = len(str(int(count)))  # 10^power > records >= 10^(power - 1)
    return float(f"1e-{power}")


def round_up(rho: float) -> Fraction:
    """`rho`, computed in floating point, raised by 1e-9 and up to 9 decimals, or 7 digits if it is small."""
    if not math.isfinite(rho) or rho < 0:
        raise InputError("the cost is not finite", "rho", "raise the sampling variances")
    raised = Fraction(rho) * (1 + Fraction(1, 10**9))
    if raised == 0:
        return Fraction(0)
    digits = max(9, 6 - math.floor(math.log10(rho)))
    return Fraction(math.ceil(raised * 10**digits), 10**digits)


def _checked(delta: float) -> float:
    value = number(delta, "delta", 0.0, above=True)
    if value >= 1:
        raise InputError("delta is not below 1", "delta", "give a small positive number")
    return value
