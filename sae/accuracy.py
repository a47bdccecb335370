"""What releases of equal rho are worth: mean squared errors for known D and a guess of A. No data needed.

For a model with these variances: the predictor without privacy g1 + g2; L joint draws, averaged,
sigma^2 (1 + 1/L); the same shrunk again (`reshrink`); direct estimates with noise Delta^2 / (2 rho), then
Fay-Herriot, g1 + g2 at variances D + Delta^2 / (2 rho), at the rho of the L draws.

With many areas alike re-shrinking gains the factor 1 - B/2, and is then worth as much as noisy direct
estimates. With unequal rho_k the noisy direct estimates are better than either draw, since they spend the
budget in every area. They are worse where shrinkage is so heavy that the areas are nearly one common number
(m not well above (B / (1 - B))^2): a draw adds noise to that number, not to its parts.
"""

from __future__ import annotations

import numpy as np

from pgsr.mechanism import Columns
from pgsr.sae.checks import Float64, positive
from pgsr.sae.guarantees import own_rho
from pgsr.sae.posterior import Posterior
from pgsr.sae.reshrink import reshrunk


def equal_rho_errors(posterior: Posterior, sensitivity: Float64, draws: int = 1) -> tuple[float, Columns]:
    """Rho of `draws` joint draws, and mean squared errors by area of the ways to spend it.

    Columns, each (m,): direct (no privacy), predictor (no privacy), draw, reshrunk, noisy_direct.
    """
    delta = positive(sensitivity, "sensitivity", posterior.m)
    rho = draws * float(own_rho(posterior, delta).max())
    draw = posterior.sigma2 * (1.0 + 1.0 / draws)
    again = draw
    if posterior.model_variance > 0:
        _, again = reshrunk(posterior, np.zeros(posterior.m), draws)
    noisy = Posterior(
        variance=posterior.variance + delta**2 / (2.0 * rho),
        model_variance=posterior.model_variance,
        design=posterior.design,
    )
    return rho, {
        "direct": posterior.variance,
        "predictor": posterior.sigma2,
        "draw": draw,
        "reshrunk": again,
        "noisy_direct": noisy.sigma2,
    }
