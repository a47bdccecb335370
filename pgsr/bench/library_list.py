"""The instances whose best-known values are kept with the library."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

from pgsr.bench.library import LibraryCase, expand, fixed, models, open_case
from pgsr.bench.library_noise import NOISES, Noise
from pgsr.bench.presets import Model

_DATA = ("korea", "flights")
_EPSILONS = ("1/10", "1/2", "1")
_SEEDS = range(3)  # 0 is the default of `open_case`; suites count from 1

_OTHERS = (
    *(f"{name}:levels={levels}" for name in _DATA for levels in (2, 3)),
    *(f"us:scale={scale}" for scale in ("1e-06", "1e-05", "0.0001", "0.001", "0.01")),
    *("taxi-like:scale=0.1", "taxi-like"),
    *("uniform:scale=0.008", "uniform:scale=0.03", "uniform"),
    *("chain:scale=0.01", "chain:scale=0.1", "chain"),
    *("star:scale=0.001", "star:scale=0.01", "star"),
    *("sparse:scale=0.05", "sparse", "huge", "ties:scale=0.03", "ties"),
    *("deep:levels=7", "deep"),
    *("fractional", *(f"fractional:copies={copies}" for copies in (2, 4, 16, 64, 256))),
    "window-trap",
    "vectors",
)
"""One budget and two seeds each; all noise laws have the data alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """The arguments of `open_case` for one listed instance."""

    name: str
    model: Model
    epsilon: str = "1"
    noise: Noise = "geometric"
    seed: int = 0

    def __str__(self) -> str:
        """Name, model, and what the noise depends on."""
        if fixed(self.name):
            return f"{self.name} {self.model}"
        return f"{self.name} {self.model} {self.noise} epsilon {self.epsilon} seed {self.seed}"

    def open(self) -> LibraryCase:
        """The instance."""
        return open_case(self.name, model=self.model, epsilon=self.epsilon, noise=self.noise, seed=self.seed)


def listed() -> Iterator[Asked]:
    """All listed instances, each once."""
    for name, noise, epsilon, seed in itertools.product(_DATA, NOISES, _EPSILONS, _SEEDS):
        for model in models(name):
            yield Asked(name=name, model=model, epsilon=epsilon, noise=noise, seed=seed)
    for family in _OTHERS:
        for name in expand(family):
            for model, seed in itertools.product(models(name), (0,) if fixed(name) else _SEEDS[:2]):
                yield Asked(name=name, model=model, seed=seed)
    for seed in range(6):
        yield Asked(name="deep", model="cumulative", epsilon="4", seed=seed)
