"""Post-processing methods against the truth: errors by level, proofs, violations, seconds.

`python -m pgsr.bench.methods --out DIR [--quick] [--seeds 10] [--taxi COUNTS.csv.gz] [--docs PAGE]` adds
seeded noise to real counts and lets every method repair the same noisy tables. Results go to
`DIR/methods.jsonl` as they come (finished ones are not run again), then to `DIR/methods.md`.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from pgsr.bench.methods_cases import Case, errors, flights, korea, noisy_problem, noisy_sizes, taxi
from pgsr.bench.methods_tables import report
from pgsr.bench.pages import Journal, Log, Row, finished, here_and_now, log, renew, write_text
from pgsr.counts import GroupSizes
from pgsr.errors import SolverFault
from pgsr.groupsizes.postprocess import AUTO
from pgsr.models.problem import Problem
from pgsr.solvers.base import Solution, SolveOptions, Solver
from pgsr.solvers.registry import get, select
from pgsr.solvers.running import run

EPSILONS = ("0.1", "0.5", "1")
LIMIT_S = 10.0
GREEDY = "cumulative, first rounding"
"""`cumulative` without what it does after its greedy rounding down the tree."""
MOST_SORTED = 5_000_000
"""Noisy sorted sizes up to which `kuo-hg` is run: one a unit and level."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Method:
    """One way from a noisy table to a published one.

    `solver`: a registered name, `AUTO` for the default one, `GREEDY`, "" for the noisy table itself;
    `relaxed`: real numbers.
    """

    name: str
    cumulative: bool
    solver: str
    relaxed: bool = False


def methods() -> tuple[Method, ...]:
    """All methods in the order of the tables."""
    return (
        Method(name="M1 noisy", cumulative=False, solver=""),
        Method(name="M1 exact", cumulative=False, solver="proximity"),
        Method(name="M1 relax-round", cumulative=False, solver="relax-round"),
        Method(name="M1 topdown", cumulative=False, solver="topdown"),
        Method(name="M2 noisy", cumulative=True, solver=""),
        Method(name="M2 exact", cumulative=True, solver=AUTO),
        Method(name="M2 greedy", cumulative=True, solver=GREEDY),
        Method(name="M2 relaxed", cumulative=True, solver="splitting", relaxed=True),
        Method(name="M2 relax-round", cumulative=True, solver="relax-round"),
        Method(name="M2 isotonic-dp", cumulative=True, solver="isotonic-dp"),
        Method(name="M2 topdown", cumulative=True, solver="topdown"),
        Method(name="M2 kuo-hc", cumulative=True, solver="kuo-hc"),
        Method(name="kuo-hg", cumulative=True, solver="kuo-hg"),
    )


def measure(method: Method, truth: GroupSizes, *, epsilon: str, seed: int, limit_s: float) -> Row:
    """One method on one noisy table: what came of it, as plain data."""
    share = Fraction(epsilon)
    problem = noisy_problem(truth, cumulative=method.cumulative, epsilon=share, seed=seed)
    if not method.solver:
        return _judged(problem, truth, problem.target) | {"outcome": "ran", "objective": 0}
    if method.solver == "kuo-hg" and truth.hierarchy.levels * truth.total > MOST_SORTED:
        return {"outcome": "left out"}
    try:
        asked = problem.relaxed() if method.relaxed else problem
        solver = _solver(method, asked, truth, share, seed)
        solution = run(solver, asked, SolveOptions(time_limit_s=limit_s))
    except SolverFault as error:
        return {"outcome": "fault", "reason": str(error)}
    return _record(method, solution, problem, truth)


def _solver(method: Method, problem: Problem, truth: GroupSizes, epsilon: Fraction, seed: int) -> Solver:
    if method.solver == "kuo-hg":
        from pgsr.solvers.baselines.kuo import KuoHgSolver

        return KuoHgSolver(noisy_sizes(truth, epsilon=epsilon, seed=seed), truth.sizes.astype(np.float64))
    if method.solver == GREEDY:
        from pgsr.solvers.native.cumulative import CumulativeSolver

        return CumulativeSolver(prove=False, exchange=False)
    return select(problem) if method.solver == AUTO else get(method.solver)


