"""From the words of `pgsr inequality release` to the parameters of its mechanism."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pgsr.cli.paid import open_ledger
from pgsr.errors import InputError

if TYPE_CHECKING:
    from fractions import Fraction

    from pgsr.cli.incomefile import IncomeFile
    from pgsr.inequality.incomes import Incomes
    from pgsr.inequality.mechanism import InequalityMechanism
    from pgsr.inequality.query import IndexQuery
    from pgsr.inequality.upper import PrivateUpper
    from pgsr.ledger import Ledger

PRIVATE, NO_LEDGER = "private", "none"

_CREATE = "pgsr ledger create FILE --epsilon E --neighbours substitute"


class Noise(StrEnum):
    """How an index is made private."""

    LADDER = "ladder"
    """Piecewise Laplace along the ladder of sensitivities; few large errors."""
    CAUCHY = "cauchy"
    """Smooth sensitivity with Cauchy noise, best constants; smallest median error."""
    PAPER = "paper"
    """The same with the constants epsilon/8 and epsilon/2."""
    LAPLACE = "laplace"
    """Global sensitivity; the baseline."""


def ledger(name: str | None, seed: int | None, unit: str, *, dry_run: bool) -> Ledger | None:
    """The ledger to charge; None where none is given, or an experiment says that there is none."""
    if name is None:
        return None
    if name == NO_LEDGER:
        if seed is None and not dry_run:
            raise InputError(
                "only an experiment may have no ledger", "--ledger", "add --seed K, or give a file"
            )
        return None
    return open_ledger(Path(name), f"{_CREATE} --unit {unit}")


def queries(names: str, epsilon: Fraction, noise: Noise, beta: str | None) -> tuple[IndexQuery, ...]:
    """One query an index of the list `names`."""
    from pgsr.inequality.query import IndexQuery
    from pgsr.privacy import as_fraction

    smoothing = None if beta is None else as_fraction(beta, "--beta")
    return tuple(
        IndexQuery(index=name.strip(), epsilon=epsilon, noise=noise.value, beta=smoothing)
        for name in names.split(",")
    )


def real(text: str, option: str) -> float:
    """The number that was given for an option; raises InputError, naming it, for anything else."""
    from pgsr.privacy import as_fraction

    try:
        return float(as_fraction(text, option))
    except OverflowError:
        raise InputError("too large", option, "choose another unit of income") from None


def upper(upper: str, lower: float, epsilon: str | None, grid: str | None) -> float | PrivateUpper:
    """The public upper bound, or how a private one is drawn."""
    from pgsr.inequality.upper import PrivateUpper, UpperGrid
    from pgsr.privacy import as_fraction

    if upper != PRIVATE:
        for option, value in (("--epsilon-upper", epsilon), ("--upper-grid", grid)):
            if value is not None:
                raise InputError("the upper bound is public", option, "leave it out, or use --upper private")
        return real(upper, "--upper")
    if epsilon is None:
        raise InputError("a private upper bound costs", "--epsilon-upper", "give its epsilon, such as 0.15")
    start = as_fraction(lower, "--lower")
    if start <= 0:
        raise InputError("the lower bound is not positive", "--lower", "give one above 0, with --shift 1")
    ends: list[Any] = [2 * start, 10**9 * start] if grid is None else grid.split(",")
    if len(ends) not in (2, 3):
        raise InputError("not FIRST,LAST or FIRST,LAST,RATIO", "--upper-grid", "such as 1000,1e9,1.02")
    found = UpperGrid.spanning(*ends)
    if found.first <= start:
        raise InputError(
            "the first candidate is not above the lower bound", "--upper-grid", "give a larger one"
        )
    return PrivateUpper(grid=found, epsilon=as_fraction(epsilon, "--epsilon-upper"))


def overall(
    names: str | None, group: str | None, epsilon: Fraction, noise: Noise, beta: str | None
) -> tuple[IndexQuery, ...]:
    """The queries of all records together; only where there are groups."""
    if names is None:
        return ()
    if group is None:
        raise InputError("there are no groups", "--overall", "use --index, or give --group")
    return queries(names, epsilon, noise, beta)


def sizes(
    source: IncomeFile, data: Incomes, n: int | None, sizes: Path | None, *, public_sizes: bool
) -> int | dict[str, int]:
    """The public numbers of records: as stated, or those of the data.

    The number of all records is always public, so it need not be stated; groups must be said to be public.
    """
    if source.group is None:
        stated, option, unfit = n is not None, "--n", sizes is not None
    else:
        stated, option, unfit = sizes is not None, "--sizes", n is not None
    if unfit:
        which = "without" if source.group is None else "with"
        raise InputError(
            f"the numbers of records are not stated {which} --group so", "--n, --sizes", f"use {option}"
        )
    if stated == public_sizes and (stated or source.group is not None):
        what = (
            "the numbers of records are stated twice"
            if stated
            else "the public numbers of records are missing"
        )
        raise InputError(what, f"{option}, --public-sizes", "give one of them")
    if source.group is None:
        found = data.n if n is None else n
        if found < 2:
            where = source.table.source if n is None else "--n"
            raise InputError("fewer than 2 records", where, "an index needs two records or more")
        return found
    if sizes is not None:
        return source.sizes(sizes)
    assert data.labels is not None
    labels = sorted(data.labels)  # not in the order of the records, which may be that of the incomes
    return dict(zip(labels, data.sizes(labels), strict=True))


def fits(book: Ledger | None, mechanism: InequalityMechanism) -> None:
    """Refuse a ledger for another unit or other neighbours, and say how one is made that fits."""
    event = mechanism.event
    if book is None or (book.unit, book.neighbours) == (event.unit, event.neighbours):
        return
    raise InputError(
        f"the ledger is for one {book.unit} and neighbours {book.neighbours.value}",
        str(book.path),
        f"make another: {_CREATE} --unit {event.unit}",
    )
