"""CONFIDENTIAL diagnostic: what one record does when D and A are estimated from the same records.

A conditional figure treats D and A as constants. Here one record's outcome is changed, and its area's
estimate, D, A, or all of them are estimated again; the Renyi divergences of a joint draw before and after
are set against order times rho_k, what the conditional figure says of that area. They are figures of these
data, bound nothing, and must never be published.

If D_k alone changes with y_k, before and after differ in the factor p(y_k | theta_k) alone, so that the
divergence is that of theta_k's marginals: N(mu, s), N(mu', s') with 1/s' = 1/s - 1/D + 1/D'. All records are
looked at. In general, with precision L = diag(1/D) + (I - H)/A of the posterior (A > 0), the divergence is

    alpha/2 d' L La^-1 L' d - [log|La| - alpha log|L| - (1 - alpha) log|L'|] / (2 (alpha - 1)),

La = alpha L + (1 - alpha) L', d = mu - mu', infinite unless La is positive definite: the form of `audit` in
natural parameters (Gil, Alajaji and Linder 2013). L and La are diagonal and rank p: O(m p^2). An A estimated
again needs a fit a change, so of each area only the largest change up and the largest down are looked at, and
the changes that were worst with A fixed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

import numpy as np

from pgsr.errors import InputError
from pgsr.mechanism import Columns
from pgsr.sae.checks import Float64, Int64, number, refuse
from pgsr.sae.direct import confidential_direct
from pgsr.sae.fayherriot import ConfidentialFit, confidential_fit
from pgsr.sae.fitting import Profile, confidential_model_variance
from pgsr.sae.guarantees import own_rho
from pgsr.sae.microdata import Microdata
from pgsr.sae.posterior import Posterior
from pgsr.sae.record_changes import Changes, changes
from pgsr.sae.variances import confidential_taylor

Sampling = Literal["taylor", "kish"]
"""taylor: D_k by linearisation, its areas strata; kish: p(1 - p) sum w^2/(sum w)^2 with the overall p."""
ESTIMATED_AGAIN = ("model", "sampling", "both")
"""model: y_k and A; sampling: y_k and D; both: all of them."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ConfidentialAudit:
    """CONFIDENTIAL: the largest Renyi divergences that one changed record of each area makes.

    `plug_in` (m,) is rho_k, D and A constant; `losses` has one array (orders, m) a name of what was estimated
    again, the larger of both directions, which may be infinite.
    """

    orders: tuple[float, ...]
    plug_in: Float64 = field(repr=False)
    losses: dict[str, Float64] = field(repr=False)

    def ratios(self, again: str) -> Float64:
        """Divergences over order times rho_k (orders, m)."""
        return np.asarray(self.losses[again] / np.outer(self.orders, self.plug_in), dtype=np.float64)

    def table(self) -> Columns:
        """One row a name and an order: median and greatest ratio over areas, number and share infinite.

        The greatest is that of the finite ones.
        """
        rows = []
        for again in self.losses:
            for order, ratio in zip(self.orders, self.ratios(again), strict=True):
                finite = ratio[np.isfinite(ratio)]
                top = float(finite.max()) if finite.size else math.nan
                infinite = int(ratio.size - finite.size)
                rows.append((again, order, float(np.median(ratio)), top, infinite, infinite / ratio.size))
        names = ("again", "order", "median", "greatest_finite", "infinite", "infinite_share")
        columns: dict[str, Any] = {
            name: np.array(x) for name, x in zip(names, zip(*rows, strict=True), strict=True)
        }
        columns["again"] = np.array([row[0] for row in rows], dtype=np.dtypes.StringDType())
        return columns


