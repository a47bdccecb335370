"""Charts of the benchmark report, drawn from the tables of `pgsr.bench.analysis`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from pgsr.bench.analysis.tabledata import TableData
from pgsr.report.charts import Chart
from pgsr.report.charts_kinds import Axis, Tip, curves, dots

Records = list[dict[str, Any]]

KINDS = ("exact", "relaxed", "rounded", "heuristic", "noisy", "mechanism")
POINT = "Point at a mark for its numbers."
HOVER = "Point at a mark for its numbers; click a name in the legend to see it alone."
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
            title="relative gap to the best-known objective (left edge: no gap)",
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
    if len(panels) == 1 and panels[0]:
        title = f"{title} ({panels[0]})"
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
    fitted = "; straight lines are fitted powers, whose exponents are in the table below" if lines else ""
    return Chart(
        name="scaling",
        title="Growth of time" + (f" ({panels[0]})" if len(panels) == 1 else ""),
        caption="Median seconds of the solve alone by size of the problem, from the fastest run to the "
        f"slowest{fitted}. On these "
        f"axes a steeper line grows faster. Runs that a limit stopped have no mark. {HOVER}",
        alt=f"Seconds against the number of integers, both logarithmic, for {', '.join(names)}.",
        spec=spec,
    )


def relaxed_chart(table: TableData) -> Chart | None:
    """Share of broken sums by method, a mark an instance, a panel a model."""
    records = [r for r in table.records() if r["broken_share"] is not None]
    if not records:
        return None
    ordered = sorted(records, key=lambda r: rank(str(r["kind"])))
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


def named(records: Records, which: Sequence[str]) -> Records:
    """Records with the panel that they belong to."""
    return [r | {"panel": ", ".join(str(r[name]) for name in which if r.get(name))} for r in records]


def distinct(records: Records, name: str) -> list[str]:
    """The values of an entry, in the order in which they come."""
    return [str(value) for value in dict.fromkeys(r[name] for r in records)]


def rank(kind: str) -> int:
    """The place of a kind in `KINDS`; others come last."""
    return KINDS.index(kind) if kind in KINDS else len(KINDS)
