"""Checks on what a solver says about itself, made once for each solver."""

from __future__ import annotations

import json
import os
import pickle
import re
import subprocess
import sys
from typing import Any

from pgsr.errors import InputError
from pgsr.models.problem import Feature
from pgsr.solvers.base import SolveOptions
from pgsr.solvers.conformance.cases import cases
from pgsr.solvers.conformance.checks import accuracy_of
from pgsr.solvers.conformance.subject import Subject
from pgsr.solvers.conformance.verdicts import Check, Failed, Skipped, demand

HEAVY = frozenset(
    {"cvxpy", "gurobipy", "highspy", "matplotlib", "numba", "ortools", "pandas", "piqp", "polars", "pyarrow"}
    | {"pyomo", "pyscipopt", "scipy", "sympy", "torch"}
)
"""Libraries that asking for availability must not load."""

PROBE = """
import json, pickle, sys

path, content = pickle.load(sys.stdin.buffer)
sys.path[:] = path
solver = pickle.loads(content)
here = solver.availability()
loaded = sorted({name.partition(".")[0] for name in sys.modules})
kept = {*loaded, *sys.stdlib_module_names, "pgsr"}


class Hidden:
    def __init__(self, finder):
        self.finder = finder

    def __getattr__(self, name):
        return getattr(self.finder, name)

    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] not in kept:
            return None
        return self.finder.find_spec(name, path, target)


sys.meta_path[:] = [Hidden(finder) for finder in sys.meta_path]
bare = solver.availability()
print(json.dumps([loaded, here.available, here.reason, bare.available, bare.reason]))
"""
"""Asks for availability in a fresh process, and once more where no further library can be found."""

MODELS = {Feature.HIERARCHICAL, Feature.CUMULATIVE}
KINDS = {Feature.INTEGER, Feature.RELAXED}
LOSSES = {Feature.L2, Feature.L1}


def declares_itself(subject: Subject) -> None:
    """Name and features are there: a model, integers or relaxations, a loss; the rest makes sense."""
    solver = subject.solver
    demand(re.fullmatch(r"\S+", str(solver.name)), "no name without blanks")
    demand(isinstance(solver.features, frozenset), "features are not a frozenset")
    demand(all(isinstance(feature, Feature) for feature in solver.features), "features are not `Feature`s")
    for group in (MODELS, KINDS, LOSSES):
        options = " or ".join(sorted(feature.value for feature in group))
        demand(solver.features & group, f"it declares neither {options}")
    demand(getattr(solver, "scale", 0) >= 0, "a negative scale")
    demand(0 < accuracy_of(solver) < 1, "an accuracy outside (0, 1)")
    demand(isinstance(getattr(solver, "interruptible", False), bool), "interruptible is not a bool")


def version_is_told(subject: Subject) -> None:
    """An available solver knows its version."""
    if subject.unavailable:
        raise Skipped(subject.unavailable)
    demand(str(subject.solver.version() or "").strip(), "no version")


def can_be_pickled(subject: Subject) -> None:
    """The solver can be sent to a process of its own."""
    try:
        copy = pickle.loads(pickle.dumps(subject.solver))  # noqa: S301 - our own bytes
    except Exception as error:
        raise Failed(f"it cannot be pickled: {type(error).__name__}: {error}") from error
    demand(copy.name == subject.solver.name, "its copy has another name")


def availability_is_light(subject: Subject) -> None:
    """Asking whether the solver is available loads none of the heavy libraries."""
    loaded = HEAVY.intersection(subject.once("probe", lambda: _probe(subject))[0])
    demand(not loaded, f"loads {', '.join(sorted(loaded))}")


def missing_library_is_named(subject: Subject) -> None:
    """Where its library is missing the solver is not available, and names the command that installs it."""
    _, available, reason, bare, bare_reason = subject.once("probe", lambda: _probe(subject))
    needed = getattr(subject.solver, "modules", ())
    demand(not (needed and bare), f"available without {', '.join(needed)}")
    for there, why in ((available, reason), (bare, bare_reason)):
        if there:
            continue
        command = re.search(r"pip install '?([\w.-]+)(?:\[([\w,-]+)\])?", why)
        demand(command, f"names no command such as `pip install NAME`: {why!r}")
        assert command is not None
        if command[1] == "pgsr" and command[2]:
            unknown = set(command[2].split(",")) - _extras()
            demand(not unknown, f"pgsr has no extra {', '.join(sorted(unknown))}")


def refuses_what_it_does_not_declare(subject: Subject) -> None:
    """Problems that need a feature it lacks are refused with InputError, by `check` and by `solve`."""
    solver = subject.solver
    if subject.unavailable:
        raise Skipped(subject.unavailable)
    tried: set[frozenset[Feature]] = set()
    for case in cases():
        missing = case.problem.requires - solver.features
        if not missing or missing in tried:
            continue
        tried.add(missing)
        named = ", ".join(sorted(feature.value for feature in missing))
        calls: list[Any] = [
            ("check", lambda problem=case.problem: solver.check(problem)),
            ("solve", lambda problem=case.problem: solver.solve(problem, SolveOptions(threads=1))),
        ]
        for method, call in calls:
            try:
                call()
            except InputError as error:
                demand(str(error).strip(), f"{method} refuses {named} without a word")
                continue
            except Exception as error:
                raise Failed(f"{method} raises {type(error).__name__} for {named}, not InputError") from error
            raise Failed(f"{method} takes a problem with {named}, which it does not declare")


def _probe(subject: Subject) -> list[Any]:
    try:
        content = pickle.dumps(subject.solver)
    except Exception as error:
        raise Skipped("it cannot be sent to a fresh process: see can_be_pickled") from error
    done = subprocess.run(  # noqa: S603 - our own text, no shell
        [sys.executable, "-c", PROBE],
        input=pickle.dumps((sys.path, content)),
        capture_output=True,
        env={**os.environ, "PYTHONSAFEPATH": "1"},
        timeout=120,
        check=False,
    )
    lines = done.stdout.decode(errors="replace").strip().splitlines()
    last = done.stderr.decode(errors="replace").strip().splitlines()[-1:]
    demand(done.returncode == 0 and lines, f"availability breaks down in a fresh process: {' '.join(last)}")
    found: list[Any] = json.loads(lines[-1])
    return found


def _extras() -> set[str]:
    from importlib.metadata import metadata

    return set(metadata("pgsr").get_all("Provides-Extra") or ())


DECLARATIONS: tuple[Check, ...] = (
    Check(judge=declares_itself, cases=None),
    Check(judge=version_is_told, cases=None),
    Check(judge=can_be_pickled, cases=None),
    Check(judge=availability_is_light, cases=None),
    Check(judge=missing_library_is_named, cases=None),
    Check(judge=refuses_what_it_does_not_declare, cases=None),
)
"""Checks on the solver itself."""

EVEN_IF_MISSING = frozenset(
    {"declares_itself", "can_be_pickled", "availability_is_light", "missing_library_is_named"}
)
"""Checks that are made even where the solver is not available."""
