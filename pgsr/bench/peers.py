"""Stock solvers on Model 1, called with bare matrices, as yardsticks for the native algorithms.

PIQP solves the relaxation as a quadratic program; HiGHS the integer problem as a linear program of unit
segments in a window round the relaxation (exact: the constraint matrix is a network matrix). Run as
`python -m pgsr.bench.peers NAME INSTANCE`; prints one JSON object.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

import numpy as np

from pgsr.models.files import read_instance
from pgsr.models.problem import Float64, Int64, Problem

_INFINITE = 1e30


def equalities(problem: Problem) -> tuple[Any, Float64]:
    """Sparse `(A, b)` of `A x = b` in the entries `x` (R*N, row by row): children add up, total."""
    from scipy import sparse

    width, entries = problem.width, problem.regions * problem.width
    rank = np.cumsum(problem.inner()) - 1
    sizes = np.arange(width)
    own = np.flatnonzero(problem.inner())
    below = np.arange(1, problem.regions)
    rows = [
        (rank[own][:, None] * width + sizes).ravel(),
        (rank[problem.parent[below]][:, None] * width + sizes).ravel(),
    ]
    columns = [(own[:, None] * width + sizes).ravel(), (below[:, None] * width + sizes).ravel()]
    values = [np.full(rows[0].size, -1.0), np.ones(rows[1].size)]
    last = own.size * width
    rows.append(np.full(width, last))
    columns.append(sizes)
    values.append(np.ones(width))
    matrix = sparse.csc_matrix(
        (np.concatenate(values), (np.concatenate(rows), np.concatenate(columns))), shape=(last + 1, entries)
    )
    right = np.zeros(last + 1)
    right[last] = problem.total
    return matrix, right


def piqp_relaxation(problem: Problem) -> tuple[float, Float64, str]:
    """Solve the relaxation with PIQP; returns seconds (hand-over and solve), the table, its status."""
    import piqp
    from scipy import sparse

    matrix, right = equalities(problem)
    weight = np.repeat(problem.region_weights, problem.width)
    cost = sparse.diags_array(2.0 * weight).tocsc()
    linear = -2.0 * weight * problem.target.ravel()
    start = time.perf_counter()
    solver = piqp.SparseSolver()
    solver.settings.check_duality_gap = True
    solver.settings.eps_duality_gap_rel = 1e-9
    solver.setup(sparse.csc_matrix(cost), linear, matrix, right, x_l=np.zeros(linear.size))
    status = solver.solve()
    seconds = time.perf_counter() - start
    return seconds, np.asarray(solver.result.x).reshape(problem.target.shape), str(status)


def highs_window(problem: Problem, around: Float64) -> tuple[float, Int64, str]:
    """Solve the integer problem with HiGHS as a linear program on windows floor - 2 .. floor + 3.

    Returns seconds (hand-over and solve), the table, the status.
    """
    import highspy
    from scipy import sparse

    base = np.maximum(np.floor(around).astype(np.int64) - 2, 0).ravel()
    weight = np.repeat(problem.region_weights, problem.width)
    y = problem.target.ravel()
    steps = np.arange(5)
    slopes = (weight[:, None] * (2.0 * (base[:, None] + steps - y[:, None]) + 1.0)).ravel()
    matrix, right = equalities(problem)
    segments = sparse.kron(matrix, np.ones((1, steps.size)), format="csc")
    right = right - matrix @ base
    model = highspy.HighsLp()
    model.num_col_, model.num_row_ = slopes.size, right.size
    model.col_cost_ = slopes
    model.col_lower_, model.col_upper_ = np.zeros(slopes.size), np.ones(slopes.size)
    model.row_lower_ = model.row_upper_ = right
    model.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    model.a_matrix_.start_, model.a_matrix_.index_ = segments.indptr, segments.indices
    model.a_matrix_.value_ = segments.data
    start = time.perf_counter()
    highs: Any = highspy.Highs()  # type: ignore[no-untyped-call]  # its stubs leave it untyped
    highs.setOptionValue("output_flag", False)
    highs.passModel(model)
    highs.run()
    seconds = time.perf_counter() - start
    point = np.asarray(highs.getSolution().col_value).reshape(-1, steps.size).sum(axis=1)
    x = base + np.rint(point).astype(np.int64)
    return seconds, x.reshape(problem.target.shape), str(highs.getModelStatus()).rpartition(".")[2]


def main(name: str, path: str) -> dict[str, Any]:
    """Run one yardstick, `piqp` or `highs`, on an instance; objective and violations are recomputed."""
    from pgsr.solvers.base import SolveOptions
    from pgsr.solvers.registry import get

    problem = read_instance(path).problem
    if name == "piqp":
        seconds, point, status = piqp_relaxation(problem)
        x: Float64 | Int64 = point
        problem = problem.relaxed()
    else:
        relaxed = get("proximity").solve(problem.relaxed(), SolveOptions())
        assert relaxed.x is not None
        seconds, x, status = highs_window(problem, relaxed.x)
    return {
        "solver": name,
        "status": status,
        "seconds": seconds,
        "objective": problem.objective(x),
        "worst_violation": max(problem.violations(x).values()),
    }


if __name__ == "__main__":
    sys.stdout.write(json.dumps(main(sys.argv[1], sys.argv[2])) + "\n")
