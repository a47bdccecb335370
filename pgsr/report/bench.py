"""The report of benchmark results: one HTML page that loads nothing, with its charts and tables as files.

report = bench_report(read_results(folder))
report.page.write(folder / "report.html")
write_files(report, folder)
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from pgsr.bench.analysis.tabledata import TableData
from pgsr.bench.pages import Row
from pgsr.errors import InputError
from pgsr.report.bench_blocks import DataBlock
from pgsr.report.bench_parts import ALL_RUNS, PARTS, Known, Part
from pgsr.report.bench_runs import about_results, subtitle
from pgsr.report.charts import Chart, save_charts, script, specifications
from pgsr.report.page import Page, Section

MOST_PRINTED = 300
"""Runs that are printed; the page always shows them."""
FIGURES, TABLES = "figures", "tables"

_FOOTER = (
    "Everything on this page is in it: nothing is loaded from the network. Charts by Vega, Vega-Lite and "
    "Vega-Embed, copyright University of Washington Interactive Data Lab and contributors, BSD-3-Clause "
    "licence."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchReport:
    """A report: the page, and the charts and tables on it."""

    page: Page
    charts: Sequence[Chart] = field(repr=False)
    tables: Sequence[TableData] = field(repr=False)

    @property
    def sections(self) -> list[str]:
        """The headings of the page."""
        return [section.title for section in self.page.sections]

    @property
    def shown(self) -> int:
        """How many tables the page shows; `tables` has the data of charts as well."""
        return sum(isinstance(b, DataBlock) for section in self.page.sections for b in section.blocks)


def bench_report(
    rows: Sequence[Row], *, known: Mapping[str, float] | None = None, proven: Collection[str] = ()
) -> BenchReport:
    """The report of the rows of a results file (`pgsr.bench.results`); sections without data are left out.

    `known`: best-known objectives by fingerprint; `proven`: fingerprints of those that are proven. Raises
    InputError for no rows at all.
    """
    rows = list(rows)
    if not rows:
        raise InputError("there are no runs", "report", "run 'pgsr bench SUITE --out DIR' first")
    values = Known(objectives=known or {}, proven=proven)
    parts: list[Part] = [part for make in PARTS if (part := make(rows, values)).blocks]
    charts = [chart for part in parts for chart in part.charts]
    page = Page(
        title=f"Benchmark report: {', '.join(dict.fromkeys(str(row['suite']) for row in rows))}",
        subtitle=subtitle(rows),
        lead=about_results(rows),
        sections=[Section(title=part.title, blocks=part.blocks) for part in parts],
        footer=[_FOOTER],
        scripts=[_script(), _text("bench.js")] if charts else [_text("bench.js")],
        data={"charts": specifications(charts)} if charts else {},
        style=_text("bench.css") + _printed(parts, len(rows)),
    )
    return BenchReport(page=page, charts=charts, tables=[table for part in parts for table in part.tables])


def write_files(report: BenchReport, folder: Path) -> list[Path]:
    """Write charts (SVG, PNG) to `figures` and tables (CSV, LaTeX) to `tables` in `folder`; the paths."""
    from pgsr.bench.analysis.writers import write_tables

    return [*save_charts(report.charts, folder / FIGURES), *write_tables(report.tables, folder / TABLES)]


def _printed(parts: Sequence[Part], runs: int) -> str:
    """Style of the table of all runs in print: across the page, or not at all where it is long."""
    at = 1 + [part.title for part in parts].index(ALL_RUNS)
    wide = f"#s{at} {{ page: runs; }} #s{at} table {{ font-size: 6.5pt; }}"
    if runs <= MOST_PRINTED:
        return f"@media print {{ {wide} }}\n"
    said = f"Not printed: {runs:,} lines. They are on the page, and with --figures in tables/runs.csv."
    hidden = f"#s{at} > :not(h2) {{ display: none; }} #s{at}::after {{ content: '{said}'; }}"
    return f"@media print {{ {hidden} }}\n"


@cache
def _script() -> str:
    return script(_text("charts.js"))


def _text(name: str) -> str:
    return (resources.files("pgsr.report") / "templates" / name).read_text(encoding="utf-8")


def summary(report: BenchReport, rows: Sequence[Row], paths: Sequence[Path]) -> dict[str, Any]:
    """What was written, as plain data."""
    return {
        "runs": len(rows),
        "sections": report.sections,
        "charts": [chart.name for chart in report.charts],
        "tables": [table.name for table in report.tables],
        "files": [str(path) for path in paths],
    }
