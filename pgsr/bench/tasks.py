"""From a suite to its runs: each has a key that is the same whenever and wherever it is run."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict, dataclass, replace
from itertools import product
from pathlib import Path

from pgsr.bench.guess import meant
from pgsr.bench.suite import Group, GroupSizesGroup, InequalityGroup, SaeGroup, Suite
from pgsr.bench.task import FILE, NOISY, RELAXED, ROUNDED, Task
from pgsr.errors import InputError, SolverFault
from pgsr.models.problem import Feature
from pgsr.solvers.base import Solver

EVERY = "*"
"""Stands for all registered solvers that take the model and are no heuristics."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _What:
    """What is run, without the limits: columns of the same names."""

    instance: str
    method: str
    model: str | None = None
    noise: str | None = None
    epsilon: str | None = None
    rho: str | None = None
    seed: int | None = None
    releases: int = 1


def expand(suite: Suite, base: Path, source: str = "suite") -> tuple[Task, ...]:
    """All runs of a suite, group by group, seed by seed; `base` is the folder of `file:` paths.

    Raises InputError, naming `source` (the suite's file), group and key, for unknown instances and solvers,
    and for two groups that ask for the same run.
    """
    found: dict[str, Task] = {}
    solvers = _Solvers()
    for number, group in enumerate(suite.group, 1):
        with _at(f"{source}, group.{number}"):
            own = _tasks(suite, group, base, solvers)
        for key in own.keys() & found.keys():
            where = f"{source}, group.{number}"
            raise InputError(f"'{key}' is asked for twice", where, "take it out of one group")
        found |= own
    return tuple(found.values())


@contextmanager
def _at(place: str, joint: str = ".") -> Iterator[None]:
    """Put a place before that of an InputError."""
    try:
        yield
    except InputError as error:
        # The key says it already where the error names no more than "instance".
        where = place if place.startswith(error.where) else f"{place}{joint}{error.where}"
        raise InputError(error.what, where, error.way_out) from None


def _instances() -> AbstractContextManager[None]:
    return _at("instances", ", ")


def _tasks(suite: Suite, group: Group, base: Path, solvers: _Solvers) -> dict[str, Task]:
    """The tasks of a group by key; an instance without seed is run once."""
    seconds = group.time_limit_s or suite.time_limit_s
    memory = group.memory_limit_gb or suite.memory_limit_gb
    limits = [f"{seconds:g} s", f"{memory:g} GB"]
    if suite.threads > 1:
        limits.append(f"{suite.threads} threads")
    with _instances():
        contents = {name: digest(group.family, name, base) for name in group.instances}
    found: dict[str, Task] = {}
    for what in _asked(group, group.seeds or suite.seeds, base, solvers):
        key = " | ".join([*words(what, contents.get(what.instance, "")), *limits])
        found[key] = Task(
            suite=suite.name,
            key=key,
            family=group.family,
            time_limit_s=seconds,
            grace_s=suite.grace_s,
            build_limit_s=suite.build_limit_s,
            memory_limit_gb=memory,
            threads=suite.threads,
            base=str(base),
            **asdict(what),
        )
    return found


def words(what: _What | Task, content: str = "") -> list[str]:
    """The parts of a key that say what is run; `content` tells versions of a file of the reader's apart."""
    law = what.noise if what.noise != what.method.partition(":")[0] else None
    parts = [
        what.instance + (f" ({content})" if content else ""),
        what.model,
        f"epsilon {what.epsilon}" if what.epsilon is not None else None,
        f"rho {what.rho}" if what.rho is not None else None,
        law,
        f"seed {what.seed}" if what.seed is not None else None,
        what.method,
        f"{what.releases} releases" if what.releases > 1 else None,
    ]
    return [part for part in parts if part]


def _asked(group: Group, seeds: Sequence[int], base: Path, solvers: _Solvers) -> Iterator[_What]:
    if isinstance(group, GroupSizesGroup):
        return _groupsizes(group, seeds, base, solvers)
    if isinstance(group, InequalityGroup):
        return _inequality(group, seeds)
    return _sae(group, seeds)


def _groupsizes(
    group: GroupSizesGroup, seeds: Sequence[int], base: Path, solvers: _Solvers
) -> Iterator[_What]:
    from pgsr.bench import library

    by_model = {model: solvers.methods(group.methods, model) for model in group.models}
    with _instances():
        cases = [case for given in group.instances for case in _cases(given, group.models, base)]
    for seed in seeds:
        for instance, model in cases:
            what = _What(instance=instance, model=model, method="")
            draws = [what]
            if not library.fixed(instance, base):
                draws = [
                    replace(what, noise=noise, epsilon=epsilon, seed=seed)
                    for noise, epsilon in product(group.noises, group.epsilons)
                ]
            for draw, method in product(draws, by_model[model]):
                yield replace(draw, method=method)


