"""Draws with variances estimated from the same data: a conditional figure, outside every ledger.

The paper's third option. If D_i and A are treated as known constants, a draw has a rho; but one record
nearly always changes the estimated D_i and A, and then no bound holds: re-estimating one D_k can make the
Renyi divergence infinite. So this is no `Mechanism` for `pgsr.release`: nothing is charged, the kind of the
event is CONDITIONAL, which ledgers refuse, and the guarantee begins with that.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from pgsr.errors import InputError
from pgsr.mechanism import Estimate, Release
from pgsr.noise import BitSource
from pgsr.privacy import Neighbours, PrivacyEvent
from pgsr.provenance import Provenance
from pgsr.sae.draws import Kind, checked_draws, confidential_draws, draw_rho, draw_sentences, draw_table
from pgsr.sae.frame import AreaEstimates, AreaFrame, checked_estimates, refuse_unresolved
from pgsr.sae.posterior import Posterior
from pgsr.sae.statement import conditional_guarantee

NAME = "sae-conditional-draw"


def conditional_release(
    frame: AreaFrame,
    data: AreaEstimates,
    *,
    variance: Any,
    model_variance: float,
    draws: int = 1,
    kind: Kind = "joint",
    rng: BitSource,
    label: str = "",
) -> Release:
    """Draws with D (m,) and A estimated from `data`; NOT differentially private, and no ledger is charged.

    D and A are held invariant and not published, nor are intervals, which would show them (a Kish variance
    gives away the estimate it comes from). The rho of the guarantee is rounded up to two digits, for it
    depends on them. The tables: `draws` and `areas` (area, estimate: the mean of the draws).
    Raises InputError for data and parameters that do not fit.
    """
    y = checked_estimates(data)
    draws = checked_draws(draws)
    if not isinstance(label, str):
        raise InputError("the label is not text", "label", "give a public text")
    posterior = Posterior(
        variance=variance, model_variance=model_variance, design=frame.design, names=frame.names
    )
    refuse_unresolved(y.aligned(frame), frame, posterior.variance)
    rho = two_digits_up(draws * draw_rho(posterior, frame, kind))
    event = PrivacyEvent.conditional(rho, neighbours=Neighbours.SUBSTITUTE, unit=frame.unit)
    sentences = draw_sentences(kind, draws, rho)
    guarantee = conditional_guarantee(frame=frame, event=event, sentences=sentences, rng=rng)
    values = confidential_draws(posterior, frame, y, draws=draws, kind=kind, rng=rng)
    parameters = {**frame.parameters(), "variance_mode": "invariant", "draws": draws, "kind": kind}
    provenance = Provenance.now(
        mechanism=NAME, parameters=parameters, seeded=not rng.secure, label=label, solve=None
    )
    areas = {"area": frame.area_column, "estimate": values.mean(axis=0)}
    return Release(
        estimate=Estimate(tables={"areas": areas}),
        measurements={"draws": draw_table(frame.area_column, values)},
        guarantee=guarantee,
        provenance=provenance,
    )


def two_digits_up(rho: float) -> Fraction:
    """`rho` as a fraction of two significant digits, rounded up past rounding errors of floating point."""
    if not math.isfinite(rho) or rho < 0:
        raise InputError("the figure is not finite", "rho", "floor the variances")
    if rho == 0:
        return Fraction(0)
    unit = Fraction(10) ** (math.floor(math.log10(rho)) - 1)
    return math.ceil(Fraction(rho) * (1 + Fraction(1, 10**9)) / unit) * unit
