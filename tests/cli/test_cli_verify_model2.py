"""`verify` for Model 2: proofs from files alone, and multipliers that lie prove nothing."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from importlib.resources import files
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pgsr.models.files import read_instance, read_multipliers, read_solution, write_solution
from pgsr.models.problem import Problem
from pgsr.models.samples import enumerate_tables
from pgsr.solvers.adapters.window import WindowSolver
from pgsr.solvers.base import SolveOptions, Termination
from pgsr.solvers.certificate import assess, certify, reassessed
from pgsr.solvers.native.duality import on_grid
from pgsr.solvers.native.multipliers import multiplier_bound
from pgsr.solvers.running import run as run_solver

VECTORS = [
    v
    for v in json.loads(files("pgsr.solvers.conformance").joinpath("vectors.json").read_text())
    if v["model"] == "cumulative"
]
WEIGHTS = ["unit", "threes", "dyadic", "equal", "large"]
ONE = SolveOptions(threads=1)

# The linear program of interpolated squares comes to 48.5, so that the bound rounds up to the optimum 49.
STRICT = {
    "format": "pgsr-instance/1",
    "model": "cumulative",
    "sizes": [0, 1, 2],
    "total": 4,
    "regions": [
        {"id": code, "parent": parent, "noisy": noisy}
        for code, parent, noisy in [
            ("0", None, [2, 0, 2]),
            ("01", "0", [2, 3, 5]),
            ("02", "0", [1, 1, 1]),
            ("011", "01", [-1, 3, 2]),
            ("012", "01", [4, 0, 5]),
            ("021", "02", [2, 3, 1]),
        ]
    ],
}


@pytest.fixture(autouse=True)
def _in_this_process(monkeypatch) -> None:
    """A process for each of a hundred small problems would take minutes; one test has them."""
    monkeypatch.setattr(WindowSolver, "interruptible", True)


def plain(vector):
    return {key: value for key, value in vector.items() if key != "expected"}


@pytest.mark.parametrize("ending", ["json", "parquet"])
@pytest.mark.parametrize("number", range(len(VECTORS)))
def test_the_proof_travels_in_the_file(run, write, number, ending) -> None:
    path = write(plain(VECTORS[number]))
    out = Path(f"s.{ending}")
    assert run("solve", path, "--solver", "window", "--threads", 1, "--out", out).code == 0
    optimum = VECTORS[number]["expected"]["integer_optimum"]
    assert run("verify", path, out, "--json").record == {
        "feasible": True,
        "violations": dict.fromkeys(["consistency", "validity", "faithfulness", "monotonicity", "bounds"], 0),
        "objective": optimum,
        "optimal": True,
        "bound": optimum,
        "gap": 0,
        "proof": "exact integers",
    }


def test_a_bound_between_two_objectives(run, write) -> None:
    path = write(STRICT)
    done = run("solve", path, "--solver", "window", "--threads", 1, "--out", "s.json")
    assert "with multipliers that prove the bound" in done.out
    record = json.loads(Path("s.json").read_text())
    assert set(record["multipliers"]["values"]) == {"0", "01", "02"}
    prices = read_multipliers("s.json", read_instance(path))
    assert Fraction(48) < multiplier_bound(read_instance(path).problem, prices).bound <= Fraction(97, 2)
    verdict = run("verify", path, "s.json", "--json").record
    assert (verdict["optimal"], verdict["objective"], verdict["bound"]) == (True, 49, 49)
    shown = run("verify", path, "s.json").out
    assert "feasible, optimal, proven" in shown
    assert "exact integers" in shown


@pytest.mark.parametrize("weights", WEIGHTS)
def test_the_grid_of_the_file_costs_nothing(tmp_path, weights) -> None:
    """Whatever the weights and so the steps of the objective: the file proves what the solver had proven."""
    rng = np.random.default_rng(5)
    proven = 0
    for _ in range(12):
        instance = random_instance(tmp_path, rng, weights)
        solution = WindowSolver().solve(instance.problem, ONE)
        assert solution.proof is not None
        prices, grid = on_grid(solution)
        for ending in ("json", "parquet"):
            write_solution(solution.x, instance, tmp_path / f"s.{ending}", prices, grid=grid)
            back = read_multipliers(tmp_path / f"s.{ending}", instance)
            assert np.array_equal(back, prices)
            found = certify(instance.problem, solution.x, multipliers=back)
            assert found.bound >= solution.proof.bound
            assert found.optimal is solution.certificate
        proven += solution.certificate is True
    assert proven >= 10


def random_instance(folder, rng, weights="unit"):
    """A random small instance with inner regions, through its file."""
    middle = int(rng.integers(1, 3))
    leaves = np.sort(np.concatenate([np.arange(middle), rng.integers(0, middle, rng.integers(0, 3))]))
    parent = np.concatenate([[-1], np.zeros(middle, dtype=np.int64), 1 + leaves])
    width, total = int(rng.integers(1, 4)), int(rng.integers(0, 5))
    weight = {
        "unit": np.ones(parent.size),
        "threes": 3.0 * rng.integers(1, 4, parent.size),
        "dyadic": rng.integers(1, 9, parent.size) / 8.0,
        "equal": np.full(parent.size, 0.3),
        "large": np.full(parent.size, 2.0**30),
    }[weights]
    noisy = rng.integers(-4, total + 5, (parent.size, width)).tolist()
    regions = [
        {"id": f"r{i}", "parent": None if i == 0 else f"r{parent[i]}", "noisy": noisy[i], "weight": weight[i]}
        for i in range(parent.size)
    ]
    record = {"format": "pgsr-instance/1", "model": "cumulative", "sizes": list(range(width))}
    path = folder / "random.json"
    path.write_text(json.dumps(record | {"total": total, "regions": regions}))
    return read_instance(path)


def every_table(problem: Problem):
    """All feasible cumulative tables of a small problem, with their objectives."""
    plain_problem = Problem(parent=problem.parent, target=problem.target, total=problem.total)
    for table in enumerate_tables(plain_problem):
        x = np.cumsum(table, axis=1)
        assert max(problem.violations(x).values()) == 0
        yield x, problem.exact_objective(x)


@pytest.mark.parametrize("seed", range(6))
def test_broken_multipliers_prove_nothing_wrong(run, tmp_path, seed) -> None:
    rng = np.random.default_rng(seed)
    instance = random_instance(tmp_path, rng)
    tables = list(every_table(instance.problem))
    optimum = min(value for _, value in tables)
    run("solve", "random.json", "--solver", "window", "--threads", 1, "--out", "s.json")
    good = json.loads(Path("s.json").read_text())
    weaker = 0
    for trial in range(24):
        broken = json.loads(json.dumps(good))
        spread = [1, 3, 1000, 2**45][trial % 4]
        given = broken["multipliers"]
        if trial % 3 == 0:
            given["grid"] = int(rng.integers(0, 41))
        for row in given["values"].values():
            row[:] = [entry + int(rng.integers(-spread, spread + 1)) for entry in row]
        x, value = tables[int(rng.integers(len(tables)))]
        broken["values"] = dict(zip(instance.hierarchy.ids.tolist(), x.tolist(), strict=True))
        Path("b.json").write_text(json.dumps(broken))
        verdict = run("verify", "random.json", "b.json", "--json").record
        assert verdict["feasible"] is True
        assert verdict["bound"] <= optimum
        assert verdict["gap"] == value - verdict["bound"]
        assert verdict["optimal"] is (True if value == optimum == verdict["bound"] else None)
        weaker += verdict["bound"] < optimum
    assert weaker > 0


def test_a_worse_table_with_the_same_multipliers(run, tmp_path, write) -> None:
    path = write(STRICT)
    run("solve", path, "--solver", "window", "--threads", 1, "--out", "s.json")
    record = json.loads(Path("s.json").read_text())
    instance = read_instance(path)
    worse = 0
    for x, value in list(every_table(instance.problem))[:40]:
        record["values"] = dict(zip(instance.hierarchy.ids.tolist(), x.tolist(), strict=True))
        verdict = run("verify", path, write(record, "w.json"), "--json").record
        if value > 49:
            assert (verdict["feasible"], verdict["optimal"]) == (True, None)
            assert (verdict["objective"], verdict["bound"], verdict["gap"]) == (value, 49, value - 49)
            assert verdict["proof"] == "exact integers"
            assert "exchange" not in verdict
            worse += 1
    assert worse > 10
    assert "optimality not known" in run("verify", path, "w.json").out


def test_an_infeasible_table_with_good_multipliers(run, write) -> None:
    path = write(STRICT)
    run("solve", path, "--solver", "window", "--threads", 1, "--out", "s.json")
    record = json.loads(Path("s.json").read_text())
    record["values"]["011"][0] += 1
    verdict = run("verify", path, write(record, "w.json"), "--json").record
    assert (verdict["feasible"], verdict["optimal"]) == (False, False)
    assert list(verdict) == ["feasible", "violations", "objective", "optimal"]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"grid": 41}, ["the grid"]),
        ({"values": {}}, ["region '0'", "without multipliers"]),
        ({"values": {"0": [1, 2], "01": [0, 0, 0], "02": [0, 0, 0]}}, ["region '0'", "2 entries"]),
        ({"values": {"0": [1, 2, 0.5], "01": [0, 0, 0], "02": [0, 0, 0]}}, ["region '0'", "whole number"]),
        ({"values": {"0": [1, 2, 2**60], "01": [0, 0, 0], "02": [0, 0, 0]}}, ["region '0'", "2^53"]),
        ({"values": {"zz": [0, 0, 0]}}, ["unknown region", "'zz'"]),
        ({"extra": 1}, ["unknown key 'extra'"]),
    ],
)
def test_malformed_multipliers_are_refused_in_one_line(run, write, change, words) -> None:
    path = write(STRICT)
    run("solve", path, "--solver", "window", "--threads", 1, "--out", "s.json")
    record = json.loads(Path("s.json").read_text())
    record["multipliers"].update(change)
    run("verify", path, write(record, "w.json"), "--json").refused("w.json", *words)


def test_multipliers_are_refused_for_model_1(run, write) -> None:
    path = write(STRICT)
    run("solve", path, "--solver", "window", "--threads", 1, "--out", "s.json")
    other = write({**STRICT, "model": "hierarchical"}, "other.json")
    run("verify", other, "s.json").refused("s.json", "hierarchical")


def test_model_1_tells_bound_and_proof_too(run, write, instance) -> None:
    path = write(instance())
    record = run("solve", path, "--out", "s.json", "--json").record
    assert "multipliers" not in json.loads(Path("s.json").read_text())
    verdict = run("verify", path, "s.json", "--json").record
    assert (verdict["optimal"], verdict["gap"], verdict["proof"]) == (True, 0, "exact integers")
    assert verdict["bound"] == verdict["objective"] == record["objective"]
    run("solve", path, "--relax", "--out", "relaxed.json")
    assert run("verify", path, "relaxed.json", "--relax", "--json").record["proof"] == "float"


def test_a_relaxation_is_proven_from_its_file(run, write) -> None:
    path = write(STRICT)
    run("solve", path, "--relax", "--solver", "splitting", "--threads", 1, "--out", "s.parquet")
    verdict = run("verify", path, "s.parquet", "--relax", "--json").record
    assert (verdict["optimal"], verdict["proof"]) == (True, "float")
    assert 0 <= verdict["gap"] <= 1e-6 * verdict["objective"]


def test_prove_computes_multipliers_for_anybodys_table(run, write) -> None:
    for vector in VECTORS[:12]:
        path = write(plain(vector))
        run("solve", path, "--solver", "window", "--threads", 1, "--out", "s.json")
        record = json.loads(Path("s.json").read_text())
        del record["multipliers"]
        bare = write(record, "bare.json")
        verdict = run("verify", path, bare, "--json").record
        assert (verdict["optimal"], verdict["bound"], verdict["gap"], verdict["proof"]) == (
            *(None, None),
            *(None, None),
        )
        verdict = run("verify", path, bare, "--prove", "--json").record
        optimum = vector["expected"]["integer_optimum"]
        assert (verdict["optimal"], verdict["bound"], verdict["gap"]) == (True, optimum, 0)


def test_prove_keeps_the_better_bound(run, write) -> None:
    path = write(STRICT)
    run("solve", path, "--solver", "window", "--threads", 1, "--out", "s.json")
    record = json.loads(Path("s.json").read_text())
    good = json.loads(json.dumps(record))
    for row in record["multipliers"]["values"].values():
        row[:] = [0] * len(row)
    weak = write(record, "weak.json")
    assert run("verify", path, weak, "--json").record["optimal"] is None
    assert run("verify", path, weak, "--prove", "--json").record["optimal"] is True
    assert run("verify", path, weak, "--prove", "--time-limit", "1e-9", "--json").code == 0
    assert run("verify", path, write(good, "s.json"), "--prove", "--json").record["optimal"] is True


def test_prove_refuses_what_it_cannot_do(run, write) -> None:
    path = write({**STRICT, "loss": "l1"})
    run("solve", path, "--solver", "window", "--threads", 1, "--out", "s.json")
    record = json.loads(Path("s.json").read_text())
    record.pop("multipliers", None)
    bare = write(record, "bare.json")
    run("verify", path, bare, "--prove").refused("--prove")
    for limit in ("0", "nan", "inf"):
        run("verify", path, bare, "--prove", "--time-limit", limit).refused("time limit")


def test_absolute_values_travel_too(run, write) -> None:
    path = write({**STRICT, "loss": "l1"})
    run("solve", path, "--solver", "window", "--threads", 1, "--out", "s.json")
    verdict = run("verify", path, "s.json", "--json").record
    assert (verdict["optimal"], verdict["proof"]) == (True, "exact integers")


def test_multipliers_cross_the_process_of_a_solver(write) -> None:
    instance = read_instance(write(STRICT))
    here = run_solver(WindowSolver(), instance.problem, ONE, isolate=False)
    there = run_solver(WindowSolver(), instance.problem, ONE, isolate=True)
    assert here.multipliers.shape == there.multipliers.shape == (3, 3)
    assert np.array_equal(here.multipliers, there.multipliers)
    assert "multipliers" not in repr(here)


def outcome(problem, x, multipliers):
    return assess(
        problem,
        x,
        solver="nobody",
        version="",
        termination=Termination.UNKNOWN,
        raw_status="",
        build_s=0.0,
        solve_s=0.0,
        multipliers=multipliers,
    )


def test_what_proves_nothing_is_not_written(write, tmp_path) -> None:
    instance = read_instance(write(STRICT))
    x = read_solution_of(instance)
    assert on_grid(outcome(instance.problem, x, None)) is None
    assert on_grid(outcome(instance.problem, x, np.full((3, 3), 1e6))) is None  # its bound is negative
    assert on_grid(outcome(instance.problem, x, np.zeros((6, 3)))) is not None


@pytest.mark.parametrize(("weight", "grid"), [(1.0, 4), (3.0, 4), (0.125, 7), (2.0**30, 0)])
def test_the_grid_is_the_coarsest_that_proves(write, weight, grid) -> None:
    """Half steps of the objective do not prove this table, sixteenths do, whatever the step."""
    regions = [{**region, "weight": weight} for region in STRICT["regions"]]
    problem = read_instance(write({**STRICT, "regions": regions})).problem
    solution = WindowSolver().solve(problem, ONE)
    assert solution.certificate is True
    prices, found = on_grid(solution)
    assert found == grid
    assert np.array_equal(prices, np.rint(prices * 16 / weight) * weight / 16)


def test_a_record_made_elsewhere_is_judged_with_its_multipliers(write) -> None:
    solution = WindowSolver().solve(read_instance(write(STRICT)).problem, ONE)
    bare = replace(solution, certificate=None, proof=None, bound=None, assessed=False)
    again = reassessed(bare, ONE)
    assert (again.certificate, again.bound) == (True, 49)
    assert np.array_equal(again.multipliers, solution.multipliers)


def read_solution_of(instance):
    found = WindowSolver().solve(instance.problem, ONE)
    write_solution(found.x, instance, "x.json")
    return read_solution("x.json", instance)


def test_large_files_keep_rows_and_multipliers_together(run, tmp_path) -> None:
    """Regions in another order than the tree's, from a folder."""
    assert run("generate", "uniform", "--model", "cumulative", "--scale", "0.02", "--out", "folder").code == 0
    for name in ("regions", "counts"):
        table = pq.read_table(tmp_path / "folder" / f"{name}.parquet")
        pq.write_table(table.take(pa.array(np.arange(table.num_rows)[::-1])), f"folder/{name}.parquet")
    solved = run("solve", "folder", "--solver", "window", "--threads", 1, "--out", "s.parquet", "--json")
    verdict = run("verify", "folder", "s.parquet", "--json").record
    assert verdict["bound"] >= solved.record["bound"] > 0
    assert verdict["optimal"] is solved.record["certificate"]