def _cases(given: str, models: Sequence[str], base: Path) -> Iterator[tuple[str, str]]:
    """The instances that a name stands for, with those of the models that they are there for."""
    from pgsr.bench import library

    for name in library.expand(given):
        library.check_name(name)
        offered = library.models(name, base)
        if not set(models) & set(offered):
            way_out = "add its model, or leave it out"
            raise InputError(f"not there for {' or '.join(models)}", f"instance '{name}'", way_out)
        yield from ((name, model) for model in models if model in offered)


def _inequality(group: InequalityGroup, seeds: Sequence[int]) -> Iterator[_What]:
    from pgsr.bench.run_inequality import check_name

    with _instances():
        for instance in group.instances:
            check_name(instance)
    for seed, instance, name, epsilon, method in product(
        seeds, group.instances, group.indexes, group.epsilons, group.methods
    ):
        yield _What(
            instance=instance,
            model=name,
            epsilon=epsilon,
            noise=method.partition(":")[0],
            method=method,
            releases=group.releases,
            seed=seed,
        )


def _sae(group: SaeGroup, seeds: Sequence[int]) -> Iterator[_What]:
    from pgsr.bench.run_sae import check_name

    with _instances():
        for instance in group.instances:
            check_name(instance)
    for seed, instance, rho, method in product(seeds, group.instances, group.rhos, group.methods):
        private = method not in group.NOT_PRIVATE
        if private or rho == group.rhos[0]:
            yield _What(instance=instance, method=method, rho=rho if private else None, seed=seed)


class _Solvers:
    """The registered solvers, each loaded once at most."""

    def __init__(self) -> None:
        from pgsr.solvers.registry import names

        self.names = names()
        self._loaded: dict[str, Solver | None] = {}

    def methods(self, asked: Sequence[str], model: str) -> tuple[str, ...]:
        """Methods by name, `EVERY` replaced by the solvers that take the model; unknown ones are refused."""
        found = []
        for one in asked:
            name, colon, variant = one.partition(":")
            if colon and variant not in (RELAXED, ROUNDED):
                way_out = "use NAME, NAME:relaxed or NAME:rounded"
                raise InputError(f"unknown variant '{one}'", "methods", way_out)
            if name == EVERY:
                found += [f"{n}{colon}{variant}" for n in self.names if self._takes(n, model, bool(variant))]
            elif name not in (NOISY, *self.names):
                known = ", ".join(self.names)
                way_out = f"use {NOISY}, * or one of {known}; install the package of another solver"
                way_out = meant(name, (NOISY, *self.names), way_out)
                raise InputError(f"unknown method '{one}'", "methods", way_out)
            elif colon and (name == NOISY or self._never_relaxed(name)):
                what = f"'{name}' does not solve relaxations"
                raise InputError(what, "methods", f"take out '{one}'; 'pgsr solvers' says who does")
            else:
                found.append(one)
        return tuple(dict.fromkeys(found))

    def _never_relaxed(self, name: str) -> bool:
        solver = self._solver(name)
        return solver is not None and Feature.RELAXED not in solver.features

    def _takes(self, name: str, model: str, relaxed: bool) -> bool:
        solver = self._solver(name)
        if solver is None:
            return not relaxed  # the run will say what is wrong
        need = {Feature.RELAXED if relaxed else Feature.INTEGER, Feature(model)}
        return need <= solver.features and not getattr(solver, "heuristic", False)

    def _solver(self, name: str) -> Solver | None:
        from pgsr.solvers.registry import get

        if name not in self._loaded:
            try:
                self._loaded[name] = get(name)
            except SolverFault:
                self._loaded[name] = None
        return self._loaded[name]


def digest(family: str, instance: str, base: Path) -> str:
    """What a file or folder of the reader's own holds, in 12 digits: part of the key; "" for all others."""
    if not instance.startswith(FILE):
        return ""
    state = hashlib.sha256()
    for path in _paths(family, instance, base):
        if not path.exists():
            raise InputError("no such file", f"instance '{instance}'", "paths count from the suite's folder")
        files = [path] if path.is_file() else sorted(p for p in path.rglob("*") if p.is_file())
        for file in files:
            state.update(file.name.encode() + b"\0")
            with file.open("rb") as stream:
                state.update(hashlib.file_digest(stream, "sha256").digest())
    return state.hexdigest()[:12]


def _paths(family: str, instance: str, base: Path) -> list[Path]:
    if family == "groupsizes":
        from pgsr.bench.library_files import parts

        path, truth, _ = parts(instance, base)
        return [path] if truth is None else [path, truth]
    if family == "inequality":
        from pgsr.bench.run_inequality import file_parts

        return [base / file_parts(instance)[0]]
    raise InputError("surveys are not read from files", f"instance '{instance}'", "use a simulated one")
