"""The page on suites: its examples work, and its tables are those of the code."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from pgsr.bench.results import COLUMNS
from pgsr.bench.runner import make_plan
from pgsr.bench.suite import shipped


@pytest.fixture(scope="module")
def page() -> str:
    for folder in Path(__file__).resolve().parents:
        if (folder / "docs" / "suites.md").is_file():
            return (folder / "docs" / "suites.md").read_text(encoding="utf-8")
    pytest.skip("no source tree: these tests run against an installed wheel")


def blocks(page: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", page, re.DOTALL)


def test_the_columns_are_those_of_the_schema(page) -> None:
    table = page.partition("<!-- columns -->")[2].partition("<!-- end of columns -->")[0]
    rows = [line for line in table.splitlines() if line.startswith("| `")]
    assert rows == [
        f"| `{one.name}` | {one.kind} | {'yes' if one.needed else ''} | {one.about} |" for one in COLUMNS
    ]


def test_the_suites_are_listed_with_their_numbers_of_runs(page, tmp_path) -> None:
    for name, path in shipped().items():
        (said,) = re.findall(rf"\| `{name}` \| .* \| (.*) \|", page)
        runs = len(make_plan(path, tmp_path / "none").tasks)
        if name == "solvers":  # as many as there are solvers registered
            assert runs > 300
        else:
            assert said == f"{runs:,}", name


def test_the_commands_work(page, run) -> None:
    for block in blocks(page, "sh"):
        for line in block.splitlines():
            words = shlex.split(line)
            assert words[0] == "pgsr"
            done = run(*words[1:])
            assert (done.code, done.err) == (0, ""), line


def test_the_suite_of_ones_own_works(page, run) -> None:
    (suite,) = blocks(page, "toml")
    (counts,) = [block for block in blocks(page, "text") if block.startswith("state,county,size,count")]
    Path("mine.toml").write_text(suite, encoding="utf-8")
    Path("counts.csv").write_text(counts, encoding="utf-8")
    planned = run("bench", "mine.toml", "--out", "out", "--dry-run", "--json").record
    assert planned["runs"] == 3 * 2 * 2 * 4
    some = ("--only", "seed 1 | proximity | 10 s", "--jobs", "2", "--json")
    done = run("bench", "mine.toml", "--out", "out", *some)
    assert done.record["outcomes"] == {"ran": 4}
    assert done.record["proven_optimal"] == done.record["exact_answers"] == 4
