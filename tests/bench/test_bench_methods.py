"""The comparison of methods: resumable runs, right distances, tables that say what was found."""

from __future__ import annotations

import gzip
import json
from fractions import Fraction

import numpy as np
import pytest

from pgsr.bench import methods as module
from pgsr.bench.methods import compare, main, measure, methods
from pgsr.bench.methods_cases import Case, counts_file, errors, flights, noisy_problem, noisy_sizes
from pgsr.bench.methods_tables import broken, report
from pgsr.counts import GroupSizes
from pgsr.errors import InputError, SolverFault
from pgsr.hierarchy import Hierarchy
from pgsr.metrics import emd_by_level, l1_by_level

TREE = Hierarchy.from_columns(["a", "b", "c"], ["", "a", "a"], level_names=("top", "parts"))
TRUTH = GroupSizes.from_leaf_counts(TREE, [1, 2, 3], np.array([[30, 10, 0], [20, 20, 10]]))
TINY = Case(name="tiny", title="A tiny tree", truth=TRUTH)


def row(method, seed=1, **changes):
    return {
        "data": "tiny",
        "epsilon": "1",
        "seed": seed,
        "method": method,
        "solver": "s",
        "limit_s": 10.0,
        "outcome": "ran",
        "version": "1",
        "termination": "optimal",
        "certificate": True,
        "seconds": 0.5,
        "objective": 100,
        "bound": 100,
        "violations": {
            "consistency": 0,
            "validity": 0,
            "faithfulness": 0,
            "monotonicity": 0,
            "bounds": 0,
        },
        "l1": [10, 20],
        "emd": [100, 400],
    } | changes


def cells(text, caption, method):
    """The row of `method` in the table that follows `caption`, without its name."""
    part = text.partition(caption)[2]
    line = next(line for line in part.splitlines() if line.startswith(f"| {method} |"))
    return [cell.strip() for cell in line.strip("|").split("|")][1:]


def test_distances_by_hand():
    """One unit of b goes from size 1 to 3, and a keeps its counts: 2 in L1, two steps in EMD."""
    counts = TRUTH.counts.copy()
    counts[1] += [-1, 0, 1]
    assert errors(TRUTH, counts) == {"l1": [0, 2], "emd": [0, 2]}
    counts[0] += [0, 3, -1]  # cumulative differences 0, 3, 2
    assert errors(TRUTH, counts) == {"l1": [4, 2], "emd": [5, 2]}


def test_distances_of_real_numbers_are_those_of_the_metrics():
    counts = np.random.default_rng(1).integers(-50, 50, TRUTH.counts.shape)
    found = errors(TRUTH, counts.astype(np.float64))
    assert found["l1"] == l1_by_level(TREE, counts, TRUTH.counts).tolist()
    assert found["emd"] == emd_by_level(TREE, counts, TRUTH.counts).tolist()
    assert errors(TRUTH, TRUTH.counts + 0.25) == {"l1": [0.75, 1.5], "emd": [1.5, 3.0]}


def test_noise_has_the_stated_scale_and_is_its_own_for_each_seed_and_kind():
    """Variance of the discrete Laplace: 2 scale^2, nearly; scales 2 L / eps and L / eps with L = 4."""
    truth = flights().truth
    draws = {}
    for cumulative, scale in ((False, 80), (True, 40)):
        clean = truth.cumulative() if cumulative else truth.counts
        for seed in (1, 2):
            problem = noisy_problem(truth, cumulative=cumulative, epsilon=Fraction("0.1"), seed=seed)
            noise = draws[cumulative, seed] = problem.target - clean
            assert noise.var() == pytest.approx(2 * scale**2, rel=0.1)
            assert problem.cumulative is cumulative
    again = noisy_problem(truth, cumulative=True, epsilon=Fraction("0.1"), seed=2)
    np.testing.assert_array_equal(again.target - truth.cumulative(), draws[True, 2])
    flat = [noise.ravel() for noise in draws.values()]
    assert np.abs(np.corrcoef(flat) - np.eye(4)).max() < 0.05


