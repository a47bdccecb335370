"""What a finished small area release holds, and whether it is what it says: plain records for its review."""

from __future__ import annotations

import csv
import hashlib
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from pgsr.errors import InputError
from pgsr.ledger import Ledger
from pgsr.mechanism import Release
from pgsr.privacy import Kind
from pgsr.provenance import digest
from pgsr.report.sae_facts import Mechanism, Record, epsilon_rows
from pgsr.sae.draws import Z95

KINDS = {
    "sae-joint-draw": ("joint", "public"),
    "sae-marginals-draw": ("marginals", "public"),
    "sae-three-stage-draw": ("joint", "dp"),
    "sae-noisy-direct": ("noisy-direct", "public"),
    "sae-conditional-draw": ("joint", "invariant"),
}
_ALWAYS = {"area", "estimate"}
_INTERVAL = {"sd", "lower", "upper"}
_MORE = {
    "sae-joint-draw": _INTERVAL | {"reshrunk", "reshrunk_sd"},
    "sae-marginals-draw": _INTERVAL,
    "sae-three-stage-draw": _INTERVAL | {"reshrunk", "reshrunk_sd", "variance", "floored"},
    "sae-noisy-direct": _INTERVAL | {"variance"},
    "sae-conditional-draw": set(),
}
"""Columns of the table `areas` by mechanism, beyond label and estimate."""


def read_released(folder: Path) -> Release:
    """The release in `folder`; InputError if there is none, or none of small areas."""
    made = Release.load(folder)
    if made.provenance.mechanism not in KINDS or "areas" not in made.estimate.tables:
        way_out = "give a release of pgsr sae release"
        raise InputError("not a release of small areas", str(folder / "provenance.json"), way_out)
    return made


def released_facts(made: Release, folder: Path, records: int | None) -> Record:
    """What the folder says: kind, cost, guarantee, provenance, estimates by area, its files and `checks`."""
    mechanism, event = made.provenance.mechanism, made.guarantee.event
    kind, variances = KINDS[mechanism]
    parameters = dict(made.provenance.parameters)
    if kind == "noisy-direct" and parameters.get("variance_sha256") is None:
        variances = "dp"
    kind = str(parameters.get("kind", kind))
    conditional = event.kind is Kind.CONDITIONAL
    assert event.rho is not None
    by = ""
    epsilons: list[Record] = []
    if not conditional:
        draw = mechanism in ("sae-joint-draw", "sae-marginals-draw")
        epsilons, by = epsilon_rows(float(event.rho), event, records, gaussian=draw)
    areas = made.estimate.tables["areas"]
    lists = {name: column.tolist() for name, column in areas.items()}
    rows = [dict(zip(lists, row, strict=True)) for row in zip(*lists.values(), strict=True)]
    return {
        "kind": kind,
        "variances": variances,
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
        "draws": int(parameters.get("draws", 0)),
        "estimates": rows,
        "files": _files(folder),
        "checks": [{"check": check, "holds": holds} for check, holds in _checks(made, folder)],
    }


def _files(folder: Path) -> list[Record]:
    """The files, with their digests; they are published, so these give nothing away."""
    found = []
    for path in sorted(folder.iterdir()):
        if path.is_file():
            whole = path.read_bytes()
            found.append(
                {"file": path.name, "bytes": len(whole), "sha256": hashlib.sha256(whole).hexdigest()}
            )
    return found


