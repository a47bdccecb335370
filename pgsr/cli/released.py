"""What `pgsr release` shows: a plan, or an outcome, as one record and for people. Nothing confidential."""

from __future__ import annotations

import os
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pgsr.cli.output import console, heading, line, pairs, paragraph, table

if TYPE_CHECKING:
    from pgsr.config import Query, ReleaseConfig
    from pgsr.ledger import Ledger
    from pgsr.mechanism import Release
    from pgsr.privacy import PrivacyEvent


_CELL = {"hierarchical": "count", "cumulative": "cumulative count"}


def plan(settings: ReleaseConfig, queries: Sequence[Query], ledger: Ledger | None) -> dict[str, Any]:
    """What a dry run shows: cost, expected errors, and whether the ledger suffices. Nothing is spent."""
    from pgsr.noise import SeededBits, SystemBits

    rng = SystemBits() if settings.privacy.seed is None else SeededBits(settings.privacy.seed)
    return {
        "dry_run": True,
        "from_noisy": None,
        "out": None,
        "ledger": ledger_record(ledger),
        "suffices": enough(ledger, [query.mechanism.event for query in queries]),
        "queries": [
            {**_described(query), "guarantee": query.mechanism.guarantee(rng).to_dict(), "solve": None}
            for query in queries
        ],
    }


def outcome(
    done: Sequence[tuple[Query, Release]], out: Path, ledger: dict[str, Any] | None
) -> dict[str, Any]:
    """What a release shows; nothing in it is confidential."""
    return {
        "dry_run": False,
        "from_noisy": None,
        "out": str(out),
        "ledger": ledger,
        "suffices": None,
        "queries": [
            {
                **_described(query),
                "guarantee": made.guarantee.to_dict(),
                "solve": None if made.provenance.solve is None else made.provenance.solve.to_dict(),
            }
            for query, made in done
        ],
    }


def _described(query: Query) -> dict[str, Any]:
    """Public facts about a query."""
    return {
        "name": query.name,
        "model": query.mechanism.model,
        "cost": query.mechanism.event.to_dict(),
        "total": query.mechanism.total,
        "total_from": query.total_from,
        "levels": [level.to_dict() for level in query.mechanism.expected_error()],
    }


def enough(ledger: Ledger | None, events: PrivacyEvent | Sequence[PrivacyEvent]) -> bool | None:
    """Whether a ledger has enough left for a cost, or for several together; None without a ledger."""
    from pgsr.errors import BudgetError

    if ledger is None:
        return None
    try:
        ledger.check(events)
    except BudgetError:
        return False
    return True


def ledger_record(ledger: Ledger | None) -> dict[str, Any] | None:
    """Where the ledger is, what is spent and what is left."""
    if ledger is None:
        return None
    return {
        "file": str(ledger.path),
        "spent": ledger.spent.to_dict(),
        "remaining": ledger.remaining.to_dict(),
    }


def show_release(record: dict[str, Any]) -> None:
    """The same for people."""
    for query in record["queries"]:
        cost = ", ".join(
            f"{name} {query['cost'][name]}" for name in ("epsilon", "rho", "delta") if name in query["cost"]
        )
        verb = "costs" if record["dry_run"] else "cost"
        if record["from_noisy"] is not None:
            verb = "costs nothing; the measurements cost"
        heading(f"{query['name'] or 'release'}: {verb} {cost} for one {query['cost']['unit']}")
        paragraph(f"{query['total']:,} units, from {query['total_from']}.")
        table(
            ("level", "cells", "share", "noise", "a cell", "L1", "EMD"),
            [
                (
                    row["level"],
                    row["cells"],
                    row["share"],
                    row["noise"],
                    row["absolute"],
                    row["l1"],
                    row["emd"],
                )
                for row in query["levels"]
            ],
        )
        paragraph(
            f"Expected errors before post-processing: of one noisy {_CELL[query['model']]}; L1 of the counts "
            "of the level; EMD, the L1 of its cumulative counts.",
            style="dim",
        )
        show_secure(query["guarantee"])
        solve = query["solve"]
        if solve is not None:
            largest = max(solve["violations"].values(), default=None)
            pairs(
                {
                    "solver": f"{solve['solver']} {solve['version']}, {solve['termination']}",
                    "objective": solve["objective"],
                    "gap": solve["gap"],
                    "largest violation": largest,
                    "proven optimal": solve["certificate"],
                    "seconds": solve["solve_s"],
                }
            )
        show_guarantee(query["guarantee"])
    show_ledger(record["ledger"], record["suffices"])
    if record["out"] is None:
        line("nothing was spent and nothing written")
        return
    line(f"written: {record['out']}")
    names = [query["name"] for query in record["queries"] if query["name"]]
    for folder in names or [""]:
        for name in sorted(os.listdir(Path(record["out"]) / folder)):
            line(f"  {Path(folder) / name}")


def show_secure(guarantee: dict[str, Any]) -> None:
    """A warning if the noise can be made again."""
    if not guarantee["secure"]:
        paragraph("FIXED SEED: NOT PRIVATE. For experiments only.", style="bold red")


def show_guarantee(guarantee: dict[str, Any], title: str = "guarantee") -> None:
    """The sentences of a guarantee under a title."""
    console().print()
    heading(title)
    paragraph(guarantee["text"])
    console().print()


def show_ledger(ledger: dict[str, Any] | None, suffices: bool | None) -> None:
    """What is left in a ledger, and whether it is enough."""
    if ledger is None:
        return
    left = ", ".join(f"{k} {decimal(v)}" for k, v in ledger["remaining"].items() if k != "formula")
    line(f"ledger: {left} left in {ledger['file']}")
    if suffices is not None:
        line("it suffices" if suffices else "it does NOT suffice for this release")


def show_written(out: str) -> None:
    """The files of a release."""
    line(f"written: {out}")
    for name in sorted(os.listdir(out)):
        line(f"  {name}")


def decimal(text: str) -> str:
    """An exact fraction for people; other texts as they are."""
    from pgsr.privacy import show

    try:
        return show(Fraction(text))
    except ValueError:
        return text
