"""Rules that hold for every file: short documented modules, nothing of one machine."""

from __future__ import annotations

import ast
import re
from pathlib import Path

LINES = 350
# Paths of a developer's machine, and places that packages came from, do not travel.
OF_A_MACHINE = re.compile(r"(?<![\w.$}])/(?:work|home|root|Users)/|\.\./shared|pypi\.org|pythonhost(?:ed)")


def test_every_module_has_a_docstring(root: Path, modules: list[Path]) -> None:
    silent = []
    for path in modules:
        text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
        if len(text.split()) < 2:
            silent.append(path.relative_to(root).as_posix())
    assert silent == []


def test_no_module_is_long(root: Path, modules: list[Path]) -> None:
    lengths = {
        path.relative_to(root).as_posix(): len(path.read_text(encoding="utf-8").splitlines())
        for path in modules
    }
    assert {name: length for name, length in lengths.items() if length > LINES} == {}


def test_no_file_names_a_machine(root: Path, repository_files: list[Path]) -> None:
    found = []
    for path in repository_files:
        try:
            lines = path.read_text(encoding="utf-8").splitlines()
        except UnicodeDecodeError:  # packaged data in a binary format
            continue
        place = path.relative_to(root)
        found += [
            f"{place}:{n}: {line[:120]}" for n, line in enumerate(lines, 1) if OF_A_MACHINE.search(line)
        ]
    assert found == []
