"""The region tree, held as arrays in level order.

Level order: the root first, then level by level, children of one region next to each other, so
``parent[i] < i`` and `parent` never decreases. networkx is the type at the edge; trees of millions of
regions are built straight from columns (`pgsr.leveling` brings them into level order).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import InitVar, dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from pgsr.errors import InputError
from pgsr.leveling import columns_from_levels, duplicate_at, frozen, ordered_columns
from pgsr.levelorder import child_starts, is_level_order, level_starts
from pgsr.tables import read_table
from pgsr.text import ArrowArray, TextArray, arrow_array, numpy_text, text_array

if TYPE_CHECKING:
    import networkx as nx

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Hierarchy:
    """Rooted region tree with all leaves on the last level, in level order.

    ids: (R,) numpy strings, unique and not empty. parent: (R,) int64, ``parent[0] == -1``,
    ``parent[i] < i``, non-decreasing. level_names: one a level, root first. padded: ids of the regions
    that were added to bring all leaves to one level.
    Derived: child_start (R+1,): the children of i are ``child_start[i] .. child_start[i+1]-1``;
    level_start (L+1,): level l is rows ``level_start[l] .. level_start[l+1]-1``. Arrays are read-only:
    copies, unless read-only arrays were given.
    Raises InputError if the arrays are not such a tree.
    """

    ids: TextArray
    parent: Ints
    level_names: tuple[str, ...] = ()
    padded: tuple[str, ...] = ()
    child_start: Ints = field(init=False)
    level_start: Ints = field(init=False)
    _codes_checked: InitVar[bool] = False  # set by `level_order`: it did that check and made the arrays

    def __post_init__(self, _codes_checked: bool) -> None:
        """Validate, derive the children and the levels, and make every array read-only."""
        ids = self.ids if _codes_checked else _ids(self.ids)
        parent = _parents(self.parent, len(ids))
        child_start = child_starts(parent)
        level_start = level_starts(child_start)
        is_leaf = child_start[1:] == child_start[:-1]
        shallow = np.flatnonzero(is_leaf[: level_start[-2]])
        if len(shallow):
            raise InputError(
                "leaves at unequal depth",
                f"region {ids[shallow[0]]!r}",
                "pad the tree (pad = true)",
            )
        names = tuple(self.level_names) or tuple(f"level {k}" for k in range(1, len(level_start)))
        if len(names) != len(level_start) - 1:
            raise InputError(
                f"{len(names)} level names for {len(level_start) - 1} levels",
                "level names",
                "name each level once",
            )
        if len(set(names)) != len(names) or not all(names):
            raise InputError(
                "level names are empty or repeated",
                "level names",
                "name each level once",
            )
        object.__setattr__(self, "ids", frozen(ids, fresh=_codes_checked or ids is not self.ids))
        object.__setattr__(self, "parent", frozen(parent, fresh=_codes_checked))
        object.__setattr__(self, "child_start", frozen(child_start, fresh=True))
        object.__setattr__(self, "level_start", frozen(level_start, fresh=True))
        object.__setattr__(self, "level_names", names)
        object.__setattr__(self, "padded", tuple(self.padded))

    def __repr__(self) -> str:
        """Size and root; the arrays are left out."""
        return f"Hierarchy({self.regions} regions, {self.levels} levels, root {str(self.ids[0])!r})"

    @classmethod
    def from_columns(
        cls,
        ids: Any,
        parents: Any,
        *,
        level_names: Iterable[str] = (),
        pad: bool = False,
        source: str = "hierarchy",
    ) -> Hierarchy:
        """Tree from two columns of text, one row a region in any order; the root's parent is null or "".

        Sequences, numpy, pandas, polars or arrow columns; whole numbers become their decimal text.
        `source` names the input in errors. With `pad`, leaves above the deepest level get single-child
        chains below them, listed in `padded`.
        Raises InputError, naming the region: empty tree, no root, two roots, cycle, self-parent, orphan,
        duplicate or empty id, leaves at unequal depth.
        """
        return level_order(ids, parents, level_names=level_names, pad=pad, source=source)[0]

    @classmethod
    def from_networkx(
        cls,
        tree: nx.DiGraph[Any],
        *,
        level_names: Iterable[str] = (),
        pad: bool = False,
        source: str = "graph",
    ) -> Hierarchy:
        """Tree from an arborescence with edges from parent to child; labels become text by `str`.

        Raises InputError, naming the region, if the graph is no arborescence; see `from_columns`.
        """
        if not tree.is_directed() or tree.is_multigraph():
            raise InputError(
                "not a simple directed graph",
                source,
                "give a networkx.DiGraph, edges from parent to child",
            )
        labels, parents = [], []
        for node, above in tree.pred.items():
            label = str(node)
            if len(above) > 1:
                raise InputError(
                    "region with two parents",
                    f"{source}, region {label!r}",
                    "keep one edge into it",
                )
            labels.append(label)
            parents.append(str(next(iter(above))) if above else None)
        return cls.from_columns(labels, parents, level_names=level_names, pad=pad, source=source)

    def to_networkx(self) -> nx.DiGraph[str]:
        """The tree as a `networkx.DiGraph`, edges from parent to child, nodes in level order by id.

        Every node has the attribute `level`, the name of its level.
        """
        import networkx as nx

        tree: nx.DiGraph[str] = nx.DiGraph()
        names = [str(name) for name in self.ids.tolist()]
        levels = (self.level_names[level] for level in self.level_of().tolist())
        tree.add_nodes_from((name, {"level": level}) for name, level in zip(names, levels, strict=True))
        tree.add_edges_from(
            (names[p], name) for p, name in zip(self.parent[1:].tolist(), names[1:], strict=True)
        )
        return tree

    @classmethod
    def from_levels(
        cls,
        columns: Any,
        *,
        root: str = "all",
        codes: Literal["prefix", "path"] = "prefix",
        root_level: str = "root",
        source: str = "levels",
    ) -> Hierarchy:
        """Tree from one row a leaf and one column a level, from the top down, below a root added here.

        columns: a mapping from names to columns, or a data frame of nothing but these columns.
        codes "prefix": codes are unique over the whole tree, as geocodes are whose prefixes are the codes
        of the levels above; "path": each code is joined to those above it by "/". Levels are named
        `root_level` and then by the columns.
        Raises InputError, naming the code: a code under two parents, a leaf listed twice, missing codes.
        """
        if codes not in ("prefix", "path"):
            raise InputError(f"unknown kind of codes {codes!r}", source, 'use "prefix" or "path"')
        if not isinstance(columns, Mapping):
            columns = read_table(columns, name=source).columns
        if not columns:
            raise InputError("no level columns", source, "name at least one column")
        ids, parents = columns_from_levels(columns, root=root, joined=codes == "path", source=source)
        return cls.from_columns(ids, parents, level_names=(root_level, *columns), source=source)

    @property
    def regions(self) -> int:
        """Number of regions R."""
        return len(self.parent)

    @property
    def levels(self) -> int:
        """Number of levels L, the root's included."""
        return len(self.level_start) - 1

    @property
    def leaves(self) -> Ints:
        """Positions of the leaves, which are the last level: int64, ascending."""
        return np.arange(self.level_start[-2], self.level_start[-1], dtype=np.int64)

    def level_of(self) -> Ints:
        """(R,) int64: the level of each region, the root's is 0."""
        return np.repeat(np.arange(self.levels, dtype=np.int64), np.diff(self.level_start))

    def level_slice(self, level: int) -> slice:
        """The rows of one level, counted from the root's 0; negative counts from the leaves.

        Raises InputError for a level that is not there.
        """
        if not -self.levels <= level < self.levels:
            raise InputError(
                f"no level {level}",
                f"tree of {self.levels} levels",
                "levels are counted from 0",
            )
        level %= self.levels
        return slice(int(self.level_start[level]), int(self.level_start[level + 1]))

    def index(self, ids: Any, *, source: str = "regions") -> Ints:
        """int64 positions of region codes in a sequence or column; raises InputError for an unknown code."""
        wanted = text_array([ids] if isinstance(ids, str) else ids, source)
        positions = self.find(wanted)
        if len(positions) and positions.min() < 0:
            row = int(np.argmin(positions))
            code = wanted[row].as_py()
            raise InputError(
                "empty region code" if code is None else f"unknown region {code!r}",
                f"{source}, entry {row + 1}",
                "use codes of the hierarchy",
            )
        return positions

    def find(self, ids: Any) -> Ints:
        """int64 positions of region codes, -1 where a code is unknown or missing."""
        import pyarrow.compute as pc

        codes, own = text_array(ids, "regions"), arrow_array(self.ids, "regions")
        # All regions or all leaves in our order, as a table written from here has them: no hashing.
        if len(codes) in (self.regions, len(self.leaves)) and codes.equals(own[self.regions - len(codes) :]):
            return np.arange(self.regions - len(codes), self.regions, dtype=np.int64)
        found: ArrowArray = pc.index_in(codes, value_set=own, skip_nulls=True)
        return np.asarray(found.fill_null(-1), dtype=np.int64)

    def digest(self) -> str:
        """SHA-256 in hex of ids and parents in level order; level names and padding do not enter."""
        codes = arrow_array(self.ids, "regions")
        _, offsets, data = codes.buffers()
        sha = hashlib.sha256(b"pgsr-hierarchy/1\n")
        ends = np.frombuffer(offsets, dtype=np.int64)[codes.offset : codes.offset + len(codes) + 1]
        sha.update((ends - ends[0]).astype("<i8").tobytes())
        sha.update(memoryview(data)[int(ends[0]) : int(ends[-1])])
        sha.update(self.parent.astype("<i8").tobytes())
        return sha.hexdigest()


