"""`pgsr bench add`: a solution, or results, that were made elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pgsr.cli.bench_instances import Law
from pgsr.cli.generate import Model
from pgsr.cli.options import Json
from pgsr.cli.output import emit, line, pairs, paragraph


def add(
    folder: Annotated[Path, typer.Argument(help="Folder of results.", show_default=False)],
    file: Annotated[
        Path,
        typer.Argument(help="A solution (.json or .parquet), or other results to merge.", show_default=False),
    ],
    instance: Annotated[
        str | None, typer.Option(help="The instance that the solution solves.", show_default=False)
    ] = None,
    method: Annotated[
        str | None, typer.Option(help="Name of the method that made it.", show_default=False)
    ] = None,
    model: Annotated[Model | None, typer.Option(help="Its model.", show_default="the instance's own")] = None,
    epsilon: Annotated[str, typer.Option(help="Budget of its noise.")] = "1",
    noise: Annotated[Law, typer.Option(help="Law of its noise.")] = Law.GEOMETRIC,
    seed: Annotated[int, typer.Option(help="Seed of its noise.")] = 1,
    kind: Annotated[
        str | None,
        typer.Option(help="exact, relaxed, rounded or heuristic.", show_default="exact only if proven"),
    ] = None,
    solve_s: Annotated[
        float | None, typer.Option("--seconds", help="Seconds of the solve.", show_default="not known")
    ] = None,
    version: Annotated[
        str | None, typer.Option("--method-version", help="Version of the method.", show_default=False)
    ] = None,
    problem: Annotated[
        Path | None,
        typer.Option(
            help="The instance file that was solved: another problem is refused.", show_default=False
        ),
    ] = None,
    replace: Annotated[
        bool, typer.Option("--replace", help="Put it in the place of another row of the same run.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Add what was made elsewhere: a solution is judged from the problem, a table of results is merged."""
    from pgsr.bench.adding import Origin, add_results, add_solution
    from pgsr.errors import InputError
    from pgsr.models.files import read_fingerprint

    if instance is None and method is None:
        added, equal = add_results(folder, file)
        record = {"added": added, "equal": equal, "out": folder}
        if as_json:
            emit(record)
        else:
            line(f"{added:,} rows added to {folder}; {equal:,} were there already")
        return
    if instance is None or method is None:
        raise InputError(
            "a solution needs both", "--instance, --method", "give both, or neither to merge results"
        )
    origin = Origin(
        instance=instance,
        method=method,
        model=None if model is None else model.value,
        epsilon=epsilon,
        noise=noise.value,
        seed=seed,
        kind=kind,
        solve_s=solve_s,
        version=version,
    )
    row = add_solution(folder, file, origin, solved=problem, replace=replace)
    shown = ("key", "kind", "objective", "certificate", "gap", "broken_sums", "sums", "negative", "total_off")
    if as_json:
        emit({name: row[name] for name in shown} | {"out": folder})
    else:
        pairs({name.replace("_", " "): row[name] for name in shown})
        line(f"added to {folder}")
        if problem is None and row["certificate"] is False and read_fingerprint(file) is None:
            paragraph(
                "There is a better table, or this is none of the instance. If that is not expected, see "
                "that model, epsilon, noise and seed are those of the file that was solved: "
                "--problem FILE checks it."
            )
