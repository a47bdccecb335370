"""`pgsr sae`: small area estimates, what their release costs, and releases."""

from __future__ import annotations

from typing import Annotated

import typer

from pgsr.cli import sae_asked as asked
from pgsr.cli.options import Json
from pgsr.cli.output import emit
from pgsr.cli.sae_asked import (
    Area,
    Covariates,
    File,
    Method,
    ModelVariance,
    NoIntercept,
    Sensitivity,
    Unused,
    Variance,
    Variances,
)
from pgsr.cli.sae_direct import direct as direct_estimates
from pgsr.cli.sae_example import example
from pgsr.cli.sae_levers import levers
from pgsr.cli.sae_release import release
from pgsr.cli.sae_review import review

app = typer.Typer(help="Small area estimation (Fay-Herriot): fits, guarantees, private releases, levers.")


@app.callback(invoke_without_command=True)
def _sae(context: typer.Context) -> None:
    """Small area estimation (Fay-Herriot): fits, guarantees, private releases, levers."""
    if context.invoked_subcommand is None:
        print(context.get_help())
        raise typer.Exit


@app.command("fit")
def fit(
    file: File,
    direct: Annotated[str, typer.Option(help="Column of the direct estimates y.", show_default=False)],
    variance: Variance,
    covariates: Covariates = None,
    no_intercept: NoIntercept = False,
    method: Annotated[
        Method, typer.Option(help="reml, ml, fh or pr: estimate of the model variance.", metavar="NAME")
    ] = Method.REML,
    model_variance: Annotated[
        float | None, typer.Option(help="Take this one instead.", show_default="estimated")
    ] = None,
    out_of_sample: Annotated[
        bool,
        typer.Option("--out-of-sample", help="Predict the areas whose estimate and variance are empty."),
    ] = False,
    area: Area = None,
    as_json: Json = False,
) -> None:
    """CONFIDENTIAL analysis: the Fay-Herriot fit. For the data's custodian alone; publish none of it."""
    from pgsr.cli.sae_shown import fit_record, show_fit
    from pgsr.sae.fayherriot import confidential_fit

    public = {"--variance": variance, "--covariates": asked.names(covariates, "--covariates")}
    table = asked.read(file, area, direct, public)
    with table.named(asked.options(variance)):
        design, names = table.design(asked.names(covariates, "--covariates"), intercept=not no_intercept)
    labels = table.labels()
    y, d, sampled = asked.estimates(table, direct, variance, blanks=out_of_sample)
    with table.named(asked.options(variance)):
        found = confidential_fit(
            y[sampled],
            d[sampled],
            design[sampled],
            method=method.value,
            model_variance=model_variance,
            names=names,
        )
        others = found.predict(design[~sampled]) if not sampled.all() else None
    record = fit_record(found, labels, sampled, others, names)
    if as_json:
        emit(record)
    else:
        show_fit(record)


@app.command("guarantee")
def guarantee(
    file: File,
    variance: Variance,
    sensitivity: Sensitivity,
    model_variance: ModelVariance,
    direct: Unused = None,
    covariates: Covariates = None,
    no_intercept: NoIntercept = False,
    delta: Annotated[
        float | None, typer.Option(help="Delta of the epsilons.", show_default="1e-7, or below 1/N")
    ] = None,
    records: Annotated[
        int | None, typer.Option(help="Number N of records: delta is then below 1/N.", show_default=False)
    ] = None,
    draws: Annotated[int, typer.Option(help="Number of draws to be released.")] = 1,
    variances: Annotated[
        Variances, typer.Option(help="public, dp or invariant: where D and A come from.", metavar="NAME")
    ] = Variances.PUBLIC,
    unit: Annotated[str, typer.Option(help="Whose record --sensitivity is about.")] = "person",
    area: Area = None,
    as_json: Json = False,
) -> None:
    """What a posterior draw costs: rho by area, for all areas jointly, and epsilon. From public inputs."""
    from pgsr.cli.sae_shown import guarantee_record, show_guarantee
    from pgsr.sae.conversions import default_delta
    from pgsr.sae.draws import checked_draws
    from pgsr.sae.guarantees import AreaGuarantees

    public = {
        "--variance": variance,
        "--covariates": asked.names(covariates, "--covariates"),
        "--sensitivity": sensitivity,
    }
    table = asked.read(file, area, direct, public)
    given = asked.public_areas(
        table,
        variance=variance,
        sensitivity=sensitivity,
        model_variance=model_variance,
        covariates=covariates,
        intercept=not no_intercept,
    )
    with table.named(asked.options(variance)):
        checked_draws(draws)
        if delta is None:
            delta = 1e-7 if records is None else default_delta(records)
        found = AreaGuarantees(
            posterior=given.posterior, sensitivity=given.sensitivity, unit=unit, variances=variances.value
        )
        record = guarantee_record(found, given.labels, delta, draws)
    if as_json:
        emit(record)
    else:
        show_guarantee(record)


app.command("direct")(direct_estimates)
app.command("release")(release)
app.command("levers")(levers)
app.command("review")(review)
app.command("example")(example)
