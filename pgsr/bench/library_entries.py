"""What the instance library holds: packaged data, generated counts, adversarial and conformance cases."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal

from pgsr.bench.library_adversarial import MOST_COPIES, deep, fractional, window_trap
from pgsr.bench.library_parameters import Parameters
from pgsr.bench.presets import LARGEST_SCALE, MOST_SIZES, PRESETS, Model, true_counts
from pgsr.counts import GroupSizes
from pgsr.datasets import describe, load_flights, load_korea_households
from pgsr.errors import InputError
from pgsr.hierarchy import Hierarchy

if TYPE_CHECKING:
    from pgsr.models.problem import Problem

Kind = Literal["data", "synthetic", "adversarial", "conformance"]
BOTH: tuple[Model, ...] = ("hierarchical", "cumulative")
_OURS = "Apache-2.0, with the package"
_PGSR = "The pgsr developers. pgsr: private, consistent, provably optimal hierarchical statistics. Software."


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Entry:
    """One family of instances: what `pgsr bench instances` says of it, and how it is made.

    parameters: what may follow its name, each with a line about it; largest: the largest value of each.
    models: those it is there for. levels, regions, sizes: of the plain name. fixed: its targets are part of
    it, so that epsilon, noise and seed say nothing. truth: true counts for parameters and seed; problem: the
    problem itself, where there is no truth; one of the two is given.
    """

    name: str
    kind: Kind
    title: str
    levels: int
    regions: int
    sizes: int
    citation: str = _PGSR
    licence: str = _OURS
    source: str = "made by pgsr.bench.presets from the seed"
    parameters: Mapping[str, str] = field(default_factory=dict)
    largest: Mapping[str, float] = field(default_factory=dict)
    models: tuple[Model, ...] = BOTH
    fixed: bool = False
    truth: Callable[[Parameters, int], GroupSizes] | None = None
    problem: Callable[[Parameters, Model], Problem] | None = None


def top_levels(data: GroupSizes, levels: int) -> GroupSizes:
    """`data` without the levels below the first `levels`; InputError if there are not so many."""
    tree = data.hierarchy
    if not 1 <= levels <= tree.levels:
        raise InputError(f"there are {tree.levels} levels", "levels", f"give 1 to {tree.levels}")
    rows = int(tree.level_start[levels])
    top = Hierarchy(ids=tree.ids[:rows], parent=tree.parent[:rows], level_names=tree.level_names[:levels])
    return GroupSizes(hierarchy=top, sizes=data.sizes, counts=data.counts[:rows])


def _data(name: str, described: str, load: Callable[[], GroupSizes], shape: tuple[int, int, int]) -> Entry:
    about = describe(described)

    def truth(parameters: Parameters, _seed: int) -> GroupSizes:
        data = load()
        return top_levels(data, int(parameters.get("levels", data.hierarchy.levels)))

    levels, regions, sizes = shape
    return Entry(
        name=name,
        kind="data",
        title=about.title,
        levels=levels,
        regions=regions,
        sizes=sizes,
        citation=about.citation,
        licence=about.licence,
        source=about.source,
        parameters={"levels": f"the top levels alone, 1 to {levels}"},
        largest={"levels": levels},
        truth=truth,
    )


def _generated(name: str, kind: Kind, shape: tuple[int, int, int]) -> Entry:
    def truth(parameters: Parameters, seed: int) -> GroupSizes:
        sizes = parameters.get("sizes")
        return true_counts(
            name,
            scale=parameters.get("scale", 1.0),
            sizes=None if sizes is None else int(sizes),
            seed=seed,
        )

    levels, regions, sizes = shape
    return Entry(
        name=name,
        kind=kind,
        title=PRESETS[name],
        levels=levels,
        regions=regions,
        sizes=sizes,
        parameters={"scale": "size of the tree, 1 is the full size", "sizes": "number of group sizes"},
        largest={"scale": LARGEST_SCALE, "sizes": MOST_SIZES},
        fixed=name == "ties",
        truth=truth,
    )


VECTORS = 30
"""Published vectors of each model."""


def _vector(parameters: Parameters, model: Model) -> Problem:
    from pgsr.solvers.conformance.cases import named

    number = int(parameters.get("number", 0))
    if not 1 <= number <= VECTORS:
        raise InputError(
            f"there are {VECTORS} vectors of each model", "number", f"give vectors:number=1 to {VECTORS}"
        )
    return named(f"model{1 if model == 'hierarchical' else 2}-vector-{number:02}").problem


_ENTRIES = (
    _data("korea", "korea-households", load_korea_households, (4, 3_757, 7)),
    _data("flights", "flights", load_flights, (4, 438, 93)),
    _generated("us", "synthetic", (6, 8_460_357, 7)),
    _generated("taxi-like", "synthetic", (3, 31, 4_919)),
    _generated("uniform", "synthetic", (4, 1_111, 10)),
    _generated("chain", "adversarial", (1_000, 1_000, 3)),
    _generated("star", "adversarial", (2, 100_001, 5)),
    _generated("sparse", "adversarial", (3, 10_101, 20)),
    _generated("huge", "adversarial", (3, 421, 5)),
    _generated("ties", "adversarial", (4, 1_111, 6)),
    Entry(
        name="deep",
        kind="adversarial",
        title="A deep binary tree of counts 0 and 1: linear programs of Model 2 have fractions now and then",
        levels=9,
        regions=511,
        sizes=6,
        source="made by pgsr.bench.library_adversarial from the seed",
        parameters={"levels": "levels of the tree, 1 to 20", "sizes": "number of group sizes"},
        largest={"levels": 20, "sizes": 1_000},
        truth=deep,
    ),
    Entry(
        name="fractional",
        kind="adversarial",
        title="Model 2 whose linear program of unit segments is fractional: 48.5 a copy, the integers 49",
        levels=3,
        regions=6,
        sizes=3,
        source="pgsr.solvers.conformance, model2-fractional",
        parameters={"copies": "side by side, 1 to 10,000; from 2 on each copy's total is a bound"},
        largest={"copies": MOST_COPIES},
        models=("cumulative",),
        fixed=True,
        problem=fractional,
    ),
    Entry(
        name="window-trap",
        kind="adversarial",
        title="Model 2 whose best table in the windows round the relaxation costs 38, though 36 is optimal",
        levels=4,
        regions=7,
        sizes=4,
        source="pgsr.solvers.conformance, model2-window-trap, with its leaf brought to the last level",
        models=("cumulative",),
        fixed=True,
        problem=window_trap,
    ),
    Entry(
        name="vectors",
        kind="conformance",
        title=f"The published vectors, {VECTORS} small problems of each model with known optima",
        levels=0,
        regions=0,
        sizes=0,
        source="pgsr.solvers.conformance",
        parameters={"number": f"which one, 1 to {VECTORS}"},
        largest={"number": VECTORS},
        fixed=True,
        problem=_vector,
    ),
)

ENTRIES: Mapping[str, Entry] = MappingProxyType({entry.name: entry for entry in _ENTRIES})
"""The families of the library by name."""
