"""The tables of a release configuration, as strict pydantic models that build what they describe."""

from __future__ import annotations

import math
from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    PlainValidator,
    StrictBool,
    StrictInt,
    StrictStr,
    StringConstraints,
    ValidationInfo,
    model_validator,
)

from pgsr.counting import size_list
from pgsr.counts import GroupSizes
from pgsr.errors import InputError
from pgsr.groupsizes.budget import LevelBudget
from pgsr.hierarchy import Hierarchy
from pgsr.privacy import Kind, as_fraction
from pgsr.tables import AUTO, LIMIT, Auto, read_table

MAX_SIZE = 1_000_000
"""A longer list of sizes than this is a mistake."""

NOISE: Mapping[Kind, Literal["laplace", "gaussian"]] = {Kind.PURE: "laplace", Kind.ZCDP: "gaussian"}
"""The noise that goes with each kind of budget."""


def _path(value: Any, info: ValidationInfo) -> Path:
    if not isinstance(value, str) or not value:
        raise ValueError("not a path")
    base: Path = (info.context or {}).get("base", Path())
    return base / value


def _fraction(value: Any) -> Fraction:
    exact = as_fraction(value, "")
    if not 0 <= exact <= 10**12:
        raise InputError("a budget is negative or above 1e12", "", "give a number from 0 up")
    return exact


def _seconds(value: Any) -> float:
    seconds = finite_real(value)
    if not seconds > 0:
        raise ValueError("not a number of seconds above 0")
    return seconds


def finite_real(value: Any) -> float:
    """A finite number, as pydantic wants it: ValueError for anything else."""
    if isinstance(value, bool) or not isinstance(value, (int, float, Decimal)):
        raise ValueError("not a number")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise ValueError("not a finite number")
    return number


