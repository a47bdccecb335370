"""Solvers that misbehave as processes: they print, raise, crash or never end. Never registered."""

# ruff: noqa: ARG002 - fakes take what the protocol gives them

from __future__ import annotations

import os
import signal
import time
from typing import Any

from numpy.typing import NDArray

from pgsr.models.problem import Problem
from pgsr.solvers.base import SolveOptions
from pgsr.solvers.conformance.fakes import Fake


class Prints(Fake):
    """Writes to standard output."""

    name = "fake-prints"

    def table(self, problem: Problem, options: SolveOptions) -> NDArray[Any] | None:
        """The right table, with a banner."""
        os.write(1, b"Academic licence - for non-commercial use only\n")
        return super().table(problem, options)


class Raises(Fake):
    """Raises a bare exception."""

    name = "fake-raises"

    def table(self, problem: Problem, options: SolveOptions) -> NDArray[Any]:
        """Nothing."""
        raise RuntimeError("unexpected status 7")


class Exits(Fake):
    """Ends its process without a word."""

    name = "fake-exits"

    def table(self, problem: Problem, options: SolveOptions) -> NDArray[Any]:
        """Nothing."""
        os._exit(3)


class Aborts(Fake):
    """Crashes its process, as a failed assertion in C does."""

    name = "fake-aborts"

    def table(self, problem: Problem, options: SolveOptions) -> NDArray[Any]:
        """Nothing."""
        os.abort()


class NeverEnds(Fake):
    """Ignores its time limit, and yet calls itself interruptible."""

    name = "fake-never-ends"
    interruptible = True

    def table(self, problem: Problem, options: SolveOptions) -> NDArray[Any]:
        """Nothing, for ever."""
        while True:
            time.sleep(0.05)


class IgnoresSignals(NeverEnds):
    """Ignores SIGTERM and Ctrl-C as well."""

    name = "fake-ignores-signals"

    def table(self, problem: Problem, options: SolveOptions) -> NDArray[Any]:
        """Nothing, for ever."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, signal.SIG_IGN)
        return super().table(problem, options)