def test_sorted_sizes_are_measured_one_a_unit_and_level():
    noisy = noisy_sizes(TRUTH, epsilon=Fraction(1000), seed=1)  # no noise left
    assert [len(one) for one in noisy] == [90, 40, 50]
    np.testing.assert_array_equal(noisy[1], np.repeat([1, 2], [30, 10]))


def test_runs_end_up_in_files_and_a_lost_line_is_run_again(tmp_path):
    said = []
    rows = compare(tmp_path, [TINY], epsilons=("0.5", "1"), seeds=1, log=said.append)
    chosen = methods()
    assert len(rows) == len(said) == 2 * len(chosen)
    assert {r["outcome"] for r in rows} == {"ran"}
    assert "min left" in said[0]
    assert "0.0 min left" in said[-1]
    by = {(r["method"], r["seed"], r["epsilon"]): r for r in rows}
    for (name, seed, epsilon), found in by.items():
        if name in ("M1 exact", "M2 exact"):
            assert found["objective"] == found["bound"]
            assert found["certificate"] is True
        if name in ("M1 exact", "M1 topdown", "M2 exact", "M2 isotonic-dp", "M2 topdown", "kuo-hg"):
            assert not broken(found), name
        if name.startswith("M2") and not broken(found) and "objective" in found:
            assert found["objective"] >= by["M2 exact", seed, epsilon]["objective"]
    assert by["M2 relaxed", 1, "1"]["objective"] <= by["M2 exact", 1, "1"]["objective"] + 1e-6
    path = tmp_path / "methods.jsonl"
    lines = path.read_text().splitlines(keepends=True)
    assert len(lines) == len(rows)
    path.write_text("".join(lines[:-1]) + lines[-1][:30])
    said.clear()
    again = compare(tmp_path, [TINY], epsilons=("0.5", "1"), seeds=1, log=said.append)
    assert len(said) == 1
    assert again[-1] | {"seconds": 0} == json.loads(lines[-1]) | {"seconds": 0}
    # Fewer draws, or one method: a part of what is there.
    assert len(compare(tmp_path, [TINY], epsilons=("1",), seeds=1, log=said.append)) == len(chosen)
    assert len(said) == 1
    text = report(rows, [TINY], "today")
    assert text.startswith("Measured today.")
    assert "90 units; levels: top (1), parts (2);" in text
    assert text.count("### A tiny tree, epsilon") == 2
    assert all(f"| {method.name} |" in text for method in chosen)


def test_a_broken_solver_and_too_many_units_are_recorded(monkeypatch):
    exact = next(method for method in methods() if method.name == "M1 exact")
    last = methods()[-1]
    assert last.solver == "kuo-hg"

    def fails(*rest):
        raise SolverFault("it broke")

    monkeypatch.setattr(module, "run", fails)
    got = measure(exact, TRUTH, epsilon="1", seed=1, limit_s=1.0)
    assert got == {"outcome": "fault", "reason": "it broke"}
    monkeypatch.setattr(module, "MOST_SORTED", 100)
    assert measure(last, TRUTH, epsilon="1", seed=1, limit_s=1.0) == {"outcome": "left out"}
    text = report([row("M2 exact"), row("kuo-hg") | {"outcome": "left out"}], [TINY], "today")
    assert cells(text, "L1 distance", "kuo-hg") == ["left out", ""]


def test_tables_hold_means_errors_and_multiples():
    rows = [
        row("M2 exact"),
        row("M2 exact", 2, l1=[14, 20], emd=[100, 400]),
        row("M2 topdown", objective=110, bound=None, certificate=None, emd=[150, 600]),
        row("M2 topdown", 2, objective=130, bound=None, certificate=None, emd=[150, 600]),
    ]
    text = report(rows, [TINY], "today")
    # Mean 12, standard deviation sqrt(8), of two draws: standard error 2.
    assert cells(text, "L1 distance", "M2 exact") == ["12 ± 2", "20 ± 0"]
    assert cells(text, "as multiples", "M2 exact") == ["1.000 / 1.000"]
    assert cells(text, "as multiples", "M2 topdown") == ["0.938 / 1.500"]
    assert cells(text, "Objective (mean)", "M2 exact") == ["100", "0", "0", "2 of 2", "0.5"]
    # The largest gap: 30 of 130 units above the bound of the exact solver.
    assert cells(text, "Objective (mean)", "M2 topdown") == ["120", "20 %", "23 %", "", "0.5"]
    assert "No violation in any draw: `M2 exact`, `M2 topdown`." in text


