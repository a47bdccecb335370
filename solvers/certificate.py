"""Linear-time proof of optimality for Model 1, for anybody's solution, and honest solution records.

Model 1 (any separable convex loss, bounds on any region): a feasible table is optimal if and only if
no exchange of one unit between two leaves lowers the cost; if the cheapest exchange costs `m < 0`, the
optimum is at least `objective + m * total`. All of it is integer arithmetic. Relaxations get a bound by
Lagrange multipliers instead.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgsr.models.problem import Float64, Problem
from pgsr.solvers.base import (
    Certificate,
    Exchange,
    Observation,
    PointStatus,
    Solution,
    SolveOptions,
    Termination,
    tolerance,
)
from pgsr.solvers.claims import judge, without_point


def certify(
    problem: Problem,
    x: NDArray[Any],
    options: SolveOptions | None = None,
    multipliers: NDArray[np.float64] | None = None,
) -> Certificate:
    """Prove or refute that `x` (R, N) solves `problem`; linear time.

    Integer problems need an integer array; verdict and bound are exact for dyadic weights, and for all
    weights up to 2^18 entries; beyond that `optimal` is None unless an exchange exactly refutes it.
    Relaxations: True if `x` is within 1e-6 of a bound by multipliers (float64), False if an exchange
    clearly improves, else None. Model 2: True if `multipliers` (R, N) on "parent = sum of children" prove a
    bound as high as the objective, else None. An infeasible point gets False without an exchange.
    """
    if problem.integer and not np.issubdtype(x.dtype, np.integer):
        return Certificate(optimal=False)
    if max(problem.violations(x).values()) > tolerance(problem, x):
        return Certificate(optimal=False)
    if problem.cumulative:
        if multipliers is None:
            return Certificate(optimal=None)
        from pgsr.solvers.native.duality import cumulative_certificate

        return cumulative_certificate(problem, x, multipliers)
    return _certify_feasible(problem, x, options or SolveOptions())


def _certify_feasible(problem: Problem, x: NDArray[Any], options: SolveOptions) -> Certificate:
    from pgsr.solvers.native.cheapest import cheapest_exchange

    if not problem.integer:
        if problem.loss == "l1" and np.array_equal(x, np.rint(x)):
            # Whole data: an integer table attains the optimum of the relaxation, so the exact proof holds.
            return replace(_certify_feasible(problem.integers(), x.astype(np.int64), options), exchange=None)
        from pgsr.solvers.relaxedproof import relaxed_certificate

        return relaxed_certificate(problem, x, options)
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
    multipliers: NDArray[np.float64] | None = None,
    trace: Sequence[Observation] = (),
    details: Mapping[str, Any] | None = None,
) -> Solution:
    """Build the honest record of a solve: everything that can be recomputed from the problem is.

    `claimed_bound` is used only where nothing is proven, and not if it exceeds the objective of a feasible
    point; `proof` is a certificate of this very `x` that the caller has just computed with `certify` (so
    that it is not computed twice). `multipliers` (R, N), or the rows up to the last inner region, on "parent
    = sum of children" prove a bound for Model 2; the record keeps them. A claim of optimality or
    infeasibility that the problem refutes becomes `numerical`.
    """
    common: dict[str, Any] = {
        "problem": problem,
        "solver": solver,
        "version": version,
        "raw_status": raw_status,
        "build_s": build_s,
        "solve_s": solve_s,
        "trace": tuple(trace),
        "details": dict(details or {}),
        "multipliers": _kept(problem, multipliers),
        "assessed": True,
    }
    if claimed_bound is not None and not math.isfinite(claimed_bound):
        claimed_bound = None
    if x is None:
        termination, refuted = without_point(problem, termination)
        return Solution(
            termination=termination,
            refuted=refuted,
            point_status=PointStatus.NONE,
            x=None,
            objective=None,
            bound=claimed_bound,
            violations={},
            certificate=None,
            proof=None,
            **common,
        )
    violations = problem.violations(x)
    feasible = max(violations.values()) <= tolerance(problem, x)
    if proof is None or not feasible:
        proof = certify(problem, x, options, multipliers) if feasible else Certificate(optimal=False)
    objective = problem.objective(x)
    gap_allowed = 0.0 if options is None else options.gap
    judged = judge(problem, termination, violations, objective, claimed_bound, proof, feasible, gap_allowed)
    bound = _best_bound(proof, judged.bound)
    return Solution(
        termination=judged.termination,
        refuted=judged.refuted,
        point_status=PointStatus.FEASIBLE if feasible else PointStatus.INFEASIBLE,
        x=x,
        objective=objective,
        bound=bound,
        violations=violations,
        certificate=proof.optimal,
        proof=proof,
        **common,
    )


def _best_bound(proof: Certificate, claimed: int | float | None) -> int | float | None:
    """The proven bound, or the claimed one where that is better and nothing is proven; no loss is below 0."""
    if proof.optimal is True or claimed is None:
        return None if proof.bound is None else max(0, proof.bound)
    return max(0, claimed) if proof.bound is None else max(0, claimed, proof.bound)


def reassessed(solution: Solution, options: SolveOptions | None = None) -> Solution:
    """The record with everything recomputed, whoever made it."""
    return assess(
        solution.problem,
        solution.x,
        solver=solution.solver,
        version=solution.version,
        termination=solution.termination,
        raw_status=solution.raw_status,
        build_s=solution.build_s,
        solve_s=solution.solve_s,
        claimed_bound=solution.bound,
        options=options,
        multipliers=solution.multipliers,
        trace=solution.trace,
        details=solution.details,
    )


def _kept(problem: Problem, multipliers: Float64 | None) -> Float64 | None:
    """Multipliers of the rows up to the last inner region; None for Model 1."""
    if multipliers is None or not problem.cumulative:
        return None
    from pgsr.solvers.native.schedule import inner_rows

    rows = inner_rows(problem)
    # A copy, so that the rows of leaves are let go.
    return multipliers if len(multipliers) <= rows else multipliers[:rows].copy()


class Stopwatch:
    """Seconds since it was made (wall clock)."""

    __slots__ = ("started",)

    def __init__(self) -> None:
        self.started = time.monotonic()

    def seconds(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self.started
