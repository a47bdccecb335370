"""Figures of a twin in the form of the paper's tables: one number a key, to be compared over seeds.

The figures rest on variances that were estimated from the simulated records, as the paper's rest on its
own: conditional figures, no guarantees.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from pgsr.bench.pages import Row
from pgsr.bench.sae_recipe import Twin
from pgsr.sae.checks import Float64
from pgsr.sae.conversions import epsilon_exact, epsilon_simple
from pgsr.sae.fayherriot import ConfidentialFit, confidential_fit
from pgsr.sae.guarantees import AreaGuarantees, own_rho
from pgsr.sae.levers import equal_weights
from pgsr.sae.loglog import log_log
from pgsr.sae.posterior import Posterior

ETAS = (-0.5, -0.25, -0.1, 0.1, 0.25, 0.5)
QUANTILES = (0, 5, 25, 50, 75, 95, 100)
"""Per cent."""

Figures = dict[str, float]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Analysis:
    """A twin seen as the paper sees its surveys: intercept alone, A by REML, D by `method`.

    `kept` (m,) are the areas with D > 0; the others have no case and are left out of everything else here,
    whose arrays have one entry a kept area. `kish` is sum w^2 / (sum w)^2.
    """

    twin: Twin
    method: str
    kept: NDArray[np.bool_] = field(repr=False)
    n: Float64 = field(repr=False)
    ratio: Float64 = field(repr=False)
    kish: Float64 = field(repr=False)
    fit: ConfidentialFit = field(repr=False)
    guarantees: AreaGuarantees = field(repr=False)

    @classmethod
    def of(cls, twin: Twin, method: str) -> Analysis:
        """Fit the model and compute what releases would cost."""
        variance = twin.variance(method)
        kept = variance > 0
        fit = confidential_fit(twin.direct.estimate[kept], variance[kept])
        return cls(
            twin=twin,
            method=method,
            kept=kept,
            n=twin.weights.counts[kept].astype(np.float64),
            ratio=twin.weights.ratio[kept],
            kish=1 / twin.weights.effective_n[kept],
            fit=fit,
            guarantees=AreaGuarantees(
                posterior=fit.posterior, sensitivity=twin.weights.share[kept], variances="invariant"
            ),
        )

    @property
    def posterior(self) -> Posterior:
        """The posterior at the fitted A."""
        return self.fit.posterior

    @property
    def conservative(self) -> Float64:
        """Delta^2 / (2 sigma^2) (m,): the paper's comparison, which takes c_kk for 1."""
        return np.asarray(self.guarantees.sensitivity**2 / (2 * self.posterior.sigma2), dtype=np.float64)


def area_rows(found: Analysis) -> list[Row]:
    """One row an area, for pictures; `draw` is one joint draw with a generator of its own."""
    rng = np.random.default_rng((found.twin.recipe.number, found.twin.seed, 1))
    posterior, cost = found.posterior, found.guarantees
    drawn = posterior.draw(found.fit.direct, rng.standard_normal(posterior.m), rng.standard_normal(1))
    columns = {
        "n": found.n.astype(np.int64),
        "ratio": found.ratio,
        "kish": found.kish,
        "variance": posterior.variance,
        "shrinkage": posterior.shrinkage,
        "gain": posterior.gain,
        "sensitivity": cost.sensitivity,
        "rho_exact": cost.own,
        "rho_conservative": found.conservative,
        "rho_a_free": cost.sensitivity**2 / (2 * posterior.variance),
        "r_k": cost.correlation2,
        "direct": found.fit.direct,
        "truth": found.twin.truth[found.kept],
        "draw": drawn,
        "sigma": np.sqrt(posterior.sigma2),
    }
    about = {"twin": found.twin.recipe.name, "variances": found.method, "seed": found.twin.seed}
    names = [name for name, kept in zip(found.twin.data.areas, found.kept, strict=True) if kept]
    return [
        about | {"area": name} | {key: column[k].item() for key, column in columns.items()}
        for k, name in enumerate(names)
    ]


def figures(found: Analysis) -> Figures:
    """All figures of one analysis."""
    parts = (_design(found), _costs(found), _joint(found), _weights(found), _etas(found), _slopes(found))
    return {key: value for part in parts for key, value in part.items()}


def _design(found: Analysis) -> Figures:
    twin, posterior = found.twin, found.posterior
    return {
        "areas": float(twin.data.m),
        "left_out": float((~found.kept).sum()),
        "records": float(twin.data.n),
        "n_least": float(twin.weights.counts.min()),
        "n_median": float(np.median(twin.weights.counts)),
        "n_greatest": float(twin.weights.counts.max()),
        "ratio_median": float(np.median(twin.weights.ratio)),
        "ratio_greatest": float(twin.weights.ratio.max()),
        "effective_median": float(np.median(twin.weights.effective_n)),
        "overall": twin.direct.overall,
        "model_variance": posterior.model_variance,
        "variance_median": float(np.median(posterior.variance)),
        "shrinkage_median": float(np.median(posterior.shrinkage)),
        "w_plus": posterior.w_plus,
    }


