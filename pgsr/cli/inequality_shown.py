"""What `pgsr inequality` shows: as one record, and for people."""

from __future__ import annotations

from dataclasses import asdict
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pgsr.cli.output import console, heading, line, pairs, paragraph, show, table
from pgsr.cli.released import (
    decimal,
    enough,
    ledger_record,
    show_guarantee,
    show_ledger,
    show_secure,
    show_written,
)

if TYPE_CHECKING:
    from pgsr.inequality import Domain, Sensitivity
    from pgsr.inequality.mechanism import InequalityMechanism
    from pgsr.ledger import Ledger
    from pgsr.mechanism import Release
    from pgsr.noise import BitSource

_MOST_ROWS = 24
"""Rows of a table for people where the whole of it is in a file."""


def sensitivity_record(found: Sensitivity, domain: Domain, *, clip: bool, shift: float) -> dict[str, Any]:
    """CONFIDENTIAL: the analysis as a record."""
    return {
        "confidential": True,
        "index": found.index,
        "n": domain.n,
        "lower": domain.lower,
        "upper": domain.upper,
        "shift": shift,
        "clip": clip,
        "beta": found.beta,
        "local": found.local,
        "global": found.global_,
        "smooth": found.smooth,
        "rank": found.rank,
        "ladder": found.ladder.tolist(),
    }


def show_sensitivity(record: dict[str, Any]) -> None:
    """CONFIDENTIAL: the same for people."""
    heading(f"CONFIDENTIAL: sensitivity of {record['index']} for {record['n']:,} incomes")
    paragraph("These numbers depend on the incomes. Keep them with the data; only `global` is public.")
    console().print()
    pairs(
        {
            "local": record["local"],
            "global": record["global"],
            f"smooth, beta {record['beta']:g}": record["smooth"],
            "attained at rank": record["rank"],
        }
    )
    ladder = record["ladder"]
    if ladder:
        shown = ladder[:_MOST_ROWS]
        table(("rank", "ladder, confidential"), list(enumerate(shown)))
        if len(ladder) > len(shown):
            line(f"{len(ladder) - len(shown)} more with --json")


def plan(mechanism: InequalityMechanism, rng: BitSource, ledger: Ledger | None) -> dict[str, Any]:
    """What a dry run shows: cost, guarantee, and whether the ledger suffices. Nothing is spent."""
    return {
        "dry_run": True,
        "out": None,
        "ledger": ledger_record(ledger),
        "suffices": enough(ledger, mechanism.event),
        **_public(mechanism),
        "upper": None if _private(mechanism) else mechanism.upper,
        "indices": None,
        "guarantee": mechanism.guarantee(rng).to_dict(),
    }


def outcome(
    mechanism: InequalityMechanism, made: Release, out: Path | None, ledger: Ledger | None
) -> dict[str, Any]:
    """What a release shows; nothing in it is confidential."""
    rows = [asdict(row) for row in made.estimate.value]
    return {
        "dry_run": False,
        "out": None if out is None else str(out),
        "ledger": ledger_record(ledger),
        "suffices": None,
        **_public(mechanism),
        "upper": rows[0]["upper"],
        "indices": rows,
        "guarantee": made.guarantee.to_dict(),
    }


def _private(mechanism: InequalityMechanism) -> bool:
    """Whether the upper bound is drawn."""
    return not isinstance(mechanism.upper, float)


def _public(mechanism: InequalityMechanism) -> dict[str, Any]:
    """Cost and parameters, fixed before the data is seen."""
    one = next(iter((*mechanism.queries, *mechanism.overall)))
    total = mechanism.event.epsilon
    assert total is not None
    indices = sum((query.epsilon for query in (*mechanism.queries, *mechanism.overall)), Fraction(0))
    return {
        "cost": mechanism.event.to_dict(),
        "epsilon": {
            "index": str(one.epsilon),
            "upper": str(total - indices) if _private(mechanism) else None,
            "sum": str(total),
        },
        "parameters": mechanism.parameters(),
    }


def show_release(record: dict[str, Any]) -> None:
    """The same for people."""
    cost, groups = record["cost"], record["parameters"]["sizes"]
    verb = "costs" if record["dry_run"] else "cost"
    heading(f"inequality: {verb} epsilon {decimal(cost['epsilon'])} for one {cost['unit']}")
    many = f" in {len(groups):,} groups" if isinstance(groups, dict) else ""
    records = sum(groups.values()) if isinstance(groups, dict) else groups
    paragraph(f"{records:,} records{many}.")
    if record["indices"] is not None:
        _show_indices(record)
    show_secure(record["guarantee"])
    show_guarantee(record["guarantee"])
    show_ledger(record["ledger"], record["suffices"])
    if record["ledger"] is None and not record["dry_run"]:
        line("no ledger: this cost is recorded nowhere; --ledger FILE keeps count")
    if record["dry_run"]:
        line("nothing was spent and nothing written")
    elif record["out"] is not None:
        show_written(record["out"])


def _show_indices(record: dict[str, Any]) -> None:
    """The released indices; the first of them where all are in a file."""
    rows = record["indices"]
    shown = rows if record["out"] is None else rows[:_MOST_ROWS]
    table(
        ("group", "index", "records", "value", "epsilon", "noise"),
        [(row["group"], row["index"], row["n"], row["value"], row["epsilon"], row["noise"]) for row in shown],
    )
    if len(shown) < len(rows):
        line(f"{len(rows) - len(shown)} more in {Path(record['out']) / 'inequality.csv'}")
    parameters = record["parameters"]
    shift = f", {show(parameters['shift'])} added to each," if parameters["shift"] else ""
    drawn = "; the upper bound was drawn" if isinstance(parameters["upper"], dict) else ""
    bounds = f"between {show(rows[0]['lower'])} and {show(record['upper'])}"
    paragraph(f"Incomes{shift} count as {bounds}{drawn}.", style="dim")
