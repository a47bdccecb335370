"""`pgsr verify`: judge a solution, whoever it comes from."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pgsr.cli.options import Json
from pgsr.cli.output import bars, emit, heading, pairs, paragraph

if TYPE_CHECKING:
    from pgsr.models.instance import Instance
    from pgsr.solvers.base import Exchange


def verify(
    instance: Annotated[Path, typer.Argument(help="Instance: a JSON file, or a folder.", show_default=False)],
    solution: Annotated[
        Path, typer.Argument(help="Its solution: a JSON or a Parquet file.", show_default=False)
    ],
    relax: Annotated[bool, typer.Option("--relax", help="Judge it against the relaxation.")] = False,
    as_json: Json = False,
) -> None:
    """Recompute violations and objective of a solution, and prove or refute that it is optimal."""
    from pgsr.models.files import read_instance, read_solution
    from pgsr.solvers.base import PointStatus, SolveOptions, Termination
    from pgsr.solvers.certificate import assess

    with bars() as report:
        if report is not None:
            report("read", 0.0)
        given = read_instance(instance)
        values = _integers(read_solution(solution, given))
        if report is not None:
            report("check", 0.0)
        judged = assess(
            given.problem.relaxed() if relax else given.problem,
            values,
            solver="verify",
            version="",
            termination=Termination.UNKNOWN,
            raw_status="",
            build_s=0.0,
            solve_s=0.0,
            options=SolveOptions(),
        )
    feasible = judged.point_status is PointStatus.FEASIBLE
    record: dict[str, Any] = {
        "feasible": feasible,
        "violations": judged.violations,
        "objective": judged.objective,
        "optimal": judged.certificate,
    }
    if feasible and judged.certificate is False:
        found = None if judged.proof is None else judged.proof.exchange
        record["exchange"] = None if found is None else _named(found, given)
    if as_json:
        emit(record)
    else:
        _print(record)


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
    pairs({"objective": record["objective"], **record["violations"]})
    exchange = record.get("exchange")
    if exchange is not None:
        raised, lowered = exchange["raised"], exchange["lowered"]
        paragraph(
            f"Better by {-exchange['change']:g}: one unit more of size {raised['size']} in "
            f"{', '.join(raised['regions'])}; one less of size {lowered['size']} in "
            f"{', '.join(lowered['regions'])}."
        )
