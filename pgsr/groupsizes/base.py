"""What the mechanisms of both models share: parameters, noise by level, measurements, post-processing.

A model says which table is measured, how far one person moves it, and what its guarantee adds.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from pgsr.counting import size_list
from pgsr.counts import GroupSizes
from pgsr.errors import InputError
from pgsr.groupsizes.bounds import read_only
from pgsr.groupsizes.budget import LevelBudget, Noise, Weighting, check_levels, level_weights
from pgsr.groupsizes.checks import (
    check_data,
    check_size_zero,
    check_types,
    refuse_contradictions,
    whole_number,
)
from pgsr.groupsizes.expected import LevelError, expected_errors
from pgsr.groupsizes.guarantee import ModelWords, guarantee_text, invariant_items, law_record, public_items
from pgsr.groupsizes.measured import MeasuredCounts, add_noise, level_laws, published_rows, read_noisy
from pgsr.groupsizes.postprocess import AUTO, make_problem, post_process, resolve_solver, table_columns
from pgsr.hierarchy import Hierarchy
from pgsr.mechanism import Columns, Estimate, Progress, Tables
from pgsr.noise import BitSource, NoiseLaw
from pgsr.privacy import Guarantee, Kind, PrivacyEvent

if TYPE_CHECKING:
    from pgsr.models.problem import Loss, Problem
    from pgsr.solvers.base import SolveOptions, Solver

Int64 = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class GroupSizesMechanism(ABC):
    """One model for a public tree, size list and number of units; see the classes made from it.

    Raises InputError for parameters that do not fit each other, all before any data is seen.
    """

    model: ClassVar[str]
    """Name of the model in records."""
    cumulative: ClassVar[bool]
    """Whether the measured table, the problem and the bounds hold cumulative counts."""

    hierarchy: Hierarchy
    sizes: Int64
    total: int
    budget: LevelBudget
    z_max: int = 1
    noise: Noise = "laplace"
    weights: Weighting = "inverse-variance"
    loss: Loss = "l2"
    solver: str | Solver = AUTO
    options: SolveOptions | None = None
    lower: Int64 | None = None
    upper: Int64 | None = None
    without_size_zero: bool = False
    invariant_levels: tuple[str, ...] = field(default=(), init=False)
    laws: tuple[NoiseLaw | None, ...] = field(init=False, repr=False)
    public: tuple[str, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        put = object.__setattr__
        check_types(
            hierarchy=self.hierarchy,
            budget=self.budget,
            solver=self.solver,
            options=self.options,
            flag=self.without_size_zero,
        )
        put(self, "sizes", size_list(self.sizes))
        for name in ("invariant_levels", "weights"):
            value = getattr(self, name)
            if not isinstance(value, Iterable) or (isinstance(value, str) and name != "weights"):
                raise InputError("not a list", name, "give a tuple")
            put(self, name, value if isinstance(value, str) else tuple(value))
        for name, smallest in (("total", 0), ("z_max", 1)):
            put(self, name, whole_number(getattr(self, name), name, smallest))
        check_size_zero(self.sizes, self.without_size_zero)
        if self.loss not in ("l2", "l1"):
            raise InputError("unknown loss", "loss", "use l2 or l1")
        check_levels(self.budget, self.noise, self.hierarchy.level_names, self.invariant_levels)
        put(self, "laws", level_laws(self.noise, self.budget, self.sensitivity, self.hierarchy))
        level_weights(self._variances(), self.weights)
        for name in ("lower", "upper"):
            bound = getattr(self, name)
            if bound is not None:
                put(self, name, read_only(bound))
                self._check_bound(name)
        if self.lower is not None or self.upper is not None:
            self._problem(None, self.lower, self.upper)
        put(self, "public", self._public())

    @property
    @abstractmethod
    def sensitivity(self) -> tuple[int, int]:
        """How far one person's record moves the measured table on one level: L1, and squared L2."""

    @abstractmethod
    def _words(self) -> ModelWords:
        """What the guarantee says of this model alone."""

    @abstractmethod
    def _measurable(self, counts: Int64) -> Int64:
        """The rows that are measured, from rows of counts."""

    @abstractmethod
    def _counts(self, table: Int64) -> Int64:
        """The inverse of `_measurable`, for the table that solves the problem."""

    @abstractmethod
    def _check_bound(self, name: str) -> None:
        """Raise InputError for a `lower` or `upper` that is not meant for this model."""

    def _variances(self) -> list[float | None]:
        return [None if law is None else law.variance for law in self.laws]

    @property
    def name(self) -> str:
        """Short name for the records."""
        return f"groupsizes.{self.model}"

    @property
    def event(self) -> PrivacyEvent:
        """The sum of the level budgets, for one person, under addition or removal."""
        if self.budget.kind is Kind.PURE:
            return PrivacyEvent.pure(self.budget.total)
        return PrivacyEvent.zcdp(self.budget.total)

    @property
    def level_weights(self) -> tuple[float, ...]:
        """Weight of each level in the objective: 0 if it is not measured."""
        weights = level_weights(self._variances(), self.weights)
        names = self.hierarchy.level_names
        return tuple(
            0.0 if law is None and name not in self.invariant_levels else weight
            for law, name, weight in zip(self.laws, names, weights, strict=True)
        )

    @property
    def post_parameters(self) -> frozenset[str]:
        """What may be changed when measurements are post-processed again."""
        return frozenset({"solver", "weights", "loss", "public"})

    def parameters(self) -> dict[str, Any]:
        """All public parameters as plain data; arrays by digest or by value."""
        return {
            "model": self.model,
            "sizes": [int(size) for size in self.sizes],
            "total": self.total,
            "regions": self.hierarchy.regions,
            "hierarchy": self.hierarchy.digest(),
            "levels": list(self.hierarchy.level_names),
            "budget": [str(share) for share in self.budget.shares],
            "kind": self.budget.kind.value,
            "noise": self.noise,
            "z_max": self.z_max,
            "weights": self.weights if isinstance(self.weights, str) else list(self.weights),
            "loss": self.loss,
            "solver": self.solver if isinstance(self.solver, str) else self.solver.name,
            "invariant_levels": list(self.invariant_levels),
            "without_size_zero": self.without_size_zero,
            "public": list(self.public),
        }

    def guarantee(self, rng: BitSource) -> Guarantee:
        """What a release promises; the same for all data."""
        invariants = invariant_items(self.hierarchy, self.invariant_levels)
        names = self.hierarchy.level_names
        laws = [
            law_record(law, name in self.invariant_levels) for law, name in zip(self.laws, names, strict=True)
        ]
        text = guarantee_text(
            words=self._words(),
            budget=self.budget,
            z_max=self.z_max,
            first_size=int(self.sizes[0]),
            public=self.public,
            invariants=invariants,
            laws=laws,
            randomness=rng.description,
            secure=rng.secure,
        )
        return Guarantee(
            event=self.event,
            text=text,
            public=self.public,
            invariants=invariants,
            sampler="exact",
            randomness=rng.description,
            secure=rng.secure,
        )

    def _public(self) -> tuple[str, ...]:
        return public_items(
            hierarchy=self.hierarchy,
            sizes=self.sizes,
            total=self.total,
            z_max=self.z_max,
            words=self._words(),
            budget=self.budget,
            weights=self.level_weights,
            lower=self.lower,
            upper=self.upper,
        )

    def check(self, data: GroupSizes) -> None:
        """Refuse data on another tree, size list or total, and a solver that cannot take the problem.

        Data that contradict a public bound are refused as well. Messages name regions, never values.
        """
        check_data(data, self.hierarchy, self.sizes, self.total)
        if self.lower is not None or self.upper is not None:
            table = self._measurable(data.counts)
            words = self._words()
            refuse_contradictions(data, table, self.lower, self.upper, self.invariant_levels, words)
        lower, upper = self._bounds(data.counts)
        resolve_solver(self.solver, self._problem(None, lower, upper))

    def measure(self, data: GroupSizes, rng: BitSource) -> MeasuredCounts:
        """Add noise level by level from the root; the only step that reads the data to draw."""
        return add_noise(self.hierarchy, data.counts, self.laws, self.invariant_levels, self._measurable, rng)

    def measurements(self, measured: MeasuredCounts) -> Tables:
        """The table `noisy`: region, level (1 = root) and one column a size, for the levels with values."""
        rows = self._published_rows()
        columns = table_columns(self.hierarchy, self.sizes, measured.noisy)
        return {"noisy": columns if rows.all() else {name: column[rows] for name, column in columns.items()}}

    def measured(self, noisy: Columns) -> MeasuredCounts:
        """The inverse of `measurements`, from the table `noisy` of an earlier release.

        Raises InputError if its regions or sizes are not those of this mechanism.
        """
        return read_noisy(noisy, self.hierarchy, self.sizes, self._published_rows())

    def estimate(self, measured: MeasuredCounts, progress: Progress | None = None) -> Estimate:
        """The counts of the feasible table nearest to the noisy one; EstimateError without a usable point."""
        lower, upper = self._bounds(measured.noisy)
        problem = self._problem(measured.noisy, lower, upper)
        solver = resolve_solver(self.solver, problem)
        named = isinstance(self.solver, str)
        table, record = post_process(problem, solver, self._options(progress), registered=named)
        counts = self._counts(table)
        value = GroupSizes(hierarchy=self.hierarchy, sizes=self.sizes, counts=counts)
        tables = {"counts": table_columns(self.hierarchy, self.sizes, counts)}
        for name, bound in (("lower", self.lower), ("upper", self.upper)):
            if bound is not None:
                tables[name] = table_columns(self.hierarchy, self.sizes, bound)
        return Estimate(tables=tables, value=value, solve=record)

    def expected_error(self) -> tuple[LevelError, ...]:
        """Expected error of the noisy counts by level, before post-processing; from public parameters."""
        return expected_errors(
            self.hierarchy,
            len(self.sizes),
            self.budget.shares,
            self.laws,
            self.invariant_levels,
            cumulative=self.cumulative,
        )

    def _options(self, progress: Progress | None) -> SolveOptions:
        from pgsr.solvers.base import SolveOptions

        options = SolveOptions() if self.options is None else self.options
        return options if progress is None else replace(options, progress=progress)

    def _published_rows(self) -> NDArray[np.bool_]:
        """Mask (R,) of regions that are measured or published exactly."""
        return published_rows(self.hierarchy, self.laws, self.invariant_levels)

    def _bounds(self, table: Int64) -> tuple[Int64 | None, Int64 | None]:  # noqa: ARG002
        """Bounds of the problem; `table` is the data in the check, the noisy table in the estimate."""
        return self.lower, self.upper

    def _problem(self, noisy: Int64 | None, lower: Int64 | None, upper: Int64 | None) -> Problem:
        """The problem for a `noisy` table, or for zeros to see whether bounds and features fit."""
        shape = (self.hierarchy.regions, len(self.sizes))
        target = np.zeros(shape, dtype=np.int64) if noisy is None else noisy
        weights = np.repeat(np.array(self.level_weights), np.diff(self.hierarchy.level_start))
        return make_problem(
            self.hierarchy,
            target,
            self.total,
            weights,
            lower,
            upper,
            self.loss,
            cumulative=self.cumulative,
        )