def confidential_audit(
    data: Microdata,
    *,
    design: Any = None,
    method: str = "reml",
    variance: str = "taylor",
    orders: Sequence[float] = (2.0, 8.0),
    again: Sequence[str] = ESTIMATED_AGAIN,
) -> ConfidentialAudit:
    """CONFIDENTIAL: audit of Hajek means of `data`, D by `variance`, A by `method` on X `design` (m, p).

    A record's outcome moves to either end of the public range; `kish` is for outcomes 0 and 1. `again`: what
    to estimate again, of `ESTIMATED_AGAIN`. "sampling" alone with `taylor` takes O(n), the others two to six
    fits an area. Raises InputError for an area with D = 0 and for an estimate A = 0, where a draw has no
    density.
    """
    if not again or set(again) - set(ESTIMATED_AGAIN):
        raise InputError("nothing known to estimate", "again", f"use {', '.join(ESTIMATED_AGAIN)}")
    steps = tuple(number(order, "order", 1.0, above=True) for order in orders)
    if not steps:
        raise InputError("no orders", "orders", "give one or more above 1")
    if variance not in get_args(Sampling):
        raise InputError("unknown variance", "variance", f"use {', '.join(get_args(Sampling))}")
    found = changes(data)
    direct = confidential_direct(data)
    if variance == "taylor":
        d = confidential_taylor(data, direct).variance
    else:
        refuse(
            (data.outcome != 0) & (data.outcome != 1), "not 0 and 1 alone", "outcome", "use taylor for others"
        )
        d = found.kish * found.unit_variance
    fit = confidential_fit(direct.estimate, d, design, method=method)
    if fit.posterior.model_variance == 0:
        raise InputError("no density at model variance 0", "model variance", "audit another model")
    share = np.zeros(data.m)
    np.maximum.at(share, data.area_codes, data.weight / found.total[data.area_codes])
    loss = _Losses(fit=fit, changes=found, kish=variance == "kish", orders=steps, method=method)
    extreme = worst = found.extreme()
    losses = {}
    if "model" in again:
        losses["model"] = loss.largest(extreme, sampling=False, model=True)
    if variance == "kish":
        if "sampling" in again:
            losses["sampling"] = loss.largest(extreme, sampling=True, model=False)
    elif {"sampling", "both"} & set(again):
        sampling, at = loss.sampling()
        worst = np.unique(np.concatenate([extreme, at]))
        losses |= {"sampling": sampling} if "sampling" in again else {}
    if "both" in again:
        losses["both"] = loss.largest(worst, sampling=True, model=True)
    return ConfidentialAudit(orders=steps, plug_in=own_rho(fit.posterior, data.width * share), losses=losses)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Losses:
    fit: ConfidentialFit
    changes: Changes
    kish: bool
    orders: tuple[float, ...]
    method: str

    def sampling(self) -> tuple[Float64, Int64]:
        """Largest divergences (orders, m) over all changes with A fixed, and the changes that attain them."""
        posterior, found = self.fit.posterior, self.changes
        k = found.area
        mean = posterior.mean(self.fit.direct)
        d, s = posterior.variance, posterior.sigma2
        # What the other areas say of theta_k: precision and precision times mean.
        kept = posterior.shrinkage * (1 - self.fit.leverage)  # 1 - c_kk
        others, pull = kept / s, mean / s - self.fit.direct / d
        possible = found.variance > 0
        moved_d = np.where(possible, found.variance, 1.0)
        moved_s = 1 / (others[k] + 1 / moved_d)
        moved_mean = moved_s * (pull[k] + found.estimate / moved_d)
        shift2 = (moved_mean - mean[k]) ** 2
        top, at = [], []
        for order in self.orders:
            loss = np.maximum(_renyi(shift2, s[k], moved_s, order), _renyi(shift2, moved_s, s[k], order))
            loss = np.where(possible, loss, math.inf)
            rows = np.lexsort((loss, k))
            last = rows[np.flatnonzero(np.append(np.diff(k[rows]) > 0, True))]
            top.append(loss[last])
            at.append(last)
        return np.array(top), np.concatenate(at)

    def largest(self, rows: Int64, *, sampling: bool, model: bool) -> Float64:
        """Largest divergences (orders, m) over the changes in `rows`, estimating D or A or both again."""
        found, base = self.changes, self.fit.posterior
        top = np.zeros((len(self.orders), base.m))
        u, _ = np.linalg.qr(base.design / np.sqrt((base.design**2).sum(axis=0)))
        here = _Gaussian.of(base, self.fit.direct, u)
        for row in rows:
            k = found.area[row]
            y, d, a = self.fit.direct.copy(), base.variance.copy(), base.model_variance
            y[k] = found.estimate[row]
            if sampling:
                d = found.kish * found.moved_unit_variance[row] if self.kish else d
                if not self.kish:
                    d[k] = found.variance[row]
            if float(d.min()) > 0 and model:
                a = confidential_model_variance(Profile(y, d, base.design), self.method).value
            if float(d.min()) <= 0 or a == 0:
                top[:, k] = math.inf
                continue
            there = _Gaussian.of(Posterior(variance=d, model_variance=a, design=base.design), y, u)
            for place, order in enumerate(self.orders):
                both = max(here.divergence(there, order), there.divergence(here, order))
                top[place, k] = max(top[place, k], both)
        return top