def _checks(made: Release, folder: Path) -> list[tuple[str, bool]]:
    """What must hold of every release, whatever the data were."""
    name, areas = made.provenance.mechanism, made.estimate.tables["areas"]
    tables, noisy = made.estimate.tables, made.measurements
    listed = {"guarantee.json", "provenance.json"}
    listed |= {f"{table}.{ending}" for table in tables for ending in ("parquet", "csv")}
    listed |= {f"{table}.parquet" for table in noisy}
    found = [
        (
            "the folder holds the files of the release and nothing else",
            {path.name for path in folder.iterdir()} == listed,
        ),
        (
            "the table 'areas' has only columns that this kind of release publishes",
            _ALWAYS <= set(areas) <= _ALWAYS | _MORE[name],
        ),
        ("areas.csv says the same as areas.parquet", _same_as_csv(areas, folder / "areas.csv")),
        (
            "the digest of the parameters is that of the record",
            digest(made.provenance.parameters) == made.provenance.config_digest,
        ),
        (
            "the random bits cannot be reproduced",
            made.guarantee.secure and not made.provenance.seeded,
        ),
    ]
    if {"sd", "lower", "upper"} <= set(areas):
        half = Z95 * areas["sd"]
        ends = np.array([areas["estimate"] - half, areas["estimate"] + half])
        holds = np.allclose(ends, np.array([areas["lower"], areas["upper"]]), rtol=1e-9, atol=0)
        found.append(("the intervals are estimate +- 1.96 sd", bool(holds)))
    if "draws" in noisy:
        count = int(made.provenance.parameters.get("draws", 0))
        holds = _draws_fit(noisy["draws"], areas, count)
        many = "one draw" if count == 1 else f"{count} draws"
        found.append((f"each area has {many}, and the estimates are the means", holds))
    return found


def _draws_fit(draws: Any, areas: Any, count: int) -> bool:
    """Whether each area has `count` draws with the estimate as their mean."""
    labels = areas["area"].tolist()
    place = {label: row for row, label in enumerate(labels)}
    sums, seen = np.zeros(len(labels)), np.zeros(len(labels), dtype=int)
    for label, value in zip(draws["area"].tolist(), draws["value"].tolist(), strict=True):
        if label not in place:
            return False
        sums[place[label]] += value
        seen[place[label]] += 1
    if count < 1 or bool((seen != count).any()):
        return False
    return bool(np.allclose(sums / count, areas["estimate"], rtol=1e-9, atol=1e-12))


def _same_as_csv(areas: Any, path: Path) -> bool:
    try:
        with path.open(newline="", encoding="utf-8") as stream:
            head, *rows = list(csv.reader(stream))
    except (OSError, ValueError, csv.Error):
        return False
    if head != list(areas) or len(rows) != len(areas["area"]):
        return False
    for name, column in zip(head, zip(*rows, strict=True), strict=True):
        if areas[name].dtype.kind in "iuf":
            try:
                same = [float(cell) for cell in column] == areas[name].tolist()
            except ValueError:
                return False
        elif areas[name].dtype.kind == "b":
            same = [cell == "true" for cell in column] == areas[name].tolist()
        else:
            same = list(column) == areas[name].tolist()
        if not same:
            return False
    return True


def compared(made: Release, mechanism: Mechanism) -> list[Record]:
    """Whether a release is that of a configuration: its cost, and each public parameter by name."""
    now, then = mechanism.parameters(), made.provenance.parameters
    differ = sorted(name for name in {*now, *then} if _plain(now.get(name)) != _plain(then.get(name)))
    same = mechanism.name == made.provenance.mechanism
    text = "the parameters and public columns of the configuration are those of the release"
    return [
        {"check": "the configuration asks for this kind of release", "holds": same},
        {
            "check": text if not differ else f"{text}; they differ in: {', '.join(differ)}",
            "holds": not differ,
        },
        {
            "check": "the cost computed again from the public columns is that of the guarantee",
            "holds": mechanism.event == made.guarantee.event,
        },
    ]


def charged(made: Release, ledger: Ledger) -> Record:
    """Whether the ledger has a charge of this cost and label."""
    event, label = made.guarantee.event, made.provenance.label
    found = [entry for entry in ledger.entries if entry.event == event and entry.label == label]
    when = f", entry {found[-1].number} of {found[-1].time}" if found else ""
    return {"check": f"the ledger has a charge of this cost and label{when}", "holds": bool(found)}


def _plain(value: Any) -> Any:
    """Parameters as they are after JSON."""
    if isinstance(value, Fraction):
        return str(value)
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_plain(entry) for entry in value]
    return value
