"""What a designer could change about a small area release, for its review: tables from public inputs."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from pgsr.errors import InputError
from pgsr.report.sae_facts import Mechanism, Record, stage_floor_rho, stage_variances, way_errors
from pgsr.sae.checks import Float64
from pgsr.sae.draws import PosteriorMechanism, draw_rho
from pgsr.sae.guarantees import own_rho
from pgsr.sae.levers import equal_weights, floor_for_any_model, floor_for_this_model, robustness
from pgsr.sae.noisydirect import NoisyDirectMechanism
from pgsr.sae.posterior import Posterior
from pgsr.sae.stages import floored_variance
from pgsr.sae.threestage import ThreeStageMechanism
from pgsr.sae.trimming import trim_to_bias

ETAS = (-0.5, -0.1, 0.1, 0.5)
_SHARES = (0.5, 0.25, 0.1)
_TIMES = (0.25, 0.5, 1.0, 2.0, 4.0)
_SAME = 1e-3


def lever_facts(
    mechanism: Mechanism,
    *,
    target: float | None = None,
    counts: Float64 | None = None,
    kish: Float64 | None = None,
    lower: float = 0.0,
    upper: float = 1.0,
) -> Record:
    """Tables by name, each a list of rows: `floor`, `robustness`, `equal_weights`, `budget`, `floored`.

    `target`: a rho to floor the variances for; `counts` n (m,) and `kish` (m,) for equal weights, with the
    range of the outcome. Only what applies to the mechanism is there.
    """
    if isinstance(mechanism, NoisyDirectMechanism):
        return {"budget": _budget(mechanism)}
    if isinstance(mechanism, ThreeStageMechanism):
        return {"floored": _floored(mechanism)}
    if mechanism.kind != "joint" or mechanism.frame.moves:
        return {}  # the figures of floors and of other model variances are those of records that stay
    found = {"floor": _floors(mechanism, target), "robustness": _robust(mechanism)}
    if counts is not None and kish is not None:
        posterior, delta = mechanism.posterior, mechanism.frame.sensitivity
        table = equal_weights(posterior, delta, counts, kish, lower=lower, upper=upper)
        found["equal_weights"] = [
            {
                "weights": words,
                "rho_most": mechanism.draws * float(table[name].max()),
                "rho_median": mechanism.draws * float(np.median(table[name])),
            }
            for name, words in (
                ("rho", "as they are"),
                ("rho_fixed", "equal, at the same sampling variances"),
                ("rho_recomputed", "equal, at the sampling variances that they bring"),
            )
        ]
    return found


def _floors(mechanism: PosteriorMechanism, target: float | None) -> list[Record]:
    """What floors on the sampling variances would do."""
    posterior, delta, count = mechanism.posterior, mechanism.frame.sensitivity, mechanism.draws
    rho = count * draw_rho(posterior, mechanism.frame, mechanism.kind)
    rows = []
    for aim in (target,) if target is not None else tuple(share * rho for share in _SHARES):
        d = posterior.variance
        anyhow = floor_for_any_model(d, delta, aim, count)
        here = floor_for_this_model(posterior, delta, aim / count)
        reached = Posterior(variance=here, model_variance=posterior.model_variance, design=posterior.design)
        rows.append(
            {
                "target": aim,
                "raised_any_model": int((anyhow > d).sum()),
                "raised_this_model": int((here > d).sum()),
                "rho_this_model": count * float(own_rho(reached, delta).max()),
                "noisy_direct_mse": way_errors(posterior, delta, count, aim, shrink=False)["noisy_direct"],
            }
        )
    return rows


def _robust(mechanism: PosteriorMechanism) -> list[Record]:
    """Rho of the areas if the model variance were another one; areas that cost nothing give no table."""
    posterior, delta, count = mechanism.posterior, mechanism.frame.sensitivity, mechanism.draws
    if posterior.model_variance == 0:
        return []
    table = robustness(posterior, delta, ETAS)
    return [
        {"eta": eta, "rho_most": count * float(joint), "change_least": low, "change_greatest": high}
        for eta, joint, low, high in zip(
            table["eta"].tolist(),
            table["joint"].tolist(),
            table["change_least"].tolist(),
            table["change_greatest"].tolist(),
            strict=True,
        )
    ]


def _budget(mechanism: NoisyDirectMechanism) -> list[Record]:
    """The noise at other budgets."""
    frame, rows = mechanism.frame, []
    sd = np.sqrt(mechanism.noise_variance)
    for times in _TIMES:
        scaled = sd / np.sqrt(times)
        row: Record = {
            "rho": times * float(mechanism.event.rho or Fraction(0)),
            "noise_sd_median": float(np.median(scaled)),
            "noise_sd_most": float(scaled.max()),
        }
        if mechanism.variance is not None and mechanism.model_variance is not None:
            posterior = Posterior(
                variance=mechanism.variance, model_variance=mechanism.model_variance, design=frame.design
            )
            rho = times * float(Fraction(mechanism.rho))
            row["mean_mse"] = way_errors(posterior, frame.sensitivity, 1, rho, shrink=False)["noisy_direct"]
        rows.append(row)
    return rows


def _floored(mechanism: ThreeStageMechanism) -> list[Record]:
    """In how many areas the floor may bind, and always binds, at other budgets of the draws."""
    low, high = stage_variances(mechanism)
    delta, count, rows = mechanism.frame.sensitivity, mechanism.draws, []
    for times in _TIMES:
        rho = times * stage_floor_rho(mechanism)
        rows.append(
            {
                "rho_draw": times * float(mechanism.rho_draw),
                "may_bind": int((floored_variance(low, delta, rho, count) > low).sum()),
                "always_binds": int((floored_variance(high, delta, rho, count) > high).sum()),
            }
        )
    return rows


def trimming_facts(
    mechanism: Mechanism,
    weights: Any,
    area: Any,
    *,
    bias: float,
    lower: float = 0.0,
    upper: float = 1.0,
) -> Record:
    """What a common cap on weights would bring; whether the stated sensitivities are those of the weights.

    weights (n,), area (n,) labels, of records; `bias` bounds what trimming moves an estimate by. For draws
    with public variances `rho` before and after, with D as the weights' sums of squares change it.
    Raises InputError if the areas of the weights are not those of the release.
    """
    frame = mechanism.frame
    found = trim_to_bias(weights, area, bias=bias, lower=lower, upper=upper)
    table = found.table
    place = {str(label): row for row, label in enumerate(table["area"].tolist())}
    missing = [label for label in frame.areas if label not in place]
    if missing or len(place) != frame.m:
        what = f"area '{missing[0]}' has no weights" if missing else "areas that the release does not have"
        raise InputError(what, "weights", "give the weights of all its records and no others")
    rows = [place[label] for label in frame.areas]
    before, after = table["sensitivity_before"][rows], table["sensitivity_after"][rows]
    off = np.abs(before - frame.sensitivity) > _SAME * frame.sensitivity
    facts: Record = {
        "bias": bias,
        "ratio": found.ratio,
        "sensitivity_agrees": not bool(off.any()),
        "sensitivity_differs_in": [label for label, bad in zip(frame.areas, off, strict=True) if bad][:10],
        "ratio_most_before": float(table["ratio_before"].max()),
        "sensitivity_most_before": float(before.max()),
        "sensitivity_most_after": float(after.max()),
        "bias_bound_most": float(table["bias_bound"].max()),
        "rho_before": None,
        "rho_after": None,
    }
    if isinstance(mechanism, PosteriorMechanism) and mechanism.kind == "joint" and not frame.moves:
        posterior, count = mechanism.posterior, mechanism.draws
        spread = table["kish_after"][rows] / table["kish_before"][rows]
        trimmed = Posterior(
            variance=posterior.variance * spread,
            model_variance=posterior.model_variance,
            design=posterior.design,
        )
        delta = frame.sensitivity * after / before
        facts["rho_before"] = count * float(own_rho(posterior, frame.sensitivity).max())
        facts["rho_after"] = count * float(own_rho(trimmed, delta).max())
    return facts
