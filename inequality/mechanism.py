"""The mechanism of private inequality indices, for `pgsr.release`: bounds, indices, groups, cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgsr.errors import InputError
from pgsr.inequality.cells import ALL, Cell, all_cells, check_queries, group_sizes, index_cost
from pgsr.inequality.domain import Domain, number
from pgsr.inequality.estimate import estimates, table, text_column
from pgsr.inequality.guarantee import cost_text, guarantee_text, public_items, size_items
from pgsr.inequality.incomes import Incomes
from pgsr.inequality.plan import confidential_law, make_plan, release_grid
from pgsr.inequality.query import IndexQuery
from pgsr.inequality.upper import PrivateUpper
from pgsr.mechanism import Columns, Estimate, Progress, Tables
from pgsr.noise import BitSource
from pgsr.privacy import Guarantee, Neighbours, PrivacyEvent, show

Float64 = NDArray[np.float64]


_LARGEST_SHIFT = 1e100


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredIndices:
    """What was drawn: `points` of the cells' grids, and the place of the upper bound in its grid, or None."""

    points: tuple[int, ...]
    upper_point: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class InequalityMechanism:
    """Inequality indices of one set of records, or of each group of them, under replacement of one income.

    sizes     number of records: one number, or by group label; public and held invariant
    lower, upper   public bounds of the incomes after the shift; or `PrivateUpper` for a private upper bound,
              drawn first from all records, to which all incomes above it are moved
    queries   the indices of each group; overall those of all records together (with groups only)
    clip      move incomes outside public bounds to the nearer bound; else they are refused
    shift     added to every income first, so that zero incomes count (1 in the paper)
    minimum   public smallest size of a group; smaller ones are refused
    unit      whose income a record holds
    Incomes are never negative. Cost: the upper bound, plus the queries, plus the overall queries: each index
    is drawn with fresh noise after the bound is known, and is private at its epsilon for every bound, so the
    costs add (adaptive composition); moving incomes to a bound is done record by record and keeps neighbours.
    Raises InputError for parameters that do not fit each other, all before any data is seen.
    """

    sizes: int | Mapping[str, int]
    lower: float
    upper: float | PrivateUpper
    queries: tuple[IndexQuery, ...]
    overall: tuple[IndexQuery, ...] = ()
    clip: bool = False
    shift: float = 0.0
    minimum: int = 2
    unit: str = "person"
    grouped: bool = field(init=False)
    groups: Mapping[str, int] = field(init=False, repr=False)
    cells: tuple[Cell, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        put = object.__setattr__
        put(self, "grouped", isinstance(self.sizes, Mapping))
        put(self, "groups", MappingProxyType(group_sizes(self.sizes, self.minimum)))
        put(self, "lower", number(self.lower, "lower"))
        put(self, "shift", number(self.shift, "shift"))
        if not 0 <= self.shift <= _LARGEST_SHIFT:
            raise InputError(
                "the shift is negative or above 1e100", "shift", "give a public number from 0 up"
            )
        if not isinstance(self.clip, bool):
            raise InputError("neither True nor False", "clip", "use one of them")
        if not isinstance(self.upper, PrivateUpper):
            put(self, "upper", number(self.upper, "upper"))
        for name in ("queries", "overall"):
            put(self, name, check_queries(getattr(self, name), name))
        if not self.queries and not self.overall:
            raise InputError("no index is asked for", "queries", "give one IndexQuery or more")
        if self.overall and not self.grouped:
            raise InputError("there are no groups", "overall", "give all indices as queries")
        if self.grouped and ALL in self.groups:
            raise InputError(f"the label '{ALL}' stands for all records", "sizes", "rename the group")
        put(self, "cells", all_cells(self.groups, self.queries, self.overall))
        _ = self.event  # refuses a unit that is no text
        # Refuses bounds and steps that no release can have; groups of one size need one look.
        for upper in self._extreme_uppers():
            for n in sorted({cell.n for cell in self.cells}):
                domain = Domain(n=n, lower=self.lower, upper=upper)
                for query in {cell.query for cell in self.cells if cell.n == n}:
                    make_plan(query, domain)

    def _extreme_uppers(self) -> tuple[float, ...]:
        """The upper bound, or the smallest and the largest that may be drawn."""
        if isinstance(self.upper, PrivateUpper):
            return float(self.upper.grid.values[0]), float(self.upper.grid.values[-1])
        return (self.upper,)

    @property
    def name(self) -> str:
        """Short name for the records."""
        return "inequality"

    @property
    def event(self) -> PrivacyEvent:
        """The upper bound's epsilon, plus the sum over the indices; see `index_cost` for the groups."""
        bound = self.upper.epsilon if isinstance(self.upper, PrivateUpper) else Fraction(0)
        total = bound + index_cost(self.queries, self.overall)
        return PrivacyEvent.pure(total, neighbours=Neighbours.SUBSTITUTE, unit=self.unit)

    @property
    def post_parameters(self) -> frozenset[str]:
        """Nothing may be changed afterwards."""
        return frozenset()

    def parameters(self) -> dict[str, Any]:
        """All public parameters as plain data."""
        upper: Any = self.upper
        if isinstance(upper, PrivateUpper):
            upper = {
                "first": str(upper.grid.first),
                "ratio": str(upper.grid.ratio),
                "count": upper.grid.count,
                "epsilon_tau": str(upper.epsilon_tau),
                "epsilon_queries": str(upper.epsilon_queries),
            }
        return {
            "sizes": dict(self.groups) if self.grouped else self.groups[ALL],
            "lower": self.lower,
            "upper": upper,
            "queries": [query.to_dict() for query in self.queries],
            "overall": [query.to_dict() for query in self.overall],
            "clip": self.clip,
            "shift": self.shift,
            "minimum": self.minimum,
            "unit": self.unit,
        }

    def guarantee(self, rng: BitSource) -> Guarantee:
        """What a release promises; the same for all data."""
        invariants = size_items(self.groups, self.grouped)
        public = public_items(
            grouped=self.grouped,
            lower=self.lower,
            upper=self.upper,
            shift=self.shift,
            clip=self.clip,
            queries=self.queries,
            overall=self.overall,
        )
        event = self.event
        assert event.epsilon is not None
        text = guarantee_text(
            total=event.epsilon,
            unit=self.unit,
            grouped=self.grouped,
            public=public,
            invariants=invariants,
            cost=cost_text(self.upper, self.queries, self.overall, self.grouped, event.epsilon),
            randomness=rng.description,
            secure=rng.secure,
            clip=self.clip,
            private_upper=isinstance(self.upper, PrivateUpper),
        )
        return Guarantee(
            event=event,
            text=text,
            public=public,
            invariants=invariants,
            sampler="exact",
            randomness=rng.description,
            secure=rng.secure,
        )

    def check(self, data: Incomes) -> None:
        """Refuse data with other groups or sizes, negative incomes and, unless clipped, those out of bounds.

        Messages name groups and rows, never values.
        """
        if not isinstance(data, Incomes):
            raise InputError("not incomes", "data", "make them with Incomes")
        self._check_sizes(data)
        _refuse(data.values < 0, "a negative income", "set it to 0 or leave it out, by a rule that you state")
        if self.clip:
            return
        x = data.values + self.shift
        way_out = "choose other bounds without looking at the data, or accept clipping"
        _refuse(x < self.lower, "an income below the lower bound", way_out)
        if not isinstance(self.upper, PrivateUpper):
            _refuse(x > self.upper, "an income above the upper bound", way_out)

    def _check_sizes(self, data: Incomes) -> None:
        if self.grouped != (data.labels is not None):
            has = "no labels" if self.grouped else "labels"
            raise InputError(
                f"the incomes have {has}", "data", "give groups to both mechanism and data, or to none"
            )
        if not self.grouped:
            if data.n != self.groups[ALL]:
                raise InputError(
                    "another number of records", "data", "the public number must be the true one"
                )
            return
        labels = tuple(self.groups)
        unlisted = data.first_unlisted(labels)
        if unlisted is not None:
            raise InputError(
                "a label that is not in the public list", f"groups, row {unlisted + 1}", "list all groups"
            )
        for label, n in zip(labels, data.sizes(labels), strict=True):
            if n != self.groups[label]:
                raise InputError(
                    "another number of records", f"group '{label}'", "the public number must be the true one"
                )

    def measure(self, data: Incomes, rng: BitSource) -> MeasuredIndices:
        """Draw the upper bound, then each index with fresh noise; with `check`, all that sees the data."""
        x = data.values + self.shift
        point = self.upper.draw(x, rng) if isinstance(self.upper, PrivateUpper) else None
        upper = self._upper(point)
        x = np.clip(x, self.lower, upper)
        parts = {ALL: np.sort(x)} if self.overall or not self.grouped else {}
        if self.grouped and self.queries:
            labels = tuple(self.groups)
            parts.update(zip(labels, map(np.sort, data.split(x, labels)), strict=True))
        points = []
        for cell in self.cells:
            domain = Domain(n=cell.n, lower=self.lower, upper=upper)
            points.append(confidential_law(cell.query, domain, parts[cell.group]).draw(rng))
        return MeasuredIndices(points=tuple(points), upper_point=point)

    def _upper(self, point: int | None) -> float:
        """The upper bound in force, for the place that was drawn."""
        if isinstance(self.upper, PrivateUpper):
            assert point is not None
            return float(self.upper.grid.values[point])
        return self.upper

    def measurements(self, measured: MeasuredIndices) -> Tables:
        """The table `noisy` (group, index, noise, point, step); `upper_bound` (point, upper) if private."""
        upper = self._upper(measured.upper_point)
        domains = [Domain(n=cell.n, lower=self.lower, upper=upper) for cell in self.cells]
        steps = [
            release_grid(cell.query, domain).step for cell, domain in zip(self.cells, domains, strict=True)
        ]
        tables: dict[str, Columns] = {
            "noisy": {
                "group": text_column([cell.group for cell in self.cells]),
                "index": text_column([cell.query.index for cell in self.cells]),
                "noise": text_column([cell.query.noise for cell in self.cells]),
                "point": np.array(measured.points, dtype=np.int64),
                "step": text_column([show(step) for step in steps]),
            }
        }
        if measured.upper_point is not None:
            tables["upper_bound"] = {
                "point": np.array([measured.upper_point], dtype=np.int64),
                "upper": np.array([upper], dtype=np.float64),
            }
        return tables

    def estimate(self, measured: MeasuredIndices, progress: Progress | None = None) -> Estimate:
        """The table `inequality`, one row a published index; `value` the same as `IndexEstimate` records."""
        del progress  # done at once
        upper = self._upper(measured.upper_point)
        rows = estimates(self.cells, measured.points, self.lower, upper, self.grouped)
        return Estimate(tables={"inequality": table(rows)}, value=rows)


def _refuse(bad: NDArray[np.bool_], what: str, way_out: str) -> None:
    """Raise InputError, naming the first row, if any income is bad."""
    rows = np.flatnonzero(bad)
    if rows.size:
        raise InputError(what, f"incomes, row {int(rows[0]) + 1}", way_out)
