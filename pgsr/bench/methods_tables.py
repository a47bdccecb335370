"""Tables of the comparison of methods, as text for a page: one a data set, epsilon and measure."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from pgsr.bench.methods_cases import Case
from pgsr.bench.pages import Row, head, line, number

Rows = Sequence[Row]

EXACT = {"M1": "M1 exact", "M2": "M2 exact"}
"""The method whose objective and bound the others of its model are held against."""

CONDITIONS = {
    "consistency": "sums of children",
    "validity": "below 0 or not whole",
    "faithfulness": "total of a level",
    "monotonicity": "falling rows",
}
_DISTANCES = {
    "l1": "L1 distance from the truth by level",
    "emd": "EMD (L1 distance of cumulative counts) by level",
}
_ROUNDING = 1e-6
"""Violations of real numbers up to here are those of floating point."""


def report(rows: Rows, cases: Sequence[Case], where: str) -> str:
    """All tables: a summary a data set, then errors, objectives and violations for each epsilon."""
    exact = sorted({(r["method"], r.get("by", r["solver"])) for r in rows if r["method"] in EXACT.values()})
    limits = sorted({f"{row['limit_s']:g} s" for row in rows})
    lines = [
        f"Measured {where}.",
        "",
        f"{'; '.join(f'`{method}` is by `{solver}`' for method, solver in exact)}; limit of one solve:",
        f"{', '.join(limits)}.",
        "",
    ]
    for case in cases:
        found = [row for row in rows if row["data"] == case.name]
        epsilons = list(dict.fromkeys(row["epsilon"] for row in found))
        lines += [f"## {case.title}", "", *_about(case), "", *_summary(found, epsilons), ""]
        for epsilon in epsilons:
            lines += _one(case, [row for row in found if row["epsilon"] == epsilon], epsilon)
    return "\n".join(lines).rstrip() + "\n"


def _about(case: Case) -> list[str]:
    tree, sizes = case.truth.hierarchy, case.truth.sizes
    levels = zip(tree.level_names, np.diff(tree.level_start).tolist(), strict=True)
    return [
        f"{case.truth.total:,} units; levels: {', '.join(f'{name} ({n:,})' for name, n in levels)};",
        f"{len(sizes):,} sizes, {sizes[0]:,} to {sizes[-1]:,}.",
    ]


def _summary(rows: Rows, epsilons: Sequence[str]) -> list[str]:
    """Errors summed over levels as multiples of those of the exact optimum of Model 2."""
    lines = [
        "L1 / EMD summed over levels and draws, as multiples of those of `M2 exact`:",
        "",
        *head(["method", *(f"epsilon {epsilon}" for epsilon in epsilons)]),
    ]
    for method in _names(rows):
        cells = []
        for epsilon in epsilons:
            here = [row for row in rows if row["epsilon"] == epsilon]
            both = [_multiple(here, method, measure) for measure in _DISTANCES]
            cells.append("" if None in both else " / ".join(_factor(value) for value in both))
        lines.append(line([method, *cells]))
    return lines


def _multiple(rows: Rows, method: str, measure: str) -> float | None:
    """Over the draws that both have a table of."""
    by = {(row["method"], row["seed"]): sum(row[measure]) for row in rows if row["outcome"] == "ran"}
    seeds = [seed for name, seed in by if name == method and (EXACT["M2"], seed) in by]
    whole = sum(by[EXACT["M2"], seed] for seed in seeds)
    return sum(by[method, seed] for seed in seeds) / whole if whole else None


def _one(case: Case, rows: Rows, epsilon: str) -> list[str]:
    seeds = len({row["seed"] for row in rows})
    draws = f"{seeds} draw{'s' if seeds > 1 else ''}"
    lines = [f"### {case.title}, epsilon {epsilon}, {draws}", ""]
    for measure, caption in _DISTANCES.items():
        table = _table(rows, case.truth.hierarchy.level_names, _by_level(measure))
        lines += [f"{caption}, mean ± standard error:", "", *table, ""]
    lines += [
        "Objective (mean), its excess over `exact`, the gap to the best proven bound (largest), draws proven",
        "optimal, seconds (mean):",
        "",
        *_table(
            [row for row in rows if "seconds" in row or row["outcome"] != "ran"],
            ("objective", "excess", "gap", "proven", "s"),
            _proof(rows),
        ),
        "",
        *_violations(rows),
        "",
    ]
    return lines


def _table(rows: Rows, columns: Sequence[str], cells: Callable[[Rows], list[str]]) -> list[str]:
    lines = head(["method", *columns])
    for method in _names(rows):
        own = [row for row in rows if row["method"] == method]
        ran = [row for row in own if row["outcome"] == "ran"]
        found = cells(ran) if ran else [own[0]["outcome"], *[""] * (len(columns) - 1)]
        missing = f" ({len(ran)} draws)" if 0 < len(ran) < len(own) else ""
        lines.append(line([method + missing, *found]))
    return lines


def _by_level(measure: str) -> Callable[[Rows], list[str]]:
    def cells(rows: Rows) -> list[str]:
        return [_spread(values) for values in zip(*(row[measure] for row in rows), strict=True)]

    return cells


def _spread(values: Sequence[float]) -> str:
    """Mean and, with two draws or more, the standard error of the mean."""
    mean = float(np.mean(values))
    if len(values) == 1:
        return number(mean)
    return f"{number(mean)} ± {number(float(np.std(values, ddof=1)) / math.sqrt(len(values)))}"


def _proof(rows: Rows) -> Callable[[Rows], list[str]]:
    """Cells of the table of objectives: `rows` are those of all methods on the same noisy tables."""
    exact = {(row["method"][:2], row["seed"]): row for row in rows if row["method"] in EXACT.values()}

    def cells(own: Rows) -> list[str]:
        took = number(float(np.mean([row["seconds"] for row in own])))
        if any(row.get("objective") is None for row in own):
            return ["", "", "", "", took]
        excess, gaps = [], []
        for row in own:
            best = exact.get((row["method"][:2], row["seed"]), {})
            if best.get("objective"):
                excess.append(row["objective"] / best["objective"] - 1)
            # A bound on whole tables says nothing about real numbers or tables that break a condition.
            bounds = [row.get("bound")] if broken(row) else [row.get("bound"), best.get("bound")]
            known = [bound for bound in bounds if bound is not None]
            if known and not broken(row, whole=True):
                gaps.append((row["objective"] - max(known)) / max(1.0, abs(row["objective"])))
        proven = sum(row.get("certificate") is True for row in own)
        return [
            number(float(np.mean([row["objective"] for row in own]))),
            _percent(float(np.mean(excess))) if excess else "",
            _percent(max(0.0, *gaps)) if gaps else "",
            f"{proven} of {len(own)}" if proven else "",
            took,
        ]

    return cells


def broken(row: Row, *, whole: bool = False) -> bool:
    """Whether its table breaks a condition; with `whole`, one that is not about whole numbers."""
    skipped = "validity" if whole else ""
    return any(value > _ROUNDING for name, value in row["violations"].items() if name != skipped)


def _violations(rows: Rows) -> list[str]:
    ran = [row for row in rows if row["outcome"] == "ran"]
    bad = {row["method"] for row in ran if broken(row)}
    good = [f"`{name}`" for name in _names(ran) if name not in bad]
    lines = [
        "Largest violation of each condition over all draws, in units:",
        "",
        *head(["method", *CONDITIONS.values()]),
    ]
    for method in _names(ran):
        if method in bad:
            own = [row["violations"] for row in ran if row["method"] == method]
            worst = [max(one[name] for one in own) for name in CONDITIONS]
            lines.append(line([method, *(_amount(value) for value in worst)]))
    return [*lines, "", f"No violation in any draw: {', '.join(good) or 'none'}."]


def _names(rows: Rows) -> list[str]:
    return list(dict.fromkeys(row["method"] for row in rows))


def _factor(value: float | None) -> str:
    assert value is not None
    return f"{value:,.0f}" if value >= 100 else f"{value:.3f}" if value < 2 else f"{value:.3g}"


def _percent(share: float) -> str:
    return f"{number(100 * share)} %" if share else "0"


def _amount(value: float) -> str:
    return "0" if abs(value) <= _ROUNDING else number(value)
