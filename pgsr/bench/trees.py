"""Synthetic region trees and counts: the shapes behind the presets of `pgsr generate`."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pgsr.hierarchy import Hierarchy

if TYPE_CHECKING:
    from pgsr.text import TextArray

Int64 = NDArray[np.int64]
Progress = Callable[[str, float], None]

CENSUS_2020 = (1, 51, 3_143, 84_414, 239_780, 8_132_968)
"""Nation, states, counties, tracts, block groups, blocks of the 2020 US census."""

_SHARES = (0.28, 0.34, 0.15, 0.13, 0.06, 0.03, 0.01)
"""Shares of household sizes 1 to 7; larger sizes halve each time."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Truth:
    """A tree and its leaf counts (leaves, N) over sizes (N,); `noisy` replaces noise if it is given."""

    hierarchy: Hierarchy
    sizes: Int64
    leaf_counts: Int64
    noisy: Callable[[Int64], Int64] | None = None


Preset = Callable[[float, int | None, np.random.Generator, Progress], Truth]


def tree(parents: Sequence[Int64], names: Sequence[str]) -> Hierarchy:
    """A hierarchy from the parents of each level (positions within the level above), root level first.

    Codes are the level's first letter and a number; names must differ in their first letters.
    """
    ids, links, start = [], [np.array([-1], dtype=np.int64)], 0
    for name, above in zip(names, parents, strict=True):
        ids.append(_codes(name[0], len(above)))
    for above in parents[1:]:
        links.append(above + start)
        start += int(above.max()) + 1
    codes: Any = np.concatenate(ids)  # numpy's stubs lose the text type
    return Hierarchy(
        ids=codes,
        parent=np.concatenate(links),
        level_names=tuple(names),
    )


def _codes(letter: str, count: int) -> TextArray:
    """Codes of one level: the letter and a number, all of one length."""
    import pyarrow as pa
    import pyarrow.compute as pc

    from pgsr.text import numpy_text

    text: Any = pc.utf8_lpad(pa.array(np.arange(count)).cast(pa.large_string()), len(str(count - 1)), "0")
    first: Any = pa.scalar(letter, pa.large_string())
    return numpy_text(pc.binary_join_element_wise(first, text, pa.scalar("", pa.large_string())))


def fan_out(parents: int, children: int, rng: np.random.Generator) -> Int64:
    """Sorted parents of `children` regions: one each, the rest multinomial, weights log-normal(0, 0.6)."""
    weights = rng.lognormal(0.0, 0.6, parents)
    count = 1 + rng.multinomial(children - parents, weights / weights.sum())
    return np.repeat(np.arange(parents, dtype=np.int64), count)


def grown(counts: Sequence[int], names: Sequence[str], rng: np.random.Generator) -> Hierarchy:
    """A tree with the given number of regions on each level."""
    levels = [np.zeros(1, dtype=np.int64)]
    levels += [fan_out(a, b, rng) for a, b in itertools.pairwise(counts)]
    return tree(levels, names)


def regular(levels: int, fan: int, names: Sequence[str]) -> Hierarchy:
    """A tree in which every inner region has `fan` children."""
    shape = [np.zeros(1, dtype=np.int64)]
    shape += [np.repeat(np.arange(fan**level, dtype=np.int64), fan) for level in range(levels - 1)]
    return tree(shape, names)


def household_shares(width: int) -> NDArray[np.float64]:
    """Shares of sizes 1 .. `width`, summing to 1."""
    shares = list(_SHARES[:width])
    while len(shares) < width:
        shares.append(shares[-1] / 2)
    return np.array(shares) / sum(shares)


def us(scale: float, width: int | None, rng: np.random.Generator, progress: Progress) -> Truth:
    """Households in a tree with the region counts of the 2020 US census.

    `scale` multiplies the blocks; below 0.1 the counties, tracts and block groups shrink tenfold as fast,
    so that regions keep children. A block's households: Poisson with a log-normal(2, 1) mean.
    """
    width = 7 if width is None else width
    inner = min(1.0, 10.0 * scale)
    counts = [1, CENSUS_2020[1]]
    for level in (2, 3, 4):
        counts.append(max(counts[-1], int(CENSUS_2020[level] * inner)))
    counts.append(max(counts[-1], round(CENSUS_2020[5] * scale)))
    names = ("nation", "state", "county", "tract", "group of blocks", "block")
    progress("region tree", 0.0)
    hierarchy = grown(counts, names, rng)
    progress("region tree", 1.0)
    shares = household_shares(width)
    leaf_counts = np.empty((counts[-1], width), dtype=np.int64)
    step = 500_000
    for first in range(0, counts[-1], step):
        part = leaf_counts[first : first + step]
        households = rng.poisson(rng.lognormal(2.0, 1.0, len(part)))
        part[:] = rng.multinomial(households, shares)
        progress("households", min(1.0, (first + step) / counts[-1]))
    return Truth(hierarchy=hierarchy, sizes=np.arange(1, width + 1), leaf_counts=leaf_counts)


