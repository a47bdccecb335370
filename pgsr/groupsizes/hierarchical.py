"""Model 1 as a mechanism: noisy counts on every level, made consistent by integer least squares.

[Fioretto2021] mechanism M_H. One person's record moves one unit from one size to another in one region of
each level, so each level has L1 sensitivity 2 and squared L2 sensitivity 2; levels add.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pgsr.counting import size_list
from pgsr.counts import GroupSizes
from pgsr.errors import InputError
from pgsr.groupsizes.bounds import exact_rows, read_only
from pgsr.groupsizes.budget import LevelBudget, Noise, Weighting, check_levels, level_weights
from pgsr.groupsizes.checks import check_types, refuse_contradictions
from pgsr.groupsizes.expected import LevelError, expected_errors
from pgsr.groupsizes.guarantee import hierarchical_text, invariant_items, law_record, public_items
from pgsr.groupsizes.postprocess import make_problem, post_process, resolve_solver, table_columns
from pgsr.hierarchy import Hierarchy
from pgsr.levelorder import MAGNITUDE
from pgsr.mechanism import Columns, Estimate, Progress, Tables
from pgsr.noise import BitSource, DiscreteGaussian, DiscreteLaplace, NoiseLaw
from pgsr.privacy import Guarantee, Kind, PrivacyEvent

if TYPE_CHECKING:
    from pgsr.models.problem import Loss, Problem
    from pgsr.solvers.base import SolveOptions, Solver

Int64 = NDArray[np.int64]

L1_SENSITIVITY = 2
"""One unit leaves one size and enters another, in one region of a level."""
SQUARED_L2_SENSITIVITY = 2

LIMIT = MAGNITUDE
"""Noisy counts are clipped to this magnitude (post-processing), so that they stay exact everywhere."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MeasuredCounts:
    """Noisy counts (R, N) int64; levels held invariant are exact, levels not measured are 0."""

    noisy: Int64


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class HierarchicalMechanism:
    """Model 1 for a public tree, size list and number of units.

    sizes (N,) strictly increasing; total the number of units G; budget one share a level (root first),
    epsilon for noise "laplace", rho for "gaussian"; z_max the largest z of a person; weights as in
    `level_weights`; loss "l2" or "l1"; solver a registered name or a solver; lower, upper (R, N) public
    bounds on the counts.
    invariant_levels: names of levels published exactly, with budget 0; they are disclosed, not protected.
    without_size_zero: must be True if size 0 is not listed; the guarantee then names who is not protected.
    Raises InputError for parameters that do not fit each other, all before any data is seen.
    """

    hierarchy: Hierarchy
    sizes: Int64
    total: int
    budget: LevelBudget
    z_max: int = 1
    noise: Noise = "laplace"
    weights: Weighting = "inverse-variance"
    loss: Loss = "l2"
    solver: str | Solver = "proximity"
    options: SolveOptions | None = None
    lower: Int64 | None = None
    upper: Int64 | None = None
    invariant_levels: tuple[str, ...] = ()
    without_size_zero: bool = False
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
            value = getattr(self, name)
            if (
                isinstance(value, bool)
                or not isinstance(value, (int, np.integer))
                or not smallest <= value <= LIMIT
            ):
                raise InputError("not a whole number in range", name, f"give {smallest} or more, up to 2^53")
            put(self, name, int(value))
        if self.sizes[0] > 0 and not self.without_size_zero:
            raise InputError(
                "size 0 is not listed, so the only member of a unit is not protected",
                "sizes",
                "list size 0, or accept it with without_size_zero=True (the guarantee will say so)",
            )
        if self.sizes[0] == 0 and self.without_size_zero:
            raise InputError("size 0 is listed", "without_size_zero", "leave it out")
        if self.loss not in ("l2", "l1"):
            raise InputError("unknown loss", "loss", "use l2 or l1")
        check_levels(self.budget, self.noise, self.hierarchy.level_names, self.invariant_levels)
        put(self, "laws", tuple(self._law(level) for level in range(self.hierarchy.levels)))
        level_weights(self._variances(), self.weights)
        for name in ("lower", "upper"):
            bound = getattr(self, name)
            if bound is not None:
                put(self, name, read_only(bound))
        if self.lower is not None or self.upper is not None:
            self._problem(None, self.lower, self.upper)
        put(self, "public", self._public())

    def _law(self, level: int) -> NoiseLaw | None:
        """Noise of a level: scale 2/epsilon, or sigma^2 = 2/(2 rho); None for a level without budget."""
        share = self.budget.shares[level]
        if share == 0:
            return None
        try:
            if self.noise == "laplace":
                return DiscreteLaplace(scale=Fraction(L1_SENSITIVITY) / share)
            return DiscreteGaussian(sigma2=Fraction(SQUARED_L2_SENSITIVITY) / (2 * share))
        except InputError as error:
            where = f"budget of level '{self.hierarchy.level_names[level]}'"
            raise InputError(
                f"the noise is out of range ({error.what})", where, "change its share"
            ) from error

    def _variances(self) -> list[float | None]:
        return [None if law is None else law.variance for law in self.laws]

    @property
    def name(self) -> str:
        """Short name for the records."""
        return "groupsizes.hierarchical"

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
            "model": "hierarchical",
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
        text = hierarchical_text(
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
            budget=self.budget,
            weights=self.level_weights,
            lower=self.lower,
            upper=self.upper,
        )

    def check(self, data: GroupSizes) -> None:
        """Refuse data on another tree, size list or total, and a solver that cannot take the problem.

        Data that contradict a public bound are refused as well. Messages name regions, never values.
        """
        if not isinstance(data, GroupSizes):
            raise InputError("not counts of group sizes", "data", "make them with GroupSizes")
        if data.hierarchy is not self.hierarchy and data.hierarchy.digest() != self.hierarchy.digest():
            raise InputError("the data is on another region tree", "hierarchy", "use that of the mechanism")
        if not np.array_equal(data.sizes, self.sizes):
            raise InputError("the data has another size list", "sizes", "use that of the mechanism")
        if data.total != self.total:
            way_out = "state the public number"
            raise InputError("the data has another number of units than stated", "total", way_out)
        if data.check(self.total):
            raise InputError("the counts do not add up along the tree", "counts", "build with GroupSizes")
        refuse_contradictions(data, self.lower, self.upper, self.invariant_levels)
        lower, upper = self._bounds(data.counts)
        resolve_solver(self.solver, self._problem(None, lower, upper))

    def measure(self, data: GroupSizes, rng: BitSource) -> MeasuredCounts:
        """Add noise to the counts, level by level from the root; the only step that reads them to draw."""
        counts = data.counts
        noisy = np.zeros(counts.shape, dtype=np.int64)
        for level, law in enumerate(self.laws):
            rows = self.hierarchy.level_slice(level)
            if law is not None:
                cells = counts[rows].size
                noisy[rows] = counts[rows] + law.sample(cells, rng).reshape(counts[rows].shape)
            elif self.hierarchy.level_names[level] in self.invariant_levels:
                noisy[rows] = counts[rows]
        np.clip(noisy, -LIMIT, LIMIT, out=noisy)
        return MeasuredCounts(noisy=noisy)

    def measurements(self, measured: MeasuredCounts) -> Tables:
        """The table `noisy`: region, level (1 = root) and one column a size, for the levels with values."""
        rows = self._published_rows()
        columns = table_columns(self.hierarchy, self.sizes, measured.noisy)
        return {"noisy": columns if rows.all() else {name: column[rows] for name, column in columns.items()}}

    def measured(self, noisy: Columns) -> MeasuredCounts:
        """The inverse of `measurements`, from the table `noisy` of an earlier release.

        Raises InputError if its regions or sizes are not those of this mechanism.
        """
        names = [str(size) for size in self.sizes]
        if list(noisy) != ["region", "level", *names]:
            raise InputError("the table has other columns", "noisy", "use the sizes it was made with")
        rows = self._published_rows()
        if not np.array_equal(noisy["region"], self.hierarchy.ids[rows]):
            raise InputError(
                "the table has other regions", "noisy", "use the tree and levels it was made with"
            )
        table = np.zeros((self.hierarchy.regions, len(names)), dtype=np.int64)
        for column, name in enumerate(names):
            if noisy[name].dtype.kind != "i":
                raise InputError("not whole numbers", f"noisy, column '{name}'", "restore the file")
            table[rows, column] = noisy[name]
        return MeasuredCounts(noisy=table)

    def estimate(self, measured: MeasuredCounts, progress: Progress | None = None) -> Estimate:
        """Consistent counts nearest to the noisy ones (Model 1); EstimateError without a usable point."""
        lower, upper = self._bounds(measured.noisy)
        problem = self._problem(measured.noisy, lower, upper)
        solver = resolve_solver(self.solver, problem)
        counts, record = post_process(problem, solver, self._options(progress))
        value = GroupSizes(hierarchy=self.hierarchy, sizes=self.sizes, counts=counts)
        tables = {"counts": table_columns(self.hierarchy, self.sizes, counts)}
        for name, bound in (("lower", self.lower), ("upper", self.upper)):
            if bound is not None:
                tables[name] = table_columns(self.hierarchy, self.sizes, bound)
        return Estimate(tables=tables, value=value, solve=record)

    def expected_error(self) -> tuple[LevelError, ...]:
        """Expected L1 error of the noisy counts by level, before post-processing; from public parameters."""
        return expected_errors(
            self.hierarchy, len(self.sizes), self.budget.shares, self.laws, self.invariant_levels
        )

    def _options(self, progress: Progress | None) -> SolveOptions:
        from pgsr.solvers.base import SolveOptions

        options = SolveOptions() if self.options is None else self.options
        return options if progress is None else replace(options, progress=progress)

    def _published_rows(self) -> NDArray[np.bool_]:
        """Mask (R,) of regions that are measured or published exactly."""
        rows = np.zeros(self.hierarchy.regions, dtype=np.bool_)
        for level, law in enumerate(self.laws):
            if law is not None or self.hierarchy.level_names[level] in self.invariant_levels:
                rows[self.hierarchy.level_slice(level)] = True
        return rows

    def _bounds(self, counts: Int64) -> tuple[Int64 | None, Int64 | None]:
        """Public bounds, and lower = upper = `counts` on invariant levels (only those rows are read)."""
        if not self.invariant_levels:
            return self.lower, self.upper
        return exact_rows(self.hierarchy, counts, self.total, self.lower, self.upper, self.invariant_levels)

    def _problem(self, noisy: Int64 | None, lower: Int64 | None, upper: Int64 | None) -> Problem:
        """The problem for `noisy` counts, or for zeros to see whether bounds and features fit."""
        shape = (self.hierarchy.regions, len(self.sizes))
        target = np.zeros(shape, dtype=np.int64) if noisy is None else noisy
        weights = np.repeat(np.array(self.level_weights), np.diff(self.hierarchy.level_start))
        return make_problem(self.hierarchy, target, self.total, weights, lower, upper, self.loss)