def level_order(
    ids: Any,
    parents: Any,
    *,
    level_names: Iterable[str] = (),
    pad: bool = False,
    source: str = "hierarchy",
) -> tuple[Hierarchy, Ints]:
    """The tree of `Hierarchy.from_columns`, and the int64 (R,) input row of each of its regions.

    Rows count from 0; a region that was added by `pad` has row -1.
    """
    columns = ordered_columns(
        text_array(ids, f"{source}, region codes"),
        text_array(parents, f"{source}, parent codes"),
        pad,
        source,
    )
    tree = Hierarchy(
        ids=numpy_text(columns.ids),
        parent=columns.parent,
        level_names=tuple(level_names),
        padded=columns.padded,
        _codes_checked=True,
    )
    return tree, columns.order


def _ids(ids: Any) -> TextArray:
    """Region ids as numpy strings, checked: one dimension, none empty, none twice."""
    array = ids if isinstance(ids, np.ndarray) and ids.dtype.kind == "T" else None
    codes = text_array(ids, "region codes")
    if len(codes) == 0:
        raise InputError("empty tree", "region codes", "give at least one region")
    if codes.null_count:
        raise InputError("missing region code", "region codes", "give every region a code")
    array = numpy_text(codes) if array is None else array
    if array.ndim != 1 or bool((array == "").any()):
        raise InputError("empty region code", "region codes", "give every region a code")
    twice = duplicate_at(codes)
    if twice is not None:
        raise InputError(
            "duplicate region",
            f"region {array[twice]!r}",
            "give every region its own code",
        )
    return array


def _parents(parent: Any, regions: int) -> Ints:
    """The parent positions as int64, checked to be in level order."""
    array = np.asarray(parent)
    if array.shape != (regions,) or array.dtype.kind not in "iu":
        raise InputError(
            "parent positions do not fit the region codes",
            "hierarchy",
            "one whole number a region",
        )
    array = array.astype(np.int64, copy=False)
    if not is_level_order(array):
        raise InputError(
            "parent positions are not in level order",
            "hierarchy",
            "use Hierarchy.from_columns",
        )
    return array
