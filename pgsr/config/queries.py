"""From a release configuration to mechanisms and data: what `pgsr release` measures."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from pgsr.config.loading import ReleaseConfig
from pgsr.config.parts import NOISE, BudgetPart
from pgsr.counts import GroupSizes
from pgsr.errors import InputError
from pgsr.groupsizes.bounds import structural_zeros
from pgsr.groupsizes.cumulative import CumulativeMechanism
from pgsr.groupsizes.hierarchical import HierarchicalMechanism
from pgsr.hierarchy import Hierarchy
from pgsr.solvers.base import SolveOptions


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Query:
    """A query that is ready to be measured: `name` ("" if it is the only one), mechanism, data.

    `data` is None if the data were not read; `total_from` says where the number of units comes from.
    """

    name: str
    mechanism: HierarchicalMechanism | CumulativeMechanism
    data: GroupSizes | None
    total_from: str


def build_query(
    config: ReleaseConfig,
    place: int,
    tree: Hierarchy,
    *,
    source: str,
    earlier_total: int | None = None,
    earlier_from: str = "the earlier release",
) -> Query:
    """The query number `place` of `config` on its hierarchy; `source` names the file in errors.

    With `earlier_total` (and where it came from), those of an earlier release that is post-processed again,
    the data are not read.
    """
    name, data, sizes, privacy = config.parts()[place]
    where = f"{source}, query '{name}'" if name else source
    with named(where):
        listed = sizes.build()
        privacy.kind()
        _refuse_single_sizes(privacy)
    found: GroupSizes | None = None
    if earlier_total is None:
        found = data.read(tree, listed)
    if data.total is not None:
        total, total_from = data.total, "the configuration"
    elif found is None:
        assert earlier_total is not None  # else the data were read
        total, total_from = earlier_total, earlier_from
    else:
        total, total_from = found.total, "the list of units in the data, which is public by assumption"
    solve = config.solve
    with named(where):
        shared: dict[str, Any] = {
            "hierarchy": tree,
            "sizes": listed,
            "total": total,
            "budget": privacy.build(tree),
            "z_max": data.z_max,
            "noise": NOISE[privacy.kind()],
            "weights": solve.weights,
            "loss": solve.loss,
            "options": SolveOptions(time_limit_s=solve.time_limit_s, threads=solve.threads),
            "without_size_zero": sizes.without_size_zero,
        }
        if solve.solver is not None:
            shared["solver"] = solve.solver
        mechanism: HierarchicalMechanism | CumulativeMechanism
        if privacy.model == "cumulative":
            mechanism = CumulativeMechanism(**shared)
        else:
            cells = privacy.structural_zeros
            mechanism = HierarchicalMechanism(
                **shared,
                upper=structural_zeros(tree, listed, total, cells) if cells else None,
                invariant_levels=privacy.invariant_levels,
            )
    return Query(name=name, mechanism=mechanism, data=found, total_from=total_from)


def _refuse_single_sizes(privacy: BudgetPart) -> None:
    """Raise InputError if rules on counts of single sizes are asked of the cumulative model."""
    for name in ("invariant_levels", "structural_zeros"):
        if privacy.model == "cumulative" and getattr(privacy, name):
            raise InputError(
                f"{name} are rules on counts of single sizes, which model 'cumulative' does not take",
                name,
                'leave them out, or use model = "hierarchical"',
            )


@contextmanager
def named(*places: object) -> Iterator[None]:
    """Add files and names to the place that an InputError names."""
    try:
        yield
    except InputError as error:
        where = ", ".join(str(place) for place in (*places, error.where) if str(place))
        raise InputError(error.what, where, error.way_out) from None
