"""The guarantee and the parameters that a small area release must have, from its own public parameters.

No guarantee quotes an array: the words follow from the parameters, the labels and, for draws with public
variances, from the cost. So a mechanism of the same parameters with arrays of no meaning says the same.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pgsr.errors import InputError
from pgsr.mechanism import Release
from pgsr.noise import SystemBits
from pgsr.privacy import Guarantee, Neighbours, PrivacyEvent, as_fraction
from pgsr.report.sae_contents import CONDITIONAL_DRAW, NOISY_DIRECT, THREE_STAGES
from pgsr.report.sae_facts import Mechanism
from pgsr.sae.design import intercept
from pgsr.sae.draws import PosteriorMechanism, draw_sentences
from pgsr.sae.frame import AreaFrame, array_digest
from pgsr.sae.noisydirect import NoisyDirectMechanism
from pgsr.sae.statement import conditional_guarantee
from pgsr.sae.threestage import ThreeStageMechanism

_SMALL = 1e-50  # a sensitivity at which every limit holds


class StatedBits:
    """The random bits that a release states: secure if they are those of the system; none can be drawn."""

    def __init__(self, description: str) -> None:
        self.secure = description == SystemBits.description
        self.description = description

    def words(self, n: int) -> Any:
        """None: nothing is drawn in a review."""
        raise InputError(f"{n} random bits were asked for", "review", "draw nothing")


def restated(made: Release) -> tuple[Guarantee, dict[str, Any], str]:
    """The guarantee, the parameters (digests of arrays have no meaning) and the mechanism's name.

    Raises InputError, TypeError, ValueError, KeyError or ArithmeticError for parameters that make no sense.
    """
    given, event = made.provenance.parameters, made.guarantee.event
    assert event.rho is not None  # by read_released
    frame, rng = _frame(made), StatedBits(made.guarantee.randomness)
    if made.provenance.mechanism == CONDITIONAL_DRAW:
        cost = PrivacyEvent.conditional(event.rho, neighbours=Neighbours.SUBSTITUTE, unit=frame.unit)
        draws, kind = given["draws"], given["kind"]
        words = draw_sentences(kind, draws, event.rho)
        stated = conditional_guarantee(frame=frame, event=cost, sentences=words, rng=rng)
        parameters = {**frame.parameters(), "variance_mode": "invariant", "draws": draws, "kind": kind}
        return stated, parameters, CONDITIONAL_DRAW
    mechanism = _mechanism(made, frame)
    return mechanism.guarantee(rng), mechanism.parameters(), mechanism.name


def _frame(made: Release) -> AreaFrame:
    """A frame with the same words: labels, names of columns, unit; its arrays mean nothing."""
    given, labels = made.provenance.parameters, made.estimate.tables["areas"]["area"].tolist()
    m, names = given["areas"], given["design_columns"]
    if isinstance(m, bool) or not isinstance(m, int) or not 0 < m <= len(labels):
        raise InputError("not the number of areas", "areas", "restore the folder")
    alone = given["design_sha256"] == array_digest(intercept(m))
    some = {name: np.ones(m) for name in ("weight_total", "kish") if f"{name}_sha256" in given}
    return AreaFrame(
        areas=labels[:m],
        sensitivity=np.full(m, _SMALL),
        design=None if alone else np.eye(m, len(names)),
        names=names,
        unit=given["unit"],
        moves=given["moves"],
        **some,
    )


def _mechanism(made: Release, frame: AreaFrame) -> Mechanism:
    given, name, ones = made.provenance.parameters, made.provenance.mechanism, np.ones(frame.m)
    if name == NOISY_DIRECT:
        return NoisyDirectMechanism(
            frame=frame,
            rho=given["rho"],
            variance=None if given["variance_sha256"] is None else ones,
            model_variance=given["model_variance"],
            method=given["method"],
            clamp=_pair(given["clamp"]),
        )
    if name == THREE_STAGES:
        names = ("rho_p", "rho_b", "rho_a", "rho_draw", "clip", "reference", "draws", "weighting", "reshrink")
        stages: dict[str, Any] = {key: given[key] for key in names}
        return ThreeStageMechanism(frame=frame, clamp=_pair(given["clamp"]), **stages)
    areas = made.estimate.tables["areas"]["area"].tolist()
    fresh = areas[frame.m :]
    p = frame.design.shape[1]
    found = PosteriorMechanism(
        frame=frame,
        variance=ones,
        model_variance=given["model_variance"],
        draws=given["draws"],
        kind=given["kind"],
        limit=given["limit"],
        reshrink=given["reshrink"],
        variance_source=given["variance_source"],
        new_areas=fresh,
        new_design=np.ones((len(fresh), p)) if fresh else None,
    )
    rho = made.guarantee.event.rho
    if rho is None or rho > as_fraction(found.limit, "limit"):
        raise InputError("above its limit", "rho", "restore the folder")
    object.__setattr__(found, "rho", rho)  # the one figure of the words that follows from the arrays
    return found


def _pair(ends: Any) -> tuple[float, float]:
    low, high = ends
    return low, high
