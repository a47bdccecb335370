"""`pgsr export`: an instance as a program that any solver reads."""

from __future__ import annotations

from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pgsr.cli.options import Json, new_place
from pgsr.cli.output import bars, emit, line, pairs

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pgsr.models.problem import Problem


class Form(StrEnum):
    """How the loss is stated."""

    QP = "qp"
    """Squares in the objective; absolute values as excess and shortfall."""
    PWL = "pwl"
    """Unit segments: a linear program, exact at whole tables."""


def export(
    instance: Annotated[Path, typer.Argument(help="Instance: a JSON file, or a folder.", show_default=False)],
    out: Annotated[Path, typer.Option(help="FILE.mps or FILE.lp.", show_default=False)],
    form: Annotated[
        Form, typer.Option(help="Quadratic program, or exact piecewise-linear program.")
    ] = Form.QP,
    relax: Annotated[bool, typer.Option("--relax", help="Drop integrality.")] = False,
    as_json: Json = False,
) -> None:
    """Write an instance as a program in MPS or LP format, for other solvers."""
    from dataclasses import asdict

    from pgsr.models.files import read_instance
    from pgsr.models.forms.export import ENDINGS, write_program

    new_place(out, "program", endings=ENDINGS)
    with bars() as report:
        if report is not None:
            report("read", 0.0)
        given = read_instance(instance)
        if relax:
            given = replace(given, problem=given.problem.relaxed())
        known, proven = known_table(given.problem) if form is Form.PWL else (None, False)
        if report is not None:
            report("write", 0.0)
        written = write_program(given, out, form.value, known, proven=proven)
    record: dict[str, Any] = {
        "file": out,
        "form": form,
        "model": "cumulative" if given.problem.cumulative else "hierarchical",
        "relaxed": relax,
        **asdict(written),
    }
    if as_json:
        emit(record)
        return
    shown = dict(record)
    del shown["file"]
    pairs(shown)
    line(f"written: {out}")


def known_table(problem: Problem) -> tuple[NDArray[Any] | None, bool]:
    """A good table for the piecewise-linear form, and whether it is proven optimal for an integer `problem`.

    None if without one there are not too many segments, and if none is found.
    """
    from pgsr.models.forms.export import MOST_SEGMENTS
    from pgsr.models.forms.piecewise import Windows
    from pgsr.solvers import registry
    from pgsr.solvers.base import PointStatus, SolveOptions
    from pgsr.solvers.running import run

    if Windows.whole(problem).segments <= MOST_SEGMENTS:
        return None, False
    whole = problem.integers()
    chosen = registry.select(whole)
    solution = run(chosen, whole, SolveOptions(), isolate=not getattr(chosen, "interruptible", False))
    if solution.point_status is not PointStatus.FEASIBLE:
        return None, False
    return solution.x, problem.integer and solution.certificate is True
