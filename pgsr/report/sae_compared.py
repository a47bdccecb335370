"""A finished small area release against its configuration and ledger: all that can be computed again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

import numpy as np

from pgsr.errors import InputError
from pgsr.ledger import Ledger
from pgsr.mechanism import Columns, Release
from pgsr.noise import BitSource
from pgsr.provenance import digest
from pgsr.report.sae_contents import contents
from pgsr.report.sae_facts import Mechanism, Record
from pgsr.report.sae_release_checks import close
from pgsr.sae.draws import MeasuredDraws, PosteriorMechanism
from pgsr.sae.noisydirect import MeasuredDirect, NoisyDirectMechanism
from pgsr.sae.threestage import MeasuredStages

_ROUNDING = 1e-6
"""Relative: fits are iterated, and other machines add up in another order."""


def compared(made: Release, mechanism: Mechanism, rng: BitSource) -> list[Record]:
    """Whether a release is that of a configuration: parameters, cost, guarantee and all that was published.

    `rng` are the random bits that the configuration asks for.
    """
    now, then = mechanism.parameters(), made.provenance.parameters
    differ = sorted(name for name in {*now, *then} if _plain(now, name) != _plain(then, name))
    same = mechanism.name == made.provenance.mechanism
    text = "the parameters and public columns of the configuration are those of the release"
    found = [
        ("the configuration asks for this kind of release", same),
        (text if not differ else f"{text}; they differ in: {', '.join(differ)}", not differ),
        (
            "the cost computed again from the public columns is that of the guarantee",
            mechanism.event == made.guarantee.event,
        ),
        (
            "the guarantee of the configuration is that of the release, word for word",
            mechanism.guarantee(rng).to_dict() == made.guarantee.to_dict(),
        ),
    ]
    wrong = _again(made, mechanism) if same else sorted(contents(made))
    text = "all tables, computed again from the noisy measurements, are those of the release"
    found.append((text if not wrong else f"{text}; they differ in: {', '.join(wrong)}", not wrong))
    return [{"check": check, "holds": holds} for check, holds in found]


def _again(made: Release, mechanism: Mechanism) -> list[str]:
    """Tables and columns that do not follow from what was measured."""
    tables = made.measurements
    try:
        if isinstance(mechanism, NoisyDirectMechanism):
            direct = MeasuredDirect(points=tables["noisy"]["point"])
            again = {**mechanism.measurements(direct), **mechanism.estimate(direct).tables}
        else:
            count = mechanism.draws
            values = tables["draws"]["value"].reshape(count, -1)
            if isinstance(mechanism, PosteriorMechanism):
                draws = MeasuredDraws(values=values)
                again = {**mechanism.measurements(draws), **mechanism.estimate(draws).tables}
            else:
                stages = MeasuredStages(
                    proportion=float(tables["stages"]["proportion"][0]),
                    beta=tables["coefficients"]["value"],
                    square=float(tables["stages"]["clipped_square"][0]),
                    values=values,
                )
                again = {**mechanism.measurements(stages), **mechanism.estimate(stages).tables}
    except (InputError, KeyError, IndexError, ValueError, ArithmeticError, np.linalg.LinAlgError):
        return sorted(contents(made))
    there = {**made.estimate.tables, **made.measurements}
    wrong = sorted(set(again) ^ set(there))
    for name in sorted(set(again) & set(there)):
        wrong += _different(name, again[name], there[name])
    return wrong


def _different(name: str, ours: Columns, theirs: Columns) -> list[str]:
    columns = sorted(set(ours) ^ set(theirs))
    columns += sorted(
        column for column in set(ours) & set(theirs) if not close(ours[column], theirs[column], _ROUNDING)
    )
    return [f"{name}.{column}" for column in columns]


def charged(made: Release, ledger: Ledger | None, missing: str) -> Record:
    """Whether the ledger was charged before the release was made; `missing` says why there is none."""
    event, label = made.guarantee.event, made.provenance.label
    text = "the ledger has a charge of this cost and label"
    if ledger is None:
        return {"check": f"{text}: {missing}", "holds": False, "charges": 0}
    found = [entry for entry in ledger.entries if entry.event == event and entry.label == label]
    before = [entry for entry in found if _seconds(entry.time, made.provenance.created) >= 0]
    if not before:
        why = ", but only after the release was made" if found else ""
        return {"check": f"{text}{why}", "holds": False, "charges": len(found)}
    last = before[-1]
    gap = _seconds(last.time, made.provenance.created)
    many = "" if len(found) == 1 else f"; {len(found)} charges are like it, for as many releases"
    return {
        "check": f"{text}: entry {last.number} of {last.time}, {gap:,.0f} s before the release{many}",
        "holds": True,
        "charges": len(found),
    }


def _seconds(first: str, second: str) -> float:
    """From one time to another; negative infinity for a text that is no time."""
    read: Callable[[str], datetime] = datetime.fromisoformat
    try:
        return (read(second) - read(first)).total_seconds()
    except (TypeError, ValueError):
        return -np.inf


def _plain(parameters: Mapping[str, Any], name: str) -> str:
    """A parameter as it is after JSON, comparable."""
    return digest({"there": name in parameters, "value": parameters.get(name)})
