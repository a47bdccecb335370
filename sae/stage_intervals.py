"""Intervals of three-stage draws: how far the released A~ may be below the model variance A.

Error of a draw, for any A: with M the posterior map at A~ and the floored D', MX = X, so that the mean of L
draws misses the truth by (M - I) v + M e + noise, of variance

    sigma^2 (1 + 1/L) + (A - A~) sum_j (M - I)_ij^2

at sampling variances D'. It rises with A, so an upper bound of A makes an interval that is wide enough. The
bound is post-processing of p~ and T~: the largest A at which T~ (or k0, if that is larger, where A~ = 0) is
not below the 10 % quantile of T~. That quantile takes the mean k0 + k1 A, the known noise s, a scaled
chi-square for the sampling of the residuals (Satterthwaite's degrees of freedom, Wilson and Hilferty's
quantile), and what the noise of p~ does to k0. A proportion's model variance is at most 1/4.
"""

from __future__ import annotations

import math

import numpy as np

from pgsr.sae.checks import Float64
from pgsr.sae.posterior import Posterior
from pgsr.sae.stages import RegressionStage

Z_BOUND = 1.2815515655446004
"""The bound of A is one-sided, at 90 %."""

MOST_VARIANCE = 0.25
"""No distribution on [0, 1] has a larger variance."""

_HALVINGS = 60


def upper_model_variance(
    stage: RegressionStage, noisy: float, variance: Float64, shifted: tuple[Float64, ...]
) -> float:
    """The 90 % upper bound of A for T~ `noisy` and D (m,) before flooring; at least A~.

    `shifted`: D (m,) at p~ one standard deviation of its noise lower and higher.
    """
    estimate = stage.model_variance(noisy, variance)
    k1 = stage.expected(np.ones_like(variance))
    if not k1 > 0:
        return max(estimate, MOST_VARIANCE)
    own, spread = stage.expected(variance), float((stage.share * stage.beta_spread).sum())
    moved = max((abs(stage.expected(other) - own) for other in shifted), default=0.0)
    seen = own + spread + k1 * estimate  # T~, or k0 where A~ = 0

    def quantile(a: float) -> float:
        mean = own + spread + k1 * a
        total = variance + a + stage.beta_spread
        freedom = mean**2 / float(((stage.share * total) ** 2).sum())
        root = 1 - 2 / (9 * freedom) - Z_BOUND * math.sqrt(2 / (9 * freedom))
        low = mean * (1 - max(root, 0.0) ** 3)
        return mean - math.hypot(low, Z_BOUND * stage.t_scale, Z_BOUND * moved)

    low, high = estimate, max(estimate, MOST_VARIANCE)
    if quantile(high) <= seen:
        return high
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if quantile(middle) > seen else (middle, high)
    return high


def model_weight(posterior: Posterior) -> Float64:
    """sum_j (M - I)_ij^2 (m,): how the variance of a draw's error rises with A; O(m p^2)."""
    away = -posterior.shrinkage
    scaled = posterior.factor / posterior.variance[:, None]
    squares = np.einsum("ip,pq,iq->i", posterior.factor, scaled.T @ scaled, posterior.factor, optimize=True)
    weight: Float64 = away**2 + 2 * away * posterior.g2 / posterior.variance + squares
    return weight


def draw_variance(posterior: Posterior, upper: float, draws: int) -> Float64:
    """Variance (m,) of the truth about the mean of that many draws, at the model variance `upper`."""
    extra = max(upper - posterior.model_variance, 0.0)
    spread: Float64 = posterior.sigma2 * (1.0 + 1.0 / draws) + extra * model_weight(posterior)
    return spread
