"""Costs as 64-bit integers, for back ends that take nothing else, or a refusal naming the region at fault."""

from __future__ import annotations

import numpy as np

from pgsr.models.exact import dyadic_weights
from pgsr.models.forms.piecewise import Windows, value_ranges
from pgsr.models.problem import Float64, Int64, Problem, RegionError


def integer_weights(problem: Problem) -> tuple[Int64, float]:
    """Write the weights as `integers (R,) * unit` exactly: `unit` a power of 2, or the weight that all share.

    Costs in integers are then costs of the problem over `unit`. Raises RegionError for a weight that is no
    multiple of 2^-30 below 2^31: rounding it would solve another problem.
    """
    weights = problem.region_weights
    if np.all(weights == weights[0]):
        return np.ones(weights.size, dtype=np.int64), float(weights[0])
    exact = dyadic_weights(weights)
    if exact is not None:
        return exact[0], 2.0 ** -exact[1]
    fine = np.ldexp(weights, 30)
    odd = np.flatnonzero((weights >= 2.0**31) | (fine != np.rint(fine)))
    # Weights that are fine alone can be too far apart together: then the largest is named.
    row = int(odd[0]) if odd.size else int(np.argmax(weights))
    raise RegionError(
        f"the weight {weights[row]:.6g} cannot be written in integers",
        row,
        "give multiples of a power of 2 such as 0.25, or use another solver",
    )


def step_costs(problem: Problem, weights: Int64, places: Int64, values: Int64) -> Int64:
    """Integer cost of the step from `values` to `values + 1` at the entries `places` (`region * N + size`).

    `weights` (R,) as `integer_weights` gives them. Exact where `largest_steps` are below 2^62.
    """
    weight = weights[places // problem.width]
    gap = values - problem.target.ravel()[places]
    if problem.loss == "l2":
        return weight * (2 * gap + 1)
    return weight * np.where(gap >= 0, 1, -1)


def largest_steps(problem: Problem, weights: Int64 | Float64, low: Int64, high: Int64) -> Float64:
    """Largest absolute cost (R, N) of one step with `low <= value <= high`, in floats, rounded up.

    `weights` (R,).
    """
    weight = weights[:, None].astype(np.float64)
    if problem.loss == "l1":
        return np.broadcast_to(weight, problem.target.shape).copy()
    reach = np.maximum(np.abs(low - problem.target), np.abs(high - problem.target)).astype(np.float64)
    return np.asarray(weight * (2.0 * reach + 1.0) * (1 + 1e-9))


def unavoidable_steps(problem: Problem, weights: Int64 | Float64) -> Float64:
    """Absolute costs (R, N) of the allowed steps nearest to the target: no table avoids as much."""
    kink = kink_windows(problem).low
    return largest_steps(problem, weights, kink, kink)


def refuse_large(solver: str, costs: Float64, limit: float) -> None:
    """Raise RegionError naming the region of the largest of `costs` (R, N) if that is `limit` or more."""
    row, size = divmod(int(np.argmax(costs)), costs.shape[1])
    if costs[row, size] >= limit:
        raise RegionError(
            f"one unit of entry {size + 1} costs up to {costs[row, size]:.3g} here, and solver '{solver}' "
            f"counts exactly up to {limit:.3g} only",
            row,
            "use proximity, or scale weights and counts down",
        )


def refuse_large_sum(solver: str, costs: Float64, limit: float = 2.0**62) -> None:
    """Raise RegionError naming the region with most of `costs` (R, N) if they sum to `limit` or more."""
    total = float(costs.sum())
    if total >= limit:
        raise RegionError(
            f"costs may sum to {total:.3g}, most of it here, and solver '{solver}' computes in 64-bit "
            f"integers, with room for {limit:.3g}",
            int(np.argmax(costs.sum(axis=1))),
            "use proximity, or scale weights and counts down",
        )


def kink_windows(problem: Problem) -> Windows:
    """Windows of no width at the target: with tails they are exact for absolute values, in two pieces."""
    low, high = value_ranges(problem)
    kink = np.clip(problem.target, low, high)
    return Windows(low=kink, high=kink, domain_low=low, domain_high=high)