def _record(method: Method, solution: Solution, problem: Problem, truth: GroupSizes) -> Row:
    row: Row = {
        "outcome": "ran" if solution.x is not None else "no table",
        "by": solution.solver,
        "version": solution.version,
        "termination": solution.termination.value,
        "certificate": solution.certificate,
        "seconds": solution.build_s + solution.solve_s,
    }
    if solution.x is None:
        return row
    row |= _judged(problem, truth, solution.x)
    if method.solver != "kuo-hg":  # its measurements are others: the loss of these says nothing about it
        row |= {"objective": solution.objective, "bound": solution.bound}
    return row


def _judged(problem: Problem, truth: GroupSizes, x: Any) -> Row:
    """Violations of the integer problem, and errors of the counts by size."""
    counts = np.diff(x, axis=1, prepend=0) if problem.cumulative else x
    return {"violations": problem.violations(x), **errors(truth, counts)}


def compare(
    out: Path,
    cases: Sequence[Case],
    *,
    epsilons: Sequence[str] = EPSILONS,
    seeds: int = 10,
    chosen: Sequence[Method] | None = None,
    limit_s: float = LIMIT_S,
    log: Log,
) -> list[Row]:
    """Run what has not been run yet in the folder `out`, and return the rows of this comparison."""
    file = out / "methods.jsonl"
    wanted = {
        (case.name, epsilon, seed, method.name, method.solver, limit_s): (case, method)
        for seed in range(1, seeds + 1)
        for case in cases
        for epsilon in epsilons
        for method in (methods() if chosen is None else chosen)
    }
    rows = {_key(row): row for row in finished(file)}
    todo = [key for key in wanted if key not in rows]
    _warm_up([wanted[key][1] for key in todo])
    journal = Journal(file, len(todo), log)
    for key in todo:
        case, method = wanted[key]
        _, epsilon, seed, *_ = key
        row = {
            "data": case.name,
            "epsilon": epsilon,
            "seed": seed,
            "method": method.name,
            "solver": method.solver,
            "limit_s": limit_s,
        }
        row |= measure(method, case.truth, epsilon=epsilon, seed=seed, limit_s=limit_s)
        rows[key] = row
        took = f" in {row['seconds']:.2g} s" if "seconds" in row else ""
        what = f"{case.name}, epsilon {epsilon}, seed {seed}, {method.name}"
        journal.keep(row, f"{what}: {row.get('termination', row['outcome'])}{took}")
    return [rows[key] for key in wanted]


def _key(row: Row) -> tuple[Any, ...]:
    return tuple(row[name] for name in ("data", "epsilon", "seed", "method", "solver", "limit_s"))


def _warm_up(chosen: Sequence[Method]) -> None:
    """Load what is compiled, on three regions, so that no time below is the compiler's."""
    from pgsr.hierarchy import Hierarchy

    tree = Hierarchy.from_columns(["a", "b", "c"], ["", "a", "a"])
    truth = GroupSizes.from_leaf_counts(tree, [1, 2, 3], np.array([[3, 1, 0], [2, 2, 1]]))
    for method in dict.fromkeys(chosen):
        measure(method, truth, epsilon="1", seed=1, limit_s=600.0)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the comparison and write its report."""
    parser = argparse.ArgumentParser(description="Compare post-processing methods with the truth.")
    parser.add_argument("--out", type=Path, required=True, help="folder for methods.jsonl and methods.md")
    parser.add_argument("--quick", action="store_true", help="epsilon 1 and three seeds only")
    parser.add_argument("--seeds", type=int, help="noise draws (default 10)")
    parser.add_argument("--taxi", type=Path, help="public counts: CSV with columns of levels, size, count")
    parser.add_argument(
        "--limit", type=float, default=LIMIT_S, help="seconds of one solve (default %(default)g)"
    )
    parser.add_argument("--docs", type=Path, help="page whose generated tables are replaced")
    options = parser.parse_args(arguments)
    seeds = (3 if options.quick else 10) if options.seeds is None else options.seeds
    if seeds < 1:
        parser.error("--seeds must be 1 or more")
    options.out.mkdir(parents=True, exist_ok=True)
    cases = [korea(), flights(), *([] if options.taxi is None else [taxi(options.taxi)])]
    epsilons = EPSILONS[-1:] if options.quick else EPSILONS
    rows = compare(options.out, cases, epsilons=epsilons, seeds=seeds, limit_s=options.limit, log=log)
    text = report(rows, cases, here_and_now())
    write_text(options.out / "methods.md", text)
    if options.docs is not None:
        renew(options.docs, {"methods": text})
    log(f"written: {options.out / 'methods.md'}")


if __name__ == "__main__":
    main()
