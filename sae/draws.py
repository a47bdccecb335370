"""Posterior draws as a mechanism, for variances that are public: D from public weights, A from elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from pgsr.errors import InputError
from pgsr.mechanism import Columns, Estimate, Progress, Tables
from pgsr.noise import BitSource
from pgsr.privacy import Guarantee, Neighbours, Number, PrivacyEvent, as_fraction, show
from pgsr.sae.checks import Float64, Int64, labels
from pgsr.sae.conversions import round_up
from pgsr.sae.frame import (
    AreaEstimates,
    AreaFrame,
    array_digest,
    checked_estimates,
    positive_budget,
    refuse_unresolved,
    text_column,
)
from pgsr.sae.guarantees import moving_rho, own_rho
from pgsr.sae.new_areas import NewAreas
from pgsr.sae.normals import grid_step, on_grid, standard_normals
from pgsr.sae.posterior import Posterior
from pgsr.sae.reshrink import reshrunk
from pgsr.sae.statement import zcdp_guarantee

Kind = Literal["joint", "marginals"]
Z95 = 1.959963984540054
MOST_DRAWS = 10_000


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MeasuredDraws:
    """Draws (L, m) on the public grid, one row a draw; new areas come last."""

    values: Float64 = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PosteriorMechanism:
    """Draws of the area means from their posterior, with public variances.

    frame           the areas; variance D (m,) > 0; model_variance A >= 0; all public
    draws           L; each costs the same
    kind            "joint": draws of N(mu, Sigma), at max_k Delta_k^2 c_kk / (2 D_k) each; "marginals": areas
                    drawn independently from N(mu_i, sigma_i^2), never cheaper, and without the correlations
    limit           the largest rho that all draws together may cost; a small D_k makes it large
    reshrink        also publish the predictor of `reshrink` (joint draws and A > 0 alone; free)
    new_areas       (k,) labels of areas without sample, with rows new_design (k, p): drawn with the others
                    from their joint posterior, at no cost, since y_k enters through p(y_k | theta_k) alone
    variance_source where D and A come from, for the guarantee; if they come from these data, nothing here
                    holds: see `pgsr.sae.conditional` and `pgsr.sae.threestage`
    Posterior means are never published: beside a draw they would show the noise itself.
    Raises InputError for parameters that do not fit, and for a cost above `limit`, naming the area.
    """

    frame: AreaFrame
    variance: Any = field(repr=False)
    model_variance: float
    draws: int = 1
    kind: Kind = "joint"
    limit: Number = 1
    reshrink: bool = False
    variance_source: str
    new_areas: Sequence[str] = ()
    new_design: Any = field(default=None, repr=False)
    posterior: Posterior = field(init=False, repr=False)
    new: NewAreas | None = field(init=False, repr=False)
    rho: Fraction = field(init=False)

    def __post_init__(self) -> None:
        put = object.__setattr__
        posterior = Posterior(
            variance=self.variance,
            model_variance=self.model_variance,
            design=self.frame.design,
            names=self.frame.names,
        )
        put(self, "posterior", posterior)
        put(self, "variance", posterior.variance)
        put(self, "draws", checked_draws(self.draws))
        put(self, "new_areas", tuple(self.new_areas))
        put(self, "new", None)
        if self.new_areas:
            labels((*self.frame.areas, *self.new_areas), "new areas")
            put(self, "new", NewAreas(posterior=posterior, design=self.new_design))
            if self.new is None or self.new.k != len(self.new_areas):
                raise InputError("not one row an area", "new_design", "give the covariates of the new areas")
            if self.kind != "joint" or self.reshrink:
                raise InputError("new areas are for joint draws alone", "new_areas", "leave them out")
        limit = positive_budget(as_fraction(self.limit, "limit"), "limit")
        put(self, "limit", limit)
        source: Any = self.variance_source
        if not isinstance(source, str) or not source.strip():
            raise InputError("no source of the variances", "variance_source", "say where D and A come from")
        if self.reshrink and (self.kind != "joint" or posterior.model_variance == 0):
            raise InputError("only joint draws with A above 0 shrink again", "reshrink", "leave it out")
        put(self, "rho", self.draws * round_up(draw_rho(posterior, self.frame, self.kind)))
        if self.rho > limit:
            worst = self.frame.areas[int(own_rho(posterior, self.frame.sensitivity).argmax())]
            raise InputError(
                f"the draws cost rho = {float(self.rho):.4g}, above the limit {show(limit)}",
                f"area '{worst}'",
                "floor the variances (floored_variance), trim the weights, or raise the limit",
            )

    @property
    def name(self) -> str:
        """Short name for the records."""
        return f"sae-{self.kind}-draw"

    @property
    def event(self) -> PrivacyEvent:
        """L times the cost of one draw."""
        return PrivacyEvent.zcdp(self.rho, neighbours=Neighbours.SUBSTITUTE, unit=self.frame.unit)

    @property
    def post_parameters(self) -> frozenset[str]:
        """Shrinking again is post-processing."""
        return frozenset({"reshrink"})

    def parameters(self) -> dict[str, Any]:
        """All public parameters as plain data."""
        return {
            **self.frame.parameters(),
            "variance_sha256": array_digest(self.posterior.variance),
            "model_variance": self.posterior.model_variance,
            "variance_mode": "public",
            "variance_source": self.variance_source,
            "draws": self.draws,
            "kind": self.kind,
            "limit": str(self.limit),
            "reshrink": self.reshrink,
            "new_areas": len(self.new_areas),
            "new_design_sha256": None if self.new is None else array_digest(self.new.design),
        }

    def guarantee(self, rng: BitSource) -> Guarantee:
        """What a release promises; the same for all data."""
        a = self.posterior.model_variance
        public = [f"the sampling variances and the model variance {a!r}, from {self.variance_source}"]
        if self.new is not None:
            public.append(f"the covariates of {self.new.k} areas without sample, drawn with the others")
        return zcdp_guarantee(
            frame=self.frame,
            event=self.event,
            sentences=draw_sentences(self.kind, self.draws, self.rho),
            public=public,
            rng=rng,
        )

    def check(self, data: AreaEstimates) -> None:
        """Refuse data with other areas than the frame's, and estimates too large for floating point."""
        y = checked_estimates(data).aligned(self.frame)
        refuse_unresolved(y, self.frame, self.posterior.variance)

    def measure(self, data: AreaEstimates, rng: BitSource) -> MeasuredDraws:
        """The draws; with `check`, all that sees the data."""
        values = confidential_draws(
            self.posterior, self.frame, data, draws=self.draws, kind=self.kind, new=self.new, rng=rng
        )
        return MeasuredDraws(values=values)

    @property
    def _labels(self) -> NDArray[Any]:
        return text_column((*self.frame.areas, *self.new_areas))

    def measurements(self, measured: MeasuredDraws) -> Tables:
        """The table `draws` (area, draw, value)."""
        return {"draws": draw_table(self._labels, measured.values)}

    def estimate(self, measured: MeasuredDraws, progress: Progress | None = None) -> Estimate:
        """The table `areas`: the mean of the draws, and intervals that count the draws' own noise."""
        del progress
        centre, sigma2 = measured.values.mean(axis=0), self.posterior.sigma2
        if self.new is not None:
            sigma2 = np.concatenate([sigma2, self.new.sigma2])
        columns = interval_columns(self._labels, centre, sigma2 * (1.0 + 1.0 / self.draws))
        if self.reshrink:
            value, mse = reshrunk(self.posterior, centre, self.draws)
            columns |= {"reshrunk": value, "reshrunk_sd": np.sqrt(mse)}
        return Estimate(tables={"areas": columns})


