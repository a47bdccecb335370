"""What every solver shares: options, statuses, solutions, the protocol.

A solution's objective, violations, gap and certificate are recomputed from the problem; nothing that
a back end says about its own point is taken over.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from pgsr.errors import InputError, SolverFault, one_line
from pgsr.models.problem import Feature, Problem

Progress = Callable[[str, float], None]
"""Called with the stage's name and the fraction of it that is done (0 to 1)."""


class Termination(Enum):
    """Why a solver stopped."""

    OPTIMAL = "optimal"
    """It claims an optimum of the stated problem."""
    INFEASIBLE = "infeasible"
    """It claims that no point exists."""
    UNBOUNDED = "unbounded"
    """It claims that the objective has no bound."""
    TIME_LIMIT = "time_limit"
    """The time limit was reached."""
    OTHER_LIMIT = "other_limit"
    """Another limit (iterations, memory, size) was reached."""
    NUMERICAL = "numerical"
    """Numerical trouble."""
    UNKNOWN = "unknown"
    """It did not say."""


class PointStatus(Enum):
    """What the returned point is, recomputed from the problem."""

    NONE = "none"
    """There is no point."""
    FEASIBLE = "feasible"
    """All violations are zero (integers), or below the tolerance (continuous)."""
    INFEASIBLE = "infeasible"
    """Some condition is violated."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """One point of the trace: what was known after `seconds`; objective and bound of the stated problem."""

    seconds: float
    objective: int | float | None = None
    bound: int | float | None = None


Observer = Callable[[Observation, "NDArray[Any] | None"], None]
"""Called with each observation and, if there is one, the table (R, N) that attains its objective."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SolveOptions:
    """Options of one solve.

    `time_limit_s` counts from the start of the back end; `threads` 0 means all cores available; `gap` is
    the relative gap at which a search may stop (0: prove it); `start` a table (R, N) to start from, which
    need not be feasible; `verbose` lets the back end write its log to standard output; `progress` is called
    now and then with (stage, fraction done), `observe` with each better point or bound. `stop_at`: the
    moment (`time.monotonic`) at which the process will be killed.
    """

    time_limit_s: float | None = None
    threads: int = 0
    seed: int = 0
    gap: float = 0.0
    start: NDArray[Any] | None = None
    verbose: bool = False
    progress: Progress | None = None
    observe: Observer | None = None
    stop_at: float | None = None

    def __post_init__(self) -> None:
        if self.time_limit_s is not None and not self.time_limit_s > 0:
            raise InputError("the time limit is not positive", "time limit", "give seconds above 0")
        if self.time_limit_s == float("inf"):
            raise InputError("the time limit is not finite", "time limit", "leave it out for none")
        if self.seed < 0:
            raise InputError("the seed is negative", "seed", "give 0, 1, 2, ...")
        if self.threads < 0:
            raise InputError("a negative number of threads", "threads", "give 0 for all cores, or 1, 2, ...")
        if self.threads > 4096:
            raise InputError("more threads than any machine has", "threads", "give 0 for all cores")
        if not 0 <= self.gap < 1:
            raise InputError("the gap is not in [0, 1)", "gap", "give 0 to have the optimum proven")

    def seconds_left(self) -> float | None:
        """What the back end may take if it starts now: the limit, or less if the process ends before.

        None without a limit; 0 if nothing is left.
        """
        if self.stop_at is None:
            return self.time_limit_s
        left = max(0.0, self.stop_at - time.monotonic() - MARGIN_S)
        return left if self.time_limit_s is None else min(left, self.time_limit_s)

    def started(self) -> SolveOptions:
        """The same options with the limit counted from now on, for solves in several parts."""
        if self.time_limit_s is None:
            return self
        end = time.monotonic() + self.time_limit_s + MARGIN_S
        return replace(self, stop_at=end if self.stop_at is None else min(end, self.stop_at))

    def cores(self) -> int:
        """The number of threads: as asked, or all cores that this process may use."""
        return self.threads or len(os.sched_getaffinity(0))


