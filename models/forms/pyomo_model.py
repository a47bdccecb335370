"""The problem as an algebraic model of Pyomo, in three forms that have the same optimum.

`x` is the table, and all forms share its conditions; they differ in how the loss is stated. `qp`: the
weighted sum of squares in the objective. `epigraph`: one variable above each square, which solvers of
integer quadratic programs prefer to one long sum. `piecewise`: unit segments, a linear program.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from pgsr.errors import InputError
from pgsr.models.forms.matrix import constraint_rows, own_bounds
from pgsr.models.forms.piecewise import Windows, ranks, segment_cost
from pgsr.models.problem import Float64, Int64, Problem

Form = Literal["qp", "epigraph", "piecewise"]


def pyomo_model(
    problem: Problem,
    *,
    form: Form = "qp",
    windows: Windows | None = None,
    tails: bool = False,
    origin: Int64 | None = None,
) -> Any:
    """The problem as a `ConcreteModel`.

    Sets `regions` (rows), `sizes` (places), `inner`; variable `x[region, size]`; constraints
    `consistency[region, size]` (sum of children - parent), `total`, `monotone[region, size]` (Model 2);
    objective `loss`. With `origin` (R, N) `x` is the difference from that table, which keeps numbers small;
    `pyomo_table` gives the table. Absolute values are `excess` and `shortfall` in forms qp and epigraph.
    Piecewise: `windows` (default: all that is allowed) and `tails` as in `piecewise_form`; `step[region,
    size, value]` goes from `value` to `value + 1`, and the objective equals the loss at whole tables. Only
    `x` is integer, since steps are taken in order of their costs. Entries of weight 0 have no part in the
    loss. Raises InputError for an unknown form. [Fioretto2021] Models 1 and 2.
    """
    import pyomo.environ as pyo
    from pyomo.common.gc_manager import PauseGC

    if form not in ("qp", "epigraph", "piecewise"):
        raise InputError(f"unknown form '{form}'", "form", "use qp, epigraph or piecewise")
    start = np.zeros_like(problem.target) if origin is None else origin
    if form != "piecewise":
        windows = None
    elif windows is None:
        windows = Windows.whole(problem)
    low, high = own_bounds(problem)
    if windows is not None and not tails:
        low, high = np.maximum(low, windows.low), np.minimum(high, windows.high)
    model: Any = pyo.ConcreteModel()
    model.problem, model.origin, model.centred = problem, start, origin is None
    model.regions = pyo.RangeSet(0, problem.regions - 1)
    model.sizes = pyo.RangeSet(0, problem.width - 1)
    floor, ceiling = (low - start).tolist(), (high - start).tolist()
    model.x = pyo.Var(
        model.regions,
        model.sizes,
        domain=pyo.Integers if problem.integer else pyo.Reals,
        bounds=lambda _, r, s: (floor[r][s], ceiling[r][s]),
    )
    entries = list(model.x.values())
    with PauseGC():  # a million small objects, none of them garbage
        _conditions(model, entries)
        if windows is not None:
            _segments(model, entries, windows, tails)
        elif problem.loss == "l1":
            _absolute(model, entries)
        else:
            _squares(model, entries, epigraph=form == "epigraph")
    return model


def pyomo_table(model: Any) -> NDArray[Any]:
    """The table (R, N) at the values of a model's `x`: int64, rounded, for integer problems, else float64."""
    values = np.array([v.value for v in model.x.values()], dtype=np.float64).reshape(model.origin.shape)
    return moved_table(model, values)


def moved_table(model: Any, values: Float64) -> NDArray[Any]:
    """The table (R, N) at `values` (R, N) of `x`, by adding the model's origin."""
    if not model.problem.integer:
        return np.asarray(model.origin + values)
    # Rounded before the origin is added, which may be large.
    whole = np.rint(np.nan_to_num(values, posinf=2.0**53, neginf=-(2.0**53)))
    return np.asarray(model.origin + whole.astype(np.int64))


def _conditions(model: Any, entries: Sequence[Any]) -> None:
    """Tree, total and monotony, from the same rows as the matrix form."""
    import pyomo.environ as pyo

    problem: Problem = model.problem
    width = problem.width
    inner = np.flatnonzero(problem.inner()).tolist()
    matrix, low, _ = constraint_rows(problem)
    right = (low - matrix @ model.origin.ravel().astype(np.float64)).tolist()
    # Constraints are made in the order of the rows.
    rows = zip(_linear(matrix, entries), right, strict=True)

    def equal(_: Any, *__: int) -> Any:
        body, value = next(rows)
        return value, body, value

    def at_least(_: Any, *__: int) -> Any:
        body, value = next(rows)
        return value, body, None

    model.inner = pyo.Set(initialize=inner)
    model.consistency = pyo.Constraint(model.inner, model.sizes, rule=equal)
    model.total = pyo.Constraint(rule=equal)
    if problem.cumulative and width > 1:
        model.later = pyo.RangeSet(1, width - 1)
        model.monotone = pyo.Constraint(model.regions, model.later, rule=at_least)


def _linear(matrix: Any, variables: Sequence[Any]) -> Iterator[Any]:
    """One linear expression for each row of a sparse matrix."""
    from pyomo.core.expr.numeric_expr import LinearExpression

    rows = matrix.tocsr()
    ends, places, values = rows.indptr.tolist(), rows.indices.tolist(), rows.data.tolist()
    for first, last in pairwise(ends):
        yield LinearExpression(
            constant=0.0,
            linear_coefs=values[first:last],
            linear_vars=[variables[place] for place in places[first:last]],
        )


