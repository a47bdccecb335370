"""Tables of the studies of inequality indices, as text for a page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from pgsr.bench.pages import Row, head, line, number

Rows = Sequence[Row]

TITLES = {"mld": "Mean log deviation", "theil": "Theil index"}
_BOUNDS = {
    "U": "Algorithm U, 2/3 of epsilon to the threshold",
    "U even": "Algorithm U, even split",
    "paper": "the paper's noise, even split",
}


def releases_report(rows: Rows, title: str, where: str) -> str:
    """All tables of the repeated releases: upper bounds, then errors of each index."""
    kinds = ("bound", "ladder", "clipping", "release")
    of = {kind: [row for row in rows if row["what"] == kind] for kind in kinds}
    runs, n = of["release"][0]["runs"], of["release"][0]["n"]
    about = (
        "**Private upper bounds** at epsilon 0.15 on geometric grids from 1,000 to 10^9: share of runs with "
        "U below the largest income, records clipped (5 %, median, 95 % of the runs), and U as a multiple of "
        "the largest income (median, 95 %, 99 %)."
    )
    lines = [
        f"Measured {where}.",
        "",
        f"{title}: n = {n:,}, {runs:,} runs.",
        "",
        about,
        "",
        *head(["bound", "step of the grid", "runs that clip", "records clipped", "U over the largest"]),
    ]
    for row in of["bound"]:
        step = _percent(_fraction(row["ratio"]) - 1)
        clipped = " / ".join(f"{count:,.0f}" for count in row["clipped"])
        over = " / ".join(_factor(value) for value in row["over_max"])
        share = _percent(row["clip_share"])
        lines.append(line([_BOUNDS[row["algorithm"]], step, share, clipped, over]))
    lines.append("")
    for name, words in TITLES.items():
        own = [row for row in of["release"] if row["index"] == name]
        ladder, clipping = (
            next(row for row in of[kind] if row["index"] == name) for kind in ("ladder", "clipping")
        )
        lines += [*_errors(own, words, ladder, clipping), ""]
    return "\n".join(lines).rstrip() + "\n"


def _errors(rows: Rows, words: str, ladder: Row, clipping: Row) -> list[str]:
    """Quantiles of the absolute errors of one index: noise and bound down, epsilon across."""
    epsilons = list(dict.fromkeys(row["epsilon"] for row in rows))
    by = {(row["noise"], row["upper"], row["epsilon"]): row for row in rows}
    local, widest = number(ladder["entries"][0]), number(ladder["global"])
    about = (
        f"**{words}**: {rows[0]['truth']:.6f} without privacy; local and global sensitivity with U = max: "
        f"{local} and {widest}. Clipping at the private bound alone moves it by "
        f"{' / '.join(number(value) for value in clipping['errors'])}. Absolute error, median / 95 % / 99 %:"
    )
    lines = [
        about,
        "",
        *head(["noise", "U", *(f"epsilon {epsilon}" for epsilon in epsilons)]),
    ]
    for noise in dict.fromkeys(row["noise"] for row in rows):
        for upper in dict.fromkeys(row["upper"] for row in rows):
            cells = []
            for epsilon in epsilons:
                row = by[noise, upper, epsilon]
                at = [row["probabilities"].index(p) for p in (0.5, 0.95, 0.99)]
                cells.append(" / ".join(number(row["errors"][i]) for i in at))
            lines.append(line([noise, upper, *cells]))
    return lines


def samples_report(rows: Rows, errors: Rows, truth: Mapping[str, float], where: str) -> str:
    """All tables of the repeated samples: upper bounds, then errors of each index by n."""
    sizes = sorted({row["n"] for row in rows})
    about = (
        f"Incomes: {rows[0]['population']}; {len(rows) // len(sizes):,} samples of each size; one is added "
        "to each income, lower bound 1, private upper bound at epsilon 0.15 in each sample."
    )
    lines = [
        f"Measured {where}.",
        "",
        about,
        "",
        *head(["n", "samples that clip", "records clipped (median)", "U (median)"]),
    ]
    for n in sizes:
        own = [row for row in rows if row["n"] == n]
        counts = np.array([row["clipped"] for row in own])
        middle = float(np.median([row["upper"] for row in own]))
        share = _percent(float((counts > 0).mean()))
        lines.append(line([f"{n:,}", share, f"{np.median(counts):,.0f}", number(middle)]))
    for name, words in TITLES.items():
        own = [row for row in errors if row["index"] == name]
        by = {(row["noise"], row["epsilon"], row["n"]): row for row in own}
        lines += [
            "",
            f"**{words}**, {truth[name]:.6f} in the population. Absolute error, median / 95 %:",
            "",
            *head(["noise", "epsilon", *(f"n = {n:,}" for n in sizes)]),
        ]
        for noise, epsilon in dict.fromkeys((row["noise"], row["epsilon"]) for row in own):
            cells = []
            for n in sizes:
                row = by[noise, epsilon, n]
                cells.append(f"{number(row['error_50'])} / {number(row['error_95'])}")
            lines.append(line(["sampling alone" if noise == "none" else noise, epsilon, *cells]))
    return "\n".join(lines).rstrip() + "\n"


def _fraction(text: str) -> float:
    above, _, below = text.partition("/")
    return float(above) / float(below or 1)


def _percent(share: float) -> str:
    return f"{number(100 * share)} %" if 0 < share < 0.995 else f"{100 * share:.3g} %"


def _factor(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
