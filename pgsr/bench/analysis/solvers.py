"""Solver against solver: how many problems each one solved, proved, was fastest on, and how it failed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Hashable, Mapping
from statistics import median

from pgsr.bench.analysis.rowsets import (
    Known,
    Panel,
    Rows,
    agrees,
    best_objectives,
    columns_of,
    grouped,
    panel,
    proven_objectives,
    state,
)
from pgsr.bench.analysis.statistics import geometric_mean
from pgsr.bench.analysis.tabledata import Cell, TableColumn, TableData, make_table
from pgsr.bench.pages import Row

SHIFT_S = 1.0
"""Added before and taken off after the geometric mean, so that thousandths of a second do not rule it."""
FLOOR_S = 0.001
"""Times below count as this one: a clock says little about them."""

_STATES = {
    "limit": "stopped by its own limit",
    "stopped": "stopped without a table that could be kept, or with a claim that its table refutes",
    "beaten": "said it was optimal, and another one found something better",
    "killed": "killed at the time limit",
    "memory": "ran out of memory",
    "fault": "failed",
    "never": "not run: a feature or a library is missing, or it refuses the input",
}

COLUMNS = (
    TableColumn(name="model", title="model", form="text"),
    TableColumn(name="kind", title="problem", form="text", about="integers (exact) or their relaxation"),
    TableColumn(name="method", title="solver", form="text"),
    TableColumn(name="problems", title="problems", form="whole", about="on which it ran"),
    TableColumn(
        name="solved", title="solved", form="whole", about="optimal, feasible, and nothing better known"
    ),
    TableColumn(name="proven", title="proven", form="whole", about="with a proof from the problem"),
    TableColumn(
        name="agreed",
        title="proven by others",
        form="whole",
        about="without a proof of its own, but with the objective that another run of the same problem, or "
        "the list of best-known values, proves optimal",
    ),
    TableColumn(
        name="compared",
        title="given to all",
        form="whole",
        about="problems that all solvers of this kind were given: 'fastest' and the mean are over these",
    ),
    TableColumn(
        name="fastest", title="fastest", form="whole", about="first, or within 1 % or 1 ms of the first"
    ),
    TableColumn(name="median_s", title="median", unit="s", about="of the problems it solved, as measured"),
    TableColumn(
        name="mean_s",
        title="mean",
        unit="s",
        about="shifted geometric mean (1 s) over those given to all; not solved counts as the time limit",
    ),
    *(TableColumn(name=name, title=name, form="whole", about=about) for name, about in _STATES.items()),
)


def solver_rows(rows: Rows) -> list[Row]:
    """The runs of solvers that are to find an optimum: exact ones, and those of relaxations."""
    return [row for row in rows if row["family"] == "groupsizes" and row["kind"] in ("exact", "relaxed")]


def solver_table(rows: Rows, *, known: Known | None = None, proven: Collection[str] = ()) -> TableData:
    """One line a model, kind of problem and solver: solved, proven, fastest, times, and ends of the others.

    `problems` are those on which it ran: what it does not take is in `never` alone. Means and `fastest` are
    over the problems that all solvers were given (`compared`), see `panel`. `known`: best-known objectives by
    fingerprint; `proven`: fingerprints of those that are proven optimal.
    """
    found = solver_rows(rows)
    best, optima = best_objectives(found, known), proven_objectives(found, known, proven)
    lines: list[dict[str, Cell]] = []
    notes: list[str] = []
    for (model, kind), group in grouped(found, columns_of("model", "kind")).items():
        fair = panel(group)
        notes += [f"{model}, {kind}: {note}" for note in fair.notes]
        means, without = _means(fair, best)
        if without:
            notes.append(f"{model}, {kind}: no mean for {', '.join(without)}, whose time limit is not known.")
        fastest = _fastest(fair, best)
        one = [
            _one(own, best, optima)
            | {"model": model, "kind": kind, "method": method, "mean_s": means.get(method)}
            | {
                name: cell if method in fair.methods else None
                for name, cell in (
                    ("fastest", fastest[method]),
                    ("compared", len(fair.runs)),
                )
            }
            for method, own in grouped(group, lambda row: str(row["method"])).items()
        ]
        lines += sorted(one, key=lambda cells: (-_number(cells["solved"]), _number(cells["mean_s"])))
    sometimes = {*_STATES, "agreed", "compared"}
    used = {name for cells in lines for name, value in cells.items() if name not in sometimes or value}
    if all(cells["compared"] in (None, cells["problems"]) for cells in lines):
        used -= {"compared"}
    return make_table(
        "solvers",
        "Solvers",
        "How many problems each solver solved within its limits, and how fast. Solved: the answer keeps all "
        "conditions, the solver calls it optimal, and no other answer is better. Proven: the optimality "
        "follows from the problem itself, whatever the solver says. Only the solve is timed; in 'fastest' "
        f"and in the mean, times below {FLOOR_S * 1000:g} ms count as {FLOOR_S * 1000:g} ms.",
        [column for column in COLUMNS if column.name in used or column.name not in sometimes],
        [{name: value for name, value in cells.items() if name in used} for cells in lines],
        notes,
    )


def _number(cell: Cell) -> float:
    return float("inf") if cell is None else float(cell)


def _one(own: Rows, best: Mapping[Hashable, float], optima: Mapping[Hashable, float]) -> dict[str, Cell]:
    ends = Counter(state(row, best) for row in own)
    solved = [row for row in own if state(row, best) == "solved"]
    unproven = [row for row in solved if row.get("certificate") is not True]
    times = [float(row["solve_s"]) for row in solved if _timed(row)]
    never = sum(ends[name] for name in ("lacks", "missing", "refused"))
    return {
        "problems": len(own) - never,
        "solved": len(solved),
        "proven": len(solved) - len(unproven),
        "agreed": sum(agrees(row, optima) for row in unproven),
        "median_s": median(times) if times else None,
        "never": never,
        **{name: ends[name] for name in _STATES if name != "never"},
    }


def _timed(row: Row) -> bool:
    return row.get("solve_s") is not None


def solve_time(row: Row, best: Mapping[Hashable, float]) -> float | None:
    """Seconds to a solved problem, at least `FLOOR_S`; None where it is not solved."""
    if state(row, best) != "solved" or not _timed(row):
        return None
    return max(float(row["solve_s"]), FLOOR_S)


def _means(fair: Panel, best: Mapping[Hashable, float]) -> tuple[dict[str, float | None], list[str]]:
    """Shifted geometric means; methods whose unsolved runs have no limit to stand for them have none."""
    means: dict[str, float | None] = {}
    without = []
    for method in fair.methods:
        times: list[float | None] = []
        for runs in fair.runs.values():
            took = solve_time(runs[method], best)
            times.append(took if took is not None else runs[method].get("time_limit_s"))
        if None in times:
            without.append(method)
        else:
            means[method] = geometric_mean([time for time in times if time is not None], SHIFT_S)
    return means, without


def _fastest(fair: Panel, best: Mapping[Hashable, float]) -> Counter[str]:
    won: Counter[str] = Counter()
    for runs in fair.runs.values():
        times = {m: took for m, row in runs.items() if (took := solve_time(row, best)) is not None}
        for method, took in times.items():
            won[method] += took <= 1.01 * min(times.values())
    return won
