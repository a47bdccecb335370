"""The parts of a disclosure review on other choices: what ways to release are worth, what could change."""

from __future__ import annotations

import math
from typing import Any

from pgsr.report.page import Block, FactsBlock, Section, TableBlock, TextBlock
from pgsr.report.sae_words import WAYS

Record = dict[str, Any]


def ways_section(record: Record) -> Section | None:
    """Expected errors of the ways to release at this cost; None where they are unknown beforehand."""
    errors = record["errors"]
    if errors is None:
        return None
    mse = errors["mean_mse"]
    rows = [(words, mse[name], math.sqrt(mse[name])) for name, words in WAYS.items() if name in mse]
    best = min((name for name in mse if name not in ("direct", "predictor")), key=lambda name: mse[name])
    place = [name for name in WAYS if name in mse].index(best)
    return Section(
        title="What it is worth",
        blocks=[
            TableBlock(
                columns=("way to release", "mean squared error", "its root"),
                rows=rows,
                marked=[place],
                caption="Expected errors, means over the areas, all private ways at rho = "
                f"{errors['rho']:.4g}; assumes {errors['assumes']}.",
            ),
            TextBlock(
                text=f"At this cost the most accurate private way is: {WAYS[best]}. A draw keeps the spread "
                "of the areas, which predictors do not."
            ),
        ],
    )


_LEVERS = {
    "floor": (
        "Floors under the sampling variances, used in mean and variance alike",
        {
            "target": "rho aimed at",
            "raised_any_model": "areas raised, for every model variance",
            "raised_this_model": "areas raised, for this one and below",
            "rho_this_model": "rho with the lower floors",
            "noisy_direct_mse": "mean squared error of noisy direct estimates at that rho",
        },
    ),
    "robustness": (
        "If the model variance were A (1 + eta)",
        {
            "eta": "eta",
            "rho_most": "rho",
            "change_least": "least relative change of an area",
            "change_greatest": "greatest",
        },
    ),
    "equal_weights": (
        "What unequal weights within areas cost",
        {"weights": "weights", "rho_most": "rho", "rho_median": "rho of the median area"},
    ),
    "budget": (
        "The noise of the direct estimates at other budgets",
        {
            "rho": "rho",
            "noise_sd_median": "noise, sd in the median area",
            "noise_sd_most": "in the worst",
            "mean_mse": "mean squared error of the estimates",
        },
    ),
    "floored": (
        "Areas whose variance is floored, at other budgets of the draws",
        {
            "rho_draw": "rho of the draws",
            "may_bind": "areas where the floor may bind",
            "always_binds": "areas where it always does",
        },
    ),
}


def levers_section(record: Record) -> Section | None:
    """Floors, weights, budgets: whatever applies to this release."""
    blocks: list[Block] = []
    for name, rows in record["levers"].items():
        caption, columns = _LEVERS[name]
        there = [key for key in columns if rows and key in rows[0]]
        if there:
            cells = [[row[key] for key in there] for row in rows]
            heads = [columns[key] for key in there]
            blocks.append(TableBlock(columns=heads, rows=cells, caption=caption, formats={"eta": "+g"}))
    trimming = record["trimming"]
    if trimming is not None:
        facts = {
            "largest change of an estimate, whatever the outcomes": trimming["bias_bound_most"],
            "weights capped at so many times their mean": trimming["ratio"],
            "largest weight over the mean, before": trimming["ratio_most_before"],
            "largest sensitivity, before": trimming["sensitivity_most_before"],
            "largest sensitivity, after": trimming["sensitivity_most_after"],
            "rho, before": trimming["rho_before"],
            "rho, after": trimming["rho_after"],
        }
        caption = f"Weights capped so that no estimate moves by more than {trimming['bias']:g}"
        blocks.append(FactsBlock(caption=caption, facts={k: v for k, v in facts.items() if v is not None}))
    if not blocks:
        return None
    blocks.append(TextBlock(text="None of these looks at an outcome; pgsr sae levers shows more of them."))
    return Section(title="What could be changed", blocks=blocks)
