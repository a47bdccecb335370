"""Charts of the benchmark report for inequality indices and small area estimates."""

from __future__ import annotations

from typing import Any

from pgsr.bench.analysis.tabledata import TableData
from pgsr.report.charts import Chart
from pgsr.report.charts_bench import HOVER, distinct, error_spec, named
from pgsr.report.charts_kinds import Axis, Tip, dots

Records = list[dict[str, Any]]
NO_PRIVACY = "no privacy"


def inequality_chart(table: TableData) -> Chart | None:
    """Median error of the released index by epsilon and noise, a panel a data set and index."""
    records = named([r for r in table.records() if r["family"] == "inequality"], ("instance", "model"))
    if not records:
        return None
    return Chart(
        name="inequality",
        title="Errors of released inequality indices",
        caption="Median distance of the released index from the one without privacy, by privacy budget; "
        "95 % intervals where there are enough repetitions. ':private' marks an upper bound of incomes "
        f"that is itself released privately. {HOVER}",
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
                caption="Mean squared error over the areas by privacy cost ρ (zCDP), with 95 % "
                f"intervals over repetitions; level lines are estimates without privacy. {HOVER}",
                alt=f"Mean squared error by rho for {', '.join(distinct(errors, 'method'))}.",
                spec=error_spec(errors, "mean squared error"),
            )
        )
    if covered := [r for r in records if r["coverage"] is not None]:
        for r in covered:
            r["cost"] = NO_PRIVACY if r["budget"] is None else f"ρ = {r['budget']:g}"
        panels = distinct(covered, "panel")
        least = min(0.9, *(r["coverage"] for r in covered))
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
            tips=[
                Tip(name="method", title="method"),
                Tip(name="cost", title="cost"),
                Tip(name="coverage", title="coverage", form=".2%"),
                Tip(name="seeds", title="seeds", form=",d"),
            ],
        )
        charts.append(
            Chart(
                name="areas_coverage",
                title="Coverage of the intervals of areas",
                caption="Marks on the dashed line keep their promise; marks to the left of it promise "
                "too much. Point at a mark for its numbers.",
                alt=f"Coverage by method for {', '.join(distinct(covered, 'method'))}.",
                spec=spec,
            )
        )
    return charts


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
