"""`pgsr inequality`: private inequality indices of incomes, and the custodian's look at their sensitivity."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pgsr.cli.inequality_release import Clip, Column, File, Shift, release
from pgsr.cli.options import Json, new_place
from pgsr.cli.output import bars, emit, line
from pgsr.errors import InputError

app = typer.Typer(help="Private inequality indices of incomes: mean log deviation, Theil, GE(2).")
app.command("release")(release)


@app.callback(invoke_without_command=True)
def _inequality(context: typer.Context) -> None:
    """Private inequality indices of incomes: mean log deviation, Theil, GE(2)."""
    if context.invoked_subcommand is None:
        print(context.get_help())
        raise typer.Exit


@app.command("example")
def example(
    out: Annotated[Path, typer.Option(help="The new file, FILE.csv.", show_default=False)],
    as_json: Json = False,
) -> None:
    """Write the packaged incomes of US households by state, to try the other commands on."""
    from pgsr.datasets import describe, write_cps_incomes

    new_place(out, "table", endings=(".csv",))
    if out.exists():
        raise InputError("exists already", str(out), "give --out another name, or remove it")
    write_cps_incomes(out)
    entry = describe("cps-incomes")
    if as_json:
        emit({"out": out, "columns": ["state", "income"], "source": entry.source, "licence": entry.licence})
        return
    line(f"written: {out}, columns state, income")
    line(f"source: {entry.source}; {entry.licence}")


@app.command("sensitivity")
def sensitivity(
    file: File,
    column: Column,
    lower: Annotated[str, typer.Option(help="Lower bound of the incomes, above 0.", show_default=False)],
    upper: Annotated[str, typer.Option(help="Upper bound of the incomes.", show_default=False)],
    beta: Annotated[str, typer.Option(help="Smoothing parameter, above 0.", show_default=False)],
    index: Annotated[str, typer.Option(help="mld, theil or ge2.", show_default=False)],
    entries: Annotated[int, typer.Option(help="Entries of the ladder to list.")] = 100,
    clip: Clip = False,
    shift: Shift = "0",
    as_json: Json = False,
) -> None:
    """CONFIDENTIAL analysis: local, global and smooth sensitivity. For the data's custodian alone."""
    from pgsr.cli.incomefile import IncomeFile
    from pgsr.cli.inequality_asked import real
    from pgsr.cli.inequality_shown import sensitivity_record, show_sensitivity
    from pgsr.inequality import Domain, confidential_sensitivity
    from pgsr.inequality.index import index as known

    with bars() as report:
        if report is not None:
            report("read", 0.0)
        source = IncomeFile.read(file, column)
        with source.named():
            known(index)
            bounds = {"lower": real(lower, "--lower"), "upper": real(upper, "--upper")}
            domain = Domain(n=source.table.rows, **bounds)
            added, smoothing = real(shift, "--shift"), real(beta, "--beta")
            x = source.inside(added, domain, clip=clip)
            if report is not None:
                report("sensitivity", 0.0)
            found = confidential_sensitivity(x, domain, index, smoothing, entries)
    record = sensitivity_record(found, domain, clip=clip, shift=added)
    if as_json:
        emit(record)
    else:
        show_sensitivity(record)
