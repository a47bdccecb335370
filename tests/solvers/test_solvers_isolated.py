"""A solve in a process of its own: killed at its deadline, its best point kept, its output kept apart."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from pgsr.bench.presets import generate
from pgsr.errors import InputError, SolverFault
from pgsr.models.problem import Feature, Problem
from pgsr.solvers import registry
from pgsr.solvers.adapters.highs import HighsSolver
from pgsr.solvers.base import Availability, Certificate, PointStatus, SolveOptions, Termination
from pgsr.solvers.certificate import assess
from pgsr.solvers.running import run

PROBLEM = Problem(parent=[-1, 0, 0], target=[[5, 2], [1, 1], [3, 3]], total=8)

MODULE = """
import os, signal, sys, time
import numpy as np
from pgsr.models.problem import Feature
from pgsr.solvers.base import Availability, Certificate, Observation, Termination
from pgsr.solvers.certificate import assess

class Strange:
    name = "strange"
    features = frozenset(Feature)
    def __init__(self, way):
        self.way = way
    def availability(self):
        return Availability(available=True)
    def version(self):
        return "1"
    def check(self, problem):
        pass
    def solve(self, problem, options):
        x = np.zeros(problem.target.shape, dtype=np.int64)
        leaf = problem.regions - 1
        while leaf >= 0:
            x[leaf, 0] = problem.total
            leaf = int(problem.parent[leaf])
        if self.way == "hang":
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            while True:
                time.sleep(1)
        if self.way == "found, then hang":
            options.observe(Observation(seconds=0.1, objective=1, bound=3.0), x)
            while True:
                time.sleep(1)
        if self.way == "print":
            print("hello from python", flush=True)
            os.write(1, b"hello from c\\n")
            os.write(2, b"trouble from c\\n")
        if self.way == "die":
            os.kill(os.getpid(), signal.SIGSEGV)
        if self.way == "starve":
            os.kill(os.getpid(), signal.SIGKILL)
        if self.way == "leave":
            os._exit(7)
        if self.way == "raise":
            raise ZeroDivisionError("one by none")
        if self.way == "progress":
            options.progress("half way", 0.5)
        if self.way == "start":
            x = options.start
        return assess(problem, x, solver="strange", version="1", termination=Termination.UNKNOWN,
                      raw_status=f"limit {options.time_limit_s} seed {options.seed}",
                      build_s=0.0, solve_s=0.0)
