"""Plain records of how a release was made: versions, configuration, solver. Nothing confidential."""

from __future__ import annotations

import hashlib
import json
import math
import platform
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from fractions import Fraction
from importlib import metadata
from typing import Any

from pgsr.errors import InputError

_PACKAGES = ("pgsr", "numpy", "scipy", "numba", "pyarrow", "networkx", "cryptography", "dp-accounting")

Real = int | float


@dataclass(frozen=True, slots=True, kw_only=True)
class SolveRecord:
    """How an optimiser answered, as plain data; the terms are those of `pgsr.solvers`.

    `objective`, `bound`, `gap` in units of the objective; `violations` the largest violation of each
    condition; `certificate` True proven optimal, False proven not, None unknown; `build_s`, `solve_s` in
    seconds.
    """

    solver: str
    version: str
    termination: str
    point_status: str
    objective: Real | None = None
    bound: Real | None = None
    gap: Real | None = None
    violations: Mapping[str, Real] = field(default_factory=dict)
    certificate: bool | None = None
    build_s: float = 0.0
    solve_s: float = 0.0

    def __post_init__(self) -> None:
        for name in ("objective", "bound", "gap"):
            object.__setattr__(self, name, _plain(getattr(self, name)))
        violations = {str(key): _plain(value) for key, value in self.violations.items()}
        object.__setattr__(self, "violations", violations)

    def to_dict(self) -> dict[str, Any]:
        """Plain record; an infinite bound is None."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}

    @classmethod
    def from_dict(cls, record: Any, where: str = "solve record") -> SolveRecord:
        """The inverse of `to_dict`; InputError, naming `where`, for other keys."""
        return cls(**_fields(cls, record, where))


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """What made a release: `mechanism`, its public `parameters` (and their digest), `versions`, time, solver.

    `label` the public label of the charge; `created` in UTC; `seeded` True if the random bits can be
    reproduced (then nothing is private); `solve` None if nothing was optimised.
    """

    mechanism: str
    parameters: Mapping[str, Any]
    config_digest: str
    versions: Mapping[str, str]
    created: str
    seeded: bool
    label: str = ""
    solve: SolveRecord | None = None

    @classmethod
    def now(
        cls,
        *,
        mechanism: str,
        parameters: Mapping[str, Any],
        seeded: bool,
        label: str = "",
        solve: SolveRecord | None,
    ) -> Provenance:
        """The record of a release made now, with the versions installed here."""
        plain = json.loads(_canonical(parameters))
        created = datetime.now(UTC).isoformat(timespec="seconds")
        return cls(
            mechanism=mechanism,
            parameters=plain,
            config_digest=digest(plain),
            versions=versions(),
            created=created,
            seeded=seeded,
            label=label,
            solve=solve,
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain record."""
        record = {name: getattr(self, name) for name in self.__dataclass_fields__}
        record["solve"] = None if self.solve is None else self.solve.to_dict()
        return record

    @classmethod
    def from_dict(cls, record: Any, where: str = "provenance") -> Provenance:
        """The inverse of `to_dict`; InputError, naming `where`, for other keys."""
        fields = _fields(cls, record, where)
        if fields["solve"] is not None:
            fields["solve"] = SolveRecord.from_dict(fields["solve"], f"{where}, solve")
        return cls(**fields)


def versions(packages: tuple[str, ...] = _PACKAGES) -> dict[str, str]:
    """Versions of Python and of the installed `packages`, without importing them."""
    found = {"python": platform.python_version()}
    for package in packages:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return found


def digest(config: Mapping[str, Any]) -> str:
    """SHA-256 (hex) of a configuration; the same for any order of keys. Fractions count as their text.

    Raises InputError for values that are not plain data.
    """
    return hashlib.sha256(_canonical(config).encode("ascii")).hexdigest()


def _canonical(config: Mapping[str, Any]) -> str:
    try:
        return json.dumps(config, sort_keys=True, separators=(",", ":"), allow_nan=False, default=_text)
    except (TypeError, ValueError):
        raise InputError("not plain data", "configuration", "use text, numbers, lists and dicts") from None


def _text(value: Any) -> str:
    if isinstance(value, Fraction):
        return str(value)
    raise TypeError


def _plain(value: Any) -> Any:
    """A Python number for JSON; None for an infinite or undefined one."""
    if value is None:
        return None
    number = value.item() if hasattr(value, "item") else value
    return None if isinstance(number, float) and not math.isfinite(number) else number


def _fields(cls: Any, record: Any, where: str) -> dict[str, Any]:
    names = set(cls.__dataclass_fields__)
    if not isinstance(record, Mapping) or set(record) != names:
        raise InputError("unknown or missing keys", where, "written by a newer version, or not ours")
    return dict(record)