def test_tables_hold_the_largest_violations_and_no_gap_for_tables_that_break_something():
    wrong = row("M2 relax-round")["violations"] | {"consistency": 7, "faithfulness": 2}
    worse = wrong | {"consistency": 3, "faithfulness": 5, "monotonicity": 1e-9}
    real = wrong | {"consistency": 1e-9, "faithfulness": 0, "validity": 0.5}
    rows = [
        row("M2 exact"),
        row("M2 exact", 2),
        row("M2 relax-round", objective=95, bound=90.0, certificate=None, violations=wrong),
        row("M2 relax-round", 2, objective=95, bound=90.0, certificate=None, violations=worse),
        row("M2 relaxed", objective=90.0, bound=90.0, violations=real),
        row("M2 relaxed", 2, objective=90.0, bound=89.1, violations=real),
    ]
    text = report(rows, [TINY], "today")
    assert cells(text, "Largest violation", "M2 relax-round") == ["7", "0", "5", "0"]
    assert cells(text, "Largest violation", "M2 relaxed") == ["0", "0.5", "0", "0"]
    assert cells(text, "Objective (mean)", "M2 relax-round") == ["95", "-5 %", "", "", "0.5"]
    assert cells(text, "Objective (mean)", "M2 relaxed")[:3] == ["90", "-10 %", "1 %"]
    assert "No violation in any draw: `M2 exact`." in text


def test_the_page_gets_the_tables_between_its_markers(tmp_path, monkeypatch):
    few = [method for method in methods() if method.name != "M2 exact"]  # it may start a process each time
    monkeypatch.setattr(module, "methods", lambda: few)
    monkeypatch.setattr(module, "korea", lambda: TINY)
    monkeypatch.setattr(module, "flights", lambda: Case(name="other", title="Others", truth=TRUTH))
    page = tmp_path / "page.md"
    page.write_text("# Kept\n\n<!-- methods -->\nold\n<!-- end of methods -->\n\nkept too\n")
    given = ["--out", str(tmp_path / "out"), "--quick", "--seeds", "1", "--docs", str(page)]
    main(given)
    text = page.read_text()
    assert text.startswith("# Kept\n\n<!-- methods -->\n\nMeasured ")
    assert text.endswith("<!-- end of methods -->\n\nkept too\n")
    assert "old" not in text
    assert "### Others, epsilon 1, 1 draw\n" in text
    assert "epsilon 0.1" not in text
    assert (tmp_path / "out" / "methods.md").read_text().strip() in text
    with pytest.raises(SystemExit):
        main(["--out", str(tmp_path), "--seeds", "0"])


def test_counts_come_from_a_file_of_the_readers(tmp_path):
    path = tmp_path / "counts.csv.gz"
    lines = ["city,half,zone,size,n", "x,up,1,1,30", "x,up,1,2,10", "x,low,1,1,20", "x,low,1,2,20"]
    path.write_bytes(gzip.compress("\n".join([*lines, "x,low,2,4,10"]).encode()))
    found = counts_file(path)
    assert found.hierarchy.level_names == ("all", "half", "zone")
    assert sorted(found.hierarchy.ids.tolist()) == ["all", "low", "low/1", "low/2", "up", "up/1"]
    assert found.sizes.tolist() == [1, 2, 3, 4]
    assert found.counts[0].tolist() == [50, 30, 0, 10]
    path.write_bytes(b"zone,size,count\n7,1,5\n7,2,5\n")
    assert counts_file(path).hierarchy.ids.tolist() == ["all", "7"]
    path.write_bytes(b"size,count\n1,5\n")
    with pytest.raises(InputError, match="levels, size, count"):
        counts_file(path)
