"""Charts of errors against privacy budgets, drawn from the tables of `pgsr.bench.analysis`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from pgsr.bench.analysis.tabledata import TableData
from pgsr.report.charts import Chart
from pgsr.report.charts_bench import HOVER, POINT, Records, distinct, rank
from pgsr.report.charts_kinds import Axis, Tip, curves, dots, has_intervals

PLAIN_NOISE = "geometric"


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
    several = len({r["budget"] for r in records}) > 1
    way = ": less privacy to the right, more error above" if several else ""
    caption = (
        f"Mean distance of the tables from the truth {'by' if several else 'at one'} privacy budget{way}."
        f"{interval_words(records)} L1 adds up the differences of all counts, in groups; EMD (earth mover's "
        "distance) adds up those of the cumulative counts, in groups times sizes, so that an error between "
        f"neighbouring sizes weighs little.{noise} {HOVER if several else POINT}"
    )
    spec = error_spec(records, "distance from the truth")
    alt = f"Error by budget, level and method, for {', '.join(distinct(records, 'method'))}."
    return Chart(
        name=f"accuracy_{_file_name(' '.join(which))}", title=title, caption=caption, alt=alt, spec=spec
    )


def interval_words(records: Records) -> str:
    """What the bars are, or why there are none."""
    few = min((int(r["seeds"]) for r in records), default=1) < 2
    if has_intervals(records):
        none = "; where there is none, there is one repetition" if few else ""
        return f" Bars are 95 % intervals over repetitions of the noise{none}."
    return " Each mark is one repetition of the noise, so that there are no intervals." if few else ""


def error_spec(records: Records, y: str) -> dict[str, Any]:
    """Curves over the budgets, or dots where there is one budget alone."""
    records = [r for r in records if r["value"] is not None]
    ordered = sorted(records, key=lambda r: rank(str(r["kind"])))
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
    for r in records:  # A logarithmic axis has no place for an end at 0.
        r["low"] = r["lower"] if r["lower"] or not log else (None if r["lower"] is None else r["value"] / 4)
    if len(budgets) == 1:
        return dots(
            records,
            x=Axis(name="value", title=f"{y} at {symbol} = {budgets[0]:.4g}", log=log, zero=True),
            row="method",
            rows=names,
            colour="kind",
            colour_title="Kind",
            names=distinct(ordered, "kind"),
            tips=tips,
            panel=panel,
            panels=panels,
            lower="low",
            upper="upper",
        )
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


def _place(level: Any) -> int:
    return int(level) if str(level).isdigit() else -1


def _level(level: Any) -> str:
    return {"all": "All levels", "0": "Level 0 (root)"}.get(str(level), f"Level {level}")


def _file_name(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9]+", "_", text).strip("_").lower()
