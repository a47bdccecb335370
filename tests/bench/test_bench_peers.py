"""Stock solvers on the same matrices find the same optima: an independent check of `proximity`."""

from __future__ import annotations

import json
import sys

import numpy as np
import pytest

from pgsr.bench import foundation, process
from pgsr.bench.peers import highs_window, piqp_relaxation
from pgsr.bench.presets import generate
from pgsr.models.samples import random_problem
from pgsr.solvers.base import SolveOptions
from pgsr.solvers.registry import get


@pytest.mark.parametrize("seed", range(12))
def test_highs_and_piqp_agree_with_proximity(seed):
    rng = np.random.default_rng(seed)
    weights = ("unit", "dyadic", "float")[seed % 3]
    problem = random_problem(rng, regions=30, width=5, total=60, noise=20, weights=weights)
    relaxed = get("proximity").solve(problem.relaxed(), SolveOptions())
    _, x, _ = piqp_relaxation(problem)
    assert problem.relaxed().objective(x) == pytest.approx(relaxed.objective, rel=1e-6, abs=1e-5)
    _, table, value, status = highs_window(problem, relaxed.x)
    assert status == "kOptimal"
    integers = np.rint(table).astype(np.int64)
    assert np.abs(table - integers).max() < 1e-6
    assert value == pytest.approx(float(problem.objective(integers)), rel=1e-12, abs=1e-9)
    assert max(problem.violations(integers).values()) == 0
    solution = get("proximity").solve(problem, SolveOptions())
    assert problem.objective(integers) == pytest.approx(solution.objective, rel=1e-12)


def test_a_process_is_measured_and_killed():
    run = process.run_python(["-c", "import json; x = bytearray(10**8); print(json.dumps({'a': 1}))"], 60.0)
    assert run.output == {"a": 1}
    assert run.wall_s > 0
    hung = process.run_python(["-c", "import time; time.sleep(60)"], 0.5)
    assert hung.output is None
    assert hung.wall_s < 20
    assert process.run_python(["-c", "raise SystemExit(3)"], 60.0).output is None


def test_report_of_results():
    row = {"scale": 0.01, "regions": 114_115, "entries": 798_805, "wall_s": 2.5, "certificate": True}
    text = foundation.markdown({"date": "2000-01-01", "machine": {"cores": "2"}, "scale": [row]})
    assert "| 0.01 | 114,115 | 798,805 | 2.5 |" in text
    assert "cores 2" in text


@pytest.mark.slow
def test_the_benchmark_runs(tmp_path):
    foundation.main(["--out", str(tmp_path), "--quick"])
    report = json.loads((tmp_path / "foundation.json").read_text())
    assert {"noise", "scale", "peers", "machine"} <= set(report)
    assert all(row["certificate"] for row in report["scale"])
    assert all(row["ratio"] for row in report["peers"])
    for row in report["peers"]:
        assert row["peer_objective"] == pytest.approx(row["proximity_objective"], rel=1e-6)
    assert all(row["certificate"] for row in report["windows"])
    for row in report["nation"]:
        assert row["worst_violation"] == 0
        assert row["certificate"] is True
        assert row["proven_gap"] == 0
    assert all(row["objective"] == pytest.approx(row["bare_value"]) for row in report["windows"])
    assert (tmp_path / "foundation.md").read_text().startswith("Measured")
    assert generate.__module__ in sys.modules
