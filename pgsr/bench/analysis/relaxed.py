"""Exact against relaxed: what rounding a relaxation breaks and by how much, beside the exact answers."""

from __future__ import annotations

from collections.abc import Sequence

from pgsr.bench.analysis.rowsets import (
    RELAXED_TOLERANCE,
    Problem,
    Rows,
    columns_of,
    count,
    excess,
    feasible,
    grouped,
    left_out,
    objective,
    problem,
    ran,
    same_problem,
    total,
)
from pgsr.bench.analysis.statistics import geometric_mean
from pgsr.bench.analysis.tabledata import Cell, TableColumn, TableData, make_table
from pgsr.bench.pages import Row

KINDS = ("exact", "relaxed", "rounded", "heuristic", "noisy")

MEASURES = (
    TableColumn(name="runs", title="tables", form="whole"),
    TableColumn(
        name="keeps_all",
        title="keep all",
        form="share",
        about="tables without any broken condition: sums, signs, whole numbers, totals and bounds (a table "
        "of fractions keeps none)",
    ),
    TableColumn(
        name="broken_share", title="broken sums", form="share", about="parent cells that are not their sum"
    ),
    TableColumn(name="mean_share", title="mean of tables", form="share", about="mean of the tables' shares"),
    TableColumn(name="worst_share", title="worst table", form="share", about="the largest such share"),
    TableColumn(name="worst_sum", title="worst sum", about="largest difference of a parent and its parts"),
    TableColumn(name="negative", title="negative", about="cells below zero, mean of the tables"),
    TableColumn(name="fractional", title="fractional", about="cells that are not whole, mean of the tables"),
    TableColumn(name="total_off", title="total off", about="largest difference from the public total"),
    TableColumn(name="excess", title="excess", about="mean of (objective - exact) / exact"),
    TableColumn(name="l1_ratio", title="L1 / exact", form="ratio", about="geometric mean over the problems"),
    TableColumn(
        name="emd_ratio", title="EMD / exact", form="ratio", about="geometric mean over the problems"
    ),
)


def relaxed_table(rows: Rows, *, by_instance: bool = False) -> TableData:
    """One line a model (and instance, if asked) and method: conditions broken, and cost beside the exact one.

    `broken_share`: broken sums of all tables together over all sums; `mean_share`: mean of the tables'
    shares. `excess`: mean of the objective minus that of the exact answer to the same problem, over that one
    (at least 1); negative where a table is cheaper because it breaks conditions. `l1_ratio`, `emd_ratio`:
    geometric means over the problems of the distance from the truth summed over levels, over that of the
    exact answer. Optima are not unique: of several exact answers the cheapest, then the first, is the
    measure. Runs without a table, and problems without an exact answer, are counted in the notes.
    """
    found = [row for row in rows if row["family"] == "groupsizes" and row["kind"] in KINDS]
    judged = [row for row in found if ran(row) and row.get("sums") is not None]
    notes = left_out(found, _why_not, "this table")
    exact = _exact_answers(judged)
    alone = {problem(row) for row in judged if row["kind"] != "exact"} - set(exact)
    if alone:
        notes.append(
            f"{count(len(alone), 'problem')} without an exact answer: no excess and no ratios there."
        )
    which = ("model", "instance", "kind", "method") if by_instance else ("model", "kind", "method")
    lines = [
        dict(zip(which, key, strict=True)) | _one(own, exact, notes)
        for key, own in grouped(judged, columns_of(*which)).items()
    ]
    lines.sort(key=lambda cells: [str(cells[name]) for name in which[:-2]] + [_place(cells), cells["method"]])
    return make_table(
        "relaxed_by_instance" if by_instance else "relaxed",
        "Exact and relaxed" + (", by instance" if by_instance else ""),
        "What becomes of the conditions when integers are given up. A broken sum is a count that is not the "
        "sum of the counts of its parts. Relaxed tables are not whole numbers; rounded ones are, and no "
        "longer add up. An objective below the exact one (negative excess) is not better: such a table "
        "breaks conditions that the exact one keeps. Exact stands for the exact answer of least objective to "
        "each problem, and of equal ones the first in the results: several tables may be optimal, so that "
        "another exact solver may be a little nearer to the truth or farther from it.",
        [*(TableColumn(name=name, title=name, form="text") for name in which), *MEASURES],
        lines,
        notes,
    )