def _costs(found: Analysis) -> Figures:
    cost, delta = found.guarantees, found.twin.recipe.delta
    rows: Figures = {}
    for name, values in (("rho", cost.own), ("conservative", found.conservative)):
        for percent in QUANTILES:
            rho = float(np.percentile(values, percent))
            rows[f"{name}_{percent}"] = rho
            rows[f"{name}_{percent}_epsilon"] = epsilon_simple(rho, delta)
    gain = found.posterior.gain
    rows["inverse_gain2_median"] = float(np.median(1 / gain**2))
    rows["own_is_worst"] = float(cost.own_is_worst)
    rows["others_reach"] = others_reach(found)
    worst = cost.joint_area
    rows["worst_n"], rows["worst_ratio"] = float(found.n[worst]), float(found.ratio[worst])
    rows["epsilon_exact_median"] = epsilon_exact(float(np.median(cost.own)), delta)
    return rows


def others_reach(found: Analysis) -> float:
    """The largest c_ik Delta_k / (c_ii Delta_i) over i and k != i: closed form, intercept alone."""
    posterior, delta = found.posterior, found.guarantees.sensitivity
    reach = (1 - posterior.shrinkage) * delta / posterior.w_plus
    first = int(reach.argmax())
    rest = float(np.delete(reach, first).max())
    others = np.full(reach.size, reach[first])
    others[first] = rest
    return float((posterior.shrinkage * others / (posterior.gain * delta)).max())


def _joint(found: Analysis) -> Figures:
    cost, delta = found.guarantees, found.twin.recipe.delta
    total = float(cost.own.sum())
    return {
        "joint": cost.joint,
        "joint_epsilon": epsilon_simple(cost.joint, delta),
        "joint_epsilon_exact": epsilon_exact(cost.joint, delta),
        "marginals": cost.marginals,
        "marginals_epsilon": epsilon_simple(cost.marginals, delta),
        "a_free": cost.free,
        "sum": total,
        "sum_epsilon": epsilon_simple(total, delta),
        "sum_over_marginals": total / cost.marginals,
        "r_worst": float(cost.correlation2[cost.marginals_area]),
        "r_greatest": float(cost.correlation2.max()),
    }


def _weights(found: Analysis) -> Figures:
    table = equal_weights(found.posterior, found.guarantees.sensitivity, found.n, found.kish)
    rows = {f"equal_{name}": float(np.median(table[name])) for name in ("rho_fixed", "factor_fixed")}
    rows["equal_factor_recomputed"] = float(np.median(table["factor_recomputed"]))
    rows["equal_rho_recomputed"] = float(np.median(table["rho_recomputed"]))
    rows["equal_joint_fixed"] = float(table["rho_fixed"].max())
    rows["equal_joint_recomputed"] = float(table["rho_recomputed"].max())
    return rows


def _etas(found: Analysis) -> Figures:
    """Per cent by which rho_k changes if A is A (1 + eta): quantiles over areas."""
    rows: Figures = {}
    posterior, cost = found.posterior, found.guarantees
    for eta in ETAS:
        other = Posterior(variance=posterior.variance, model_variance=posterior.model_variance * (1 + eta))
        change = 100 * (own_rho(other, cost.sensitivity) / cost.own - 1)
        for percent in QUANTILES:
            rows[f"eta_{eta:g}_{percent}"] = float(np.percentile(change, percent))
    rows["eta_small_most"] = max(-rows["eta_-0.1_0"], rows["eta_0.1_100"])
    return rows


def _slopes(found: Analysis) -> Figures:
    """Least squares of log rho on log n, and on log n and log ratio, with 95 % intervals."""
    rho, n, ratio = found.guarantees.own, found.n, found.ratio
    rows: Figures = {"correlation_n_ratio": float(np.corrcoef(np.log(n), np.log(ratio))[0, 1])}
    alone, both = log_log(rho, {"n": n}), log_log(rho, {"n": n, "ratio": ratio})
    for name, table, at in (("alone_n", alone, 1), ("both_n", both, 1), ("both_ratio", both, 2)):
        rows[f"slope_{name}"] = float(table["slope"][at])
        rows[f"slope_{name}_lower"] = float(table["lower"][at])
        rows[f"slope_{name}_upper"] = float(table["upper"][at])
    rows["correlation_rho_ratio"] = float(both["correlation"][2])
    return rows
