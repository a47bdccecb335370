"""The tighter ladder B1 of the Theil index: exact at rank 0, the joint range of S and H beyond.

The paper bounds S and H apart. B1 takes the exact range of log(t / L) = H / S over the data within k
replacements (`pgsr.inequality.ratio`, phi(z) = z log(z / L)), together with that of S.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pgsr.inequality import theil
from pgsr.inequality.domain import Domain, Float64
from pgsr.inequality.numerics import log_ratio
from pgsr.inequality.ratio import Sums, ratio_ladder
from pgsr.inequality.smooth import Ranks


@dataclass(frozen=True, slots=True)
class WeightedLog:
    """phi(z) = z log(z / L), see `pgsr.inequality.ratio.Convex`."""

    domain: Domain
    error: int = 20

    def phi(self, x: Float64) -> Float64:
        """Each x log(x / L)."""
        return theil.weighted_logs(x, self.domain)

    def chord(self, a: Float64, b: Float64) -> Float64:
        """With q = (b - a) / a it is log(a / L) + (1 + q) log(1 + q) / q: relative error at most 14 u."""
        q = (b - a) / a
        safe = np.where(q > 0, q, 1.0)
        slope = np.where(q > 0, (1 + q) * (np.log1p(q) / safe), 1.0)
        return log_ratio(a, self.domain.lower) + slope

    def lowest(self, lam: Float64) -> tuple[Float64, Float64]:
        """L exp(lam - 1), kept inside the domain."""
        low, high = self.domain.lower, self.domain.upper
        log_z = np.clip(lam - 1, 0.0, float(log_ratio(high, low)))
        z = np.minimum(low * np.exp(log_z), high)
        return z, z * log_z


def ladder(x: Float64, domain: Domain) -> Ranks:
    """B1^(k) of sorted x (n,); errors as stated in `theil.accuracy`."""

    def local(sums: Sums) -> float:
        return theil.local(x, sums, domain)

    def move_at_most(s: Float64, t: Float64, c: float) -> Float64:
        return theil.move_at_most(s, t, c, domain)

    most = theil.rounded_global(domain)
    return ratio_ladder(x, WeightedLog(domain), local, move_at_most, most)
