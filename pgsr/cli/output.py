"""What commands print: JSON or readable text on standard output, progress bars on standard error."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import Enum
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

WIDTH = 80
"""Text is never set wider than this, so that it reads the same everywhere."""

Progress = Callable[[str, float], None]
"""Called with the stage's name and the fraction of it that is done; 0 where it is not known."""


def plain(value: Any) -> Any:
    """`value` as plain data for JSON: numpy scalars and arrays as numbers, fractions as text.

    Infinite and undefined numbers, which JSON does not have, become None.
    """
    if isinstance(value, Mapping):
        return {str(key): plain(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(entry) for entry in value]
    if isinstance(value, Enum):
        return plain(value.value)
    if isinstance(value, (Fraction, Path)):
        return str(value)
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def emit(record: Mapping[str, Any]) -> None:
    """Print one JSON object, on one line."""
    sys.stdout.write(json.dumps(plain(record), allow_nan=False) + "\n")


def console() -> Console:
    """The terminal, or the pipe, that standard output goes to now; at most `WIDTH` wide."""
    from rich.console import Console

    found = Console(file=sys.stdout, highlight=False, markup=False, emoji=False)
    found.width = min(found.width, WIDTH)
    return found


def heading(text: str) -> None:
    """Print one line in bold."""
    console().print(text, style="bold", soft_wrap=True)


def line(text: str = "", style: str | None = None) -> None:
    """Print one line that is not broken, for paths and commands to copy."""
    console().print(text, style=style, soft_wrap=True)


def paragraph(text: str, style: str | None = None) -> None:
    """Print text, broken into lines."""
    console().print(text, style=style)


def pairs(rows: Mapping[str, Any]) -> None:
    """Print names and values, one pair a line; a long value is broken beside its name."""
    from rich.table import Table

    grid = Table.grid(padding=(0, 2))
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    for name, value in rows.items():
        grid.add_row(name, show(value))
    console().print(grid)


def table(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Print a table; columns of numbers are set to the right."""
    from rich import box
    from rich.table import Table

    grid = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1))
    for place, name in enumerate(columns):
        numbers = all(isinstance(row[place], (int, float)) or row[place] is None for row in rows)
        grid.add_column(name, justify="right" if numbers and rows else "left", overflow="fold")
    for row in rows:
        grid.add_row(*(show(value) for value in row))
    console().print(grid)


def show(value: Any) -> str:
    """One value for people: thousands in groups, floats to a few digits, "-" for None."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
    return str(value)


@contextmanager
def bars() -> Iterator[Progress | None]:
    """Progress bars with the time left, if standard error is a terminal; else None.

    They vanish when the work is done, or interrupted.
    """
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    shown = Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TaskProgressColumn(),
        TimeRemainingColumn(),
        console=Console(file=sys.stderr),
        transient=True,
        redirect_stdout=False,
        redirect_stderr=False,
    )
    with shown:
        task = shown.add_task("start", total=None)
        stage, reached = "", 0.0

        def report(name: str, fraction: float) -> None:
            nonlocal stage, reached
            if name != stage or fraction < reached:
                stage = name
                shown.reset(task, description=name, total=None, completed=0)
            reached = fraction
            if fraction > 0:
                shown.update(task, total=1.0, completed=min(fraction, 1.0))

        yield report
