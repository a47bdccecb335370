"""What a small area release costs, area by area, and what it is worth: plain records for a review.

Functions of public inputs: of mechanisms, which are built before any data is seen. Nothing here has a direct
estimate, a posterior mean or a variance that comes from the data.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from pgsr.privacy import PrivacyEvent, zcdp_to_approximate
from pgsr.report.sae_moving import moving_columns, with_another
from pgsr.sae.checks import Float64
from pgsr.sae.conversions import default_delta, epsilon_exact, epsilon_simple
from pgsr.sae.draws import PosteriorMechanism, draw_rho
from pgsr.sae.frame import AreaFrame
from pgsr.sae.guarantees import AreaGuarantees
from pgsr.sae.noisydirect import NoisyDirectMechanism
from pgsr.sae.posterior import Posterior
from pgsr.sae.reshrink import reshrunk
from pgsr.sae.sensitivity import national_sensitivity
from pgsr.sae.stages import binary_variance, floored_variance
from pgsr.sae.threestage import ThreeStageMechanism

Mechanism = PosteriorMechanism | ThreeStageMechanism | NoisyDirectMechanism
Record = dict[str, Any]

DELTAS = (1e-5, 1e-7)
_EXACT = "exact for Gaussian shifts"


def cost_facts(mechanism: Mechanism, records: int | None = None) -> Record:
    """Rho and what it means: `rho`, `epsilons` by delta (below 1/N too for N `records`), `tight_by`."""
    event = mechanism.event
    assert event.rho is not None  # all are zCDP
    figure, gaussian = float(event.rho), isinstance(mechanism, PosteriorMechanism)
    if isinstance(mechanism, PosteriorMechanism):
        # The figure itself; the event has it rounded up.
        figure = mechanism.draws * draw_rho(mechanism.posterior, mechanism.frame, mechanism.kind)
    rows, by = epsilon_rows(figure, event, records, gaussian=gaussian)
    return {"rho": figure, "event": event.to_dict(), "epsilons": rows, "tight_by": by}


def epsilon_rows(
    rho: float, event: PrivacyEvent, records: int | None, *, gaussian: bool
) -> tuple[list[Record], str]:
    """Epsilon by delta, by the simple formula and a tighter way, and the name of that way."""
    deltas = dict.fromkeys(DELTAS, "")
    if records is not None:
        deltas[default_delta(records)] = f"below one over {records:,} records"
    rows, by = [], _EXACT
    for delta, why in sorted(deltas.items(), reverse=True):
        row: Record = {"delta": delta, "why": why, "epsilon_simple": epsilon_simple(rho, delta)}
        if gaussian:
            row["epsilon"] = epsilon_exact(rho, delta)
        else:
            assert event.rho is not None
            found = zcdp_to_approximate(event.rho, Fraction(repr(delta)))
            row["epsilon"], by = float(found.epsilon), "for every rho-zCDP release, by Renyi orders"
        rows.append(row)
    return rows, by


def area_facts(mechanism: Mechanism | None, frame: AreaFrame) -> Record:
    """What a record of each area pays at most: `areas`, one row each, `most_exposed`, and `whole`.

    Without a mechanism (variances from the same data) the rows are labels and sensitivities alone.
    """
    if isinstance(mechanism, PosteriorMechanism):
        return _draw_areas(mechanism)
    if mechanism is None:
        rows = [
            {"area": label, "sensitivity": delta}
            for label, delta in zip(frame.areas, frame.sensitivity.tolist(), strict=True)
        ]
        return {"areas": rows, "most_exposed": None, "whole": {}}
    columns: dict[str, Any] = {"sensitivity": frame.sensitivity}
    if isinstance(mechanism, NoisyDirectMechanism):
        assert mechanism.event.rho is not None
        columns["rho"] = np.full(frame.m, float(mechanism.event.rho))
        columns["noise_sd"] = np.sqrt(mechanism.noise_variance)
        if mechanism.variance is not None:
            columns["variance"] = mechanism.variance
        return {"areas": _rows(frame.areas, columns), "most_exposed": None, "whole": {}}
    low, high = stage_variances(mechanism)
    count, rho = mechanism.draws, stage_floor_rho(mechanism)
    national = frame.weight_total * frame.sensitivity / frame.weight_total.sum()
    reach = national_sensitivity(frame.sensitivity, frame.weight_total, moves=frame.moves)
    draws = np.minimum(rho, count * frame.sensitivity**2 / (2.0 * low))
    if frame.moves:
        national, draws = with_another(national), with_another(draws)
    shares = {"rho_p": float(mechanism.rho_p) * (national / reach) ** 2, "rho_draw": draws}
    columns["rho"] = shares["rho_p"] + float(mechanism.rho_b) + float(mechanism.rho_a) + shares["rho_draw"]
    columns |= shares
    columns["variance_least"], columns["variance_most"] = low, high
    floor = floored_variance(low, frame.sensitivity, rho, count)
    columns["floor_may_bind"] = floor > low
    columns["floor_always_binds"] = floored_variance(high, frame.sensitivity, rho, count) > high
    rows = _rows(frame.areas, columns)
    return {"areas": rows, "most_exposed": _most(rows), "whole": {}}


def stage_variances(mechanism: ThreeStageMechanism) -> tuple[Float64, Float64]:
    """The least and the greatest D (m,), before flooring, that the clamp of the proportion allows."""
    low, high = mechanism.clamp
    ends = [binary_variance(p, mechanism.frame.kish, mechanism.deff) for p in (low, high)]
    most = 0.5 if low <= 0.5 <= high else min((low, high), key=lambda p: abs(p - 0.5))
    return np.minimum(*ends), binary_variance(most, mechanism.frame.kish, mechanism.deff)


def stage_floor_rho(mechanism: ThreeStageMechanism) -> float:
    """What one area may cost in the draws, which the floor under its variance sees to."""
    return float(mechanism.rho_draw) / (2 if mechanism.frame.moves else 1)


def _draw_areas(mechanism: PosteriorMechanism) -> Record:
    frame, posterior, count = mechanism.frame, mechanism.posterior, mechanism.draws
    if frame.moves:
        return _moving_areas(mechanism)
    found = AreaGuarantees(posterior=posterior, sensitivity=frame.sensitivity, unit=frame.unit)
    assert found.area is not None  # guarantees by area are asked for
    assert found.worst is not None
    own = found.own if mechanism.kind == "joint" else found.marginal_own
    columns = {
        "sensitivity": frame.sensitivity,
        "variance": posterior.variance,
        "shrinkage": posterior.shrinkage,
        "gain": posterior.gain,
        "rho": count * own,
        "rho_alone": count * found.area,
        "rho_free": count * frame.sensitivity**2 / (2.0 * posterior.variance),
        "correlation2": found.correlation2,
    }
    rows = _rows(frame.areas, columns)
    for row, place in zip(rows, found.worst.tolist(), strict=True):
        row["paid_by"] = frame.areas[place]
    whole: Record = {
        "draws": count,
        "rho_joint": found.joint,
        "joint_area": frame.areas[found.joint_area],
        "rho_marginals": found.marginals,
        "rho_sum": found.sequential,
        "a_free": found.free,
        "own_is_worst": found.own_is_worst,
        "w_plus": posterior.w_plus,
        "moving": None,
    }
    return {"areas": rows, "most_exposed": _most(rows), "whole": whole}


def _moving_areas(mechanism: PosteriorMechanism) -> Record:
    """The same for records that may move: what one pays that leaves or joins an area."""
    frame, posterior = mechanism.frame, mechanism.posterior
    bounds, whole = moving_columns(mechanism)
    columns = {
        "sensitivity": frame.sensitivity,
        "variance": posterior.variance,
        "shrinkage": posterior.shrinkage,
        **bounds,
    }
    rows = _rows(frame.areas, columns)
    first, second = whole["moving"]["areas"]
    worst = next(row for row in rows if row["area"] == first)
    return {"areas": rows, "most_exposed": _most(rows, worst) | {"other_area": second}, "whole": whole}


def _most(rows: Sequence[Record], worst: Record | None = None) -> Record:
    """The row that pays most, and how it compares with the middle of the others."""
    worst = worst or max(rows, key=lambda row: row["rho"])
    middle = {
        f"{key}_median": float(np.median([row[key] for row in rows]))
        for key in ("rho", "sensitivity", "variance", "shrinkage")
        if key in worst
    }
    return {**worst, **middle}


def error_facts(mechanism: Mechanism | None) -> Record | None:
    """Mean squared errors (means over areas) of the ways to spend this rho, and what they assume.

    None where neither D nor A is public before the release.
    """
    if isinstance(mechanism, PosteriorMechanism):
        posterior, frame = mechanism.posterior, mechanism.frame
        rho = mechanism.draws * draw_rho(posterior, frame, mechanism.kind)
        found = way_errors(
            posterior,
            frame.sensitivity,
            mechanism.draws,
            rho / (2 if frame.moves else 1),
            shrink=mechanism.kind == "joint",
        )
        return {"rho": rho, "mean_mse": found, "assumes": "these variances are right"}
    if isinstance(mechanism, ThreeStageMechanism):
        frame = mechanism.frame
        middle = sum(mechanism.clamp) / 2
        d = binary_variance(middle, frame.kish, mechanism.deff)
        assert mechanism.event.rho is not None
        rho = float(mechanism.event.rho)  # noise on direct estimates may cost a moving record twice
        plain = Posterior(variance=d, model_variance=mechanism.reference, design=frame.design)
        floored = Posterior(
            variance=floored_variance(d, frame.sensitivity, stage_floor_rho(mechanism), mechanism.draws),
            model_variance=mechanism.reference,
            design=frame.design,
        )
        noise = rho / (2 if frame.moves else 1)
        found = way_errors(plain, frame.sensitivity, mechanism.draws, noise, shrink=False)
        found["draw"] = float((floored.sigma2 * (1.0 + 1.0 / mechanism.draws)).mean())
        assumes = (
            f"a guess: a proportion of {middle:g}, the middle of its range, and model variance "
            f"{mechanism.reference:g}, the reference; the draw's error is as if the private one met it"
        )
        return {"rho": rho, "mean_mse": found, "assumes": assumes}
    if mechanism is None or mechanism.variance is None or mechanism.model_variance is None:
        return None
    frame = mechanism.frame
    posterior = Posterior(
        variance=mechanism.variance, model_variance=mechanism.model_variance, design=frame.design
    )
    found = way_errors(posterior, frame.sensitivity, 1, float(Fraction(mechanism.rho)), shrink=False)
    del found["draw"]  # which has a rho of its own
    assert mechanism.event.rho is not None
    return {"rho": float(mechanism.event.rho), "mean_mse": found, "assumes": "these variances are right"}


def way_errors(
    posterior: Posterior, sensitivity: Float64, draws: int, rho: float, *, shrink: bool
) -> dict[str, float]:
    """Means over areas as `pgsr.sae.accuracy.equal_rho_errors`, with noise on direct estimates of `rho`."""
    d, a = posterior.variance, posterior.model_variance
    noisy = Posterior(variance=d + sensitivity**2 / (2.0 * rho), model_variance=a, design=posterior.design)
    found = {
        "direct": d,
        "predictor": posterior.sigma2,
        "draw": posterior.sigma2 * (1.0 + 1.0 / draws),
        "noisy_direct": noisy.sigma2,
    }
    if shrink and a > 0:
        found["reshrunk"] = reshrunk(posterior, np.zeros(posterior.m), draws)[1]
    return {name: float(column.mean()) for name, column in found.items()}


def _rows(areas: Sequence[str], columns: dict[str, Any]) -> list[Record]:
    lists = [column.tolist() for column in columns.values()]
    names = ("area", *columns)
    return [dict(zip(names, row, strict=True)) for row in zip(areas, *lists, strict=True)]
