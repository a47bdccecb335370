"""The kinds of charts of the benchmark report, from tidy records: curves, steps, points with fits, dots."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pgsr.report.charts import PANEL_WIDTH, WIDE, Record, altair, finished, series_scales

Spec = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """What an axis shows: the `name` of the record's entry, its title, and whether it is logarithmic.

    `ticks`: the values that are labelled; `form`: a d3 format of numbers; `zero`: from 0 on; `ends`: from
    where to where it goes.
    """

    name: str
    title: str
    log: bool = False
    ticks: Sequence[float] = ()
    form: str = ""
    zero: bool = False
    ends: Sequence[float] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Tip:
    """A line of what is shown beside the pointer: the `name` of the record's entry, its title and format."""

    name: str
    title: str
    form: str = ""


def curves(
    records: Sequence[Record],
    *,
    x: Axis,
    y: Axis,
    series: str,
    series_title: str,
    names: Sequence[str],
    tips: Sequence[Tip],
    panel: str = "",
    panels: Sequence[str] = (),
    lower: str = "",
    upper: str = "",
    step: bool = False,
    fit: Sequence[Record] = (),
    level: float | None = None,
) -> Spec:
    """Lines through points, one a series, a panel a value of `panel`; a click on the legend fades others.

    `lower`, `upper`: ends of an interval about each point. `step`: steps that stay until the next point, and
    points that show only near the pointer. `fit`: lines of other records instead of those through the points.
    `level`: a dashed line at that height.
    """
    alt = altair()
    scales = series_scales(alt, names)
    picked = alt.selection_point(fields=[series], bind="legend", name="picked")
    fade = alt.when(picked).then(alt.value(1)).otherwise(alt.value(0.12))
    base = alt.Chart().encode(
        x=_channel(alt, alt.X, x, records, panel),
        y=_channel(alt, alt.Y, y, records, panel, ends=(lower, upper)),
    )
    keys = _legend(alt, series, series_title, scales)
    line = base.mark_line(strokeWidth=2, interpolate="step-after" if step else "linear", clip=step)
    line = line.encode(**{k: keys[k] for k in ("color", "strokeDash")}, opacity=fade)
    layers: list[Any] = []
    if level is not None:
        rule = alt.Chart().mark_rule(strokeDash=[5, 4], color="#555555")
        layers.append(rule.encode(y=alt.datum(level)))
    if fit:
        line = line.transform_filter("datum.fitted == 'yes'")
        layers.append(line)
        base = base.transform_filter("datum.fitted != 'yes'")
    else:
        layers.append(line)
    if has_intervals(records, lower, upper):
        band = base.mark_rule(strokeWidth=1.4).encode(
            y=_channel(alt, alt.Y, y, records, panel, lower, (lower, upper)),
            y2=alt.Y2(upper),
            color=keys["color"],
            opacity=fade,
        )
        layers.append(band)
    points = base.mark_point(filled=True, size=55, stroke="white", strokeWidth=0.6).encode(
        color=keys["color"], shape=keys["shape"], tooltip=_tooltip(alt, tips)
    )
    if step:
        # Not the nearest one: with it, Vega-Lite has no names in the text beside the pointer.
        near = alt.selection_point(name="near", on="pointerover", clear="pointerout")
        shown = alt.when(near, empty=False).then(alt.value(1)).otherwise(alt.value(0))
        layers.append(points.encode(opacity=shown, size=alt.value(170)).add_params(near))
    else:
        layers.append(points.encode(opacity=fade))
    layers[0] = layers[0].add_params(picked) if level is None else layers[0]
    if level is not None:
        layers[1] = layers[1].add_params(picked)
    values = [*records, *({**record, "fitted": "yes"} for record in fit)]
    return _assembled(alt, layers, values, panel, panels, names)


def dots(
    records: Sequence[Record],
    *,
    x: Axis,
    row: str,
    rows: Sequence[str],
    colour: str,
    colour_title: str,
    names: Sequence[str],
    tips: Sequence[Tip],
    panel: str = "",
    panels: Sequence[str] = (),
    level: float | None = None,
    lower: str = "",
    upper: str = "",
) -> Spec:
    """One line a value of `row`, with a mark for each record at `x`; `level`: a dashed line at that place.

    `lower`, `upper`: ends of an interval about each mark; then the colours of a line stand below each other.
    """
    alt = altair()
    scales = series_scales(alt, names)
    legend = alt.Legend(title=colour_title) if len(names) > 1 else None
    base = alt.Chart().encode(
        y=alt.Y(row, type="nominal", sort=list(rows), title=None, axis=alt.Axis(grid=True, labelLimit=200)),
        x=_channel(alt, alt.X, x, records, panel, ends=(lower, upper)),
    )
    marks = base.mark_point(filled=True, size=90, opacity=0.85, stroke="white", strokeWidth=0.6).encode(
        color=alt.Color(colour, type="nominal", scale=scales["color"], legend=legend),
        shape=alt.Shape(colour, type="nominal", scale=scales["shape"], legend=legend),
        tooltip=_tooltip(alt, tips),
    )
    layers = [marks]
    spread = 1
    if has_intervals(records, lower, upper):
        # Kinds that are one a line need no room of their own.
        seen = {(record.get(panel), record[row], record[colour]) for record in records}
        if len(seen) > len({(place, name) for place, name, _ in seen}):
            spread = len(names)
            offset = alt.YOffset(colour, type="nominal", sort=list(names))
            base, marks = base.encode(yOffset=offset), marks.encode(yOffset=offset)
        rule = base.mark_rule(strokeWidth=1.4, opacity=0.85).encode(
            x=_channel(alt, alt.X, x, records, panel, lower, (lower, upper)),
            x2=alt.X2(upper),
            color=alt.Color(colour, type="nominal", scale=scales["color"], legend=legend),
        )
        layers = [rule, marks]
    if level is not None:
        layers.insert(0, alt.Chart().mark_rule(strokeDash=[5, 4], color="#555555").encode(x=alt.datum(level)))
    return _assembled(
        alt,
        layers,
        records,
        panel,
        panels,
        names,
        height=max(90, (30 if spread == 1 else 10 + 18 * spread) * len(rows)),
    )


