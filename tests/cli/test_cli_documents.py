"""The README and the pages on commands and formats: their examples are run."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

from pgsr.config import load_config

SKIPPED = {"warmup"}  # tested by itself


@pytest.fixture(scope="module")
def documents() -> Path:
    for folder in Path(__file__).resolve().parents:
        if (folder / "README.md").is_file() and (folder / "docs" / "commands.md").is_file():
            return folder
    pytest.skip("no source tree: these tests run against an installed wheel")


def blocks(path: Path, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", path.read_text(encoding="utf-8"), re.DOTALL)


def test_the_python_example_of_the_readme_runs(documents, capsys) -> None:
    (example,) = blocks(documents / "README.md", "python")
    assert len([line for line in example.splitlines() if line]) <= 12
    exec(compile(example, "README.md", "exec"), {})
    assert "proven closest: True" in capsys.readouterr().out


def test_the_readme_is_one_screen_of_short_lines(documents) -> None:
    lines = (documents / "README.md").read_text(encoding="utf-8").splitlines()
    assert len(lines) <= 65
    for link in re.findall(r"\]\(([^)#]+)", "\n".join(lines)):
        assert (documents / link).is_file(), link


def test_the_examples_of_the_commands_work(documents, run) -> None:
    named = set()
    for block in blocks(documents / "docs" / "commands.md", "sh"):
        for line in block.splitlines():
            words = shlex.split(line, comments=True)
            assert words[0] == "pgsr"
            named.add(words[1])
            if words[1] not in SKIPPED:
                done = run(*words[1:])
                assert (done.code, done.err) == (0, ""), line
    assert named >= {"demo", "release", "solve", "verify", "generate", "solvers", "ledger", "warmup"}


def test_the_configurations_of_the_formats_page_are_read(documents, tmp_path) -> None:
    for number, block in enumerate(blocks(documents / "docs" / "formats.md", "toml")):
        path = tmp_path / f"{number}.toml"
        path.write_text(block, encoding="utf-8")
        assert load_config(path).parts()


def test_the_instance_and_solution_of_the_formats_page_fit(documents, run, write) -> None:
    page = (documents / "docs" / "formats.md").read_text(encoding="utf-8")
    (instance,) = blocks(documents / "docs" / "formats.md", "json")
    write(instance, "instance.json")
    found = re.search(r'`(\{"format": "pgsr-solution/1".*?\})`', page)
    assert found is not None
    write(json.dumps(json.loads(found[1])), "solution.json")
    assert run("solve", "instance.json").code == 0
    assert run("verify", "instance.json", "solution.json", "--json").record["feasible"] is True
