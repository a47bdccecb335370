"""What is left of accuracy at equal rho, and what a designer's levers do, on a twin.

Errors are expected squared errors over the model, D and A taken as true, averaged over areas and divided by
the mean D, that of the direct estimates.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import replace

import numpy as np

from pgsr.bench.sae_figures import Analysis, Figures, area_rows
from pgsr.bench.sae_recipe import Twin
from pgsr.sae.accuracy import equal_rho_errors
from pgsr.sae.checks import Float64
from pgsr.sae.direct import confidential_direct
from pgsr.sae.guarantees import own_rho
from pgsr.sae.levers import floor_for_any_model, floor_for_this_model
from pgsr.sae.posterior import Posterior
from pgsr.sae.trimming import trim
from pgsr.sae.weights import weight_diagnostics

TARGETS = (1.0, 0.25, 0.1)
"""Values of rho to be reached by a floor, or by more noise; those below the twin's own count."""
CAPS = (5.0, 3.0, 2.0)
"""Common caps on weights, in units of an area's mean weight."""
WAYS = ("direct", "predictor", "draw", "reshrunk", "noisy_direct")


def errors_of_draw(used: Posterior, variance: Float64) -> Float64:
    """Expected squared error (m,) of a joint draw made with other D than the true `variance` (m,).

    theta~ - theta = (M - I)(theta - X beta) + M e + noise of covariance Sigma: MX = X.
    """
    m = used.gain_matrix()
    own = np.diag(m)
    spread = (m * m).sum(axis=1) - 2 * own + 1
    return np.asarray(used.model_variance * spread + (m * m) @ variance + used.sigma2, dtype=np.float64)


def at_equal_rho(found: Analysis) -> Figures:
    """Mean errors over mean D of the ways to spend the rho of one joint draw, and of ways to lower it."""
    posterior, delta = found.posterior, found.guarantees.sensitivity
    rho, table = equal_rho_errors(posterior, delta)
    base = float(posterior.variance.mean())
    rows: Figures = {"rho": rho}
    rows |= {way: float(table[way].mean()) / base for way in WAYS}
    rows["draw_beats_direct"] = float((table["draw"] < table["direct"]).mean())
    for target in TARGETS:
        if target < rho:
            rows |= {f"{key}_at_{target:g}": value / base for key, value in _lowered(found, target).items()}
    return rows


def _lowered(found: Analysis, target: float) -> Figures:
    """Mean errors at rho = target: noise times kappa, both floors, noisy direct estimates."""
    posterior, delta = found.posterior, found.guarantees.sensitivity
    kappa = found.guarantees.joint / target
    rows: Figures = {"kappa": (1 + kappa) * float(posterior.sigma2.mean())}
    for name, floored in (
        ("floor_any", floor_for_any_model(posterior.variance, delta, target)),
        ("floor_this", floor_for_this_model(posterior, delta, target)),
    ):
        used = Posterior(variance=floored, model_variance=posterior.model_variance)
        rows[name] = float(errors_of_draw(used, posterior.variance).mean())
    noisy = Posterior(
        variance=posterior.variance + delta**2 / (2 * target), model_variance=posterior.model_variance
    )
    rows["noisy"] = float(noisy.sigma2.mean())
    return rows


def capped(twin: Twin, cap: float) -> Twin:
    """The twin with weights capped at `cap` times their area's mean; areas keep their weight totals."""
    data = twin.data
    ends = np.cumsum(twin.weights.counts)[:-1]  # records come area by area
    weight = np.concatenate([trim(part, cap) for part in np.split(data.weight, ends)])
    moved = copy(data)  # to encode millions of labels again would take longer than all else
    object.__setattr__(moved, "weight", weight)
    weights = weight_diagnostics(weight, data.area_codes, data.m)
    return replace(twin, data=moved, weights=weights, direct=confidential_direct(moved))


def trimmed(found: Analysis, twins: Mapping[float, Twin]) -> Figures:
    """What caps on weights do: public bias bound, largest and median rho with D of the new weights.

    `twins` are those of `capped`, by cap. A stays as it was; areas that were left out stay out.
    """
    before, kept = found.twin, found.kept
    rows: Figures = {}
    for cap, twin in twins.items():
        variance = twin.variance(found.method)[kept]
        posterior = Posterior(variance=variance, model_variance=found.posterior.model_variance)
        own = own_rho(posterior, twin.weights.share[kept])
        moved = before.data.sum_by_area(np.abs(twin.data.weight - before.data.weight))
        bound = moved / (2 * before.weights.total)
        rows |= {
            f"cap_{cap:g}_bias": float(bound.max()),
            f"cap_{cap:g}_bias_median": float(np.median(bound)),
            f"cap_{cap:g}_joint": float(own.max()),
            f"cap_{cap:g}_median": float(np.median(own)),
        }
    return rows


def realised(found: Analysis) -> Figures:
    """One draw against the simulated truth: squared errors over those of direct estimates, and coverage."""
    rows = area_rows(found)
    direct, truth, draw, sigma = (
        np.array([row[name] for row in rows]) for name in ("direct", "truth", "draw", "sigma")
    )
    off = np.abs(draw - truth)
    eblup = found.fit.eblup
    base = float(((direct - truth) ** 2).mean())
    return {
        "realised_predictor": float(((eblup - truth) ** 2).mean()) / base,
        "realised_draw": float((off**2).mean()) / base,
        "covered_naive": float((off <= 1.96 * sigma).mean()),
        "covered_root2": float((off <= 1.96 * np.sqrt(2) * sigma).mean()),
    }
