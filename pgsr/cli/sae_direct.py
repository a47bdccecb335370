"""`pgsr sae direct`: from survey records to a file of areas, which the other commands take."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pgsr.cli.options import Json, new_place
from pgsr.cli.output import emit, heading, line, paragraph, table
from pgsr.cli.sae_shown import MOST_ROWS
from pgsr.errors import InputError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from pgsr.sae.direct import ConfidentialDirect
    from pgsr.sae.microdata import Microdata


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
    from pgsr.config.sae_table import AreaTable
    from pgsr.sae.direct import confidential_direct
    from pgsr.sae.microdata import Microdata

    new_place(out, "table", endings=(".csv",))
    if out.exists():
        raise InputError("exists already", str(out), "give --out another name, or remove it")
    records = AreaTable.read(file, area)
    labels = records.table.text(area).to_pylist()
    places = {
        "outcome": records.table.where(outcome),
        "lower, upper": "--lower, --upper",
        "prevalence": "--prevalence",
    }
    columns = {"outcome": outcome, "household": household or ""}
    with records.named(places, columns, {"choose single_psu": "give --single-psu"}):
        data = Microdata(
            outcome=records.numbers(outcome),
            weight=records.positive(weight, "leave out records without a positive weight"),
            area=labels,
            areas=tuple(sorted(set(labels))),
            lower=lower,
            upper=upper,
            strata=None if strata is None else records.table.text(strata),
            psu=None if psu is None else records.table.text(psu),
            units=None if household is None else records.table.text(household),
        )
        found = confidential_direct(data)
        variance = _variance(data, found, prevalence, method, single_psu)
        made = {"area": list(data.areas), "y": found.estimate, "D": variance}
        made |= _public(data, labels, household)
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


def _variance(
    data: Microdata,
    found: ConfidentialDirect,
    prevalence: float | None,
    method: Variance,
    single: SinglePsu,
) -> NDArray[np.float64]:
    """D (m,): from a public prevalence and the weights, or estimated from the records."""
    from pgsr.sae import replicates
    from pgsr.sae.smoothing import kish_variance
    from pgsr.sae.variances import confidential_taylor
    from pgsr.sae.weights import weight_diagnostics

    if prevalence is not None:
        weights = weight_diagnostics(data.weight, data.area_codes, data.m)
        return kish_variance(weights, prevalence=prevalence)
    if method in (Variance.TAYLOR, Variance.DOMAINS):
        areas_are = "strata" if method is Variance.TAYLOR else "domains"
        return confidential_taylor(data, found, areas_are=areas_are, single_psu=single.value).variance
    scheme = getattr(replicates, method.value)(data)
    return replicates.confidential_replicate_variance(data, found, scheme).variance


def _public(data: Microdata, labels: list[str], household: str | None) -> dict[str, Any]:
    """Columns by area from the weights alone."""
    import numpy as np

    from pgsr.sae.sensitivity import mean_sensitivity
    from pgsr.sae.weights import weight_diagnostics

    weights = weight_diagnostics(data.weight, data.area_codes, data.m)
    lower: Any = data.lower
    upper: Any = data.upper
    delta = mean_sensitivity(
        data.weight,
        np.array(labels, dtype=np.str_),
        lower=lower,
        upper=upper,
        household=None if household is None else data.unit_codes,
    )
    return {
        "delta": delta,
        "n": weights.counts,
        "weight_total": weights.total,
        "kish": 1.0 / weights.effective_n,
        "ratio": weights.ratio,
    }


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