def _priced(problem: Problem) -> list[tuple[int, int]]:
    """Entries (region, size) whose weight is not 0."""
    return [(r, s) for r in np.flatnonzero(problem.region_weights).tolist() for s in range(problem.width)]


def _cost(coefficients: list[float], variables: list[Any], constant: float = 0.0) -> Any:
    """A linear objective to be minimised."""
    import pyomo.environ as pyo
    from pyomo.core.expr.numeric_expr import LinearExpression

    return pyo.Objective(
        expr=LinearExpression(constant=constant, linear_coefs=coefficients, linear_vars=variables)
    )


def _squares(model: Any, entries: Sequence[Any], *, epigraph: bool) -> None:
    """Squared deviations: in the objective, or each under a variable of its own."""
    import pyomo.environ as pyo

    problem: Problem = model.problem
    priced, width = _priced(problem), problem.width
    weight = problem.region_weights.tolist()
    goal = (problem.target - model.origin).tolist()

    if not epigraph:
        model.loss = pyo.Objective(
            expr=pyo.quicksum(weight[r] * (entries[r * width + s] - goal[r][s]) ** 2 for r, s in priced)
        )
        return
    model.priced = pyo.Set(initialize=priced, dimen=2)
    model.square = pyo.Var(model.priced, domain=pyo.NonNegativeReals)

    def above(m: Any, r: int, s: int) -> Any:
        return m.square[r, s] >= (entries[r * width + s] - (goal[r][s] if model.centred else 0)) ** 2

    model.above = pyo.Constraint(model.priced, rule=above)
    factors, variables = [weight[r] for r, _ in priced], list(model.square.values())
    # Where x counts from a table near the optimum, (x - g)^2 = x^2 - 2 g x + g^2: only x^2, which is small
    # there, suffers from tolerances.
    away = [] if model.centred else [(r, s) for r, s in priced if goal[r][s]]
    factors += [-2.0 * weight[r] * goal[r][s] for r, s in away]
    variables += [entries[r * width + s] for r, s in away]
    model.loss = _cost(factors, variables, float(sum(weight[r] * goal[r][s] * goal[r][s] for r, s in away)))


def _absolute(model: Any, entries: Sequence[Any]) -> None:
    """Absolute deviations: `x - excess + shortfall = target`."""
    import pyomo.environ as pyo
    from pyomo.core.expr.numeric_expr import LinearExpression

    problem: Problem = model.problem
    priced, width = _priced(problem), problem.width
    weight = problem.region_weights.tolist()
    goal = (problem.target - model.origin).tolist()
    model.priced = pyo.Set(initialize=priced, dimen=2)
    model.excess = pyo.Var(model.priced, domain=pyo.NonNegativeReals)
    model.shortfall = pyo.Var(model.priced, domain=pyo.NonNegativeReals)

    def deviation(m: Any, r: int, s: int) -> Any:
        parts = [entries[r * width + s], m.excess[r, s], m.shortfall[r, s]]
        body = LinearExpression(constant=0.0, linear_coefs=[1.0, -1.0, 1.0], linear_vars=parts)
        return goal[r][s], body, goal[r][s]

    model.deviation = pyo.Constraint(model.priced, rule=deviation)
    model.loss = _cost(
        [weight[r] for r, _ in priced] * 2, [*model.excess.values(), *model.shortfall.values()]
    )


def _segments(model: Any, entries: Sequence[Any], windows: Windows, tails: bool) -> None:
    """Any loss by unit segments: `x = low + steps + up - down`."""
    import pyomo.environ as pyo
    from pyomo.core.expr.numeric_expr import LinearExpression

    problem: Problem = model.problem
    width = problem.width
    priced = np.repeat(problem.region_weights > 0, width)
    low, high = windows.low.ravel(), windows.high.ravel()
    count = np.where(priced, high - low, 0)
    place = np.repeat(np.arange(low.size), count)
    value = ranks(count) + np.repeat(low, count)
    cost = segment_cost(problem, place, value).tolist()
    keys = list(zip((place // width).tolist(), (place % width).tolist(), value.tolist(), strict=True))
    model.steps = pyo.Set(initialize=keys, dimen=3)
    model.step = pyo.Var(model.steps, bounds=(0.0, 1.0))
    parts: dict[int, list[Any]] = {p: [entries[p]] for p in np.flatnonzero(priced).tolist()}
    signs: dict[int, list[float]] = {p: [-1.0] for p in parts}
    variables = list(model.step.values())
    for p, step in zip(place.tolist(), variables, strict=True):
        parts[p].append(step)
        signs[p].append(1.0)
    if tails:
        below, above = (np.flatnonzero(mask.ravel() & priced) for mask in windows.artificial())
        for name, places, first, sign in (("down", below, low - 1, -1.0), ("up", above, high, 1.0)):
            where = [(p // width, p % width) for p in places.tolist()]
            tail = pyo.Var(pyo.Set(initialize=where, dimen=2), domain=pyo.NonNegativeReals)
            model.add_component(name, tail)
            cost += (sign * segment_cost(problem, places, first[places])).tolist()
            for p, step in zip(places.tolist(), tail.values(), strict=True):
                variables.append(step)
                parts[p].append(step)
                signs[p].append(sign)
    offset = (model.origin - windows.low).ravel().astype(np.float64).tolist()

    def climb(_: Any, r: int, s: int) -> Any:
        p = r * width + s
        body = LinearExpression(constant=0.0, linear_coefs=signs[p], linear_vars=parts[p])
        return offset[p], body, offset[p]

    model.priced = pyo.Set(initialize=_priced(problem), dimen=2)
    model.climb = pyo.Constraint(model.priced, rule=climb)
    model.loss = _cost(cost, variables, float(problem.objective(windows.low)))
