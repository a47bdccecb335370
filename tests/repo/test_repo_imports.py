"""Imports: our folders never shadow a package, and importing pgsr is light."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

import pgsr

FOLDERS = {"models", "solvers", "inequality", "sae"}
HEAVY = {
    "cryptography",
    "cvxpy",
    "dp_accounting",
    "highspy",
    "matplotlib",
    "networkx",
    "numba",
    "ortools",
    "pandas",
    "piqp",
    "polars",
    "pyarrow",
    "pydantic",
    "pyomo",
    "pyscipopt",
    "scipy",
}


def imports_of(path: Path) -> Iterator[tuple[int, str]]:
    """Yield (line, imported module); a relative import begins with dots."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"), str(path))):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.lineno, "." * node.level + (node.module or "")


def test_no_relative_or_bare_imports(root: Path, python_files: list[Path]) -> None:
    found = []
    for path in python_files:
        place = path.relative_to(root)
        # Tests compare with PySAL's package, which owns the bare name.
        banned = FOLDERS - {"inequality"} if place.parts[0] == "tests" else FOLDERS
        for line, name in imports_of(path):
            if name.startswith(".") or name.split(".")[0] in banned:
                found.append(f"{place}:{line}: {name}")
    assert found == []


def test_bare_inequality_is_the_package_of_pysal() -> None:
    spec = find_spec("inequality")
    if spec is None or spec.origin is None:
        pytest.skip("PySAL's inequality is not installed (it is in the test group)")
    assert "site-packages" in Path(spec.origin).parts, "set PYTHONSAFEPATH=1, as the Makefile does"


@pytest.mark.parametrize("name", sorted(FOLDERS - {"inequality"}))
def test_folders_are_no_packages_of_their_own(name: str) -> None:
    assert find_spec(name) is None, "set PYTHONSAFEPATH=1, as the Makefile does"


@pytest.mark.parametrize("module", ["pgsr", "pgsr.models", "pgsr.solvers"])
def test_import_is_light(module: str) -> None:
    code = f"import {module}, sys; print(*sorted({{name.split('.')[0] for name in sys.modules}}))"
    run = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONSAFEPATH": "1"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    loaded = set(run.stdout.split())
    assert "pgsr" in loaded
    assert loaded & HEAVY == set()


def test_public_names_load_and_match_the_list() -> None:
    """Every name of `dir(pgsr)` is there, also for type checkers, and unknown ones are refused."""
    source = Path(pgsr.__file__).read_text(encoding="utf-8")
    for name in dir(pgsr):
        assert getattr(pgsr, name).__name__ == name
        assert f"import {name} as {name}" in source
    with pytest.raises(AttributeError, match="nothing"):
        _ = pgsr.nothing
