"""What adapters share: availability from package metadata, outcomes, the trace, the honest record."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.metadata import version as installed
from importlib.util import find_spec
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from pgsr.errors import InputError, PgsrError
from pgsr.models.problem import Feature, Problem
from pgsr.solvers.base import (
    Availability,
    Observation,
    Solution,
    SolveOptions,
    Termination,
    broken_down,
    refuse_unsupported,
    tolerance,
)
from pgsr.solvers.certificate import Stopwatch, assess


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Outcome:
    """What a back end came back with, as claimed; `assess` makes the honest record of it.

    `x` (R, N): int64 for integer problems, else float64. `bound`: on the objective of the stated problem,
    if the back end gives one. `multipliers` (R, N) on "parent = sum of children", for Model 2.
    """

    termination: Termination
    raw_status: str
    x: NDArray[Any] | None
    build_s: float
    solve_s: float
    bound: float | None = None
    multipliers: NDArray[np.float64] | None = None
    details: Mapping[str, Any] = field(default_factory=dict)


class Recorder:
    """Collects the trace of one solve and passes it on; times count from the start of the back end."""

    def __init__(self, problem: Problem, options: SolveOptions) -> None:
        self.problem = problem
        self.trace: list[Observation] = []
        self._observe = options.observe
        self._watch = Stopwatch()
        self._options = options
        self._running = options.started()
        self.best: NDArray[Any] | None = None
        self._value: int | float | None = None
        self._bound: int | float | None = None

    def start(self) -> None:
        """The back end starts now."""
        self._watch = Stopwatch()
        self._running = self._options.started()

    def seconds_left(self) -> float | None:
        """What is left of the time limit since the back end started, 0 if nothing; None without a limit."""
        return self._running.seconds_left()

    def found(self, x: NDArray[Any] | None) -> None:
        """A point (R, N), or none, was found; it counts if it is feasible and better than those before."""
        if x is None or max(self.problem.violations(x).values()) > tolerance(self.problem, x):
            return
        value = self.problem.objective(x)
        if self._value is None or value < self._value:
            self._value, self.best = value, x
            self._add(x)

    def bounded(self, bound: float | None) -> None:
        """A lower bound on the objective was found."""
        if bound is not None and np.isfinite(bound) and (self._bound is None or bound > self._bound):
            self._bound = float(bound)
            self._add(None)

    def _add(self, x: NDArray[Any] | None) -> None:
        point = Observation(seconds=self._watch.seconds(), objective=self._value, bound=self._bound)
        self.trace.append(point)
        if self._observe is not None:
            self._observe(point, x)


class Adapter(ABC):
    """A solver on top of somebody's package; subclasses fill in the data and `run`.

    `package`: the distribution whose version counts; `modules`: what must be importable; `extra`: the extra
    of pgsr that installs them ("" if they come with pgsr); `most_entries`: regions x sizes beyond which it
    refuses; `accuracy`: relative error of its objective to expect where it solves relaxations.
    """

    name: str
    features: frozenset[Feature]
    package: ClassVar[str]
    modules: ClassVar[tuple[str, ...]]
    extra: ClassVar[str] = ""
    scale: ClassVar[int] = 0
    most_entries: ClassVar[int | None] = None
    accuracy: ClassVar[float] = 1e-6
    interruptible: ClassVar[bool] = False

    def availability(self) -> Availability:
        """Whether its packages are installed; if not, the command that installs them. Imports nothing."""
        missing = [name for name in self.modules if find_spec(name) is None]
        if not missing:
            return Availability(available=True)
        command = f"pip install 'pgsr[{self.extra}]'" if self.extra else f"pip install {self.package}"
        return Availability(available=False, reason=f"{missing[0]} is not installed: {command}")

    def version(self) -> str:
        """Version of the package that solves."""
        return installed(self.package)

    def check(self, problem: Problem) -> None:
        """Refuse missing features and sizes beyond what the back end takes."""
        refuse_unsupported(self, problem)
        if self.most_entries is not None and problem.target.size > self.most_entries:
            raise InputError(
                f"{problem.target.size} entries are more than the {self.most_entries} that it takes",
                f"solver {self.name}",
                "use a solver for larger problems, see `pgsr solvers`",
            )

    def solve(self, problem: Problem, options: SolveOptions) -> Solution:
        """Solve `problem`; everything that can be is recomputed. SolverFault if the back end breaks down."""
        self.check(problem)
        recorder = Recorder(problem, options)
        try:
            outcome = self.run(problem, options, recorder)
        except PgsrError:
            raise
        except Exception as error:
            raise broken_down(self, error) from error
        x = outcome.x
        if outcome.termination is not Termination.OPTIMAL:
            # At a limit a back end may hand over a worse point than it had shown before.
            recorder.found(x)
            x = x if recorder.best is None else recorder.best
        return assess(
            problem,
            x,
            solver=self.name,
            version=self.version(),
            termination=outcome.termination,
            raw_status=outcome.raw_status,
            build_s=outcome.build_s,
            solve_s=outcome.solve_s,
            claimed_bound=outcome.bound,
            options=options,
            multipliers=outcome.multipliers,
            trace=recorder.trace,
            details=outcome.details,
        )

    @abstractmethod
    def run(self, problem: Problem, options: SolveOptions, recorder: Recorder) -> Outcome:
        """State the problem, call the back end with `recorder.seconds_left()`, return what it says."""


def out_of_time(build_s: float) -> Outcome:
    """The outcome where building the model took all the time there was."""
    return Outcome(
        termination=Termination.TIME_LIMIT,
        raw_status="no time left after building",
        x=None,
        build_s=build_s,
        solve_s=0.0,
    )
