"""Shrinking a joint draw again: free post-processing that recovers part of what the draw's noise cost.

For A > 0 the map M = Sigma D^-1 has the inverse M^-1 = D Sigma^-1 = I + D (I - H) / A, H = X (X'X)^-1 X'. So
the mean of L joint draws is as good as y* = M^-1 theta~ = y + noise of covariance D Sigma^-1 D / L, and

    Var(y* | beta) = V* = A + D + (D + D^2/A)/L - D H D / (A L).

The best predictor from y* with a flat prior on beta is X b + A V*^-1 (y* - X b), b by generalised least
squares. O(m p^2) by the Woodbury formula. For one draw, many areas and the same D everywhere its mean squared
error is (1 - B/2) times that of the draw, 2 sigma^2.
"""

from __future__ import annotations

import numpy as np

from pgsr.errors import InputError
from pgsr.sae.checks import Float64
from pgsr.sae.posterior import Posterior


def reshrunk(
    posterior: Posterior, draw: Float64, draws: int = 1, truth: float | None = None
) -> tuple[Float64, Float64]:
    """Predictor and its mean squared error (m,), (m,) from `draw` (m,), the mean of so many joint draws.

    Given y* the truth is normal with these two. With `truth` the error is that at a larger model variance
    than the posterior's: it rises by the difference times sum_j (P - I)_ij^2, P the predictor's map of y*,
    P X = X. Raises InputError for A = 0, where M has no inverse.
    """
    a, d = posterior.model_variance, posterior.variance
    if a == 0:
        raise InputError("nothing to shrink at model variance 0", "model variance", "publish the draw alone")
    x = posterior.design
    u, _ = np.linalg.qr(x / np.sqrt((x * x).sum(axis=0)))  # H = U U'
    pseudo = draw + d * (draw - u @ (u.T @ draw)) / a
    diagonal = a + d + (d + d * d / a) / draws
    du = d[:, None] * u / np.sqrt(a * draws)  # V* = diagonal - du du'

    def solve(right: Float64) -> Float64:
        base = right / diagonal[:, None]
        scaled = du / diagonal[:, None]
        inner = np.eye(du.shape[1]) - du.T @ scaled
        solved: Float64 = base + scaled @ np.linalg.solve(inner, du.T @ base)
        return solved

    inverse_u = solve(u)
    information = u.T @ inverse_u
    information = (information + information.T) / 2
    beta = np.linalg.solve(information, inverse_u.T @ pseudo)
    fitted = u @ beta
    predicted = fitted + a * solve((pseudo - fitted)[:, None])[:, 0]
    scaled = du / diagonal[:, None]
    inner = np.eye(du.shape[1]) - du.T @ scaled
    inverse_diagonal = 1 / diagonal + np.einsum("ip,pi->i", scaled, np.linalg.solve(inner, scaled.T))
    loading = u - a * inverse_u
    fixed = np.einsum("ip,pi->i", loading, np.linalg.solve(information, loading.T))
    mse = a - a * a * inverse_diagonal + fixed
    if truth is not None and truth > a:
        # P = A V*^-1 + loading beta_map, V*^-1 = 1/diagonal + scaled inner^-1 scaled'.
        left = np.hstack([a * np.linalg.solve(inner, scaled.T).T, loading])
        right = np.hstack([scaled, np.linalg.solve(information, inverse_u.T).T])
        own = a / diagonal - 1.0
        squares = np.einsum("ip,pq,iq->i", left, right.T @ right, left)
        mse = mse + (truth - a) * (own**2 + 2 * own * (left * right).sum(axis=1) + squares)
    return predicted, mse
