"""From the released grid points to the published table; post-processing of what is private already."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgsr.inequality.cells import ALL, Cell
from pgsr.inequality.domain import Domain
from pgsr.inequality.index import index
from pgsr.inequality.plan import release_grid
from pgsr.mechanism import Columns


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexEstimate:
    """One published index of the `n` records of `group`, between the bounds `lower` and `upper` of incomes.

    epsilon   what this number cost; 0 if it follows from others
    noise     how it was drawn, or "from mld"
    """

    group: str
    index: str
    n: int
    value: float
    epsilon: float
    lower: float
    upper: float
    noise: str


def estimates(
    cells: Sequence[Cell], points: Sequence[int], lower: float, upper: float, grouped: bool
) -> tuple[IndexEstimate, ...]:
    """The released indices, clamped to their public range, and what follows from the mean log deviations.

    atkinson_1 = 1 - exp(-mld). With groups, mld_within = sum (n_g/n) mld_g, since sizes are public; with the
    mld of all records, mld_between = mld - mld_within, at least 0.
    """
    found = []
    for cell, point in zip(cells, points, strict=True):
        domain = Domain(n=cell.n, lower=lower, upper=upper)
        largest = index(cell.query.index).largest(domain)
        value = release_grid(cell.query, domain).value(point, largest)
        row = IndexEstimate(
            group=cell.group,
            index=cell.query.index,
            n=cell.n,
            value=value,
            epsilon=float(cell.query.epsilon),
            lower=lower,
            upper=upper,
            noise=cell.query.noise,
        )
        found.append(row)
        if row.index == "mld":
            found.append(_derived(row, "atkinson_1", -math.expm1(-row.value)))
    if grouped:
        found += _decomposition([row for row in found if row.index == "mld"])
    return tuple(found)


def _decomposition(rows: list[IndexEstimate]) -> list[IndexEstimate]:
    """Within and between the groups; nothing if the groups' mld was not released."""
    overall = [row for row in rows if row.group == ALL]
    groups = [row for row in rows if row.group != ALL]
    if not groups:
        return []
    n = sum(row.n for row in groups)
    within = math.fsum(row.n / n * row.value for row in groups)
    both = [_derived(groups[0], "mld_within", within, group=ALL, n=n)]
    if overall:
        between = max(overall[0].value - within, 0.0)
        both.append(_derived(groups[0], "mld_between", between, group=ALL, n=n))
    return both


def _derived(
    row: IndexEstimate, name: str, value: float, *, group: str | None = None, n: int | None = None
) -> IndexEstimate:
    """A number that follows from `row` (and rows like it) at no cost."""
    return IndexEstimate(
        group=row.group if group is None else group,
        index=name,
        n=row.n if n is None else n,
        value=value,
        epsilon=0.0,
        lower=row.lower,
        upper=row.upper,
        noise="from mld",
    )


def table(rows: Sequence[IndexEstimate]) -> Columns:
    """The columns of the table `inequality`, one row a number."""
    return {
        "group": text_column([row.group for row in rows]),
        "index": text_column([row.index for row in rows]),
        "n": np.array([row.n for row in rows], dtype=np.int64),
        "value": np.array([row.value for row in rows], dtype=np.float64),
        "epsilon": np.array([row.epsilon for row in rows], dtype=np.float64),
        "lower": np.array([row.lower for row in rows], dtype=np.float64),
        "upper": np.array([row.upper for row in rows], dtype=np.float64),
        "noise": text_column([row.noise for row in rows]),
    }


def text_column(texts: Sequence[str]) -> NDArray[Any]:
    """A column of numpy strings."""
    return np.array(list(texts), dtype=np.dtypes.StringDType())
