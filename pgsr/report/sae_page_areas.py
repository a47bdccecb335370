"""The parts of a disclosure review that show areas: what each pays, what was published, and pictures."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from pgsr.report.page import Block, FactsBlock, PictureBlock, Section, TableBlock, TextBlock, inline_svg
from pgsr.report.sae import draw_epsilon, draw_rho_by_size, draw_shrinkage
from pgsr.report.sae_intervals import draw_intervals
from pgsr.report.sae_words import why_exposed

Record = dict[str, Any]

_DRAWS = {
    "area": "area",
    "n": "n",
    "ratio": "w_max / w_mean",
    "sensitivity": "sensitivity",
    "variance": "sampling variance D",
    "shrinkage": "shrinkage B",
    "gain": "c",
    "rho": "rho, this release",
    "rho_free": "rho, any model variance",
    "rho_alone": "rho, this area alone",
    "paid_by": "paid by a record of",
}
_MOVING = {
    "area": "area",
    "sensitivity": "sensitivity",
    "variance": "sampling variance D",
    "shrinkage": "shrinkage B",
    "rho": "rho of a record that leaves or joins",
    "rho_free": "the same, any model variance",
}
_STAGES = {
    "area": "area",
    "n": "n",
    "sensitivity": "sensitivity",
    "variance_least": "D, least",
    "variance_most": "D, greatest",
    "floor_may_bind": "floor may bind",
    "floor_always_binds": "always binds",
    "rho_p": "rho, proportion",
    "rho_draw": "rho, draws",
    "rho": "rho in all, at most",
}
_NOISY = {
    "area": "area",
    "n": "n",
    "sensitivity": "sensitivity",
    "noise_sd": "noise, sd",
    "variance": "sampling variance D",
    "rho": "rho",
}
_ESTIMATES = {
    "area": "area",
    "estimate": "estimate",
    "sd": "sd",
    "lower": "lower",
    "upper": "upper",
    "reshrunk": "shrunk again",
    "reshrunk_sd": "sd of it",
}


def areas_section(record: Record, rows: int | None) -> Section | None:
    """Which areas pay, the most exposed one and why, and whether the worst record is the area's own."""
    areas = record["areas"]
    if not areas:
        return None
    blocks: list[Block] = []
    whole, worst = record["whole"], record["most_exposed"]
    if record["conditional"]:
        blocks.append(
            TextBlock(
                text="The cost by area depends on variances that come from the data, and is not shown. "
                "Only the sensitivities are public."
            )
        )
    elif worst is not None:
        blocks.append(TextBlock(text=why_exposed(worst, record["unit"], moves=record["moves"])))
    else:
        blocks.append(
            TextBlock(
                text="A record pays the same in every area: the noise is in scale of the sensitivity. Areas "
                "with a large sensitivity get more noise instead."
            )
        )
    if whole:
        blocks += _whole(record)
    columns = dict(
        next(
            names
            for names, key in (
                (_DRAWS, "rho_alone"),
                (_MOVING, "shrinkage"),
                (_STAGES, "rho_draw"),
                (_NOISY, "sensitivity"),
            )
            if key in areas[0]
        )
    )
    if whole.get("own_is_worst"):
        del columns["paid_by"]
        if record["kind"] == "joint":
            del columns["rho_alone"]  # the same as rho
    key = "rho" if worst is not None else "sensitivity"
    order = sorted(areas, key=lambda row: -row[key])
    blocks.append(
        _table(
            order,
            columns,
            rows,
            f"Areas by {key}, the largest first",
            marked=(0,) if worst is not None else (),
        )
    )
    if worst is not None and not record["conditional"]:
        # Where the floor caps the cost, all areas pay nearly the same.
        if "ratio" in areas[0] and "rho_alone" in areas[0]:
            blocks.append(picture(record, "size"))
        if "rho_free" in areas[0] and not record["moves"]:
            blocks.append(picture(record, "shrinkage"))
    title = "Sensitivity by area" if worst is None else "Which areas pay"
    return Section(title=title, blocks=blocks)


def _whole(record: Record) -> list[Block]:
    whole = record["whole"]
    blocks: list[Block] = []
    facts = {
        "one joint draw of all areas": whole["rho_joint"],
        "independent draws of every area": whole["rho_marginals"],
        "areas one after another, at most": whole.get("rho_sum"),
        "a joint draw, whatever the model variance and design are": whole["a_free"],
    }
    moving = whole["moving"] is not None
    many = f" (one draw; this release has {whole['draws']})" if whole["draws"] > 1 else ""
    many = f", for a record that may move{many}" if moving else many
    there = {name: rho for name, rho in facts.items() if rho is not None}
    blocks.append(FactsBlock(facts=there, caption=f"rho of what could be released{many}"))
    if moving:
        return blocks
    if whole["own_is_worst"]:
        text = "Checked: in every area, the record that pays most for its release is one of its own."
        blocks.append(TextBlock(text=text))
    else:
        others = [row["area"] for row in record["areas"] if row["paid_by"] != row["area"]]
        named = ", ".join(others[:5]) + (f" and {len(others) - 5} more" if len(others) > 5 else "")
        blocks.append(
            TextBlock(
                text=f"Mind: in {len(others)} areas ({named}) the record that pays most for the release of "
                "that area alone is of another area. The joint figure covers it.",
                tone="note",
            )
        )
    return blocks


