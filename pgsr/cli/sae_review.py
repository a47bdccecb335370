"""`pgsr sae review`: a page for the disclosure review of a release, before it is made or after."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from pgsr.cli.options import Json, new_place
from pgsr.cli.output import console, emit, heading, line, pairs, paragraph
from pgsr.errors import InputError, one_line


def review(
    what: Annotated[
        Path,
        typer.Argument(
            help="A configuration (.toml), or the folder of a release.",
            metavar="CONFIG|FOLDER",
            show_default=False,
        ),
    ],
    out: Annotated[Path, typer.Option(help="The page, FILE.html.", show_default=False)],
    config: Annotated[
        Path | None,
        typer.Option(
            help="With a folder: the configuration it should be of; adds costs by area.", show_default="none"
        ),
    ] = None,
    records: Annotated[
        int | None,
        typer.Option(help="Number N of records: epsilon at a delta below 1/N.", show_default="none"),
    ] = None,
    rho: Annotated[
        float | None,
        typer.Option(help="Show variance floors for this rho.", show_default="shares of the cost"),
    ] = None,
    counts: Annotated[
        str | None, typer.Option(help="Column of the numbers of records n.", show_default="none")
    ] = None,
    kish: Annotated[
        str | None,
        typer.Option(help="Column of sum w^2 / (sum w)^2; with --counts.", show_default="none"),
    ] = None,
    weights: Annotated[
        Path | None,
        typer.Option(help="File of survey weights, one row a record, for trimming.", show_default="none"),
    ] = None,
    weight: Annotated[str, typer.Option(help="Column of the weights in that file.")] = "weight",
    bias: Annotated[
        float | None,
        typer.Option(help="With --weights: the largest bias that trimming may cause.", show_default="none"),
    ] = None,
    lower: Annotated[float, typer.Option(help="Lower end of the outcome's public range.")] = 0.0,
    upper: Annotated[float, typer.Option(help="Upper end of the outcome's public range.")] = 1.0,
    all_areas: Annotated[
        bool, typer.Option("--all-areas", help="All areas in the tables of the page.")
    ] = False,
    as_json: Json = False,
) -> None:
    """A page for the disclosure review, before a release or of one. No direct estimate is read."""
    from pgsr.report.sae_page import ROWS, review_page
    from pgsr.report.sae_review import review_configuration, review_release
    from pgsr.report.sae_review_weights import ReviewOptions

    new_place(out, "page", endings=(".html", ".htm"))
    if out.exists():
        raise InputError("exists already", str(out), "give --out another name, or remove it")
    if weights is not None and bias is None:
        raise InputError("trimming needs a file and a bound", "--weights, --bias", "give both or none")
    if kish is not None and counts is None:
        raise InputError("equal weights need both columns", "--counts, --kish", "give both")
    if not lower < upper:
        raise InputError("the range of the outcome is empty", "--lower, --upper", "give a public range")
    if records is not None and records < 1:
        raise InputError("not a number of records", "--records", "give a whole number from 1 up")
    if config is not None and not what.is_dir():
        raise InputError("only a release has a configuration beside it", "--config", "leave it out")
    options = ReviewOptions(
        records=records,
        target=rho,
        counts=counts,
        kish=kish,
        weights=weights,
        weight=weight,
        bias=bias,
        lower=lower,
        upper=upper,
    )
    created = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    if what.is_dir():
        record = review_release(what, config, options, created)
    else:
        record = review_configuration(what, options, created)
    review_page(record, rows=None if all_areas else ROWS).write(out)
    record["out"] = out
    if as_json:
        emit(record)
    else:
        _show(record)


def _show(record: dict[str, Any]) -> None:
    """The gist of it for people."""
    from pgsr.privacy import as_fraction, show
    from pgsr.report.sae_words import NOT_DP, SEEDED, asked, delta_text, most_exposed, no_budget

    kind = "a finished release" if record["what"] == "release" else "a planned release"
    heading(f"disclosure review of {kind}: {record['name']}")
    if record["conditional"]:
        paragraph(NOT_DP, style="bold red")
    if not record["guarantee"]["secure"]:
        paragraph(SEEDED, style="bold red")
    facts = {"released": asked(record)}
    if not record["conditional"]:
        last = record["epsilons"][-1]
        facts["rho"] = show(as_fraction(record["event"]["rho"], "rho"))
        facts[f"epsilon at delta {delta_text(last['delta'])}"] = f"{last['epsilon']:.4g}"
    if record["most_exposed"] is not None:
        facts["most exposed"] = one_line(most_exposed(record))
    pairs(facts)
    for check in record["checks"]:
        if not check["holds"]:
            paragraph(one_line(f"Does NOT hold: {check['check']}."), style="bold red")
    if no_budget(record):
        paragraph(one_line(no_budget(record)), style="bold red")
    console().print()
    line(f"written: {record['out']}")
