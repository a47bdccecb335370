"""What pgsr's own solvers share: they are always there, have pgsr's version, and keep to Ctrl-C."""

from __future__ import annotations

from abc import ABC, abstractmethod
from importlib.metadata import version as installed

from pgsr.models.problem import Feature, Problem
from pgsr.solvers.base import Availability, Solution, SolveOptions, refuse_unsupported


class NativeSolver(ABC):
    """Base of solvers that need runtime dependencies only; subclasses add the data and `solve`."""

    name: str
    features: frozenset[Feature]
    interruptible = True

    def availability(self) -> Availability:
        """Always available."""
        return Availability(available=True)

    def version(self) -> str:
        """Version of pgsr."""
        return installed("pgsr")

    def check(self, problem: Problem) -> None:
        """Refuse missing features; any size will do."""
        refuse_unsupported(self, problem)

    @abstractmethod
    def solve(self, problem: Problem, options: SolveOptions) -> Solution:
        """Solve `problem`, see the subclass."""