def estimates_section(record: Record, rows: int | None) -> Section:
    """What was published, with intervals."""
    found = record["estimates"]
    blocks: list[Block] = []
    if "sd" in found[0]:
        text = "sd is that of the truth about the estimate, and the interval is estimate +- 1.96 sd."
        if record["variances"] == "dp" and record["kind"] != "noisy-direct":
            text += (
                " It counts the noise of the draw, and that the released model variance may be too small: it "
                "is computed at an upper bound of the model variance (90 %, one-sided), from the private "
                "stages."
            )
        elif record["kind"] != "noisy-direct":
            text += (
                " It counts the noise of the draw: for one draw sd is sqrt(2) sigma with sigma the posterior "
                "standard deviation. An interval of +- 1.96 sigma about a draw would hold the truth in 83.5 %"
                " of cases only."
            )
        blocks += [TextBlock(text=text), picture(record, "intervals")]
    else:
        text = "No intervals are published: they would show the variances, held invariant."
        blocks.append(TextBlock(text=text))
    stages = record["stages"]
    if stages:
        blocks.append(FactsBlock(facts=stages, caption="The private stages before the draws"))
        if stages.get("model variance") == 0:
            text = "The private model variance came out as 0: every area is shrunk to the regression wholly."
            blocks.append(TextBlock(text=text, tone="note"))
    order = sorted(found, key=lambda row: -row.get("sd", 0.0))
    caption = "Published estimates, the least certain first" if "sd" in found[0] else "Published estimates"
    blocks.append(_table(order, _ESTIMATES, rows, caption))
    return Section(title="What was published", blocks=blocks)


def _table(
    rows: list[Record],
    columns: Mapping[str, str],
    most: int | None,
    caption: str,
    marked: tuple[int, ...] = (),
) -> TableBlock:
    """The first rows of a table of areas; the caption says how many there are."""
    there = [name for name in columns if name in rows[0]]
    shown = rows if most is None else rows[:most]
    left = len(rows) - len(shown)
    more = f"; {len(shown)} of {len(rows):,} (--all-areas shows all, --json has them)" if left else ""
    cells = [[row[name] for name in there] for row in shown]
    return TableBlock(
        columns=[columns[name] for name in there], rows=cells, caption=caption + more, marked=marked
    )


def picture(record: Record, what: str) -> PictureBlock:
    """A picture of public figures, or of what was published."""
    if what == "epsilon":
        deltas = [row["delta"] for row in record["epsilons"]]
        gaussian = record["tight_by"].startswith("exact")
        figure = draw_epsilon({"": {"": record["rho"]}}, marked=deltas, gaussian=gaussian)
        return PictureBlock(
            svg=inline_svg(figure, "epsilon"),
            alt="Epsilon against delta for this release.",
            caption=f"Epsilon against delta at rho = {record['rho']:.4g}; upright dashes: the deltas of the "
            "table.",
        )
    if what == "size":
        return PictureBlock(
            svg=inline_svg(draw_rho_by_size(record["areas"]), "size"),
            alt="Rho of a record against the number of records of its area, coloured by weight inequality.",
            caption="Each point an area: what a record pays, by sample size and inequality of weights.",
        )
    if what == "shrinkage":
        return PictureBlock(
            svg=inline_svg(draw_shrinkage(record["areas"]), "shrinkage"),
            alt="Rho of a record, and its bound for every model variance, against shrinkage.",
            caption="Each pair of points an area: the exact cost, and the bound for every model variance.",
        )
    rows = record["estimates"]
    sd = [row["sd"] for row in rows]
    naive = None
    if record["kind"] != "noisy-direct" and record["variances"] != "dp":
        naive = [value / math.sqrt(1.0 + 1.0 / record["draws"]) for value in sd]
    figure = draw_intervals(
        [row["area"] for row in rows],
        [row["estimate"] for row in rows],
        sd,
        naive=naive,
        draws=record["draws"],
    )
    return PictureBlock(
        svg=inline_svg(figure, "intervals"),
        alt="Published estimates of the areas in order of size, with their intervals.",
        caption="Published estimates with their 95 % intervals"
        + ("" if naive is None else "; inside, what they would be if the noise of the draws were forgotten."),
    )
