"""The instance library: named problems with frozen noise, their truth where it is known, and their origin.

    open_case("korea", model="cumulative", epsilon="1/2", seed=3)
    open_case("us:scale=0.001,sizes=8", noise="laplace")
    open_case("file:mine.json,truth=mine-true.csv")

The same name, model, epsilon, noise and seed are the same problem, byte for byte: see `LibraryCase`'s
`fingerprint`. Counts of generated instances come from numpy's `Generator`, whose streams numpy may change
from one release to another; those of data and of conformance cases, and all geometric and Gaussian noise,
do not depend on it.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from pgsr.bench.guess import meant
from pgsr.bench.library_entries import BOTH, ENTRIES, VECTORS, Entry
from pgsr.bench.library_files import PREFIX, Given, is_counts, parts, read_given
from pgsr.bench.library_noise import NOISES, Noise, noisy_table, rho
from pgsr.bench.library_parameters import check_ranges, read_parameters
from pgsr.bench.presets import PRESETS, Model, generate
from pgsr.counts import GroupSizes
from pgsr.errors import InputError
from pgsr.hierarchy import Hierarchy
from pgsr.models.fingerprint import fingerprint
from pgsr.models.instance import Instance
from pgsr.privacy import Number, as_fraction

SEED = 1
"""The seed where none is given: the first one of a suite."""

_OWN = "the reader's own"


@dataclass(frozen=True, kw_only=True, eq=False)
class LibraryCase:
    """One problem of the library.

    truth: true counts by size (not cumulative), None if not known. noise, epsilon, seed: None for instances
    whose targets are part of them. rho: zCDP of Gaussian noise, else None. citation, licence, source: of the
    data; credit them when results are published.
    """

    name: str
    title: str
    model: Model
    instance: Instance
    truth: GroupSizes | None
    noise: Noise | None
    epsilon: Fraction | None
    rho: Fraction | None
    seed: int | None
    citation: str
    licence: str
    source: str

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of the problem: see `pgsr.models.fingerprint`."""
        return fingerprint(self.instance.problem)


def names() -> tuple[str, ...]:
    """Names of the families, in the order of their kinds."""
    return tuple(ENTRIES)


def entry(name: str) -> Entry:
    """What is known of the family of `name`, whose parameters are not looked at; InputError if unknown."""
    family = name.partition(":")[0]
    if family not in ENTRIES:
        way_out = meant(family, ENTRIES, f"use one of {', '.join(ENTRIES)}, or file:PATH")
        raise InputError(f"unknown instance '{name}'", "instance", way_out)
    return ENTRIES[family]


def check_name(name: str) -> None:
    """Refuse, before anything is made, an unknown family, unknown parameters, and values out of range."""
    if not name.startswith(PREFIX):
        found = entry(name)
        check_ranges(name, read_parameters(name, found.parameters), found.largest)


def expand(name: str) -> tuple[str, ...]:
    """The instances that `name` stands for: itself, or all those of `vectors`."""
    if name == "vectors":
        return tuple(f"vectors:number={number}" for number in range(1, VECTORS + 1))
    return (name,)


def fixed(name: str, base: Path | None = None) -> bool:
    """Whether the targets of `name` are part of it, so that epsilon, noise and seed say nothing."""
    if name.startswith(PREFIX):
        return not is_counts(parts(name, base or Path())[0])
    return entry(name).fixed


def models(name: str, base: Path | None = None) -> tuple[Model, ...]:
    """The models that `name` is there for; the file is read if it is an instance of the reader's own."""
    if not name.startswith(PREFIX):
        return entry(name).models
    base = base or Path()
    if is_counts(parts(name, base)[0]):
        return BOTH
    given = read_given(name, base).instance
    assert given is not None
    return (_model_of(given),)


