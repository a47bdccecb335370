"""Accuracy against privacy: error by budget, method and level, with intervals over the seeds."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from pgsr.bench.analysis.rowsets import (
    Problem,
    Rows,
    budget,
    columns_of,
    feasible,
    grouped,
    left_out,
    problem,
    ran,
)
from pgsr.bench.analysis.statistics import mean_interval, median_interval
from pgsr.bench.analysis.tabledata import Cell, TableColumn, TableData, make_table
from pgsr.bench.pages import Row

NOISY = "noisy"
ALL_LEVELS = "all"

WHICH = ("family", "instance", "model", "noise", "method", "kind")
BUDGET = (
    TableColumn(name="budget", title="budget"),
    TableColumn(name="budget_kind", title="in", form="text", about="epsilon (pure DP) or rho (zCDP)"),
)
OVER_SEEDS = (
    TableColumn(name="seeds", title="seeds", form="whole"),
    TableColumn(name="value", title="error"),
    TableColumn(name="lower", title="95 % from"),
    TableColumn(name="upper", title="95 % to"),
)
_TITLES = {
    "l1": "L1 distance from the truth",
    "emd": "Earth mover's distance from the truth",
    "error": "Error",
}


def which_columns() -> list[TableColumn]:
    """The columns that name a curve."""
    return [TableColumn(name=name, title=name, form="text") for name in WHICH]


def accuracy_curves(rows: Rows, measure: str = "l1") -> TableData:
    """Points of the curves: mean error over the seeds by budget, for all levels together and for each level.

    `measure`: `l1` or `emd` (by level; `level` is "all", or 0 for the root), or `error` (inequality: absolute
    error; sae: mean squared error; `level` is "all"). Means with Student's interval over the seeds; for the
    family inequality medians with an interval between order statistics, since the noise of some releases
    has no mean. Rows of the noisy input (`l1_noisy`) become the method "noisy" where no run of its own is
    there. Exact and heuristic tables that break a condition are left out and counted.
    """
    found = [row for row in rows if (row["family"] == "groupsizes") == (measure in ("l1", "emd"))]
    if measure == "l1":
        found += _noisy_inputs(found)
    notes = left_out(
        found,
        lambda row: why_not(row, measure),
        f"the curves of {measure.upper() if measure != 'error' else measure}",
    )
    good = [row for row in found if why_not(row, measure) is None]
    lines: list[dict[str, Cell]] = []
    fewer: list[str] = []
    for key, curve in grouped(good, columns_of(*WHICH)).items():
        points = grouped(curve, budget)
        most = max(len(own) for own in points.values())
        for amount, kind in sorted(points, key=lambda point: (point[1], point[0] or 0.0)):
            own = points[amount, kind]
            if len(own) < most:
                fewer.append(f"{key[4]} on {key[1]} at {kind} {amount:g} has {len(own)} of {most} seeds.")
            names = dict(zip(WHICH, key, strict=True))
            for level, values in _by_level(own, measure).items():
                lines.append(
                    names
                    | {"level": level, "budget": amount, "budget_kind": kind}
                    | _summary(values, middle=names["family"] == "inequality")
                )
    return make_table(
        f"accuracy_{measure}",
        f"Accuracy and privacy: {_TITLES.get(measure, measure)}",
        "The error of the released numbers against the truth, for each privacy budget: a smaller budget is "
        "more privacy and more noise. The intervals hold the mean (for inequality indices the median) over "
        "repetitions of the noise with 95 % confidence; with one repetition there is none.",
        [
            *which_columns(),
            TableColumn(name="level", title="level", form="text", about="0 is the root"),
            *BUDGET,
            *OVER_SEEDS,
            TableColumn(name="statistic", title="of", form="text"),
        ],
        lines,
        notes + fewer,
    )


def why_not(row: Row, measure: str) -> str | None:
    """Why a row is no point of the curves of `measure`; None if it is one."""
    if not ran(row):
        return str(row["outcome"])
    if row["kind"] in ("exact", "heuristic") and row["family"] == "groupsizes" and not feasible(row):
        return "with a table that breaks a condition"
    value = row.get(measure)
    if value is None or (isinstance(value, (list, tuple)) and (not value or None in value)):
        return f"without {measure}"
    return None if budget(row)[0] is not None else "without a budget"


def _noisy_inputs(rows: Rows) -> list[Row]:
    """The noisy inputs as rows of their own, one a problem, unless a run has the noisy table as its own."""
    known = {
        problem(row) for row in rows if row["kind"] == "noisy" and ran(row) and row.get("l1") is not None
    }
    made: dict[Problem, Row] = {}
    for row in rows:
        if ran(row) and row.get("l1_noisy") is not None and problem(row) not in known:
            made.setdefault(problem(row), row | {"method": NOISY, "kind": NOISY, "l1": row["l1_noisy"]})
    return list(made.values())


def _by_level(own: Rows, measure: str) -> dict[str, list[float]]:
    """The values over seeds: all levels together, then each level where the measure has levels."""
    if not isinstance(own[0][measure], (list, tuple)):
        return {ALL_LEVELS: [float(row[measure]) for row in own]}
    levels: dict[str, list[float]] = {ALL_LEVELS: [float(sum(row[measure])) for row in own]}
    depth = max(len(row[measure]) for row in own)
    for level in range(depth):
        levels[str(level)] = [float(row[measure][level]) for row in own if len(row[measure]) > level]
    return levels


def _summary(values: Sequence[float], *, middle: bool) -> dict[str, Cell]:
    interval = median_interval(values) if middle else mean_interval(values)
    lower, upper = interval or (None, None)
    value = float(median(values)) if middle else sum(values) / len(values)
    return {
        "seeds": len(values),
        "value": value,
        # No error is below 0.
        "lower": None if lower is None else max(lower, 0.0),
        "upper": upper,
        "statistic": "median" if middle else "mean",
    }


def inequality_table(rows: Rows) -> TableData:
    """Releases of inequality indices: truth and errors over the seeds, by index, noise and epsilon."""
    found = [row for row in rows if row["family"] == "inequality"]
    good = [row for row in found if ran(row) and row.get("error") is not None]
    names = ("instance", "model", "noise", "method", "epsilon")
    lines: list[dict[str, Cell]] = []
    for key, own in grouped(good, columns_of(*names)).items():
        errors = sorted(float(row["error"]) for row in own)
        truths = {row["truth"] for row in own if row.get("truth") is not None}
        truth = truths.pop() if len(truths) == 1 else None
        lower, upper = median_interval(errors) or (None, None)
        middle = float(median(errors))
        lines.append(
            dict(zip(names, key, strict=True))
            | {
                "seeds": len(own),
                "truth": truth,
                "error": middle,
                "lower": lower,
                "upper": upper,
                "relative": middle / abs(truth) if truth else None,
                "largest": errors[-1],
            }
        )
    return make_table(
        "inequality",
        "Inequality indices",
        "How far the released index is from the one without privacy. The error of a run is the median over "
        "its releases; the table shows the median of the runs, that is over the seeds. The interval holds "
        "that median with 95 % confidence (from 6 seeds on).",
        [
            *(TableColumn(name=name, title=name, form="text") for name in names[:-1]),
            TableColumn(name="epsilon", title="epsilon"),
            TableColumn(name="seeds", title="seeds", form="whole"),
            TableColumn(name="truth", title="truth"),
            TableColumn(name="error", title="median error"),
            TableColumn(name="lower", title="95 % from"),
            TableColumn(name="upper", title="95 % to"),
            TableColumn(name="relative", title="relative to the truth", form="share"),
            TableColumn(
                name="largest",
                title="largest run",
                about="the largest error of a run; where a run draws many releases its error is their "
                "median, and single releases are farther off",
            ),
        ],
        lines,
        left_out(found, lambda row: None if row in good else str(row["outcome"]), "this table"),
    )
