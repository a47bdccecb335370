"""`pgsr report`: a page, and pictures and tables for papers, from the results of a suite."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pgsr.cli.options import Json, new_place
from pgsr.cli.output import emit, line

PAGE = "report.html"


def report(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="Folder with results of 'pgsr bench'.", show_default=False)
    ],
    out: Annotated[Path | None, typer.Option(help="The page to write.", show_default=f"DIR/{PAGE}")] = None,
    figures: Annotated[
        bool,
        typer.Option(
            "--figures",
            help="Write charts (SVG, PNG) to figures/ and tables (CSV, LaTeX) to tables/, too.",
        ),
    ] = False,
    as_json: Json = False,
) -> None:
    """Write a report of benchmark results: one HTML file that loads nothing from the network."""
    from pgsr.bench.results import read_results

    rows = read_results(folder)
    home = folder if folder.is_dir() else folder.parent
    page = new_place(home / PAGE if out is None else out, "page", endings=(".html",))

    from pgsr.bench.best_known import all_known
    from pgsr.report.bench import bench_report, summary, write_files

    best = all_known()
    made = bench_report(
        rows,
        known={name: value.objective for name, value in best.items()},
        proven=[name for name, value in best.items() if value.proven],
    )
    made.page.write(page)
    files = write_files(made, page.parent) if figures else []
    if as_json:
        emit({"report": page, **summary(made, rows, files)})
        return
    line(f"{page}: {len(rows):,} runs, {len(made.charts)} charts, {made.shown} tables")
    for kind in sorted({path.parent for path in files}):
        line(f"{kind}: {sum(path.parent == kind for path in files)} files")
