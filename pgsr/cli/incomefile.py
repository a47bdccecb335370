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

from pgsr.config.reals import real_numbers, refuse_cells
from pgsr.errors import InputError
from pgsr.tables import Table, read_table

if TYPE_CHECKING:
    from pgsr.inequality.domain import Domain
    from pgsr.inequality.incomes import Incomes

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
        """The incomes; see `real_numbers`. Raises InputError for a negative one."""
        values = real_numbers(self.table, self.column)
        way_out = "set it to 0 or leave it out, by a rule that you state"
        refuse_cells(self.table, self.column, values < 0, "a negative income", way_out)
        return values

    def inside(self, shift: float, domain: Domain, *, clip: bool) -> NDArray[np.float64]:
        """The incomes after the shift, moved into the domain if `clip`; else InputError for one outside."""
        if shift < 0:
            raise InputError("the shift is negative", "shift", "give 0 or more")
        x = self.values() + shift
        if not clip:
            outside = (x < domain.lower) | (x > domain.upper)
            way_out = "choose other bounds without looking at the data, or accept clipping"
            refuse_cells(self.table, self.column, outside, "an income outside the bounds", way_out)
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
        refuse_cells(table, self.group, twice, "a label twice", "give every group one row")
        counts = table.integers("n", minimum=0)
        refuse_cells(table, "n", counts == 0, "an empty group", "leave it out: its index is not defined")
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
