"""What is installed is what is on disk, and the settings say so."""

from __future__ import annotations

from importlib.metadata import EntryPoint, entry_points
from importlib.resources import files
from pathlib import Path, PurePosixPath
from typing import Any

import pytest

OURS = [*entry_points(group="pgsr.solvers"), *entry_points(group="console_scripts", name="pgsr")]


def package_of(folder: Path, root: Path, package_dir: dict[str, str]) -> str:
    parts = folder.relative_to(root).parts
    name = next(package for package, place in package_dir.items() if place == parts[0])
    return ".".join([name, *parts[1:]])


def test_packages_are_the_folders_with_python_files(
    root: Path, settings: dict[str, Any], package_dir: dict[str, str], modules: list[Path]
) -> None:
    on_disk = {package_of(path.parent, root, package_dir) for path in modules}
    listed = settings["tool"]["setuptools"]["packages"]
    assert sorted(listed) == sorted(on_disk)


def test_every_package_folder_has_an_init(modules: list[Path]) -> None:
    without = {path.parent for path in modules if not (path.parent / "__init__.py").is_file()}
    assert without == set()


def test_every_data_file_is_package_data(
    root: Path, settings: dict[str, Any], package_dir: dict[str, str], repository_files: list[Path]
) -> None:
    patterns: dict[str, list[str]] = settings["tool"]["setuptools"]["package-data"]
    packages = set(settings["tool"]["setuptools"]["packages"])
    missing = []
    for path in repository_files:
        if path.suffix == ".py" or path.relative_to(root).parts[0] not in package_dir.values():
            continue
        # Data belongs to the closest folder above it that is a package.
        home = next(
            folder
            for folder in path.parents
            if folder != root and package_of(folder, root, package_dir) in packages
        )
        name = PurePosixPath(path.relative_to(home).as_posix())
        if not any(name.match(pattern) for pattern in patterns.get(package_of(home, root, package_dir), [])):
            missing.append(path.relative_to(root).as_posix())
    assert missing == []


def test_the_entry_points_are_those_of_the_settings(settings: dict[str, Any]) -> None:
    declared = {**settings["project"]["entry-points"]["pgsr.solvers"], **settings["project"]["scripts"]}
    ours = {entry.name: entry.value for entry in OURS if entry.value.startswith("pgsr.")}
    assert ours == declared, "the installed metadata is old: make test installs it again"


@pytest.mark.parametrize("entry", OURS, ids=lambda entry: f"{entry.group}-{entry.name}")
def test_entry_points_load(entry: EntryPoint) -> None:
    assert callable(entry.load())


def test_the_typing_marker_is_installed() -> None:
    assert files("pgsr").joinpath("py.typed").is_file()
