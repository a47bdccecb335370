"""Generated instances: synthetic counts with exact, seeded noise, as instances or as microdata."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from pgsr.bench import trees
from pgsr.bench.trees import Progress, Truth
from pgsr.counts import GroupSizes
from pgsr.errors import InputError
from pgsr.models.instance import Instance

LARGEST_SCALE, MOST_SIZES = 100, 100_000

Model = Literal["hierarchical", "cumulative"]

_BUILDERS: dict[str, trees.Preset] = {
    "us": trees.us,
    "taxi-like": trees.taxi_like,
    "uniform": trees.uniform,
    "chain": trees.chain,
    "star": trees.star,
    "sparse": trees.sparse,
    "huge": trees.huge,
    "ties": trees.ties,
}

PRESETS: dict[str, str] = {
    name: (builder.__doc__ or "").partition("\n")[0].rstrip(".:") for name, builder in _BUILDERS.items()
}
"""Name and one line about each preset; the last five are adversarial."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Generated:
    """Synthetic counts `truth` and what is needed to add noise to them again.

    `model`: noise on counts ("hierarchical", scale 2L/epsilon) or on cumulative counts (L/epsilon);
    the same seed gives the same tree, counts and noise.
    """

    preset: str
    truth: GroupSizes
    noisy: NDArray[np.int64]
    model: Model
    epsilon: Fraction
    seed: int

    def instance(self) -> Instance:
        """The post-processing problem of the noisy counts."""
        return Instance.build(
            self.truth.hierarchy,
            self.truth.sizes,
            self.noisy,
            self.truth.total,
            cumulative=self.model == "cumulative",
        )


def _silent(stage: str, fraction: float) -> None:
    """No progress bar."""


def generate(
    preset: str,
    *,
    model: Model = "hierarchical",
    scale: float = 1.0,
    sizes: int | None = None,
    epsilon: Fraction = Fraction(1),
    seed: int = 0,
    progress: Progress | None = None,
) -> Generated:
    """Generate a preset (see `PRESETS`); `sizes` is the number of sizes, None for the preset's own.

    Noise is exact discrete Laplace from a seeded source, equal budget on every level. Raises InputError
    for an unknown preset or model, and values out of range.
    """
    if model not in ("hierarchical", "cumulative"):
        raise InputError(f"unknown model '{model}'", "model", "use hierarchical or cumulative")
    if not epsilon > 0:
        raise InputError("epsilon is not positive", "epsilon", "give a number above 0")
    report = progress or _silent
    built, truth = _true_counts(preset, scale, sizes, seed, report)
    noisy = _add_noise(built, truth, model, epsilon, seed, report)
    return Generated(preset=preset, truth=truth, noisy=noisy, model=model, epsilon=epsilon, seed=seed)


def true_counts(preset: str, *, scale: float = 1.0, sizes: int | None = None, seed: int = 0) -> GroupSizes:
    """The true counts of `generate` with these arguments, without noise."""
    return _true_counts(preset, scale, sizes, seed, _silent)[1]


def _true_counts(
    preset: str, scale: float, sizes: int | None, seed: int, report: Progress
) -> tuple[Truth, GroupSizes]:
    if preset not in _BUILDERS:
        raise InputError(f"unknown preset '{preset}'", "preset", f"use one of {', '.join(_BUILDERS)}")
    if not 0 < scale <= LARGEST_SCALE:
        raise InputError("the scale is not above 0 (and at most 100)", "scale", "1 is the full size")
    if sizes is not None and not 1 <= sizes <= MOST_SIZES:
        raise InputError("the number of sizes is not in 1 .. 100,000", "sizes")
    if seed < 0:
        raise InputError("the seed is negative", "seed", "give 0, 1, 2, ...")
    built = _BUILDERS[preset](scale, sizes, np.random.default_rng(seed), report)
    report("sum up", 0.0)
    truth = GroupSizes.from_leaf_counts(built.hierarchy, built.sizes, built.leaf_counts)
    report("sum up", 1.0)
    return built, truth


def _add_noise(
    built: Truth, truth: GroupSizes, model: Model, epsilon: Fraction, seed: int, report: Progress
) -> NDArray[np.int64]:
    from pgsr.noise import DiscreteLaplace, SeededBits

    counts = truth.cumulative() if model == "cumulative" else truth.counts
    if built.noisy is not None:
        return built.noisy(counts)
    sensitivity = 1 if model == "cumulative" else 2
    law = DiscreteLaplace(scale=sensitivity * truth.hierarchy.levels / epsilon)
    bits = SeededBits(seed)
    noisy = np.empty_like(counts)
    rows = max(1, 5_000_000 // counts.shape[1])
    for first in range(0, len(counts), rows):
        part = counts[first : first + rows]
        noisy[first : first + rows] = part + law.sample(part.size, bits).reshape(part.shape)
        report("noise", min(1.0, (first + rows) / len(counts)))
    return noisy


def write(generated: Generated, path: str | Path, kind: str = "instance") -> None:
    """Write a preset: its noisy `instance`, or the true counts as `units` or `persons` with a release file.

    Units: `hierarchy.parquet` (region, parent), `units.parquet` (unit, region, size), `release.toml` and
    `ledger.jsonl`. Persons: `units.parquet` (unit, region) and `persons.parquet` (person, unit, region, z).
    Raises InputError for an unknown kind, and for more than 50 million rows.
    """
    if kind == "instance":
        from pgsr.models.files import write_instance

        write_instance(generated.instance(), path)
        return
    if kind not in ("units", "persons"):
        raise InputError(f"unknown kind '{kind}'", "as", "use instance, units or persons")
    from pgsr.bench.microdata import write_microdata

    write_microdata(generated, Path(path), persons=kind == "persons")
