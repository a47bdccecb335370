"""`pgsr sae release`: from direct estimates to private small area estimates."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pgsr.cli.options import Json, new_folder
from pgsr.cli.output import bars, emit
from pgsr.errors import InputError

if TYPE_CHECKING:
    from pgsr.cli.output import Progress
    from pgsr.config.sae import SaeConfig
    from pgsr.config.sae_query import AreaQuery
    from pgsr.ledger import Ledger
    from pgsr.mechanism import Release
    from pgsr.noise import BitSource

MEASURED = ".measured"
"""Ending of the folder that keeps what was drawn until the release is written."""


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
                made = _release(query, book, rng, out, config.stem, report)
    with nullcontext() if made is None else _complete(book, out):
        record = plan(query, settings, rng, book) if made is None else outcome(made, settings, out, book)
        if as_json:
            emit(record)
        else:
            show_release(record)
        sys.stdout.flush()


def _ledger(settings: SaeConfig, config: Path) -> Ledger | None:
    """The ledger of the configuration, or None where it asks for none; InputError for one of another kind."""
    from pgsr.config.loading import NO_LEDGER
    from pgsr.ledger import Ledger
    from pgsr.privacy import Kind, Neighbours

    name, unit = settings.privacy.ledger, settings.areas.unit
    if name == NO_LEDGER:
        return None
    path = config.parent / name
    make = f"pgsr ledger create FILE --rho R --neighbours substitute --unit {unit}"
    if not path.exists():
        raise InputError("no such ledger", str(path), f"make it: {make}")
    book = Ledger.open(path)
    if book.kind is Kind.PURE or (book.unit, book.neighbours) != (unit, Neighbours.SUBSTITUTE):
        what = f"a {book.kind.value} ledger for one {book.unit}, neighbours {book.neighbours.value}"
        raise InputError(what, str(path), f"make another: {make}")
    return book


def _release(
    query: AreaQuery, book: Ledger | None, rng: BitSource, out: Path, label: str, report: Progress | None
) -> Release:
    """Charge, draw and write; once drawn, what is paid for survives a failure to write."""
    from pgsr.ledger import Ledger
    from pgsr.mechanism import release as draw

    event = query.mechanism.event
    rest = _reserved(out)
    state = ""
    try:
        new_folder(out)  # another run may have written it since we looked
        if book is not None:
            state = f"{book.path} may have been charged: see pgsr ledger show {book.path}"
            try:
                book.charge(event, label=label)
            except InputError:  # which says so itself: nothing is charged
                state = ""
                raise
            state = f"{book.path} was charged before, and that cost is spent"
        mechanism: Any = query.mechanism  # each has measurements of its own type
        made: Release = draw(
            mechanism,
            query.data,
            ledger=Ledger(limit=event),  # charged above
            rng=rng,
            label=label,
            progress=report,
            on_measured=lambda partial: partial.save(rest),
        )
        made.save(out)
    except BaseException as error:
        if any(place.name[0] != "." for place in rest.iterdir()):
            error.add_note(f"what was drawn is paid for and kept in {rest}")
        else:
            rest.rmdir()
            if state:
                error.add_note(state)
        raise
    with _complete(book, out):
        shutil.rmtree(rest)
    return made


def _reserved(out: Path) -> Path:
    """Make the folder for what is drawn, before anything is charged; no other run can have it too."""
    rest = out.with_name(out.name + MEASURED)
    try:
        rest.mkdir()
    except FileExistsError:
        way_out = "if no other run is at work, use what is in it and move it away, or give --out another name"
        raise InputError("another run writes or wrote here", str(rest), way_out) from None
    return rest


@contextmanager
def _complete(book: Ledger | None, out: Path | None) -> Iterator[None]:
    """Whatever happens after a release, such as a full standard output, does not hide what was done."""
    try:
        yield
    except BaseException as error:
        charged = "" if book is None else f", and {book.path} is charged"
        error.add_note(f"the release is complete: it is written to {out}{charged}")
        raise
