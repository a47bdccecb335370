"""Published optima: 30 small instances with proven values, and the frozen taxi instance."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest

from pgsr.models.files import read_instance
from pgsr.models.problem import Problem
from pgsr.solvers.base import PointStatus, SolveOptions, Termination
from pgsr.solvers.certificate import certify
from pgsr.solvers.registry import get

HERE = Path(__file__).parent
VECTORS = [
    v
    for v in json.loads(files("pgsr.solvers.conformance").joinpath("vectors.json").read_text())
    if v["model"] == "hierarchical"
]


def problem_of(vector, folder):
    """The vector as a file, through the ordinary reader (which allows the key `expected`)."""
    path = folder / "vector.json"
    path.write_text(json.dumps(vector))
    return read_instance(path).problem


def test_all_vectors_are_there():
    assert len(VECTORS) == 30


@pytest.mark.parametrize("number", range(len(VECTORS)))
@pytest.mark.parametrize("solver", ["dp", "proximity"])
def test_integer_optimum(number, solver, tmp_path):
    problem = problem_of(VECTORS[number], tmp_path)
    solution = get(solver).solve(problem, SolveOptions())
    assert solution.objective == VECTORS[number]["expected"]["integer_optimum"]
    assert isinstance(solution.objective, int)
    assert solution.certificate is True
    assert solution.gap == 0
    assert set(solution.violations.values()) == {0}


@pytest.mark.parametrize("number", range(len(VECTORS)))
def test_relaxed_optimum(number, tmp_path):
    problem = problem_of(VECTORS[number], tmp_path).relaxed()
    solution = get("proximity").solve(problem, SolveOptions())
    # The published values have six decimals.
    assert solution.objective == pytest.approx(
        VECTORS[number]["expected"]["relaxed_optimum"], rel=1e-6, abs=1e-6
    )
    assert solution.certificate is True
    assert solution.point_status is PointStatus.FEASIBLE


@pytest.mark.parametrize("number", range(len(VECTORS)))
def test_a_worse_feasible_point_is_refuted(number, tmp_path):
    problem = problem_of(VECTORS[number], tmp_path)
    worst = np.zeros(problem.target.shape, dtype=np.int64)
    cheapest = int(np.argmin(problem.target[0]))
    path = [0]
    while problem.child_start[path[-1]] < problem.child_start[path[-1] + 1]:
        path.append(int(problem.child_start[path[-1]]))
    worst[path, cheapest] = problem.total
    optimum = VECTORS[number]["expected"]["integer_optimum"]
    proof = certify(problem, worst)
    assert proof.optimal is (problem.objective(worst) == optimum)
    assert proof.bound <= optimum
    if not proof.optimal:
        better = proof.exchange.apply(worst)
        assert set(problem.violations(better).values()) == {0}
        assert problem.objective(better) == problem.objective(worst) + proof.exchange.change
        assert proof.exchange.change < 0


@pytest.fixture(scope="module")
def taxi():
    data = np.load(HERE / "taxi_eps1_instance.npz")
    return Problem(parent=data["parent"], target=data["noisy_hierarchical"], total=int(data["total"]))


@pytest.mark.parametrize("threads", [1, 2])
def test_taxi_integer_optimum(taxi, threads):
    solution = get("proximity").solve(taxi, SolveOptions(threads=threads))
    assert solution.objective == 8_824_784
    assert solution.certificate is True
    assert solution.termination is Termination.OPTIMAL


def test_taxi_relaxed_optimum(taxi):
    solution = get("proximity").solve(taxi.relaxed(), SolveOptions())
    assert solution.objective == pytest.approx(8_820_349.071, rel=1e-9)
    assert solution.certificate is True
