"""Confidential: the Fay-Herriot fit, for the data's custodian alone; nothing here is private.

Fay and Herriot (1979); mean squared errors after Prasad and Rao (1990), Datta and Lahiri (2000) and Datta,
Rao and Smith (2005). A private release of the same model is made by the mechanisms of this package.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pgsr.sae.checks import Float64, number, vector
from pgsr.sae.design import design_matrix
from pgsr.sae.fitting import METHODS, ModelVariance, Profile, confidential_model_variance, likelihood
from pgsr.sae.new_areas import NewAreas
from pgsr.sae.posterior import Posterior, sampling_variance

KNOWN = "known"
"""The method of a fit whose model variance was given."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ConfidentialFit:
    """CONFIDENTIAL: a fit of the area-level model; its repr shows the method and the shape alone.

    `posterior` the map at the fitted model variance, whose `sigma2` is g1 + g2; `model_variance` A and how it
    was found; `direct` y (m,); `beta` (p,) and its standard errors `beta_se` at the fitted A; `eblup` (m,);
    `mse` (m,) = g1 + g2 + 2 g3 - b B^2; `g3` (m,); `bias` b of the estimate of A; `leverage` h (m,) of the
    weighted fit; `residuals` (m,) y - X beta in standard deviations; `log_likelihood`, `aic`, `bic` at the
    fitted A with beta profiled out (p + 1 parameters; p if A was given).
    """

    method: str
    m: int
    p: int
    posterior: Posterior = field(repr=False)
    model_variance: ModelVariance = field(repr=False)
    direct: Float64 = field(repr=False)
    beta: Float64 = field(repr=False)
    beta_se: Float64 = field(repr=False)
    eblup: Float64 = field(repr=False)
    mse: Float64 = field(repr=False)
    g3: Float64 = field(repr=False)
    bias: float = field(repr=False)
    leverage: Float64 = field(repr=False)
    residuals: Float64 = field(repr=False)
    log_likelihood: float = field(repr=False)

    @property
    def status(self) -> str:
        """How A was found: known, inside or at zero, and whether the likelihood has several maxima."""
        if self.method == KNOWN:
            return KNOWN
        place = "at zero" if self.model_variance.at_zero else "inside"
        return place if self.model_variance.maxima == 1 else f"{place}, the highest of several maxima"

    @property
    def parameters(self) -> int:
        """Number of fitted parameters."""
        return self.p + (self.method != KNOWN)

    @property
    def aic(self) -> float:
        """Akaike's criterion, -2 log-likelihood + 2 parameters."""
        return -2 * self.log_likelihood + 2 * self.parameters

    @property
    def bic(self) -> float:
        """Schwarz's criterion, -2 log-likelihood + log(m) parameters."""
        return float(-2 * self.log_likelihood + np.log(self.m) * self.parameters)

    def predict(self, design: Any = None) -> tuple[Float64, Float64]:
        """Confidential: synthetic means (k,) and their mean squared errors (k,) for areas out of the sample.

        `design` (k, p). The error is A + x'Qx - b, at least 0: B is 1, and g3 vanishes with it.
        """
        new = NewAreas(posterior=self.posterior, design=design)
        return new.mean(self.direct), np.maximum(new.sigma2 - self.bias, 0.0)


def confidential_fit(
    y: Any,
    variance: Any,
    design: Any = None,
    *,
    method: str = "reml",
    model_variance: float | None = None,
    names: Sequence[str] | None = None,
) -> ConfidentialFit:
    """Confidential: fit direct estimates y (m,) with sampling variances D (m,) > 0 on X (m, p).

    `design` None is an intercept alone; no intercept is added to a design. `method`: reml, ml, fh or pr;
    with `model_variance` given, A is that and no method is used. Areas without a direct estimate are left out
    and predicted with `predict`. Raises InputError for bad input, dependent columns and, unless A is given,
    m <= p.
    """
    known = 0.0 if model_variance is None else number(model_variance, "model variance")
    d = sampling_variance(variance)
    x = design_matrix(design, d.size, names)
    direct = vector(y, "direct estimates", d.size)
    profile = Profile(direct, d, x)
    if model_variance is not None:
        method = KNOWN
        estimate = ModelVariance(value=known, at_zero=known == 0, maxima=1, score=0.0)
    else:
        estimate = confidential_model_variance(profile, method)
    posterior = Posterior(variance=d, model_variance=estimate.value, design=x, names=names)
    v, u, r, rest = profile.residuals(estimate.value)
    leverage = (u * u).sum(axis=1)
    spread, bias = _moments(method, v, leverage)
    b = posterior.shrinkage
    g3 = b * b * spread / v
    # A row that fits itself (leverage 1) leaves no residual.
    free = np.sqrt(np.maximum(1.0 - leverage, 0.0))
    residuals = np.divide(rest, free, out=np.zeros_like(rest), where=free > 1e-7)
    return ConfidentialFit(
        method=method,
        m=posterior.m,
        p=posterior.p,
        posterior=posterior,
        model_variance=estimate,
        direct=direct,
        beta=posterior.beta(direct),
        beta_se=np.sqrt(np.diag(posterior.q)),
        eblup=posterior.mean(direct),
        mse=posterior.sigma2 + 2 * g3 - bias * b * b,
        g3=g3,
        bias=bias,
        leverage=leverage,
        residuals=residuals,
        log_likelihood=likelihood(v, r, rest, "ml"),
    )


def _moments(method: str, v: Float64, leverage: Float64) -> tuple[float, float]:
    """Asymptotic variance of the estimate of A and its bias b, by method; V (m,) and leverages (m,) at it."""
    m = v.size
    first, second = float((1 / v).sum()), float((1 / (v * v)).sum())
    if method == "reml":
        return 2 / second, 0.0
    if method == "ml":
        # tr(Q X'V^-2 X) = sum of h_i / V_i
        return 2 / second, -float((leverage / v).sum()) / second
    if method == "fh":
        return 2 * m / first**2, 2 * (m * second - first**2) / first**3
    if method == "pr":
        return 2 * float((v * v).sum()) / m**2, 0.0
    assert method == KNOWN, METHODS
    return 0.0, 0.0
