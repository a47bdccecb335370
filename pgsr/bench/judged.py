"""What a table is worth, from the problem and the truth alone: the columns that every method gets alike."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgsr.bench.methods_cases import errors
from pgsr.bench.pages import Row
from pgsr.counts import GroupSizes
from pgsr.levelorder import region_chunks, sum_children
from pgsr.models.problem import Problem
from pgsr.solvers.base import tolerance

Float64 = NDArray[np.float64]


def about(problem: Problem) -> Row:
    """Size and model of a problem."""
    return {
        "model": "cumulative" if problem.cumulative else "hierarchical",
        "levels": len(problem.level_start) - 1,
        "regions": problem.regions,
        "sizes": problem.width,
        "entries": problem.regions * problem.width,
    }


def conditions(problem: Problem, x: NDArray[Any]) -> Row:
    """How far the table x (R, N) is from a table that can be published, for integers and real numbers.

    Real numbers count as broken, negative or fractional beyond the tolerance of a feasible point. Sums are
    those of the cells of x itself (cumulative counts in Model 2), negative cells those of counts by size.
    """
    slack = tolerance(problem, x)
    broken, sums, worst = 0, 0, 0.0
    for first, last in region_chunks(problem.child_start):
        inner = problem.child_start[first + 1 : last + 1] > problem.child_start[first:last]
        gap = np.abs(x[first:last] - sum_children(problem.child_start, x, first, last))[inner]
        broken += int((gap > slack).sum())
        sums += gap.size
        worst = max(worst, float(gap.max(initial=0)))
    counts = counts_by_size(problem, x)
    return {
        "broken_sums": broken,
        "sums": sums,
        "worst_sum": worst,
        "negative": int((counts < -slack).sum()),
        "fractional": int((np.abs(x - np.rint(x)) > slack).sum()),
        "total_off": float(problem.violations(x)["faithfulness"]),
    }


def counts_by_size(problem: Problem, x: NDArray[Any]) -> NDArray[Any]:
    """The counts by size of a table, which is cumulative in Model 2."""
    return np.diff(x, axis=1, prepend=0) if problem.cumulative else x


def against_truth(problem: Problem, x: NDArray[Any], truth: GroupSizes | None) -> Row:
    """Distances and bias by level, the root's first; nothing without a truth."""
    if truth is None:
        return {}
    counts = counts_by_size(problem, x)
    found: Row = dict(errors(truth, counts))
    found["l1_noisy"] = errors(truth, counts_by_size(problem, problem.target))["l1"]
    starts = truth.hierarchy.level_start[:-1]
    gap = (counts - truth.counts).astype(np.float64)
    for name, cells in (("bias_zero", truth.counts == 0), ("bias_positive", truth.counts > 0)):
        total = np.add.reduceat(np.where(cells, gap, 0.0).sum(axis=1), starts)
        number = np.add.reduceat(cells.sum(axis=1), starts)
        means = np.divide(total, number, out=np.full(len(starts), np.nan), where=number > 0)
        found[name] = [float(mean) if number else None for mean, number in zip(means, number, strict=True)]
    return found


def point_status(problem: Problem, x: NDArray[Any]) -> str:
    """Whether a table keeps the conditions of a problem: "feasible" or "infeasible", within the tolerance."""
    worst = max(problem.violations(x).values())
    return "infeasible" if worst > tolerance(problem, x) else "feasible"


def stated_bound(bound: float | None, objective: float | None) -> float | None:
    """A lower bound as it stands in a row: None if it says no more than that no loss is below 0.

    An objective of 0 has the bound 0, whatever was proven.
    """
    if objective == 0 and bound is not None:
        return max(0.0, float(bound))
    return None if bound is None or bound <= 0 else float(bound)


def judged(problem: Problem, x: NDArray[Any], truth: GroupSizes | None) -> Row:
    """Objective, violations, distances of the table x for a problem in integers."""
    objective = problem.objective(x)
    whole = isinstance(objective, int)
    return {
        "objective": float(objective),
        "objective_exact": str(objective) if whole else None,
        **conditions(problem, x),
        **against_truth(problem, x, truth),
    }
