"""Charts that one can hover: Vega-Lite by Altair, live in a page, and the same as SVG and PNG for papers.

Nothing is loaded from the network: `script` bundles Vega with the code of the page, and expressions in charts
are interpreted, so that the page may forbid `eval`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from pgsr.atomic import atomic_path

Record = Mapping[str, Any]

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#000000")
"""Colours that people with colour blindness tell apart (Okabe and Ito)."""
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down")
DASHES = ([1, 0], [6, 3], [2, 2], [8, 3, 2, 3])

FONT = "Liberation Sans, Arial, Helvetica, sans-serif"
PANEL_WIDTH, WIDE = 330, 640
"""Widths in pixels of one of several panels, and of a chart that stands alone."""

_CONFIG: dict[str, Any] = {
    "background": "white",
    "font": FONT,
    "view": {"stroke": None},
    "axis": {
        "gridColor": "#e3e3e3",
        "domainColor": "#888888",
        "tickColor": "#888888",
        "labelFontSize": 12,
        "titleFontSize": 12,
        "titleFontWeight": "normal",
        "labelColor": "#333333",
        "titleColor": "#222222",
        "labelLimit": 220,
    },
    "legend": {
        "orient": "bottom",
        "labelFontSize": 12,
        "titleFontSize": 12,
        "titleFontWeight": "normal",
        "symbolSize": 90,
        "symbolStrokeWidth": 0,
        "labelLimit": 240,
        "columnPadding": 18,
    },
    "header": {"labelFontSize": 12.5, "labelFontWeight": "bold", "titleFontSize": 12, "labelLimit": 320},
    "point": {"size": 55, "filled": True},
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """A chart: `name` for files, title, caption in plain words, and `alt`, a sentence in its place.

    `spec` is the Vega-Lite specification, with its data in it.
    """

    name: str
    title: str
    caption: str
    alt: str
    spec: Mapping[str, Any] = field(repr=False)
    notes: Sequence[str] = ()


def altair() -> Any:
    """The module altair, which takes a second to import."""
    import altair as alt

    return alt


def finished(chart: Any) -> dict[str, Any]:
    """The specification of an Altair chart, checked against the schema, with the looks that all share."""
    spec: dict[str, Any] = chart.to_dict()
    own = spec.get("config", {})
    merged = {key: {**value} if isinstance(value, dict) else value for key, value in _CONFIG.items()}
    columns = own.get("legend", {}).get("columns")
    if columns is not None:
        merged["legend"]["columns"] = columns
    return {**spec, "config": merged}


def series_scales(alt: Any, names: Sequence[str]) -> dict[str, Any]:
    """One scale each for colour, shape and dashes over the same names, so that no two of them look alike."""
    names = list(names)
    at = range(len(names))
    return {
        "color": alt.Scale(domain=names, range=[COLOURS[i % len(COLOURS)] for i in at]),
        "shape": alt.Scale(domain=names, range=[SHAPES[i % len(SHAPES)] for i in at]),
        "strokeDash": alt.Scale(domain=names, range=[DASHES[i // len(COLOURS) % len(DASHES)] for i in at]),
    }


def svg(chart: Chart) -> str:
    """The chart as SVG to stand inside a page: its ids begin with its name, and it refers to nothing.

    Labels of single marks are left out: `alt` says what is shown, and the table beside it has the numbers.
    """
    spec = {**chart.spec, "config": {**chart.spec["config"], "aria": False}}
    text = _drawn(spec)
    text = re.sub(r'\sxmlns(:\w+)?="[^"]*"', "", text)
    text = re.sub(r'\bid="', f'id="{chart.name}-', text)
    text = re.sub(r"url\(#", f"url(#{chart.name}-", text)
    return re.sub(r'href="#', f'href="#{chart.name}-', text)


def save_charts(charts: Sequence[Chart], folder: Path) -> list[Path]:
    """Write each chart as `name`.svg and `name`.png (144 dots an inch) to `folder`; the paths."""
    folder.mkdir(parents=True, exist_ok=True)
    converter, version, paths = _converter(), _version(), []
    for chart in charts:
        text = json.dumps(chart.spec)
        pixels: bytes = converter.vegalite_to_png(text, vl_version=version, scale=2.0, ppi=144)
        for kind, content in (("svg", _drawn(chart.spec).encode()), ("png", pixels)):
            path = folder / f"{chart.name}.{kind}"
            with atomic_path(path) as new:
                new.write_bytes(content)
            paths.append(path)
    return paths


def _drawn(spec: Mapping[str, Any]) -> str:
    """The chart as SVG, with ids that do not depend on what was drawn before."""
    text: str = _converter().vegalite_to_svg(json.dumps(spec), vl_version=_version())
    numbers: dict[str, int] = {}
    return re.sub(r"\bclip(\d+)\b", lambda found: f"clip{numbers.setdefault(found[1], len(numbers))}", text)


def specifications(charts: Sequence[Chart]) -> str:
    """The charts by name as JSON that may stand inside a script element of a page."""
    text = json.dumps({chart.name: chart.spec for chart in charts}, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


@cache
def script(code: str) -> str:
    """`code` with the parts of Vega, Vega-Lite and Vega-Embed (`vegaEmbed`) that it needs, as one script."""
    text: str = _converter().javascript_bundle(code, vl_version=_version())
    return re.sub(r"</(script)", r"<\\/\1", text, flags=re.IGNORECASE).replace("<!--", "<\\!--")


def _converter() -> Any:
    import vl_convert

    return vl_convert


def _version() -> str:
    """The version of Vega-Lite that altair writes, as vl-convert names it."""
    version: str = altair().SCHEMA_VERSION
    return "_".join(version.removeprefix("v").split(".")[:2])