def _weights(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(finite_real(weight) for weight in value)
    if value not in ("inverse-variance", "equal"):
        raise ValueError('not "inverse-variance", "equal" or a list of numbers')
    return value


File = Annotated[Path, PlainValidator(_path)]
Text = Annotated[str, StringConstraints(strict=True, min_length=1)]
Exact = Annotated[Fraction, PlainValidator(_fraction)]
Name = Annotated[str, StringConstraints(strict=True, pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$")]


class Part(BaseModel):
    """A table of the file: unknown keys are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class HierarchyPart(Part):
    """`[hierarchy]`: one row a region (`region`, `parent`), or one row a leaf (`levels`, top down)."""

    file: File
    region: Text = "region"
    parent: Text = "parent"
    level_names: tuple[Text, ...] = ()
    pad: StrictBool = False
    levels: tuple[Text, ...] = ()
    codes: Literal["prefix", "path"] = "prefix"
    root: Text = "all"
    root_level: Text = "root"

    @model_validator(mode="after")
    def _one_form(self) -> HierarchyPart:
        by_rows, by_levels = {"region", "parent", "level_names", "pad"}, {"codes", "root", "root_level"}
        strays = self.model_fields_set & (by_rows if self.levels else by_levels)
        if strays:
            raise ValueError(f"'{min(strays)}' does not go {'with' if self.levels else 'without'} 'levels'")
        return self

    def build(self) -> Hierarchy:
        """Read the tree; errors name the file."""
        source = str(self.file)
        try:
            return self._read(source)
        except InputError as error:
            if source in error.where:
                raise
            where = f"{source}, {error.where}" if error.where else source
            raise InputError(error.what, where, error.way_out) from None

    def _read(self, source: str) -> Hierarchy:
        table = read_table(self.file)
        if self.levels:
            columns = {name: table.text(name) for name in self.levels}
            return Hierarchy.from_levels(
                columns, root=self.root, codes=self.codes, root_level=self.root_level, source=source
            )
        return Hierarchy.from_columns(
            table.text(self.region),
            table.text(self.parent, empty=True),
            level_names=self.level_names,
            pad=self.pad,
            source=source,
        )


class _Data(Part):
    """What all kinds of data have: a file, and the public number of units, if it is stated."""

    file: File
    region: Text = "region"
    z_max: Annotated[int, Field(strict=True, ge=1, le=LIMIT)] = 1
    total: Annotated[int, Field(strict=True, ge=0, le=LIMIT)] | None = None


def _optional(column: str | None) -> str | Auto | None:
    """Without the key, the column of the default name if it is there; with the text "", none."""
    return AUTO if column is None else (column or None)


class PersonsPart(_Data):
    """`kind = "persons"`: one row a person; `frame` is the public list of units with their regions.

    `z`: by default the column `z` if there is one; "" says that every person counts 1.
    """

    kind: Literal["persons"]
    unit: Text = "unit"
    z: StrictStr | None = None
    frame: File | None = None

    def read(self, tree: Hierarchy, sizes: NDArray[np.int64]) -> GroupSizes:
        """Count the units."""
        if self.frame is None and sizes[0] == 0:
            raise InputError(
                "size 0 is listed, but persons alone do not show the units without persons",
                str(self.file),
                "list all units in data.frame, or set sizes.without_size_zero = true",
            )
        return GroupSizes.from_persons(
            self.file,
            tree,
            sizes,
            unit=self.unit,
            region=self.region,
            z=_optional(self.z),
            z_max=self.z_max,
            frame=self.frame,
            total=self.total,
        )


class UnitsPart(_Data):
    """`kind = "units"`: one row a unit with its region and size; codes in `unit` must not repeat.

    `unit`: by default the column `unit` if there is one; "" says that every row is a unit.
    """

    kind: Literal["units"]
    size: Text = "size"
    unit: StrictStr | None = None

    def read(self, tree: Hierarchy, sizes: NDArray[np.int64]) -> GroupSizes:
        """Count the units."""
        return GroupSizes.from_units(
            self.file,
            tree,
            sizes,
            region=self.region,
            size=self.size,
            unit=_optional(self.unit),
            total=self.total,
        )


class HistogramPart(_Data):
    """`kind = "histogram"`: one row a region, one column a size (`columns`, or named by the sizes)."""

    kind: Literal["histogram"]
    columns: tuple[Text, ...] | None = None

    def read(self, tree: Hierarchy, sizes: NDArray[np.int64]) -> GroupSizes:
        """Read the counts."""
        return GroupSizes.from_histogram(
            self.file, tree, sizes, region=self.region, columns=self.columns, total=self.total
        )


class LongPart(_Data):
    """`kind = "long"`: rows of region, size and count."""

    kind: Literal["long"]
    size: Text = "size"
    count: Text = "count"

    def read(self, tree: Hierarchy, sizes: NDArray[np.int64]) -> GroupSizes:
        """Read the counts."""
        return GroupSizes.from_long(
            self.file, tree, sizes, region=self.region, size=self.size, count=self.count, total=self.total
        )


DataPart = Annotated[PersonsPart | UnitsPart | HistogramPart | LongPart, Field(discriminator="kind")]


class SizesPart(Part):
    """`[sizes]`: the public list of group sizes, as `max` or as `list`."""

    max: Annotated[int, Field(strict=True, ge=0, le=MAX_SIZE)] | None = None
    list: tuple[StrictInt, ...] | None = None
    without_size_zero: StrictBool = False

    @model_validator(mode="after")
    def _one_form(self) -> SizesPart:
        if (self.max is None) == (self.list is None):
            raise ValueError("give 'max' or 'list', one of them")
        if self.max is not None and self.max < self.without_size_zero:
            raise ValueError("no size is left")
        return self

    def build(self) -> NDArray[np.int64]:
        """The sizes: 0 .. max (1 .. max without size zero), or the list."""
        if self.list is not None:
            sizes = size_list(self.list)
            # The mechanism refuses these too, but it is made after the data are read.
            if sizes[0] > 0 and not self.without_size_zero:
                raise InputError(
                    "size 0 is not listed, so the only member of a unit is not protected",
                    "sizes",
                    "list size 0, or accept it with without_size_zero = true (the guarantee will say so)",
                )
            if sizes[0] == 0 and self.without_size_zero:
                raise InputError("size 0 is listed", "sizes.without_size_zero", "leave it out")
            return sizes
        assert self.max is not None  # by the check above
        return np.arange(int(self.without_size_zero), self.max + 1, dtype=np.int64)


class BudgetPart(Part):
    """What one query costs: `epsilon` (pure, Laplace noise) or `rho` (zCDP, Gaussian), shared by levels.

    `model`: noise on counts ("hierarchical"), or on cumulative counts ("cumulative").
    """

    epsilon: Exact | None = None
    rho: Exact | None = None
    levels: tuple[Exact, ...] | None = None
    model: Literal["hierarchical", "cumulative"] = "hierarchical"
    noise: Literal["laplace", "gaussian"] | None = None
    invariant_levels: tuple[Text, ...] = ()
    structural_zeros: tuple[tuple[StrictStr, StrictInt], ...] = ()

    def given(self) -> bool:
        """Whether anything about the cost is stated here."""
        return bool(self.model_fields_set & set(BudgetPart.model_fields))

    def kind(self) -> Kind:
        """PURE for epsilon, ZCDP for rho; InputError unless one of them is given and fits the noise."""
        if (self.epsilon is None) == (self.rho is None):
            raise InputError("the cost is not stated in one way", "epsilon, rho", "give one of the two")
        kind = Kind.PURE if self.rho is None else Kind.ZCDP
        if self.noise not in (None, NOISE[kind]):
            raise InputError(
                f"noise '{self.noise}' does not go with this budget",
                "noise",
                "laplace goes with epsilon, gaussian with rho",
            )
        return kind

    def build(self, tree: Hierarchy) -> LevelBudget:
        """The shares of the levels: those listed, or equal ones for the levels that are not invariant."""
        kind = self.kind()
        cost = self.epsilon if self.rho is None else self.rho
        assert cost is not None  # by the check in `kind`
        if self.levels is None:
            exact = [k for k, name in enumerate(tree.level_names) if name in self.invariant_levels]
            return LevelBudget.equal(cost, tree.levels, kind=kind, without=exact)
        budget = LevelBudget.explicit(self.levels, kind=kind)
        if budget.total != cost:
            raise InputError(
                f"the shares add up to {budget.total}, not to {cost}", "levels", "correct one of them"
            )
        return budget


class PrivacyPart(BudgetPart):
    """`[privacy]`: the cost (of a single query), the ledger, and the seed of an experiment."""

    ledger: Text
    seed: Annotated[int, Field(strict=True, ge=0)] | None = None


class SolvePart(Part):
    """`[solve]`: how the post-processing is done; without a solver, by the default one of the model."""

    solver: Text | None = None
    time_limit_s: Annotated[float, PlainValidator(_seconds)] | None = None
    threads: Annotated[int, Field(strict=True, ge=0, le=MAX_SIZE)] = 0
    weights: Annotated[Literal["inverse-variance", "equal"] | tuple[float, ...], PlainValidator(_weights)] = (
        "inverse-variance"
    )
    loss: Literal["l2", "l1"] = "l2"


class QueryPart(Part):
    """`[[queries]]`: one of several queries on the same hierarchy, with its own cost."""

    name: Name
    data: DataPart
    sizes: SizesPart
    privacy: BudgetPart
