"""The disclosure review of a small area release as one HTML page, from the record of `pgsr sae review`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pgsr.privacy import as_fraction, show
from pgsr.report.page import Block, FactsBlock, ListBlock, Page, Section, TableBlock, TextBlock
from pgsr.report.sae_page_areas import areas_section, estimates_section, picture
from pgsr.report.sae_page_ways import levers_section, ways_section
from pgsr.report.sae_words import NOT_DP, ORIGINS, SEEDED, asked, delta_text, most_exposed, no_budget

Record = dict[str, Any]

ROWS = 40
"""Areas in a table, unless all are asked for."""


def review_page(record: Record, *, rows: int | None = ROWS) -> Page:
    """The page; `rows` areas at most in a table, None for all."""
    release = record["what"] == "release"
    lead: list[Block] = []
    if record["conditional"]:
        lead.append(TextBlock(text=NOT_DP, tone="warning"))
    if not record["guarantee"]["secure"]:
        lead.append(TextBlock(text=SEEDED, tone="warning"))
    broken = [check["check"] for check in record["checks"] if not check["holds"]]
    if broken:
        lead.append(TextBlock(text=f"Does NOT hold: {'; '.join(broken)}.", tone="warning"))
    if no_budget(record):
        lead.append(TextBlock(text=no_budget(record), tone="warning"))
    lead.append(FactsBlock(facts=_summary(record)))
    made = [
        _asked(record),
        _guarantee(record),
        _cost(record),
        estimates_section(record, rows) if release else None,
        areas_section(record, rows),
        ways_section(record),
        None if release else levers_section(record),
        _checks(record),
        _ledger(record),
        _seen(record),
        _confirm(record),
        _software(record),
    ]
    title = "Disclosure review: small area estimates"
    return Page(
        title=title,
        subtitle=f"{'Finished release' if release else 'Planned release'} “{record['name']}”. "
        f"Page made on {record['created']} by pgsr {record['versions'].get('pgsr', '')}.",
        lead=lead,
        sections=[section for section in made if section is not None],
        footer=["This page is one file, loads nothing, and holds no confidential figure that it knows of."],
    )


def _summary(record: Record) -> dict[str, Any]:
    facts: dict[str, Any] = {"released" if record["what"] == "release" else "asked": asked(record)}
    origin = record["variances"]
    facts["variances"] = ORIGINS[origin]
    if origin == "dp" and record["kind"] == "noisy-direct":
        facts["variances"] = "computed from the noisy estimates"
    if record["conditional"]:
        facts["figure"] = "computed with the draw alone: it depends on the data"
        if record["event"] is not None:
            facts["figure"] = f"rho = {_rho(record)} under the condition below, rounded up"
        facts["a privacy guarantee"] = "none"
    else:
        facts["cost"] = f"rho = {_rho(record)} (zCDP) for one {record['unit']}"
        last = record["epsilons"][-1]
        facts[f"epsilon at delta {delta_text(last['delta'])}"] = (
            f"{last['epsilon']:.4g} ({record['tight_by']}); "
            f"{last['epsilon_simple']:.4g} by the simple formula"
        )
    if record["most_exposed"] is not None:
        facts["most exposed"] = most_exposed(record)
    elif record["kind"] == "noisy-direct" and not record["conditional"]:
        facts["most exposed"] = "none: a record pays the same in every area"
    ledger = record["ledger"]
    if ledger is not None and ledger["suffices"] is not None:
        verb = "suffices" if ledger["suffices"] else "does NOT suffice"
        facts["ledger"] = f"{verb}: {_amount(ledger['remaining'])} left"
    if record["checks"]:
        holds = sum(check["holds"] for check in record["checks"])
        facts["checks"] = f"{holds} of {len(record['checks'])} hold"
    return facts


def _asked(record: Record) -> Section | None:
    if record["settings"] is None:
        facts = {name: _plain(value) for name, value in record["parameters"].items() if "sha256" not in name}
        return Section(title="What was released", blocks=[FactsBlock(facts=facts)])
    facts = {
        f"{part}.{name}": _plain(value)
        for part, keys in record["settings"].items()
        for name, value in keys.items()
    }
    return Section(title="What is asked", blocks=[FactsBlock(facts=facts)])


def _guarantee(record: Record) -> Section:
    given = record["guarantee"]
    blocks: list[Block] = [TextBlock(text=given["text"], tone="quote")]
    facts = {
        "protected": f"one {record['unit']}'s record",
        "neighbours": record["neighbours"],
        "noise": {"exact": "exact: the law of the noise is the stated one"}.get(
            given["sampler"], "idealised: the claim is for real arithmetic"
        ),
        "random bits": given["randomness"],
    }
    blocks.append(FactsBlock(facts={name: value for name, value in facts.items() if value}))
    if given["public"]:
        blocks.append(ListBlock(caption="Public, fixed, and not protected:", items=given["public"]))
    if given["invariants"]:
        blocks.append(
            ListBlock(caption="Held invariant although it comes from the data:", items=given["invariants"])
        )
    title = "The statement, which is no guarantee" if record["conditional"] else "The guarantee"
    return Section(title=title, blocks=blocks)


def _cost(record: Record) -> Section | None:
    if record["conditional"]:
        return None
    tight = f"epsilon, {record['tight_by']}"
    blocks: list[Block] = [
        TableBlock(
            columns=("delta", "", "epsilon, simple formula", tight),
            rows=[
                (delta_text(row["delta"]), row["why"], row["epsilon_simple"], row["epsilon"])
                for row in record["epsilons"]
            ],
            caption="One release as (epsilon, delta). Delta should be below one over the number of records.",
            digits=5,
        ),
        TextBlock(
            text="The simple formula is rho + 2 sqrt(rho ln(1/delta)), an upper bound of the other. The "
            "privacy loss has mean rho and variance 2 rho: it has no bound, so there is no epsilon at "
            "delta 0. k records of one unit cost k^2 rho."
        ),
    ]
    if record["records"] is None:
        blocks.append(TextBlock(text="The number of records was not given (--records).", tone="note"))
    if record["rho"] > 0:
        blocks.append(picture(record, "epsilon"))
    return Section(title="What it costs", blocks=blocks)


def _checks(record: Record) -> Section | None:
    if not record["checks"]:
        return None
    rows = [("holds" if check["holds"] else "DOES NOT HOLD", check["check"]) for check in record["checks"]]
    bad = [place for place, check in enumerate(record["checks"]) if not check["holds"]]
    return Section(title="Checks", blocks=[TableBlock(columns=("", "check"), rows=rows, marked=bad)])


def _ledger(record: Record) -> Section | None:
    ledger = record["ledger"]
    if ledger is None:
        return None
    if ledger["note"]:
        return Section(title="The ledger", blocks=[TextBlock(text=ledger["note"], tone="note")])
    facts = {"file": ledger["file"], "protects": f"one {ledger['unit']}, neighbours {ledger['neighbours']}"}
    for name in ("limit", "spent", "remaining"):
        facts[name] = _amount(ledger[name])
    if ledger["suffices"]:
        facts["this release"] = "fits into what is left"
    elif ledger["suffices"] is not None:
        facts["this release"] = f"is refused: {ledger['reason']}"
    rows = [
        (entry["number"], entry["time"], entry["label"], _amount(entry["event"]))
        for entry in ledger["entries"]
    ]
    blocks: list[Block] = [FactsBlock(facts=facts)]
    if rows:
        blocks.append(
            TableBlock(columns=("entry", "time", "label", "cost"), rows=rows, caption="Charges so far")
        )
    return Section(title="The ledger", blocks=blocks)


def _rho(record: Record) -> str:
    return show(as_fraction(record["event"]["rho"], "rho"))


def _amount(figures: Record) -> str:
    names = [name for name in ("epsilon", "rho", "delta") if figures.get(name) is not None]
    return ", ".join(f"{name} {show(as_fraction(figures[name], name))}" for name in names)


def _seen(record: Record) -> Section:
    return Section(
        title="What this page was made from",
        blocks=[
            ListBlock(caption="Read:", items=record["looked_at"]),
            ListBlock(caption="Not read:", items=record["not_looked_at"]),
        ],
    )


def _confirm(record: Record) -> Section:
    return Section(
        title="For the reviewer to confirm",
        blocks=[
            TextBlock(text="No program can check these. The figures above rest on them."),
            ListBlock(items=record["checklist"], boxes=True),
            FactsBlock(facts={"decision": "", "conditions": "", "name": "", "date": ""}),
        ],
    )


def _software(record: Record) -> Section:
    made = {
        "this page was made by": record["versions"],
        "the release was made by": record["release_versions"],
    }
    facts = {
        name: ", ".join(f"{package} {version}" for package, version in versions.items())
        for name, versions in made.items()
        if versions
    }
    blocks: list[Block] = [FactsBlock(facts=facts)]
    if record["digests"]:
        blocks.append(FactsBlock(facts=record["digests"], caption="SHA-256 of the public input"))
    if record["files"]:
        rows = [(row["file"], row["bytes"], row["sha256"]) for row in record["files"]]
        blocks.append(
            TableBlock(columns=("file", "bytes", "SHA-256"), rows=rows, caption="Files of the release")
        )
    blocks.append(
        TextBlock(
            text="Files that may hold confidential columns have no digest here, since it would help to guess "
            "them. Each public column has its own."
        )
    )
    return Section(title="Software and digests", blocks=blocks)


def _plain(value: Any) -> Any:
    """A setting as text."""
    if isinstance(value, Sequence) and not isinstance(value, str):
        return ", ".join(str(entry) for entry in value) or None
    return value
