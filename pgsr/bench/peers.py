"""Stock solvers called with bare matrices, as yardsticks for the native algorithms and for `window`.

`piqp` solves the relaxation as a quadratic program; `highs` the linear program of unit segments in windows
of two units round the relaxation (for Model 1 exact: the constraint matrix is a network matrix). Run as
`python -m pgsr.bench.peers NAME INSTANCE`; prints one JSON object.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

import numpy as np

from pgsr.models.files import read_instance
from pgsr.models.problem import Float64, Problem
from pgsr.solvers.base import SolveOptions

REACH = 2


def piqp_relaxation(problem: Problem) -> tuple[float, Float64, str]:
    """Solve the relaxation with PIQP; returns seconds (hand-over and solve), the table, its status."""
    from pgsr.solvers.registry import get

    solution = get("piqp").solve(problem.relaxed(), SolveOptions())
    assert solution.x is not None
    return solution.solve_s, np.asarray(solution.x, dtype=np.float64), solution.raw_status


def highs_window(problem: Problem, around: Float64) -> tuple[float, Float64, float, str]:
    """Solve the linear program on windows floor - 2 .. ceil + 2 with HiGHS as it comes.

    Returns seconds (hand-over and solve), the table, the optimal value, the status.
    """
    from pgsr.models.forms.piecewise import Windows, piecewise_form
    from pgsr.solvers.adapters.adapter import Recorder
    from pgsr.solvers.adapters.highs_call import call_highs

    program = piecewise_form(problem.relaxed(), Windows.around(problem, around, REACH))
    options = SolveOptions()
    start = time.perf_counter()
    answer = call_highs(program, options, Recorder(problem, options), seconds=None)
    seconds = time.perf_counter() - start
    assert answer.z is not None
    assert answer.bound is not None
    return seconds, program.table(answer.z), answer.bound + program.constant, answer.status


def main(name: str, path: str) -> dict[str, Any]:
    """Run one yardstick, `piqp` or `highs`, on an instance; objective and violations are recomputed."""
    from pgsr.solvers.registry import select

    problem = read_instance(path).problem
    if name == "piqp":
        seconds, x, status = piqp_relaxation(problem)
        problem = problem.relaxed()
        value, fractional = problem.objective(x), None
        worst = max(problem.violations(x).values())
    else:
        relaxed = select(problem.relaxed()).solve(problem.relaxed(), SolveOptions())
        assert relaxed.x is not None
        seconds, x, value, status = highs_window(problem, np.asarray(relaxed.x, dtype=np.float64))
        whole = np.rint(x).astype(np.int64)
        fractional = int((np.abs(x - whole) > 1e-6).sum())
        if not fractional:
            value = problem.objective(whole)
        worst = max((problem.relaxed().violations(x) if fractional else problem.violations(whole)).values())
    return {
        "solver": name,
        "status": status,
        "seconds": seconds,
        "objective": value,
        "fractional": fractional,
        "worst_violation": worst,
    }


if __name__ == "__main__":
    sys.stdout.write(json.dumps(main(sys.argv[1], sys.argv[2])) + "\n")
