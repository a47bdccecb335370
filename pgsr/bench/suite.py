"""Suites of benchmarks: TOML files that say what is run on what; errors name the file and the key."""

from __future__ import annotations

import math
import tomllib
from decimal import Decimal
from fractions import Fraction
from importlib import resources
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, NoReturn

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    PlainValidator,
    StringConstraints,
    ValidationError,
    model_validator,
)

from pgsr.bench.guess import meant
from pgsr.errors import InputError
from pgsr.privacy import as_fraction

FORMAT = "pgsr-suite/1"
MOST_SEEDS = 100_000


def _seconds(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float, Decimal)):
        raise ValueError("not a number")
    number = float(value)
    if not 0 < number < math.inf:
        raise ValueError("not a number above 0")
    return number


def _budget(value: Any) -> str:
    """A positive exact number as text: equal budgets have equal names."""
    exact = as_fraction(value, "")
    if not 0 < exact <= 10**9:
        raise InputError("a budget is not above 0 (and at most 1e9)", "", 'give text such as "1/2"')
    return str(Fraction(exact))


def _seeds(value: Any) -> tuple[int, ...]:
    """Seeds 1 to a number, or those of a list."""
    if isinstance(value, int) and not isinstance(value, bool):
        if not 1 <= value <= MOST_SEEDS:
            raise ValueError(f"not 1 .. {MOST_SEEDS} seeds")
        return tuple(range(1, value + 1))
    if not isinstance(value, list) or not value:
        raise ValueError("neither a number of seeds nor a list of them")
    for seed in value:
        if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed < 2**62:
            raise ValueError("a seed is not a whole number from 0 up")
    if len(set(value)) < len(value):
        raise ValueError("a seed stands twice")
    return tuple(value)


def _no_twins(values: tuple[str, ...]) -> tuple[str, ...]:
    if not values:
        raise ValueError("the list is empty")
    if len(set(values)) < len(values):
        raise ValueError("an entry stands twice")
    return values