def _renyi(shift2: Float64, s: Float64, other: Float64, order: float) -> Float64:
    """Divergence of N(., s) from N(., other), elementwise; means differ by sqrt(shift2)."""
    mixed = order * other + (1 - order) * s
    fine = mixed > 0
    mixed = np.where(fine, mixed, 1.0)
    logs = np.log(mixed / s) - order * np.log(other / s)
    return np.where(fine, order / 2 * shift2 / mixed - logs / (2 * (order - 1)), math.inf)


@dataclass(frozen=True, slots=True, eq=False)
class _Gaussian:
    """A posterior with precision diag(e) - c U U', U (m, p) orthonormal, and its mean."""

    mean: Float64
    e: Float64
    c: float
    u: Float64

    @classmethod
    def of(cls, posterior: Posterior, y: Float64, u: Float64) -> _Gaussian:
        c = 1 / posterior.model_variance
        return cls(posterior.mean(y), 1 / posterior.variance + c, c, u)

    def divergence(self, other: _Gaussian, order: float) -> float:
        """Renyi divergence of this from the other; may be infinite."""
        mixed = _Gaussian(
            self.mean, order * self.e + (1 - order) * other.e, order * self.c + (1 - order) * other.c, self.u
        )
        log_mixed = mixed.log_determinant()
        if log_mixed is None:
            return math.inf
        d = self.mean - other.mean
        quadratic = float(self.times(d) @ mixed.solve(other.times(d)))
        own, others = self.log_determinant(), other.log_determinant()
        assert own is not None
        assert others is not None
        logs = log_mixed - order * own - (1 - order) * others
        return order / 2 * quadratic - logs / (2 * (order - 1))

    @property
    def plain(self) -> bool:
        """Whether all of e is above 0; without it the matrix can be positive definite if c < 0."""
        return bool((self.e > 0).all())

    def inner(self) -> Float64:
        """I - c U' diag(1/e) U (p, p)."""
        return np.asarray(np.eye(self.u.shape[1]) - self.c * (self.u.T @ (self.u / self.e[:, None])))

    def matrix(self) -> Float64:
        """The precision (m, m)."""
        return np.asarray(np.diag(self.e) - self.c * (self.u @ self.u.T))

    def log_determinant(self) -> float | None:
        """Of the precision; None unless it is positive definite."""
        if not self.plain and self.c >= 0:
            return None  # its diagonal is not positive
        values = np.linalg.eigvalsh(self.inner() if self.plain else self.matrix())
        if float(values.min()) <= 0:
            return None
        return float(np.log(values).sum() + (np.log(self.e).sum() if self.plain else 0.0))

    def times(self, x: Float64) -> Float64:
        """The precision times x (m,)."""
        return np.asarray(self.e * x - self.c * (self.u @ (self.u.T @ x)))

    def solve(self, x: Float64) -> Float64:
        """The covariance times x (m,)."""
        if not self.plain:
            return np.asarray(np.linalg.solve(self.matrix(), x))
        base = x / self.e
        return np.asarray(
            base + self.c * (self.u / self.e[:, None]) @ np.linalg.solve(self.inner(), self.u.T @ base)
        )
