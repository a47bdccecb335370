"""Tables of the solver comparison, and of what each solver takes, as text for a page."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from pgsr.bench.pages import Row, head, line, number
from pgsr.bench.presets import Model
from pgsr.models.problem import Feature
from pgsr.solvers.base import Solver
from pgsr.solvers.registry import names

KINDS: dict[str, tuple[Model, bool]] = {
    "Model 1, integers": ("hierarchical", False),
    "Model 1, relaxation": ("hierarchical", True),
    "Model 2, integers": ("cumulative", False),
    "Model 2, relaxation": ("cumulative", True),
}
"""Kinds of problems: the model, and whether integrality is dropped."""

OFF = 1e-6
"""Relative distance of a relaxation's objective from the best one at which it is marked."""

_MARKS = """A figure is the time of a solver, stating the problem and solving it, as a multiple of the time
in the first line. No mark: the framework has proven the point optimal. `claimed`: only the solver says so.
`not best`: another solver found a better table, by this share of the objective. `unproven`: a heuristic's
table, and none better is known. `off`: the objective of a relaxation differs from the best one by this share.
`violates`: the largest violation of a condition, in units. `limit`: the {limit:.0f} s were over, with the gap
that was left if there was a table. `size limit`: its licence takes no more. `refuted`: it claims what is not
true. `refuses`: it says that this is too large for it. `-`: not tried, since it stopped being practical on
smaller ones. A blank: not its kind of problem."""


def comparison(rows: Sequence[Row], left_out: Mapping[str, str], limit_s: float, where: str) -> str:
    """The report: one table of times a kind of problem, then shares of building and memory."""
    lines = [f"Measured {where}.", "", _MARKS.format(limit=limit_s), ""]
    for kind in KINDS:
        found = [row for row in rows if row["kind"] == kind]
        if found:
            lines += [f"**{kind}**", "", *_times(found), ""]
    lines += ["**Share of the time that goes into stating the problem, and peak memory in GB**", ""]
    lines += ["At the largest size that the solver finished; memory is that of the whole process.", ""]
    lines += [*_costs(rows), ""]
    versions = sorted({(row["solver"], row["version"]) for row in rows if row["outcome"] == "ran"})
    lines += [f"Versions: {', '.join(f'{name} {version}' for name, version in versions)}.", ""]
    if left_out:
        lines += [f"Left out: {'; '.join(f'{name} ({why})' for name, why in sorted(left_out.items()))}.", ""]
    return "\n".join(lines)


def features(solvers: Iterable[Solver], left_out: Mapping[str, str]) -> str:
    """What each solver takes, read off the registered classes."""
    order = tuple(Feature)
    lines = head(
        [
            "solver",
            *(feature.value for feature in order),
            "good up to (entries)",
            "refuses beyond",
            "package",
        ]
    )
    for solver in sorted(solvers, key=lambda s: s.name):
        scale, most = getattr(solver, "scale", 0), getattr(solver, "most_entries", None)
        lines.append(
            line(
                [
                    f"`{solver.name}`",
                    *("yes" if feature in solver.features else "" for feature in order),
                    f"{scale:,}" if scale else "",
                    f"{most:,}" if most else "",
                    _package(solver),
                ]
            )
        )
    missing = sorted(set(left_out) & set(names()))
    if missing:
        lines += ["", f"Not in this table, since they could not be loaded here: {', '.join(missing)}."]
    return "\n".join(lines) + "\n"


def _package(solver: Solver) -> str:
    package, extra = getattr(solver, "package", ""), getattr(solver, "extra", "")
    if not package:
        return "pgsr itself"
    return f"{package} (`pgsr[{extra}]`)" if extra else str(package)


def seconds(row: Row) -> float:
    """Seconds of stating and solving."""
    return float(row["build_s"] + row["solve_s"])


def solved(row: Row) -> bool:
    """Whether it ran to the end and its claim of an optimum stands."""
    return (row["outcome"], row.get("termination"), row.get("point_status")) == ("ran", "optimal", "feasible")


