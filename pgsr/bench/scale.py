"""Post-processing at scale: the `us` preset from 1 % to 100 %, read, solved, proven and written."""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
import time
from pathlib import Path

from pgsr.bench.pages import Log, Row
from pgsr.bench.presets import generate, write
from pgsr.bench.process import Run, run_python

SCALES = (0.01, 0.1, 1.0)
LIMIT_S = 600.0


def whole(path: str, out: str) -> Row:
    """Read an instance, solve it with `proximity`, write the solution; seconds of each part."""
    from pgsr.models.files import read_instance, write_solution
    from pgsr.solvers.base import SolveOptions
    from pgsr.solvers.registry import get

    start = time.perf_counter()
    instance = read_instance(path)
    read_s = time.perf_counter() - start
    solution = get("proximity").solve(instance.problem, SolveOptions())
    assert solution.x is not None
    solved_s = time.perf_counter() - start - read_s
    write_solution(solution.x, instance, out)
    return {
        "regions": instance.hierarchy.regions,
        "entries": int(instance.problem.target.size),
        "read_s": read_s,
        "solve_s": solution.solve_s,
        "solve_and_proof_s": solved_s,
        "write_s": time.perf_counter() - start - read_s - solved_s,
        "objective": solution.objective,
        "certificate": solution.certificate,
        "worst_violation": max(solution.violations.values()),
    }


def scale_rows(scales: tuple[float, ...], repeats: int, log: Log) -> list[Row]:
    """One row a scale: medians over `repeats` fresh processes; wall seconds and peak memory of the whole."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for scale in scales:
            path = Path(folder) / f"us-{scale}"
            log(f"us at scale {scale}: generating")
            start = time.perf_counter()
            write(generate("us", scale=scale, seed=1), path)
            generate_s = time.perf_counter() - start
            runs = []
            for repeat in range(repeats):
                log(f"us at scale {scale}: solve {repeat + 1} of {repeats}")
                out = Path(folder) / "solution.parquet"
                runs.append(run_python(["-m", "pgsr.bench.scale", str(path), str(out)], LIMIT_S))
            done = [run.output for run in runs if run.output is not None]
            row: Row = {"scale": scale, "generate_s": generate_s, "repeats": len(done)}
            row["wall_s"] = statistics.median(run.wall_s for run in runs)
            row["peak_gb"] = max(run.peak_gb for run in runs)
            for key in done[0] if done else ():
                values = [output[key] for output in done]
                row[key] = statistics.median(values) if key.endswith("_s") else values[0]
            rows.append(row)
    return rows


def peer_rows(scales: tuple[float, ...], repeats: int, limit_s: float, log: Log) -> list[Row]:
    """PIQP and HiGHS against `proximity` on growing `us` instances, each up to the first that it fails.

    `ratio` is the peer's seconds over ours on the same problem in the same run (hand-over and solve;
    ours includes the certificate); None where the peer did not finish within `limit_s`.
    """
    from pgsr.solvers.base import SolveOptions
    from pgsr.solvers.registry import get

    rows: list[Row] = []
    failed: set[str] = set()
    tiny = generate("us", scale=1e-5).instance().problem
    for problem in (tiny, tiny.relaxed()):  # compiles, or loads what is compiled
        get("proximity").solve(problem, SolveOptions())
    with tempfile.TemporaryDirectory() as folder:
        for scale in scales:
            path = Path(folder) / f"us-{scale}"
            generated = generate("us", scale=scale, seed=1)
            write(generated, path)
            problem = generated.instance().problem
            for peer, ours in (("piqp", problem.relaxed()), ("highs", problem)):
                if peer in failed:
                    continue
                log(f"{peer} on us at scale {scale}")
                runs: list[Run] = []
                while len(runs) < repeats and (not runs or runs[-1].output is not None):
                    runs.append(run_python(["-m", "pgsr.bench.peers", peer, str(path)], limit_s))
                times, solution = [], None
                for _ in range(repeats):
                    start = time.perf_counter()
                    solution = get("proximity").solve(ours, SolveOptions())
                    times.append(time.perf_counter() - start)
                assert solution is not None
                own_s = statistics.median(times)
                outputs = [run.output for run in runs if run.output is not None]
                seconds = (
                    statistics.median(o["seconds"] for o in outputs) if len(outputs) == repeats else None
                )
                if seconds is None:
                    failed.add(peer)
                rows.append(
                    {
                        "peer": peer,
                        "task": "relaxation" if peer == "piqp" else "integer optimum",
                        "regions": problem.regions,
                        "entries": int(problem.target.size),
                        "peer_s": seconds,
                        "proximity_s": own_s,
                        "ratio": None if seconds is None else seconds / own_s,
                        "peer_objective": outputs[0]["objective"] if outputs else None,
                        "proximity_objective": solution.objective,
                        "peak_gb": max(run.peak_gb for run in runs),
                        "limit_s": limit_s,
                    }
                )
    return rows


if __name__ == "__main__":
    sys.stdout.write(json.dumps(whole(sys.argv[1], sys.argv[2])) + "\n")
