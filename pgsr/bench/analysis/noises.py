"""Noise against noise, bias by true count, and coverage of intervals."""

from __future__ import annotations

from collections.abc import Callable

from pgsr.bench.analysis.accuracy import BUDGET, WHICH, which_columns, why_not
from pgsr.bench.analysis.rowsets import (
    Rows,
    budget,
    columns_of,
    count,
    feasible,
    grouped,
    left_out,
    ran,
    total,
)
from pgsr.bench.analysis.statistics import mean_interval, ratio_of_means_interval
from pgsr.bench.analysis.tabledata import Cell, TableColumn, TableData, make_table
from pgsr.bench.pages import Row

REFERENCE = "geometric"
NOMINAL = 0.95
_DUST = 1e-9
_WITHOUT_NOISE = tuple(name for name in WHICH if name != "noise")
_FROM_TO = (TableColumn(name="lower", title="95 % from"), TableColumn(name="upper", title="95 % to"))


def noise_table(rows: Rows, measure: str = "l1", *, reference: str = REFERENCE) -> TableData:
    """Each kind of noise beside the `reference`, everything else being equal: mean distance and ratio.

    One line an instance, model, method, budget and noise, where there is the reference and another noise.
    `ratio`: mean distance (`l1` or `emd`, summed over levels) over that with the reference, with a bootstrap
    interval; the draws of two kinds of noise are independent, so seeds are not paired.
    """
    found = [row for row in rows if row["family"] == "groupsizes" and row.get("noise")]
    good = [row for row in found if why_not(row, measure) is None]
    lines: list[dict[str, Cell]] = []
    alone = 0
    groups = grouped(good, lambda row: (*columns_of(*_WITHOUT_NOISE)(row), *budget(row)))
    for key, own in groups.items():
        by = {noise: _totals(same, measure) for noise, same in grouped(own, lambda row: row["noise"]).items()}
        if reference not in by or len(by) == 1:
            alone += 1
            continue
        basis = by[reference]
        mean = sum(basis) / len(basis)
        for noise, values in sorted(by.items(), key=lambda entry: (entry[0] != reference, entry[0])):
            lower, upper = None, None
            if noise != reference:
                lower, upper = ratio_of_means_interval(values, basis) or (None, None)
            value = sum(values) / len(values)
            lines.append(
                dict(zip(_WITHOUT_NOISE, key, strict=False))
                | {"budget": key[-2], "budget_kind": key[-1], "noise": noise, "seeds": len(values)}
                | {"value": value, "ratio": value / mean if mean else None, "lower": lower, "upper": upper}
            )
    notes = left_out(found, lambda row: why_not(row, measure), "this table")
    if alone and lines:
        notes.append(f"{count(alone, 'setting')} left out, with no {reference} noise or nothing else.")
    return make_table(
        f"noises_{measure}",
        "Kinds of noise",
        f"The same data, method and budget with different noise. Ratio: the mean error over that with "
        f"{reference} noise; below 1 the noise is better. The interval holds the ratio with 95 % confidence.",
        [
            *(column for column in which_columns() if column.name != "noise"),
            *BUDGET,
            TableColumn(name="noise", title="noise", form="text"),
            TableColumn(name="seeds", title="seeds", form="whole"),
            TableColumn(name="value", title=f"{measure.upper()}"),
            TableColumn(name="ratio", title="ratio", form="ratio"),
            *_FROM_TO,
        ],
        lines,
        notes,
    )


def _totals(rows: Rows, measure: str) -> list[float]:
    return [value for row in rows if (value := total(row, measure)) is not None]


