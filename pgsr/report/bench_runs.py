"""What was run: facts on the runs and the machine, ends of the runs by family, and the table of all runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from pgsr.bench.adding import ELSEWHERE
from pgsr.bench.analysis.tabledata import Cell, TableColumn, TableData, make_table
from pgsr.bench.pages import Row
from pgsr.report.page import Block, FactsBlock, TextBlock

OUTCOMES = {
    "ran": "came to their end",
    "killed": "were killed at the time limit",
    "memory": "ran out of memory",
    "fault": "failed",
    "refused": "refused the input",
    "lacks": "lack a feature that the problem needs",
    "missing": "lack a library that is not installed",
}
FAMILIES = {
    "groupsizes": "Group sizes in hierarchies",
    "inequality": "Inequality indices",
    "sae": "Small area estimates",
}
MOST_RUNS = 4000
"""Runs that the page lists; more would make it slow to open."""

_RUN_COLUMNS = (
    TableColumn(name="family", title="family", form="text"),
    TableColumn(name="instance", title="instance", form="text"),
    TableColumn(name="model", title="model", form="text"),
    TableColumn(name="method", title="method", form="text"),
    TableColumn(name="kind", title="kind", form="text"),
    TableColumn(name="noise", title="noise", form="text"),
    TableColumn(name="epsilon", title="ε"),
    TableColumn(name="rho", title="ρ"),
    TableColumn(name="seed", title="seed", form="whole"),
    TableColumn(name="entries", title="entries", form="whole"),
    TableColumn(name="outcome", title="outcome", form="text"),
    TableColumn(
        name="termination",
        title="stopped",
        form="text",
        about="why the solver says that it stopped; the relaxation's end for relaxed and rounded tables",
    ),
    TableColumn(
        name="certificate",
        title="proven",
        form="yes",
        about="optimal: yes, proven from the problem; no, refuted (by a broken condition or by a better "
        "table); empty, unknown",
    ),
    TableColumn(name="objective", title="objective"),
    TableColumn(name="gap", title="gap"),
    TableColumn(name="broken_sums", title="broken sums", form="whole"),
    TableColumn(name="error", title="error"),
    TableColumn(name="solve_s", title="solve", unit="s"),
    TableColumn(name="peak_gb", title="memory", unit="GB"),
    TableColumn(name="reason", title="reason", form="text"),
)


def subtitle(rows: Sequence[Row]) -> str:
    """Number and time of the runs in one line."""
    days = sorted(str(row["started"])[:10] for row in rows if row.get("started"))
    when = "" if not days else f", {days[0]}" if days[0] == days[-1] else f", {days[0]} to {days[-1]}"
    return f"{len(rows):,} {'run' if len(rows) == 1 else 'runs'}{when}"


def about_results(rows: Sequence[Row]) -> list[Block]:
    """What stands at the top: what the runs have in common, and a warning where they are not alike."""
    blocks: list[Block] = []
    machines = {(row.get("machine"), row.get("cores"), row.get("memory_gb")) for row in rows}
    if len(machines) > 1:
        text = f"These runs come from {len(machines)} different machines: their times are not comparable."
        blocks.append(TextBlock(text=text, tone="warning"))
    suites = Counter(str(row["suite"]) for row in rows)
    if len(suites) > 1:
        named = ", ".join(f"{name}: {number:,}" for name, number in suites.items())
        blocks.append(
            TextBlock(text=f"Results of {len(suites)} suites stand here together (runs by suite: {named}).")
        )
    if added := sum(map(made_elsewhere, rows)):
        which = "answer here was" if added == 1 else "answers here were"
        text = (
            f"{added:,} {which} made elsewhere and added ('pgsr bench add'): judged here like all others, "
            "with times as stated by their makers."
        )
        blocks.append(TextBlock(text=text))
    return blocks


def made_elsewhere(row: Row) -> bool:
    """Whether the row is an answer that was added, not a run."""
    return str(row.get("reason") or "").startswith(ELSEWHERE)


def facts(rows: Sequence[Row]) -> FactsBlock:
    """Machine, versions and limits, with all values where runs differ."""
    named = {
        "Processor": _all(rows, "machine"),
        "Cores that a run may use": _all(rows, "cores"),
        "Memory of the machine": _all(rows, "memory_gb", " GB"),
        "pgsr": _all(rows, "pgsr"),
        "Commit": _commits(rows),
        "Python": _all(rows, "python"),
        "Time limit of a run": _all(rows, "time_limit_s", " s"),
        "Memory limit of a run": _all(rows, "memory_limit_gb", " GB"),
        "Seeds": _seeds(rows),
    }
    return FactsBlock(facts={name: value for name, value in named.items() if value})


def outcome_table(rows: Sequence[Row]) -> TableData:
    """How the runs ended, by family, with the reasons of those that did not run."""
    families = list(dict.fromkeys(str(row["family"]) for row in rows))
    ends = [name for name in OUTCOMES if any(row["outcome"] == name for row in rows)]
    lines: list[dict[str, Cell]] = []
    for family in families:
        own = [row for row in rows if row["family"] == family]
        counts = Counter(str(row["outcome"]) for row in own)
        lines.append(
            {
                "family": FAMILIES.get(family, family),
                "runs": len(own),
                "instances": len({row["instance"] for row in own}),
                "methods": len({row["method"] for row in own}),
                **{name: counts[name] for name in ends},
            }
        )
    reasons = Counter(
        (str(row["method"]), str(row["outcome"]), str(row.get("reason") or "no reason given"))
        for row in rows
        if row["outcome"] != "ran"
    )
    notes = [
        f"{method}, {number} {'run' if number == 1 else 'runs'}: {outcome}, {reason}."
        for (method, outcome, reason), number in reasons.most_common(12)
    ]
    if len(reasons) > 12:
        notes.append(
            f"{len(reasons) - 12} more kinds of runs that did not end well: see the table of all runs."
        )
    return make_table(
        "outcomes",
        "How the runs ended",
        f"Every run{' of a suite' if any(map(made_elsewhere, rows)) else ''} is a process of its own, "
        "stopped from outside if it does not keep its limits. A run that was killed, ran out of memory or "
        "failed counts in every comparison as one that did not solve its problem; one that refused the "
        "input, or lacks a feature or a library, did not take place.",
        [
            TableColumn(name="family", title="family", form="text"),
            TableColumn(name="runs", title="runs", form="whole"),
            TableColumn(name="instances", title="instances", form="whole"),
            TableColumn(name="methods", title="methods", form="whole"),
            *(TableColumn(name=name, title=OUTCOMES[name], form="whole") for name in ends),
        ],
        lines,
        notes,
    )


def runs_table(rows: Sequence[Row]) -> TableData:
    """One line a run; columns without any value are left out."""
    used = [c for c in _RUN_COLUMNS if any(row.get(c.name) not in (None, "") for row in rows)]
    notes = []
    if len(rows) > MOST_RUNS:
        notes.append(f"The first {MOST_RUNS:,} of {len(rows):,} runs: the others are in the results file.")
    return make_table(
        "runs",
        "All runs",
        "One line a run. Click a heading to sort by it, once more to turn the order round.",
        used,
        [{c.name: _shown(row, c.name) for c in used} for row in rows[:MOST_RUNS]],
        notes,
    )


def _shown(row: Row, name: str) -> Cell:
    """A cell; a relaxation that was solved is not the problem solved."""
    value: Cell = row.get(name)
    relaxed = name == "termination" and value and row["kind"] in ("relaxed", "rounded")
    return f"{value} (relaxation)" if relaxed else value


def _all(rows: Sequence[Row], name: str, unit: str = "") -> str:
    """The values of a column, in the order of their frequency."""
    values = Counter(row[name] for row in rows if row.get(name) is not None)
    return ", ".join(f"{_text(value)}{unit}" for value, _ in values.most_common())


def _commits(rows: Sequence[Row]) -> str:
    text = _all(rows, "commit")
    return f"{text} (+: with changes that were not committed)" if "+" in text else text


def _seeds(rows: Sequence[Row]) -> str:
    seeds = sorted({row["seed"] for row in rows if row.get("seed") is not None})
    if not seeds:
        return ""
    if len(seeds) == 1:
        return str(seeds[0])
    span = f"{seeds[0]} to {seeds[-1]}" if len(seeds) > 2 else " and ".join(str(seed) for seed in seeds)
    return f"{len(seeds)} ({span})"


def _text(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
