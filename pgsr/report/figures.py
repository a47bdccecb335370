"""What all pictures share: colours, a figure without global state, and files that come out the same again."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BLUE, ORANGE, GREEN, RED, GREY = "#0072b2", "#e69f00", "#009e73", "#d55e00", "#666666"
"""Colours that people with colour blindness tell apart (Okabe and Ito)."""

_SETTINGS: Any = {
    "font.size": 9.5,
    "axes.titlesize": 10,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "svg.hashsalt": "pgsr",
    "svg.fonttype": "path",
}
FORMATS = ("png", "svg")


@contextmanager
def style() -> Iterator[None]:
    """Set matplotlib up for a picture."""
    from matplotlib import rc_context

    with rc_context(_SETTINGS):
        yield


def panels(rows: int, columns: int, *, width: float = 4.0, height: float = 3.1) -> tuple[Figure, list[Axes]]:
    """A figure of equal panels, row by row; `width` and `height` of one in inches. Use inside `style`."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width * columns, height * rows), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False)
    return figure, list(axes.ravel())


def save(figure: Figure, folder: Path, name: str) -> list[Path]:
    """Write `name`.png and `name`.svg to `folder`, without a date in them; the paths."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    with style():
        for kind in FORMATS:
            path = folder / f"{name}.{kind}"
            metadata = {"Software": None} if kind == "png" else {"Date": None, "Creator": "pgsr"}
            figure.savefig(path, format=kind, dpi=150, metadata=metadata)
            paths.append(path)
    return paths
