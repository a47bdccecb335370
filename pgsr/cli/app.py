"""The commands of `pgsr`, and how one of them is run."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Annotated, Any

import typer
from typer.main import get_command

from pgsr.cli import (
    bench,
    demo,
    export,
    generate,
    inequality,
    ledger,
    release,
    report,
    sae,
    solve,
    solvers,
    verify,
    warmup,
)
from pgsr.cli.options import Json
from pgsr.cli.output import emit
from pgsr.errors import InputError

app = typer.Typer(
    name="pgsr",
    help="Private, consistent, provably optimal hierarchical statistics.",
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 80},
)
app.command("demo")(demo.demo)
app.command("release")(release.release)
app.command("solve")(solve.solve)
app.command("verify")(verify.verify)
app.command("generate")(generate.generate)
app.command("export")(export.export)
app.command("solvers")(solvers.solvers)
app.add_typer(ledger.app, name="ledger")
app.add_typer(inequality.app, name="inequality")
app.add_typer(sae.app, name="sae")
app.add_typer(bench.app, name="bench")
app.command("report")(report.report)
app.command("warmup")(warmup.warmup)


@app.callback(invoke_without_command=True)
def _pgsr(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False,
    as_json: Json = False,
) -> None:
    """Private, consistent, provably optimal hierarchical statistics."""
    if version:
        from importlib.metadata import version as installed

        if as_json:
            emit({"name": "pgsr", "version": installed("pgsr")})
        else:
            print("pgsr", installed("pgsr"))
        raise typer.Exit
    if as_json:
        raise InputError("--json belongs to a command", "pgsr", "put it after the command, or --version")
    if context.invoked_subcommand is None:
        print(context.get_help())
        raise typer.Exit


def call(words: Sequence[str]) -> None:
    """Run the command that `words` ask for; exceptions go through."""
    command: Any = get_command(app)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of libraries: standard error holds one line of ours
        try:
            with command.make_context("pgsr", list(words)) as context:
                command.invoke(context)
        except typer.Exit as done:  # help and version: the output is still to be flushed
            if done.exit_code:
                raise


def called(words: Sequence[str]) -> str:
    """The command that `words` name, such as "pgsr ledger show"."""
    command: Any = get_command(app)
    name = "pgsr"
    for word in words:
        command = getattr(command, "commands", {}).get(word)
        if command is None:
            break
        name += f" {word}"
    return name