def has_intervals(records: Sequence[Record], lower: str = "lower", upper: str = "upper") -> bool:
    """Whether any record has both ends."""
    return any(record.get(lower) is not None and record.get(upper) is not None for record in records)


def _assembled(
    alt: Any,
    layers: Sequence[Any],
    records: Sequence[Record],
    panel: str,
    panels: Sequence[str],
    names: Sequence[str],
    height: int = 260,
) -> Spec:
    """Layers as one chart, or as panels of their own scales, with the data and the width of the legend."""
    data = alt.Data(values=[_plain(record) for record in records])
    longest = max((len(name) for name in names), default=8)
    if panel:
        columns = min(2, len(panels))
        facet = alt.Facet(panel, type="nominal", sort=list(panels), title=None)
        inner = alt.layer(*layers).properties(width=PANEL_WIDTH if columns > 1 else WIDE, height=height - 40)
        whole = inner.facet(facet=facet, columns=columns, data=data)
        whole = whole.resolve_scale(x="shared", y="independent")
    else:
        whole = alt.layer(*layers, data=data).properties(width=WIDE, height=height)
    fitting = max(1, (WIDE + 60) // (longest * 7 + 44))
    whole = whole.properties(usermeta={"longest": longest}).configure_legend(columns=fitting)
    return finished(whole)


def _channel(
    alt: Any,
    kind: Any,
    axis: Axis,
    records: Sequence[Record],
    panel: str,
    name: str = "",
    ends: Sequence[str] = (),
) -> Any:
    """The encoding of an axis, of the entry `name` instead of its own; `ends`: of intervals on it.

    Panels share the horizontal axis.
    """
    shown: dict[str, Any] = {}
    if axis.form:
        shown["format"] = axis.form
    if axis.ticks:
        shown["values"] = list(axis.ticks)
    if not axis.log:
        scale = alt.Scale(zero=axis.zero, **({"domain": list(axis.ends)} if axis.ends else {}))
    elif axis.ticks:
        scale = alt.Scale(type="log", nice=False, padding=14)
    else:
        room: dict[str, Any] = {"domain": list(axis.ends)} if axis.ends else {"padding": 14}
        scale = alt.Scale(type="log", nice=False, **room)
        where = _labelled(_ranges(axis, records, "" if kind is alt.X else panel, ends))
        shown |= {"labelExpr": f"{where} ? {_NUMBER} : ''", "labelOverlap": "greedy", "labelSeparation": 6}
        shown["gridOpacity"] = alt.condition(_POWER, alt.value(1), alt.value(0.35))
    return kind(name or axis.name, type="quantitative", title=axis.title, scale=scale, axis=alt.Axis(**shown))


def _labelled(ranges: Sequence[tuple[float, float]]) -> str:
    """Which ticks of a logarithmic axis have a number: as few as leave three of them on each range.

    All of them would be too many: those without room are dropped, the power of ten among them.
    """
    for digits in _DIGITS:
        if all(_marks(digits, low, high) >= 3 for low, high in ranges):
            return f"indexof({list(digits)}, round(({_DIGIT}) * 1e6) / 1e6) >= 0"
    return "true"


def _marks(digits: Sequence[int], low: float, high: float) -> int:
    """How many of these digits, times a power of ten, lie on a range."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    return sum(low <= digit * 10.0**power <= high for power in powers for digit in digits)


def _ranges(
    axis: Axis, records: Sequence[Record], panel: str, ends: Sequence[str]
) -> list[tuple[float, float]]:
    """Smallest and largest value, intervals and all, of each panel."""
    found: dict[Any, list[float]] = {}
    for record in records:
        values = [record.get(name) for name in (axis.name, *ends)]
        found.setdefault(record.get(panel), []).extend(value for value in values if value)
    return [(min(values), max(values)) for values in found.values() if values]


_DIGITS = ((1,), (1, 2, 5), (1, 2, 3, 5), (1, 2, 3, 4, 6, 8))
_EXPONENT = "log(datum.value) / LN10"
_POWER = f"abs({_EXPONENT} - round({_EXPONENT})) < 1e-6"
"""Whether a tick is at a power of ten."""
_DIGIT = f"datum.value / pow(10, floor({_EXPONENT} + 1e-9))"
_NUMBER = "format(datum.value, datum.value >= 0.0001 && datum.value < 1e7 ? ',.3~r' : '.1~e')"


def _legend(alt: Any, series: str, title: str, scales: dict[str, Any]) -> dict[str, Any]:
    return {
        "color": alt.Color(series, type="nominal", title=title, scale=scales["color"]),
        "shape": alt.Shape(series, type="nominal", title=title, scale=scales["shape"]),
        "strokeDash": alt.StrokeDash(series, type="nominal", title=title, scale=scales["strokeDash"]),
    }


def _tooltip(alt: Any, tips: Sequence[Tip]) -> list[Any]:
    return [
        alt.Tooltip(t.name, type="quantitative", title=t.title, format=t.form)
        if t.form
        else alt.Tooltip(t.name, type="nominal", title=t.title)
        for t in tips
    ]


def _plain(record: Record) -> dict[str, Any]:
    """A record for JSON: what is not a finite number is null."""
    return {
        key: None if isinstance(value, float) and not math.isfinite(value) else value
        for key, value in record.items()
    }
