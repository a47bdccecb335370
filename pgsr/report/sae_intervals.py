"""The picture of small area estimates with their intervals, and with those that forget a draw's noise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from pgsr.report.figures import BLUE, GREEN, GREY, ORANGE, RED, panels, style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Z95 = 1.959963984540054
MOST_LABELS = 60
"""Areas that the picture names; of more it shows `MOST_INTERVALS`, evenly chosen, without names."""
MOST_INTERVALS = 240


def draw_intervals(
    areas: Sequence[str],
    estimate: Sequence[float],
    sd: Sequence[float],
    *,
    naive: Sequence[float] | None = None,
    draws: int = 1,
    marks: Mapping[str, Sequence[float]] | None = None,
    order: Sequence[float] | None = None,
) -> Figure:
    """Estimates (m,) with 95 % intervals +- 1.96 `sd`, sorted by `order` (the estimates themselves).

    `naive`: smaller standard deviations, drawn thick inside: intervals that forget the noise of the `draws`
    whose mean the estimate is. `marks`: other figures of the areas by name, such as a simulation's truth.
    """
    centre, wide = np.array(estimate, dtype=float), Z95 * np.array(sd, dtype=float)
    places = np.argsort(centre if order is None else np.array(order, dtype=float), kind="stable")
    if places.size > MOST_INTERVALS:
        places = places[np.linspace(0, places.size - 1, MOST_INTERVALS).round().astype(int)]
    labelled = places.size <= MOST_LABELS
    factor = r"\sqrt{2}" if draws == 1 else rf"\sqrt{{1 + 1/{draws}}}"
    at = np.arange(places.size)
    with style():
        figure, (axis,) = panels(1, 1, width=7.6 if places.size > 20 else 5.8, height=3.6)
        axis.vlines(
            at,
            (centre - wide)[places],
            (centre + wide)[places],
            color=BLUE,
            linewidth=1.2 if labelled else 0.7,
            label="95 % interval" if naive is None else rf"95 %: $\pm 1.96{factor}\sigma$",
        )
        if naive is not None:
            narrow = Z95 * np.array(naive, dtype=float)
            axis.vlines(
                at,
                (centre - narrow)[places],
                (centre + narrow)[places],
                color=ORANGE,
                linewidth=4.0 if labelled else 1.6,
                alpha=0.75,
                label=r"naive, too short: $\pm 1.96\sigma$",
            )
        size = 3.5 if labelled else 1.8
        axis.plot(at, centre[places], "o", color="black", markersize=size, label="released")
        for (name, values), (colour, mark) in zip(
            (marks or {}).items(), ((RED, "_"), (GREEN, "x"), (GREY, "+")), strict=False
        ):
            axis.plot(at, np.array(values)[places], mark, color=colour, markersize=size + 2.5, label=name)
        if labelled:
            axis.set_xticks(at, [_short(str(areas[place])) for place in places], rotation=90, fontsize=7.5)
            for text in axis.get_xticklabels():
                text.set_parse_math(False)
        else:
            axis.set_xticks([])
            axis.set_xlabel(f"{places.size:,} of {centre.size:,} areas, in order")
        axis.set_ylabel("estimate")
        axis.set_xlim(-0.8, places.size - 0.2)
        axis.grid(visible=False, axis="x")
        figure.legend(loc="outside upper center", ncols=4, fontsize=8.5)
    return figure


def _short(label: str) -> str:
    return label if len(label) <= 18 else f"{label[:17]}…"
