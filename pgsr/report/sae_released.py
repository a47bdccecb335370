"""What a finished small area release holds: plain records for its review, read with suspicion."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import numpy as np

from pgsr.errors import InputError
from pgsr.mechanism import Columns, Release
from pgsr.privacy import Kind
from pgsr.report.sae_contents import CONDITIONAL_DRAW, KINDS, NOISY_DIRECT, contents, dtype_kind
from pgsr.report.sae_facts import Record, epsilon_rows
from pgsr.report.sae_release_checks import folder_checks
from pgsr.sae.draws import MOST_DRAWS
from pgsr.text import CONTROL

_WAY_OUT = "restore the folder as it was written"
_TEXTS = ("area", "covariate")


def read_released(folder: Path) -> Release:
    """The release in `folder`; InputError if there is none, none of small areas, or a damaged one."""
    made = Release.load(folder)
    where = str(folder / "provenance.json")
    if made.provenance.mechanism not in KINDS or "areas" not in made.estimate.tables:
        way_out = "give a release of pgsr sae release"
        raise InputError("not a release of small areas", where, way_out)
    if made.guarantee.event.rho is None:
        raise InputError("the cost is no rho", str(folder / "guarantee.json"), _WAY_OUT)
    _parameters(made, where)
    known = contents(made)
    for name, columns in {**made.estimate.tables, **made.measurements}.items():
        if name in known:
            _table(columns, known[name].all, folder / f"{name}.parquet")
    areas = made.estimate.tables["areas"]
    place = str(folder / "areas.parquet")
    if not {"area", "estimate"} <= set(areas):
        raise InputError("no column 'area', or none of estimates", place, _WAY_OUT)
    if areas["area"].size == 0:
        raise InputError("no areas", place, _WAY_OUT)
    return made


def _parameters(made: Release, where: str) -> None:
    """The parameters that the review computes with."""
    mechanism, given = made.provenance.mechanism, made.provenance.parameters
    if not isinstance(given, dict):
        raise InputError("the parameters are damaged", where, _WAY_OUT)
    if mechanism != NOISY_DIRECT:
        draws = given.get("draws")
        if isinstance(draws, bool) or not isinstance(draws, int) or not 1 <= draws <= MOST_DRAWS:
            raise InputError("not a number of draws", f"{where}, draws", _WAY_OUT)
    if given.get("kind", "joint") not in ("joint", "marginals"):
        raise InputError("unknown kind of draw", f"{where}, kind", _WAY_OUT)
    if not isinstance(given.get("moves", False), bool):
        raise InputError("neither true nor false", f"{where}, moves", _WAY_OUT)
    texts: dict[str, Any] = {"label": made.provenance.label, "created": made.provenance.created}
    for name, text in texts.items():
        if not isinstance(text, str) or CONTROL.search(text):
            raise InputError("not plain text", f"{where}, {name}", _WAY_OUT)


def _table(columns: Columns, known: set[str], path: Path) -> None:
    """Types and finite numbers of the columns that are known; labels without control characters."""
    for name in known & set(columns):
        column, where = columns[name], f"{path}, column '{name}'"
        if column.dtype.kind != dtype_kind(name):
            raise InputError("a column of another type", where, _WAY_OUT)
        if column.dtype.kind == "f" and not bool(np.isfinite(column).all()):
            raise InputError("a number is missing or not finite", where, _WAY_OUT)
        if name in _TEXTS and any(CONTROL.search(label) for label in column.tolist()):
            raise InputError("a label with control characters", where, _WAY_OUT)


def is_conditional(made: Release) -> bool:
    """Whether anything in the release says that it is not differentially private."""
    return (
        made.guarantee.event.kind is Kind.CONDITIONAL
        or made.provenance.mechanism == CONDITIONAL_DRAW
        or made.provenance.parameters.get("variance_mode") == "invariant"
        or bool(made.guarantee.invariants)
    )


def released_facts(made: Release, folder: Path, records: int | None) -> Record:
    """What the folder says: kind, cost, guarantee, provenance, estimates by area, its files and `checks`."""
    mechanism, event = made.provenance.mechanism, made.guarantee.event
    kind, variances = KINDS[mechanism]
    parameters = dict(made.provenance.parameters)
    if kind == "noisy-direct" and parameters.get("variance_sha256") is None:
        variances = "dp"
    conditional = is_conditional(made)
    assert event.rho is not None  # by read_released
    by = ""
    epsilons: list[Record] = []
    if not conditional:
        draw = mechanism in ("sae-joint-draw", "sae-marginals-draw")
        epsilons, by = epsilon_rows(float(event.rho), event, records, gaussian=draw)
    known = contents(made)["areas"].all
    lists = {name: column.tolist() for name, column in made.estimate.tables["areas"].items() if name in known}
    rows = [dict(zip(lists, row, strict=True)) for row in zip(*lists.values(), strict=True)]
    return {
        "kind": kind if kind == "noisy-direct" else str(parameters.get("kind", kind)),
        "variances": "invariant" if conditional else variances,
        "conditional": conditional,
        "rho": float(event.rho),
        "event": event.to_dict(),
        "epsilons": epsilons,
        "tight_by": by,
        "guarantee": made.guarantee.to_dict(),
        "made": made.provenance.created,
        "label": made.provenance.label,
        "parameters": parameters,
        "versions": dict(made.provenance.versions),
        "config_digest": made.provenance.config_digest,
        "draws": 0 if mechanism == NOISY_DIRECT else int(parameters["draws"]),
        "estimates": rows,
        "stages": _stages(made),
        "files": _files(folder),
        "checks": folder_checks(made, folder),
    }


_STAGES = {
    "proportion": "proportion",
    "proportion_clamped": "proportion within its range",
    "model_variance": "model variance",
    "model_variance_upper": "its upper bound, for intervals",
}


def _stages(made: Release) -> Record:
    """What was released before the draws, for people."""
    table = made.measurements.get("stages", {})
    return {
        text: float(table[name][0]) for name, text in _STAGES.items() if name in table and table[name].size
    }


def _files(folder: Path) -> list[Record]:
    """The files, with their digests; they are published, so these give nothing away."""
    found: list[dict[str, Any]] = []
    for path in sorted(folder.iterdir()):
        if path.is_file():
            whole = path.read_bytes()
            found.append(
                {"file": path.name, "bytes": len(whole), "sha256": hashlib.sha256(whole).hexdigest()}
            )
    return found
