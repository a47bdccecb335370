"""`pgsr ledger`: make a privacy ledger, and look into one."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pgsr.cli.options import Json
from pgsr.cli.output import emit, heading, pairs, paragraph, table

if TYPE_CHECKING:
    from pgsr.ledger import Ledger

app = typer.Typer(help="Make a privacy ledger, or show what was spent.")


class Relation(StrEnum):
    """Which two data sets a ledger holds to be hard to tell apart."""

    ADD_REMOVE = "add-remove"
    """One record is there or not."""
    SUBSTITUTE = "substitute"
    """One record is replaced by another."""


@app.callback(invoke_without_command=True)
def _ledger(context: typer.Context) -> None:
    """Make a privacy ledger, or show what was spent."""
    if context.invoked_subcommand is None:
        print(context.get_help())
        raise typer.Exit


@app.command("create")
def create(
    file: Annotated[Path, typer.Argument(help="The new ledger.", show_default=False)],
    epsilon: Annotated[
        str | None, typer.Option(help="Budget in pure DP, such as 1 or 1/2.", show_default=False)
    ] = None,
    rho: Annotated[str | None, typer.Option(help="Budget in zCDP instead.", show_default=False)] = None,
    delta: Annotated[
        str | None, typer.Option(help="With --epsilon: approximate DP.", show_default=False)
    ] = None,
    neighbours: Annotated[
        Relation,
        typer.Option(help="substitute for incomes and small areas; it takes add-remove at twice epsilon."),
    ] = Relation.ADD_REMOVE,
    unit: Annotated[str, typer.Option(help="Whose record is protected.")] = "person",
    as_json: Json = False,
) -> None:
    """Make a new ledger with a budget; releases are charged to it before anything is drawn."""
    from pgsr.errors import InputError
    from pgsr.ledger import Ledger
    from pgsr.privacy import Neighbours

    if (epsilon is None) == (rho is None) or (rho is not None and delta is not None):
        raise InputError(
            "the budget is not stated in one way",
            "--epsilon, --rho, --delta",
            "give --epsilon E, --epsilon E --delta D, or --rho R",
        )
    made = Ledger.create(
        file, epsilon=epsilon, rho=rho, delta=delta, unit=unit, neighbours=Neighbours(neighbours.value)
    )
    _show(made, as_json)


@app.command("show")
def show(
    file: Annotated[Path, typer.Argument(help="The ledger.", show_default=False)], as_json: Json = False
) -> None:
    """Show the budget of a ledger, what is spent and left, and its entries."""
    from pgsr.ledger import Ledger

    _show(Ledger.open(file), as_json)


def _show(ledger: Ledger, as_json: bool) -> None:
    """The whole ledger."""
    if as_json:
        emit(ledger.to_dict())
        return
    heading(f"{ledger.kind.value} ledger, one {ledger.unit}, neighbours {ledger.neighbours.value}")
    pairs({"budget": ledger.limit, "spent": ledger.spent, "left": ledger.remaining})
    entries = ledger.entries
    if not entries:
        paragraph("No entries yet.")
        return
    table(
        ("no", "time", "cost", "label"),
        [(entry.number, entry.time, str(entry.event), entry.label) for entry in entries],
    )
