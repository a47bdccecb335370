"""Numbers of units by region and size: from persons, units or histograms, and what must hold of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgsr.counting import (
    leaf_rows,
    long_counts,
    refuse_large_sum,
    refuse_twice,
    size_list,
    size_rows,
    sum_up,
    tabulate,
    total_count,
    unit_leaves_and_sizes,
    wide_counts,
)
from pgsr.errors import InputError
from pgsr.hierarchy import Hierarchy
from pgsr.leveling import frozen
from pgsr.levelorder import sum_children
from pgsr.tables import AUTO, LIMIT, Auto, read_table
from pgsr.text import text_array

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Violation:
    """One condition that does not hold.

    kind "consistency": at `region` and `size`, the count minus the sum over the children is `amount`;
    "validity": the count there is `amount`, negative; "faithfulness": the counts of level `level` sum to
    `amount` more than the total, and `region` and `size` are None.
    Amounts come from the counts: of confidential counts they are confidential.
    """

    kind: str
    level: str
    region: str | None
    size: int | None
    amount: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class GroupSizes:
    """Counts of units by region and size: `counts[r, s]` units of size `sizes[s]` lie in region r.

    hierarchy: R regions. sizes: (N,) int64, strictly increasing from 0 up, public; the last counts all
    units of its size or larger, and with gaps sizes are lower bin edges. counts: (R, N) int64 in level order,
    at most 2^53 in magnitude; they need not be consistent or non-negative (noisy ones are not): see `check`.
    Arrays are read-only: copies, unless read-only arrays were given (freeze large ones to save the copy).
    Raises InputError if shapes or types do not fit.
    """

    hierarchy: Hierarchy
    sizes: Ints
    counts: Ints

    def __post_init__(self) -> None:
        """Validate once, and make the arrays read-only."""
        sizes = size_list(self.sizes)
        counts = np.asarray(self.counts)
        if counts.dtype.kind not in "iu":
            raise InputError("counts are not whole numbers", "counts", "give an integer array")
        shape = (self.hierarchy.regions, len(sizes))
        if counts.shape != shape:
            raise InputError(
                f"counts of shape {counts.shape} for {shape[0]} regions and {shape[1]} sizes",
                "counts",
                "give one row a region and one column a size",
            )
        if int(counts.max()) > LIMIT or int(counts.min()) < -LIMIT:
            raise InputError("magnitude above 2^53", "counts", "give smaller numbers")
        whole = counts.astype(np.int64, copy=False)
        object.__setattr__(self, "sizes", frozen(sizes, fresh=True))
        object.__setattr__(self, "counts", frozen(whole, fresh=whole is not counts))

    def __repr__(self) -> str:
        """Shape only; counts may be confidential."""
        return f"GroupSizes({self.hierarchy!r}, {len(self.sizes)} sizes)"

    @property
    def total(self) -> int:
        """Number of units: the sum of the root's counts."""
        return sum(self.counts[0].tolist())

    @classmethod
    def from_leaf_counts(
        cls, hierarchy: Hierarchy, sizes: Sequence[int] | Ints, leaf_counts: Any
    ) -> GroupSizes:
        """Sum non-negative integer (leaves, N) counts, in the order of ``hierarchy.leaves``, up the tree.

        Raises InputError for another shape or type, negative counts, or a sum above 2^53.
        """
        return cls._summed(hierarchy, size_list(sizes), np.asarray(leaf_counts), None)

    @classmethod
    def from_histogram(
        cls,
        table: Any,
        hierarchy: Hierarchy,
        sizes: Sequence[int] | Ints,
        *,
        region: str = "region",
        columns: Mapping[int, str] | Sequence[str] | None = None,
        total: int | None = None,
    ) -> GroupSizes:
        """Counts from a wide table: one row a region and one column a size.

        table: whatever `pgsr.tables.read_table` reads. columns: the column of each size; others are left out.
        Without it, a column named by a whole number is a size, and every listed size has one: a larger size
        counts as the last listed, one in a gap as the one below. Every leaf has a row; rows of inner regions
        are checked against the sums.
        Raises InputError: unknown, repeated or missing regions; cells that are not whole numbers from 0 up;
        without `columns`, a column of a size below the first; inner rows or a `total` that disagree.
        """
        listed = size_list(sizes)
        rows = read_table(table, name="histogram")
        counts = wide_counts(rows, hierarchy, listed, region, columns)
        return cls._summed(hierarchy, listed, counts, total, rows.source)

    @classmethod
    def from_long(
        cls,
        table: Any,
        hierarchy: Hierarchy,
        sizes: Sequence[int] | Ints,
        *,
        region: str = "region",
        size: str = "size",
        count: str = "count",
        total: int | None = None,
    ) -> GroupSizes:
        """Counts from a long table: one row a region and size, with its count.

        Every leaf has at least one row; its sizes without a row count 0. Larger sizes count as the last,
        sizes in a gap as the one below. Rows of inner regions are checked against the sums.
        Raises InputError as `from_histogram` does, for a region and size listed twice, and for a size below
        the first.
        """
        listed = size_list(sizes)
        rows = read_table(table, name="histogram")
        counts = long_counts(rows, hierarchy, listed, region=region, size=size, count=count)
        return cls._summed(hierarchy, listed, counts, total, rows.source)

    @classmethod
    def from_units(
        cls,
        table: Any,
        hierarchy: Hierarchy,
        sizes: Sequence[int] | Ints,
        *,
        region: str = "region",
        size: str = "size",
        unit: str | Auto | None = AUTO,
        total: int | None = None,
    ) -> GroupSizes:
        """Counts from one row a unit, with its leaf region and its size; leaves without units count 0.

        unit: a column of codes which must not repeat; by default the column `unit` if there is one, and with
        None no column, so that every row is a unit. Raises InputError, naming the row: a region that is no
        leaf, a size that is no whole number from 0 up or lies below the first listed, a repeated unit; and
        for a `total` that disagrees.
        """
        listed = size_list(sizes)
        units = read_table(table, name="units")
        code = units.optional(unit, "unit")
        if code is not None:
            refuse_twice(units, code, units.text(code))
        leaves = leaf_rows(units, hierarchy, region)
        positions = size_rows(units.integers(size, minimum=0), listed, units, size)
        counts = tabulate(leaves, positions, (len(hierarchy.leaves), len(listed)))
        return cls._summed(hierarchy, listed, counts, total, units.source)

    @classmethod
    def from_persons(
        cls,
        table: Any,
        hierarchy: Hierarchy,
        sizes: Sequence[int] | Ints,
        *,
        unit: str = "unit",
        region: str = "region",
        z: str | Auto | None = AUTO,
        z_max: int = 1,
        frame: Any = None,
        units_have_persons: bool = False,
        total: int | None = None,
    ) -> GroupSizes:
        """Counts from one row a person: the size of a unit is the sum of z over its persons.

        z: the column, with whole numbers 0 .. `z_max`; by default the column `z` if there is one. With None,
        or if there is none, every person counts 1. frame: the public table of all units, with columns `unit`
        and `region`; units in it without persons have size 0, and the persons need no region.
        Without a frame the units are those that have a person. If size 0 is listed that is refused, since the
        list of units must not come from the persons, unless `units_have_persons` says that the list of units
        is public and each of them has a row, whoever is added or removed.
        Raises InputError, naming the row: a unit in two regions or not in the frame, a region that is no
        leaf, z out of range, a unit below the first listed size; for `z_max` above 1 without a column of z;
        and for a `total` that disagrees.
        """
        listed = size_list(sizes)
        persons = read_table(table, name="persons")
        leaves, positions = unit_leaves_and_sizes(
            persons,
            hierarchy,
            listed,
            unit=unit,
            region=region,
            z=z,
            z_max=z_max,
            frame=frame,
            units_have_persons=units_have_persons,
        )
        counts = tabulate(leaves, positions, (len(hierarchy.leaves), len(listed)))
        return cls._summed(hierarchy, listed, counts, total, persons.source)

    @classmethod
    def _summed(
        cls,
        hierarchy: Hierarchy,
        sizes: Ints,
        leaf_counts: NDArray[Any],
        total: int | None,
        source: str = "total",
    ) -> GroupSizes:
        """Check leaf counts and the total, and sum upwards."""
        if leaf_counts.dtype.kind not in "iu":
            raise InputError("counts are not whole numbers", "leaf counts", "give an integer array")
        shape = (len(hierarchy.leaves), len(sizes))
        if leaf_counts.shape != shape:
            raise InputError(
                f"leaf counts of shape {leaf_counts.shape} for {shape[0]} leaves and {shape[1]} sizes",
                "leaf counts",
                "give one row a leaf and one column a size",
            )
        if int(leaf_counts.min()) < 0:
            raise InputError("negative count", "leaf counts", "counts are 0 or more")
        if leaf_counts.dtype == np.uint64 and int(leaf_counts.max()) > LIMIT:
            raise InputError("magnitude above 2^53", "leaf counts", "give smaller numbers")
        leaf_counts = leaf_counts.astype(np.int64, copy=False)
        refuse_large_sum(leaf_counts, "leaf counts")
        counts = frozen(sum_up(hierarchy, leaf_counts), fresh=True)
        found = cls(hierarchy=hierarchy, sizes=sizes, counts=counts)
        if total is not None and found.total != total_count(total):
            # The number of units in the data is not named: only the given total is public.
            raise InputError(f"total {total} disagrees with the data", source, "correct one of them")
        return found

    def cumulative(self) -> Ints:
        """(R, N) int64 counts of units of each size or smaller, `[Fioretto2021]`'s circled plus."""
        return np.cumsum(self.counts, axis=1)

    @staticmethod
    def differences(cumulative: Ints) -> Ints:
        """(R, N) counts from cumulative counts, the inverse of `cumulative`."""
        return np.diff(cumulative, axis=1, prepend=0)

    def check(self, total: int | None = None, *, limit: int = 100) -> tuple[Violation, ...]:
        """The violations of consistency, validity and faithfulness: at most `limit` of each kind.

        total: the number of units that every level must sum to, by default the root's.
        """
        tree = self.hierarchy
        goal = self.total if total is None else total_count(total)
        found: list[Violation] = []
        levels = tree.level_of()
        top = int(tree.leaves[0])
        # Sums that might leave 64 bits are taken in Python's integers: slow, exact, and rare.
        bound = max(int(self.counts.max()), -int(self.counts.min()), 1) * self.counts.size
        values = self.counts if bound < 2**62 else self.counts.astype(object)
        off = values[:top] - sum_children(tree.child_start, values, 0, top)
        conditions = (("consistency", off, off != 0), ("validity", self.counts, self.counts < 0))
        for kind, cells, wrong in conditions:
            at = np.flatnonzero(wrong.ravel())[:limit]
            found.extend(
                Violation(
                    kind=kind,
                    level=tree.level_names[levels[row]],
                    region=str(tree.ids[row]),
                    size=int(self.sizes[place]),
                    amount=int(cells[row, place]),
                )
                for row, place in (divmod(int(cell), len(self.sizes)) for cell in at)
            )
        surplus = [int(values[tree.level_slice(level)].sum()) - goal for level in range(tree.levels)]
        found.extend(
            Violation(kind="faithfulness", level=name, region=None, size=None, amount=amount)
            for name, amount in [(n, a) for n, a in zip(tree.level_names, surplus, strict=True) if a][:limit]
        )
        return tuple(found)

    def to_table(self, region: str = "region") -> Any:
        """A `pyarrow.Table`: the region codes, then one int64 column a size, named by it; level order."""
        import pyarrow as pa

        columns = {region: text_array(self.hierarchy.ids, "region codes")}
        for place, size in enumerate(self.sizes.tolist()):
            columns[str(size)] = pa.array(self.counts[:, place])
        return pa.table(columns)
