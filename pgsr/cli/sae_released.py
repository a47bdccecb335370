"""What `pgsr sae release` shows, a plan or an outcome: as one record, and for people."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from pgsr.cli.output import console, heading, line, pairs, paragraph, table
from pgsr.cli.released import (
    decimal,
    enough,
    ledger_record,
    show_guarantee,
    show_ledger,
    show_secure,
    show_written,
)
from pgsr.cli.sae_levers import WAYS, rows_of
from pgsr.cli.sae_shown import MOST_ROWS

if TYPE_CHECKING:
    from pgsr.config.sae import SaeConfig
    from pgsr.config.sae_query import AreaQuery, ConditionalQuery
    from pgsr.ledger import Ledger
    from pgsr.mechanism import Release
    from pgsr.noise import BitSource


def plan(
    query: AreaQuery | ConditionalQuery, settings: SaeConfig, rng: BitSource, ledger: Ledger | None
) -> dict[str, Any]:
    """What a dry run shows: cost, guarantee, expected errors, and whether the ledger suffices."""
    from pgsr.config.sae_query import AreaQuery
    from pgsr.sae.statement import CONDITIONAL

    shared = {"dry_run": True, "out": None, "ledger": ledger_record(ledger), **_asked(settings)}
    names = ("suffices", "cost", "parameters", "mean_mse", "areas", "stages")
    empty: dict[str, Any] = dict.fromkeys(names)
    if not isinstance(query, AreaQuery):
        # The figure depends on the data: it is computed with the draw alone.
        return {
            **shared,
            **empty,
            "conditional": True,
            "guarantee": {"text": CONDITIONAL, "secure": rng.secure},
        }
    mechanism = query.mechanism
    return {
        **shared,
        "conditional": False,
        "suffices": enough(ledger, mechanism.event),
        "cost": mechanism.event.to_dict(),
        "parameters": mechanism.parameters(),
        "mean_mse": _errors(query),
        "areas": None,
        "stages": None,
        "guarantee": mechanism.guarantee(rng).to_dict(),
    }


def outcome(made: Release, settings: SaeConfig, out: Path | None, ledger: Ledger | None) -> dict[str, Any]:
    """What a release shows."""
    return {
        "dry_run": False,
        "out": None if out is None else str(out),
        "ledger": ledger_record(ledger),
        **_asked(settings),
        "conditional": settings.release.variances == "invariant",
        "suffices": None,
        "cost": made.guarantee.event.to_dict(),
        "parameters": made.provenance.parameters,
        "mean_mse": None,
        "areas": rows_of(made.estimate.tables["areas"]),
        "stages": rows_of(made.measurements["stages"])[0] if "stages" in made.measurements else None,
        "guarantee": made.guarantee.to_dict(),
    }


def _asked(settings: SaeConfig) -> dict[str, Any]:
    return {"kind": settings.release.kind, "variances": settings.release.variances}


def _errors(query: AreaQuery) -> dict[str, float] | None:
    """Mean squared errors of the ways to spend the same rho, where all variances are public."""
    from pgsr.sae.accuracy import equal_rho_errors
    from pgsr.sae.draws import PosteriorMechanism

    found = query.mechanism
    if not isinstance(found, PosteriorMechanism) or found.kind != "joint" or found.frame.moves:
        return None
    _, errors = equal_rho_errors(found.posterior, found.frame.sensitivity, found.draws)
    return {name: float(column.mean()) for name, column in errors.items()}


def show_release(record: dict[str, Any]) -> None:
    """The same for people."""
    cost = record["cost"]
    if record["conditional"]:
        heading("small areas: a CONDITIONAL figure, not differential privacy")
    else:
        verb = "costs" if record["dry_run"] else "cost"
        heading(f"small areas: {verb} rho {decimal(cost['rho'])} for one {cost['unit']}")
    paragraph(f"Release: {record['kind']}, variances {record['variances']}.")
    if record["areas"] is not None:
        shown = record["areas"][:MOST_ROWS]
        names = [name for name in ("area", "estimate", "sd", "lower", "upper") if name in shown[0]]
        table(names, [[row[name] for name in names] for row in shown])
        if len(record["areas"]) > len(shown):
            line(f"{len(record['areas']) - len(shown)} more in {Path(record['out']) / 'areas.csv'}")
    if record["stages"] is not None:
        _show_model(record["stages"])
    if record["mean_mse"] is not None:
        console().print()
        heading("accuracy at this rho: mean squared error, mean over the areas")
        pairs({text: record["mean_mse"][name] for name, text in WAYS.items()})
    show_secure(record["guarantee"])
    show_guarantee(record["guarantee"], "statement" if record["conditional"] else "guarantee")
    show_ledger(record["ledger"], record["suffices"])
    if record["out"] is None:
        line("nothing was spent and nothing written")
    else:
        show_written(record["out"])


def _show_model(stages: dict[str, float]) -> None:
    """What the draws took for A, and what the intervals count with."""
    found, upper = stages["model_variance"], stages["model_variance_upper"]
    paragraph(f"Model variance of the draws: {found:.4g}; of the intervals: {upper:.4g}, its upper bound.")
    if found == 0:
        text = "no model variance was found, so the draws keep nothing of an area but its regression"
        paragraph(f"Mind: {text}.", style="bold")
