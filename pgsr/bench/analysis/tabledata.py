"""One table as data: what the report, LaTeX, CSV, Markdown and the terminal are all written from."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

from pgsr.errors import InputError, one_line

Cell: TypeAlias = str | int | float | bool | None
"""None: does not apply, or is not known."""

Form = Literal["text", "whole", "real", "share", "ratio", "p", "yes"]
"""How cells are shown: as they are; grouped digits; three digits; a share of 1 as percent; a factor; a p
value; yes or no."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableColumn:
    """A column: its `name` in files, the `title` above it, the unit of its numbers, how cells are shown."""

    name: str
    title: str
    form: Form = "real"
    unit: str = ""
    about: str = ""
    """One sentence on what the column holds, for a tooltip or a legend."""

    @property
    def align(self) -> Literal["left", "right"]:
        """Text stands on the left, all else on the right."""
        return "left" if self.form in ("text", "yes") else "right"

    @property
    def heading(self) -> str:
        """The title with its unit."""
        return f"{self.title} ({self.unit})" if self.unit else self.title


@dataclass(frozen=True, slots=True, kw_only=True)
class TableData:
    """A table: `name` for files and anchors, a title, a caption in plain language, columns, rows, notes.

    `notes` say what was left out, one sentence each: no table is to be shown without them.
    Raises InputError for rows of another length than the columns, and for two columns of one name.
    """

    name: str
    title: str
    caption: str
    columns: tuple[TableColumn, ...]
    rows: tuple[tuple[Cell, ...], ...]
    notes: tuple[str, ...] = field(default=())

    def __post_init__(self) -> None:
        names = [column.name for column in self.columns]
        if len(set(names)) < len(names):
            raise InputError("two columns have the same name", f"table '{self.name}'", "rename one")
        for at, row in enumerate(self.rows, 1):
            if len(row) != len(self.columns):
                raise InputError(
                    f"{len(row)} cells for {len(self.columns)} columns",
                    f"table '{self.name}', row {at}",
                    "give each row one cell a column",
                )

    def __bool__(self) -> bool:
        """Whether there are any rows."""
        return bool(self.rows)

    def column(self, name: str) -> list[Cell]:
        """The cells of the column `name`, raw. InputError if there is none."""
        for place, column in enumerate(self.columns):
            if column.name == name:
                return [row[place] for row in self.rows]
        known = ", ".join(column.name for column in self.columns)
        raise InputError(f"no column '{name}'", f"table '{self.name}'", f"there are {known}")

    def only(self, *names: str) -> TableData:
        """The same table with these columns alone, in this order. InputError if there is none of a name."""
        cells = [self.column(name) for name in names]
        columns = {column.name: column for column in self.columns}
        return replace(
            self,
            columns=tuple(columns[name] for name in names),
            rows=tuple(zip(*cells, strict=True)),
        )

    def records(self) -> list[dict[str, Cell]]:
        """The rows by column name, raw."""
        names = [column.name for column in self.columns]
        return [dict(zip(names, row, strict=True)) for row in self.rows]

    def shown(self) -> list[list[str]]:
        """The rows as people read them."""
        return [[shown(cell, c.form) for c, cell in zip(self.columns, row, strict=True)] for row in self.rows]

    def to_dict(self) -> dict[str, Any]:
        """The table as plain data, for JSON."""
        return {
            "name": self.name,
            "title": self.title,
            "caption": self.caption,
            "columns": [
                {"name": c.name, "title": c.title, "unit": c.unit, "form": c.form} for c in self.columns
            ],
            "rows": self.records(),
            "notes": list(self.notes),
        }


def make_table(
    name: str,
    title: str,
    caption: str,
    columns: Sequence[TableColumn],
    rows: Iterable[Mapping[str, Cell] | Sequence[Cell]],
    notes: Iterable[str] = (),
) -> TableData:
    """A table of rows by place, or by column name (a name without a cell is None; others are an error)."""
    names = [column.name for column in columns]
    whole: list[tuple[Cell, ...]] = []
    for row in rows:
        if isinstance(row, Mapping):
            if unknown := sorted(set(row) - set(names)):
                raise InputError(f"no column '{unknown[0]}'", f"table '{name}'", f"there are {names}")
            whole.append(tuple(row.get(column) for column in names))
        else:
            whole.append(tuple(row))
    return TableData(
        name=name,
        title=title,
        caption=caption,
        columns=tuple(columns),
        rows=tuple(whole),
        notes=tuple(dict.fromkeys(notes)),
    )


def shown(cell: Cell, form: Form = "real") -> str:
    """One cell for people; None and NaN are empty."""
    if cell is None or (isinstance(cell, float) and math.isnan(cell)):
        return ""
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    if isinstance(cell, str):
        return cell if cell.isprintable() else one_line(cell)
    if isinstance(cell, float) and math.isinf(cell):
        return "∞" if cell > 0 else "-∞"
    match form:
        case "share":
            return _percent(cell)
        case "p":
            return "< 0.001" if cell < 0.001 else f"{cell:.3f}"
        case "ratio":
            return f"{cell:.3f}" if 0.0995 <= abs(cell) < 99.95 else _digits(cell)
        case "whole":
            return f"{cell:,.0f}" if isinstance(cell, float) else f"{cell:,}"
        case _:
            return _digits(cell)


def _digits(value: float) -> str:
    """Whole numbers in full up to a million millions, others to three digits, never fewer than the point."""
    size = abs(value)
    if value == 0:
        return "0"
    if size >= 1e12 or size < 1e-4:
        return f"{value:.3g}"
    if isinstance(value, int) or size >= 999.5:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def _percent(share: float) -> str:
    """In percent: 0 and 100 only where it is so exactly."""
    percent = share * 100
    for digits in (1, 2, 3):
        text = f"{percent:.{digits}f}"
        if float(text) not in (0.0, 100.0):
            return f"{text} %"
    return "< 0.001 %" if 0 < percent < 50 else ("> 99.999 %" if 50 < percent < 100 else f"{percent:.3g} %")
