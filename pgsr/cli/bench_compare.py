"""`pgsr bench compare`: two results, or two methods of one result, by paired tests over the seeds."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pgsr.cli.options import Json, new_place
from pgsr.cli.output import emit, heading, line, paragraph, table

if TYPE_CHECKING:
    from pgsr.bench.analysis.tabledata import Cell, TableData

    Record = dict[str, Cell]


def compare(
    a: Annotated[Path, typer.Argument(help="Results: a folder or a Parquet file.", show_default=False)],
    b: Annotated[Path | None, typer.Argument(help="The results to compare with.", show_default=False)] = None,
    methods: Annotated[
        tuple[str, str] | None,
        typer.Option(
            help="Two methods of A, instead of a second result.", metavar="FIRST SECOND", show_default=False
        ),
    ] = None,
    measure: Annotated[
        list[str] | None,
        typer.Option(
            help="solve_s, peak_gb, objective, broken_sums, l1, emd or error; may be repeated.",
            metavar="NAME",
            show_default=False,
        ),
    ] = None,
    latex: Annotated[
        Path | None, typer.Option(help="Write the table for a paper (.tex).", show_default=False)
    ] = None,
    csv: Annotated[
        Path | None, typer.Option(help="Write the whole table (.csv).", show_default=False)
    ] = None,
    as_json: Json = False,
) -> None:
    """Compare two results run by run, or two methods of one: who is better, by how much, is it chance?"""
    from pgsr.bench.analysis.compare import compare_methods, compare_results, for_paper
    from pgsr.bench.analysis.writers import csv_text
    from pgsr.bench.analysis.writers import latex as latex_text
    from pgsr.bench.pages import write_text
    from pgsr.bench.results import read_results
    from pgsr.errors import InputError

    if (b is None) == (methods is None):
        raise InputError(
            "what to compare with is not stated in one way",
            "pgsr bench compare",
            "give a second result, or --methods FIRST SECOND",
        )
    for path, ending in ((latex, ".tex"), (csv, ".csv")):
        if path is not None:
            new_place(path, "table", endings=(ending,))
    rows = read_results(a)
    if b is None:
        assert methods is not None
        found = compare_methods(rows, methods, measures=measure)
    else:
        found = compare_results(rows, read_results(b), names=(str(a), str(b)), measures=measure)
    if latex is not None:
        write_text(latex, latex_text(for_paper(found)))
    if csv is not None:
        write_text(csv, csv_text(found))
    if as_json:
        emit(found.to_dict())
        return
    _show(found)
    for path in (latex, csv):
        if path is not None:
            line(f"written: {path}")


def _show(found: TableData) -> None:
    """Narrow tables, one a measure and setting; the whole is in the files and in the JSON."""
    from pgsr.bench.analysis.compare import ALL, MEASURES

    heading(found.title)
    paragraph(found.caption)
    titles = {measure.name: measure.title for measure in MEASURES}
    records = found.records()
    for name in dict.fromkeys(str(record["measure"]) for record in records):
        own = [record for record in records if record["measure"] == name]
        line()
        heading(titles[name])
        single = [record for record in own if record["instance"] != ALL]
        if _all_equal(single):
            continue
        settings: dict[str, list[Record]] = {}
        for record in own:
            settings.setdefault(_setting(record), []).append(record)
        for setting, lines in settings.items():
            line(setting)
            if not _all_equal(lines):
                _lines(lines)
    line()
    for note in found.notes:
        paragraph(note)


def _setting(record: Record) -> str:
    """What all lines of a small table have in common."""
    from pgsr.bench.analysis.compare import ALL

    if record["instance"] == ALL:
        return "all settings, each counted alike"
    budget = record.get("budget")
    parts = (record["instance"], record["model"], record.get("noise"), budget and f"budget {budget:g}")
    return ", ".join(str(part) for part in parts if part)


def _all_equal(records: list[Record]) -> bool:
    """Whether no pair differs; then this is said, and there is nothing else to show."""
    if any(record["ties"] != record["pairs"] or not record["pairs"] for record in records):
        return False
    line(f"equal in all {sum(int(record['pairs'] or 0) for record in records):,} pairs")
    _alone(records)
    return True


def _alone(records: list[Record]) -> None:
    """Say where one side alone has a value."""
    for side in "AB":
        found: Counter[str] = Counter()
        for record in records:
            found[str(record.get("method") or "")] += int(record[f"only_{side.lower()}"] or 0)
        named = ", ".join(f"{method} {number}".strip() for method, number in found.items() if number)
        if named:
            line(f"problems on which only {side} has a value: {named}")


def _lines(records: list[Record]) -> None:
    """The lines of one setting; columns in which there is nothing are left out."""
    from pgsr.bench.analysis.tabledata import shown

    whole = all(record["p_wilcoxon"] is None for record in records)
    p_value = ("p sign flips", "p_signs") if whole else ("p Holm", "p_holm")
    columns: list[tuple[str, list[Any]]] = [
        ("method", [record.get("method") for record in records]),
        ("pairs", [record["pairs"] for record in records]),
        ("A", [shown(record["mean_a"]) for record in records]),
        ("B", [shown(record["mean_b"]) for record in records]),
        ("B / A", [shown(record["ratio"]) for record in records]),
        ("95 %", [_interval(shown(record["lower"]), shown(record["upper"])) for record in records]),
        (p_value[0], [shown(record[p_value[1]], "p") for record in records]),
    ]
    kept = [(name, cells) for name, cells in columns if any(cell not in (None, "") for cell in cells)]
    table([name for name, _ in kept], list(zip(*(cells for _, cells in kept), strict=True)))
    _alone(records)


def _interval(lower: str, upper: str) -> str:
    return f"{lower}\N{EN DASH}{upper}" if lower and upper else ""
