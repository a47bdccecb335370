"""Solvers that say something false about themselves. Never registered."""

from __future__ import annotations

from typing import Any

from pgsr.models.problem import Feature, Problem
from pgsr.solvers.base import Availability
from pgsr.solvers.conformance.fakes import Fake


class TakesAnything(Fake):
    """Takes problems that it does not declare."""

    name = "fake-takes-anything"

    def check(self, problem: Problem) -> None:
        """Refuse nothing."""


class DeclaresNoModel(Fake):
    """Declares neither model."""

    name = "fake-declares-no-model"
    features = frozenset({Feature.INTEGER, Feature.L2})


class LoadsItsLibrary(Fake):
    """Loads its library to see whether it is there."""

    name = "fake-loads-its-library"

    def availability(self) -> Availability:
        """There, and loaded."""
        import scipy.optimize  # noqa: F401 - the fault

        return Availability(available=True)


class NamesNoCommand(Fake):
    """Is not available and does not say what to do about it."""

    name = "fake-names-no-command"

    def availability(self) -> Availability:
        """Not there."""
        return Availability(available=False, reason="something is missing")


class NamesNoVersion(Fake):
    """Does not know its version."""

    name = "fake-names-no-version"

    def version(self) -> str:
        """Nothing."""
        return ""


class CannotBePickled(Fake):
    """Holds what cannot be sent to another process."""

    name = "fake-cannot-be-pickled"

    def __init__(self) -> None:
        self.hook: Any = lambda: None
