"""`solve` with back ends: rounding, start, log, gaps, limits, Ctrl-C."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import pytest


@pytest.fixture
def three(instance, write):
    """Three leaves that share two units: rounding the relaxation loses both of them."""
    regions = [{"id": "all", "parent": None, "noisy": [1, 1]}]
    regions += [{"id": name, "parent": "all", "noisy": [0, 0]} for name in "abc"]
    return write(instance(regions, sizes=[1, 2], total=2))


@pytest.fixture
def fractional(instance, write):
    """The smallest Model 2 instance whose linear program is not integral: 48.5 against 49."""
    noisy = {
        "root": [2, 0, 2],
        "m1": [2, 3, 5],
        "m2": [1, 1, 1],
        "a": [-1, 3, 2],
        "b": [4, 0, 5],
        "c": [2, 3, 1],
    }
    parents = {"root": None, "m1": "root", "m2": "root", "a": "m1", "b": "m1", "c": "m2"}
    regions = [{"id": name, "parent": parents[name], "noisy": noisy[name]} for name in noisy]
    record = instance(regions, sizes=[1, 2, 3], total=4)
    return write({**record, "model": "cumulative"})


def large(run, scale, place) -> None:
    """A cumulative instance that back ends do not solve in a moment."""
    made = run("generate", "us", "--scale", scale, "--sizes", "20", "--model", "cumulative", "--out", place)
    assert made.code == 0


def test_rounding_says_what_it_breaks(run, three, tmp_path) -> None:
    out = tmp_path / "rounded.json"
    done = run("solve", three, "--solver", "piqp", "--round", "--out", out, "--json")
    assert (done.code, done.err) == (0, "")
    record = done.record
    assert record["relaxed"] is False
    assert record["point_status"] == "infeasible"
    assert record["violations"]["consistency"] == 1
    assert record["certificate"] is False
    assert record["details"]["rounded"] is True
    assert record["details"]["relaxed_objective"] == pytest.approx(record["bound"], abs=1e-5)
    told = run("verify", three, out, "--json").record
    assert told["feasible"] is False
    assert told["violations"] == record["violations"]


def test_rounding_for_people(run, three) -> None:
    done = run("solve", three, "--solver", "piqp", "--round")
    assert done.code == 0
    assert "relaxation, rounded: not feasible" in done.out
    assert "consistency 1" in done.out


@pytest.mark.parametrize("solver", ["window", "cpsat", "highs"])
def test_strict_counterexample(run, fractional, solver) -> None:
    record = run("solve", fractional, "--solver", solver, "--json").record
    assert record["objective"] == 49
    assert record["termination"] == "optimal"


def test_cumulative_needs_no_name_of_a_solver(run, fractional) -> None:
    record = run("solve", fractional, "--json").record
    assert record["objective"] == 49
    assert record["certificate"] is True


def test_start_from_a_solution_file(run, fractional, tmp_path) -> None:
    out = tmp_path / "first.json"
    run("solve", fractional, "--out", out)
    done = run("solve", fractional, "--solver", "cpsat", "--start", out, "--json")
    assert done.record["objective"] == 49
    run("solve", fractional, "--solver", "cpsat", "--start", tmp_path / "none.json").refused("none.json")


def test_log_file(run, fractional, tmp_path) -> None:
    log = tmp_path / "highs.log"
    done = run("solve", fractional, "--solver", "highs", "--log", log, "--json")
    assert done.record["objective"] == 49  # and nothing else on standard output
    assert "HiGHS" in log.read_text()
    run("solve", fractional, "--solver", "highs", "--log", tmp_path / "no" / "x.log").refused("no")


def test_trace_and_gap(run, fractional) -> None:
    record = run("solve", fractional, "--solver", "highs", "--json").record
    assert record["trace"]
    assert record["trace"][-1][1] == 49
    run("solve", fractional, "--gap", "1").refused("gap")
    run("solve", fractional, "--gap", "-0.1").refused("gap")


def test_missing_feature_is_named(run, fractional) -> None:
    run("solve", fractional, "--solver", "dp").refused("dp", "cumulative")
    run("solve", fractional, "--solver", "piqp").refused("piqp", "integer")


def test_a_limit_is_kept_and_said(run, tmp_path) -> None:
    large(run, "0.0001", tmp_path / "us")
    began = time.monotonic()
    done = run("solve", tmp_path / "us", "--solver", "pyomo-highs", "--time-limit", "0.2", "--json")
    assert time.monotonic() - began < 3.2
    record = done.record
    assert record["termination"] == "time_limit"
    assert done.code == (0 if record["point_status"] == "feasible" else 3)
    assert record["certificate"] is not True


def test_ctrl_c_ends_a_back_end_at_once(tmp_path, run) -> None:
    large(run, "0.0003", tmp_path / "us")
    command = [sys.executable, "-m", "pgsr.cli.main", "solve", str(tmp_path / "us"), "--solver", "highs"]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    time.sleep(4)
    began = time.monotonic()
    os.kill(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=20)
    assert time.monotonic() - began < 3
    assert (process.returncode, out) == (130, "")
    assert err == "interrupted: pgsr solve: nothing was left half-written\n"


def test_solvers_list(run) -> None:
    entries = {entry["name"]: entry for entry in run("solvers", "--json").record["solvers"]}
    for name in (
        "highs",
        "piqp",
        "window",
        "cpsat",
        "mincostflow",
        "dp-table",
        "pyomo-highs",
        "cvxpy-clarabel",
    ):
        assert entries[name]["available"], entries[name]
        assert entries[name]["version"]
    assert json.dumps(entries["scip"]["features"])
