"""Linear-time proof of optimality for Model 1, for anybody's solution, and honest solution records.

Model 1 (any separable convex loss, bounds on any region): a feasible table is optimal if and only if
no exchange of one unit between two leaves lowers the cost; if the cheapest exchange costs `m < 0`, the
optimum is at least `objective + m * total`. For squares and absolute values on integers with dyadic
weights all of it is integer arithmetic.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgsr.models.problem import Problem
from pgsr.solvers.base import Certificate, PointStatus, Solution, SolveOptions, Termination, tolerance

# Relative gap at which a continuous point counts as proven optimal.
RELAXED_GAP = 1e-6

# Multiple of the rounding error of a marginal cost beyond which it refutes a continuous optimum.
_CLEARLY = 1e4


def certify(problem: Problem, x: NDArray[Any], options: SolveOptions | None = None) -> Certificate:
    """Prove or refute that `x` (R, N) solves `problem`; linear time.

    Integer problems need an integer array. Model 2 has no such certificate: `optimal` is None there
    for a feasible point. An infeasible point gets False without an exchange.
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

    found = cheapest_exchange(problem, x, options)
    objective = problem.objective(x)
    loss = max(0.0, -found.cost) * problem.total
    bound: int | float = objective - loss if loss else objective
    if isinstance(objective, int) and found.exact and problem.integer:
        bound = objective - -(-max(0, -found.numerator) * problem.total // found.denominator)
    if problem.integer:
        optimal = bool(found.cost >= -found.error)
        return Certificate(
            optimal=optimal, bound=bound, exact=found.exact, exchange=None if optimal else found.exchange()
        )
    proven = loss <= RELAXED_GAP * max(1.0, float(objective))
    # An exchange within rounding of zero refutes nothing: then the answer is not known.
    refuted = -found.cost > _CLEARLY * found.error
    return Certificate(optimal=True if proven else False if refuted else None, bound=bound)


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
