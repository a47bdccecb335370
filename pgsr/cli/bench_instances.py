"""`pgsr bench instances` and `pgsr bench instance`: the instance library, listed and written to files."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pgsr.cli.export import Form, known_table
from pgsr.cli.generate import Model
from pgsr.cli.options import Json, new_folder, new_place
from pgsr.cli.output import bars, emit, heading, line, pairs, paragraph

if TYPE_CHECKING:
    from pgsr.bench.library import LibraryCase
    from pgsr.bench.library_entries import Entry

PROGRAMS = (".mps", ".lp")


class Law(StrEnum):
    """Which noise is added to true counts."""

    GEOMETRIC = "geometric"
    """Discrete Laplace, as in releases."""
    LAPLACE = "laplace"
    """Continuous Laplace, rounded: for comparisons only."""
    GAUSSIAN = "gaussian"
    """Discrete Gaussian of rho = epsilon^2 / 2."""


def instances(as_json: Json = False) -> None:
    """List the instances of the library: size, origin, licence, and how many optima are known."""
    from pgsr.bench.best_known import all_known
    from pgsr.bench.library import entry, names

    known: dict[str, list[bool]] = {name: [] for name in names()}
    for value in all_known().values():
        known.setdefault(value.name.partition(":")[0], []).append(value.proven)
    found = [_described(entry(name), known[name]) for name in names()]
    if as_json:
        emit({"instances": found})
        return
    for one in found:
        heading(one["name"] + "".join(f"  {key}=" for key in one["parameters"]))
        paragraph(one["title"])
        shown = {
            "  size": _size(one),
            "  models": ", ".join(one["models"]) + ("; targets fixed" if one["fixed"] else ""),
            "  known": f"{one['known']} values, {one['proven']} proven optimal",
        }
        if one["kind"] == "data":
            shown |= {"  licence": one["licence"], "  cite": one["citation"]}
        pairs(shown)
        line()
    ours = next(one for one in found if one["kind"] != "data")
    paragraph(f"All but the data: {ours['licence']}; cite pgsr.")
    line("Parameters follow the name: us:scale=0.001,sizes=8")
    line("Your own, wherever a name is asked for:")
    line("  file:NOISY.json,truth=TRUE.csv or file:COUNTS.csv")


def _described(entry: Entry, known: list[bool]) -> dict[str, Any]:
    return {
        "name": entry.name,
        "kind": entry.kind,
        "title": entry.title,
        "parameters": dict(entry.parameters),
        "models": list(entry.models),
        "fixed": entry.fixed,
        "levels": entry.levels or None,
        "regions": entry.regions or None,
        "sizes": entry.sizes or None,
        "entries": entry.regions * entry.sizes or None,
        "citation": entry.citation,
        "licence": entry.licence,
        "source": entry.source,
        "known": len(known),
        "proven": sum(known),
    }


def _size(one: dict[str, Any]) -> str:
    if one["regions"] is None:
        return "small, each its own"
    return (
        f"{one['levels']:,} levels, {one['regions']:,} regions x {one['sizes']:,} sizes = "
        f"{one['entries']:,} entries"
    )


def instance(
    name: Annotated[
        str, typer.Argument(help="Name such as korea or us:scale=0.001: see instances.", show_default=False)
    ],
    out: Annotated[
        Path,
        typer.Option(
            help="FILE.json, a new folder, or FILE.mps or FILE.lp for other solvers.", show_default=False
        ),
    ],
    model: Annotated[
        Model | None, typer.Option(help="Model that the noise is for.", show_default="the instance's own")
    ] = None,
    epsilon: Annotated[str, typer.Option(help="Budget of the noise, such as 1 or 1/2.")] = "1",
    noise: Annotated[Law, typer.Option(help="Law of the noise.")] = Law.GEOMETRIC,
    seed: Annotated[int, typer.Option(help="The same seed gives the same data and noise.")] = 1,
    form: Annotated[
        Form, typer.Option(help="For .mps and .lp, as in `pgsr export`: HiGHS needs pwl for integers.")
    ] = Form.QP,
    truth: Annotated[
        Path | None,
        typer.Option(
            help="FILE.json or FILE.parquet for the true counts, in the form of a solution.",
            show_default=False,
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Write one instance of the library to a file, with its fingerprint and best-known value shown."""
    from pgsr.bench.library import open_case
    from pgsr.errors import InputError
    from pgsr.models.files import write_instance, write_solution
    from pgsr.models.forms.export import write_program

    if out.suffix in (".json", *PROGRAMS):
        new_place(out, "instance", endings=(".json", *PROGRAMS))
    elif out.suffix and not out.is_dir():
        way_out = "end its name in .json, .mps or .lp, or give a folder a name without an ending"
        raise InputError("unknown kind of instance", str(out), way_out)
    else:
        new_folder(out)
    if truth is not None:
        new_place(truth, "truth", endings=(".json", ".parquet"))
    with bars() as report:
        if report is not None:
            report("make", 0.0)
        case = open_case(
            name,
            model=None if model is None else model.value,
            epsilon=epsilon,
            noise=noise.value,
            seed=seed,
        )
        true_table = None if truth is None else _true_table(case)
        if report is not None:
            report("write", 0.0)
        if out.suffix in PROGRAMS:
            known, proven = known_table(case.instance.problem) if form is Form.PWL else (None, False)
            write_program(case.instance, out, form.value, known, proven=proven)
        else:
            write_instance(case.instance, out)
        if truth is not None and true_table is not None:
            write_solution(true_table, case.instance, truth)
    record = _record(case)
    if as_json:
        emit({**record, "out": out, "truth": truth})
        return
    pairs(record)
    line(f"written: {out}" + ("" if truth is None else f" and {truth}"))


def _true_table(case: LibraryCase) -> Any:
    from pgsr.errors import InputError

    if case.truth is None:
        raise InputError("the truth is not known", f"instance '{case.name}'", "leave --truth out")
    return case.truth.cumulative() if case.instance.problem.cumulative else case.truth.counts


def _record(case: LibraryCase) -> dict[str, Any]:
    from pgsr.bench.best_known import best_known

    problem, found = case.instance.problem, best_known(case.fingerprint)
    return {
        "name": case.name,
        "model": case.model,
        "noise": case.noise,
        "epsilon": case.epsilon,
        "rho": case.rho,
        "seed": case.seed,
        "levels": case.instance.hierarchy.levels,
        "regions": problem.regions,
        "sizes": problem.width,
        "total": problem.total,
        "best_known": None if found is None else found.objective,
        "proven": None if found is None else found.proven,
        "proof": None if found is None else found.proof or None,
        "citation": case.citation,
        "licence": case.licence,
        "source": case.source,
        "fingerprint": case.fingerprint,
    }
