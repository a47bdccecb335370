"""What commands that charge a ledger share: nothing paid for is lost, failures say what was spent."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pgsr.cli.options import new_folder
from pgsr.errors import InputError

if TYPE_CHECKING:
    from pgsr.cli.output import Progress
    from pgsr.ledger import Ledger
    from pgsr.mechanism import Mechanism, Release
    from pgsr.noise import BitSource

MEASURED = ".measured"
"""Ending of the folder that keeps what was drawn until the release is written."""


def open_ledger(path: Path, make: str) -> Ledger:
    """The ledger at `path`; InputError, with the command that would `make` one, if there is none."""
    from pgsr.ledger import Ledger

    if not path.exists():
        raise InputError("no such ledger", str(path), f"make it: {make}")
    return Ledger.open(path)


@contextmanager
def complete(out: object, charged: object) -> Iterator[None]:
    """Whatever happens after a release, such as a full standard output, does not hide what was done."""
    try:
        yield
    except BaseException as error:
        done = "written nowhere" if out is None else f"written to {out}"
        paid = f", and {charged} is charged" if charged else ""
        error.add_note(f"the release is complete: it is {done}{paid}")
        raise


def paid_release(
    mechanism: Mechanism[Any, Any],
    data: Any,
    *,
    book: Ledger | None,
    rng: BitSource,
    out: Path | None,
    label: str,
    report: Progress | None,
    kept: str = "",
) -> Release:
    """Charge `book`, draw, and write to `out` if there is one; what is drawn survives a failure to write.

    `kept` is added to the note that says where it is.
    """
    from pgsr.ledger import Ledger
    from pgsr.mechanism import release as draw

    rest = None if out is None else _reserved(out)
    state = ""
    try:
        if out is not None:
            new_folder(out)  # another run may have written it since we looked
        if book is not None:
            state = f"{book.path} may have been charged: see pgsr ledger show {book.path}"
            try:
                book.charge(mechanism.event, label=label)
            except InputError:  # which says so itself: nothing is charged
                state = ""
                raise
            state = f"{book.path} was charged before, and that cost is spent"
        made = draw(
            mechanism,
            data,
            ledger=Ledger(limit=mechanism.event),  # charged above
            rng=rng,
            label=label,
            progress=report,
            on_measured=None if rest is None else lambda partial: partial.save(rest),
        )
        if out is not None:
            made.save(out)
    except BaseException as error:
        if rest is not None and any(place.name[0] != "." for place in rest.iterdir()):
            error.add_note(f"what was drawn is paid for and kept in {rest}{kept}")
        else:
            if rest is not None:
                rest.rmdir()
            if state:
                error.add_note(state)
        raise
    if rest is not None:
        with complete(out, book and book.path):
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
