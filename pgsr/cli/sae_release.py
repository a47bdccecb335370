"""`pgsr sae release`: from direct estimates to private small area estimates."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pgsr.cli.options import Json, new_folder
from pgsr.cli.output import bars, emit
from pgsr.cli.paid import complete, open_ledger, paid_release
from pgsr.errors import InputError

if TYPE_CHECKING:
    from pgsr.config.sae import SaeConfig
    from pgsr.ledger import Ledger


def release(
    config: Annotated[Path, typer.Argument(help="Configuration, a TOML file.", show_default=False)],
    out: Annotated[
        Path | None, typer.Option(help="New folder for the release.", show_default="needed to release")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show cost and guarantee; spend and write nothing.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Release small area estimates, at the expense of a privacy ledger."""
    from pgsr.cli.sae_released import outcome, plan, show_release
    from pgsr.config.sae import load_sae_config
    from pgsr.config.sae_query import ConditionalQuery, build_area_query
    from pgsr.noise import SeededBits, SystemBits

    settings = load_sae_config(config)
    if out is None and not dry_run:
        raise InputError("no folder to write to", "--out", "give --out DIR, or --dry-run")
    if out is not None and not dry_run:
        new_folder(out)
    seed = settings.privacy.seed
    rng = SystemBits() if seed is None else SeededBits(seed)
    with bars() as report:
        if report is not None:
            report("read", 0.0)
        query = build_area_query(settings, config)
        book = _ledger(settings, config)
        made = None
        if out is not None and not dry_run:
            if isinstance(query, ConditionalQuery):
                made = query.draw(rng, config.stem)
                made.save(out)
            else:
                mechanism: Any = query.mechanism  # each has measurements of its own type
                made = paid_release(
                    mechanism, query.data, book=book, rng=rng, out=out, label=config.stem, report=report
                )
    with nullcontext() if made is None else complete(out, book and book.path):
        record = plan(query, settings, rng, book) if made is None else outcome(made, settings, out, book)
        if as_json:
            emit(record)
        else:
            show_release(record)
        sys.stdout.flush()


def _ledger(settings: SaeConfig, config: Path) -> Ledger | None:
    """The ledger of the configuration, or None where it asks for none; InputError for one of another kind."""
    from pgsr.config.loading import NO_LEDGER
    from pgsr.privacy import Kind, Neighbours

    name, unit = settings.privacy.ledger, settings.unit
    if name == NO_LEDGER:
        return None
    path = config.parent / name
    make = f"pgsr ledger create FILE --rho R --neighbours substitute --unit {unit}"
    book = open_ledger(path, make)
    if book.kind is Kind.PURE or (book.unit, book.neighbours) != (unit, Neighbours.SUBSTITUTE):
        what = f"a {book.kind.value} ledger for one {book.unit}, neighbours {book.neighbours.value}"
        raise InputError(what, str(path), f"make another: {make}")
    return book
