"""`pgsr solve`: post-process an instance."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pgsr.cli.faults import NoPoint
from pgsr.cli.options import Json, new_place
from pgsr.cli.output import bars, emit, heading, line, pairs
from pgsr.cli.process import STARTED
from pgsr.errors import InputError

if TYPE_CHECKING:
    from pgsr.solvers.base import Solution

RETURN_S = 2.6
"""Seconds after its time limit at which a command has its answer, whatever the solver does."""

_VERDICT = {True: "optimal, proven", False: "not optimal, proven", None: "not known"}


def solve(
    instance: Annotated[Path, typer.Argument(help="Instance: a JSON file, or a folder.", show_default=False)],
    solver: Annotated[
        str | None,
        typer.Option(help="Solver by name; see `pgsr solvers`.", show_default="the best that fits"),
    ] = None,
    relax: Annotated[bool, typer.Option("--relax", help="Drop integrality.")] = False,
    round_: Annotated[
        bool,
        typer.Option("--round", help="Solve the relaxation and round every entry; says what that breaks."),
    ] = False,
    time_limit: Annotated[
        float | None, typer.Option(help="Seconds, from the start of the solver.", show_default="none")
    ] = None,
    threads: Annotated[int, typer.Option(help="Number of threads, 0 for all cores.")] = 0,
    seed: Annotated[int, typer.Option(help="Seed, for solvers that draw.")] = 0,
    gap: Annotated[float, typer.Option(help="Relative gap at which a search may stop; 0 to prove it.")] = 0.0,
    start: Annotated[
        Path | None,
        typer.Option(
            help="Solution file to start from, for solvers that can.", show_default="none", metavar="FILE"
        ),
    ] = None,
    log: Annotated[
        Path | None,
        typer.Option(help="Write what the solver prints to this file.", show_default="none", metavar="FILE"),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Write the solution: FILE.json or FILE.parquet.", show_default="not written"),
    ] = None,
    as_json: Json = False,
) -> None:
    """Find the nearest table that adds up, from noisy counts, and prove it."""
    from pgsr.solvers.base import SolveOptions

    if time_limit == float("inf"):
        raise InputError("not a finite number", "--time-limit", "leave it out for no limit")
    if seed < 0:
        raise InputError("the seed is negative", "--seed", "give 0, 1, 2, ...")
    options = SolveOptions(time_limit_s=time_limit, threads=threads, seed=seed, gap=gap)
    if out is not None:
        new_place(out, "solution file", endings=(".json", ".parquet"))
    if log is not None:
        new_place(log, "log file")
    from dataclasses import replace

    from pgsr.groupsizes.postprocess import resolve_solver
    from pgsr.models.files import read_instance, read_solution, write_solution
    from pgsr.models.fingerprint import fingerprint
    from pgsr.solvers import registry
    from pgsr.solvers.base import PointStatus
    from pgsr.solvers.rounding import rounded
    from pgsr.solvers.running import run

    with bars() as report:
        if report is not None:
            report("read", 0.0)
        given = read_instance(instance)
        problem = given.problem.relaxed() if relax or round_ else given.problem
        options = replace(
            options, progress=report, start=None if start is None else read_solution(start, given)
        )
        chosen = registry.select(problem) if solver is None else resolve_solver(solver, problem)
        isolate = not getattr(chosen, "interruptible", False) or log is not None
        deadline_s = None
        if time_limit is not None:
            # What starting up and reading took is taken off, but not what the solver needs to start.
            deadline_s = time_limit + max(0.5, RETURN_S - (time.monotonic() - STARTED))
        solution = run(chosen, problem, options, isolate=isolate, log=log, deadline_s=deadline_s)
        if round_ and solution.x is not None:
            solution = rounded(solution)
        # A rounded table is what was asked for, whatever it violates: that is what it is there to show.
        usable = solution.x is not None and (round_ or solution.point_status is PointStatus.FEASIBLE)
        shipped = None
        if out is not None and usable and solution.x is not None:
            if report is not None:
                report("write", 0.0)
            if solution.multipliers is not None:
                from pgsr.solvers.native.duality import on_grid

                shipped = on_grid(solution)
            mark = fingerprint(given.problem)
            if shipped is None:
                write_solution(solution.x, given, out, fingerprint=mark)
            else:
                multipliers, grid = shipped
                write_solution(solution.x, given, out, multipliers, grid=grid, fingerprint=mark)
    if as_json:
        emit(solution.to_dict())
    else:
        _print(solution, out if usable else None, log, proof=shipped is not None)
    if not usable:
        raise NoPoint(
            f"no usable point: solver '{solution.solver}' stopped ({solution.termination.value}), "
            f"point {solution.point_status.value}: allow more time, or use another solver"
        )


def _print(solution: Solution, out: Path | None, log: Path | None, *, proof: bool) -> None:
    """The outcome for people."""
    record = solution.to_dict()
    kind = "relaxation" if record["relaxed"] else "integers"
    if solution.details.get("rounded"):
        kind = "relaxation, rounded"
    verdict = _VERDICT[solution.certificate]
    if record["point_status"] == "infeasible":
        verdict = "not feasible"
    heading(f"{record['model']} model, {kind}: {verdict}")
    broken = [f"{name} {value:g}" for name, value in solution.violations.items() if value]
    pairs(
        {
            "solver": f"{record['solver']} {record['version']}",
            "stopped": f"{record['termination']} ({record['raw_status']})",
            **({"refuted": solution.refuted} if solution.refuted else {}),
            "point": record["point_status"],
            "objective": record["objective"],
            "bound": record["bound"],
            "gap": record["gap"],
            "violations": ("none" if not broken else ", ".join(broken)) if solution.violations else None,
            "seconds": f"{record['build_s']:.3f} to build, {record['solve_s']:.3f} to solve",
        }
    )
    for path in (out, log):
        if path is not None:
            line(f"written: {path}")
    if proof:
        line("with multipliers that prove the bound: pgsr verify checks them")
