"""Model 2 from the taxi counts to a nation: what `cumulative` proves in its time, one process a case."""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from pgsr.bench.pages import Log, Row
from pgsr.bench.presets import generate, write
from pgsr.bench.process import run_python
from pgsr.bench.windows import frozen

CASES = ((0.001, 60.0), (0.01, 60.0), (0.1, 90.0), (1.0, 240.0))
"""Scales of the `us` preset, and seconds that a solve may take."""

GRACE_S = 300.0
"""Seconds a process may take beyond that, for reading and checking."""


def nation_rows(quick: bool, taxi: Path | None, log: Log) -> list[Row]:
    """One row a case: what `cumulative` proved within its limit, and when the gap fell below 0.01 %."""
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as folder:
        for scale, limit_s in ((0.0003, 20.0),) if quick else CASES:
            path = Path(folder) / f"us-{scale:g}"
            log(f"cumulative on us at scale {scale}: generating")
            write(generate("us", scale=scale, model="cumulative", seed=1), path)
            rows.append({"case": f"us {100 * scale:g} %", **_measured(path, limit_s, True, log)})
        if taxi is not None:
            from pgsr.models.files import write_instance

            path = Path(folder) / "taxi"
            write_instance(frozen(taxi), path)
            rows += [{"case": "taxi, frozen", **_measured(path, 60.0, highs, log)} for highs in (True, False)]
    return rows


def _measured(path: Path, limit_s: float, highs: bool, log: Log) -> Row:
    log(f"cumulative, {'with' if highs else 'without'} HiGHS: at most {limit_s:g} s")
    arguments = ["-m", "pgsr.bench.nation", str(path), str(limit_s), "highs" if highs else "alone"]
    run = run_python(arguments, limit_s + GRACE_S)
    return {"limit_s": limit_s, "highs": highs, "peak_gb": run.peak_gb, **(run.output or {})}


def solved(path: str, limit_s: float, highs: bool) -> Row:
    """Read an instance, solve it with `cumulative`; what the record says."""
    from pgsr.models.files import read_instance
    from pgsr.solvers.base import SolveOptions
    from pgsr.solvers.native.cumulative import CumulativeSolver

    tiny = generate("us", scale=1e-5, model="cumulative").instance().problem
    CumulativeSolver(highs=highs).solve(tiny, SolveOptions())  # loads what is compiled
    problem = read_instance(path).problem
    start = time.perf_counter()
    solution = CumulativeSolver(highs=highs).solve(problem, SolveOptions(time_limit_s=limit_s))
    details: dict[str, Any] = dict(solution.details)
    proof = solution.proof
    proven = None if proof is None or proof.bound is None else proof.bound
    assert solution.objective is not None
    gap = None if proven is None else solution.objective - proven
    return {
        "entries": int(problem.target.size),
        "seconds": solution.solve_s,
        "with_record_s": time.perf_counter() - start,
        "objective": solution.objective,
        "proven_bound": proven,
        "proven_gap": gap,
        "gap_percent": None if gap is None else 100.0 * float(gap) / max(1.0, float(solution.objective)),
        "s_to_gap_0.01_percent": next(
            (
                point.seconds
                for point in solution.trace
                if point.bound is not None
                and point.objective is not None
                and point.objective - point.bound <= 1e-4 * max(1.0, point.objective)
            ),
            None,
        ),
        "exact": proof is not None and proof.exact,
        "certificate": solution.certificate,
        "trusted_bound": solution.bound,
        "trusted_gap": solution.gap,
        "worst_violation": max(solution.violations.values()),
        "stage_s": details.get("seconds"),
    }


if __name__ == "__main__":
    sys.stdout.write(json.dumps(solved(sys.argv[1], float(sys.argv[2]), sys.argv[3] == "highs")) + "\n")
