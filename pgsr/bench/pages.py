"""What benchmarks and comparisons share: kept results, progress, tables, and the pages they go into."""

from __future__ import annotations

import json
import re
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pgsr.atomic import atomic_path
from pgsr.bench.machine import machine

Row = dict[str, Any]
"""One measurement as plain data."""

Log = Callable[[str], None]


def log(text: str) -> None:
    """One line of progress, with the time of day."""
    sys.stderr.write(f"{datetime.now(UTC):%H:%M:%S} {text}\n")


def finished(path: Path) -> list[Row]:
    """The rows of an earlier run; a last line that was cut off is removed from the file."""
    if not path.exists():
        return []
    text = path.read_text(encoding="utf-8")
    whole = text[: text.rfind("\n") + 1]
    if whole != text:
        write_text(path, whole)
    return [json.loads(line) for line in whole.splitlines()]


class Journal:
    """Rows of a comparison, appended to a file of JSON lines as they come, and the time that is left."""

    def __init__(self, path: Path, todo: int, log: Log) -> None:
        self._path, self._todo, self._log = path, todo, log
        self._begun, self._done = time.monotonic(), 0

    def keep(self, row: Row, said: str = "") -> None:
        """Write one row; what is `said` of it is logged with the progress."""
        self._done += 1
        with self._path.open("a", encoding="utf-8") as lines:
            lines.write(json.dumps(row) + "\n")
        if said:
            left_s = (time.monotonic() - self._begun) / self._done * (self._todo - self._done)
            self._log(f"{self._done} of {self._todo}: {said}; about {left_s / 60:.1f} min left")


def today() -> str:
    """The date, as reports name it."""
    return f"{datetime.now(UTC):%Y-%m-%d}"


def facts(about: Mapping[str, str]) -> str:
    """Facts about a machine in words."""
    return ", ".join(f"{key} {value}" for key, value in about.items())


def here_and_now() -> str:
    """Date and machine, as reports name them."""
    return f"{today()} on: {facts(machine())}"


def line(cells: Sequence[str]) -> str:
    """One line of a table."""
    return "| " + " | ".join(cells) + " |"


def head(cells: Sequence[str]) -> list[str]:
    """The first two lines of a table."""
    return [line(cells), "|" + " --- |" * len(cells)]


def number(value: float) -> str:
    """Two digits, or all of those before the point."""
    return f"{value:,.0f}" if abs(value) >= 99.5 else f"{value:.2g}"


def put_between(page: str, name: str, text: str) -> str:
    """`page` with `text` between the markers of `name`, for what stood there; ValueError without markers."""
    first, last = f"<!-- {name} -->", f"<!-- end of {name} -->"
    pattern = re.compile(re.escape(first) + ".*?" + re.escape(last), re.DOTALL)
    if not pattern.search(page):
        raise ValueError(f"the page has no markers '{first}' and '{last}'")
    return pattern.sub(lambda _: f"{first}\n\n{text.strip()}\n\n{last}", page)


def write_text(path: Path, text: str) -> None:
    """Write a file, whole or not at all."""
    with atomic_path(path) as new:
        new.write_text(text, encoding="utf-8")


def renew(path: Path, parts: Mapping[str, str]) -> None:
    """Put each text of `parts` between its markers on the page at `path`."""
    page = path.read_text(encoding="utf-8")
    for name, text in parts.items():
        page = put_between(page, name, text)
    write_text(path, page)
