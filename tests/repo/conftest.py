"""Fixtures of the tests that look at the repository itself."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture(scope="session")
def root() -> Path:
    for folder in Path(__file__).resolve().parents:
        if (folder / "pyproject.toml").is_file() and (folder / "pgsr").is_dir():
            return folder
    pytest.skip("no source tree: these tests run against an installed wheel")


@pytest.fixture(scope="session")
def settings(root: Path) -> dict[str, Any]:
    return tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))


@pytest.fixture(scope="session")
def package_dir(settings: dict[str, Any]) -> dict[str, str]:
    return settings["tool"]["setuptools"]["package-dir"]


@pytest.fixture(scope="session")
def repository_files(root: Path) -> list[Path]:
    """All files but those that git ignores, found without git: a copy of the tree is enough."""
    lines = (root / ".gitignore").read_text(encoding="utf-8").split()
    ignored = [line.strip("/").split("/")[-1] for line in lines]

    def walk(folder: Path) -> Iterator[Path]:
        for path in sorted(folder.iterdir()):
            if path.name == ".git" or any(fnmatch(path.name, pattern) for pattern in ignored):
                continue
            if path.is_dir():
                yield from walk(path)
            else:
                yield path

    return list(walk(root))


@pytest.fixture(scope="session")
def python_files(root: Path, repository_files: list[Path]) -> list[Path]:
    found = [path for path in repository_files if path.suffix == ".py"]
    assert root / "pgsr" / "__init__.py" in found
    return found


@pytest.fixture(scope="session")
def modules(root: Path, package_dir: dict[str, str], python_files: list[Path]) -> list[Path]:
    """The Python files of the package, without tests, tools and documentation."""
    folders = [root / folder for folder in package_dir.values()]
    return [path for path in python_files if any(path.is_relative_to(folder) for folder in folders)]
