"""What is public of the areas of a release, and the confidential direct estimates that go with it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgsr.errors import InputError
from pgsr.provenance import digest
from pgsr.sae.checks import Float64, labels, positive, vector
from pgsr.sae.design import column_names, design_matrix, is_intercept

LARGEST = 1e100
"""Sizes of public numbers and estimates lie between its inverse and it."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AreaFrame:
    """The areas of a release and all that is public of them; nothing here may come from the outcomes.

    areas        (m,) labels
    sensitivity  Delta (m,) > 0, from `pgsr.sae.sensitivity`: how far one unit's record moves its area's
                 estimate
    design       X (m, p) of full rank; None for an intercept alone; `names` (p,) of its columns
    weight_total W (m,) > 0, kish sum w^2 / W^2 (m,): where a mechanism needs them; of the public weights, or,
                 if records move, planned figures
    unit         whose outcomes a record holds ("person", "household")
    moves        the sensitivities hold for a record that comes or goes (`free_weight_sensitivity`), and it
                 may go from one area to another; else weights and area labels are public and fixed
    Raises InputError for anything that does not fit.
    """

    areas: Sequence[str]
    sensitivity: Any = field(repr=False)
    design: Any = field(default=None, repr=False)
    names: Sequence[str] | None = None
    weight_total: Any = field(default=None, repr=False)
    kish: Any = field(default=None, repr=False)
    unit: str = "person"
    moves: bool = False

    def __post_init__(self) -> None:
        put = object.__setattr__
        put(self, "areas", labels(self.areas, "areas"))
        m = self.m
        if m < 2:
            raise InputError("one area alone has no model", "areas", "give two or more")
        put(self, "sensitivity", positive(self.sensitivity, "sensitivity", m))
        extreme = (self.sensitivity > LARGEST) | (self.sensitivity < 1 / LARGEST)
        if bool(extreme.any()):
            raise InputError("outside 1e-100 to 1e100", "sensitivity", "choose another unit of the outcome")
        put(self, "design", design_matrix(self.design, m, self.names))
        put(self, "names", column_names(self.design.shape[1], self.names))
        for name in ("weight_total", "kish"):
            if getattr(self, name) is not None:
                put(self, name, positive(getattr(self, name), name, m))
        if self.kish is not None and bool((self.kish > 1).any()):
            raise InputError("sum w^2 / W^2 is above 1", "kish", "compute it from the weights")
        if not isinstance(self.moves, bool):
            raise InputError("neither True nor False", "moves", "use one of them")

    @property
    def m(self) -> int:
        """The number of areas."""
        return len(self.areas)

    @property
    def area_column(self) -> NDArray[Any]:
        """The labels as a column of numpy strings (m,)."""
        return text_column(self.areas)

    def parameters(self) -> dict[str, Any]:
        """The public facts as plain data; arrays by digest."""
        record: dict[str, Any] = {
            "areas": self.m,
            "areas_sha256": digest({"areas": list(self.areas)}),
            "design_columns": list(self.names or ()),
            "unit": self.unit,
            "moves": self.moves,
        }
        for name in ("sensitivity", "design", "weight_total", "kish"):
            if getattr(self, name) is not None:
                record[f"{name}_sha256"] = array_digest(getattr(self, name))
        return record

    def items(self) -> tuple[str, ...]:
        """What is public, fixed and not protected, one item each."""
        _, p = self.design.shape
        covariates = f"the covariates of the areas ({p} columns: {', '.join(self.names or ())})"
        items = [
            f"the list of {self.m} areas",
            f"the sensitivity of each direct estimate to one {self.unit}'s record, from public figures",
            "no covariates, an intercept alone" if is_intercept(self.design) else covariates,
        ]
        if self.moves:
            items.append("the bound on survey weights and the least weight total of an area behind it")
            if self.kish is not None:
                items.append("the planned weight totals and Kish factors, which are not those of the records")
        else:
            items.append("the survey weights, the sample sizes and the area of each record")
        return tuple(items)

    def neighbours(self) -> str:
        """Which data sets are neighbours, as the end of a sentence."""
        if self.moves:
            return (
                f"replacing one {self.unit}'s record by another one, of any outcome in the public range, any "
                "allowed weight and any area"
            )
        return (
            f"replacing the outcome of one {self.unit}'s record by any other in the public range; its weight "
            "and area, and with them all sample sizes and weight totals, stay the same"
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AreaEstimates:
    """CONFIDENTIAL: direct estimates `values` (m,) of the `areas`. Its repr shows none of them.

    Raises InputError for missing or infinite values and values of 1e100 and more.
    """

    areas: Sequence[str]
    values: Any = field(repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "areas", labels(self.areas, "direct estimates, areas"))
        values = vector(self.values, "direct estimates", len(self.areas))
        if bool((np.abs(values) >= LARGEST).any()):
            raise InputError("a value of 1e100 or more", "direct estimates", "choose another unit")
        object.__setattr__(self, "values", values)

    def aligned(self, frame: AreaFrame) -> Float64:
        """The values (m,) in the order of the frame; InputError unless the areas are the same."""
        place = {label: row for row, label in enumerate(self.areas)}
        for label in frame.areas:
            if label not in place:
                raise InputError(f"area '{label}' has no direct estimate", "data", "make it a new area")
        if len(place) != frame.m:
            extra = next(label for label in self.areas if label not in set(frame.areas))
            raise InputError(f"area '{extra}' is not in the public frame", "data", "list all areas")
        rows = [place[label] for label in frame.areas]
        aligned: Float64 = self.values[rows]
        return aligned


def checked_estimates(data: Any) -> AreaEstimates:
    """`data` if it is an AreaEstimates; else InputError."""
    if not isinstance(data, AreaEstimates):
        raise InputError("not direct estimates", "data", "make them with AreaEstimates")
    return data


def refuse_unresolved(y: Float64, frame: AreaFrame, variance: Float64) -> None:
    """Refuse estimates y (m,) that floating point does not tell from their neighbours, or hides the noise of.

    Up to 2^31 Delta_k the rounding of y_k stays below 2^-21 Delta_k. Up to 2^30 sqrt(D_k) that of a draw's
    mean, kept y + S U'V^-1/2 y, stays below about 2^-22 sqrt(m) of the noise it gets: kept |y_k| is at most
    2^30 sqrt(g1_k), and |U'V^-1/2 y| at most 2^30 sqrt(m), against noise of variance 1. See `Posterior`.
    """
    away = "count the outcome from the lower end of its public range, or choose another mechanism"
    for limit, what in (
        (2.0**31 * frame.sensitivity, "too large for its sensitivity"),
        (2.0**30 * np.sqrt(variance), "too large for its sampling variance"),
    ):
        far = np.flatnonzero(np.abs(y) > limit)
        if far.size:
            where = f"direct estimate of '{frame.areas[int(far[0])]}'"
            raise InputError(what, where, f"check both; {away}")


def text_column(texts: Sequence[str]) -> NDArray[Any]:
    """A column of numpy strings."""
    return np.array(list(texts), dtype=np.dtypes.StringDType())


def array_digest(array: Float64) -> str:
    """SHA-256 of an array's numbers, as text."""
    return digest({"shape": list(array.shape), "values": [float(x) for x in array.ravel()]})


def positive_budget(value: Fraction, name: str) -> Fraction:
    """`value` if it is above 0 and at most 1e6; else InputError."""
    if not 0 < value <= 10**6:
        raise InputError("not above 0 and at most 1e6", name, "give a positive rho")
    return value
