"""Performance profiles: the share of problems that a method solves within a factor of the fastest one.

Dolan and More, Benchmarking optimization software with performance profiles, Mathematical Programming 91,
2002.
"""

from __future__ import annotations

from collections.abc import Mapping

from pgsr.bench.analysis.rowsets import (
    Known,
    Panel,
    Rows,
    best_objectives,
    columns_of,
    count,
    excess,
    feasible,
    grouped,
    panel,
)
from pgsr.bench.analysis.solvers import FLOOR_S, solve_time, solver_rows
from pgsr.bench.analysis.tabledata import Cell, TableColumn, TableData, make_table

_WHICH = (
    TableColumn(name="model", title="model", form="text"),
    TableColumn(name="kind", title="problem", form="text"),
    TableColumn(name="method", title="method", form="text"),
)
_SHARE = TableColumn(name="share", title="share of problems", form="share")
_PROBLEMS = TableColumn(name="problems", title="problems", form="whole")


def time_profile(rows: Rows, *, known: Known | None = None) -> TableData:
    """Steps of the performance profiles: at factor `tau` the share jumps to `share` and stays to the next.

    One group a model and kind (exact, relaxed). For each problem that any solver solved, a solver's factor
    is its time over that of the fastest; what it did not solve is never reached. Each line starts at tau = 1
    and ends at the largest factor of its group. Only problems that all solvers were given; notes say what
    was left out.
    """
    found = solver_rows(rows)
    best = best_objectives(found, known)
    lines: list[dict[str, Cell]] = []
    notes: list[str] = []
    for (model, kind), group in grouped(found, columns_of("model", "kind")).items():
        fair = panel(group)
        notes += [f"{model}, {kind}: {note}" for note in fair.notes]
        factors: dict[str, list[float]] = {method: [] for method in fair.methods}
        solved = 0
        for runs in fair.runs.values():
            times = {m: took for m, row in runs.items() if (took := solve_time(row, best)) is not None}
            solved += bool(times)
            for method, took in times.items():
                factors[method].append(took / min(times.values()))
        if unsolved := len(fair.runs) - solved:
            notes.append(f"{model}, {kind}: {count(unsolved, 'problem')} left out, which nobody solved.")
        lines += [
            {"model": model, "kind": kind} | step for step in _steps(factors, solved, start=1.0, name="tau")
        ]
    return make_table(
        "profile_time",
        "Performance profile: time",
        "How often a solver is within a factor of the fastest one. At factor 1 the line shows the share of "
        "problems on which it was the fastest; far to the right, the share that it solves at all within the "
        f"limits. Times below {FLOOR_S * 1000:g} ms count as {FLOOR_S * 1000:g} ms.",
        [*_WHICH, TableColumn(name="tau", title="times the fastest", form="ratio"), _SHARE, _PROBLEMS],
        lines,
        notes,
    )


def gap_profile(rows: Rows, *, known: Known | None = None) -> TableData:
    """Steps of the share of problems whose answer is within a relative gap of the best-known objective.

    Exact solvers, heuristics and rounded relaxations of the integer problem, by model. A run that left no
    table that keeps all conditions never gets there, however it ended.
    """
    found = [
        row
        for row in rows
        if row["family"] == "groupsizes" and row["kind"] in ("exact", "heuristic", "rounded")
    ]
    best = best_objectives(found, known)
    lines: list[dict[str, Cell]] = []
    notes: list[str] = []
    for (model,), group in grouped(found, columns_of("model")).items():
        fair = panel(group)
        notes += [f"{model}: {note}" for note in fair.notes]
        gaps, judged = _gaps(fair, best)
        if missing := len(fair.runs) - judged:
            notes.append(f"{model}: {count(missing, 'problem')} left out, with no answer by anyone.")
        lines += [
            {"model": model, "kind": "integer"} | step for step in _steps(gaps, judged, start=0.0, name="gap")
        ]
    return make_table(
        "profile_gap",
        "Performance profile: quality",
        "The share of problems on which a method's answer is within a relative distance of the best-known "
        "objective. At 0 it is the share of best answers. A table that breaks a condition does not count, "
        "however small its objective.",
        [*_WHICH, TableColumn(name="gap", title="relative gap", form="real"), _SHARE, _PROBLEMS],
        lines,
        notes,
    )


def _gaps(fair: Panel, best: Mapping[object, float]) -> tuple[dict[str, list[float]], int]:
    gaps: dict[str, list[float]] = {method: [] for method in fair.methods}
    judged = 0
    for runs in fair.runs.values():
        over = {m: gap for m, row in runs.items() if feasible(row) and (gap := excess(row, best)) is not None}
        judged += bool(over)
        for method, gap in over.items():
            gaps[method].append(max(gap, 0.0))
    return gaps, judged


def _steps(
    values: Mapping[str, list[float]], problems: int, *, start: float, name: str
) -> list[dict[str, Cell]]:
    """The distribution functions as steps, of `problems` that there are."""
    if not problems:
        return []
    last = max((value for own in values.values() for value in own), default=start)
    lines: list[dict[str, Cell]] = []
    for method, own in values.items():
        points = sorted({start, last, *own})
        for point in points:
            share = sum(value <= point for value in own) / problems
            lines.append({"method": method, name: point, "share": share, "problems": problems})
    return lines
