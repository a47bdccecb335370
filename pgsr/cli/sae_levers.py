"""`pgsr sae levers`: what a designer can change, and what it does to the cost of a release."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pgsr.cli import sae_asked as asked
from pgsr.cli.options import Json
from pgsr.cli.output import console, emit, heading, line, pairs, paragraph, table
from pgsr.cli.sae_asked import (
    Area,
    Covariates,
    File,
    ModelVariance,
    NoIntercept,
    PublicAreas,
    Sensitivity,
    Unused,
    Variance,
)
from pgsr.cli.sae_shown import MOST_ROWS
from pgsr.errors import InputError

if TYPE_CHECKING:
    from pgsr.config.sae_table import AreaTable
    from pgsr.mechanism import Columns


def levers(
    file: File,
    variance: Variance,
    sensitivity: Sensitivity,
    model_variance: ModelVariance,
    direct: Unused = None,
    covariates: Covariates = None,
    no_intercept: NoIntercept = False,
    rho: Annotated[
        float | None, typer.Option(help="Floor the variances so that a draw costs this.", show_default=False)
    ] = None,
    etas: Annotated[
        str, typer.Option(help="Relative changes of the model variance.", metavar="LIST")
    ] = "-0.5,-0.1,0.1,0.5",
    factors: Annotated[str, typer.Option(help="Multiples of the sample size.", metavar="LIST")] = "0.5,1,2,4",
    counts: Annotated[
        str | None, typer.Option(help="Column of the numbers of records n.", show_default="none")
    ] = None,
    kish: Annotated[
        str | None,
        typer.Option(help="Column of sum w^2 / (sum w)^2; with --counts.", show_default="none"),
    ] = None,
    features: Annotated[
        str | None,
        typer.Option(help="Columns to explain log rho by their logs.", show_default="none", metavar="LIST"),
    ] = None,
    weights: Annotated[
        Path | None,
        typer.Option(
            help="File of survey weights, one row a record, to search for trimming.",
            show_default=False,
            metavar="FILE",
        ),
    ] = None,
    weight: Annotated[str, typer.Option(help="Column of the weights in that file.")] = "weight",
    bias: Annotated[
        float | None,
        typer.Option(help="With --weights: the largest bias that trimming may cause.", show_default=False),
    ] = None,
    only: Annotated[
        str | None, typer.Option(help="With --weights: areas to trim, such as a,b.", show_default="all")
    ] = None,
    lower: Annotated[float, typer.Option(help="Lower end of the outcome's public range.")] = 0.0,
    upper: Annotated[float, typer.Option(help="Upper end of the outcome's public range.")] = 1.0,
    area: Area = None,
    as_json: Json = False,
) -> None:
    """What changes the cost of a draw: variance floors, model variance, sample size, weights."""
    from pgsr.config.sae_confidential import same_file

    if (counts is None) != (kish is None):
        raise InputError("equal weights need both columns", "--counts, --kish", "give both or none")
    if (weights is None) != (bias is None):
        raise InputError("trimming needs a file and a bound", "--weights, --bias", "give both or none")
    if only is not None and weights is None:
        raise InputError("only areas that are trimmed can be chosen", "--only", "give --weights, --bias")
    public = {
        "--variance": variance,
        "--covariates": asked.names(covariates, "--covariates"),
        "--sensitivity": sensitivity,
        "--counts": counts,
        "--kish": kish,
        "--features": asked.names(features, "--features"),
        "--weight": weight if same_file(weights, file) else None,
    }
    areas = asked.read(file, area, direct, public)
    given = asked.public_areas(
        areas,
        variance=variance,
        sensitivity=sensitivity,
        model_variance=model_variance,
        covariates=covariates,
        intercept=not no_intercept,
    )
    places = {**asked.options(variance), "lower, upper": "--lower, --upper", "outcome": "--sensitivity"}
    with areas.named(places):
        record = _always(given, asked.reals(etas, "--etas"), asked.reals(factors, "--factors"))
        record["floor"] = None if rho is None else _floor(given, rho)
    record["equal_weights"] = record["regression"] = record["trimming"] = None
    if counts is not None and kish is not None:
        record["equal_weights"] = _equal(areas, given, counts, kish, (lower, upper), places)
    if features is not None:
        record["regression"] = _regression(areas, given, asked.names(features, "--features"), places)
    if weights is not None and bias is not None:
        chosen = None if only is None else asked.names(only, "--only")
        record["trimming"] = _trimming(weights, weight, areas.area or "area", bias, (lower, upper), chosen)
    if as_json:
        emit(record)
    else:
        _show(record)


def _always(given: PublicAreas, etas: tuple[float, ...], factors: tuple[float, ...]) -> dict[str, Any]:
    """The levers that need no more than the model."""
    from pgsr.sae.accuracy import equal_rho_errors
    from pgsr.sae.guarantees import free_rho, own_rho
    from pgsr.sae.levers import robustness, sample_size

    posterior, delta = given.posterior, given.sensitivity
    own = own_rho(posterior, delta)
    _, errors = equal_rho_errors(posterior, delta)
    return {
        "area": list(given.labels),
        "rho_own": own,
        "rho_joint": own.max(),
        "joint_area": given.labels[int(own.argmax())],
        "a_free": free_rho(posterior.variance, delta),
        "mean_mse": {name: column.mean() for name, column in errors.items()},
        "robustness": rows_of(robustness(posterior, delta, etas)),
        "sample_size": rows_of(sample_size(posterior, delta, factors)),
    }


def _floor(given: PublicAreas, rho: float) -> dict[str, Any]:
    """Sampling variances that bring a draw down to `rho`, for any model and for this one."""
    from pgsr.sae.levers import floor_for_any_model, floor_for_this_model

    d = given.posterior.variance
    anyhow = floor_for_any_model(d, given.sensitivity, rho)
    here = floor_for_this_model(given.posterior, given.sensitivity, rho)
    return {
        "rho": rho,
        "any_model": anyhow,
        "this_model": here,
        "raised_any_model": int((anyhow > d).sum()),
        "raised_this_model": int((here > d).sum()),
    }


def _equal(
    areas: AreaTable,
    given: PublicAreas,
    counts: str,
    kish: str,
    ends: tuple[float, float],
    places: dict[str, str],
) -> dict[str, Any]:
    """Rho with equal weights in every area, at the same variances and at those that equal weights bring."""
    import numpy as np

    from pgsr.sae.levers import equal_weights

    n, spread = areas.positive(counts), areas.positive(kish)
    areas.refuse(kish, spread > 1, "above 1", "compute it from the weights")
    with areas.named(places):
        found = equal_weights(given.posterior, given.sensitivity, n, spread, lower=ends[0], upper=ends[1])
    medians = {f"median_{name}": float(np.median(column)) for name, column in found.items()}
    return {**found, **medians}


def _regression(
    areas: AreaTable, given: PublicAreas, features: tuple[str, ...], places: dict[str, str]
) -> list[dict[str, Any]]:
    """Log rho explained by the logs of features."""
    from pgsr.sae.guarantees import own_rho
    from pgsr.sae.loglog import log_log

    columns = {name: areas.positive(name, "leave the column out") for name in features}
    with areas.named(places):
        return rows_of(log_log(own_rho(given.posterior, given.sensitivity), columns))


def _trimming(
    file: Path,
    weight: str,
    area: str,
    bias: float,
    ends: tuple[float, float],
    only: tuple[str, ...] | None,
) -> dict[str, Any]:
    """The smallest cap on weights whose bias bound, which is public, is at most `bias`."""
    import numpy as np

    from pgsr.config.sae_table import AreaTable
    from pgsr.sae.trimming import trim_to_bias

    records = AreaTable.read(file, area)
    w = records.positive(weight, "leave out records without a positive weight")
    labels = np.array(records.table.text(area).to_pylist(), dtype=np.str_)
    with records.named({"bias": "--bias", "only": "--only", "lower, upper": "--lower, --upper"}):
        found = trim_to_bias(w, labels, bias=bias, lower=ends[0], upper=ends[1], only=only)
    return {"ratio": found.ratio, "bias": bias, "areas": rows_of(found.table)}


def rows_of(columns: Columns) -> list[dict[str, Any]]:
    """A table as a list of rows."""
    lists = [column.tolist() for column in columns.values()]
    return [dict(zip(columns, row, strict=True)) for row in zip(*lists, strict=True)]


_FLOORS = {"any_model": "for every model variance", "this_model": "for this one, and below"}
WAYS = {
    "direct": "direct estimates, not private",
    "predictor": "predictors, not private",
    "draw": "a joint draw",
    "reshrunk": "the same, shrunk again",
    "noisy_direct": "noisy direct estimates, then Fay-Herriot",
}


def _show(record: dict[str, Any]) -> None:
    """The levers for people."""
    heading(f"levers: one joint draw costs rho {record['rho_joint']:.4g}, of area {record['joint_area']}")
    paragraph(f"Whatever the model variance is, at most {record['a_free']:.4g}.")
    console().print()
    heading("accuracy at this rho: mean squared error, mean over the areas")
    pairs({text: float(record["mean_mse"][name]) for name, text in WAYS.items()})
    console().print()
    heading("if the model variance were another one")
    _table(record["robustness"])
    heading("if every area had so many times its records")
    _table(record["sample_size"])
    floor = record["floor"]
    if floor is not None:
        heading(f"variance floors for rho {floor['rho']:g}")
        for name, text in _FLOORS.items():
            line(f"{text}: raises the variance of {floor[f'raised_{name}']:,} areas")
        columns = (record["area"], floor["any_model"].tolist(), floor["this_model"].tolist())
        _table(
            [
                {"area": area, "floored for all": anyhow, "floored for this one": here}
                for area, anyhow, here in zip(*columns, strict=True)
            ]
        )
    equal = record["equal_weights"]
    if equal is not None:
        heading("with equal weights within areas (medians)")
        pairs(
            {
                "rho": equal["median_rho"],
                "rho at the same variances": equal["median_rho_fixed"],
                "rho at the variances of equal weights": equal["median_rho_recomputed"],
            }
        )
        console().print()
    if record["regression"] is not None:
        heading("log rho on logs, with 95 % intervals")
        _table(record["regression"])
    trimming = record["trimming"]
    if trimming is not None:
        heading(f"weights capped at {trimming['ratio']:.4g} times their mean move no estimate by more than")
        line(f"{trimming['bias']:g}, whatever the outcomes are:")
        names = ("area", "n", "ratio_before", "ratio_after", "sensitivity_before", "sensitivity_after")
        _table([{name: row[name] for name in names} for row in trimming["areas"]])


def _table(rows: list[dict[str, Any]]) -> None:
    """The first rows of a table."""
    shown = [list(row.values()) for row in rows[:MOST_ROWS]]
    table([name.replace("_", " ") for name in rows[0]], shown)
    if len(rows) > MOST_ROWS:
        line(f"{len(rows) - MOST_ROWS:,} more with --json")
