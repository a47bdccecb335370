"""Tables and charts of the benchmark report as blocks of a page."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from pgsr.bench.analysis.tabledata import Cell as Value
from pgsr.bench.analysis.tabledata import TableData
from pgsr.report.charts import Chart, svg
from pgsr.report.page import Block, Cell, HeadingBlock, ListBlock, PictureBlock, TableBlock, TextBlock


@dataclass(frozen=True, slots=True, kw_only=True)
class DataBlock(TableBlock):
    """A table that is shown as its data say: each column in its own form, sorted by the raw values."""

    table: TableData = field(repr=False)

    @property
    def cells(self) -> list[list[Cell]]:
        """The rows as they are shown."""
        numbers = self.numeric
        return [
            [
                Cell(_unbroken(text), _sort(value), number and bool(text))
                for value, text, number in zip(raw, shown, numbers, strict=True)
            ]
            for raw, shown in zip(self.table.rows, self.table.shown(), strict=True)
        ]

    @property
    def numeric(self) -> list[bool]:
        """Of each column, whether it stands at the right."""
        return [column.align == "right" for column in self.table.columns]


def _unbroken(text: str) -> str:
    """Percent signs stay with their numbers."""
    return text.replace(" %", "\u00a0%")


def _sort(value: Value) -> str:
    """What a cell is sorted by, where that is not its text; empty ones come last."""
    if value is None or isinstance(value, (str, bool)) or math.isnan(value):
        return ""
    return "1e999" if value == math.inf else repr(value)


def table_blocks(
    table: TableData, *, tall: bool = False, heading: bool = True, brief: bool = False
) -> list[Block]:
    """Heading, caption, the table (sortable), what its columns mean, and what was left out of it.

    Columns that say nothing are not shown. `brief`: without caption and meanings, which stand elsewhere.
    """
    table, same = _lean(table)
    blocks: list[Block] = [HeadingBlock(text=table.title)] if heading else []
    if not brief:
        blocks.append(TextBlock(text=_unbroken(table.caption)))
    if same:
        blocks.append(TextBlock(text=f"In all rows: {same}."))
    meant = [f"{column.heading}: {column.about}" for column in table.columns if column.about]
    meaning = [TextBlock(text=_unbroken("; ".join(meant) + "."))] if meant and not brief else []
    if tall:
        blocks += meaning
    blocks.append(
        DataBlock(
            table=table,
            columns=[_unbroken(column.heading) for column in table.columns],
            rows=table.rows,
            sortable=True,
            tall=tall,
        )
    )
    if not tall:
        blocks += meaning
    return blocks if brief else [*blocks, *note_blocks(table.notes)]


_CONSTANT = ("model", "kind", "noise", "budget_kind")
"""Columns that are said once where all rows have the same value."""


def _lean(table: TableData) -> tuple[TableData, str]:
    """The table without columns that say nothing, and what their one value was.

    Columns without any value go, that of a single family, and those of `_CONSTANT` with a single value.
    """
    kept, same = [], []
    for at, column in enumerate(table.columns):
        values = {row[at] for row in table.rows}
        alone = len(values) == 1 and len(table.rows) > 1
        if values <= {None} or (alone and column.name == "family"):
            continue
        if alone and column.name in _CONSTANT:
            same.append(f"{column.heading} {next(iter(values))}")
        else:
            kept.append(at)
    lean = replace(
        table,
        columns=tuple(table.columns[at] for at in kept),
        rows=tuple(tuple(row[at] for at in kept) for row in table.rows),
    )
    return lean, ", ".join(same)


def note_blocks(notes: Sequence[str]) -> list[Block]:
    """What was left out, one sentence each."""
    if not notes:
        return []
    if len(notes) == 1:
        return [TextBlock(text=f"Note: {notes[0]}")]
    return [ListBlock(caption="Notes", items=notes)]


def chart_blocks(chart: Chart) -> list[Block]:
    """Heading and chart: a still picture, which the script of the page puts a live one beside.

    The still one is what is printed, and what there is without scripts.
    """
    both = f'<div class="chart" data-chart="{chart.name}"><div class="still">{svg(chart)}</div></div>'
    picture = PictureBlock(
        svg=both, alt=chart.alt, caption=_unbroken(chart.caption), name=f"figure-{chart.name}"
    )
    return [HeadingBlock(text=chart.title), picture]
