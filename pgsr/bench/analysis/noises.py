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
from pgsr.bench.analysis.statistics import mean_interval, ratio_of_means_interval, share_interval
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
    left out, and settings with one seed, which cannot tell bias from chance.
    """
    found = [row for row in rows if row["family"] == "groupsizes"]
    good = [row for row in found if _why_no_bias(row) is None]
    lines: list[dict[str, Cell]] = []
    single = 0
    for key, own in grouped(good, lambda row: (*columns_of(*WHICH)(row), *budget(row))).items():
        if len({row.get("seed") for row in own}) < 2:
            single += 1
            continue
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
    notes = left_out(found, _why_no_bias, "this table")
    if single:
        notes.append(
            f"{count(single, 'setting')} with one seed left out: one seed cannot tell bias from chance."
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
        notes,
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

    The interval of the coverage is Student's over the seeds, or with one seed the binomial one of its areas
    (`over` says which): as if they were independent. `short` is yes where it lies wholly below 0.95.
    """
    found = [row for row in rows if row["family"] == "sae"]
    good = [row for row in found if ran(row) and (row.get("coverage"), row.get("error")) != (None, None)]
    names = ("instance", "model", "noise", "method")
    lines: list[dict[str, Cell]] = []
    for key, own in grouped(good, lambda row: (*columns_of(*names)(row), *budget(row))).items():
        coverage = _coverage(own)
        error = _mean(_numbers(own, lambda row: row.get("error")))
        upper = coverage["upper"]
        lines.append(
            dict(zip(names, key, strict=False))
            | {"budget": key[-2], "budget_kind": key[-1], "seeds": len(own)}
            | {name: coverage[name] for name in ("coverage", "areas", "lower", "upper", "over")}
            | {"short": None if upper is None else float(upper) < NOMINAL}
            | {"error": error["value"], "error_lower": error["lower"], "error_upper": error["upper"]}
        )
    return make_table(
        "coverage",
        "Small areas: coverage and error",
        "How often the 95 % intervals of the areas hold the true values, and the mean squared error of the "
        "released values. A coverage below 95 % means that the intervals promise too much only where it is "
        "more than chance: where its own interval, from and to, lies below 95 % as well. That one is over "
        "the seeds; with one seed it is the binomial interval of the areas (Clopper and Pearson), as if "
        "these were independent.",
        [
            *(TableColumn(name=name, title=name, form="text") for name in names),
            *BUDGET,
            TableColumn(name="seeds", title="seeds", form="whole"),
            TableColumn(name="areas", title="areas", form="whole", about="of one seed"),
            TableColumn(name="coverage", title="coverage", form="share"),
            TableColumn(name="lower", title="95 % from", form="share"),
            TableColumn(name="upper", title="95 % to", form="share"),
            TableColumn(name="over", title="over", form="text", about="what the interval is over"),
            TableColumn(name="short", title="clearly below 95 %", form="yes"),
            TableColumn(name="error", title="MSE"),
            TableColumn(name="error_lower", title="95 % from"),
            TableColumn(name="error_upper", title="95 % to"),
        ],
        lines,
        left_out(found, lambda row: None if ran(row) else str(row["outcome"]), "this table"),
    )


def _coverage(own: Rows) -> dict[str, Cell]:
    """Mean coverage with its interval: over the seeds, or over the areas of a single one."""
    shares = [(float(row["coverage"]), row.get("regions")) for row in own if row.get("coverage") is not None]
    found = _mean([share for share, _ in shares])
    sizes = {areas for _, areas in shares}
    areas = sizes.pop() if len(sizes) == 1 else None
    lower, upper, over = found["lower"], found["upper"], "seeds"
    if len(shares) == 1 and areas:
        hits = round(shares[0][0] * areas)
        # Shares of anything else than areas have no such interval.
        if abs(hits - shares[0][0] * areas) < _DUST * areas:
            lower, upper = share_interval(hits, areas)
            over = "areas"
    return {
        "coverage": found["value"],
        "areas": areas,
        "lower": None if lower is None else max(float(lower), 0.0),
        "upper": None if upper is None else min(float(upper), 1.0),
        "over": None if lower is None else over,
    }


def _numbers(rows: Rows, value: Callable[[Row], float | None]) -> list[float]:
    return [float(found) for row in rows if (found := value(row)) is not None]


def _mean(values: list[float]) -> dict[str, Cell]:
    lower, upper = mean_interval(values) or (None, None)
    value = sum(values) / len(values) if values else None
    return {"seeds": len(values), "value": value, "lower": lower, "upper": upper}
