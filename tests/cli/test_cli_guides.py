"""The tutorial, the recipes and the findings: their blocks run in order, and names and figures are right."""

from __future__ import annotations

import re
import shlex
from importlib import import_module
from pathlib import Path

import pytest

BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.DOTALL | re.MULTILINE)


@pytest.fixture(scope="module")
def docs() -> Path:
    for folder in Path(__file__).resolve().parents:
        if (folder / "docs" / "tutorial.md").is_file():
            return folder / "docs"
    pytest.skip("no source tree: these tests run against an installed wheel")


def play(page: Path, run, capsys) -> int:
    """Run a page from top to bottom in this folder; a block of text is what Python printed before it."""
    space: dict[str, object] = {}
    printed = ""
    blocks = BLOCK.findall(page.read_text(encoding="utf-8"))
    for language, block in blocks:
        if language == "python":
            capsys.readouterr()
            exec(compile(block, page.name, "exec"), space)
            printed = capsys.readouterr().out
        elif language == "sh":
            for line in block.splitlines():
                first, *words = shlex.split(line, comments=True)
                assert first == "pgsr", line
                done = run(*words)
                assert (done.code, done.err) == (0, ""), line
        elif language == "text":
            assert block == printed
    return len(blocks)


def test_the_tutorial_runs(docs, run, capsys) -> None:
    assert play(docs / "tutorial.md", run, capsys) > 20


@pytest.mark.parametrize("page", ["how-to", "findings", "forms", "model2"])
def test_the_other_pages_run(page, docs, run, capsys) -> None:
    assert play(docs / f"{page}.md", run, capsys) > 0


def test_the_names_of_the_notation_exist(docs) -> None:
    page = (docs / "notation.md").read_text(encoding="utf-8")
    names = set(re.findall(r"`(pgsr\.[\w.]+)`", page))
    assert len(names) > 8
    for name in names:
        parts = name.split(".")
        for cut in range(len(parts), 0, -1):
            try:
                found = import_module(".".join(parts[:cut]))
            except ModuleNotFoundError:
                continue
            for part in parts[cut:]:
                found = getattr(found, part)
            break


def test_the_tutorial_shows_the_example_of_its_pictures(docs) -> None:
    from pgsr.report import tutorial

    page = (docs / "tutorial.md").read_text(encoding="utf-8")
    assert str([list(row) for row in tutorial.NOISY]) in page
    rows = re.findall(r"^\| (\d) \| (.*) \|$", page.replace("*", ""), re.MULTILINE)
    first = {int(v): row.split(" | ") for v, row in rows if "(" in row}
    tables = tutorial.costs(1)
    for v, (ga, ny, _, us) in first.items():
        assert [int(us), int(ga), int(ny)] == tables[:, v].tolist()
    roots = {int(v): row.split(" | ") for v, row in rows if "(" not in row}
    for v, row in roots.items():
        assert [int(cost) for cost in row] == [int(tutorial.costs(size)[0, v]) for size in (1, 2, 3)]
    assert (len(first), len(roots)) == (7, 6)
