"""The record of a disclosure review of a small area release: everything that its page shows, as plain data.

Before a release from the configuration and the public columns of its files; of a finished release from its
folder, and from the configuration if that is given. The column of direct estimates is never read, nor are
variances that come from the same data.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from pgsr.config.loading import NO_LEDGER
from pgsr.config.sae import SaeConfig, load_sae_config
from pgsr.config.sae_public import PublicQuery, read_public_query
from pgsr.errors import BudgetError, InputError
from pgsr.ledger import Ledger
from pgsr.noise import SeededBits, SystemBits
from pgsr.privacy import PrivacyEvent
from pgsr.provenance import versions
from pgsr.report.sae_compared import charged, compared
from pgsr.report.sae_design import lever_facts
from pgsr.report.sae_facts import area_facts, cost_facts, error_facts
from pgsr.report.sae_released import read_released, released_facts
from pgsr.report.sae_review_weights import PLACES, ReviewOptions, Sizes
from pgsr.report.sae_words import checklist, looked_at
from pgsr.sae.statement import CONDITIONAL

Record = dict[str, Any]

_PACKAGES = ("pgsr", "numpy", "scipy", "pyarrow", "dp-accounting", "matplotlib", "jinja2")


def review_configuration(path: Path, options: ReviewOptions, created: str) -> Record:
    """The record of a planned release; InputError for anything that `pgsr sae release` refuses too.

    `created` is the time that the page states.
    """
    config = load_sae_config(path)
    query = read_public_query(config, path)
    record = _empty("configuration", path.stem, created)
    record |= _planned(config, query, path, options)
    rng = _bits(config)
    conditional = query.mechanism is None
    if query.mechanism is None:
        statement: Record = {
            "text": CONDITIONAL,
            "public": list(query.frame.items()),
            "invariants": ["the sampling variances D_i and the model variance A"],
            "sampler": "idealised",
            "randomness": rng.description,
            "secure": rng.secure,
        }
    else:
        statement = query.mechanism.guarantee(rng).to_dict()
        record |= cost_facts(query.mechanism, options.records)
    record |= {"conditional": conditional, "guarantee": statement}
    record["ledger"] = _ledger(config, path, None if query.mechanism is None else query.mechanism.event)
    return _worded(record)


def review_release(folder: Path, config: Path | None, options: ReviewOptions, created: str) -> Record:
    """The record of a finished release; with its configuration also the costs by area, and comparisons."""
    made = read_released(folder)
    record = _empty("release", folder.resolve().name, created)
    facts = released_facts(made, folder, options.records)
    if config is not None:
        settings = load_sae_config(config)
        query = read_public_query(settings, config)
        if query.mechanism is None or facts["conditional"]:
            way_out = "a conditional release is compared with nothing: leave --config out"
            raise InputError("variances from the same data", str(config), way_out)
        facts["checks"] += compared(made, query.mechanism, _bits(settings))
        record |= _planned(settings, query, config, options)
        record["compared"] = True
        record["ledger"] = _ledger(settings, config, None)
        if settings.privacy.ledger != NO_LEDGER or not made.provenance.seeded:
            found = charged(made, _book(settings, config), record["ledger"]["note"].rstrip("."))
            facts["checks"].append(found)
            record["charges"] = found["charges"]
    elif options != ReviewOptions(records=options.records):
        raise InputError("the folder of a release has no columns to look at", "options", "give --config too")
    event = made.guarantee.event
    record |= facts
    record |= {
        "records": options.records,
        "unit": event.unit,
        "moves": bool(facts["parameters"].get("moves", False)),
        "areas_count": len(facts["estimates"]),
        "source": facts["parameters"].get("variance_source"),
        "release_versions": facts["versions"],
        "versions": versions(_PACKAGES),
        "digests": {
            **_digests(facts["parameters"]),
            "parameters of the release": facts["config_digest"],
        },
    }
    return _worded(record)


def _empty(what: str, name: str, created: str) -> Record:
    """The keys that every record has."""
    lists = ("areas", "estimates", "files", "checks", "epsilons")
    nothing = ("settings", "errors", "trimming", "ledger", "most_exposed", "event", "rho", "source")
    return {
        "what": what,
        "name": name,
        "created": created,
        "compared": False,
        "charges": 0,
        "records": None,
        "tight_by": "",
        "draws": 0,
        "from": "",
        "bounded": False,
        "hidden": "",
        "neighbours": "",
        "parameters": {},
        "stages": {},
        "levers": {},
        "whole": {},
        "release_versions": {},
        "versions": versions(_PACKAGES),
        "digests": {},
        **{key: [] for key in lists},
        **dict.fromkeys(nothing),
    }


def _planned(config: SaeConfig, query: PublicQuery, path: Path, options: ReviewOptions) -> Record:
    """What follows from a configuration and public columns."""
    frame, mechanism = query.frame, query.mechanism
    found: Record = {
        "kind": config.release.kind,
        "variances": config.release.variances,
        "unit": frame.unit,
        "moves": frame.moves,
        "from": "file of areas" if config.records is None or frame.moves else "file of records",
        "bounded": config.records is not None and frame.moves,
        "hidden": _hidden(config),
        "areas_count": frame.m,
        "draws": 0 if config.release.kind == "noisy-direct" else config.release.draws,
        "source": config.release.source,
        "records": options.records,
        "neighbours": frame.neighbours(),
        "settings": _settings(config),
        **area_facts(mechanism, frame),
    }
    sizes = Sizes.read(config, query, path, options)
    sizes.add_to(found["areas"])
    if mechanism is None:
        return found
    with query.table.named(PLACES):
        found["errors"] = error_facts(mechanism)
        found["levers"] = lever_facts(
            mechanism,
            target=options.target,
            counts=sizes.counts,
            kish=sizes.kish,
            lower=sizes.lower,
            upper=sizes.upper,
        )
    found["trimming"] = sizes.trimming(query, options.bias)
    found["parameters"] = mechanism.parameters()
    found["digests"] = {
        "configuration file": hashlib.sha256(path.read_bytes()).hexdigest(),
        **_digests(found["parameters"]),
    }
    return found


def _bits(config: SaeConfig) -> SystemBits | SeededBits:
    """The random bits that the configuration asks for."""
    seed = config.privacy.seed
    return SystemBits() if seed is None else SeededBits(seed)


def _settings(config: SaeConfig) -> Record:
    """The settings that were given, without what may come from the data."""
    shown: Record = {}
    for part in ("areas", "records", "release", "privacy"):
        given = getattr(config, part)
        if given is not None and given.model_fields_set:
            names = [name for name in type(given).model_fields if name in given.model_fields_set]
            shown[part] = {name: _text(getattr(given, name)) for name in names}
    if config.release.variances == "invariant":
        shown["release"].pop("model_variance", None)
    return shown


def _text(value: Any) -> Any:
    if isinstance(value, Path):
        return value.name
    if isinstance(value, tuple):
        return ", ".join(str(entry) for entry in value) or "none"
    return value if isinstance(value, (bool, int, float, str)) else str(value)


def _hidden(config: SaeConfig) -> str:
    """The confidential column, in words."""
    if config.records is not None:
        return f"the column '{config.records.outcome}' of outcomes"
    return f"the column '{config.areas.direct}' of direct estimates"


def _digests(parameters: Record) -> dict[str, str]:
    """The digests of public columns among the parameters."""
    ending = "_sha256"
    return {
        name.removesuffix(ending).replace("_", " "): str(value)
        for name, value in parameters.items()
        if name.endswith(ending) and value is not None
    }


def _book(config: SaeConfig, path: Path) -> Ledger | None:
    """The ledger of a configuration, or None if it has none yet."""
    place = path.parent / config.privacy.ledger
    return None if config.privacy.ledger == NO_LEDGER or not place.exists() else Ledger.open(place)


def _ledger(config: SaeConfig, path: Path, event: PrivacyEvent | None) -> Record:
    """The state of the ledger, and whether it suffices for `event`; `note` says why there is none."""
    empty = {"file": config.privacy.ledger, "note": "", "missing": False, "suffices": None, "reason": ""}
    if config.privacy.ledger == NO_LEDGER:
        why = (
            "a conditional figure is charged to no ledger."
            if config.release.variances == "invariant"
            else 'an experiment with a fixed seed and ledger = "none".'
        )
        return {**empty, "note": f"There is no ledger: {why}"}
    book = _book(config, path)
    if book is None:
        return {**empty, "note": f"The ledger {config.privacy.ledger} does not exist yet.", "missing": True}
    found: Record = {**empty, **book.to_dict()}
    if event is not None:
        try:
            book.check(event)
            found["suffices"] = True
        except BudgetError as error:
            found |= {"suffices": False, "reason": error.what}
    return found


def _worded(record: Record) -> Record:
    """The record with the sentences that follow from it."""
    if record["trimming"] is not None:
        fits = record["trimming"]["sensitivity_agrees"]
        check = {"check": "the sensitivities are those of the survey weights", "holds": fits}
        record["checks"] = [*record["checks"], check]
    record["looked_at"], record["not_looked_at"] = looked_at(record)
    record["checklist"] = checklist(record)
    return record
