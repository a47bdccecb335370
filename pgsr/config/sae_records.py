"""Survey records from a file: which columns they are, and the microdata that they make."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pgsr.config.sae_table import AreaTable
from pgsr.sae.microdata import Microdata


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordColumns:
    """The columns of a file of records, one row each, and the outcome's public range (0 or 1 without one)."""

    outcome: str
    weight: str
    area: str = "area"
    strata: str | None = None
    psu: str | None = None
    household: str | None = None
    lower: float | None = None
    upper: float | None = None

    def rows(self) -> dict[str, str]:
        """The columns of what the library names row by row."""
        named = {"outcome": self.outcome, "weight": self.weight, "area": self.area}
        return named if self.household is None else {**named, "household": self.household}


def read_microdata(
    table: AreaTable, columns: RecordColumns, areas: Sequence[str] | None = None, *, outcomes: bool = True
) -> Microdata:
    """CONFIDENTIAL: the records of a table; `areas` is the public list of labels, by default those there are.

    Without `outcomes` none is read, and all are taken to be at the lower end: enough for what is public of
    weights and areas. Raises InputError that names file, column and line of cells that are missing or no
    numbers, and of weights that are not above 0. What does not fit otherwise is named as `Microdata` does.
    """
    labels = table.table.text(columns.area)
    listed = sorted(labels.unique().to_pylist()) if areas is None else areas

    def optional(name: str | None) -> object:
        return None if name is None else table.table.text(name)

    return Microdata(
        outcome=table.numbers(columns.outcome)
        if outcomes
        else np.full(len(labels), 0.0 if columns.lower is None else columns.lower),
        weight=table.positive(columns.weight, "leave out records without a positive weight"),
        area=labels,
        areas=tuple(listed),
        lower=columns.lower,
        upper=columns.upper,
        strata=optional(columns.strata),
        psu=optional(columns.psu),
        units=optional(columns.household),
    )
