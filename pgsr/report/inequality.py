"""Pictures of the studies of inequality indices: releases, errors by sample size, ladders.

`python -m pgsr.report.inequality --rows DIR --out FOLDER` draws what `pgsr.bench.inequality_releases` and
`pgsr.bench.inequality_samples` left in `DIR` (releases.jsonl, sample_errors.jsonl), as PNG and SVG. Ladders
and errors are confidential figures: draw them of public incomes only.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pgsr.errors import InputError
from pgsr.report.figures import BLUE, GREEN, GREY, ORANGE, RED, panels, save, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Rows = Sequence[Mapping[str, Any]]

TITLES = {"mld": "Mean log deviation", "theil": "Theil index"}
UPPERS = {"private": "private U", "public": "public U", "max": "U = largest income"}
COLOURS = {"laplace": GREY, "paper": ORANGE, "cauchy": BLUE, "ladder": GREEN}
MARKS = {"laplace": "D", "paper": "s", "cauchy": "^", "ladder": "o"}
SHADES = (ORANGE, BLUE, GREEN, RED, GREY)
STYLES = ("-", "--", "-.", ":", "-")


def draw_releases(rows: Rows, *, left_out: Sequence[str] = ("laplace",)) -> Figure:
    """Distribution of the releases: an index down, an upper bound across, noise side by side at each epsilon.

    `rows` of kind "release". Thick: the middle half; thin: 5 to 95 %; the mark is the median. Each panel has
    its own axis, which shows the middle halves; thin lines may go on. Noise in `left_out` is not drawn.
    """
    rows = _of_kind(rows, "release", left_out)
    indexes, uppers = _distinct(rows, "index"), _distinct(rows, "upper")
    with style():
        figure, axes = panels(len(indexes), len(uppers), width=3.8)
        for panel, axis in enumerate(axes):
            index, upper = indexes[panel // len(uppers)], uppers[panel % len(uppers)]
            own = [row for row in rows if row["index"] == index and row["upper"] == upper]
            _distributions(axis, own, _distinct(rows, "epsilon"), _distinct(rows, "noise"), "values")
            axis.set_ylim(*_window(own))
            axis.axhline(own[0]["truth"], color="black", linestyle="--", linewidth=0.9)
            axis.set_title(f"{TITLES[index]}, {UPPERS[upper]}")
            axis.set_ylabel("released value")
        _legend(figure, axes[0], "without privacy")
    return figure


def draw_errors(rows: Rows) -> Figure:
    """The same for absolute errors on a logarithmic axis, with all kinds of noise."""
    rows = _of_kind(rows, "release", ())
    indexes, uppers = _distinct(rows, "index"), _distinct(rows, "upper")
    with style():
        figure, axes = panels(len(indexes), len(uppers), width=3.8)
        for panel, axis in enumerate(axes):
            index, upper = indexes[panel // len(uppers)], uppers[panel % len(uppers)]
            own = [row for row in rows if row["index"] == index and row["upper"] == upper]
            _distributions(axis, own, _distinct(rows, "epsilon"), _distinct(rows, "noise"), "errors")
            _log_axis(axis)
            axis.set_ylim(*_log_limits([row["errors"] for row in rows if row["index"] == index]))
            axis.set_title(f"{TITLES[index]}, {UPPERS[upper]}")
            axis.set_ylabel("absolute error")
        _legend(figure, axes[0])
    return figure


def _distributions(axis: Axes, rows: Rows, epsilons: Sequence[str], noises: Sequence[str], key: str) -> None:
    """One group an epsilon, one bar a noise."""
    for i, noise in enumerate(noises):
        own = {row["epsilon"]: row for row in rows if row["noise"] == noise}
        at = np.arange(len(epsilons)) + (i - (len(noises) - 1) / 2) * 0.8 / len(noises)
        picks = [own[epsilon] for epsilon in epsilons]
        low, first, middle, third, high = (_at(picks, key, p) for p in (0.05, 0.25, 0.5, 0.75, 0.95))
        colour = COLOURS[noise]
        axis.vlines(at, low, high, color=colour, linewidth=1.1)
        axis.vlines(at, first, third, color=colour, linewidth=4.5)
        axis.plot(
            at,
            middle,
            linestyle="none",
            marker=MARKS[noise],
            color="white",
            markeredgecolor=colour,
            markersize=4.5,
            label=noise,
        )
    axis.set_xticks(range(len(epsilons)), list(epsilons))
    axis.set_xlabel("epsilon of the index")
    axis.grid(visible=False, axis="x")


def _at(rows: Rows, key: str, probability: float) -> Any:
    return np.array([row[key][row["probabilities"].index(probability)] for row in rows])


def _window(rows: Rows) -> tuple[float, float]:
    """Limits that show most of the middle halves, and the true value, with a margin."""
    truth = rows[0]["truth"]
    low = min(truth, float(np.quantile(_at(rows, "values", 0.25), 0.05)))
    high = max(truth, float(np.quantile(_at(rows, "values", 0.75), 0.95)))
    return max(0.0, low - 0.25 * (high - low)), high + 0.25 * (high - low)


def _log_limits(errors: Sequence[Sequence[float]]) -> tuple[float, float]:
    """Limits round the drawn quantiles; the smallest errors are left below the frame."""
    drawn = np.array(errors)[:, 1:-1]
    low = float(np.quantile(drawn[:, 0][drawn[:, 0] > 0], 0.25))
    return low / 2, 1.5 * float(drawn.max())


def draw_samples(
    rows: Rows, *, epsilon: str | None = None, noise: str | None = None, left_out: Sequence[str] = ()
) -> Figure:
    """Error against sample size, on logarithmic axes: an index down; medians left, 95 % right.

    `rows` as `pgsr.bench.inequality_samples.summary` gives them. One line a kind of noise at one `epsilon`,
    or one line an epsilon for one kind of `noise`; dashed: errors of the sampled incomes' own indices.
    Raises InputError unless exactly one of the two is given.
    """
    if (epsilon is None) == (noise is None):
        raise InputError("not one of epsilon and noise", "draw_samples", "give exactly one of them")
    across = "noise" if noise is None else "epsilon"
    fixed = {"epsilon": epsilon} if noise is None else {"noise": noise}
    indexes = _distinct(rows, "index")
    with style():
        figure, axes = panels(len(indexes), 2, width=4.6)
        for panel, axis in enumerate(axes):
            index, (key, words) = (
                indexes[panel // 2],
                (("error_50", "median"), ("error_95", "95 % quantile"))[panel % 2],
            )
            own = [row for row in rows if row["index"] == index]
            for i, one in enumerate(_distinct([row for row in own if _drawn(row, fixed, left_out)], across)):
                picks = [row for row in own if row[across] == one and _drawn(row, fixed, left_out)]
                label = one if across == "noise" else f"epsilon {one}"
                colour = COLOURS[one] if across == "noise" else SHADES[i]
                mark = MARKS[one] if across == "noise" else "osd^v"[i]
                _curve(axis, picks, key, color=colour, marker=mark, label=label)
            alone = [row for row in own if row["noise"] == "none"]
            _curve(axis, alone, key, color="black", linestyle="--", label="sampling alone")
            axis.set_xscale("log")
            _log_axis(axis)
            values = [
                row[name] for row in own for name in ("error_50", "error_95") if _drawn(row, fixed, left_out)
            ]
            axis.set_ylim(min(values) / 1.3, max(values) * 1.3)
            axis.set_title(f"{TITLES[index]}, {words}")
            axis.set_xlabel("sample size n")
            axis.set_ylabel("absolute error")
        _legend(figure, axes[0])
        figure.suptitle(f"epsilon {epsilon}" if noise is None else f"noise: {noise}", fontsize=10.5)
    return figure


def _drawn(row: Mapping[str, Any], fixed: Mapping[str, Any], left_out: Sequence[str]) -> bool:
    """Whether the picture shows this row: sampling alone always, else what has the fixed value."""
    if row["noise"] == "none":
        return True
    return row["noise"] not in left_out and all(row[name] == value for name, value in fixed.items())


def _log_axis(axis: Axes) -> None:
    """A logarithmic axis with plain numbers at 1, 2 and 5 times each power of ten, or at the powers alone."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    axis.set_yscale("log")
    axis.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0), numticks=12))
    axis.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.10g}"))
    axis.yaxis.set_minor_formatter(NullFormatter())


