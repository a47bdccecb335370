"""The measured table: which noise goes on which level, the noisy numbers, and their columns in a file."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from pgsr.errors import InputError
from pgsr.groupsizes.budget import LevelBudget, Noise
from pgsr.hierarchy import Hierarchy
from pgsr.levelorder import MAGNITUDE
from pgsr.mechanism import Columns
from pgsr.noise import BitSource, DiscreteGaussian, DiscreteLaplace, NoiseLaw

Int64 = NDArray[np.int64]
Laws = Sequence[NoiseLaw | None]

LIMIT = MAGNITUDE
"""Noisy counts are clipped to this magnitude (post-processing), so that they stay exact everywhere."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MeasuredCounts:
    """The noisy table (R, N) int64, of counts or of cumulative counts.

    Levels held invariant are exact, levels not measured are 0.
    """

    noisy: Int64


def level_laws(
    noise: Noise, budget: LevelBudget, sensitivity: tuple[int, int], hierarchy: Hierarchy
) -> tuple[NoiseLaw | None, ...]:
    """The noise of each level, root first; None for a share of 0.

    sensitivity: L1 and squared L2, of one record on one level. Laplace: scale L1/epsilon; Gaussian:
    sigma^2 = L2^2/(2 rho). Raises InputError, naming the level, if that is out of range.
    """
    shares = zip(budget.shares, hierarchy.level_names, strict=True)
    return tuple(_level_law(noise, share, sensitivity, name) for share, name in shares)


def _level_law(noise: Noise, share: Fraction, sensitivity: tuple[int, int], level: str) -> NoiseLaw | None:
    if share == 0:
        return None
    l1, squared_l2 = sensitivity
    try:
        if noise == "laplace":
            return DiscreteLaplace(scale=Fraction(l1) / share)
        return DiscreteGaussian(sigma2=Fraction(squared_l2) / (2 * share))
    except InputError as error:
        where = f"budget of level '{level}'"
        raise InputError(f"the noise is out of range ({error.what})", where, "change its share") from error


def published_rows(hierarchy: Hierarchy, laws: Laws, exact: Collection[str]) -> NDArray[np.bool_]:
    """Mask (R,) of the regions that are measured, or published exactly (levels `exact`)."""
    known = [law is not None or name in exact for law, name in zip(laws, hierarchy.level_names, strict=True)]
    return np.repeat(np.array(known), np.diff(hierarchy.level_start))


def add_noise(
    hierarchy: Hierarchy,
    counts: Int64,
    laws: Laws,
    exact: Collection[str],
    query: Callable[[Int64], Int64],
    rng: BitSource,
) -> MeasuredCounts:
    """`query` of the rows of `counts`, with noise, level by level from the root; clipped to `LIMIT`."""
    noisy = np.zeros(counts.shape, dtype=np.int64)
    for level, (law, name) in enumerate(zip(laws, hierarchy.level_names, strict=True)):
        rows = hierarchy.level_slice(level)
        if law is not None:
            drawn = law.sample(counts[rows].size, rng).reshape(counts[rows].shape)
            noisy[rows] = query(counts[rows]) + drawn
        elif name in exact:
            noisy[rows] = query(counts[rows])
    np.clip(noisy, -LIMIT, LIMIT, out=noisy)
    return MeasuredCounts(noisy=noisy)


def read_noisy(noisy: Columns, hierarchy: Hierarchy, sizes: Int64, rows: NDArray[np.bool_]) -> MeasuredCounts:
    """From the columns of the table `noisy` of a release, which has the `rows` of the regions.

    Raises InputError if its regions or sizes are not these.
    """
    names = [str(size) for size in sizes]
    if list(noisy) != ["region", "level", *names]:
        raise InputError("the table has other columns", "noisy", "use the sizes it was made with")
    if not np.array_equal(noisy["region"], hierarchy.ids[rows]):
        raise InputError("the table has other regions", "noisy", "use the tree and levels it was made with")
    table = np.zeros((hierarchy.regions, len(names)), dtype=np.int64)
    for column, name in enumerate(names):
        if noisy[name].dtype.kind != "i":
            raise InputError("not whole numbers", f"noisy, column '{name}'", "restore the file")
        table[rows, column] = noisy[name]
    return MeasuredCounts(noisy=table)
