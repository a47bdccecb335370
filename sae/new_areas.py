"""Areas without direct estimates: what the posterior says of them from their covariates alone."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pgsr.errors import InputError
from pgsr.sae.checks import Float64, finite_rows, numbers, vector
from pgsr.sae.posterior import Posterior


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NewAreas:
    """k areas out of the sample, design rows `design` (k, p); None is an intercept alone (one area).

    theta_o = x_o'beta + v_o. Attributes: `sigma2` (k,) = A + x_o'Q x_o, the posterior variance; `factor` T
    (k, p) = X_o R^-1. Drawn with the sampled areas' normals w they belong to the same joint draw, at no cost.
    """

    posterior: Posterior
    design: Any = field(repr=False)
    k: int = field(init=False)
    sigma2: Float64 = field(init=False, repr=False)
    factor: Float64 = field(init=False, repr=False)

    def __post_init__(self) -> None:
        where, p = "design of new areas", self.posterior.p
        x = numbers(np.ones((1, 1)) if self.design is None else self.design, where, "give one row an area")
        if x.ndim != 2 or x.shape[1] != p:
            raise InputError(
                f"not a matrix of {p} columns", where, "give the columns of the sampled areas' design"
            )
        finite_rows(x, where)
        factor = np.linalg.solve(self.posterior.triangle.T, x.T).T
        sigma2 = self.posterior.model_variance + (factor * factor).sum(axis=1)
        put = object.__setattr__
        put(self, "k", x.shape[0])
        for name, array in (("design", x), ("sigma2", sigma2), ("factor", factor)):
            array.flags.writeable = False
            put(self, name, array)

    def covariance(self) -> Float64:
        """Posterior covariance (k, k) of the new areas: A I + X_o Q X_o'."""
        return self.posterior.model_variance * np.eye(self.k) + self.factor @ self.factor.T

    def cross_covariance(self) -> Float64:
        """Posterior covariance (k, m) with the sampled areas: B_i x_o'Q x_i."""
        return self.factor @ self.posterior.factor.T

    def gains(self) -> Float64:
        """How each new area's mean moves with each direct estimate (k, m): x_o'Q x_i / (A + D_i)."""
        return self.cross_covariance() / self.posterior.variance

    def mean(self, y: Any) -> Float64:
        """Confidential: posterior means x_o'beta_WLS (k,) from the sampled areas' direct estimates y (m,)."""
        return self.factor @ self.posterior.coordinates(y)

    def draw(self, y: Any, w: Any, z: Any) -> Float64:
        """The new areas' part (k,) of the joint draw with normals w (p,) of beta, and own normals z (k,)."""
        shared, own = (
            vector(w, "normals of beta", self.posterior.p),
            vector(z, "normals of new areas", self.k),
        )
        root = np.sqrt(self.posterior.model_variance)
        moved: Float64 = self.factor @ (self.posterior.coordinates(y) + shared) + root * own
        return moved
