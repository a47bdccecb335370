"""How solves run: threads, ranges, limits, progress, names."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from pgsr.bench.presets import generate
from pgsr.errors import InputError, SolverFault
from pgsr.models.problem import Problem
from pgsr.models.samples import random_problem
from pgsr.solvers import registry
from pgsr.solvers.base import PointStatus, SolveOptions, Termination
from pgsr.solvers.native import schedule


@pytest.fixture(scope="module")
def nation():
    return generate("us", scale=0.002, seed=5).instance().problem


def test_many_ranges_and_threads_give_the_same_answer(nation, monkeypatch):
    whole = registry.get("proximity").solve(nation, SolveOptions(threads=1))
    monkeypatch.setattr(schedule, "_SMALL", 50)
    monkeypatch.setattr(schedule, "_CHUNK", 2_000)
    assert sum(len(group) for group in schedule.ranges(nation)) > 30
    cut = registry.get("proximity").solve(nation, SolveOptions(threads=2))
    assert cut.objective == whole.objective
    assert np.array_equal(cut.x, whole.x), "ranges and threads must not change even the choice among ties"
    assert cut.certificate is True


def test_ranges_cover_every_inner_region_once(monkeypatch):
    monkeypatch.setattr(schedule, "_SMALL", 10)
    monkeypatch.setattr(schedule, "_CHUNK", 20)
    rng = np.random.default_rng(0)
    for _ in range(50):
        problem = random_problem(rng, regions=60, width=3)
        seen = np.zeros(problem.regions, dtype=int)
        done = np.zeros(problem.regions, dtype=bool)
        done[~problem.inner()] = True
        for group in schedule.ranges(problem):
            for first, last in group:
                seen[first:last] += 1
                for region in range(last - 1, first - 1, -1):
                    kids = slice(problem.child_start[region], problem.child_start[region + 1])
                    assert done[kids].all(), "children come before their parents"
                    done[region] = True
        assert np.all(seen[problem.inner()] == 1)


def test_time_limit_without_a_point(nation):
    solution = registry.get("proximity").solve(nation, SolveOptions(time_limit_s=1e-9))
    assert solution.termination is Termination.TIME_LIMIT
    assert solution.point_status is PointStatus.NONE
    assert solution.x is None
    assert solution.certificate is None


def test_progress_is_reported(nation):
    calls = []
    options = SolveOptions(progress=lambda stage, fraction: calls.append((stage, fraction)))
    registry.get("proximity").solve(nation, options)
    assert {stage for stage, _ in calls} >= {"relaxation", "windows up", "windows down", "certificate"}
    assert all(0 <= fraction <= 1 for _, fraction in calls)


def test_names_and_errors():
    assert {"dp", "proximity"} <= set(registry.names())
    with pytest.raises(InputError, match="unknown solver"):
        registry.get("simplex")
    problem = Problem(parent=[-1], target=[[1, 2]], total=2, cumulative=True)
    with pytest.raises(InputError, match="does not take cumulative"):
        registry.get("proximity").solve(problem, SolveOptions())


def test_a_solver_that_cannot_be_loaded_is_a_fault(monkeypatch):
    from importlib.metadata import EntryPoint

    broken = EntryPoint(name="broken", value="no.such.module:Solver", group=registry.GROUP)
    monkeypatch.setattr(registry, "_points", lambda: {"broken": broken})
    with pytest.raises(SolverFault, match="broken"):
        registry.get("broken")


@pytest.mark.parametrize(
    "bad",
    [
        {"time_limit_s": 0},
        {"time_limit_s": float("nan")},
        {"threads": -1},
        {"seed": -1},
        {"time_limit_s": float("inf")},
    ],
)
def test_options_are_checked(bad):
    with pytest.raises(InputError):
        SolveOptions(**bad)


def test_default_is_proximity(nation):
    assert registry.select(nation).name == "proximity"


def test_importing_solvers_loads_no_compiler():
    code = "import sys, pgsr.solvers.registry, pgsr.solvers.certificate; print('numba' in sys.modules)"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "False"


def test_the_choice_goes_by_size_and_preference():
    tiny = Problem(parent=[-1], target=[[1, 2]], total=2, cumulative=True)
    assert registry.select(tiny).name == "cumulative"
    assert registry.select(tiny.relaxed()).name == "splitting"
    assert registry.select(Problem(parent=[-1], target=[[1, 2]], total=2)).name == "proximity"
    wide = Problem(parent=[-1], target=np.arange(500_000)[None, :], total=9, cumulative=True)
    assert registry.select(wide).name == "cumulative"
    named = {solver.name for solver in registry.capable(tiny)}
    assert "topdown" not in named  # heuristics promise nothing
    assert {"window", "cumulative", "highs"} <= named
