"""`pgsr generate`: synthetic instances and microdata from presets."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from pgsr.cli.options import Json, new_folder, new_place
from pgsr.cli.output import bars, emit, line, pairs
from pgsr.errors import InputError

_PRESETS = "us, taxi-like, uniform; adversarial: chain, star, sparse, huge, ties."
"""Named here too, so that help need not load the generators; a test compares."""


class Model(StrEnum):
    """Which model the noise is made for."""

    HIERARCHICAL = "hierarchical"
    """Noise on counts."""
    CUMULATIVE = "cumulative"
    """Noise on cumulative counts."""


class As(StrEnum):
    """What is written."""

    INSTANCE = "instance"
    """Noisy counts, to be solved."""
    UNITS = "units"
    """The true data, one row a unit, with a release configuration."""
    PERSONS = "persons"
    """The true data, one row a person, with a release configuration."""


def generate(
    preset: Annotated[str, typer.Argument(help=_PRESETS, show_default=False)],
    out: Annotated[
        Path,
        typer.Option(
            help="FILE.json or a new folder; for units and persons a new folder.", show_default=False
        ),
    ],
    model: Annotated[Model, typer.Option(help="Model that the noise is for.")] = Model.HIERARCHICAL,
    scale: Annotated[float, typer.Option(help="Size of the tree; 1 is the full size.")] = 1.0,
    sizes: Annotated[
        int | None, typer.Option(help="Number of group sizes.", show_default="the preset's")
    ] = None,
    epsilon: Annotated[str, typer.Option(help="Budget of the noise, such as 1 or 1/2.")] = "1",
    seed: Annotated[int, typer.Option(help="The same seed gives the same data and noise.")] = 0,
    kind: Annotated[As, typer.Option("--as", help="What to write.")] = As.INSTANCE,
    as_json: Json = False,
) -> None:
    """Generate synthetic data: noisy counts to solve, or records to release."""
    from pgsr.bench import presets
    from pgsr.models.files import LARGE
    from pgsr.privacy import as_fraction

    budget = as_fraction(epsilon, "--epsilon")
    if kind is As.INSTANCE and out.suffix == ".json":
        new_place(out, "instance", endings=(".json",))
    else:
        new_folder(out)
    with bars() as report:
        made = presets.generate(
            preset,
            model=model.value,
            scale=scale,
            sizes=sizes,
            epsilon=budget,
            seed=seed,
            progress=report,
        )
        cells = made.truth.hierarchy.regions * len(made.truth.sizes)
        if kind is As.INSTANCE and out.suffix == ".json" and cells > LARGE:
            raise InputError(
                f"{cells:,} entries are too many for a JSON file", str(out), "give a folder name"
            )
        if report is not None:
            report("write", 0.0)
        presets.write(made, out, kind.value)
    tree = made.truth.hierarchy
    record: dict[str, Any] = {
        "preset": preset,
        "model": model.value,
        "levels": tree.levels,
        "regions": tree.regions,
        "sizes": len(made.truth.sizes),
        "total": made.truth.total,
        "epsilon": budget,
        "seed": seed,
        "as": kind.value,
        "out": out,
    }
    if as_json:
        emit(record)
        return
    shown = dict(record)
    del shown["out"]
    pairs(shown)
    line(f"written: {out}")
