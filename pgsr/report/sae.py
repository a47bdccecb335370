"""Pictures of small area releases: what they cost by area, and how sure their estimates are.

`python -m pgsr.report.sae --rows DIR --out FOLDER` draws what `pgsr.bench` left in `DIR`
(sae_areas.jsonl, one row an area of a simulated survey), as PNG and SVG. Direct estimates and truths are
confidential figures: draw them of simulated data only. The review page draws with the same functions, from
public figures and releases alone.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pgsr.errors import InputError
from pgsr.privacy import zcdp_to_approximate
from pgsr.report.figures import BLUE, GREEN, GREY, ORANGE, RED, panels, save, style
from pgsr.report.inequality import read_rows
from pgsr.report.sae_intervals import draw_intervals

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Rows = Sequence[Mapping[str, Any]]

TITLES = {"acs": "ACS-like, 2,462 areas", "brfss": "BRFSS-like, 52 areas"}
"""Titles of the simulated surveys."""
_DELTAS = (1e-12, 1e-2)
_STEPS = (1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 7, 10, 15, 20, 30, 50, 100, 200, 500, 1000)


def draw_rho_by_size(rows: Rows) -> Figure:
    """Rho of a record against the sample size of its area, coloured by how unequal the weights are.

    Keys of a row: n, rho, ratio (w_max / w_mean), and perhaps `twin`: a panel each.
    """
    from matplotlib.colors import LogNorm

    groups = _by_twin(rows)
    ratios = _column(rows, "ratio")
    low, high = max(1.0, float(ratios.min())), max(1.1, float(ratios.max()))
    norm = LogNorm(low, high)
    with style():
        figure, axes = panels(1, len(groups), width=4.4, height=3.4)
        shown: Any = None
        for axis, (title, own) in zip(axes, groups.items(), strict=True):
            order = sorted(own, key=lambda row: float(row["ratio"]))
            shown = axis.scatter(
                _column(order, "n"),
                _column(order, "rho"),
                c=_column(order, "ratio"),
                norm=norm,
                cmap="cividis_r",
                s=22 if len(own) <= 200 else 9,
                linewidths=0.2,
                edgecolors="black",
            )
            _log_axes(axis)
            axis.set_xlabel("records of the area, n")
            axis.set_ylabel(r"$\rho$ of a record")
            axis.set_title(title)
        bar = figure.colorbar(shown, ax=axes, label=r"weight inequality, $w_{\max}/\bar w$")
        steps = [step for step in _STEPS if low <= step <= high]
        bar.set_ticks(steps, labels=[f"{step:g}" for step in steps])
        bar.ax.minorticks_off()
    return figure


def draw_shrinkage(rows: Rows) -> Figure:
    """The exact rho of a record, and its bounds, against how far the area is shrunk.

    Keys of a row: shrinkage, rho, rho_free (for every model variance), and perhaps rho_conservative
    (Delta^2 / (2 sigma^2), which shrinkage makes larger) and `twin`: a panel each.
    """
    groups = _by_twin(rows)
    looks = (
        ("rho_conservative", ORANGE, "s", r"conservative, $\Delta^2/(2\sigma^2)$"),
        ("rho_free", GREY, "^", r"for every model variance, $\Delta^2/(2D)$"),
        ("rho", BLUE, "o", "exact"),
    )
    with style():
        figure, axes = panels(1, len(groups), width=4.4, height=3.4)
        for axis, (title, own) in zip(axes, groups.items(), strict=True):
            size = 4.5 if len(own) <= 200 else 2.5
            for key, colour, mark, label in looks:
                if key in own[0]:
                    axis.plot(
                        _column(own, "shrinkage"),
                        _column(own, key),
                        linestyle="none",
                        marker=mark,
                        color=colour,
                        markersize=size,
                        alpha=0.8,
                        label=label,
                    )
            axis.set_yscale("log")
            _plain_ticks(axis.yaxis)
            axis.set_xlabel("shrinkage, B = D / (D + A)")
            axis.set_ylabel(r"$\rho$ of a record")
            axis.set_title(title)
        handles, labels = axes[0].get_legend_handles_labels()
        figure.legend(handles[::-1], labels[::-1], loc="outside lower center", ncols=len(labels))
    return figure


def draw_shares(rows: Rows) -> Figure:
    """The exact rho as a share of its bounds, against how far the area is shrunk.

    Keys as for `draw_shrinkage`, with rho_conservative. The shares are c^2 and c = sigma^2 / D.
    """
    groups = _by_twin(rows)
    looks = (("rho_free", GREY, "^"), ("rho_conservative", BLUE, "o"))
    with style():
        figure, axes = panels(1, len(groups), width=4.4, height=3.2)
        for axis, (title, own) in zip(axes, groups.items(), strict=True):
            size = 4.5 if len(own) <= 200 else 2.5
            for key, colour, mark in looks:
                share = _column(own, "rho") / _column(own, key)
                place = _column(own, "shrinkage")
                axis.plot(place, share, mark, color=colour, markersize=size, alpha=0.8)
            axis.set_ylim(0, 1.02)
            axis.set_xlim(left=0)
            axis.set_xlabel("shrinkage, B = D / (D + A)")
            axis.set_ylabel(r"exact $\rho$, share of the bound")
            axis.set_title(title)
        labels = [r"of the bound for every model variance, $\Delta^2/(2D)$"]
        labels.append(r"of the conservative bound, $\Delta^2/(2\sigma^2)$")
        figure.legend(axes[0].get_lines(), labels, loc="outside lower center", ncols=2)
    return figure


def draw_epsilon(
    rhos: Mapping[str, Mapping[str, float]],
    *,
    marked: Sequence[float] = (1e-5, 1e-7),
    gaussian: bool = True,
) -> Figure:
    """Epsilon against delta, by the simple formula and the exact one: `rhos` (> 0) by panel and name.

    `marked` deltas get a line; with `gaussian` False the tighter curve is that of Renyi orders, which holds
    for every rho-zCDP release, in place of the exact one of Gaussian shifts.
    """
    with style():
        figure, axes = panels(1, len(rhos), width=5.2 if len(rhos) == 1 else 4.4, height=3.3)
        for axis, (title, own) in zip(axes, rhos.items(), strict=True):
            _epsilon_lines(axis, own, gaussian)
            for delta in marked:
                if _DELTAS[0] <= delta <= _DELTAS[1]:
                    axis.axvline(delta, color=GREY, linewidth=1.1, linestyle=(0, (4, 3)))
            axis.set_xscale("log")
            axis.set_ylim(bottom=0)
            axis.set_xlabel(r"$\delta$")
            axis.set_ylabel(r"$\varepsilon$")
            axis.set_title(title)
            axis.legend(fontsize=8.5)
    return figure


def _epsilon_lines(axis: Axes, rhos: Mapping[str, float], gaussian: bool) -> None:
    from pgsr.sae.conversions import epsilon_exact, epsilon_simple

    deltas = np.geomspace(*_DELTAS, 41).tolist()
    for (name, rho), colour in zip(rhos.items(), (BLUE, ORANGE, GREEN, RED, GREY), strict=False):
        label = f"{name}: " if name else ""
        simple = [epsilon_simple(rho, delta) for delta in deltas]
        axis.plot(deltas, simple, "--", color=colour, label=f"{label}simple formula")
        if gaussian:
            tight, way = [epsilon_exact(rho, delta) for delta in deltas], "exact"
        else:
            tight, way = [_renyi_epsilon(rho, delta) for delta in deltas], "by Renyi orders"
        axis.plot(deltas, tight, "-", color=colour, label=f"{label}{way}")


def _renyi_epsilon(rho: float, delta: float) -> float:
    found = zcdp_to_approximate(Fraction(rho), Fraction(repr(delta))).epsilon
    assert found is not None
    return float(found)


def _by_twin(rows: Rows) -> dict[str, list[Mapping[str, Any]]]:
    """The rows by survey, in the order they come; InputError if there are none."""
    groups: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        groups.setdefault(str(row.get("twin", "")), []).append(row)
    if not groups:
        raise InputError("no rows", "report", "give the rows of the study")
    return groups


def _column(rows: Rows, key: str) -> Any:
    return np.array([float(row[key]) for row in rows])


def _log_axes(axis: Axes) -> None:
    axis.set_xscale("log")
    axis.set_yscale("log")
    _plain_ticks(axis.xaxis)
    _plain_ticks(axis.yaxis)


def _plain_ticks(axis: Any) -> None:
    """Plain numbers at 1, 2 and 5 times the powers of ten of a logarithmic axis, or at the powers if many."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    low, high = axis.get_view_interval()
    narrow = low > 0 and math.log10(high / low) < 2.2
    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if narrow else (1.0,), numticks=12))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.6g}"))
    axis.set_minor_formatter(NullFormatter())


