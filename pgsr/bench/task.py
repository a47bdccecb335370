"""One run of a suite as plain data, as it is handed to the process that does it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

FILE = "file:"
"""Begins the name of an instance of the reader's own."""

NOISY = "noisy"
"""The noisy table itself, as a method."""

RELAXED, ROUNDED = "relaxed", "rounded"
"""What may follow the name of a solver after a colon."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One run. `base`: the folder from which paths of instances count; budgets are text such as "1/2".

    None for what does not apply: an instance whose noisy counts are its own has no noise, epsilon or seed.
    """

    suite: str
    key: str
    family: str
    instance: str
    method: str
    model: str | None
    noise: str | None
    epsilon: str | None
    rho: str | None
    seed: int | None
    releases: int
    time_limit_s: float
    grace_s: float
    build_limit_s: float
    memory_limit_gb: float
    threads: int
    base: str

    def to_dict(self) -> dict[str, Any]:
        """The same as a plain record."""
        return asdict(self)
