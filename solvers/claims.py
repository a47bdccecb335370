"""What becomes of a solver's claims once its point has been recomputed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pgsr.models.problem import Problem
from pgsr.solvers.base import Certificate, Termination

# Relative difference within which a back end's floating-point objective and bound may differ.
SLACK = 1e-6


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """What is left of a claim: the termination, why it was refuted (empty: it was not), the usable bound."""

    termination: Termination
    refuted: str
    bound: int | float | None


def without_point(problem: Problem, claim: Termination) -> tuple[Termination, str]:
    """A claim that comes without a point: the termination that stands, and why the claim does not."""
    if claim is Termination.OPTIMAL:
        return Termination.NUMERICAL, "claims an optimum and gives no point"
    if claim is Termination.UNBOUNDED:
        return Termination.NUMERICAL, "claims to be unbounded, but no loss is negative"
    if claim is Termination.INFEASIBLE and always_feasible(problem):
        return Termination.NUMERICAL, "claims that there is no table, but there is one"
    return claim, ""


def always_feasible(problem: Problem) -> bool:
    """Whether a table is known to exist: the constructor's check of bounds is exact for Model 1 only."""
    return not problem.cumulative or (problem.lower is None and problem.upper is None)


def judge(
    problem: Problem,
    claim: Termination,
    violations: Mapping[str, int | float],
    objective: int | float,
    bound: int | float | None,
    proof: Certificate,
    feasible: bool,
    gap: float,
) -> Judgement:
    """Hold the claims that came with a point against what was recomputed from `problem`."""
    termination, refuted = claim, ""
    size = max(1.0, abs(float(objective)))
    if feasible and bound is not None and bound > objective:
        if bound > objective + SLACK * size:
            refuted = f"claims a bound of {bound:.10g}, above its own point's objective"
            bound = None
        else:
            bound = objective
    if claim is Termination.UNBOUNDED:
        refuted = "claims to be unbounded, but no loss is negative"
    elif claim is Termination.INFEASIBLE and (feasible or always_feasible(problem)):
        refuted = "claims that there is no table, but there is one"
    elif claim is Termination.OPTIMAL:
        if not feasible:
            worst = max(violations, key=lambda name: violations[name])
            refuted = f"claims an optimum at a point that violates {worst} by {violations[worst]:.3g}"
        elif proof.optimal is False and gap == 0:
            refuted = "claims an optimum, but its point is not optimal"
        elif bound is not None and objective - bound > (gap + SLACK) * size and proof.optimal is not True:
            refuted = "claims an optimum with a gap of its own"
    if refuted:
        termination = Termination.NUMERICAL
    return Judgement(termination=termination, refuted=refuted, bound=bound)
