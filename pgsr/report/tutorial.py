"""Pictures of the tutorial: the tree of the running example with its tables, and its cost tables.

python -m pgsr.report.tutorial --out docs/images
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from pgsr.models.problem import Problem
from pgsr.report.figures import BLUE, FORMATS, GREEN, GREY, RED, panels, save, style
from pgsr.solvers.base import SolveOptions
from pgsr.solvers.registry import get

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    Table = NDArray[np.int64]

REGIONS = ("US", "GA", "NY")
"""The tree of [Fioretto2021], figure 1; the counts are ours."""
TRUE = ((3, 3, 4), (2, 1, 1), (1, 2, 3))
NOISY = ((1, 1, 3), (3, -1, 1), (3, 2, 2))
TOTAL = 10


def example() -> Problem:
    """The running example as a problem of Model 1: rows US, GA, NY, columns sizes 1, 2, 3."""
    return Problem(parent=np.array([-1, 0, 0]), target=np.array(NOISY), total=TOTAL)


def published() -> Table:
    """The table that `dp` finds for the running example, (3, 3) int64."""
    table = get("dp").solve(example(), SolveOptions()).x
    assert table is not None
    return table.astype(np.int64)


def costs(size: int) -> Table:
    """Cost tables of one size: rows US, GA, NY, columns the values 0 to `TOTAL` ([Fioretto2021] (4))."""
    values = np.arange(TOTAL + 1)
    us, ga, ny = ((values - NOISY[region][size - 1]) ** 2 for region in range(3))
    phi = np.array([min(ga[x] + ny[v - x] for x in range(v + 1)) for v in values])
    return np.stack([us + phi, ga, ny])


def tree_picture() -> Figure:
    """The tree; at every region the true, the noisy and the published number of units of each size."""
    with style():
        figure, (axes,) = panels(1, 1, width=4.8, height=3.3)
        axes.set_axis_off()
        axes.set_xlim(0, 1)
        axes.set_ylim(0, 1)
        for x in (0.24, 0.76):
            axes.plot([0.5, x], [0.57, 0.43], color=GREY, linewidth=1.2, zorder=0)
        exact = published()
        for region, (x, y) in enumerate(((0.5, 0.78), (0.24, 0.21), (0.76, 0.21))):
            _node(axes, (x, y), region, exact[region])
    return figure


def _node(axes: Axes, middle: tuple[float, float], region: int, exact: Table) -> None:
    from matplotlib.patches import FancyBboxPatch

    x, y = middle
    box = FancyBboxPatch(
        (x - 0.215, y - 0.185),
        0.43,
        0.37,
        boxstyle="round,pad=0.015",
        facecolor="white",
        edgecolor=GREY,
        linewidth=0.8,
    )
    axes.add_patch(box)
    axes.text(x, y + 0.145, REGIONS[region], ha="center", va="center", weight="bold")
    heads = (("size", GREY), ("true", GREY), ("noisy", RED), ("published", BLUE))
    places = (x - 0.175, x - 0.085, x + 0.015, x + 0.135)
    for place, (head, colour) in zip(places, heads, strict=True):
        axes.text(place, y + 0.06, head, ha="center", va="center", color=colour, fontsize=8)
    for size in range(3):
        row = (size + 1, TRUE[region][size], NOISY[region][size], int(exact[size]))
        for place, value, (_, colour) in zip(places, row, heads, strict=True):
            shown = str(value).replace("-", "\N{MINUS SIGN}")
            axes.text(place, y - 0.01 - 0.07 * size, shown, ha="center", va="center", color=colour)


def cost_picture() -> Figure:
    """The cost tables of the three sizes, with the values that the optimum takes."""
    exact = published()
    looks = (("US", BLUE, "o", "-"), ("GA", RED, "s", "-"), ("NY", GREEN, "^", (0, (4, 3))))
    with style():
        figure, axes = panels(3, 1, width=4.8, height=1.75)
        for size, panel in enumerate(axes, start=1):
            tables = costs(size)
            for row, (name, colour, marker, line) in enumerate(looks):
                panel.plot(tables[row], color=colour, marker=marker, markersize=3, linestyle=line, label=name)
                taken = exact[row, size - 1]
                panel.plot(
                    taken, tables[row, taken], marker="*", markersize=12, color=colour, linestyle="none"
                )
            panel.set_ylim(-1, 26)
            panel.set_xlim(-0.4, 7.4)
            panel.set_xticks(range(8))
            panel.set_title(f"size {size}", loc="left")
            panel.set_ylabel("cost")
        axes[-1].set_xlabel("units")
        figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper right", ncols=3)
    return figure


def main(words: list[str] | None = None) -> None:
    """Draw both pictures into a folder."""
    parser = argparse.ArgumentParser(prog="python -m pgsr.report.tutorial", description=__doc__)
    parser.add_argument("--out", type=Path, required=True, help=f"folder for {' and '.join(FORMATS)}")
    folder = parser.parse_args(words).out
    for name, picture in (("tutorial-tree", tree_picture()), ("tutorial-costs", cost_picture())):
        for path in save(picture, folder, name):
            sys.stdout.write(f"{path}\n")


if __name__ == "__main__":
    main()
