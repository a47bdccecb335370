"""CONFIDENTIAL diagnostic: how far apart two draws are when variances are re-estimated with the estimates.

Treating D and A as constants hides what one record does to them. The Renyi divergence of order alpha of
P = N(mu, S) from Q = N(mu', S') is, with S_a = alpha S' + (1 - alpha) S and d = mu - mu',

    alpha/2 d' S_a^-1 d - [log|S_a| - (1 - alpha) log|S| - alpha log|S'|] / (2 (alpha - 1)),

and infinite unless S_a is positive definite (Gil, Alajaji and Linder 2013, Table 2). It is a figure of one
pair of data sets, not a guarantee, and depends on the data: never publish it.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pgsr.errors import InputError
from pgsr.sae.checks import Float64, number
from pgsr.sae.posterior import Posterior


def confidential_divergence(
    posterior: Posterior, y: Any, other: Posterior, other_y: Any, order: float
) -> float:
    """CONFIDENTIAL: Renyi divergence of that order (above 1) of one joint draw from the other; may be inf.

    `posterior` (its D and A) with direct estimates `y` (m,), and the same after one record changed. Dense,
    for up to some thousand areas. Raises InputError for model variance 0 and for unlike shapes.
    """
    alpha = number(order, "order", 1.0, above=True)
    if posterior.m != other.m:
        raise InputError("unlike numbers of areas", "posterior", "compare the same areas")
    if posterior.model_variance == 0 or other.model_variance == 0:
        raise InputError("no density at model variance 0", "model variance", "give positive ones")
    first, second = posterior.covariance_matrix(), other.covariance_matrix()
    mixed = _factor(alpha * second + (1.0 - alpha) * first)
    own = [_factor(part) for part in (first, second)]
    if mixed is None or own[0] is None or own[1] is None:
        return math.inf
    d = np.linalg.solve(mixed, posterior.mean(y) - other.mean(other_y))
    logs = _log_determinant(mixed) - (1 - alpha) * _log_determinant(own[0]) - alpha * _log_determinant(own[1])
    return float(alpha / 2 * (d @ d) - logs / (2 * (alpha - 1)))


def _factor(matrix: Float64) -> Float64 | None:
    """The Cholesky factor, or None if the matrix is not positive definite."""
    try:
        factor = np.linalg.cholesky((matrix + matrix.T) / 2)
    except np.linalg.LinAlgError:
        return None
    return np.asarray(factor, dtype=np.float64)


def _log_determinant(factor: Float64) -> float:
    return 2.0 * float(np.log(np.diag(factor)).sum())