def bias_table(rows: Rows) -> TableData:
    """Mean error of counts that are truly 0 and of those that are positive, by level, over the seeds.

    `biased` is yes where the interval leaves out 0. Exact and heuristic tables that break a condition are
    left out.
    """
    found = [row for row in rows if row["family"] == "groupsizes"]
    good = [row for row in found if _why_no_bias(row) is None]
    lines: list[dict[str, Cell]] = []
    for key, own in grouped(good, lambda row: (*columns_of(*WHICH)(row), *budget(row))).items():
        for level in range(max(len(row["bias_zero"]) for row in own)):
            for cells in ("bias_zero", "bias_positive"):
                values = [
                    _without_dust(float(row[cells][level]))
                    for row in own
                    if len(row.get(cells) or []) > level and row[cells][level] is not None
                ]
                if values:
                    lines.append(
                        dict(zip(WHICH, key, strict=False))
                        | {"budget": key[-2], "budget_kind": key[-1], "level": str(level)}
                        | {"true_count": "0" if cells == "bias_zero" else "positive"}
                        | _mean(values)
                    )
    for line in lines:
        lower, upper = line["lower"], line["upper"]
        known = isinstance(lower, float) and isinstance(upper, float)
        line["biased"] = None if not known else bool(lower > 0 or upper < 0)  # type: ignore[operator]
    return make_table(
        "bias",
        "Bias",
        "The mean error of a count, for counts that are truly 0 and for the others. Noise has no bias, but "
        "counts that may not fall below 0 push small ones up, and the sums then pull large ones down.",
        [
            *which_columns(),
            *BUDGET,
            TableColumn(name="level", title="level", form="text", about="0 is the root"),
            TableColumn(name="true_count", title="true count", form="text"),
            TableColumn(name="seeds", title="seeds", form="whole"),
            TableColumn(name="value", title="mean error"),
            *_FROM_TO,
            TableColumn(name="biased", title="biased", form="yes", about="the interval leaves out 0"),
        ],
        lines,
        left_out(found, _why_no_bias, "this table"),
    )


def _without_dust(value: float) -> float:
    """Floating-point sums of real numbers are never quite 0."""
    return 0.0 if abs(value) < _DUST else value


def _why_no_bias(row: Row) -> str | None:
    if not ran(row):
        return str(row["outcome"])
    if row["kind"] in ("exact", "heuristic") and not feasible(row):
        return "with a table that breaks a condition"
    return None if row.get("bias_zero") else "without a truth"


def coverage_table(rows: Rows) -> TableData:
    """Small areas: mean squared error, and how often the 95 % intervals of areas hold the truth, over seeds.

    `short` is yes where the interval of the mean coverage lies wholly below 0.95.
    """
    found = [row for row in rows if row["family"] == "sae"]
    good = [row for row in found if ran(row) and (row.get("coverage"), row.get("error")) != (None, None)]
    names = ("instance", "model", "noise", "method")
    lines: list[dict[str, Cell]] = []
    for key, own in grouped(good, lambda row: (*columns_of(*names)(row), *budget(row))).items():
        coverage = _mean(_numbers(own, lambda row: row.get("coverage")))
        error = _mean(_numbers(own, lambda row: row.get("error")))
        upper = coverage["upper"]
        lines.append(
            dict(zip(names, key, strict=False))
            | {"budget": key[-2], "budget_kind": key[-1], "seeds": len(own)}
            | {"coverage": coverage["value"], "lower": coverage["lower"], "upper": upper}
            | {"short": None if upper is None else float(upper) < NOMINAL}
            | {"error": error["value"], "error_lower": error["lower"], "error_upper": error["upper"]}
        )
    return make_table(
        "coverage",
        "Small areas: coverage and error",
        "How often the 95 % intervals of the areas hold the true values, and the mean squared error of the "
        "released values. Coverage below 95 % means that the intervals promise too much.",
        [
            *(TableColumn(name=name, title=name, form="text") for name in names),
            *BUDGET,
            TableColumn(name="seeds", title="seeds", form="whole"),
            TableColumn(name="coverage", title="coverage", form="share"),
            TableColumn(name="lower", title="95 % from", form="share"),
            TableColumn(name="upper", title="95 % to", form="share"),
            TableColumn(name="short", title="below 95 %", form="yes"),
            TableColumn(name="error", title="MSE"),
            TableColumn(name="error_lower", title="95 % from"),
            TableColumn(name="error_upper", title="95 % to"),
        ],
        lines,
        left_out(found, lambda row: None if ran(row) else str(row["outcome"]), "this table"),
    )


def _numbers(rows: Rows, value: Callable[[Row], float | None]) -> list[float]:
    return [float(found) for row in rows if (found := value(row)) is not None]


def _mean(values: list[float]) -> dict[str, Cell]:
    lower, upper = mean_interval(values) or (None, None)
    value = sum(values) / len(values) if values else None
    return {"seeds": len(values), "value": value, "lower": lower, "upper": upper}
