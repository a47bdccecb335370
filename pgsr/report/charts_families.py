"""Charts of the benchmark report for inequality indices and small area estimates."""

from __future__ import annotations

from typing import Any

from pgsr.bench.analysis.tabledata import TableData
from pgsr.report.charts import Chart
from pgsr.report.charts_accuracy import error_spec, interval_words
from pgsr.report.charts_bench import HOVER, POINT, distinct, named
from pgsr.report.charts_kinds import Axis, Tip, dots, has_intervals

Records = list[dict[str, Any]]
NO_PRIVACY = "no privacy"


def inequality_chart(table: TableData) -> Chart | None:
    """Median error of the released index by epsilon and noise, a panel a data set and index."""
    records = named([r for r in table.records() if r["family"] == "inequality"], ("instance", "model"))
    if not records:
        return None
    bars = (
        " Bars are 95 % intervals of the median over the seeds, which take 6 seeds."
        if has_intervals(records)
        else " No intervals: they take 6 seeds."
    )
    private = (
        " ':private' marks an upper bound of incomes that is itself released privately."
        if any(":private" in str(r["method"]) for r in records)
        else ""
    )
    return Chart(
        name="inequality",
        title="Errors of released inequality indices",
        caption="Median distance of the released index from the one without privacy, by privacy budget."
        f"{bars}{private} {_hover(records)}",
        alt=f"Median error by epsilon for {', '.join(distinct(records, 'method'))}.",
        spec=error_spec(records, "median error"),
    )


def area_charts(table: TableData) -> list[Chart]:
    """Mean squared error by rho, and coverage of the intervals, a panel a data set."""
    records = named(table.records(), ("instance", "model"))
    charts = []
    errors = [
        r | {"value": r["error"], "lower": r["error_lower"], "upper": r["error_upper"]} for r in records
    ]
    if errors := _spread([r for r in errors if r["value"] is not None]):
        charts.append(
            Chart(
                name="areas_error",
                title="Errors of small area estimates",
                caption=f"Mean squared error over the areas by privacy cost ρ (zCDP).{interval_words(errors)}"
                f"{_level_lines(errors)} {_hover(errors)}",
                alt=f"Mean squared error by rho for {', '.join(distinct(errors, 'method'))}.",
                spec=error_spec(errors, "mean squared error"),
            )
        )
    if covered := [r for r in records if r["coverage"] is not None]:
        for r in covered:
            r["cost"] = NO_PRIVACY if r["budget"] is None else f"ρ = {r['budget']:.4g}"
        panels = distinct(covered, "panel")
        least = min(0.9, *(r["coverage"] for r in covered), *(r["lower"] or 0.9 for r in covered))
        spec = dots(
            covered,
            x=Axis(
                name="coverage",
                title="share of areas whose 95 % interval holds the truth",
                form=".0%",
                ends=(max(0.0, least - 0.02), 1),
            ),
            row="method",
            rows=distinct(covered, "method"),
            colour="cost",
            colour_title="Privacy cost",
            names=distinct(sorted(covered, key=lambda r: r["budget"] or 0.0), "cost"),
            panel="panel" if len(panels) > 1 else "",
            panels=panels,
            level=0.95,
            lower="lower",
            upper="upper",
            tips=[
                Tip(name="method", title="method"),
                Tip(name="cost", title="cost"),
                Tip(name="coverage", title="coverage", form=".2%"),
                Tip(name="lower", title="95 % from", form=".1%"),
                Tip(name="upper", title="95 % to", form=".1%"),
                Tip(name="seeds", title="seeds", form=",d"),
                Tip(name="areas", title="areas", form=",d"),
            ],
        )
        over = next((str(r["over"]) for r in covered if r["over"]), "")
        charts.append(
            Chart(
                name="areas_coverage",
                title="Coverage of the intervals of areas",
                caption="How many areas have the truth in their 95 % interval; the dashed line is the "
                f"promise of 95 %. {_COVERED[over]} {POINT}",
                alt=f"Coverage by method for {', '.join(distinct(covered, 'method'))}.",
                spec=spec,
            )
        )
    return charts


_COVERED = {
    "seeds": "Bars are 95 % intervals over the seeds: only where a bar lies wholly to the left of the line "
    "do the intervals clearly promise too much.",
    "areas": "Bars are 95 % binomial intervals over the areas of the only seed: only where a bar lies wholly "
    "to the left of the line do the intervals clearly promise too much.",
    "": "One repetition alone cannot tell whether a mark beside the line is more than chance.",
}


def _hover(records: Records) -> str:
    """What the pointer does: marks by method have no legend to click."""
    return HOVER if len({r["budget"] for r in records}) > 1 else POINT


def _level_lines(records: Records) -> str:
    if not any(r["kind"] == NO_PRIVACY for r in records):
        return ""
    several = len({r["budget"] for r in records}) > 1
    return f" Estimates without privacy are {'level lines' if several else 'shown beside it'}."


def _spread(records: Records) -> Records:
    """Estimates without privacy as level lines over all budgets of their panel."""
    spread: Records = []
    for r in records:
        if r["budget"] is not None:
            spread.append(r | {"kind": "private release"})
            continue
        budgets = {s["budget"] for s in records if s["panel"] == r["panel"] and s["budget"] is not None}
        method = f"{r['method']} ({NO_PRIVACY})"
        spread += [
            r | {"budget": b, "budget_kind": "rho", "method": method, "kind": NO_PRIVACY}
            for b in sorted(budgets)
        ]
    return spread
