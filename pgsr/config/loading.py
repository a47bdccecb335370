"""Reading a release configuration: a TOML file; errors name the file and the key."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Collection
from decimal import Decimal
from pathlib import Path
from typing import Any, NoReturn

from pydantic import ValidationError, model_validator

from pgsr.config.parts import (
    BudgetPart,
    DataPart,
    HierarchyPart,
    Part,
    PrivacyPart,
    QueryPart,
    SizesPart,
    SolvePart,
)
from pgsr.errors import InputError

NO_LEDGER = "none"
"""The value of `privacy.ledger` that asks for no ledger; for seeded experiments only."""

_DATA_KINDS = ("persons", "units", "histogram", "long")


class ReleaseConfig(Part):
    """A release configuration; make it with `load_config`."""

    hierarchy: HierarchyPart
    data: DataPart | None = None
    sizes: SizesPart | None = None
    privacy: PrivacyPart
    solve: SolvePart = SolvePart()
    queries: tuple[QueryPart, ...] = ()

    @model_validator(mode="after")
    def _one_or_several(self) -> ReleaseConfig:
        if self.queries:
            if self.data is not None or self.sizes is not None or self.privacy.given():
                raise ValueError("data, sizes and the cost belong into each of [[queries]]")
            names = [query.name.lower() for query in self.queries]
            twice = [name for name in names if names.count(name) > 1]
            if twice:
                raise ValueError(f"two queries are called {twice[0]!r}")
        elif self.data is None or self.sizes is None:
            raise ValueError("give [data] and [sizes], or [[queries]]")
        if self.privacy.ledger == NO_LEDGER and self.privacy.seed is None:
            raise ValueError('only an experiment with privacy.seed may have ledger = "none"')
        return self

    def parts(self) -> tuple[tuple[str, DataPart, SizesPart, BudgetPart], ...]:
        """Name, data, sizes and cost of each query."""
        if self.queries:
            return tuple((query.name, query.data, query.sizes, query.privacy) for query in self.queries)
        assert self.data is not None and self.sizes is not None  # by the check above  # noqa: PT018
        return (("", self.data, self.sizes, self.privacy),)


def load_config(path: str | Path) -> ReleaseConfig:
    """Read a release configuration; InputError names the file and the key."""
    path = Path(path)
    record = read_toml(path)
    try:
        return ReleaseConfig.model_validate(record, context={"base": path.parent})
    except ValidationError as error:
        refuse_key(error, path, "docs/formats.md", _DATA_KINDS)


def read_toml(path: Path) -> dict[str, Any]:
    """The keys of a TOML file, its fractions as decimals; InputError names the file."""
    text = ""
    try:
        text = path.read_bytes().decode("utf-8")
        return tomllib.loads(text, parse_float=Decimal)
    except FileNotFoundError:
        raise InputError("no such file", str(path), "check the path") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"not TOML ({error})", str(path), "correct the file") from None
    except (ValueError, ArithmeticError):
        long = re.search(r"[0-9_]{400,}", text)
        where = f"{path}, line {text.count(chr(10), 0, long.start()) + 1}" if long else str(path)
        if not text:
            raise InputError("cannot be read (bad path)", str(path), "check the path") from None
        raise InputError("a number of too many digits", where, "give a smaller number") from None
    except RecursionError:
        raise InputError("not TOML (nested too deeply)", str(path), "correct the file") from None
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror})", str(path), "check the path") from None


def refuse_key(error: ValidationError, path: Path, page: str, tags: Collection[str] = ()) -> NoReturn:
    """Raise an InputError that names file and key of the first thing that is wrong.

    `page` is where the keys are documented, `tags` are the kinds that tell forms of one table apart.
    """
    first = error.errors(include_url=False, include_input=False)[0]
    steps = [str(step + 1) if isinstance(step, int) else step for step in first["loc"] if step not in tags]
    key = ".".join(steps)
    key = key if key.isprintable() else ascii(key)
    where = f"{path}, {key}" if key else str(path)
    kind, context = first["type"], first.get("ctx", {})
    cause = context.get("error")
    if isinstance(cause, InputError):
        raise InputError(cause.what, where, cause.way_out) from None
    kinds = f"use {', '.join(tags)}"
    what, way_out = {
        "extra_forbidden": (f"unknown key {key!r}", f"see {page} for the keys there are"),
        "missing": (f"key {key!r} is missing", "add it"),
        "union_tag_not_found": (f"key '{key}.kind' is missing", kinds),
        "union_tag_invalid": ("unknown kind of data", kinds),
    }.get(kind, ("", "correct it"))
    if not what:
        what = str(cause) if cause is not None else first["msg"]
        what = what[0].lower() + what[1:]
    raise InputError(what, where, way_out) from None