def _place(cells: dict[str, Cell]) -> str:
    """Kinds in the order of `KINDS`."""
    return str(KINDS.index(str(cells["kind"])))


def _why_not(row: Row) -> str | None:
    if not ran(row):
        return str(row["outcome"])
    return None if row.get("sums") is not None else "without a table"


def _exact_answers(rows: Rows) -> dict[Problem, Row]:
    """The cheapest feasible exact answer to each problem, the first one of equals."""
    answers: dict[Problem, Row] = {}
    for row in rows:
        value = objective(row)
        if row["kind"] != "exact" or not feasible(row) or value is None:
            continue
        key = problem(row)
        if key not in answers or value < (objective(answers[key]) or 0):
            answers[key] = row
    return answers


def _one(own: Rows, exact: dict[Problem, Row], notes: list[str]) -> dict[str, Cell]:
    shares = [row["broken_sums"] / row["sums"] for row in own if row["sums"]]
    sums = sum(row["sums"] for row in own)
    pairs = [(row, exact[problem(row)]) for row in own if problem(row) in exact]
    over = [gap for row, answer in pairs if (gap := _excess(row, answer)) is not None]
    return {
        "runs": len(own),
        "keeps_all": sum(_keeps_all(row) for row in own) / len(own),
        "broken_share": sum(row["broken_sums"] for row in own) / sums if sums else None,
        "mean_share": sum(shares) / len(shares) if shares else None,
        "worst_share": max(shares, default=None),
        "worst_sum": _most(own, "worst_sum"),
        "negative": _mean(own, "negative"),
        "fractional": _mean(own, "fractional"),
        "total_off": _most(own, "total_off"),
        "excess": sum(over) / len(over) if over else None,
        "l1_ratio": _ratio(pairs, "l1", notes),
        "emd_ratio": _ratio(pairs, "emd", notes),
    }


def _keeps_all(row: Row) -> bool:
    """Sums, signs, whole numbers and totals as they were counted, and no other condition broken (bounds)."""
    counted = any(row.get(name) for name in ("broken_sums", "negative", "fractional"))
    off = (row.get("total_off") or 0.0) > RELAXED_TOLERANCE
    return not counted and not off and row.get("point_status") != "infeasible"


def _excess(row: Row, answer: Row) -> float | None:
    """Against the exact answer; the noisy table, from which distances are measured, has none."""
    value = objective(answer)
    if row["kind"] == "noisy" or value is None or row.get("fingerprint") != answer.get("fingerprint"):
        return None
    return excess(row, {same_problem(row): value})


def _values(rows: Rows, name: str) -> list[float]:
    return [float(row[name]) for row in rows if row.get(name) is not None]


def _most(rows: Rows, name: str) -> float | None:
    found = max(_values(rows, name), default=None)
    # Up to here it is floating-point arithmetic, as for the solvers' own tables.
    return 0.0 if found is not None and found <= RELAXED_TOLERANCE else found


def _mean(rows: Rows, name: str) -> float | None:
    values = _values(rows, name)
    return sum(values) / len(values) if values else None


def _ratio(pairs: Sequence[tuple[Row, Row]], measure: str, notes: list[str]) -> float | None:
    """Geometric mean of the ratios; pairs with a distance of 0 have none, and are counted in the notes."""
    found = [(total(row, measure), total(answer, measure)) for row, answer in pairs]
    known = [(a, b) for a, b in found if a is not None and b is not None]
    ratios = [a / b for a, b in known if a > 0 and b > 0]
    if len(ratios) < len(known):
        name = pairs[0][0]["method"]
        notes.append(
            f"{name}: {count(len(known) - len(ratios), 'problem')} with a distance of 0 not in its "
            f"{measure.upper()} ratio."
        )
    return geometric_mean(ratios)
