"""A file of incomes for `pgsr inequality`, read strictly; errors name file, column and line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from pgsr.errors import InputError
from pgsr.tables import LIMIT, Table, read_table

if TYPE_CHECKING:
    from pgsr.inequality.domain import Domain
    from pgsr.inequality.incomes import Incomes

_NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,3})?$"
_ROW = re.compile(r"(incomes|groups), row (\d+)")

_FLAGS = {
    "accept clipping": "accept clipping (--clip)",
    "add 1 to all incomes": "add 1 to all incomes (--shift 1)",
}
"""How a way out is taken on the command line."""

_OPTIONS = {
    "alpha": "--epsilon, --beta",
    "beta": "--beta",
    "domain": "--lower, --upper",
    "domain, lower": "--lower",
    "domain, upper": "--upper",
    "entries": "--entries",
    "grid": "--upper-grid",
    "grid count": "--upper-grid",
    "grid first": "--upper-grid",
    "grid last": "--upper-grid",
    "grid ratio": "--upper-grid",
    "epsilon of the upper bound": "--epsilon-upper",
    "index": "--index",
    "lower": "--lower",
    "minimum": "--minimum",
    "overall": "--overall",
    "privacy event": "--unit",
    "queries": "--index",
    "shift": "--shift",
    "sizes": "--n",
    "upper": "--upper",
    "upper bound": "--epsilon-upper",
}
"""How the option is called that a parameter of the library comes from."""


def numbers(table: Table, name: str) -> NDArray[np.float64]:
    """One column of real numbers as float64, from numbers or their text.

    Raises InputError for missing cells, NaN, text that is no number, and magnitudes above 2^53, naming the
    row and not the value.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    column = table.column(name)
    kind = column.type
    if pa.types.is_null(kind):
        column, kind = column.cast(pa.float64()), pa.float64()
    refuse(table, name, np.asarray(column.is_null(nan_is_null=True)), "missing value", "fill every cell")
    if pa.types.is_large_string(kind):
        text = pc.utf8_trim_whitespace(column)
        empty = np.asarray(pc.binary_length(text)) == 0
        refuse(table, name, empty, "missing value", "fill every cell")
        bad = np.asarray(pc.invert(pc.match_substring_regex(text, _NUMBER)))
        refuse(table, name, bad, "not a number", "give numbers such as 12000 or 12000.50")
        column = pc.replace_substring_regex(text, r"^\+", "")
    elif not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)):
        raise InputError(f"column of type {kind}", table.where(name), "give numbers")
    values = np.asarray(column.cast(pa.float64(), safe=False))
    refuse(table, name, np.abs(values) > LIMIT, "magnitude above 2^53", "give smaller numbers")
    return values


def refuse(table: Table, name: str, bad: NDArray[np.bool_], what: str, way_out: str) -> None:
    """Raise InputError naming the first row where `bad` holds."""
    if bad.any():
        raise InputError(what, table.where(name, int(np.argmax(bad))), way_out)


@dataclass(frozen=True, slots=True, kw_only=True)
class IncomeFile:
    """CONFIDENTIAL: the table of a file, and its columns of incomes and, perhaps, of group labels."""

    table: Table
    column: str
    group: str | None = None

    @classmethod
    def read(cls, path: Path, column: str, group: str | None = None) -> IncomeFile:
        """Read a CSV or Parquet file; raises InputError if it cannot be read or lacks a column."""
        found = cls(table=read_table(path), column=column, group=group)
        for name in (column, group):
            if name is not None:
                found.table.column(name)
        return found

    def values(self) -> NDArray[np.float64]:
        """The incomes; see `numbers`. Raises InputError for a negative one."""
        values = numbers(self.table, self.column)
        way_out = "set it to 0 or leave it out, by a rule that you state"
        refuse(self.table, self.column, values < 0, "a negative income", way_out)
        return values

    def inside(self, shift: float, domain: Domain, *, clip: bool) -> NDArray[np.float64]:
        """The incomes after the shift, moved into the domain if `clip`; else InputError for one outside."""
        if shift < 0:
            raise InputError("the shift is negative", "shift", "give 0 or more")
        x = self.values() + shift
        if not clip:
            outside = (x < domain.lower) | (x > domain.upper)
            way_out = "choose other bounds without looking at the data, or accept clipping"
            refuse(self.table, self.column, outside, "an income outside the bounds", way_out)
        return domain.clip(x)

    def incomes(self) -> Incomes:
        """Incomes with their labels; raises InputError also for missing labels."""
        from pgsr.inequality.incomes import Incomes

        labels = None if self.group is None else self.table.text(self.group)
        with self.named():
            return Incomes(values=self.values(), groups=labels)

    def sizes(self, path: Path) -> dict[str, int]:
        """Public: the number of records by label from a file with the column of labels and a column `n`."""
        assert self.group is not None
        table = read_table(path)
        labels = table.text(self.group).to_pylist()
        first = {label: place for place, label in reversed(list(enumerate(labels)))}
        twice = np.array([first[label] < place for place, label in enumerate(labels)], dtype=np.bool_)
        refuse(table, self.group, twice, "a label twice", "give every group one row")
        counts = table.integers("n", minimum=0)
        refuse(table, "n", counts == 0, "an empty group", "leave it out: its index is not defined")
        return dict(zip(labels, counts.tolist(), strict=True))

    @contextmanager
    def named(self) -> Iterator[None]:
        """Errors of the library in terms of this file and of the command's options."""
        try:
            yield
        except InputError as error:
            way_out = error.way_out
            for phrase, flagged in _FLAGS.items():
                way_out = way_out.replace(phrase, flagged)
            raise InputError(error.what, self._where(error.where), way_out) from None

    def _where(self, where: str) -> str:
        """File and line for a row, an option for a parameter, the file for the rest."""
        row = _ROW.fullmatch(where)
        if row is not None:
            name = self.column if row[1] == "incomes" else self.group
            assert name is not None  # without labels, no row of labels
            return self.table.where(name, int(row[2]) - 1)
        if where in _OPTIONS:
            return _OPTIONS[where]
        if where.startswith("group '"):
            return f"{self.table.source}, {where}"
        if where in ("data", "domain, n"):
            return self.table.source
        if where == "incomes":
            return self.table.where(self.column)
        return where
