"""`pgsr sae direct`: from survey records to a file of areas, which the other commands take."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from pgsr.cli.options import Json, new_place
from pgsr.cli.output import emit, heading, line, paragraph, table
from pgsr.cli.sae_shown import MOST_ROWS
from pgsr.errors import InputError


class Variance(StrEnum):
    """How sampling variances are estimated from the records."""

    TAYLOR = "taylor"
    """Linearisation; areas are strata of the design."""
    DOMAINS = "taylor-domains"
    """Linearisation; areas are domains of the design."""
    SDR = "sdr"
    """Successive differences, 80 replicates."""
    JK1 = "jk1"
    """Jackknife of all PSUs."""
    JKN = "jkn"
    """Jackknife within strata."""
    BRR = "brr"
    """Balanced half samples."""


class SinglePsu(StrEnum):
    """What a stratum with one PSU adds to a linearised variance."""

    REFUSE = "refuse"
    """An error."""
    CERTAINTY = "certainty"
    """Nothing."""
    CENTERED = "centered"
    """Its squared distance from the mean of all PSUs."""
    AVERAGE = "average"
    """As much as the other strata do."""


def direct(
    file: Annotated[Path, typer.Argument(help="Records: CSV or Parquet, one row each.", show_default=False)],
    outcome: Annotated[str, typer.Option(help="Column of the outcome.", show_default=False)],
    weight: Annotated[str, typer.Option(help="Column of the survey weights.", show_default=False)],
    out: Annotated[Path, typer.Option(help="The new file of areas, FILE.csv.", show_default=False)],
    area: Annotated[str, typer.Option(help="Column of the area of each record.")] = "area",
    lower: Annotated[
        float | None, typer.Option(help="Lower end of the outcome's public range.", show_default="0")
    ] = None,
    upper: Annotated[
        float | None, typer.Option(help="Upper end; without both the outcome is 0 or 1.", show_default="1")
    ] = None,
    prevalence: Annotated[
        float | None,
        typer.Option(
            help="Public prevalence p: D = p (1 - p) sum w^2 / (sum w)^2.",
            show_default="estimated by --method",
        ),
    ] = None,
    method: Annotated[
        Variance,
        typer.Option(help="taylor, taylor-domains, sdr, jk1, jkn or brr: confidential D.", metavar="NAME"),
    ] = Variance.TAYLOR,
    strata: Annotated[str | None, typer.Option(help="Column of strata.", show_default="one stratum")] = None,
    psu: Annotated[
        str | None, typer.Option(help="Column of primary sampling units.", show_default="each record")
    ] = None,
    single_psu: Annotated[
        SinglePsu,
        typer.Option(help="Strata of one PSU: refuse, certainty, centered or average.", metavar="NAME"),
    ] = SinglePsu.REFUSE,
    household: Annotated[
        str | None,
        typer.Option(help="Column of households, protected as wholes.", show_default="each record by itself"),
    ] = None,
    as_json: Json = False,
) -> None:
    """CONFIDENTIAL analysis: direct estimates by area from survey records; sensitivities from weights."""
    from pgsr.config.sae_confidential import refuse_confidential
    from pgsr.config.sae_records import RecordColumns, read_microdata
    from pgsr.config.sae_table import AreaTable
    from pgsr.sae.direct import confidential_direct
    from pgsr.sae.records import confidential_variance, record_facts
    from pgsr.sae.smoothing import kish_variance

    new_place(out, "table", endings=(".csv",))
    if out.exists():
        raise InputError("exists already", str(out), "give --out another name, or remove it")
    public = {"--weight": weight, "--area": area, "--strata": strata, "--psu": psu, "--household": household}
    refuse_confidential(outcome, public)
    records = AreaTable.read(file, area)
    columns = RecordColumns(
        outcome=outcome,
        weight=weight,
        area=area,
        strata=strata,
        psu=psu,
        household=household,
        lower=lower,
        upper=upper,
    )
    places = {
        "outcome": records.table.where(outcome),
        "lower, upper": "--lower, --upper",
        "prevalence": "--prevalence",
    }
    with records.named(places, columns.rows(), {"choose single_psu": "give --single-psu"}):
        data = read_microdata(records, columns)
        found, facts = confidential_direct(data), record_facts(data)
        if prevalence is not None:
            variance = kish_variance(facts.kish, prevalence=prevalence)
        else:
            variance = confidential_variance(data, found, method.value, single_psu.value).variance
    made = {
        "area": list(data.areas),
        "y": found.estimate,
        "D": variance,
        "delta": facts.sensitivity,
        "n": facts.counts,
        "weight_total": facts.weight_total,
        "kish": facts.kish,
        "ratio": facts.ratio,
    }
    _write(out, made)
    rows = [dict(zip(made, row, strict=True)) for row in zip(*_lists(made), strict=True)]
    record = {
        "confidential": True,
        "out": out,
        "records": data.n,
        "variance": "public" if prevalence is not None else method.value,
        "without_variance": int((variance <= 0).sum()),
        "areas": rows,
    }
    if as_json:
        emit(record)
    else:
        _show(record)


def _lists(columns: dict[str, Any]) -> list[list[Any]]:
    return [column if isinstance(column, list) else column.tolist() for column in columns.values()]


def _write(out: Path, columns: dict[str, Any]) -> None:
    """One row an area, numbers in full."""
    import csv

    from pgsr.atomic import atomic_path

    with atomic_path(out) as temporary, temporary.open("w", newline="", encoding="utf-8") as stream:
        rows = csv.writer(stream, lineterminator="\n")
        rows.writerow(columns)
        rows.writerows(zip(*_lists(columns), strict=True))


def _show(record: dict[str, Any]) -> None:
    """CONFIDENTIAL: for people."""
    heading(f"CONFIDENTIAL: direct estimates of {len(record['areas']):,} areas")
    origin = "y alone depends" if record["variance"] == "public" else "y and D depend"
    paragraph(f"{origin} on the outcomes; the other columns follow from weights and areas.")
    names = ("area", "y", "D", "delta", "n", "ratio")
    table(names, [[row[name] for name in names] for row in record["areas"][:MOST_ROWS]])
    if record["without_variance"]:
        many = record["without_variance"]
        paragraph(f"Mind: D is 0 in {many} areas; give --prevalence, or smooth D.", style="bold")
    line(f"written: {record['out']}")
