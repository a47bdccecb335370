"""Weights by area: public diagnostics, from weights and areas alone."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pgsr.errors import InputError
from pgsr.sae.checks import Float64, Int64, positive, sums


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class WeightDiagnostics:
    """Weights by area, each (m,): no outcome enters, so public if weights and areas are.

    `counts` n; `total` sum w; `largest` w_max; `squares` sum w^2. Unchanged by rescaling the weights:
    `ratio` w_max/w_mean, at least 1; `effective_n` (sum w)^2/sum w^2 (Kish), at most n; `design_effect`
    n/effective_n; `influence` w_max^2/sum w^2, between 1/n and 1, which drives the privacy loss;
    `share` w_max/sum w, the sensitivity of a Hajek mean of an outcome in [0, 1].
    """

    counts: Int64 = field(repr=False)
    total: Float64 = field(repr=False)
    largest: Float64 = field(repr=False)
    squares: Float64 = field(repr=False)

    @property
    def ratio(self) -> Float64:
        """w_max / w_mean."""
        return self.largest * self.counts / self.total

    @property
    def kish(self) -> Float64:
        """Kish factor sum w^2 / (sum w)^2: what unit variances are multiplied by in a Hajek mean."""
        return self.squares / self.total**2

    @property
    def effective_n(self) -> Float64:
        """Kish's effective sample size (sum w)^2 / sum w^2."""
        return self.total**2 / self.squares

    @property
    def design_effect(self) -> Float64:
        """Kish's design effect of unequal weights, n sum w^2 / (sum w)^2."""
        return self.counts / self.effective_n

    @property
    def influence(self) -> Float64:
        """The largest record's part of the squared weights, w_max^2 / sum w^2."""
        return self.largest**2 / self.squares

    @property
    def share(self) -> Float64:
        """The largest record's part of the weights, w_max / sum w."""
        return self.largest / self.total


def weight_diagnostics(weight: Any, area_codes: Any, m: int) -> WeightDiagnostics:
    """Diagnostics of weights w (n,) > 0 by area; `area_codes` (n,) are places in 0..m-1, none empty."""
    w = positive(weight, "weight", way_out="leave out records without a positive weight")
    codes = np.asarray(area_codes)
    if codes.shape != w.shape or codes.dtype.kind not in "iu":
        raise InputError("not one whole number a weight", "area codes", "give the place of each area")
    if codes.size == 0 or codes.min() < 0 or codes.max() >= m:
        raise InputError("a place that is not among the areas", "area codes", f"give places in 0..{m - 1}")
    counts = np.bincount(codes, minlength=m)
    if (counts == 0).any():
        place = int(np.flatnonzero(counts == 0)[0])
        raise InputError("an area without records", f"area {place + 1} of {m}", "leave it out")
    largest = np.zeros(m)
    np.maximum.at(largest, codes, w)
    return WeightDiagnostics(
        counts=counts,
        total=sums(codes, w, m),
        largest=largest,
        squares=sums(codes, w * w, m),
    )
