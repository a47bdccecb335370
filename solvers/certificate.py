"""Linear-time proof of optimality for Model 1, for anybody's solution, and honest solution records.

Model 1 (any separable convex loss, bounds on any region): a feasible table is optimal if and only if
no exchange of one unit between two leaves lowers the cost; if the cheapest exchange costs `m < 0`, the
optimum is at least `objective + m * total`. All of it is integer arithmetic. Relaxations get a bound by
Lagrange multipliers instead.
"""

from __future__ import annotations

import time
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgsr.models.problem import Problem
from pgsr.solvers.base import (
    Certificate,
    Exchange,
    PointStatus,
    Solution,
    SolveOptions,
    Termination,
    tolerance,
)

# Relative gap at which a continuous point counts as proven optimal.
RELAXED_GAP = 1e-6


def certify(problem: Problem, x: NDArray[Any], options: SolveOptions | None = None) -> Certificate:
    """Prove or refute that `x` (R, N) solves `problem`; linear time.

    Integer problems need an integer array; verdict and bound are exact for dyadic weights, and for all
    weights up to 2^18 entries; beyond that `optimal` is None unless an exchange exactly refutes it.
    Relaxations: True if `x` is within 1e-6 of a bound by multipliers (float64), False if an exchange
    clearly improves, else None. Model 2 has no such certificate: None for a feasible point. An infeasible
    point gets False without an exchange.
    """
    if problem.integer and not np.issubdtype(x.dtype, np.integer):
        return Certificate(optimal=False)
    if max(problem.violations(x).values()) > tolerance(problem, x):
        return Certificate(optimal=False)
    return _certify_feasible(problem, x, options or SolveOptions())


def _certify_feasible(problem: Problem, x: NDArray[Any], options: SolveOptions) -> Certificate:
    if problem.cumulative:
        return Certificate(optimal=None)
    from pgsr.solvers.native.cheapest import cheapest_exchange

    if not problem.integer:
        return _certify_relaxed(problem, x, options)
    found = cheapest_exchange(problem, x, options)
    if found.exact:
        better = found.change is not None and found.change < 0
        exchange = found.exchange() if better else None
        return _exactly(problem, x, found.change, exchange)
    from pgsr.solvers.native.exactsearch import MAX_ENTRIES, exact_search

    if problem.target.size <= MAX_ENTRIES:
        exact = exact_search(problem, x)
        return _exactly(problem, x, exact.cost, exact.exchange)
    if found.change is not None and found.change < 0:
        exchange = found.exchange()
        change = problem.exact_objective(exchange.apply(x)) - problem.exact_objective(x)
        if change < 0:
            return Certificate(optimal=False, exact=True, exchange=replace(exchange, change=float(change)))
    return Certificate(optimal=None)


def _exactly(
    problem: Problem, x: NDArray[Any], cost: Fraction | None, exchange: Exchange | None
) -> Certificate:
    """The verdict from the exact cost of the cheapest exchange (None: there is none)."""
    objective = problem.exact_objective(x)
    loss = max(Fraction(0), -cost) * problem.total if cost is not None else Fraction(0)
    bound = objective - loss
    if loss == 0:
        return Certificate(optimal=True, bound=_number(bound), exact=True)
    return Certificate(optimal=False, bound=_number(bound), exact=True, exchange=exchange)


def _number(value: Fraction) -> int | float:
    """An int if `value` is whole, else the nearest float."""
    return int(value) if value.denominator == 1 else float(value)


def _certify_relaxed(problem: Problem, x: NDArray[Any], options: SolveOptions) -> Certificate:
    from pgsr.solvers.native.cheapest import cheapest_exchange

    if problem.loss == "l1" and np.array_equal(x, np.rint(x)):
        # Whole data: an integer table attains the optimum of the relaxation, so the exact proof holds.
        return replace(_certify_feasible(problem.integers(), x.astype(np.int64), options), exchange=None)
    found = cheapest_exchange(problem, x, options)
    objective = float(problem.objective(x))
    bound = found.bound
    assert bound is not None
    bound = min(bound, objective)
    if objective - bound <= RELAXED_GAP * max(1.0, abs(objective)):
        return Certificate(optimal=True, bound=bound)
    # An exchange within rounding of zero refutes nothing: then the answer is not known.
    refuted = found.change is not None and -float(found.change) > 1e4 * rounding_error(problem, x)
    return Certificate(optimal=False if refuted else None, bound=bound)


def rounding_error(problem: Problem, x: NDArray[Any]) -> float:
    """About the float64 rounding of a sum of derivatives along two paths of the tree."""
    largest = float((problem.region_weights[:, None] * (1.0 + np.abs(x - problem.target))).max())
    return 4.0 * problem.level_start.size * float(np.finfo(np.float64).eps) * largest


def assess(
    problem: Problem,
    x: NDArray[Any] | None,
    *,
    solver: str,
    version: str,
    termination: Termination,
    raw_status: str,
    build_s: float,
    solve_s: float,
    claimed_bound: int | float | None = None,
    options: SolveOptions | None = None,
    proof: Certificate | None = None,
) -> Solution:
    """Build the honest record of a solve: everything that can be recomputed from the problem is.

    `claimed_bound` is used only where nothing is proven; `proof` is a certificate of this very `x`
    that the caller has just computed with `certify` (so that it is not computed twice).
    """
    if x is None:
        return Solution(
            problem=problem,
            solver=solver,
            version=version,
            termination=termination,
            point_status=PointStatus.NONE,
            raw_status=raw_status,
            x=None,
            objective=None,
            bound=claimed_bound,
            violations={},
            certificate=None,
            proof=None,
            build_s=build_s,
            solve_s=solve_s,
        )
    violations = problem.violations(x)
    feasible = max(violations.values()) <= tolerance(problem, x)
    if proof is None or not feasible:
        proof = certify(problem, x, options) if feasible else Certificate(optimal=False)
    bound = proof.bound if proof.bound is not None else claimed_bound
    return Solution(
        problem=problem,
        solver=solver,
        version=version,
        termination=termination,
        point_status=PointStatus.FEASIBLE if feasible else PointStatus.INFEASIBLE,
        raw_status=raw_status,
        x=x,
        objective=problem.objective(x),
        bound=bound,
        violations=violations,
        certificate=proof.optimal,
        proof=proof,
        build_s=build_s,
        solve_s=solve_s,
    )


class Stopwatch:
    """Seconds since it was made (wall clock)."""

    __slots__ = ("started",)

    def __init__(self) -> None:
        self.started = time.monotonic()

    def seconds(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self.started
