"""`pgsr verify`: judge a solution, whoever it comes from."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pgsr.cli.options import Json
from pgsr.cli.output import bars, emit, heading, pairs, paragraph
from pgsr.errors import InputError

if TYPE_CHECKING:
    from pgsr.models.instance import Instance
    from pgsr.models.problem import Float64, Problem
    from pgsr.solvers.base import Exchange, Solution, SolveOptions


def verify(
    instance: Annotated[Path, typer.Argument(help="Instance: a JSON file, or a folder.", show_default=False)],
    solution: Annotated[
        Path, typer.Argument(help="Its solution: a JSON or a Parquet file.", show_default=False)
    ],
    relax: Annotated[bool, typer.Option("--relax", help="Judge it against the relaxation.")] = False,
    prove: Annotated[
        bool,
        typer.Option("--prove", help="Model 2: compute multipliers if those of the file do not prove it."),
    ] = False,
    time_limit: Annotated[
        float | None, typer.Option(help="Seconds for --prove.", show_default="none")
    ] = None,
    as_json: Json = False,
) -> None:
    """Recompute violations and objective of a solution, and prove or refute that it is optimal."""
    from pgsr.models.files import read_instance, read_multipliers, read_solution
    from pgsr.solvers.base import PointStatus, SolveOptions

    options = SolveOptions(time_limit_s=time_limit)
    with bars() as report:
        if report is not None:
            report("read", 0.0)
        given = read_instance(instance)
        values = _integers(read_solution(solution, given))
        multipliers = read_multipliers(solution, given)
        problem = given.problem.relaxed() if relax else given.problem
        if report is not None:
            report("check", 0.0)
        judged = _judged(problem, values, multipliers)
        feasible = judged.point_status is PointStatus.FEASIBLE
        if prove and problem.cumulative and feasible and not judged.certificate:
            own = _computed(problem, replace(options, progress=report))
            if report is not None:
                report("check", 0.0)
            other = _judged(problem, values, own)
            if judged.bound is None or (other.bound is not None and other.bound > judged.bound):
                judged = other
    record: dict[str, Any] = {
        "feasible": feasible,
        "violations": judged.violations,
        "objective": judged.objective,
        "optimal": judged.certificate,
    }
    if feasible:
        record.update(_proof(judged))
    if feasible and judged.certificate is False:
        found = None if judged.proof is None else judged.proof.exchange
        record["exchange"] = None if found is None else _named(found, given)
    if as_json:
        emit(record)
    else:
        _print(record)


def _judged(problem: Problem, values: Any, multipliers: Float64 | None) -> Solution:
    """The record of a table of which nothing is known but multipliers, which may be anything."""
    from pgsr.solvers.base import SolveOptions, Termination
    from pgsr.solvers.certificate import assess

    return assess(
        problem,
        values,
        solver="verify",
        version="",
        termination=Termination.UNKNOWN,
        raw_status="",
        build_s=0.0,
        solve_s=0.0,
        options=SolveOptions(),
        multipliers=multipliers,
    )


def _computed(problem: Problem, options: SolveOptions) -> Float64:
    """Multipliers by the splitting method, within the time limit."""
    from pgsr.solvers.native.schedule import runner
    from pgsr.solvers.native.splitting import piecewise_guess, relax_cumulative

    if problem.loss != "l2":
        raise InputError("it takes squares, not absolute values", "--prove", "solve with --out instead")
    with runner(problem, options) as run:
        return (piecewise_guess if problem.integer else relax_cumulative)(problem, run).multipliers


def _proof(judged: Solution) -> dict[str, Any]:
    """Bound and gap of a feasible table, and the arithmetic of what is proven about it."""
    proof = judged.proof
    assert proof is not None
    kind = None if proof.bound is None else "float"
    # Number for number, an exact optimum has no gap: what rounding the two leaves is none.
    closed = proof.exact and proof.optimal is True
    return {
        "bound": proof.bound,
        "gap": 0 if closed else judged.gap,
        "proof": "exact integers" if proof.exact else kind,
    }


def _integers(values: Any) -> Any:
    """Whole numbers that were written as floats (1.0) count as the integers they are."""
    import numpy as np

    if np.issubdtype(values.dtype, np.floating) and bool(np.all(values == np.rint(values))):
        return values.astype(np.int64)
    return values


def _named(exchange: Exchange, instance: Instance) -> dict[str, Any]:
    """An exchange with the codes of its regions, and sizes by value."""
    ids, sizes = instance.hierarchy.ids, instance.sizes
    return {
        "raised": {
            "regions": [str(ids[row]) for row in exchange.raised],
            "size": int(sizes[exchange.raised_size]),
        },
        "lowered": {
            "regions": [str(ids[row]) for row in exchange.lowered],
            "size": int(sizes[exchange.lowered_size]),
        },
        "change": exchange.change,
    }


def _print(record: dict[str, Any]) -> None:
    """The verdict for people."""
    optimal = {True: "optimal, proven", False: "not optimal", None: "optimality not known"}[record["optimal"]]
    heading(f"feasible, {optimal}" if record["feasible"] else "not feasible")
    proof: dict[str, Any] = {name: record[name] for name in ("bound", "gap", "proof") if name in record}
    pairs({"objective": record["objective"], **proof, **record["violations"]})
    exchange = record.get("exchange")
    if exchange is not None:
        raised, lowered = exchange["raised"], exchange["lowered"]
        paragraph(
            f"Better by {-exchange['change']:g}: one unit more of size {raised['size']} in "
            f"{', '.join(raised['regions'])}; one less of size {lowered['size']} in "
            f"{', '.join(lowered['regions'])}."
        )
