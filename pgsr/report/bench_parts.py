"""The parts of the benchmark report: each makes its tables and charts, or nothing where there are no data."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from pgsr.bench.analysis.accuracy import accuracy_curves, inequality_table
from pgsr.bench.analysis.noises import bias_table, coverage_table, noise_table
from pgsr.bench.analysis.profiles import gap_profile, time_profile
from pgsr.bench.analysis.relaxed import relaxed_table
from pgsr.bench.analysis.scaling import scaling_fits, scaling_points
from pgsr.bench.analysis.solvers import solver_table
from pgsr.bench.analysis.tabledata import TableData
from pgsr.bench.pages import Row
from pgsr.report.bench_blocks import chart_blocks, note_blocks, table_blocks
from pgsr.report.bench_findings import headlines
from pgsr.report.bench_runs import facts, made_elsewhere, outcome_table, runs_table
from pgsr.report.charts import Chart
from pgsr.report.charts_accuracy import accuracy_charts
from pgsr.report.charts_bench import (
    gap_profile_chart,
    relaxed_chart,
    scaling_chart,
    time_profile_chart,
)
from pgsr.report.charts_families import area_charts, inequality_chart
from pgsr.report.page import Block, ListBlock

Rows: TypeAlias = Sequence[Row]


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """Best-known objectives by fingerprint, and which of them are proven."""

    objectives: Mapping[str, float] = field(default_factory=dict)
    proven: Collection[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A section of the report, with the charts and tables in it; without blocks it does not appear."""

    title: str
    blocks: Sequence[Block] = ()
    charts: Sequence[Chart] = ()
    tables: Sequence[TableData] = ()


def _findings(rows: Rows, known: Known) -> Part:
    found = headlines(rows, known.objectives, known.proven)
    return Part(title="What was found", blocks=[ListBlock(items=found)] if found else [])


def _what_was_run(rows: Rows, _: Known) -> Part:
    table = outcome_table(rows)
    return Part(title="What was run", blocks=[facts(rows), *table_blocks(table)], tables=[table])


def _exact_or_relaxed(rows: Rows, _: Known) -> Part:
    if not any(row["family"] == "groupsizes" and row["kind"] != "exact" for row in rows):
        return Part(title="Exact against relaxed")
    table = relaxed_table(rows)
    detail = relaxed_table(rows, by_instance=True)
    tables = [table, detail] if len(detail.rows) > len(table.rows) else [table]
    return _part("Exact against relaxed", [relaxed_chart(detail)], tables)


def _solvers(rows: Rows, known: Known) -> Part:
    own = [row for row in rows if row["family"] == "groupsizes"]
    table = solver_table(own, known=known.objectives, proven=known.proven)
    times, gaps = time_profile(own, known=known.objectives), gap_profile(own, known=known.objectives)
    points, fits = scaling_points(own), scaling_fits(own)
    charts = [time_profile_chart(times), gap_profile_chart(gaps), scaling_chart(points, fits)]
    notes = [f"Performance profile of time: {note}" for note in times.notes if note not in table.notes]
    part = _part("Solvers", charts, [table, fits], notes=notes if times else ())
    kept = [data for data in (times, gaps, points) if data]
    return replace(part, tables=[*part.tables, *kept])


def _accuracy(rows: Rows, _: Known) -> Part:
    own = [row for row in rows if row["family"] == "groupsizes"]
    curves = [("L1", accuracy_curves(own, "l1")), ("EMD", accuracy_curves(own, "emd"))]
    charts = accuracy_charts([(name, table) for name, table in curves if table])
    noises = [noise_table(own, "l1"), noise_table(own, "emd")]
    notes = list(dict.fromkeys(note for _, table in curves for note in table.notes)) if charts else []
    part = _part("Accuracy", charts, [*noises, bias_table(own)], notes=notes)
    return replace(part, tables=[*(table for _, table in curves if table), *part.tables])


def _inequality(rows: Rows, _: Known) -> Part:
    own = [row for row in rows if row["family"] == "inequality"]
    return _part(
        "Inequality indices", [inequality_chart(accuracy_curves(own, "error"))], [inequality_table(own)]
    )


def _areas(rows: Rows, _: Known) -> Part:
    table = coverage_table(rows)
    return _part("Small area estimates", area_charts(table), [table])


def _all_runs(rows: Rows, _: Known) -> Part:
    table = runs_table(rows)
    return Part(title=ALL_RUNS, blocks=table_blocks(table, tall=True, heading=False), tables=[table])


def _how_to_read(rows: Rows, _: Known) -> Part:
    items = [_RUNS_AND_ADDED if any(map(made_elsewhere, rows)) else _RUNS, _JUDGED, _PAIRED]
    sizes = [row for row in rows if row["family"] == "groupsizes"]
    if sizes:
        items += [_KINDS, _MODELS]
    if any(row.get("noise") == "laplace" for row in sizes):
        items.append(_LAPLACE)
    if any(row.get("noise") == "gaussian" for row in sizes):
        items.append(_GAUSSIAN)
    return Part(title="How to read this", blocks=[ListBlock(items=items)])


_RUNS = (
    "Every run was a fresh process. Building the problem, starting the solver and compiling are outside "
    "the time that is shown."
)
_RUNS_AND_ADDED = (
    "Runs of a suite were fresh processes: building the problem, starting the solver and compiling are "
    "outside the time that is shown. Answers that were made elsewhere were judged here in the same way, but "
    "their times, where there are any, are as stated by their makers."
)
_JUDGED = (
    "Objectives, broken conditions and proofs of optimality were recomputed from the problem: no solver "
    "is taken at its word."
)
_PAIRED = (
    "Methods are compared on the same noisy data: the same instance, budget, noise and seed. Intervals "
    "are over the seeds, that is over repetitions of the noise."
)
_KINDS = (
    "Exact: a solver of the integer problem. Relaxed: the optimum in real numbers. Rounded: the relaxed "
    "one with every entry rounded on its own. Heuristic: whole numbers without a promise of optimality; "
    "whether they keep the conditions is counted. Noisy: the measured counts as they are."
)
_MODELS = (
    "Model hierarchical: noisy counts by size (Model 1). Model cumulative: noisy cumulative counts (Model 2)."
)
_LAPLACE = (
    "Laplace noise here is real-valued noise, rounded: an experiment for comparison alone. Its "
    "floating-point draws protect nobody, and no release uses it."
)


_DETAILS = ("relaxed_by_instance", "noises_emd")
"""Tables that follow one with the same columns, which says what they mean."""


def _part(
    title: str, charts: Sequence[Chart | None], tables: Sequence[TableData], *, notes: Sequence[str] = ()
) -> Part:
    """Charts with `notes` on them, then tables; those without data are left out."""
    drawn = [chart for chart in charts if chart is not None]
    kept = [table for table in tables if table]
    blocks: list[Block] = [block for chart in drawn for block in chart_blocks(chart)]
    blocks += note_blocks(notes)
    for table in kept:
        blocks += table_blocks(table, tall=len(table.rows) > 40, brief=table.name in _DETAILS)
    return Part(title=title, blocks=blocks, charts=drawn, tables=kept)


_GAUSSIAN = (
    "Gaussian noise promises ρ = ε²/2 in zero-concentrated privacy (zCDP). Pure ε implies that, but not the "
    "other way round: at the same ε it promises less."
)

ALL_RUNS = "All runs"

PARTS: tuple[Callable[[Rows, Known], Part], ...] = (
    _findings,
    _what_was_run,
    _exact_or_relaxed,
    _solvers,
    _accuracy,
    _inequality,
    _areas,
    _all_runs,
    _how_to_read,
)