def checked_draws(draws: Any) -> int:
    """A whole number of draws from 1 to 10,000; InputError otherwise."""
    if isinstance(draws, bool) or not isinstance(draws, (int, np.integer)) or not 1 <= draws <= MOST_DRAWS:
        raise InputError("not a number of draws", "draws", f"give a whole number from 1 to {MOST_DRAWS}")
    return int(draws)


def draw_rho(posterior: Posterior, frame: AreaFrame, kind: Kind) -> float:
    """The rho of one draw, see `pgsr.sae.guarantees`; InputError for an unknown kind."""
    if kind not in ("joint", "marginals"):
        raise InputError("unknown kind of draw", "kind", "use joint or marginals")
    if frame.moves:
        return moving_rho(posterior, frame.sensitivity, kind)[0]
    own = own_rho(posterior, frame.sensitivity)
    return float((own if kind == "joint" else own * (1.0 + posterior.correlation2_sum)).max())


def draw_sentences(kind: Kind, draws: int, rho: Fraction) -> tuple[str, ...]:
    """What is drawn and what it costs."""
    what = "from the joint posterior of all areas" if kind == "joint" else "area by area from the marginals"
    many = "one draw" if draws == 1 else f"{draws} draws at rho = {show(rho / draws)} each"
    return (f"Released: {many} {what}, at the variances stated; the posterior means are not published.",)


def confidential_draws(
    posterior: Posterior,
    frame: AreaFrame,
    data: AreaEstimates,
    *,
    draws: int,
    kind: Kind,
    new: NewAreas | None = None,
    rng: BitSource,
) -> Float64:
    """Draws (L, m + k) on the public grid of step 2^-16 Delta or less; k new areas last. Sees the data."""
    y, m, p = data.aligned(frame), posterior.m, posterior.p
    step = grid_step(frame.sensitivity)
    if kind == "marginals":
        normals = standard_normals(draws * m, rng).reshape(draws, m)
        return on_grid(posterior.mean(y) + np.sqrt(posterior.sigma2) * normals, step)
    k = 0 if new is None else new.k
    normals = standard_normals(draws * (m + p + k), rng).reshape(draws, m + p + k)
    theta = posterior.mean(y) + np.array([posterior.spread(row[:m], row[m : m + p]) for row in normals])
    if new is None:
        return on_grid(theta, step)
    others = np.array([new.draw(y, row[m : m + p], row[m + p :]) for row in normals])
    return on_grid(np.hstack([theta, others]), np.concatenate([step, np.full(k, step.min())]))


def draw_table(names: NDArray[Any], values: Float64) -> Columns:
    """Columns area, draw (from 1), value; L rows an area of `names`."""
    count = values.shape[0]
    number: Int64 = np.repeat(np.arange(1, count + 1), names.size)
    return {"area": np.tile(names, count), "draw": number, "value": values.ravel()}


def interval_columns(names: NDArray[Any], centre: Float64, variance: Float64) -> dict[str, Any]:
    """Columns area, estimate, sd of the truth about it, and the 95 % interval.

    The truth and a draw are independent given y, both with variance sigma^2: about the mean of L draws the
    truth has variance sigma^2 (1 + 1/L), so sqrt(2) sigma for one draw.
    """
    sd = np.sqrt(variance)
    return {
        "area": names,
        "estimate": centre,
        "sd": sd,
        "lower": centre - Z95 * sd,
        "upper": centre + Z95 * sd,
    }
