"""What is public of the areas of a release: from a file of areas, or from survey records without outcomes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgsr.config.sae import SaeConfig
from pgsr.config.sae_parts import DP, INVARIANT, AreasPart, RecordsPart, ReleasePart
from pgsr.config.sae_records import RecordColumns, read_microdata
from pgsr.config.sae_table import AreaTable, column_or_number
from pgsr.errors import InputError
from pgsr.sae.frame import AreaFrame
from pgsr.sae.microdata import Microdata
from pgsr.sae.records import moving_sensitivity, record_facts
from pgsr.sae.smoothing import kish_variance
from pgsr.tables import AUTO

Float64 = NDArray[np.float64]

SMOOTH = "merge the area, smooth or floor its variance"
"""The way out of a sampling variance that is not above 0."""

_PHRASES = {
    "floor the variances (floored_variance)": "floor the variances (pgsr sae levers --rho)",
    "choose single_psu": "set records.single_psu to",
    "leave the area out and predict it from the model": "leave it out, or list it in areas.new_areas",
}
_AREAS = {
    "privacy event": "unit",
    "design effect": "deff",
    **{
        name: name
        for name in ("covariates", "kish", "weight_total", "deff", "sensitivity", "new_areas", "new_design")
    },
}
_RECORDS = {
    "lower, upper": "lower, upper",
    "prevalence": "prevalence",
    "unit_variance": "unit_variance",
    "largest weight": "largest_weight",
    "rest weight": "rest_weight",
}
"""Parameters of the library, and the keys that they come from."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PublicInputs:
    """The public `frame`, and the sampling variances D (m,), None unless they are public.

    `table` is the file that errors name: of areas, or of records. `deff` is a number or (m,); `population` N
    (m,) is for Horvitz-Thompson means.
    """

    frame: AreaFrame
    table: AreaTable
    variance: Float64 | None = field(repr=False)
    deff: Any = field(repr=False)
    population: Float64 | None = field(default=None, repr=False)


def read_public(config: SaeConfig, source: Path) -> PublicInputs:
    """Read what is public, and no outcome or direct estimate; InputError names file and column, or key."""
    if config.records is None:
        return _from_areas(config, source)
    return _from_records(config, config.records, source)


def _from_areas(config: SaeConfig, source: Path) -> PublicInputs:
    areas = config.areas
    assert areas.file is not None  # by the check of the configuration
    table = AreaTable.read(areas.file, AUTO if areas.area is None else areas.area)
    labels = table.labels()
    public = _Columns.read(config, table, source)
    delta = column_or_number(table, areas.sensitivity, f"{source}, areas.sensitivity")
    return public.inputs(config, source, table, labels, delta, public.weights)


def _from_records(config: SaeConfig, part: RecordsPart, source: Path) -> PublicInputs:
    """Sensitivities, weight totals and Kish factors follow from weights, areas and households alone."""
    listed = None if config.areas.file is None else labelled(config.areas.file, config.areas)
    public = _Columns.read(config, listed, source)
    table, data = read_records(part, listed, source, outcomes=False)
    weights = public.weights
    with named(source, table, record_columns(part).rows()):
        if config.areas.moves:
            assert listed is not None and part.largest_weight is not None  # by the check  # noqa: PT018
            rest = column_or_number(listed, part.rest_weight, f"{source}, records.rest_weight")
            delta = moving_sensitivity(data, part.largest_weight, rest)
        else:
            facts = record_facts(data, part.estimator, public.population)
            delta, weights = facts.sensitivity, {"weight_total": facts.weight_total, "kish": facts.kish}
    with named(source, table):
        if part.prevalence is not None or part.unit_variance is not None:
            public.variance = kish_variance(
                weights["kish"],
                prevalence=part.prevalence,
                unit_variance=part.unit_variance,
                design_effect=public.deff,
            )
    kept = weights if config.release.variances == DP else {}
    return public.inputs(config, source, listed or table, data.areas, delta, kept)


@dataclass(slots=True, kw_only=True)
class _Columns:
    """What the public columns of a file of areas say; without a file an intercept alone."""

    design: Float64 | None = None
    names: tuple[str, ...] | None = None
    variance: Float64 | None = None
    weights: Mapping[str, Float64] = field(default_factory=dict)
    deff: Any = 1.0
    population: Float64 | None = None

    @classmethod
    def read(cls, config: SaeConfig, table: AreaTable | None, source: Path) -> _Columns:
        areas = config.areas
        found = cls() if areas.deff is None else cls(deff=areas.deff)
        if table is None:
            return found
        with named(source, table):
            found.design, found.names = table.design(areas.covariates, intercept=areas.intercept)
        if areas.variance is not None and config.release.variances != INVARIANT:
            found.variance = table.positive(areas.variance, SMOOTH)
        columns = (("weight_total", areas.weight_total), ("kish", areas.kish))
        found.weights = {name: table.positive(column) for name, column in columns if column is not None}
        if areas.deff is not None:
            found.deff = column_or_number(table, areas.deff, f"{source}, areas.deff")
        if areas.population is not None:
            found.population = table.positive(areas.population)
        return found

    def inputs(
        self,
        config: SaeConfig,
        source: Path,
        table: AreaTable,
        labels: tuple[str, ...],
        delta: Float64,
        weights: Mapping[str, Float64],
    ) -> PublicInputs:
        with named(source, table):
            frame = AreaFrame(
                areas=labels,
                sensitivity=delta,
                design=self.design,
                names=self.names,
                unit=config.unit,
                moves=config.areas.moves,
                **weights,
            )
        return PublicInputs(
            frame=frame, table=table, variance=self.variance, deff=self.deff, population=self.population
        )


def record_columns(part: RecordsPart) -> RecordColumns:
    """The columns that `[records]` names."""
    return RecordColumns(**{key: getattr(part, key) for key in RecordColumns.__dataclass_fields__})


def read_records(
    part: RecordsPart, listed: AreaTable | None, source: Path, *, outcomes: bool
) -> tuple[AreaTable, Microdata]:
    """The file of records, and its records by the areas `listed`; without `outcomes` none is read."""
    table, columns = AreaTable.read(part.file, part.area), record_columns(part)
    with named(source, table, columns.rows()):
        labels = None if listed is None else listed.labels()
        return table, read_microdata(table, columns, labels, outcomes=outcomes)


def labelled(file: Path, areas: AreasPart) -> AreaTable:
    """A file of areas with labels."""
    table = AreaTable.read(file, AUTO if areas.area is None else areas.area)
    if table.area is None:
        raise InputError("no labels", table.source, "give a column 'area'")
    return table


@contextmanager
def named(
    source: Path, table: AreaTable, columns: Mapping[str, str] = MappingProxyType({})
) -> Iterator[None]:
    """Errors of the library in terms of the key of the configuration `source`, or of the file."""
    keys = ReleasePart.model_fields
    places = {key: f"{source}, release.{key}" for key in keys}
    places |= {key.replace("_", " "): f"{source}, release.{key}" for key in keys}
    places["variance_source"] = f"{source}, release.source"
    places |= {name: f"{source}, areas.{key}" for name, key in _AREAS.items()}
    places |= {name: f"{source}, records.{key}" for name, key in _RECORDS.items()}
    with table.named(places, columns, _PHRASES):
        yield