def open_case(
    name: str,
    model: Model | None = None,
    epsilon: Number | None = None,
    noise: Noise | None = None,
    seed: int | None = None,
    base: Path | None = None,
) -> LibraryCase:
    """The instance called `name`; `base` is the folder that `file:` paths are relative to.

    Without a model the instance's own, hierarchical where there are both; else epsilon 1, geometric noise,
    seed 1. Where the targets are part of the instance (`fixed`), the last three change nothing. Raises
    InputError for unknown names, parameters, models and noise, and for what is wrong in a file.
    """
    noise = "geometric" if noise is None else noise
    seed = SEED if seed is None else seed
    if model not in (None, *BOTH):
        raise InputError(f"unknown model '{model}'", "model", "use hierarchical or cumulative")
    if noise not in NOISES:
        raise InputError(f"unknown noise '{noise}'", "noise", f"use one of {', '.join(NOISES)}")
    budget = as_fraction(1 if epsilon is None else epsilon, "epsilon")
    if not budget > 0:
        raise InputError("epsilon is not positive", "epsilon", "give a number above 0")
    if seed < 0:
        raise InputError("the seed is negative", "seed", "give 0, 1, 2, ...")
    asked = _Asked(name=name, model=model, epsilon=budget, noise=noise, seed=seed)
    if name.startswith(PREFIX):
        return _from_file(asked, read_given(name, base or Path()))
    return _from_library(asked, entry(name))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    name: str
    model: Model | None
    epsilon: Fraction
    noise: Noise
    seed: int

    def among(self, offered: tuple[Model, ...]) -> Model:
        """The model to take; InputError if the instance is not there for the one asked for."""
        if self.model is None:
            return offered[0]
        if self.model not in offered:
            raise InputError(
                f"an instance of the {offered[0]} model alone",
                f"instance '{self.name}'",
                "leave it out there",
            )
        return self.model


def _from_library(asked: _Asked, found: Entry) -> LibraryCase:
    given = read_parameters(asked.name, found.parameters)
    model = asked.among(found.models)
    if found.problem is not None:
        problem = found.problem(given, model)
        ids: Any = np.array([f"r{row}" for row in range(problem.regions)])  # numpy's stubs lose the text type
        instance = Instance(
            hierarchy=Hierarchy(ids=ids, parent=problem.parent),
            sizes=np.arange(1, problem.width + 1),
            problem=problem,
        )
        return _case(asked, model, instance, None, found.title, (found.citation, found.licence, found.source))
    assert found.truth is not None
    origin = (found.citation, found.licence, found.source)
    if found.name in PRESETS and (asked.noise == "geometric" or found.fixed):
        made = generate(
            found.name,
            model=model,
            scale=given.get("scale", 1.0),
            sizes=int(given["sizes"]) if "sizes" in given else None,
            epsilon=asked.epsilon,
            seed=asked.seed,
        )
        noise = None if found.fixed else asked.noise
        return _case(asked, model, made.instance(), made.truth, found.title, origin, noise)
    return _with_noise(asked, model, found.truth(given, asked.seed), found.title, origin)


def _from_file(asked: _Asked, given: Given) -> LibraryCase:
    origin = (_OWN, _OWN, f"file {given.title}")
    if given.instance is not None:
        model = asked.among((_model_of(given.instance),))
        return _case(asked, model, given.instance, given.truth, given.title, origin)
    assert given.truth is not None
    return _with_noise(asked, asked.among(BOTH), given.truth, given.title, origin)


def _model_of(instance: Instance) -> Model:
    return "cumulative" if instance.problem.cumulative else "hierarchical"


def _with_noise(
    asked: _Asked, model: Model, truth: GroupSizes, title: str, origin: tuple[str, str, str]
) -> LibraryCase:
    noisy = noisy_table(
        truth,
        cumulative=model == "cumulative",
        epsilon=asked.epsilon,
        noise=asked.noise,
        seed=asked.seed,
    )
    instance = Instance.build(
        truth.hierarchy, truth.sizes, noisy, truth.total, cumulative=model == "cumulative"
    )
    return _case(asked, model, instance, truth, title, origin, asked.noise)


def _case(
    asked: _Asked,
    model: Model,
    instance: Instance,
    truth: GroupSizes | None,
    title: str,
    origin: tuple[str, str, str],
    noise: Noise | None = None,
) -> LibraryCase:
    """The case; without `noise` its targets are its own."""
    citation, licence, source = origin
    return LibraryCase(
        name=asked.name,
        title=title,
        model=model,
        instance=instance,
        truth=truth,
        noise=noise,
        epsilon=None if noise is None else asked.epsilon,
        rho=rho(asked.epsilon) if noise == "gaussian" else None,
        seed=None if noise is None else asked.seed,
        citation=citation,
        licence=licence,
        source=source,
    )
