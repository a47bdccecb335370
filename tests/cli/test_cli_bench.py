"""`pgsr bench`: a suite by its name or its file, continued where it stopped; listed, planned, added to."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pgsr.bench.results import RESULTS, read_results

SUITE = """
format = "pgsr-suite/1"
name = "tiny"
title = "Tiny"
time_limit_s = 5
memory_limit_gb = 4

[[group]]
family = "sae"
instances = ["brfss-like"]
methods = ["direct", "predictor"]
"""


@pytest.fixture
def tiny(write, tmp_path) -> Path:
    path = tmp_path / "tiny.toml"
    path.write_text(SUITE, encoding="utf-8")
    return path


def test_a_suite_runs_once_and_is_continued_after_that(run, tiny) -> None:
    first = run("bench", tiny, "--out", "out", "--json")
    assert (first.code, first.err) == (0, "")
    assert first.record["runs"] == first.record["run_now"] == 2
    assert first.record["outcomes"] == {"ran": 2}
    rows = read_results(Path("out"))
    again = run("bench", tiny, "--out", "out", "--json")
    assert (again.record["run_now"], again.record["runs"]) == (0, 2)
    assert read_results(Path("out")) == rows
    text = run("bench", "run", "--out", "out", tiny)
    assert text.code == 0
    assert "tiny: 2 runs, 0 of them now" in text.out
    assert "next: pgsr report out" in text.out


def test_a_dry_run_writes_nothing_and_lists_the_keys(run, tiny) -> None:
    done = run("bench", tiny, "--out", "out", "--only", "direct", "--dry-run", "--json")
    assert done.record["keys"] == ["brfss-like | seed 1 | direct | 5 s | 4 GB"]
    assert (done.record["todo"], done.record["longest_s"]) == (1, 5.0)
    shown = run("bench", "smoke", "--out", "out", "--dry-run")
    assert shown.code == 0
    assert "all at their limits" in shown.out
    assert not Path("out").exists()


def test_the_suites_are_listed(run) -> None:
    listed = run("bench", "list", "--json").record["suites"]
    assert {one["suite"] for one in listed} >= {"smoke", "solvers", "exact-vs-relaxed", "mechanisms", "scale"}
    assert all(one["runs"] > 0 and one["title"] for one in listed)
    assert "smoke" in run("bench", "list").out
    assert run("bench").out == run("bench", "--help").out


def test_what_cannot_be_run_is_refused(run, tiny, tmp_path) -> None:
    run("bench", "everything", "--out", "out").refused("unknown suite 'everything'", "smoke")
    run("bench", "smoke").refused("--out")
    run("bench", tiny, "--out", "no/such/folder").refused("folder not found")
    run("bench", tiny, "--out", tiny).refused("is a file")
    run("bench", tiny, "--out", "out", "--only", "nothing").refused("no run has 'nothing'")
    run("bench", tiny, "--out", "out", "--jobs", "0").refused("--jobs")
    tiny.write_text(SUITE.replace("direct", "guess"), encoding="utf-8")
    run("bench", tiny, "--out", "out").refused("tiny.toml, group.1", "unknown method 'guess'")
    tiny.write_text(SUITE, encoding="utf-8")
    run("bench", tiny, "--out", "out", "--again", "broken").refused("unknown outcome 'broken'", "--again")
    run("bench", "smok", "--out", "out").refused("did you mean 'smoke'?")
    assert not Path("out").exists()
    Path("out").mkdir()
    (Path("out") / RESULTS).write_text("junk", encoding="utf-8")
    run("bench", tiny, "--out", "out").refused("the file is not Parquet", "move it away")


def test_runs_are_done_again_when_asked_for(run, tiny) -> None:
    assert run("bench", tiny, "--out", "out", "--json").code == 0
    rows = {row["method"]: row for row in read_results(Path("out"))}
    planned = run("bench", tiny, "--out", "out", "--again", "ran", "--only", "direct", "--dry-run")
    assert "of them again" in planned.out
    done = run("bench", tiny, "--out", "out", "--again", "ran", "--only", "direct", "--json")
    assert done.record["run_now"] == 1
    after = {row["method"]: row for row in read_results(Path("out"))}
    assert after["predictor"] == rows["predictor"]
    assert after["direct"]["wall_s"] != rows["direct"]["wall_s"]


def test_a_full_disk_is_said_with_the_file(run, tiny, monkeypatch) -> None:
    import pyarrow.parquet as pq

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(pq, "write_table", full)
    done = run("bench", tiny, "--out", "out", "--only", "direct")
    assert done.code == 2
    assert "out/results.parquet: free some space" in done.err


def test_control_c_is_one_line_that_says_how_to_go_on(tiny, tmp_path) -> None:
    tiny.write_text(SUITE.replace("[[group]]", "seeds = 200\n[[group]]"), encoding="utf-8")
    process = subprocess.Popen(
        [sys.executable, "-m", "pgsr.cli.main", "bench", str(tiny), "--out", "out"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    end = time.monotonic() + 60
    while not (tmp_path / "out" / RESULTS).exists() and time.monotonic() < end:
        time.sleep(0.05)
    os.kill(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert (process.returncode, out) == (130, "")
    assert err.splitlines()[-1].startswith("interrupted: pgsr bench")
    assert "the same command goes on from there" in err
    assert len(read_results(tmp_path / "out")) >= 1


def test_solutions_and_results_made_elsewhere_are_added(run, tiny) -> None:
    assert run("bench", tiny, "--out", "out", "--only", "direct", "--json").code == 0
    name = "uniform:scale=0.008,sizes=3"
    about = ("--model", "hierarchical", "--epsilon", "1/2", "--seed", "3")
    assert run("bench", "instance", name, *about, "--out", "problem.json").code == 0
    assert run("solve", "problem.json", "--out", "answer.json").code == 0
    added = run(
        "bench", "add", "out", "answer.json", "--instance", name, "--method", "mine", *about, "--json"
    )
    assert (added.record["kind"], added.record["certificate"]) == ("exact", True)
    assert added.record["broken_sums"] == 0
    assert run("bench", tiny, "--out", "other", "--json").code == 0
    merged = run("bench", "add", "out", "other/results.parquet", "--json")
    # The direct estimates were run in both, at other times: the same key with another row is refused.
    merged.refused("both have a result of this run")
    run("bench", "add", "out", "answer.json", "--method", "mine").refused("--instance")
    run("bench", "add", "out", "answer.json").refused("a solution needs --instance NAME and --method NAME")
    words = ("bench", "add", "out", "answer.json", "--instance", name, "--method", "mine")
    # `pgsr solve` states the problem, so that the wrong seed is found; --problem finds it in all files.
    run(*words, "--model", "hierarchical", "--epsilon", "1/2").refused(
        "solution is one of another problem", "seed 1"
    )
    bare = json.loads(Path("answer.json").read_text(encoding="utf-8"))
    del bare["fingerprint"]
    Path("answer.json").write_text(json.dumps(bare), encoding="utf-8")
    wrong = (*about[:-1], "5")
    run(*words, *wrong, "--problem", "problem.json").refused("the file holds another problem", "seed 5")
    run(*words, *about, "--seconds", "2").refused("another result of this run", "--replace")
    assert run(*words, *about, "--seconds", "2", "--replace", "--problem", "problem.json").code == 0
    doubted = run("bench", "add", "out", "answer.json", "--instance", name, "--method", "other", *wrong)
    assert "--problem FILE checks it" in " ".join(doubted.out.split())
    run("bench", "add", "nowhere", "answer.json", "--method", "m", "--instance", name).refused("no folder")
    assert run("bench", tiny, "--out", "out", "--json").record["others"] == 2