def main(arguments: Sequence[str] | None = None) -> None:
    """Draw the pictures of the study."""
    parser = argparse.ArgumentParser(description="Draw the study of small area releases.")
    parser.add_argument("--rows", type=Path, required=True, help="folder with the rows of the study")
    parser.add_argument("--out", type=Path, required=True, help="folder for the pictures")
    options = parser.parse_args(arguments)
    found = read_rows(options.rows / "sae_areas.jsonl")
    rows = [
        {
            **row,
            "twin": TITLES.get(row["twin"], row["twin"]),
            "rho": row["rho_exact"],
            "rho_free": row["rho_a_free"],
        }
        for row in found
    ]
    save(draw_rho_by_size(rows), options.out, "sae-rho-by-n")
    save(draw_shares(rows), options.out, "sae-conservative")
    groups = _by_twin(rows)
    rhos = {
        name: {"all areas": _column(own, "rho").max(), "median area": np.median(_column(own, "rho"))}
        for name, own in groups.items()
    }
    save(draw_epsilon(rhos), options.out, "sae-epsilon-delta")
    own = min(groups.values(), key=len)
    sigma = _column(own, "sigma")
    figure = draw_intervals(
        [str(row["area"]) for row in own],
        _column(own, "draw"),
        math.sqrt(2.0) * sigma,
        naive=sigma,
        marks={"truth": _column(own, "truth"), "direct estimate": _column(own, "direct")},
        order=_column(own, "truth"),
    )
    save(figure, options.out, "sae-caterpillar")


if __name__ == "__main__":
    main()