"""


class Forger:
    """Hands over whatever record it is given."""

    name = "forger"
    features = frozenset(Feature)

    def __init__(self, make):
        self.make = make

    def availability(self):
        return Availability(available=True)

    def version(self):
        return "1"

    def check(self, problem):
        pass

    def solve(self, problem, options):
        return self.make(problem)


def record(problem, x, termination=Termination.OPTIMAL, **more):
    return assess(
        problem,
        x,
        solver="forger",
        version="1",
        termination=termination,
        raw_status="",
        build_s=0.0,
        solve_s=0.0,
        **more,
    )


WORSE = np.array([[8, 0], [8, 0], [0, 0]])


@pytest.fixture
def strange(tmp_path, monkeypatch):
    (tmp_path / "strange_solver.py").write_text(MODULE)
    monkeypatch.syspath_prepend(str(tmp_path))
    sys.modules.pop("strange_solver", None)
    from strange_solver import Strange

    return Strange


def test_a_solver_that_never_ends_is_killed(strange):
    began = time.monotonic()
    solution = run(strange("hang"), PROBLEM, SolveOptions(time_limit_s=0.5), deadline_s=2.0)
    assert time.monotonic() - began < 4.0
    assert solution.termination is Termination.TIME_LIMIT
    assert solution.raw_status.startswith("killed after")
    assert solution.point_status is PointStatus.NONE


def test_the_best_point_so_far_survives_the_kill(strange):
    solution = run(strange("found, then hang"), PROBLEM, SolveOptions(time_limit_s=0.5), deadline_s=3.0)
    assert solution.termination is Termination.TIME_LIMIT
    assert solution.point_status is PointStatus.FEASIBLE
    assert solution.objective == PROBLEM.objective(solution.x)
    assert len(solution.trace) == 1


def test_a_feasible_start_is_the_answer_if_there_is_no_better_one(strange):
    start = np.array([[5, 3], [2, 0], [3, 3]])
    options = SolveOptions(time_limit_s=0.5, start=start)
    solution = run(strange("hang"), PROBLEM, options, deadline_s=2.0)
    assert np.array_equal(solution.x, start)
    assert solution.point_status is PointStatus.FEASIBLE


def test_output_goes_to_the_log_alone(strange, tmp_path, capfd):
    run(strange("print"), PROBLEM, isolate=True)
    assert capfd.readouterr() == ("", "")
    log = tmp_path / "solver.log"
    run(strange("print"), PROBLEM, log=log)
    assert capfd.readouterr() == ("", "")
    text = log.read_text()
    assert "hello from python" in text
    assert "hello from c" in text
    assert "trouble from c" in text


@pytest.mark.parametrize(
    ("way", "message"), [("die", "SIGSEGV"), ("leave", "exit code 7"), ("raise", "ZeroDivisionError: one by")]
)
def test_a_solver_that_breaks_down_is_a_fault(strange, way, message):
    with pytest.raises(SolverFault, match=message):
        run(strange(way), PROBLEM, isolate=True)


def test_raising_in_this_process_is_the_same_fault(strange):
    with pytest.raises(SolverFault, match="ZeroDivisionError: one by none"):
        run(strange("raise"), PROBLEM)


def test_killed_from_outside_is_a_limit(strange):
    solution = run(strange("starve"), PROBLEM, isolate=True)
    assert solution.termination is Termination.OTHER_LIMIT
    assert solution.x is None


def test_options_and_progress_cross_the_border(strange):
    heard = []
    options = SolveOptions(time_limit_s=9.0, seed=5, progress=lambda stage, done: heard.append((stage, done)))
    solution = run(strange("progress"), PROBLEM, options)
    assert solution.raw_status == "limit 9.0 seed 5"
    assert ("half way", 0.5) in heard
    assert solution.problem is PROBLEM


def test_a_solver_that_cannot_be_sent_is_refused():
    class Local(Forger):
        name = "local"

    with pytest.raises(InputError, match="module that can be imported"):
        run(Local(None), PROBLEM, isolate=True)


def test_same_answer_in_a_process_of_its_own():
    alone = run(HighsSolver(), PROBLEM, isolate=True)
    here = run(HighsSolver(), PROBLEM, isolate=False)
    assert alone.objective == here.objective
    assert alone.certificate is True
    assert alone.trace


def test_native_solvers_stay_in_this_process_unless_told_otherwise(monkeypatch):
    from pgsr.solvers import running

    monkeypatch.setattr(running, "_Child", None)
    assert run(registry.get("proximity"), PROBLEM, SolveOptions(time_limit_s=5.0)).certificate is True


def test_hand_made_records_are_recomputed():
    def make(problem):
        true = record(problem, WORSE, termination=Termination.UNKNOWN)
        return replace(
            true, objective=0, bound=0, certificate=True, termination=Termination.OPTIMAL, assessed=False
        )

    told = run(Forger(make), PROBLEM)
    assert told.objective == PROBLEM.objective(told.x)
    assert told.certificate is False
    assert told.termination is Termination.NUMERICAL


def test_the_process_dies_with_its_parent(tmp_path):
    (tmp_path / "strange_solver.py").write_text(MODULE)
    script = tmp_path / "parent.py"
    script.write_text(
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from strange_solver import Strange\n"
        "from pgsr.models.problem import Problem\n"
        "from pgsr.solvers.running import run\n"
        "run(Strange('hang'), Problem(parent=[-1], target=[[1]], total=1), isolate=True)\n"
    )
    parent = subprocess.Popen([sys.executable, str(script), str(tmp_path)])
    child = None
    for _ in range(100):
        time.sleep(0.1)
        listed = subprocess.run(
            ["ps", "--ppid", str(parent.pid), "-o", "pid="], capture_output=True, text=True, check=False
        )
        if listed.stdout.split():
            child = int(listed.stdout.split()[0])
            break
    assert child is not None
    time.sleep(1.0)
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    for _ in range(50):
        time.sleep(0.1)
        if not os.path.exists(f"/proc/{child}") or "\nState:\tZ" in Path(f"/proc/{child}/status").read_text():
            return
    pytest.fail("the worker outlived its parent")


def test_twenty_thousand_variables_come_back_in_time():
    problem = generate("us", scale=0.0001, sizes=20, model="cumulative", seed=1).instance().problem
    assert problem.target.size > 20_000
    began = time.monotonic()
    solution = run(HighsSolver(), problem, SolveOptions(time_limit_s=1.0))
    assert time.monotonic() - began < 4.0
    assert solution.certificate is not False or solution.point_status is PointStatus.INFEASIBLE


@pytest.mark.parametrize(
    "make",
    [
        lambda problem: replace(record(problem, WORSE), assessed=True, certificate=True, objective=0),
        lambda problem: record(replace(problem, target=WORSE), WORSE),  # of another problem
        lambda problem: record(problem, WORSE, proof=Certificate(optimal=True, bound=3)),
    ],
)
def test_forged_records_do_not_pass(make):
    told = run(Forger(make), PROBLEM)
    assert told.objective == PROBLEM.objective(WORSE)
    assert told.certificate is False
    assert told.termination is Termination.NUMERICAL


@pytest.mark.parametrize(
    "make",
    [
        lambda problem: None,
        lambda problem: replace(record(problem, WORSE), x=[[1, 2]]),
        lambda problem: replace(record(problem, WORSE), x=WORSE[:, :1]),
    ],
)
def test_answers_that_are_no_answers_are_faults(make):
    with pytest.raises(SolverFault, match="forger"):
        run(Forger(make), PROBLEM)