def taxi_like(scale: float, width: int | None, rng: np.random.Generator, progress: Progress) -> Truth:
    """A small tree (1, 2, 28) with a very long size list: 360,872 units times `scale`, heavy-tailed sizes."""
    width = 4919 if width is None else width
    hierarchy = grown((1, 2, 28), ("all", "half", "zone"), rng)
    units = round(360_872 * scale)
    zone = rng.choice(28, size=units, p=rng.dirichlet(np.full(28, 2.0)))
    size = np.clip(np.exp(rng.normal(5.5, 1.5, units)), 1, width).astype(np.int64)
    leaf_counts = np.bincount(zone * width + size - 1, minlength=28 * width).reshape(28, width)
    progress("units", 1.0)
    return Truth(hierarchy=hierarchy, sizes=np.arange(1, width + 1), leaf_counts=leaf_counts)


def uniform(scale: float, width: int | None, rng: np.random.Generator, progress: Progress) -> Truth:
    """A regular tree of four levels with about 1,000 leaves times `scale`, uniform counts 0 .. 20."""
    width = 10 if width is None else width
    fan = max(1, round((1000 * scale) ** (1 / 3)))
    hierarchy = regular(4, fan, ("all", "province", "district", "ward"))
    leaf_counts = rng.integers(0, 21, (fan**3, width))
    progress("counts", 1.0)
    return Truth(hierarchy=hierarchy, sizes=np.arange(width), leaf_counts=leaf_counts)


def chain(scale: float, width: int | None, rng: np.random.Generator, progress: Progress) -> Truth:
    """One region a level, 1,000 levels times `scale`: the deepest tree there is."""
    width = 3 if width is None else width
    depth = max(1, round(1000 * scale))
    ids = _codes("r", depth)
    hierarchy = Hierarchy(ids=ids, parent=np.arange(-1, depth - 1, dtype=np.int64))
    progress("counts", 1.0)
    return Truth(hierarchy=hierarchy, sizes=np.arange(width), leaf_counts=rng.integers(0, 1000, (1, width)))


def star(scale: float, width: int | None, rng: np.random.Generator, progress: Progress) -> Truth:
    """One root with 100,000 leaves times `scale`."""
    width = 5 if width is None else width
    hierarchy = grown((1, max(1, round(100_000 * scale))), ("all", "region"), rng)
    leaf_counts = rng.poisson(3.0, (len(hierarchy.leaves), width))
    progress("counts", 1.0)
    return Truth(hierarchy=hierarchy, sizes=np.arange(width), leaf_counts=leaf_counts)


def sparse(scale: float, width: int | None, rng: np.random.Generator, progress: Progress) -> Truth:
    """Almost all counts are 0, so that half of the noisy ones are negative: 10,000 leaves times `scale`."""
    width = 20 if width is None else width
    leaves = max(100, round(10_000 * scale))
    hierarchy = grown((1, 100, leaves), ("all", "province", "region"), rng)
    leaf_counts = (rng.random((leaves, width)) < 0.01).astype(np.int64)
    progress("counts", 1.0)
    return Truth(hierarchy=hierarchy, sizes=np.arange(width), leaf_counts=leaf_counts)


def huge(scale: float, width: int | None, rng: np.random.Generator, progress: Progress) -> Truth:
    """Counts of about 2^36 a leaf, 400 leaves times `scale`: squares leave 64 bits."""
    width = 5 if width is None else width
    leaves = max(20, round(400 * scale))
    hierarchy = grown((1, 20, leaves), ("all", "province", "region"), rng)
    leaf_counts = rng.integers(0, 2**36, (leaves, width))
    progress("counts", 1.0)
    return Truth(hierarchy=hierarchy, sizes=np.arange(width), leaf_counts=leaf_counts)


def ties(scale: float, width: int | None, rng: np.random.Generator, progress: Progress) -> Truth:
    """All noisy counts of a level are equal and three times too high: very many optima; no random noise."""
    del rng  # a preset takes it, this one draws nothing
    width = 6 if width is None else width
    fan = max(1, round((1000 * scale) ** (1 / 3)))
    hierarchy = regular(4, fan, ("all", "province", "district", "ward"))
    leaf_counts = np.ones((fan**3, width), dtype=np.int64)
    progress("counts", 1.0)
    return Truth(
        hierarchy=hierarchy, sizes=np.arange(width), leaf_counts=leaf_counts, noisy=lambda counts: 3 * counts
    )
