"""Entry point `pgsr`: the commands, and the one place where exceptions become exit codes."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from typing import Annotated, Any

import typer
from typer.main import get_command

from pgsr.cli import demo, faults, generate, ledger, release, solve, solvers, verify, warmup

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
app.command("solvers")(solvers.solvers)
app.add_typer(ledger.app, name="ledger")
app.command("warmup")(warmup.warmup)


@app.callback(invoke_without_command=True)
def _pgsr(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False,
) -> None:
    """Private, consistent, provably optimal hierarchical statistics."""
    if version:
        from importlib.metadata import version as installed

        print("pgsr", installed("pgsr"))
        raise typer.Exit
    if context.invoked_subcommand is None:
        print(context.get_help())
        raise typer.Exit


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code; `arguments` default to those of the process."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    command: Any = get_command(app)
    with faults.Signals() as signals, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of libraries: standard error holds one line of ours
        try:
            with command.make_context("pgsr", words) as context:
                command.invoke(context)
            sys.stdout.flush()
        except BaseException as error:
            return faults.exit_code(signals.settle(error) or error, _called(command, words))
    return 0


def _called(command: Any, words: Sequence[str]) -> str:
    """The command that `words` name, such as "pgsr ledger show"."""
    name = "pgsr"
    for word in words:
        command = getattr(command, "commands", {}).get(word)
        if command is None:
            break
        name += f" {word}"
    return name


if __name__ == "__main__":
    sys.exit(main())