def _curve(axis: Axes, rows: Rows, key: str, **look: Any) -> None:
    rows = sorted(rows, key=lambda row: row["n"])
    axis.plot([row["n"] for row in rows], [row[key] for row in rows], markersize=4.5, **look)


def draw_ladders(rows: Rows) -> Figure:
    """Sensitivity within k replacements against k, and what of it the smooth sensitivity takes.

    `rows` of kind "ladder". CONFIDENTIAL figures.
    """
    rows = _of_kind(rows, "ladder", ())
    with style():
        figure, axes = panels(1, len(rows), width=4.8, height=3.6)
        for axis, row in zip(axes, rows, strict=True):
            k, entries = np.array(row["k"]), np.array(row["entries"])
            name = "$A^{(k)}$, exact" if row["index"] == "mld" else "$B_1^{(k)}$"
            weights = np.exp(-row["beta"] * k)
            axis.plot(k, entries, color=GREEN, label=name)
            if "paper_entries" in row:
                axis.plot(
                    k, row["paper_entries"], color=ORANGE, linestyle="-.", label="$B_T^{(k)}$, the paper's"
                )
            axis.plot(
                k,
                weights * entries,
                color=BLUE,
                linestyle="--",
                label=rf"weighted by $e^{{-{row['beta']:.3g}k}}$",
            )
            axis.axhline(row["global"], color=GREY, linestyle=":", label="global sensitivity")
            axis.set_xscale("symlog", linthresh=1, linscale=0.5)
            axis.set_yscale("log")
            axis.set_ylim(entries[0] / 30, row["global"] * 3)
            axis.set_xlim(0, k[-1])
            axis.set_title(f"{TITLES[row['index']]}, n = {row['n']:,}")
            axis.set_xlabel("incomes replaced, k")
            axis.set_ylabel("largest change by one more income")
            axis.legend(fontsize=8.5)
    return figure


