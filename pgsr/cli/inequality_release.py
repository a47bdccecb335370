"""`pgsr inequality release`: from incomes to private indices, at the expense of a ledger."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated

import typer

from pgsr.cli import inequality_asked as asked
from pgsr.cli.inequality_asked import Noise
from pgsr.cli.options import Json, new_folder
from pgsr.cli.output import bars, emit
from pgsr.cli.paid import complete, paid_release

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
        made = None
        if not dry_run:
            names = [query.index for query in (*mechanism.queries, *mechanism.overall)]
            made = paid_release(
                mechanism,
                data,
                book=book,
                rng=rng,
                out=out,
                label=f"inequality {', '.join(dict.fromkeys(names))}",
                report=report,
                kept=": the values are point times step",
            )
    with nullcontext() if made is None else complete(out, book and book.path):
        record = plan(mechanism, rng, book) if made is None else outcome(mechanism, made, out, book)
        if as_json:
            emit(record)
        else:
            show_release(record)
        sys.stdout.flush()
