"""Confidential survey microdata: an outcome and a weight a record, the area, and the design."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import InitVar, dataclass, field
from typing import Any

import numpy as np

from pgsr.errors import InputError
from pgsr.sae.checks import Float64, Int64, labels, positive, public_range, refuse, sums, vector

_LEAST_WEIGHT = 1e-100
"""Squares of smaller weights are lost in floating point."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Microdata:
    """CONFIDENTIAL: outcomes Y (n,) of a survey, weights w (n,) > 0 and the area label of each record.

    `areas` (m,) are the public labels of all areas, in the order of every result; each must have a record.
    `lower`, `upper`: the public range of the outcome; without them it must be 0 or 1. `strata` and `psu`
    (primary sampling units, nested in strata) describe the design, `units` the households or clusters that
    are protected together; labels of n records, text or whole numbers; without them all records are in one
    stratum, and each record is a unit of its own. Labels are stored as `area_codes` (places in `areas`),
    `strata_codes`, `psu_codes` and `unit_codes`, all (n,). Raises InputError, without showing a value, for
    outcomes outside the range, weights that are not positive, and missing or unlisted labels.
    """

    outcome: Float64 = field(repr=False)
    weight: Float64 = field(repr=False)
    area: InitVar[Any]
    areas: tuple[str, ...] = field(repr=False)
    lower: float | None = None
    upper: float | None = None
    strata: InitVar[Any] = None
    psu: InitVar[Any] = None
    units: InitVar[Any] = None
    area_codes: Int64 = field(init=False, repr=False)
    strata_codes: Int64 = field(init=False, repr=False)
    psu_codes: Int64 = field(init=False, repr=False)
    unit_codes: Int64 = field(init=False, repr=False)

    def __post_init__(self, area: Any, strata: Any, psu: Any, units: Any) -> None:
        put = object.__setattr__
        outcome = vector(self.outcome, "outcome")
        n = outcome.size
        weight = positive(self.weight, "weight", n, "leave out records without a positive weight")
        refuse(weight < _LEAST_WEIGHT, "a weight below 1e-100", "weight", "choose another unit of weights")
        binary = self.lower is None and self.upper is None
        lower, upper = (0.0, 1.0) if binary else public_range(self.lower, self.upper)
        if binary:
            unfit, way_out = (outcome != 0) & (outcome != 1), "give the public range, lower and upper"
            refuse(unfit, "an outcome is not 0 or 1", "outcome", way_out)
        unfit = (outcome < lower) | (outcome > upper)
        refuse(unfit, "an outcome is outside the public range", "outcome", "clip outcomes to the range first")
        areas = labels(self.areas, "areas")
        if not areas:
            raise InputError("no areas", "areas", "list at least one area")
        put(self, "areas", areas)
        put(self, "outcome", outcome)
        put(self, "weight", weight)
        put(self, "lower", lower)
        put(self, "upper", upper)
        put(self, "area_codes", _listed(area, areas, n))
        strata_codes = np.zeros(n, dtype=np.int64) if strata is None else encode(strata, "strata", n)
        put(self, "strata_codes", strata_codes)
        own = np.arange(n)
        nested = own if psu is None else _nested(strata_codes, encode(psu, "psu", n))
        put(self, "psu_codes", nested)
        put(self, "unit_codes", own if units is None else encode(units, "units", n))
        for name in ("area_codes", "strata_codes", "psu_codes", "unit_codes"):
            getattr(self, name).flags.writeable = False
        empty = np.flatnonzero(self.counts == 0)
        if empty.size:
            where, way_out = f"area '{areas[empty[0]]}'", "leave the area out and predict it from the model"
            raise InputError("an area without records", where, way_out)

    @property
    def n(self) -> int:
        """Number of records."""
        return self.outcome.size

    @property
    def m(self) -> int:
        """Number of areas."""
        return len(self.areas)

    @property
    def span(self) -> tuple[float, float]:
        """The outcome's public range."""
        assert self.lower is not None  # since the checks
        assert self.upper is not None
        return self.lower, self.upper

    @property
    def width(self) -> float:
        """R, the width of the outcome's public range: how far one outcome can move."""
        lower, upper = self.span
        return upper - lower

    @property
    def counts(self) -> Int64:
        """Number of records of each area (m,)."""
        return np.bincount(self.area_codes, minlength=self.m)

    def sum_by_area(self, x: Float64) -> Float64:
        """Sums (m,) of x (n,) over the records of each area."""
        return sums(self.area_codes, x, self.m)


def encode(x: Any, name: str, n: int) -> Int64:
    """Places (n,) of labels x among the distinct ones; InputError for missing labels and other lengths."""
    return _encoded(x, name, n)[1]


def _encoded(x: Any, name: str, n: int) -> tuple[Sequence[str], Int64]:
    from pgsr.text import text_array

    texts = text_array(x, name)
    if len(texts) != n:
        raise InputError(f"{len(texts)} labels for {n} records", name, "give one label a record")
    if texts.null_count:
        raise InputError("a label is missing", name, "give every record a label")
    encoded = texts.dictionary_encode()
    codes = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    return encoded.dictionary.to_pylist(), codes


def _listed(area: Any, areas: tuple[str, ...], n: int) -> Int64:
    """The place (n,) of each record's label among `areas`."""
    found, codes = _encoded(area, "area", n)
    place = {label: i for i, label in enumerate(areas)}
    places = np.array([place.get(label, -1) for label in found], dtype=np.int64)[codes]
    refuse(places < 0, "a label that is not among the public areas", "area", "list all areas")
    return places


def _nested(strata: Int64, psu: Int64) -> Int64:
    """PSU codes that differ between strata: the same label in two strata is two units."""
    return np.unique(strata * (psu.max(initial=0) + 1) + psu, return_inverse=True)[1].astype(np.int64)
