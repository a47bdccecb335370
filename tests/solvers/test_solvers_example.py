"""The worked example of docs/add-a-solver.md: the page shows the file as it is, and it conforms."""

from __future__ import annotations

import re
import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import numpy as np
import pytest

from pgsr.solvers import registry
from pgsr.solvers.base import Termination
from pgsr.solvers.conformance import CHECKS, named, parameters, settle
from pgsr.solvers.running import run

HERE = Path(__file__).parent
PAGE = HERE.parents[1] / "docs" / "add-a-solver.md"

sys.path.insert(0, str(HERE))
try:
    from example_solver import ScipyMilpSolver
finally:
    sys.path.remove(str(HERE))


needs_page = pytest.mark.skipif(not PAGE.exists(), reason="needs the source tree: the page is in docs/")


@pytest.fixture
def importable(monkeypatch):
    """As if the example were installed, also for other processes."""
    monkeypatch.syspath_prepend(str(HERE))


def blocks(kind):
    return re.findall(rf"```{kind}\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL)


@needs_page
def test_the_page_shows_the_file():
    assert (HERE / "example_solver.py").read_text(encoding="utf-8") in blocks("python")


@pytest.mark.parametrize("item", parameters(ScipyMilpSolver()))
def test_the_example_conforms(item, importable):
    settle(item)


@needs_page
def test_the_example_is_registered_like_any_other(monkeypatch):
    text = "\n".join(blocks("toml"))
    value = re.search(r'^scipy-milp = "my_package\.(\S+)"$', text, flags=re.MULTILINE)
    point = EntryPoint(name="scipy-milp", value=value[1], group=registry.GROUP)
    monkeypatch.setattr(registry, "_points", lambda: {"scipy-milp": point})
    assert isinstance(registry.get("scipy-milp"), ScipyMilpSolver)
    assert registry.names() == ("scipy-milp",)
    assert [solver.name for solver in registry.capable(named("model2-plain").problem)] == ["scipy-milp"]


def test_the_example_runs_in_a_process_of_its_own(importable):
    solution = run(ScipyMilpSolver(), named("model2-fractional").problem, isolate=True)
    assert solution.termination is Termination.OPTIMAL
    assert solution.objective == 49
    assert solution.x.dtype == np.int64


@needs_page
def test_the_page_names_what_there_is():
    text = PAGE.read_text(encoding="utf-8")
    for name in re.findall(r"^\| `(\w+)` \|", text, flags=re.MULTILINE):
        assert name in {check.name for check in CHECKS} | {
            *("scale", "accuracy", "heuristic", "interruptible", "preference"),
        }, name
    for check in CHECKS:
        assert f"`{check.name}`" in text, check.name


@needs_page
def test_the_python_of_the_page_runs(importable):
    """The blocks on running the suite, word for word."""
    space = {"ScipyMilpSolver": ScipyMilpSolver}
    ran = 0
    for block in blocks("python"):
        if "conformance" in block:
            code = block.replace("from my_package.example_solver", "from example_solver")
            exec(compile(code, str(PAGE), "exec"), space)
            ran += 1
    assert ran == 3


def test_without_its_library_the_example_says_what_to_install(monkeypatch):
    from pgsr.solvers.adapters import adapter

    monkeypatch.setattr(adapter, "find_spec", lambda name: None)
    assert ScipyMilpSolver().availability().reason == "scipy is not installed: pip install scipy"