def _budgets(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise ValueError('not a list of budgets such as ["1/2", "1"]')
    return _no_twins(tuple(_budget(one) for one in value))


def _names(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise ValueError("not a list of names")
    if any(one.strip() != one or not one for one in value):
        raise ValueError("a name is empty, or has blanks around it")
    return _no_twins(tuple(value))


def _rhos(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise ValueError('not a list such as ["draw", "1/10"]')
    return _no_twins(tuple(one if one == "draw" else _budget(one) for one in value))


Seconds = Annotated[float, PlainValidator(_seconds)]
Budgets = Annotated[tuple[str, ...], PlainValidator(_budgets)]
Names = Annotated[tuple[str, ...], PlainValidator(_names)]
Rhos = Annotated[tuple[str, ...], PlainValidator(_rhos)]
Seeds = Annotated[tuple[int, ...], PlainValidator(_seeds)]
Text = Annotated[str, StringConstraints(strict=True, min_length=1)]
Name = Annotated[str, StringConstraints(strict=True, pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$")]
Count = Annotated[int, Field(strict=True, ge=1, le=1_000_000)]
Threads = Annotated[int, Field(strict=True, ge=1, le=4096)]


class _Table(BaseModel):
    """A table of the file: unknown keys are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class _Group(_Table):
    """What all groups have: instances, methods, and limits and seeds in the place of the suite's own."""

    instances: Names
    methods: Names
    seeds: Seeds | None = None
    time_limit_s: Seconds | None = None
    memory_limit_gb: Seconds | None = None


class GroupSizesGroup(_Group):
    """Problems to repair noisy counts: every method on every instance, model, noise, epsilon and seed."""

    family: Literal["groupsizes"]
    models: Names = ("hierarchical", "cumulative")
    epsilons: Budgets = ("1",)
    noises: Names = ("geometric",)

    @model_validator(mode="after")
    def _known(self) -> GroupSizesGroup:
        _one_of(self.models, ("hierarchical", "cumulative"), "models")
        _one_of(self.noises, ("geometric", "laplace", "gaussian"), "noises")
        return self


class InequalityGroup(_Group):
    """Private inequality indices of incomes; a run draws `releases` independent ones."""

    METHODS: ClassVar = tuple(
        f"{noise}{bound}" for noise in ("laplace", "paper", "cauchy", "ladder") for bound in ("", ":private")
    )
    family: Literal["inequality"]
    indexes: Names = ("mld", "theil")
    epsilons: Budgets = ("1",)
    releases: Count = 1

    @model_validator(mode="after")
    def _known(self) -> InequalityGroup:
        _one_of(self.indexes, ("mld", "theil", "ge2"), "indexes")
        _one_of(self.methods, self.METHODS, "methods")
        return self


class SaeGroup(_Group):
    """Small area estimates: every method on every survey, rho and seed.

    A rho of "draw" is that of one posterior draw, so that all methods cost the same.
    """

    NOT_PRIVATE: ClassVar = ("direct", "predictor")
    METHODS: ClassVar = (*NOT_PRIVATE, "draw", "reshrunk", "noisy-direct", "three-stage")
    family: Literal["sae"]
    rhos: Rhos = ("draw",)

    @model_validator(mode="after")
    def _known(self) -> SaeGroup:
        _one_of(self.methods, self.METHODS, "methods")
        return self


Group = Annotated[GroupSizesGroup | InequalityGroup | SaeGroup, Field(discriminator="family")]


class Suite(_Table):
    """A suite; make it with `load_suite`.

    Limits are those of one run: `time_limit_s` of the solve, `grace_s` beyond it until the process is
    killed, `build_limit_s` of everything before the solve, `memory_limit_gb` of the process with all that it
    started; `threads` is what a solver may use.
    """

    format: Literal["pgsr-suite/1"]
    name: Name
    title: Text
    about: Text = ""
    time_limit_s: Seconds = 60.0
    grace_s: Seconds = 20.0
    build_limit_s: Seconds = 600.0
    memory_limit_gb: Seconds = 8.0
    threads: Threads = 1
    seeds: Seeds = (1,)
    group: Annotated[tuple[Group, ...], Field(min_length=1)]


def shipped() -> dict[str, Path]:
    """The suites that come with the package, by name."""
    folder = Path(str(resources.files("pgsr.bench") / "suites"))
    return {path.stem: path for path in sorted(folder.glob("*.toml"))}


def find_suite(given: str) -> Path:
    """The file of a suite: a name of `shipped`, or a path. InputError lists the names there are."""
    known = shipped()
    if given in known:
        return known[given]
    path = Path(given)
    if path.suffix == ".toml" or path.is_file():
        return path
    way_out = meant(given, known, f"use one of {', '.join(known)}, or a TOML file")
    raise InputError(f"unknown suite '{given}'", "suite", way_out)


def load_suite(path: str | Path) -> Suite:
    """Read a suite; InputError names the file and the key."""
    path = Path(path)
    try:
        record = tomllib.loads(path.read_bytes().decode("utf-8"), parse_float=Decimal)
    except FileNotFoundError:
        raise InputError("no such file", str(path), "check the path") from None
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror})", str(path), "check the path") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(f"not TOML ({error})", str(path), "correct the file") from None
    except (ValueError, ArithmeticError):
        raise InputError("a number of too many digits", str(path), "give a smaller number") from None
    try:
        return Suite.model_validate(record)
    except ValidationError as error:
        _refuse(error, path)


_SINGULAR = {"models": "model", "noises": "noise", "indexes": "index", "methods": "method"}


def _one_of(values: tuple[str, ...], known: tuple[str, ...], key: str) -> None:
    for value in values:
        if value not in known:
            way_out = meant(value, known, f"use one of {', '.join(known)}")
            raise InputError(f"unknown {_SINGULAR[key]} '{value}'", key, way_out)


def _refuse(error: ValidationError, path: Path) -> NoReturn:
    """Raise an InputError that names file and key of the first thing that is wrong."""
    first = error.errors(include_url=False, include_input=False)[0]
    families = {"groupsizes", "inequality", "sae"}
    steps = [str(step + 1) if isinstance(step, int) else step for step in first["loc"]]
    key = ".".join(step for step in steps if step not in families)
    where = f"{path}, {key}" if key else str(path)
    cause = first.get("ctx", {}).get("error")
    if isinstance(cause, InputError):
        raise InputError(
            cause.what, f"{where}.{cause.where}" if cause.where else where, cause.way_out
        ) from None
    what, way_out = {
        "extra_forbidden": (f"unknown key {key!r}", "see docs/suites.md for the keys there are"),
        "missing": (f"key {key!r} is missing", "add it"),
        "union_tag_not_found": (f"key '{key}.family' is missing", "use groupsizes, inequality or sae"),
        "union_tag_invalid": ("unknown family", "use groupsizes, inequality or sae"),
    }.get(first["type"], ("", "correct it"))
    if not what:
        what = str(cause) if cause is not None else first["msg"]
        what = what[0].lower() + what[1:]
    raise InputError(what, where, way_out) from None
