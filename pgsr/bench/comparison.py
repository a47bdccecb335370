"""All solvers on the same growing problems: Models 1 and 2, integers and relaxations.

`python -m pgsr.bench.comparison --out DIR [--quick] [--limit S] [--docs docs/solvers.md]` runs every
available solver on the instances that its `check` takes, each in a fresh process that is killed after the
limit. Results go to `DIR/comparison.jsonl` as they come (finished ones are not run again), then to
`DIR/comparison.md`.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from pgsr.bench.comparison_one import GRACE_S, one_or_fault
from pgsr.bench.comparison_tables import KINDS, comparison, features, seconds
from pgsr.bench.pages import Journal, Log, Row, finished, here_and_now, log, renew, write_text
from pgsr.bench.presets import generate, write
from pgsr.bench.process import run_python
from pgsr.errors import InputError, SolverFault
from pgsr.models.problem import Problem
from pgsr.solvers.base import Solver
from pgsr.solvers.registry import get, names

HOPELESS = 2.0
"""A size is not tried if the time at the size before, grown in proportion, is this many limits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """Roughly `entries` regions x sizes: a preset at a scale with `sizes` sizes (None: its own)."""

    entries: int
    preset: str
    scale: float
    sizes: int | None = None


SIZES = (
    # The smallest `us` tree has 256 regions.
    Size(entries=100, preset="uniform", scale=0.008, sizes=7),
    Size(entries=1_000, preset="us", scale=1e-6, sizes=4),
    Size(entries=10_000, preset="us", scale=1.1e-4),
    Size(entries=100_000, preset="us", scale=0.0012),
    Size(entries=1_000_000, preset="us", scale=0.0125),
)
SEED = 1


def usable(chosen: Sequence[str] | None = None) -> tuple[list[Solver], dict[str, str]]:
    """Solvers that can run here, and why the others cannot."""
    solvers, left_out = [], {}
    for name in names() if chosen is None else chosen:
        try:
            solver = get(name)
        except SolverFault:
            left_out[name] = "cannot be loaded"
            continue
        available = solver.availability()
        if available.available:
            solvers.append(solver)
        else:
            left_out[name] = available.reason
    return solvers, left_out


def compare(
    out: Path,
    solvers: Sequence[Solver],
    *,
    sizes: Sequence[Size] = SIZES,
    kinds: Sequence[str] = tuple(KINDS),
    limit_s: float = 60.0,
    jobs: int = 1,
    log: Log,
) -> list[Row]:
    """Run what has not been run yet in the folder `out`, and return all rows for this limit.

    A solver that did not come to an end at a size is not tried on larger ones of the same kind. `jobs`
    processes run at a time: with more than 1 the times say little.
    """
    file = out / "comparison.jsonl"
    rows = [row for row in finished(file) if row["limit_s"] == limit_s]
    known = {(row["solver"], row["kind"], row["size"]) for row in rows}
    asked = {(solver.name, kind, size.entries) for solver in solvers for kind in kinds for size in sizes}
    journal = Journal(file, len(asked - known), log)

    def keep(row: Row, said: str = "") -> None:
        rows.append(row)
        journal.keep(row, said)

    with tempfile.TemporaryDirectory() as folder:
        for size in sizes:
            tasks = []
            for kind in kinds:
                fresh = [s for s in solvers if (s.name, kind, size.entries) not in known]
                if not fresh:
                    continue
                instance = Path(folder) / f"{KINDS[kind][0]}-{size.entries}"
                problem = _instance(instance, size, kind)
                for solver in fresh:
                    row = _row(solver, problem, kind, size, limit_s)
                    row |= _without_run(solver, problem, rows, row)
                    if "outcome" in row:
                        keep(row)
                    else:
                        tasks.append((row, instance))
            for row in _all_run(tasks, jobs):
                keep(row, _said(row))
    return rows


def _row(solver: Solver, problem: Problem, kind: str, size: Size, limit_s: float) -> Row:
    """What is known before the run."""
    return {
        "solver": solver.name,
        "native": type(solver).__module__.startswith("pgsr.solvers.native."),
        "kind": kind,
        "size": size.entries,
        "entries": int(problem.target.size),
        "regions": problem.regions,
        "limit_s": limit_s,
    }


def _all_run(tasks: Sequence[tuple[Row, Path]], jobs: int) -> Iterator[Row]:
    """The rows with what came of them, as they come."""
    pool = ThreadPoolExecutor(jobs)
    try:
        yield from pool.map(lambda task: task[0] | _run(*task), tasks)
    finally:
        pool.shutdown(cancel_futures=True)


