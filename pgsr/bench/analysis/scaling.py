"""How time and memory grow with the size of a problem: points, and exponents with their intervals."""

from __future__ import annotations

import math
from collections import Counter
from statistics import median

from pgsr.bench.analysis.rowsets import Rows, base, finished, grouped, left_out, ran
from pgsr.bench.analysis.solvers import FLOOR_S
from pgsr.bench.analysis.statistics import fit_line
from pgsr.bench.analysis.tabledata import Cell, TableColumn, TableData, make_table
from pgsr.bench.pages import Row

_WHICH = (
    TableColumn(name="family", title="family", form="text"),
    TableColumn(name="instance", title="instances", form="text"),
    TableColumn(name="model", title="model", form="text"),
    TableColumn(name="kind", title="problem", form="text"),
    TableColumn(name="method", title="method", form="text"),
)
UNITS = {"solve_s": "s", "peak_gb": "GB"}
_TITLES = {"solve_s": "time", "peak_gb": "memory"}
Key = tuple[str, str, str | None, str, str]


def _key(row: Row) -> Key:
    return row["family"], base(row), row["model"], row["kind"], row["method"]


def _names(key: Key) -> dict[str, Cell]:
    return dict(zip((column.name for column in _WHICH), key, strict=True))


def _usable(row: Row, measure: str) -> bool:
    """Finished, with a size and a value; times above the floor of the clock."""
    value = row.get(measure)
    least = FLOOR_S if measure == "solve_s" else 0.0
    return finished(row) and bool(row.get("entries")) and value is not None and value > least


def _why_not(row: Row, measure: str) -> str | None:
    if _usable(row, measure):
        return None
    if not ran(row):
        return str(row["outcome"])
    if not finished(row):
        return "stopped by a limit"
    if measure == "solve_s" and (row.get(measure) or math.inf) <= FLOOR_S:
        return f"below {FLOOR_S * 1000:g} ms"
    return "without a size or a value"


def _cut(row: Row) -> bool:
    """Whether it would have taken more: the ends that hide how much."""
    return row["outcome"] in ("killed", "memory") or (ran(row) and not finished(row))


def _sized(rows: Rows) -> list[Row]:
    """The runs of groups with more than one size: the others say nothing about growth."""
    groups = grouped(rows, _key)
    sizes = {key: {row.get("entries") for row in own} - {None} for key, own in groups.items()}
    return [row for key, own in groups.items() if len(sizes[key]) > 1 for row in own]


def scaling_points(rows: Rows, measure: str = "solve_s") -> TableData:
    """Median, smallest and largest value by number of entries, for methods that met more than one size.

    `measure`: `solve_s` (seconds of the solve alone) or `peak_gb` (memory of the whole process). `cut` is
    the number of runs of this size that a limit stopped: their values are not among the others.
    """
    found = _sized(rows)
    lines: list[dict[str, Cell]] = []
    for key, own in grouped(found, _key).items():
        sized = grouped((row for row in own if row.get("entries")), lambda row: int(row["entries"]))
        for entries, here in sorted(sized.items()):
            values = [float(row[measure]) for row in here if finished(row) and row.get(measure) is not None]
            lines.append(
                _names(key)
                | {
                    "entries": entries,
                    "runs": len(values),
                    "median": median(values) if values else None,
                    "least": min(values, default=None),
                    "most": max(values, default=None),
                    "cut": sum(_cut(row) for row in here),
                }
            )
    unit = UNITS[measure]
    return make_table(
        f"scaling_points_{_TITLES[measure]}",
        f"Growth of {_TITLES[measure]}",
        f"Median {_TITLES[measure]} by size of the problem, with the smallest and the largest run. Runs that "
        "a limit stopped are counted apart: their true value is larger than anything shown.",
        [
            *_WHICH,
            TableColumn(name="entries", title="entries", form="whole"),
            TableColumn(name="runs", title="runs", form="whole"),
            TableColumn(name="median", title="median", unit=unit),
            TableColumn(name="least", title="least", unit=unit),
            TableColumn(name="most", title="most", unit=unit),
            TableColumn(name="cut", title="cut off", form="whole"),
        ],
        lines,
        left_out(found, lambda row: None if finished(row) or _cut(row) else row["outcome"], "these points"),
    )


def scaling_fits(rows: Rows, measure: str = "solve_s") -> TableData:
    """Exponents b of value = a entries^b by least squares on logarithms, with 95 % intervals.

    Only runs that finished, above 1 ms for times; at least three sizes. Runs cut off by a limit (`cut`) are
    not in the fit, so that with any of them the exponent is likely too small; the line says so.
    """
    found = _sized(rows)
    lines: list[dict[str, Cell]] = []
    notes = left_out(found, lambda row: _why_not(row, measure), "the fits")
    for key, own in grouped(found, _key).items():
        good = [row for row in own if _usable(row, measure)]
        x = [math.log(row["entries"]) for row in good]
        line = fit_line(x, [math.log(row[measure]) for row in good])
        name = ", ".join(part for part in key[1:] if part)
        if line is None:
            sizes = Counter(row["entries"] for row in good)
            notes.append(f"No fit for {name}: {len(sizes)} of the 3 sizes that it takes.")
            continue
        largest = max(row["entries"] for row in good)
        lines.append(
            _names(key)
            | {
                "runs": len(good),
                "smallest": min(row["entries"] for row in good),
                "largest": largest,
                "exponent": line.slope,
                "lower": line.lower,
                "upper": line.upper,
                "r2": line.r2,
                "at_largest": math.exp(line.intercept + line.slope * math.log(largest)),
                "constant": math.exp(line.intercept),
                "cut": sum(_cut(row) for row in own),
            }
        )
    return make_table(
        f"scaling_fits_{_TITLES[measure]}",
        f"Exponents of {_TITLES[measure]}",
        f"If the {_TITLES[measure]} grows as a power of the number of entries, this is the power: 1 means "
        "that twice the entries take twice as much. The interval is that of a straight line through the "
        "logarithms. Where runs were cut off by a limit, the true exponent is likely larger.",
        [
            *_WHICH,
            TableColumn(name="runs", title="runs", form="whole"),
            TableColumn(name="smallest", title="from", unit="entries", form="whole"),
            TableColumn(name="largest", title="to", unit="entries", form="whole"),
            TableColumn(name="exponent", title="exponent"),
            TableColumn(name="lower", title="95 % from"),
            TableColumn(name="upper", title="95 % to"),
            TableColumn(name="r2", title="R²", about="share of the spread that the line explains"),
            TableColumn(name="at_largest", title="line at the largest", unit=UNITS[measure]),
            TableColumn(name="constant", title="factor", about="a of a * entries^b"),
            TableColumn(name="cut", title="cut off", form="whole"),
        ],
        lines,
        notes,
    )
