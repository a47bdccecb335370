"""Tables as files: LaTeX for papers (booktabs), CSV with raw values, Markdown for pages."""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Iterable
from pathlib import Path

from pgsr.bench.analysis.tabledata import Cell, TableData, shown
from pgsr.bench.pages import head, line, write_text

_LATEX = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    "∞": r"$\infty$",
    "±": r"$\pm$",
    "×": r"$\times$",
    "ε": r"$\varepsilon$",
    "ρ": r"$\rho$",
    "≤": r"$\le$",
    "≥": r"$\ge$",
}
_POWER = re.compile(r"(-?[\d.]+)e([+-]\d+)")
_NUMBER = re.compile(r"-(?=[\d.∞])")


def latex_text(text: str) -> str:
    """Text with everything that LaTeX reads as a command escaped."""
    return "".join(_LATEX.get(letter, letter) for letter in text)


def latex_number(text: str) -> str:
    """A shown number: a minus instead of a hyphen, a power of ten instead of an e."""
    if power := _POWER.fullmatch(text):
        return rf"${power[1]} \times 10^{{{int(power[2])}}}$"
    return latex_text(_NUMBER.sub("−", text)).replace("−", "$-$").replace(",", "{,}")


def latex(table: TableData, *, label: str | None = None) -> str:
    r"""The table as a LaTeX `table` with booktabs rules; the notes stand below it.

    `label`: of `\label`, without it `tab:` and the name of the table. The preamble needs
    `\usepackage{booktabs}` and T1 fonts.
    """
    columns = table.columns
    lines = [
        r"\begin{table}",
        r"\centering",
        rf"\caption{{{latex_text(table.title)}. {latex_text(table.caption)}}}",
        rf"\label{{{label or 'tab:' + re.sub(r'[^A-Za-z0-9:-]+', '-', table.name)}}}",
        rf"\begin{{tabular}}{{{''.join('l' if c.align == 'left' else 'r' for c in columns)}}}",
        r"\toprule",
        " & ".join(latex_text(column.heading) for column in columns) + r" \\",
        r"\midrule",
    ]
    for row in table.shown():
        cells = [
            latex_text(cell) if column.align == "left" else latex_number(cell)
            for column, cell in zip(columns, row, strict=True)
        ]
        # In square brackets after a line break LaTeX looks for a length.
        first = "{}" if cells[0].startswith("[") else ""
        lines.append(first + " & ".join(cells) + r" \\")
    lines += [r"\bottomrule", r"\end{tabular}"]
    lines += [rf"\par\smallskip\footnotesize {latex_text(note)}" for note in table.notes]
    return "\n".join([*lines, r"\end{table}", ""])


def markdown(table: TableData, *, heading: int | None = None) -> str:
    """The table for a Markdown page: caption, table, notes; with a heading of that depth if one is asked."""
    lines = [f"{'#' * heading} {table.title}", ""] if heading else []
    lines += [table.caption, "", *head([_pipe(column.heading) for column in table.columns])]
    lines += [line([_pipe(cell) for cell in row]) for row in table.shown()]
    lines += [f"\n{note}" for note in table.notes]
    return "\n".join(lines) + "\n"


def _pipe(text: str) -> str:
    return text.replace("|", "\\|")


def csv_text(table: TableData) -> str:
    """The table as CSV: a head of column names, raw values in full digits, nothing where there is none."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([column.name for column in table.columns])
    writer.writerows([[_raw(cell) for cell in row] for row in table.rows])
    return out.getvalue()


def _raw(cell: Cell) -> str:
    if cell is None or (isinstance(cell, float) and math.isnan(cell)):
        return ""
    if isinstance(cell, bool):
        return str(cell).lower()
    return (
        repr(cell) if isinstance(cell, float) else shown(cell, "text") if isinstance(cell, str) else str(cell)
    )


def write_tables(tables: Iterable[TableData], folder: Path) -> list[Path]:
    """Write `NAME.csv` and `NAME.tex` of each table to the folder, which is made; the paths."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for table in tables:
        for ending, text in (("csv", csv_text(table)), ("tex", latex(table))):
            path = folder / f"{table.name}.{ending}"
            write_text(path, text)
            paths.append(path)
    return paths
