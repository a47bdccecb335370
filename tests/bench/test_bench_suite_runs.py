"""Running suites: fresh processes, hard limits, nothing lost when it is killed, the same rows again."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from pgsr.bench import runner
from pgsr.bench.again import read_outcomes
from pgsr.bench.results import RESULTS, read_results
from pgsr.bench.runner import SUITE, locked, make_plan, run_plan
from pgsr.errors import InputError
from pgsr.solvers.base import Availability

HEAD = 'format = "pgsr-suite/1"\nname = "mine"\ntitle = "Mine"\nthreads = 1\n'
SMALL = 'family = "groupsizes"\ninstances = ["uniform:scale=0.008,sizes=3"]\n'
FAKES = ("sleeper", "hog", "crasher", "quitter", "thrower", "liar", "absent")


def suite(tmp_path: Path, text: str, name: str = "mine.toml") -> Path:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


def run(path: Path, out: Path, **options):
    return {row["method"]: row for row in run_plan(make_plan(path, out), out, **options)}


@pytest.fixture
def fakes(tmp_path, monkeypatch) -> Path:
    """An installed package with solvers that misbehave."""
    site = tmp_path / "site"
    info = site / "suite_fakes-0.dist-info"
    info.mkdir(parents=True)
    shutil.copy(Path(__file__).with_name("suite_fakes.py"), site)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: suite-fakes\nVersion: 0\n", encoding="ascii")
    points = "".join(f"{name} = suite_fakes:{name.capitalize()}\n" for name in FAKES)
    (info / "entry_points.txt").write_text(f"[pgsr.solvers]\n{points}", encoding="ascii")
    monkeypatch.syspath_prepend(site)
    before = os.environ.get("PYTHONPATH")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(site), *([before] if before else [])]))
    pid = tmp_path / "pid"
    monkeypatch.setenv("FAKE_PID", str(pid))
    return pid


def alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def gone(pid: int) -> bool:
    """Whether a process has ended, after a moment if need be."""
    end = time.monotonic() + 10
    while alive(pid) and time.monotonic() < end:
        time.sleep(0.05)
    return not alive(pid)


def test_solvers_that_misbehave_are_rows_like_all_others(tmp_path, fakes) -> None:
    path = suite(
        tmp_path,
        HEAD
        + "time_limit_s = 1\ngrace_s = 8\nmemory_limit_gb = 1.0\n\n[[group]]\n"
        + SMALL
        + f"models = ['hierarchical']\nmethods = {[*FAKES, 'proximity', 'splitting']}\n",
    )
    rows = run(path, tmp_path / "out", jobs=2)
    said = {name: (row["outcome"], row["reason"] or "") for name, row in rows.items()}
    assert said["sleeper"][0] == "killed"
    assert "limit 1 s and grace 8 s" in said["sleeper"][1]
    assert rows["sleeper"]["wall_s"] < 60
    assert gone(int(fakes.read_text()))  # what it had started, in a session of its own
    assert said["hog"][0] == "memory"
    assert "of 1" in said["hog"][1]
    assert 1.0 < rows["hog"]["peak_gb"] < 3.0
    assert said["crasher"][0] == "fault"
    assert "SIGABRT" in said["crasher"][1]
    assert said["quitter"] == ("fault", "exit code 7 (no licence today)")
    assert said["thrower"][0] == "fault"
    assert "out of luck" in said["thrower"][1]
    assert said["absent"] == ("missing", "pip install absent")
    assert said["splitting"][0] == "lacks"
    assert said["proximity"] == ("ran", "")
    assert (rows["proximity"]["certificate"], rows["proximity"]["broken_sums"]) == (True, 0)
    # What a solver says of its own answer counts for nothing.
    liar = rows["liar"]
    assert (liar["outcome"], liar["point_status"], liar["certificate"]) == ("ran", "infeasible", False)
    assert liar["termination"] == "numerical"
    assert liar["broken_sums"] > 0
    # A run that was killed in the solve still says what it worked on.
    assert rows["sleeper"]["fingerprint"] == rows["hog"]["fingerprint"] == rows["proximity"]["fingerprint"]
    assert rows["sleeper"]["regions"] == 15


def test_a_build_that_takes_too_long_is_killed(tmp_path) -> None:
    path = suite(
        tmp_path,
        HEAD
        + "build_limit_s = 0.05\n\n[[group]]\n"
        + SMALL
        + 'models = ["hierarchical"]\nmethods = ["noisy"]\n',
    )
    row = run(path, tmp_path / "out")["noisy"]
    assert row["outcome"] == "killed"
    assert "before the solve began (limit 0.05 s)" in row["reason"]
    assert "after 0.0 s" not in row["reason"]
    # Not again with the same limit, but with a higher one, which is not in the key.
    assert not make_plan(path, tmp_path / "out").todo
    path.write_text(path.read_text().replace("0.05", "600"), encoding="utf-8")
    plan = make_plan(path, tmp_path / "out")
    assert plan.again == {row["key"]} == {task.key for task in plan.todo}
    assert run(path, tmp_path / "out")["noisy"]["outcome"] == "ran"
    assert len(read_results(tmp_path / "out")) == 1


FAILING = (
    HEAD + "time_limit_s = 1\ngrace_s = 1\n\n[[group]]\n" + SMALL + "models = ['hierarchical']\n"
    "methods = ['thrower', 'quitter', 'absent', 'splitting', 'noisy']\n"
)


def test_runs_that_failed_are_done_again_when_asked_for(tmp_path, fakes) -> None:
    path, out = suite(tmp_path, FAILING), tmp_path / "out"
    first = run(path, out, jobs=2)
    assert [row["outcome"] for row in first.values()].count("fault") == 2
    assert not make_plan(path, out).todo
    plan = make_plan(path, out, again=("fault",))
    assert {task.method for task in plan.todo} == {"thrower", "quitter"}
    assert plan.again == {task.key for task in plan.todo}
    # As if the fault had been put right.
    module = fakes.parent / "site" / "suite_fakes.py"
    module.write_text(module.read_text().replace("os._exit(7)", "pass"), encoding="utf-8")
    rows = {row["method"]: row for row in run_plan(plan, out)}
    assert {name: row["outcome"] for name, row in rows.items()} == {
        "thrower": "fault",
        "quitter": "ran",
        "absent": "missing",
        "splitting": "lacks",
        "noisy": "ran",
    }
    assert rows["noisy"] == first["noisy"]
    assert len(read_results(out)) == 5
    assert {task.method for task in make_plan(path, out, "thrower", ("fault", "ran")).todo} == {"thrower"}


def test_what_was_missing_or_lacked_is_done_when_it_is_there(tmp_path, fakes, monkeypatch) -> None:
    path, out = suite(tmp_path, FAILING), tmp_path / "out"
    run(path, out, jobs=2)
    assert not make_plan(path, out).todo
    from pgsr.solvers import registry

    get = registry.get

    def otherwise(name):
        solver = get(name)
        if name in ("absent", "splitting"):
            monkeypatch.setattr(type(solver), "availability", lambda self: Availability(available=True))
            monkeypatch.setattr(type(solver), "version", lambda self: "another")
        return solver

    monkeypatch.setattr(registry, "get", otherwise)
    assert {task.method for task in make_plan(path, out).todo} == {"absent", "splitting"}


def test_unknown_outcomes_are_refused() -> None:
    assert read_outcomes(" fault,killed,") == {"fault", "killed"}
    assert read_outcomes("") == frozenset()
    with pytest.raises(InputError, match="unknown outcome 'broken': --again: use ran, killed"):
        read_outcomes("fault,broken")


def test_memory_that_was_too_much_is_told_in_digits(tmp_path) -> None:
    text = HEAD + "memory_limit_gb = 0.0001\n\n[[group]]\n" + SMALL + "methods = ['noisy']\n"
    path = suite(tmp_path, text + "models = ['hierarchical']\n")
    row = run(path, tmp_path / "out")["noisy"]
    assert row["outcome"] == "memory"
    assert row["reason"].endswith(" GB of 0.0001")
    assert float(row["reason"].split()[2]) > 0.0001


QUICK = (
    HEAD
    + "seeds = 2\ntime_limit_s = 5\n\n[[group]]\nfamily = 'sae'\ninstances = ['brfss-like']\n"
    + "methods = ['direct', 'predictor']\n"
)
SCRIPT = """
import sys
from pathlib import Path
from pgsr.bench.runner import make_plan, run_plan
path, out = map(Path, sys.argv[1:])
run_plan(make_plan(path, out), out)
"""
TIMES = {"solve_s", "wall_s", "peak_gb", "started"}


def settled(rows):
    """Rows without what differs from one run to the next."""
    return {row["key"]: {name: row[name] for name in row if name not in TIMES} for row in rows}


def test_killed_at_any_moment_it_goes_on_and_ends_with_the_same_rows(tmp_path) -> None:
    path = suite(tmp_path, QUICK)
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    expected = settled(run_plan(make_plan(path, whole), whole, jobs=2))
    assert len(expected) == 4
    rng, before, killed = random.Random(7), [], 0
    for _ in range(2):
        process = subprocess.Popen([sys.executable, "-c", SCRIPT, str(path), str(cut)])
        while process.poll() is None and len(rows_in(cut)) == len(before):
            time.sleep(0.02)
        with suppress(subprocess.TimeoutExpired):
            process.wait(rng.uniform(0.0, 1.0))
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
        running = [int(pid) for pid in children.read_text().split()] if children.exists() else []
        process.kill()
        process.wait()
        killed += sum(gone(pid) for pid in running)
        assert not any(alive(pid) for pid in running)
        after = rows_in(cut)
        assert after[: len(before)] == before  # nothing is lost, and nothing done twice
        assert len(after) > len(before)
        before = after
    assert killed
    rows = run_plan(make_plan(path, cut), cut)
    assert settled(rows) == expected
    assert rows[: len(before)] == before
    assert sorted(one.name for one in cut.iterdir()) == [".lock", RESULTS, SUITE]


def rows_in(out: Path) -> list[dict]:
    return read_results(out) if (out / RESULTS).exists() else []


def test_a_run_does_not_outlive_a_suite_that_is_killed(tmp_path, fakes) -> None:
    text = HEAD + "\n[[group]]\n" + SMALL + "models = ['hierarchical']\nmethods = ['sleeper']\n"
    path = suite(tmp_path, text)
    process = subprocess.Popen([sys.executable, "-c", SCRIPT, str(path), str(tmp_path / "out")])
    while process.poll() is None and not (fakes.exists() and fakes.read_text()):
        time.sleep(0.02)
    (running,) = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    process.kill()
    process.wait()
    try:
        assert gone(int(running))  # it would sleep for minutes
    finally:
        os.kill(int(fakes.read_text()), signal.SIGKILL)  # what the solver itself had started


def test_what_was_half_written_is_tidied_up(tmp_path) -> None:
    path, out = suite(tmp_path, QUICK.replace("seeds = 2", "seeds = 1")), tmp_path / "out"
    run(path, out)
    stray = out / f".results-{'0123456789abcdef'}.parquet"
    stray.write_bytes(b"half")
    other = out / ".results-of-mine.parquet"
    other.write_bytes(b"mine")
    run(path, out)
    assert not stray.exists()
    assert other.exists()


def test_an_interrupt_ends_the_runs_in_flight(tmp_path, fakes, monkeypatch) -> None:
    text = HEAD + "\n[[group]]\n" + SMALL + "models = ['hierarchical']\nmethods = ['noisy', 'sleeper']\n"
    path, out = suite(tmp_path, text), tmp_path / "out"
    plan = make_plan(path, out)
    started = []

    class Watched(runner.Child):
        def __init__(self, task):
            super().__init__(task)
            started.append(self._process.pid)

        def poll(self):
            if self.task.method == "sleeper" and fakes.exists() and fakes.read_text():
                raise KeyboardInterrupt
            return super().poll()

    monkeypatch.setattr(runner, "Child", Watched)
    with pytest.raises(KeyboardInterrupt):
        run_plan(plan, out)
    assert len(started) == 2
    assert all(gone(pid) for pid in started)
    assert gone(int(fakes.read_text()))
    assert [row["method"] for row in read_results(out)] == ["noisy"]
    assert [task.method for task in make_plan(path, out).todo] == ["sleeper"]


def test_a_changed_suite_adds_to_what_is_there_and_another_one_is_refused(tmp_path) -> None:
    text, out = QUICK.replace("seeds = 2", "seeds = 1"), tmp_path / "out"
    path = suite(tmp_path, text)
    first = run_plan(make_plan(path, out), out)
    path = suite(tmp_path, text.replace("'predictor'", "'noisy-direct'"))
    plan = make_plan(path, out)
    assert [task.method for task in plan.todo] == ["noisy-direct"]
    assert plan.others == 1
    run_plan(plan, out)
    assert [row["method"] for row in read_results(out)] == ["direct", "predictor", "noisy-direct"]
    assert read_results(out)[:2] == list(first)
    assert (out / SUITE).read_text() == path.read_text()
    with pytest.raises(InputError, match="results of the suite 'mine'"):
        make_plan(suite(tmp_path, text.replace('"mine"', '"other"'), "other.toml"), out)


def test_only_runs_what_is_asked_for(tmp_path) -> None:
    path, out = suite(tmp_path, QUICK), tmp_path / "out"
    plan = make_plan(path, out, "seed 2 | direct")
    assert [task.key for task in plan.tasks] == ["brfss-like | seed 2 | direct | 5 s | 8 GB"]
    with pytest.raises(InputError, match="no run has 'nothing'"):
        make_plan(path, out, "nothing")
    assert not out.exists()


def test_two_processes_do_not_share_a_folder(tmp_path) -> None:
    path, out = suite(tmp_path, QUICK), tmp_path / "out"
    plan = make_plan(path, out)
    out.mkdir()
    with locked(out), pytest.raises(InputError, match="another process works"):
        run_plan(plan, out)


def test_a_folder_with_other_files_is_refused(tmp_path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.tex").write_text("", encoding="ascii")
    with pytest.raises(InputError, match="holds other files"):
        make_plan(suite(tmp_path, QUICK), tmp_path / "full")


def test_files_of_the_readers_own_are_taken_from_the_folder_of_the_suite(tmp_path, monkeypatch) -> None:
    (tmp_path / "counts.csv").write_text("zone,size,count\na,1,3\na,2,0\nb,1,4\nb,2,2\n", encoding="utf-8")
    (tmp_path / "wages.csv").write_text(
        "wage\n" + "".join(f"{k * 999}\n" for k in range(30)), encoding="utf-8"
    )
    path = suite(
        tmp_path,
        HEAD
        + "\n[[group]]\nfamily = 'groupsizes'\ninstances = ['file:counts.csv']\nmethods = ['proximity']\n"
        + "models = ['hierarchical']\n\n[[group]]\nfamily = 'inequality'\nmethods = ['ladder:private']\n"
        + "instances = ['file:wages.csv,column=wage']\nindexes = ['mld']\nreleases = 3\n",
    )
    monkeypatch.chdir("/")
    rows = run(path, tmp_path / "out")
    assert rows["proximity"]["l1"] is not None
    assert rows["proximity"]["entries"] == 6
    assert (rows["ladder:private"]["outcome"], rows["ladder:private"]["reason"]) == ("ran", None)
    assert rows["ladder:private"]["entries"] == 30
    assert rows["ladder:private"]["error"] >= 0


def test_a_run_ends_if_its_parent_is_not_there(tmp_path) -> None:
    task = make_plan(suite(tmp_path, QUICK), tmp_path / "out").tasks[0]
    said = {}
    for parent in (1, os.getpid()):
        with (tmp_path / f"{parent}").open("w+b") as file:
            subprocess.run(
                [sys.executable, "-m", "pgsr.bench.one", str(file.fileno()), str(parent)],
                pass_fds=(file.fileno(),),
                input=json.dumps(task.to_dict()).encode(),
                check=False,
                timeout=60,
            )
            file.seek(0)
            said[parent] = file.read().count(b"\n")
    assert said == {1: 0, os.getpid(): 3}