def _legend(figure: Figure, axis: Axes, line: str = "") -> None:
    """One legend below all panels, of what the first one shows; `line` explains the dashed line."""
    from matplotlib.lines import Line2D

    handles, labels = axis.get_legend_handles_labels()
    if line:
        handles.append(Line2D([], [], color="black", linestyle="--", linewidth=0.9))
        labels.append(line)
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels))


def _of_kind(rows: Rows, what: str, left_out: Sequence[str]) -> list[Mapping[str, Any]]:
    found = [row for row in rows if row["what"] == what and row.get("noise") not in left_out]
    if not found:
        raise InputError(f"no rows of kind '{what}'", "report", "give the rows of the study")
    return found


def _distinct(rows: Rows, key: str) -> list[Any]:
    """The values of `key` in the order of the rows, without that of sampling alone."""
    return [value for value in dict.fromkeys(row[key] for row in rows) if value not in ("none", "")]


def read_rows(path: Path) -> list[dict[str, Any]]:
    """Rows of a file of JSON lines; InputError if there is no such file."""
    if not path.is_file():
        raise InputError("no such file", str(path), "run the study first")
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def main(arguments: Sequence[str] | None = None) -> None:
    """Draw all pictures of both studies."""
    parser = argparse.ArgumentParser(description="Draw the studies of inequality indices.")
    parser.add_argument("--rows", type=Path, required=True, help="folder with the rows of the studies")
    parser.add_argument("--out", type=Path, required=True, help="folder for the pictures")
    options = parser.parse_args(arguments)
    releases = read_rows(options.rows / "releases.jsonl")
    samples = read_rows(options.rows / "sample_errors.jsonl")
    save(draw_releases(releases), options.out, "inequality-releases")
    save(draw_errors(releases), options.out, "inequality-errors")
    save(draw_ladders(releases), options.out, "inequality-ladder")
    save(draw_samples(samples, epsilon="1", left_out=("laplace",)), options.out, "inequality-samples")
    save(draw_samples(samples, noise="ladder"), options.out, "inequality-samples-epsilon")


if __name__ == "__main__":
    main()
