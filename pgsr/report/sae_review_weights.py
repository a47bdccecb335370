"""What a review may know of survey weights: sample sizes, Kish factors, inequality, trimming. No outcomes."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from pgsr.config.sae import SaeConfig
from pgsr.config.sae_confidential import refuse_confidential
from pgsr.config.sae_inputs import read_records
from pgsr.config.sae_parts import INVARIANT
from pgsr.config.sae_public import PublicQuery
from pgsr.config.sae_table import AreaTable
from pgsr.errors import InputError
from pgsr.report.sae_design import trimming_facts
from pgsr.sae.checks import Float64
from pgsr.sae.weights import weight_diagnostics

_SAME = 1e-6

PLACES = {
    "records": "--records",
    "rho": "--rho",
    "weights": "--weights",
    "bias": "--bias",
    "lower, upper": "--lower, --upper",
    "counts": "--counts",
    "kish": "--kish",
    "outcome": "--lower, --upper",
}
"""Where parameters of the library come from, for errors."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewOptions:
    """What a reviewer may add: number of records, a rho to floor for, columns of n and kish, survey weights.

    `lower`, `upper`: the public range of the outcome, for the inequality of weights and for trimming.
    Where a configuration has records, sizes and weights are theirs, and these columns are not needed.
    """

    records: int | None = None
    target: float | None = None
    counts: str | None = None
    kish: str | None = None
    weights: Path | None = None
    weight: str = "weight"
    bias: float | None = None
    lower: float = 0.0
    upper: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Sizes:
    """Of each area (m,): n, kish and w_max / w_mean, None if not known; the range of the outcome."""

    counts: Float64 | None = field(default=None, repr=False)
    kish: Float64 | None = field(default=None, repr=False)
    ratio: Float64 | None = field(default=None, repr=False)
    lower: float = 0.0
    upper: float = 1.0
    weights: Any = field(default=None, repr=False)
    labels: Any = field(default=None, repr=False)

    @classmethod
    def read(cls, config: SaeConfig, query: PublicQuery, source: Path, options: ReviewOptions) -> Sizes:
        """From the records of the configuration, or from the columns that `options` name."""
        frame, table, part = query.frame, query.table, config.records
        _refuse_options(config, options)
        if part is not None and not frame.moves:
            if (options.counts, options.kish, options.weights) != (None, None, None):
                raise InputError(
                    "sizes and weights are those of the records",
                    "--counts, --kish, --weights",
                    "leave them out",
                )
            listed = None if config.areas.file is None else table
            _, data = read_records(part, listed, source, outcomes=False)
            found = weight_diagnostics(data.weight, data.area_codes, data.m)
            lower, upper = data.span
            names = np.array(data.areas, dtype=np.str_)
            return cls(
                counts=found.counts.astype(np.float64),
                kish=found.kish,
                ratio=found.ratio,
                lower=lower,
                upper=upper,
                weights=data.weight,
                labels=names[data.area_codes],
            )
        counts = None if options.counts is None else table.positive(options.counts)
        kish = None if options.kish is None else table.positive(options.kish)
        if kish is not None and options.kish is not None:
            table.refuse(options.kish, kish > 1, "above 1", "compute it from the weights")
        ratio = None
        if counts is not None and not frame.moves:
            # Delta of a Hajek mean is R w_max / W; for other estimators this may be below 1, and is left out.
            ratio = frame.sensitivity * counts / (options.upper - options.lower)
            ratio = ratio if bool((ratio >= 1 - _SAME).all()) else None
        weights = labels = None
        if options.weights is not None:
            area = table.area or "area"
            records = AreaTable.read(options.weights, area)
            weights = records.positive(options.weight, "leave out records without a positive weight")
            labels = np.array(records.table.text(area).to_pylist(), dtype=np.str_)
        return cls(
            counts=counts,
            kish=kish,
            ratio=ratio,
            lower=options.lower,
            upper=options.upper,
            weights=weights,
            labels=labels,
        )

    def add_to(self, rows: list[dict[str, Any]]) -> None:
        """Write n and ratio into the rows of the areas."""
        if self.counts is not None:
            for row, n in zip(rows, self.counts.tolist(), strict=True):
                row["n"] = int(n) if n == int(n) else n
        if self.ratio is not None:
            for row, ratio in zip(rows, self.ratio.tolist(), strict=True):
                row["ratio"] = ratio

    def trimming(self, query: PublicQuery, bias: float | None) -> dict[str, Any] | None:
        """What trimming would bring, where weights are known and a `bias` is allowed."""
        if bias is None or query.mechanism is None:
            return None
        if self.weights is None:
            raise InputError("trimming needs weights", "--weights, --bias", "give both or none")
        with query.table.named(PLACES):
            return trimming_facts(
                query.mechanism,
                self.weights,
                self.labels,
                bias=bias,
                lower=self.lower,
                upper=self.upper,
            )


def _refuse_options(config: SaeConfig, options: ReviewOptions) -> None:
    """InputError for an option that names a confidential column, or asks for weights that are not public."""
    areas = config.areas
    columns = {"--counts": options.counts, "--kish": options.kish}
    if areas.moves:
        given = {**columns, "--weights": options.weights, "--bias": options.bias}
        asked = [name for name, value in given.items() if value is not None]
        if asked:
            what = "sample sizes and weights are not public where records may move"
            raise InputError(what, ", ".join(asked), "leave it out")
    hidden = [areas.direct]
    if config.release.variances == INVARIANT:
        hidden.append(areas.variance)
    if options.weights is not None:
        columns["--weight"] = options.weight
    for column in hidden:
        refuse_confidential(column, columns)
