"""`pgsr bench`: run suites of benchmarks, and what goes with them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from pgsr.cli import bench_add, bench_compare, bench_instances
from pgsr.cli.bench_shown import progress, show_plan, show_summary, summary
from pgsr.cli.options import Json
from pgsr.cli.output import emit, line, table

if TYPE_CHECKING:
    from pgsr.bench.runner import Plan

RUN = "run"


class SuiteGroup(TyperGroup):
    """A group of commands whose first word, if it names none of them, is a suite to run."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put `run` before the words unless they begin with a command or ask for help."""
        if args and args[0] not in self.commands and args[0] not in ("-h", "--help"):
            args = [RUN, *args]
        return super().parse_args(ctx, args)


app = typer.Typer(
    cls=SuiteGroup,
    help="Run a suite of benchmarks: pgsr bench SUITE --out DIR. See pgsr bench list.",
    subcommand_metavar="SUITE | COMMAND [ARGS]...",
)
app.command("compare")(bench_compare.compare)
app.command("instances")(bench_instances.instances)
app.command("instance")(bench_instances.instance)
app.command("add")(bench_add.add)


@app.callback(invoke_without_command=True)
def _bench(context: typer.Context) -> None:
    """Run a suite of benchmarks: pgsr bench SUITE --out DIR. See pgsr bench list."""
    if context.invoked_subcommand is None:
        print(context.get_help())
        raise typer.Exit


@app.command(RUN)
def run(
    suite: Annotated[
        str, typer.Argument(help="Name of a suite (see list), or a TOML file.", show_default=False)
    ],
    out: Annotated[Path, typer.Option(help="Folder of the results; an earlier run there is continued.")],
    jobs: Annotated[
        int, typer.Option(help="Runs at a time; with more than one, times say less.", min=1, max=1024)
    ] = 1,
    only: Annotated[
        str, typer.Option(help="Just the runs whose key contains this text.", show_default="all")
    ] = "",
    again: Annotated[
        str,
        typer.Option(
            help="Do runs with these outcomes anew, such as fault,killed.",
            metavar="OUTCOMES",
            show_default="none",
        ),
    ] = "",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would be run, and stop.")] = False,
    as_json: Json = False,
) -> None:
    """Run a suite (the word run may be left out). Results are kept run by run, and not run twice."""
    from pgsr.bench.again import read_outcomes
    from pgsr.bench.runner import make_plan, run_plan
    from pgsr.bench.suite import find_suite
    from pgsr.cli.options import new_place
    from pgsr.errors import InputError

    source = find_suite(suite)
    new_place(out, "folder")
    if out.exists() and not out.is_dir():
        raise InputError("is a file", str(out), "give --out a folder")
    plan = make_plan(source, out, only, read_outcomes(again))
    if dry_run:
        if as_json:
            emit(_planned(plan) | {"keys": [task.key for task in plan.todo]})
        else:
            show_plan(plan)
        return
    try:
        with progress(plan) as told:
            rows = run_plan(plan, out, jobs=jobs, told=told)
    except BaseException as error:
        if not isinstance(error, Exception):  # Ctrl-C, or a request to end
            error.add_note("what is done is kept: the same command goes on from there")
        raise
    record = summary(plan, rows, out)
    if as_json:
        emit(record)
    else:
        show_summary(record)


@app.command("list")
def list_(as_json: Json = False) -> None:
    """List the suites that come with the package, with their numbers of runs."""
    from pgsr.bench.runner import make_plan
    from pgsr.bench.suite import shipped

    plans = [make_plan(path, path.parent / "no-results-here") for path in shipped().values()]
    if as_json:
        emit({"suites": [_planned(plan) | {"title": plan.suite.title} for plan in plans]})
        return
    table(
        ("suite", "runs", "title"),
        [(plan.suite.name, len(plan.tasks), plan.suite.title) for plan in plans],
    )
    line("pgsr bench SUITE --out DIR runs one; pgsr report DIR shows its results.")


def _planned(plan: Plan) -> dict[str, Any]:
    return {
        "suite": plan.suite.name,
        "runs": len(plan.tasks),
        "todo": len(plan.todo),
        "again": len(plan.again),
        "others": plan.others,
        "longest_s": plan.longest_s,
    }