def base(rows: Sequence[Row]) -> Row | None:
    """The fastest run of a solver of our own that solved the problem, else of any; None if there is none."""
    good = [row for row in rows if solved(row)]
    own = [row for row in good if row["native"]]
    return min(own or good, key=seconds, default=None)


def _times(rows: Sequence[Row]) -> list[str]:
    entries = sorted({row["entries"] for row in rows})
    by = {(row["solver"], row["entries"]): row for row in rows}
    bases = {n: base([row for row in rows if row["entries"] == n]) for n in entries}
    best = {n: _best([row for row in rows if row["entries"] == n]) for n in entries}
    lines = head(["solver", *(f"{n:,} entries" for n in entries)])
    first = [
        "" if found is None else f"{found['solver']}: {number(seconds(found))} s" for found in bases.values()
    ]
    lines.append(line(["*time taken as 1*", *first]))
    for solver in sorted({row["solver"] for row in rows}):
        cells = [_cell(by.get((solver, n)), bases[n], best[n]) for n in entries]
        if any(cells):
            lines.append(line([f"`{solver}`", *cells]))
    return lines


def _best(rows: Sequence[Row]) -> float | None:
    """The best objective known: for relaxations of proven points, where there are any."""
    good = [row for row in rows if row["outcome"] == "ran" and row["point_status"] == "feasible"]
    proven = [row for row in good if row["certificate"] is True]
    return min((row["objective"] for row in proven or good), default=None)


def _cell(row: Row | None, reference: Row | None, best: float | None) -> str:
    plain = {
        "lacks": "",
        "refused": "refuses",
        "beyond": "-",
        "killed": "limit (killed)",
        "fault": "breaks down",
    }
    if row is None:
        return ""
    if row["outcome"] != "ran":
        return plain[row["outcome"]]
    if row["point_status"] == "none":
        return {"time_limit": "limit", "other_limit": "size limit"}.get(row["termination"], "no answer")
    marks = _marks(row, best)
    if row["termination"] in ("time_limit", "other_limit"):
        return _with("limit", marks or [_gap(row)])
    ratio = "" if reference is None else f"{number(seconds(row) / max(seconds(reference), 1e-9))}x"
    return _with(ratio or f"{number(seconds(row))} s", marks)


def _marks(row: Row, best: float | None) -> list[str]:
    if row["point_status"] == "infeasible":
        return [f"violates {number(row['worst_violation'])}"]
    marks = []
    if row["refuted"]:
        marks.append("refuted")
    elif row["certificate"] is not True and row["termination"] == "optimal":
        marks.append("claimed")
    if best is not None:
        size = max(1.0, abs(best))
        distance = (row["objective"] - best) / size
        if KINDS[row["kind"]][1]:
            if abs(distance) > OFF:
                marks.append(f"off {number(abs(distance))}")
        elif distance > 0:
            marks.append(f"not best {number(distance)}")
    heuristic = row["termination"] not in ("optimal", "time_limit", "other_limit")
    return ["unproven"] if heuristic and not marks and row["certificate"] is not True else marks


def _gap(row: Row) -> str:
    if row["certificate"] is True:
        return "its table is optimal"
    return "" if row["gap_relative"] is None else f"gap {number(row['gap_relative'])}"


def _costs(rows: Sequence[Row]) -> list[str]:
    lines = head(["solver", *KINDS])
    for solver in sorted({row["solver"] for row in rows}):
        cells = []
        for kind in KINDS:
            done = [r for r in rows if (r["solver"], r["kind"]) == (solver, kind) and solved(r)]
            last = max(done, key=lambda row: int(row["entries"]), default=None)
            cells.append("" if last is None else _cost(last))
        if any(cells):
            lines.append(line([f"`{solver}`", *cells]))
    return lines


def _cost(row: Row) -> str:
    share = row["build_s"] / max(seconds(row), 1e-9)
    return f"{share:.0%}, {row['peak_gb']:.2g} GB at {row['entries']:,}"


def _with(text: str, marks: Sequence[str]) -> str:
    kept = [mark for mark in marks if mark]
    return f"{text} ({', '.join(kept)})" if kept else text
