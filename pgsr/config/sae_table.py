"""A file of areas, or of survey records, read strictly; errors name file, column and line, never a value."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgsr.config.reals import real_numbers, refuse_cells
from pgsr.errors import InputError
from pgsr.tables import AUTO, LIMIT, Auto, Table, read_table

_ROW = re.compile(r"(.+), row (\d+)")

INTERCEPT = "intercept"
"""The name of the column of ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AreaTable:
    """The table of a file; `area` is the column of the areas' labels, None if rows are counted from 1."""

    table: Table
    area: str | None

    @classmethod
    def read(cls, path: Path, area: str | Auto = AUTO) -> AreaTable:
        """Read a CSV or Parquet file; by default labels are in the column `area`, if there is one."""
        table = read_table(path)
        name = table.optional(area, "area")
        if name is not None:
            table.column(name)
        if table.rows == 0:
            raise InputError("no rows", table.source, "give one row an area, or a record")
        return cls(table=table, area=name)

    @property
    def source(self) -> str:
        """The file's name."""
        return self.table.source

    def labels(self) -> tuple[str, ...]:
        """The labels of all rows; InputError for a missing one, and one that is there twice."""
        if self.area is None:
            return tuple(str(row) for row in range(1, self.table.rows + 1))
        found = tuple(self.table.text(self.area).to_pylist())
        seen: set[str] = set()
        for row, label in enumerate(found):
            where = self.table.where(self.area, row) if not label.strip() or label in seen else ""
            if not label.strip():
                raise InputError("a blank label", where, "give every area a label")
            if where:
                raise InputError(f"area '{label}' twice", where, "give every area one row")
            seen.add(label)
        return found

    def numbers(self, name: str) -> NDArray[np.float64]:
        """A column of real numbers without empty cells; see `real_numbers`."""
        return real_numbers(self.table, name)

    def positive(self, name: str, way_out: str = "give positive numbers") -> NDArray[np.float64]:
        """A column of numbers above 0; InputError otherwise."""
        values = self.numbers(name)
        self.refuse(name, values <= 0, "not above 0", way_out)
        return values

    def optional(self, name: str) -> NDArray[np.float64]:
        """The same, with NaN where a cell is empty."""
        return real_numbers(self.table, name, blanks=True)

    def design(
        self, covariates: Sequence[str], *, intercept: bool
    ) -> tuple[NDArray[np.float64], tuple[str, ...]]:
        """The design (rows, p) and the names of its columns, the intercept first."""
        columns = [(name, self.numbers(name)) for name in covariates]
        if intercept:
            columns = [(INTERCEPT, np.ones(self.table.rows)), *columns]
        if not columns:
            raise InputError("neither covariates nor an intercept", "design", "give one of them")
        names = tuple(name for name, _ in columns)
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise InputError(f"two columns called '{twice}'", "covariates", "name each column once")
        return np.column_stack([column for _, column in columns]), names

    def refuse(self, name: str, bad: NDArray[np.bool_], what: str, way_out: str) -> None:
        """Raise InputError naming the first row where `bad` holds."""
        refuse_cells(self.table, name, bad, what, way_out)

    @contextmanager
    def named(
        self,
        parameters: Mapping[str, str],
        columns: Mapping[str, str] = MappingProxyType({}),
        phrases: Mapping[str, str] = MappingProxyType({}),
    ) -> Iterator[None]:
        """Errors of the library in terms of this file, or of the option or key that a parameter came from.

        `parameters` are places to name instead, `columns` the columns of those whose rows are those of this
        file, `phrases` words of a way out to replace.
        """
        try:
            yield
        except InputError as error:
            way_out = error.way_out
            for phrase, better in phrases.items():
                way_out = way_out.replace(phrase, better)
            row = _ROW.fullmatch(error.where)
            if isinstance(error, _Placed) or error.where.startswith(f"{self.source}, "):
                where = error.where
            elif error.where in parameters:
                where = parameters[error.where]
            elif row is not None and row[1] in columns:
                where = self.table.where(columns[row[1]], int(row[2]) - 1)
            else:
                where = f"{self.source}, {error.where}" if error.where else self.source
            raise _Placed(error.what, where, way_out) from None


class _Placed(InputError):
    """An error that names its file, or the option or key it came from, already."""


def column_or_number(table: AreaTable, given: Any, option: str) -> NDArray[np.float64]:
    """Positive numbers (rows,): a column of that name, or one number for all; InputError otherwise."""
    if isinstance(given, str) and given in table.table.columns:
        return table.positive(given)
    try:
        value = float(given)
    except (TypeError, ValueError, OverflowError):
        value = float("nan")
    if np.isnan(value):
        if isinstance(given, str):
            table.table.column(given)  # which says that there is none
        raise InputError("neither a column nor a number", option, "give one of them")
    if not 0 < value <= LIMIT:
        raise InputError("not above 0 and at most 2^53", option, "give another number, or a column")
    return np.full(table.table.rows, value)
