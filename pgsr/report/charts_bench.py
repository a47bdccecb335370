"""Charts of the benchmark report, drawn from the tables of `pgsr.bench.analysis`."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from pgsr.bench.analysis.tabledata import TableData
from pgsr.report.charts import Chart
from pgsr.report.charts_kinds import Axis, Tip, curves, dots

Records = list[dict[str, Any]]

KINDS = ("exact", "relaxed", "rounded", "heuristic", "noisy", "mechanism")
HOVER = "Point at a mark for its numbers; click a name in the legend to see it alone."
PLAIN_NOISE = "geometric"
CORNER = "Point at a corner of a line for its numbers; click a name in the legend to see it alone."
FEWEST_GAP = 1e-6
"""Gaps from here down are drawn here: 0 has no place on a logarithmic axis."""


def time_profile_chart(table: TableData) -> Chart | None:
    """Performance profiles of time (Dolan and More), a panel a model and kind; None without data."""
    records = named(table.records(), ("model", "kind"))
    factor = Tip(name="tau", title="within this factor of the fastest", form=",.3~g")
    return _profile(
        records,
        "profile_time",
        "Performance profile: time",
        "The higher and the further left a line, the faster the solver: it shows on how many of the "
        "problems a solver is done within so many times the time of the fastest one. Where a line ends "
        f"on the right is the share of problems that it solves at all. {CORNER}",
        Axis(name="tau", title="times the time of the fastest solver", log=True),
        factor,
    )


def gap_profile_chart(table: TableData) -> Chart | None:
    """Profiles of the distance to the best-known objective, a panel a model; None where all are best."""
    records = named(table.records(), ("model",))
    if not any(record["gap"] > FEWEST_GAP for record in records):
        return None
    for record in records:
        record["place"] = max(record["gap"], FEWEST_GAP)
    return _profile(
        records,
        "profile_gap",
        "Performance profile: quality",
        "How near the answers are to the best-known ones. At the left edge the line shows the share of "
        "problems on which a method finds the best-known objective; a table that breaks a condition "
        f"never counts. {CORNER}",
        Axis(
            name="place",
            title="relative gap to the best-known objective (left edge: none)",
            log=True,
        ),
        Tip(name="gap", title="within a relative gap of", form=",.2~g"),
    )


def _profile(records: Records, name: str, title: str, caption: str, x: Axis, tip: Tip) -> Chart | None:
    methods = {(r["panel"], r["method"]) for r in records}
    rivals = Counter(panel for panel, _ in methods)
    records = [r for r in records if rivals[r["panel"]] > 1]
    if not records:
        return None
    names, panels = distinct(records, "method"), distinct(records, "panel")
    first, last = min(r[x.name] for r in records), max(r[x.name] for r in records) * 1.25
    for key in dict.fromkeys((r["panel"], r["method"]) for r in records):  # lines go on to the right edge
        own = [r for r in records if (r["panel"], r["method"]) == key]
        records.append(max(own, key=lambda r: r[x.name]) | {x.name: last})
    spec = curves(
        records,
        x=replace(x, ends=(first, last)),
        y=Axis(
            name="share", title="share of problems", form="%", ends=(0, 1.02), ticks=(0, 0.25, 0.5, 0.75, 1)
        ),
        series="method",
        series_title="Method",
        names=names,
        panel="panel" if len(panels) > 1 else "",
        panels=panels,
        step=True,
        tips=[
            Tip(name="method", title="method"),
            tip,
            Tip(name="share", title="on this share of problems", form=".1%"),
            Tip(name="problems", title="of so many problems", form=",d"),
        ],
    )
    alt = f"{title}: a rising step line for each of {', '.join(names)}."
    return Chart(name=name, title=title, caption=caption, alt=alt, spec=spec)


def scaling_chart(points: TableData, fits: TableData) -> Chart | None:
    """Time against size on logarithmic axes, with fitted powers; a panel a kind of instance and problem."""
    which = ("instance", "model")
    records = [r for r in named(points.records(), which) if r["median"] and r["kind"] != "noisy"]
    panels = distinct(records, "panel")
    if not records:
        return None
    lines: Records = []
    for fit in named(fits.records(), which):
        if fit["panel"] in panels and fit["kind"] != "noisy":
            for at in (fit["smallest"], fit["largest"]):
                value = fit["constant"] * at ** fit["exponent"]
                lines.append({"panel": fit["panel"], "method": fit["method"], "entries": at, "median": value})
    names = distinct(records, "method")
    spec = curves(
        records,
        x=Axis(name="entries", title="integers in the table", log=True),
        y=Axis(name="median", title="seconds", log=True),
        series="method",
        series_title="Method",
        names=names,
        panel="panel" if len(panels) > 1 else "",
        panels=panels,
        lower="least",
        upper="most",
        fit=lines,
        tips=[
            Tip(name="method", title="method"),
            Tip(name="entries", title="integers", form=",d"),
            Tip(name="median", title="median seconds", form=",.3~g"),
            Tip(name="least", title="fastest run", form=",.3~g"),
            Tip(name="most", title="slowest run", form=",.3~g"),
            Tip(name="runs", title="runs", form=",d"),
            Tip(name="cut", title="runs cut off", form=",d"),
        ],
    )
    return Chart(
        name="scaling",
        title="Growth of time",
        caption="Median seconds of the solve alone by size of the problem, from the fastest run to the "
        "slowest; straight lines are fitted powers, whose exponents are in the table below. On these "
        f"axes a steeper line grows faster. Runs that a limit stopped have no mark. {HOVER}",
        alt=f"Seconds against the number of integers, both logarithmic, for {', '.join(names)}.",
        spec=spec,
    )


def relaxed_chart(table: TableData) -> Chart | None:
    """Share of broken sums by method, a mark an instance, a panel a model."""
    records = [r for r in table.records() if r["broken_share"] is not None]
    if not records:
        return None
    ordered = sorted(records, key=lambda r: _rank(str(r["kind"])))
    panels = distinct(sorted(records, key=lambda r: r["model"] != "hierarchical"), "model")
    spec = dots(
        records,
        x=Axis(name="broken_share", title="share of broken sums", form="%", ends=(0, 1)),
        row="method",
        rows=distinct(ordered, "method"),
        colour="kind",
        colour_title="Kind",
        names=distinct(ordered, "kind"),
        panel="model" if len(panels) > 1 else "",
        panels=panels,
        tips=[
            Tip(name="method", title="method"),
            Tip(name="instance", title="instance"),
            Tip(name="broken_share", title="broken sums", form=".1%"),
            Tip(name="worst_share", title="in the worst table", form=".1%"),
            Tip(name="worst_sum", title="largest difference", form=",.3~g"),
            Tip(name="runs", title="tables", form=",d"),
        ],
    )
    return Chart(
        name="broken_sums",
        title="Sums that no longer add up",
        caption="One mark an instance: the share of counts that are not the sum of the counts of their "
        "parts, in all tables of the method together. At 0 % all sums hold. Point at a mark for its "
        "numbers.",
        alt="Share of broken sums by method: " + _in_words(ordered),
        spec=spec,
    )


def _in_words(records: Records) -> str:
    parts = []
    for method in distinct(records, "method"):
        shares = [r["broken_share"] for r in records if r["method"] == method]
        low, high = f"{min(shares):.0%}", f"{max(shares):.0%}"
        parts.append(f"{method} {low}" if low == high else f"{method} {low} to {high}")
    return ", ".join(parts) + "."


def accuracy_charts(tables: Sequence[tuple[str, TableData]]) -> list[Chart]:
    """Error against budget, a chart an instance and model, a panel a level and measure.

    `tables`: names of the measures ("L1") with their `accuracy_curves` tables. With one budget alone the
    methods stand below each other instead.
    """
    records = [record | {"measure": name} for name, table in tables for record in table.records()]
    charts = []
    for which in dict.fromkeys((r["instance"], r["model"]) for r in records):
        own = [r for r in records if (r["instance"], r["model"]) == which]
        noises = {r["noise"] for r in own if r["noise"]}
        if len({r["level"] for r in own}) > 1:
            own = [r for r in own if r["level"] != "all"]
        for r in own:
            r["panel"] = f"{_level(r['level'])}: {r['measure']}"
            if len(noises) > 1 and r["noise"] != PLAIN_NOISE:
                r["method"] = f"{r['method']}, {r['noise']}"
        own.sort(key=lambda r: (_place(r["level"]), r["measure"] != tables[0][0]))
        noise = "" if len(noises) <= 1 else f" {PLAIN_NOISE.capitalize()} noise where no other one is named."
        if "gaussian" in noises:
            noise += (
                " Gaussian noise stands at the ε whose ε²/2 is its ρ (zCDP), a weaker promise than pure ε."
            )
        charts.append(_accuracy(own, [str(part) for part in which if part], noise))
    return charts


def _accuracy(records: Records, which: Sequence[str], noise: str) -> Chart:
    title = f"Accuracy and privacy: {', '.join(which)}"
    caption = (
        "Mean distance of the tables from the truth by privacy budget, with 95 % intervals over "
        "repetitions of the noise: less privacy to the right, more error above. L1 adds up the "
        "differences of all counts; EMD (earth mover's distance) adds up those of the cumulative counts, "
        f"so that an error between neighbouring sizes weighs little.{noise} {HOVER}"
    )
    spec = error_spec(records, "error")
    alt = f"Error by budget, level and method, for {', '.join(distinct(records, 'method'))}."
    return Chart(
        name=f"accuracy_{_file_name(' '.join(which))}", title=title, caption=caption, alt=alt, spec=spec
    )


def error_spec(records: Records, y: str) -> dict[str, Any]:
    """Curves over the budgets, or dots where there is one budget alone."""
    records = [r for r in records if r["value"] is not None]
    ordered = sorted(records, key=lambda r: _rank(str(r["kind"])))
    names, panels = distinct(ordered, "method"), distinct(records, "panel")
    budgets = sorted({r["budget"] for r in records})
    kinds = {str(r["budget_kind"]) for r in records}
    symbol = {"epsilon": "ε", "rho": "ρ"}[kinds.pop()] if len(kinds) == 1 else "budget"
    log = all(r["value"] > 0 for r in records)
    tips = [
        Tip(name="method", title="method"),
        Tip(name="budget", title=symbol, form=",.4~g"),
        Tip(name="value", title=y, form=",.4~g"),
        Tip(name="lower", title="95 % from", form=",.4~g"),
        Tip(name="upper", title="95 % to", form=",.4~g"),
        Tip(name="seeds", title="seeds", form=",d"),
    ]
    panel = "panel" if len(panels) > 1 else ""
    if len(budgets) == 1:
        return dots(
            records,
            x=Axis(name="value", title=f"{y} at {symbol} = {budgets[0]:g}", log=log, zero=True),
            row="method",
            rows=names,
            colour="kind",
            colour_title="Kind",
            names=distinct(ordered, "kind"),
            tips=tips,
            panel=panel,
            panels=panels,
        )
    for r in records:  # A logarithmic axis has no place for an end at 0.
        r["low"] = r["lower"] if r["lower"] or not log else (None if r["lower"] is None else r["value"] / 4)
    return curves(
        records,
        x=Axis(name="budget", title=f"{symbol} (more privacy on the left)", log=True, ticks=budgets),
        y=Axis(name="value", title=y, log=log, zero=True),
        series="method",
        series_title="Method",
        names=names,
        tips=tips,
        panel=panel,
        panels=panels,
        lower="low",
        upper="upper",
    )


def named(records: Records, which: Sequence[str]) -> Records:
    """Records with the panel that they belong to."""
    return [r | {"panel": ", ".join(str(r[name]) for name in which if r.get(name))} for r in records]


def distinct(records: Records, name: str) -> list[str]:
    """The values of an entry, in the order in which they come."""
    return [str(value) for value in dict.fromkeys(r[name] for r in records)]


def _place(level: Any) -> int:
    return int(level) if str(level).isdigit() else -1


def _rank(kind: str) -> int:
    return KINDS.index(kind) if kind in KINDS else len(KINDS)


def _level(level: Any) -> str:
    return {"all": "All levels", "0": "Root"}.get(str(level), f"Level {level}")


def _file_name(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9]+", "_", text).strip("_").lower()
