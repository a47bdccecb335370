"""Posterior draws with private variances: the three-stage mechanism (see `pgsr.sae.stages` for the proof)."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal

import numpy as np

from pgsr.errors import InputError
from pgsr.mechanism import Estimate, Progress, Tables
from pgsr.noise import BitSource
from pgsr.privacy import Guarantee, Neighbours, Number, PrivacyEvent, as_fraction, show
from pgsr.sae.checks import Float64, number, positive, refuse
from pgsr.sae.draws import checked_draws, confidential_draws, draw_table, interval_columns
from pgsr.sae.frame import (
    AreaEstimates,
    AreaFrame,
    array_digest,
    checked_estimates,
    positive_budget,
    refuse_unresolved,
    text_column,
)
from pgsr.sae.normals import grid_step, on_grid, standard_normals
from pgsr.sae.posterior import Posterior
from pgsr.sae.reshrink import reshrunk
from pgsr.sae.stage_intervals import draw_variance, upper_model_variance
from pgsr.sae.stages import RegressionStage, binary_variance, floored_variance, proportion_scale
from pgsr.sae.statement import zcdp_guarantee

_BUDGETS = ("rho_p", "rho_b", "rho_a", "rho_draw")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MeasuredStages:
    """What was drawn, in order: p~ before clamping, beta~ (p,), T~, and the draws (L, m)."""

    proportion: float
    beta: Float64 = field(repr=False)
    square: float
    values: Float64 = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ThreeStageMechanism:
    """Joint posterior draws of area proportions whose D and A are estimated privately on the way.

    frame      with `weight_total` and `kish`; estimates are Hajek means of a 0/1 outcome. If records may
               move, these two are planned figures, and every stage pays for two areas
    rho_p, rho_b, rho_a, rho_draw   for the national proportion, the regression, the model variance and all
               draws together; the cost is their sum, whatever is found on the way
    clip       C > 0: residuals count up to C (4 standard deviations or more, else A~ is too small)
    reference  A_ref >= 0: the guess of A that weighs the areas, 1 / (D + A_ref); weighting "sensitivity"
               weighs them 1 / Delta instead, for very unequal Delta
    clamp      the range of p~, within (0, 1); deff (m,) or one number: public design effects
    reshrink   also publish the predictor of `reshrink`, if A~ > 0
    All of these are to be fixed before any release and without the data.
    Raises InputError for parameters that do not fit each other.
    """

    frame: AreaFrame
    rho_p: Number
    rho_b: Number
    rho_a: Number
    rho_draw: Number
    clip: float
    reference: float
    clamp: tuple[float, float]
    deff: Any = field(default=1.0, repr=False)
    draws: int = 1
    weighting: Literal["variance", "sensitivity"] = "variance"
    reshrink: bool = False

    def __post_init__(self) -> None:
        put = object.__setattr__
        frame = self.frame
        for name in _BUDGETS:
            put(self, name, positive_budget(as_fraction(getattr(self, name), name), name))
        for name in ("weight_total", "kish"):
            if getattr(frame, name) is None:
                raise InputError("not in the frame", name, "compute it from the public weights")
        if bool((frame.sensitivity > 1).any()):
            raise InputError("above 1 for a proportion", "sensitivity", "give that of a Hajek mean of 0/1")
        put(self, "clip", number(self.clip, "clip", above=True))
        put(self, "reference", number(self.reference, "reference"))
        low, high = (number(end, "clamp", above=True) for end in self.clamp)
        if not low < high < 1:
            raise InputError("not 0 < low < high < 1", "clamp", "give a public range of the proportion")
        put(self, "clamp", (low, high))
        deff = np.broadcast_to(np.asarray(self.deff, dtype=np.float64), (frame.m,))
        put(self, "deff", positive(deff, "deff", frame.m))
        put(self, "draws", checked_draws(self.draws))
        if self.weighting not in ("variance", "sensitivity"):
            raise InputError("unknown weighting", "weighting", "use variance or sensitivity")

    @property
    def name(self) -> str:
        """Short name for the records."""
        return "sae-three-stage-draw"

    @property
    def event(self) -> PrivacyEvent:
        """The sum of the four budgets, fixed beforehand."""
        total = sum((Fraction(getattr(self, name)) for name in _BUDGETS), Fraction(0))
        return PrivacyEvent.zcdp(total, neighbours=Neighbours.SUBSTITUTE, unit=self.frame.unit)

    @property
    def post_parameters(self) -> frozenset[str]:
        """Shrinking again is post-processing."""
        return frozenset({"reshrink"})

    def parameters(self) -> dict[str, Any]:
        """All public parameters as plain data."""
        return {
            **self.frame.parameters(),
            **{name: str(getattr(self, name)) for name in _BUDGETS},
            "variance_mode": "dp",
            "clip": self.clip,
            "reference": self.reference,
            "clamp": list(self.clamp),
            "deff_sha256": array_digest(self.deff),
            "draws": self.draws,
            "weighting": self.weighting,
            "reshrink": self.reshrink,
        }

    def guarantee(self, rng: BitSource) -> Guarantee:
        """What a release promises; the same for all data."""
        costs = [show(Fraction(getattr(self, name))) for name in _BUDGETS]
        many = "one draw" if self.draws == 1 else f"{self.draws} draws together"
        return zcdp_guarantee(
            frame=self.frame,
            event=self.event,
            sentences=(
                f"The cost is the sum of {costs[0]} for the national proportion, {costs[1]} for regression,",
                f"{costs[2]} for the model variance and {costs[3]} for {many} of the joint posterior.",
                "Sampling variances follow from the noisy proportion; they are floored, so that the draws",
                "keep to their share whatever the noisy variances are. Nothing is held invariant.",
                "The posterior means are not published.",
            ),
            public=(
                f"the clip {self.clip!r}, the reference {self.reference!r}, the clamp {self.clamp!r}",
                f"the weighting by {self.weighting}, the design effects and the shares of the cost",
            ),
            rng=rng,
        )

    def check(self, data: AreaEstimates) -> None:
        """Refuse data with other areas, or estimates outside 0..1."""
        y = checked_estimates(data).aligned(self.frame)
        refuse((y < 0) | (y > 1), "not a proportion", "direct estimates", "give Hajek means of a 0/1 outcome")
        least = np.minimum(*(self._floored(self._variance(end)) for end in self.clamp))
        refuse_unresolved(y, self.frame, least)

    def measure(self, data: AreaEstimates, rng: BitSource) -> MeasuredStages:
        """The three stages and the draws; with `check`, all that sees the data."""
        y = data.aligned(self.frame)
        total = self.frame.weight_total
        scale = proportion_scale(self.frame, float(self.rho_p))
        truth = float(total @ y / total.sum())
        p = _noisy(np.array([truth]), np.array([scale]), rng)[0]
        stage = self._stage(float(p))
        raw = stage.beta_map @ y + stage.beta_root @ standard_normals(stage.beta_root.shape[0], rng)
        beta = on_grid(raw, stage.beta_step)
        residual = y - self.frame.design @ beta
        square = float(stage.share @ np.minimum(residual**2, stage.clip**2))
        noisy = float(_noisy(np.array([square]), np.array([stage.t_scale]), rng)[0])
        posterior = self._posterior(float(p), noisy)
        values = confidential_draws(posterior, self.frame, data, draws=self.draws, kind="joint", rng=rng)
        return MeasuredStages(proportion=float(p), beta=beta, square=noisy, values=values)

    def _variance(self, proportion: float) -> Float64:
        """D (m,) before flooring, from p~."""
        return binary_variance(float(np.clip(proportion, *self.clamp)), self.frame.kish, self.deff)

    def _stage(self, proportion: float) -> RegressionStage:
        if self.weighting == "sensitivity":
            omega = 1.0 / self.frame.sensitivity
        else:
            omega = 1.0 / (self._variance(proportion) + self.reference)
        return RegressionStage(
            frame=self.frame, omega=omega, rho_b=float(self.rho_b), rho_a=float(self.rho_a), clip=self.clip
        )

    def _posterior(self, proportion: float, square: float) -> Posterior:
        """The posterior of the draws: from what was released in the first three stages alone."""
        variance = self._variance(proportion)
        # A larger A~ than this changes nothing, and keeps the arithmetic finite.
        a = min(self._stage(proportion).model_variance(square, variance), 1e6)
        return Posterior(
            variance=self._floored(variance),
            model_variance=a,
            design=self.frame.design,
            names=self.frame.names,
        )

    def _floored(self, variance: Float64) -> Float64:
        """D' (m,), so that the draws keep to their share."""
        count = (2 if self.frame.moves else 1) * self.draws
        return floored_variance(variance, self.frame.sensitivity, float(self.rho_draw), count)

    def _upper(self, proportion: float, square: float) -> float:
        """The upper bound of A that intervals count with, from p~ and T~ alone."""
        scale = proportion_scale(self.frame, float(self.rho_p))
        centre = float(np.clip(proportion, *self.clamp))
        shifted = tuple(self._variance(end) for end in (centre - scale, centre + scale))
        return upper_model_variance(self._stage(proportion), square, self._variance(proportion), shifted)

    def measurements(self, measured: MeasuredStages) -> Tables:
        """The tables `stages` (p~, T~, A~ and its upper bound), `coefficients` (beta~) and `draws`."""
        posterior = self._posterior(measured.proportion, measured.square)
        names = text_column(self.frame.names or ())
        clamped = float(np.clip(measured.proportion, *self.clamp))
        return {
            "stages": {
                "proportion": np.array([measured.proportion]),
                "proportion_clamped": np.array([clamped]),
                "clipped_square": np.array([measured.square]),
                "model_variance": np.array([posterior.model_variance]),
                "model_variance_upper": np.array([self._upper(measured.proportion, measured.square)]),
            },
            "coefficients": {"covariate": names, "value": measured.beta},
            "draws": draw_table(self.frame.area_column, measured.values),
        }

    def estimate(self, measured: MeasuredStages, progress: Progress | None = None) -> Estimate:
        """The table `areas`: means of the draws with intervals, the variances used and whether floored.

        Intervals count that A~ may be too small: see `pgsr.sae.stage_intervals`.
        """
        del progress
        posterior = self._posterior(measured.proportion, measured.square)
        centre = measured.values.mean(axis=0)
        upper = self._upper(measured.proportion, measured.square)
        spread = draw_variance(posterior, upper, self.draws)
        columns = interval_columns(self.frame.area_column, centre, spread)
        columns["variance"] = posterior.variance
        columns["floored"] = posterior.variance > self._variance(measured.proportion)
        if self.reshrink and posterior.model_variance > 0:
            value, mse = reshrunk(posterior, centre, self.draws, upper)
            columns |= {"reshrunk": value, "reshrunk_sd": np.sqrt(mse)}
        return Estimate(tables={"areas": columns})


def _noisy(values: Float64, scale: Float64, rng: BitSource) -> Float64:
    """`values` with independent normal noise, on the public grid of the scale."""
    return on_grid(values + scale * standard_normals(values.size, rng), grid_step(scale))
