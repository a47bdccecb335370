"""What the methods are compared on: true counts, seeded noise, and distances from the truth."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgsr.counts import GroupSizes
from pgsr.errors import InputError
from pgsr.hierarchy import Hierarchy
from pgsr.metrics import emd_by_level, l1_by_level
from pgsr.models.problem import Problem
from pgsr.noise import DiscreteLaplace, SeededBits
from pgsr.tables import Table, read_table

SENSITIVITY = {False: 2, True: 1}
"""L1 sensitivity of one level for 0/1 data: counts by size (Model 1), cumulative counts (Model 2)."""

_MODEL1, _MODEL2, _SIZES, _STREAMS = range(4)


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A data set with its true counts and a line about it."""

    name: str
    title: str
    truth: GroupSizes


def korea() -> Case:
    """Korean households, from the package."""
    from pgsr.datasets import load_korea_households

    return Case(name="korea", title="Households of Korea by members", truth=load_korea_households())


def flights() -> Case:
    """Flights per plane, from the package: all, airport, carrier there, month of that."""
    from pgsr.datasets import load_flights

    return Case(name="flights", title="Planes by flights from New York City", truth=load_flights())


def taxi(path: Path) -> Case:
    """Taxis by trips, from a file of the reader's; see `counts_file`."""
    return Case(name="taxi", title="Taxis by trips", truth=counts_file(path))


def counts_file(path: Path) -> GroupSizes:
    """True counts from a CSV file with the columns of the levels, then `size`, then the number of units.

    Level columns go from the top down; one that holds a single value is the root and left out. Codes are
    taken as paths. Sizes are 1 to the largest of the file, which is then taken for a public bound. Raises
    InputError if columns are missing.
    """
    table = read_table(path)
    columns = list(table.columns)
    if "size" not in columns or not 0 < columns.index("size") < len(columns) - 1:
        raise InputError(
            "the columns are not levels, size, count", str(path), "give zone,size,count or more levels"
        )
    at = columns.index("size")
    texts = {name: table.text(name).to_pylist() for name in columns[:at]}
    levels = {name: text for name, text in texts.items() if len(set(text)) > 1 or name == columns[at - 1]}
    paths = list(zip(*levels.values(), strict=True))
    leaves = sorted(set(paths))
    tree = Hierarchy.from_levels(
        {name: [leaf[k] for leaf in leaves] for k, name in enumerate(levels)},
        root="all",
        root_level="all",
        codes="path",
    )
    sizes = table.integers("size", minimum=1)
    long = Table(
        source=table.source,
        columns={
            "region": read_table({"region": ["/".join(p) for p in paths]}).column("region"),
            "size": table.column("size"),
            "count": table.column(columns[at + 1]),
        },
    )
    return GroupSizes.from_long(long, tree, range(1, int(sizes.max()) + 1))


def noisy_problem(truth: GroupSizes, *, cumulative: bool, epsilon: Fraction, seed: int) -> Problem:
    """Model 1 or 2 for `truth` with discrete Laplace noise: equal shares of epsilon over the levels.

    Scale 2 L / epsilon for counts by size, L / epsilon for cumulative counts; all weights are 1.
    """
    tree = truth.hierarchy
    clean = truth.cumulative() if cumulative else truth.counts
    noise = _noise(SENSITIVITY[cumulative] * tree.levels / epsilon, clean.size, cumulative, seed)
    return Problem(
        parent=tree.parent,
        target=clean + noise.reshape(clean.shape),
        total=truth.total,
        cumulative=cumulative,
    )


def noisy_sizes(truth: GroupSizes, *, epsilon: Fraction, seed: int) -> list[NDArray[np.float64]]:
    """The measurements of `kuo-hg`: every region's sorted sizes, each with noise of scale L / epsilon."""
    from pgsr.solvers.baselines.kuo import sorted_sizes

    clean = sorted_sizes(truth.counts, truth.sizes.astype(np.float64))
    lengths = [len(row) for row in clean]
    noise = _noise(truth.hierarchy.levels / epsilon, sum(lengths), _SIZES, seed)
    pieces: Iterator[NDArray[np.int64]] = iter(np.split(noise, np.cumsum(lengths)[:-1]))
    return [row + piece for row, piece in zip(clean, pieces, strict=True)]


def _noise(scale: Fraction, n: int, stream: int, seed: int) -> NDArray[np.int64]:
    """Noise of its own for each seed and kind of measurement."""
    return DiscreteLaplace(scale=scale).sample(n, SeededBits(_STREAMS * seed + stream))


def errors(truth: GroupSizes, counts: NDArray[Any]) -> dict[str, list[float]]:
    """L1 and EMD against the truth on each level, the root's first; `counts` may be real numbers."""
    tree = truth.hierarchy
    if np.issubdtype(counts.dtype, np.integer):
        l1, emd = l1_by_level(tree, counts, truth.counts), emd_by_level(tree, counts, truth.counts)
        return {"l1": l1.tolist(), "emd": emd.tolist()}
    gap = counts - truth.counts
    both = {"l1": np.abs(gap), "emd": np.abs(np.cumsum(gap, axis=1))}
    starts = tree.level_start[:-1]
    return {name: np.add.reduceat(cells.sum(axis=1), starts).tolist() for name, cells in both.items()}
