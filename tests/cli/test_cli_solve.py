"""`solve`, `verify`, `solvers`: outcomes, exit codes, files, JSON."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from pgsr.mechanism import EstimateError
from pgsr.models.problem import Feature
from pgsr.solvers import registry

SOLVE_KEYS = [
    *("solver", "version", "model", "relaxed", "termination", "point_status", "raw_status", "objective"),
    *("bound", "gap", "gap_relative", "certificate", "violations", "build_s", "solve_s"),
    *("refuted", "details", "trace"),
]
CONDITIONS = {"consistency", "validity", "faithfulness", "monotonicity", "bounds"}

# (parent, noisy, total, integer optimum, optimum of the relaxation)
KNOWN = [
    ([None], [[-3, 2, 3, 4]], 1, 31, 31.0),
    (
        [None, 0, 0, 1, 1, 2],
        [[0, 3, 2, 0], [1, -1, 0, 2], [1, 1, -1, 0], [2, 1, 0, 1], [-1, -1, -1, 0], [0, 3, 0, 0]],
        5,
        17,
        16.1625,
    ),
]


@pytest.fixture(params=KNOWN, ids=["one-region", "three-levels"])
def known(request, instance, write):
    parents, noisy, total, integer, relaxed = request.param
    regions = [
        {"id": f"r{i}", "parent": None if p is None else f"r{p}", "noisy": row}
        for i, (p, row) in enumerate(zip(parents, noisy, strict=True))
    ]
    record = instance(regions, sizes=[1, 2, 3, 4], total=total)
    return write(record), integer, relaxed


def exact_solvers():
    """Names of the available solvers of the integer problem of Model 1."""
    need = {Feature.HIERARCHICAL, Feature.INTEGER, Feature.L2}
    found = [registry.get(name) for name in registry.names()]
    exact = [s for s in found if need <= s.features and not getattr(s, "heuristic", False)]
    return [solver.name for solver in exact if solver.availability().available]


@pytest.mark.parametrize("solver", exact_solvers())
def test_every_solver_reaches_the_known_optimum(run, known, solver) -> None:
    path, integer, _ = known
    done = run("solve", path, "--solver", solver, "--json")
    assert (done.code, done.err) == (0, "")
    record = done.record
    assert list(record) == SOLVE_KEYS
    assert record["objective"] == record["bound"] == integer
    assert type(record["objective"]) is int
    assert record["certificate"] is True
    assert set(record["violations"]) == CONDITIONS
    assert set(record["violations"].values()) == {0}
    assert (record["model"], record["relaxed"], record["gap"]) == ("hierarchical", False, 0)


def test_relaxation(run, known) -> None:
    path, _, relaxed = known
    record = run("solve", path, "--relax", "--json").record
    assert record["relaxed"] is True
    assert record["objective"] == pytest.approx(relaxed, rel=1e-6)


def test_readable_output_fits_80_columns(run, known, tmp_path) -> None:
    path, *_ = known
    for words in (("solve", path), ("solvers",), ("--help",), ("solve", "--help"), ("generate", "--help")):
        done = run(*words)
        assert done.code == 0
        assert max(map(len, done.out.splitlines())) <= 80


@pytest.mark.parametrize("ending", ["json", "parquet"])
@pytest.mark.parametrize("relax", [(), ("--relax",)])
def test_a_solution_written_is_verified(run, known, ending, relax) -> None:
    path, *_ = known
    out = Path(f"solution.{ending}")
    assert run("solve", path, "--out", out, *relax).code == 0
    verdict = run("verify", path, out, *relax, "--json").record
    assert verdict["feasible"] is True
    assert verdict["optimal"] is True
    assert "exchange" not in verdict
    assert not [name for name in Path().iterdir() if name.name.startswith(".")]


def test_a_worse_point_gets_an_improving_exchange(run, write, instance) -> None:
    path = write(instance())
    values = {"all": [10, 0, 0], "01": [5, 0, 0], "02": [5, 0, 0]}
    solution = write(json.dumps({"format": "pgsr-solution/1", "values": values}), "solution.json")
    done = run("verify", path, solution, "--json")
    verdict = done.record
    assert (done.code, verdict["feasible"], verdict["optimal"]) == (0, True, False)
    exchange = verdict["exchange"]
    for side, step in (("raised", 1), ("lowered", -1)):
        for region in exchange[side]["regions"]:
            values[region][exchange[side]["size"]] += step  # sizes are 0, 1, 2: value = place
    write(json.dumps({"format": "pgsr-solution/1", "values": values}), "better.json")
    after = run("verify", path, "better.json", "--json").record
    assert after["feasible"] is True
    assert after["objective"] == verdict["objective"] + exchange["change"]
    assert exchange["change"] < 0
    assert "Better by" in run("verify", path, solution).out


def test_an_infeasible_point_is_a_verdict_not_an_error(run, write, instance) -> None:
    path = write(instance())
    values = {"all": [9, 0, 0], "01": [5, 0, -1], "02": [5, 0, 0]}
    solution = write(json.dumps({"format": "pgsr-solution/1", "values": values}), "solution.json")
    done = run("verify", path, solution, "--json")
    assert done.code == 0
    assert done.record == {
        "feasible": False,
        "violations": {"consistency": 1, "validity": 1, "faithfulness": 1, "monotonicity": 0, "bounds": 0},
        "objective": done.record["objective"],
        "optimal": False,
    }


def test_fractions_are_judged_against_the_integer_problem_unless_relaxed(run, write, instance) -> None:
    path = write(instance())
    run("solve", path, "--relax", "--out", "relaxed.json")
    verdict = run("verify", path, "relaxed.json", "--json").record
    assert (verdict["feasible"], verdict["optimal"]) == (False, False)
    assert run("verify", path, "relaxed.json", "--relax", "--json").record["optimal"] is True


def test_whole_numbers_written_as_floats_count_as_integers(run, write, instance) -> None:
    path = write(instance())
    run("solve", path, "--out", "solution.json")
    record = json.loads(Path("solution.json").read_text(encoding="utf-8"))
    record["values"] = {name: [float(v) for v in row] for name, row in record["values"].items()}
    write(json.dumps(record), "floats.json")
    verdict = run("verify", path, "floats.json", "--json").record
    assert verdict["optimal"] is True
    assert type(verdict["objective"]) is int


def test_a_cumulative_instance_is_solved_and_judged(run, write, instance) -> None:
    regions = [{"id": "r", "parent": None, "noisy": [1, 3, 2]}]
    path = write(instance(regions, model="cumulative", total=4))
    record = run("solve", path, "--out", "solved.json", "--json").record
    assert (record["objective"], record["certificate"]) == (4, True)
    assert run("verify", path, "solved.json", "--json").record["feasible"] is True
    run("solve", path, "--solver", "proximity").refused("does not take", "cumulative")
    solution = write(json.dumps({"format": "pgsr-solution/1", "values": {"r": [1, 2, 4]}}), "solution.json")
    verdict = run("verify", path, solution, "--json").record
    assert (verdict["feasible"], verdict["optimal"], verdict["objective"]) == (True, None, 5)
    solution = write(json.dumps({"format": "pgsr-solution/1", "values": {"r": [3, 2, 4]}}), "falls.json")
    assert run("verify", path, solution, "--json").record["violations"]["monotonicity"] == 1


def test_a_solver_without_a_point_exits_3_and_writes_nothing(run, write, instance) -> None:
    done = run("solve", write(instance()), "--time-limit", "1e-9", "--out", "s.json", "--json")
    assert done.code == 3
    assert len(done.err.splitlines()) == 1
    assert "time_limit" in done.err
    record = done.record
    assert (record["point_status"], record["termination"]) == ("none", "time_limit")
    assert (record["objective"], record["certificate"], record["violations"]) == (None, None, {})
    assert not Path("s.json").exists()


def test_solvers_lists_what_is_registered(run) -> None:
    found = run("solvers", "--json").record["solvers"]
    assert [entry["name"] for entry in found] == list(registry.names())
    for entry in found:
        assert list(entry) == [
            *("name", "available", "reason", "version", "features"),
            *("heuristic", "scale"),
        ]
        assert entry["available"] is (entry["reason"] == "")
        assert entry["features"] == sorted(feature.value for feature in registry.get(entry["name"]).features)


def test_solvers_lists_one_that_cannot_be_loaded(run, monkeypatch) -> None:
    from importlib.metadata import EntryPoint

    broken = EntryPoint(name="broken", value="pgsr.no_such_module:Solver", group=registry.GROUP)
    monkeypatch.setattr(registry, "entry_points", lambda group: (broken,))
    (entry,) = run("solvers", "--json").record["solvers"]
    assert (entry["name"], entry["available"]) == ("broken", False)
    assert "cannot be loaded" in entry["reason"]


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("--threads", "-1"), "negative number of threads"),
        (("--threads", "many"), "--threads"),
        (("--time-limit", "0"), "time limit is not positive"),
        (("--time-limit", "nan"), "time limit is not positive"),
        (("--solver", "nobody"), "unknown solver 'nobody'"),
        (("--frobnicate",), "--frobnicate"),
        (("--out", "solution.txt"), "end its name in .json or .parquet"),
        (("--out", "missing/solution.json"), "folder not found"),
    ],
)
def test_bad_options(run, write, instance, words, text) -> None:
    run("solve", write(instance()), *words).refused(text)
    assert [path.name for path in Path().iterdir()] == ["instance.json"]


def test_usage_errors_are_one_line(run) -> None:
    run("solve").refused("pgsr solve --help")
    run("no-such-command").refused("no-such-command")
    run("ledger", "shew").refused("shew", "pgsr ledger --help")


def test_help_and_version(run) -> None:
    assert "solve" in run().out
    assert "create" in run("ledger").out
    assert run("--version").out.startswith("pgsr ")


def test_a_folder_instance_and_its_solution_keep_the_order_of_the_file(run, tmp_path) -> None:
    assert run("generate", "uniform", "--scale", "0.05", "--out", "folder").code == 0
    # Rows in another order than the tree's: reverse them.
    for name in ("regions", "counts"):
        table = pq.read_table(tmp_path / "folder" / f"{name}.parquet")
        pq.write_table(table.take(np.arange(table.num_rows)[::-1]), tmp_path / "folder" / f"{name}.parquet")
    assert run("solve", "folder", "--out", "solution.parquet").code == 0
    assert run("verify", "folder", "solution.parquet", "--json").record["optimal"] is True
    written = pq.read_table("solution.parquet")
    assert written.num_rows == table.num_rows
    run("verify", "folder", "solution.json").refused("no such file")


def test_faults_of_ours_show_no_foreign_message(run, write, instance, monkeypatch) -> None:
    def fail(*_: object) -> None:
        raise KeyError("secret 4711")

    path = write(instance())
    monkeypatch.setattr("pgsr.models.files.read_instance", fail)
    done = run("solve", path)
    assert (done.code, done.out) == (1, "")
    assert len(done.err.splitlines()) == 1
    assert "KeyError" in done.err
    assert "PGSR_TRACEBACK=1" in done.err
    assert "4711" not in done.err
    monkeypatch.setenv("PGSR_TRACEBACK", "1")
    assert "Traceback" in run("solve", path).err


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (KeyboardInterrupt(), 130),
        (MemoryError(), 1),
        (PermissionError(13, "Permission denied", "file"), 2),
        (EstimateError("solver stopped"), 3),
    ],
)
def test_exit_codes_of_exceptions(run, write, instance, monkeypatch, error, code) -> None:
    def fail(*_: object) -> None:
        raise error

    path = write(instance())
    monkeypatch.setattr("pgsr.models.files.read_instance", fail)
    done = run("solve", path)
    assert (done.code, done.out, len(done.err.splitlines())) == (code, "", 1)