def _said(row: Row) -> str:
    what = row["termination"] if row["outcome"] == "ran" else row["outcome"]
    took = f" in {seconds(row):.2g} s" if row["outcome"] == "ran" else ""
    return f"{row['solver']}, {row['kind']}, {row['entries']:,} entries: {what}{took}"


def _instance(path: Path, size: Size, kind: str) -> Problem:
    """The problem of an instance, which is written to `path` if it is not there yet."""
    from pgsr.models.files import read_instance

    model, relaxed = KINDS[kind]
    if not path.exists():
        write(generate(size.preset, model=model, scale=size.scale, sizes=size.sizes, seed=SEED), path)
    problem = read_instance(path).problem
    return problem.relaxed() if relaxed else problem


def _without_run(solver: Solver, problem: Problem, rows: Sequence[Row], row: Row) -> Row:
    """The outcome if nothing has to run for it: refused, or hopeless after what it did on smaller sizes."""
    try:
        solver.check(problem)
    except InputError as error:
        missing = sorted(feature.value for feature in problem.requires - solver.features)
        return {"outcome": "lacks" if missing else "refused", "reason": str(error)}
    before = [r for r in rows if (r["solver"], r["kind"]) == (row["solver"], row["kind"])]
    for earlier in before:
        if earlier["size"] >= row["size"]:
            continue
        if earlier["outcome"] in ("killed", "fault", "beyond") or _stopped(earlier):
            return {"outcome": "beyond", "reason": f"{earlier['outcome']} at {earlier['entries']:,} entries"}
        growth = row["entries"] / earlier["entries"]
        # Short runs are start-up, and say nothing about growth.
        long = earlier["outcome"] == "ran" and seconds(earlier) > row["limit_s"] / 10
        if long and seconds(earlier) * growth > HOPELESS * row["limit_s"]:
            reason = f"{seconds(earlier):.0f} s at {earlier['entries']:,} entries"
            return {"outcome": "beyond", "reason": reason}
    return {}


def _stopped(row: Row) -> bool:
    """Whether a limit ended the run."""
    return row["outcome"] == "ran" and row["termination"] in ("time_limit", "other_limit")


def _run(row: Row, instance: Path) -> Row:
    """One measured run in a fresh process."""
    limit_s = row["limit_s"]
    arguments = [
        "-m",
        "pgsr.bench.comparison",
        "--one",
        row["solver"],
        str(instance),
        "--limit",
        str(limit_s),
    ]
    if KINDS[row["kind"]][1]:
        arguments.append("--relax")
    run = run_python(arguments, limit_s + GRACE_S)
    found: Row = {"wall_s": run.wall_s, "peak_gb": run.peak_gb}
    if run.output is None:
        return found | {"outcome": "killed" if run.wall_s >= limit_s + GRACE_S else "fault"}
    return found | {"outcome": "fault" if "fault" in run.output else "ran"} | run.output


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the comparison and write its report, or one solver on one instance."""
    parser = argparse.ArgumentParser(description="Compare all solvers on growing problems.")
    parser.add_argument("--out", type=Path, help="folder for comparison.jsonl and comparison.md")
    parser.add_argument(
        "--quick", action="store_true", help="100 and 10,000 entries, limit 5 s, two at a time"
    )
    parser.add_argument("--limit", type=float, help="seconds that a solver may take (default 60)")
    parser.add_argument("--solvers", help="names separated by commas (default: all that are available)")
    parser.add_argument("--docs", type=Path, help="page whose generated tables are replaced")
    parser.add_argument("--one", nargs=2, metavar=("SOLVER", "INSTANCE"), help="one run, as JSON")
    parser.add_argument("--relax", action="store_true", help="with --one: the continuous relaxation")
    options = parser.parse_args(arguments)
    limit_s = options.limit or (5.0 if options.quick else 60.0)
    if options.one:
        sys.stdout.write(
            json.dumps(one_or_fault(options.one[0], options.one[1], options.relax, limit_s)) + "\n"
        )
        return
    if options.out is None:
        parser.error("--out is missing")
    options.out.mkdir(parents=True, exist_ok=True)
    solvers, left_out = usable(options.solvers.split(",") if options.solvers else None)
    sizes = (SIZES[0], SIZES[2]) if options.quick else SIZES
    jobs = 2 if options.quick else 1
    rows = compare(options.out, solvers, sizes=sizes, limit_s=limit_s, jobs=jobs, log=log)
    report = comparison(rows, left_out, limit_s, here_and_now())
    write_text(options.out / "comparison.md", report)
    if options.docs is not None:
        renew(options.docs, {"features": features(*usable()), "comparison": report})
    log(f"written: {options.out / 'comparison.md'}")


if __name__ == "__main__":
    main()