MARGIN_S = 0.3
"""Left between a back end's limit and the end of its process, to hand the point over."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Availability:
    """Whether a solver can run here and, if not, why and what to install."""

    available: bool
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """One unit moved: `raised` regions gain a unit of size `raised_size`, `lowered` ones lose one.

    Regions are rows, each path from the top down to a leaf; sizes are columns; `change` is the change
    of the objective, negative if the exchange improves.
    """

    raised: tuple[int, ...]
    raised_size: int
    lowered: tuple[int, ...]
    lowered_size: int
    change: float

    def apply(self, x: NDArray[Any]) -> NDArray[Any]:
        """Return a copy of `x` after the exchange."""
        out = x.copy()
        out[list(self.raised), self.raised_size] += 1
        out[list(self.lowered), self.lowered_size] -= 1
        return out


@dataclass(frozen=True, slots=True, kw_only=True)
class Certificate:
    """What could be proven about a point.

    `optimal`: True proven optimal, False proven not optimal (or not feasible), None not known.
    `bound`: a proven lower bound on the optimum, or None. `exact`: the proof is integer arithmetic;
    otherwise float64, for relaxations. `exchange`: an improving one if not optimal.
    """

    optimal: bool | None
    bound: int | float | None = None
    exact: bool = False
    exchange: Exchange | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Solution:
    """The outcome of one solve; make it with `pgsr.solvers.certificate.assess`.

    `x` (R, N) or None; `objective`, `violations`, `point_status`, `certificate` are recomputed from
    `problem`; `bound` is a proven lower bound on the optimum (or the back end's, if none is proven);
    `build_s`, `solve_s` in seconds. `termination` is what the solver said unless that is refuted: then it
    is `numerical`, and `refuted` says why. `trace`: objective and bound over time; `details`: what this
    solver alone has to say, as plain data. `multipliers`: those that prove the bound of Model 2, if the
    solver gave any: the rows up to the last inner region, N columns, for `multiplier_bound` or a file.
    """

    problem: Problem = field(repr=False)
    solver: str
    version: str
    termination: Termination
    point_status: PointStatus
    raw_status: str
    x: NDArray[Any] | None = field(repr=False)
    objective: int | float | None
    bound: int | float | None
    violations: Mapping[str, int | float]
    certificate: bool | None
    proof: Certificate | None
    build_s: float
    solve_s: float
    refuted: str = ""
    trace: tuple[Observation, ...] = field(default=(), repr=False)
    details: Mapping[str, Any] = field(default_factory=dict)
    multipliers: NDArray[np.float64] | None = field(default=None, repr=False)
    assessed: bool = field(default=False, repr=False)

    @property
    def gap(self) -> int | float | None:
        """`objective - bound`, or None if either is missing."""
        if self.objective is None or self.bound is None:
            return None
        return self.objective - self.bound

    @property
    def gap_relative(self) -> float | None:
        """`gap` over the objective (over 1 if the objective is smaller)."""
        gap = self.gap
        return None if gap is None or self.objective is None else float(gap) / max(1.0, abs(self.objective))

    def to_dict(self) -> dict[str, Any]:
        """Return the record that `pgsr solve --json` prints."""
        return {
            "solver": self.solver,
            "version": self.version,
            "model": "cumulative" if self.problem.cumulative else "hierarchical",
            "relaxed": not self.problem.integer,
            "termination": self.termination.value,
            "point_status": self.point_status.value,
            "raw_status": self.raw_status,
            "objective": self.objective,
            "bound": self.bound,
            "gap": self.gap,
            "gap_relative": self.gap_relative,
            "certificate": self.certificate,
            "violations": dict(self.violations),
            "build_s": self.build_s,
            "solve_s": self.solve_s,
            "refuted": self.refuted or None,
            "details": dict(self.details),
            "trace": [[point.seconds, point.objective, point.bound] for point in self.trace],
        }


class Solver(Protocol):
    """A solver: data about itself and one method.

    Four attributes are optional. `scale`: the number of entries up to which it is a good choice, and
    `preference`: who goes first among those whose scale covers a problem (both default 0; `registry.select`
    goes by them). `heuristic`: whether it gives a table and promises nothing, so that it is only used by name
    (default False). `interruptible`: whether `solve` keeps to its time limit and
    to Ctrl-C by itself, so that it needs no process of its own (default False).
    """

    name: str
    features: frozenset[Feature]

    def availability(self) -> Availability:
        """Whether it can run here."""
        ...

    def version(self) -> str:
        """Version of the code that solves."""
        ...

    def check(self, problem: Problem) -> None:
        """Raise InputError if it cannot take `problem`: features, size, numbers beyond its arithmetic."""
        ...

    def solve(self, problem: Problem, options: SolveOptions) -> Solution:
        """Solve a `problem` that `check` accepts."""
        ...


def refuse_unsupported(solver: Solver, problem: Problem) -> None:
    """Raise InputError naming the features that `solver` lacks for `problem`."""
    missing = sorted(f.value for f in problem.requires - solver.features)
    if missing:
        raise InputError(
            f"solver '{solver.name}' does not take {', '.join(missing)}",
            "solver",
            "see `pgsr solvers` for what each one takes",
        )


def broken_down(solver: Solver, error: BaseException) -> SolverFault:
    """The fault to raise `from` an exception of a back end: which solver, and what it said, in one line."""
    return SolverFault(f"solver '{solver.name}' broke down ({in_short(error)})")


def in_short(error: BaseException) -> str:
    """Type and message of an exception, in one line of at most 300 characters."""
    return one_line(f"{type(error).__name__}: {error}")[:300]


def tolerance(problem: Problem, x: NDArray[Any]) -> float:
    """Largest violation at which `x` counts as feasible: 0 for integers, else 1e-6, or 1e-13 of the total."""
    if np.issubdtype(x.dtype, np.integer):
        return 0.0
    return max(1e-6, 1e-13 * float(problem.total))
