"""Noisy direct estimates, then Fay-Herriot on them: exact noise, no invariants.

The estimates are put on a public grid of step g_k = Delta_k (1 + 2^-19) / d, d = 4096, and get discrete
Gaussian noise in integers of sigma^2 = d^2 / (2 rho) steps squared. Estimates computed to within
2^-20 Delta_k differ between neighbours by at most Delta_k (1 + 2^-19) = d g_k, so their grid points
floor(y/g + 1/2) by at most d, and only in the record's own area: the vector is rho-zCDP (Canonne, Kamath and
Steinke 2020). A record that moves changes two areas: 2 rho. All else is post-processing: the national
proportion, D, A, beta, the predictors and their mean squared errors come from the noisy estimates.

At equal rho this is more accurate than a posterior draw, unless shrinkage is so heavy that few areas' worth
of data is left (W+ small). A draw is as good as direct estimates with noise of covariance D Sigma^-1 D: its
diagonal is at least D_k^2 / sigma_k^2 = Delta_k^2 / (2 rho_k) with rho_k <= rho, and the draw does not count
that noise. But it is correlated: at A = 0 with m equal areas a draw has mean squared error 2 D/m, this
D/m + D. `pgsr.sae.accuracy` compares them for a guess of A.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgsr.errors import InputError
from pgsr.mechanism import Estimate, Progress, Tables
from pgsr.noise import BitSource, DiscreteGaussian
from pgsr.privacy import Guarantee, Neighbours, Number, PrivacyEvent, as_fraction, show
from pgsr.sae.checks import Float64, number, positive
from pgsr.sae.draws import Z95
from pgsr.sae.fayherriot import confidential_fit
from pgsr.sae.fitting import METHODS
from pgsr.sae.frame import (
    AreaEstimates,
    AreaFrame,
    array_digest,
    checked_estimates,
    positive_budget,
    text_column,
)
from pgsr.sae.stages import binary_variance
from pgsr.sae.statement import zcdp_guarantee

STEPS = 4096
"""d: grid steps to a sensitivity; what rounding adds to the variance is below 1e-7 of Delta^2."""

_ACCURACY = Fraction(1, 2**19)
_FARTHEST = 1 << 43
"""Up to here, 2^31 Delta, three roundings of an estimate to float64 stay below 2^-20 Delta."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MeasuredDirect:
    """Noisy direct estimates in grid steps, (m,) int64."""

    points: NDArray[np.int64] = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NoisyDirectMechanism:
    """Direct estimates with exact discrete Gaussian noise, and Fay-Herriot predictors from them.

    frame     the areas; rho the cost of the noise (a record that may move pays twice that)
    variance  D (m,) > 0, public; or None: p~ (1 - p~) kish deff, with p~ the noisy national proportion
              within `clamp`, for Hajek means of a 0/1 outcome and a frame with `weight_total` and `kish`
    model_variance   A, public; or None: estimated from the noisy estimates by `method` (reml, ml, fh, pr)
    Raises InputError for parameters that do not fit each other.
    """

    frame: AreaFrame
    rho: Number
    variance: Any = field(default=None, repr=False)
    model_variance: float | None = None
    method: str = "reml"
    clamp: tuple[float, float] = (0.001, 0.999)
    deff: Any = field(default=1.0, repr=False)
    law: DiscreteGaussian = field(init=False, repr=False)
    steps: tuple[Fraction, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        put, frame = object.__setattr__, self.frame
        rho = positive_budget(as_fraction(self.rho, "rho"), "rho")
        put(self, "rho", rho)
        if self.variance is None:
            for name in ("weight_total", "kish"):
                if getattr(frame, name) is None:
                    raise InputError("not in the frame", name, "give it, or public sampling variances")
        else:
            put(self, "variance", positive(self.variance, "sampling variance", frame.m))
        if self.model_variance is not None:
            put(self, "model_variance", number(self.model_variance, "model variance"))
        elif frame.m <= frame.design.shape[1]:
            raise InputError(
                "too few areas to estimate the model variance", "areas", "give it, or more areas"
            )
        if self.method not in METHODS:
            raise InputError("unknown method", "method", f"use {', '.join(METHODS)}")
        low, high = (number(end, "clamp", above=True) for end in self.clamp)
        if not low < high < 1:
            raise InputError("not 0 < low < high < 1", "clamp", "give a public range of the proportion")
        put(self, "clamp", (low, high))
        deff = np.broadcast_to(np.asarray(self.deff, dtype=np.float64), (frame.m,))
        put(self, "deff", positive(deff, "deff", frame.m))
        put(self, "law", DiscreteGaussian(sigma2=Fraction(STEPS**2) / (2 * rho)))
        steps = [Fraction(float(delta)) * (1 + _ACCURACY) / STEPS for delta in frame.sensitivity]
        put(self, "steps", tuple(steps))

    @property
    def name(self) -> str:
        """Short name for the records."""
        return "sae-noisy-direct"

    @property
    def event(self) -> PrivacyEvent:
        """rho, or 2 rho if a record may move to another area."""
        rho = Fraction(self.rho) * (2 if self.frame.moves else 1)
        return PrivacyEvent.zcdp(rho, neighbours=Neighbours.SUBSTITUTE, unit=self.frame.unit)

    @property
    def post_parameters(self) -> frozenset[str]:
        """All that concerns the model is post-processing."""
        return frozenset({"variance_sha256", "model_variance", "method", "clamp", "deff_sha256"})

    def parameters(self) -> dict[str, Any]:
        """All public parameters as plain data."""
        return {
            **self.frame.parameters(),
            "rho": str(self.rho),
            "steps_per_sensitivity": STEPS,
            "variance_sha256": None if self.variance is None else array_digest(self.variance),
            "model_variance": self.model_variance,
            "method": self.method,
            "clamp": list(self.clamp),
            "deff_sha256": array_digest(self.deff),
        }

    def guarantee(self, rng: BitSource) -> Guarantee:
        """What a release promises; the same for all data."""
        twice = " (twice, for the area it leaves and the area it joins)" if self.frame.moves else ""
        given = [
            text
            for value, text in (
                (self.variance, "the sampling variances"),
                (self.model_variance, "the model variance"),
            )
            if value is not None
        ]
        return zcdp_guarantee(
            frame=self.frame,
            event=self.event,
            sentences=(
                "Measured are direct estimates with discrete Gaussian noise in scale of their sensitivity:",
                f"rho = {show(Fraction(self.rho))} for a record of the area{twice}.",
                "The claim assumes direct estimates computed to within 2^-20 of their sensitivities.",
                "All else is computed from the noisy estimates; nothing is held invariant.",
            ),
            public=("the grid of each area", *given),
            rng=rng,
            exact=True,
        )

    def check(self, data: AreaEstimates) -> None:
        """Refuse data with other areas, and estimates too large for the grid."""
        self._points(checked_estimates(data).aligned(self.frame))

    def measure(self, data: AreaEstimates, rng: BitSource) -> MeasuredDirect:
        """Grid points with noise, in integers; with `check`, all that sees the data."""
        points = self._points(data.aligned(self.frame))
        return MeasuredDirect(points=points + self.law.sample(points.size, rng))

    def _points(self, y: Float64) -> NDArray[np.int64]:
        points = []
        for value, step, label in zip(y, self.steps, self.frame.areas, strict=True):
            # floor(x + 1/2) commutes with whole shifts, so points at most d apart stay so.
            ratio = Fraction(float(value)) / step
            point = (2 * ratio.numerator + ratio.denominator) // (2 * ratio.denominator)
            if abs(point) > _FARTHEST:
                way_out = "check both, and count the outcome from the lower end of its public range"
                raise InputError("too large for its sensitivity", f"direct estimate of '{label}'", way_out)
            points.append(point)
        return np.array(points, dtype=np.int64)

    @property
    def noise_variance(self) -> Float64:
        """tau^2 (m,) = g_k^2 sigma^2, about Delta_k^2 / (2 rho)."""
        step = np.array([float(step) for step in self.steps])
        return step**2 * self.law.variance

    def noisy(self, measured: MeasuredDirect) -> Float64:
        """The noisy direct estimates (m,) in the outcome's unit."""
        pairs = zip(measured.points.tolist(), self.steps, strict=True)
        return np.array([float(point * step) for point, step in pairs])

    def measurements(self, measured: MeasuredDirect) -> Tables:
        """The table `noisy` (area, point, step as text, value, noise_sd)."""
        return {
            "noisy": {
                "area": self.frame.area_column,
                "point": measured.points,
                "step": text_column([str(step) for step in self.steps]),
                "value": self.noisy(measured),
                "noise_sd": np.sqrt(self.noise_variance),
            }
        }

    def estimate(self, measured: MeasuredDirect, progress: Progress | None = None) -> Estimate:
        """The tables `areas` (predictors with 95 % intervals) and `model` (p~, A)."""
        del progress
        noisy = self.noisy(measured)
        variance, proportion = self.variance, float("nan")
        if variance is None:
            total = self.frame.weight_total
            proportion = float(np.clip(total @ noisy / total.sum(), *self.clamp))
            variance = binary_variance(proportion, self.frame.kish, self.deff)
        # Not confidential here: its input is private already.
        fit = confidential_fit(
            noisy,
            variance + self.noise_variance,
            self.frame.design,
            method=self.method,
            model_variance=self.model_variance,
            names=self.frame.names,
        )
        sd = np.sqrt(fit.mse)
        model = {"model_variance": np.array([fit.model_variance.value])}
        if self.variance is None:
            model["proportion"] = np.array([proportion])
        areas = {
            "area": self.frame.area_column,
            "estimate": fit.eblup,
            "sd": sd,
            "lower": fit.eblup - Z95 * sd,
            "upper": fit.eblup + Z95 * sd,
            "variance": variance,
        }
        return Estimate(tables={"areas": areas, "model": model})
