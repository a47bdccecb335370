"""`pgsr inequality release`: from incomes to private indices, at the expense of a ledger."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pgsr.cli import inequality_asked as asked
from pgsr.cli.inequality_asked import Noise
from pgsr.cli.options import Json, new_folder
from pgsr.cli.output import bars, emit
from pgsr.errors import InputError

if TYPE_CHECKING:
    from pgsr.cli.output import Progress
    from pgsr.inequality.incomes import Incomes
    from pgsr.inequality.mechanism import InequalityMechanism
    from pgsr.ledger import Ledger
    from pgsr.mechanism import Release
    from pgsr.noise import BitSource

MEASURED = ".measured"
"""Ending of the folder that keeps paid measurements until the release is written."""

File = Annotated[Path, typer.Argument(help="Incomes: CSV or Parquet, one row a record.", show_default=False)]
Column = Annotated[str, typer.Option(help="Column of the incomes.", show_default=False)]
Clip = Annotated[bool, typer.Option("--clip", help="Move incomes outside the bounds to the nearer one.")]
Shift = Annotated[str, typer.Option(help="Added to every income first; 1 makes zero incomes count.")]


def release(
    file: File,
    column: Column,
    lower: Annotated[
        str, typer.Option(help="Public lower bound of the incomes, above 0.", show_default=False)
    ],
    upper: Annotated[
        str, typer.Option(help="Public upper bound, or 'private' to draw one.", show_default=False)
    ],
    epsilon: Annotated[str, typer.Option(help="Epsilon of each index, such as 1/2.", show_default=False)],
    index: Annotated[str, typer.Option(help="Indices, such as mld,theil.", show_default=False)],
    ledger: Annotated[
        str | None,
        typer.Option(
            help="Ledger to charge; without one the cost is recorded nowhere.",
            show_default="none",
            metavar="FILE",
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="New folder for the release.", show_default="not written")
    ] = None,
    n: Annotated[
        int | None,
        typer.Option(
            "--n", help="Public number of records, which must be the true one.", show_default="that of FILE"
        ),
    ] = None,
    group: Annotated[
        str | None, typer.Option(help="Column of public group labels.", show_default="no groups")
    ] = None,
    sizes: Annotated[
        Path | None,
        typer.Option(
            help="Public number of records of each group: a file with the columns of --group and n.",
            show_default=False,
            metavar="FILE",
        ),
    ] = None,
    public_sizes: Annotated[
        bool,
        typer.Option("--public-sizes", help="Labels and numbers of records are public: take them from FILE."),
    ] = False,
    minimum: Annotated[int, typer.Option(help="Public smallest number of records of a group.")] = 2,
    overall: Annotated[
        str | None,
        typer.Option(
            help="With groups: indices of all records together, at --epsilon each.", show_default="none"
        ),
    ] = None,
    noise: Annotated[
        Noise, typer.Option(help="ladder, cauchy, paper or laplace: how it is made private.", metavar="NAME")
    ] = Noise.LADDER,
    beta: Annotated[
        str | None,
        typer.Option(help="With cauchy: above 0, below epsilon.", show_default="epsilon/2, or the corner"),
    ] = None,
    epsilon_upper: Annotated[
        str | None, typer.Option(help="Epsilon of a private upper bound.", show_default=False)
    ] = None,
    upper_grid: Annotated[
        str | None,
        typer.Option(
            help="Candidates for a private upper bound.",
            show_default="2 L,10^9 L,51/50",
            metavar="FIRST,LAST,RATIO",
        ),
    ] = None,
    clip: Clip = False,
    shift: Shift = "0",
    unit: Annotated[str, typer.Option(help="Whose income a record holds.")] = "person",
    seed: Annotated[
        int | None, typer.Option(help="For experiments: fixed noise, NOT PRIVATE.", show_default=False)
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show cost and guarantee; spend and write nothing.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Release inequality indices, of all records or of each group, at the expense of a privacy ledger."""
    from pgsr.cli.incomefile import IncomeFile
    from pgsr.cli.inequality_shown import outcome, plan, show_release
    from pgsr.inequality.mechanism import InequalityMechanism
    from pgsr.noise import SeededBits, SystemBits
    from pgsr.privacy import as_fraction

    book = asked.ledger(ledger, seed, unit, dry_run=dry_run)
    if out is not None and not dry_run:
        new_folder(out)
    rng = SystemBits() if seed is None else SeededBits(seed)
    with bars() as report:
        if report is not None:
            report("read", 0.0)
        source = IncomeFile.read(file, column, group)
        data = source.incomes()
        with source.named():
            each, least = as_fraction(epsilon, "--epsilon"), asked.real(lower, "--lower")
            mechanism = InequalityMechanism(
                sizes=asked.sizes(source, data, n, sizes, public_sizes=public_sizes),
                lower=least,
                upper=asked.upper(upper, least, epsilon_upper, upper_grid),
                queries=asked.queries(index, each, noise, beta),
                overall=asked.overall(overall, group, each, noise, beta),
                clip=clip,
                shift=asked.real(shift, "--shift"),
                minimum=minimum,
                unit=unit,
            )
            mechanism.check(data)
        asked.fits(book, mechanism)
        made = None if dry_run else _release(mechanism, data, book, rng, out, report)
    with nullcontext() if made is None else _complete(book, out):
        record = plan(mechanism, rng, book) if made is None else outcome(mechanism, made, out, book)
        if as_json:
            emit(record)
        else:
            show_release(record)
        sys.stdout.flush()


def _release(
    mechanism: InequalityMechanism,
    data: Incomes,
    book: Ledger | None,
    rng: BitSource,
    out: Path | None,
    report: Progress | None,
) -> Release:
    """Charge, draw and write; once they are drawn, the measurements survive a failure to write."""
    from pgsr.ledger import Ledger
    from pgsr.mechanism import release as draw

    names = [query.index for query in (*mechanism.queries, *mechanism.overall)]
    label = f"inequality {', '.join(dict.fromkeys(names))}"
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
            error.add_note(f"what was drawn is paid for and kept in {rest}: the values are point times step")
        else:
            if rest is not None:
                rest.rmdir()
            if state:
                error.add_note(state)
        raise
    if rest is not None:
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
        done = [f"it is written to {out}"] if out is not None else ["it is written nowhere"]
        if book is not None:
            done.append(f"{book.path} is charged")
        error.add_note(f"the release is complete: {', and '.join(done)}")
        raise
