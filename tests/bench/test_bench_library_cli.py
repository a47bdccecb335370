"""`pgsr bench instances` and `instance`: what they print, and files that the other commands take."""

from __future__ import annotations

import json
from fractions import Fraction

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from pgsr.bench.best_known import all_known
from pgsr.bench.library import names, open_case
from pgsr.bench.library_entries import ENTRIES
from pgsr.cli import bench_instances
from pgsr.errors import InputError
from pgsr.models.files import read_instance, read_solution
from pgsr.models.fingerprint import fingerprint
from pgsr.models.forms.export import MOST_SEGMENTS
from pgsr.models.forms.piecewise import Windows
from pgsr.solvers.registry import select
from pgsr.solvers.running import run as solve

APP = typer.Typer()
APP.command()(bench_instances.instances)
APP.command()(bench_instances.instance)


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def call(*words: str) -> str:
        done = CliRunner().invoke(APP, words, catch_exceptions=True)
        if done.exception is not None:
            raise done.exception
        return done.stdout

    return call


def test_all_are_listed_with_size_origin_and_what_is_known(run):
    found = json.loads(run("instances", "--json"))["instances"]
    assert [one["name"] for one in found] == list(names())
    for one in found:
        entry = ENTRIES[one["name"]]
        assert (one["citation"], one["licence"]) == (entry.citation, entry.licence)
    assert sum(one["known"] for one in found) == len(all_known())
    assert sum(one["proven"] for one in found) == sum(known.proven for known in all_known().values())
    korea = found[0]
    assert (korea["levels"], korea["regions"], korea["sizes"], korea["entries"]) == (4, 3757, 7, 26299)


def test_the_list_is_for_people_too(run):
    shown = run("instances")
    assert max(len(line.rstrip()) for line in shown.splitlines()) <= 80
    for name in names():
        assert f"\n{name}" in "\n" + shown
    assert "KOGL type 1" in shown
    assert "Wickham" in shown
    assert "file:COUNTS.csv" in shown


@pytest.mark.parametrize("out", ["made.json", "made"])
def test_an_instance_and_its_truth_come_back(run, tmp_path, out):
    options = ["--model", "cumulative", "--epsilon", "1/2", "--noise", "gaussian", "--seed", "3"]
    record = json.loads(
        run("instance", "korea:levels=2", *options, "--out", out, "--truth", "true.json", "--json")
    )
    case = open_case("korea:levels=2", "cumulative", Fraction(1, 2), "gaussian", 3)
    assert record["fingerprint"] == case.fingerprint
    assert (record["epsilon"], record["rho"], record["seed"]) == ("1/2", "1/8", 3)
    back = read_instance(tmp_path / out)
    assert np.array_equal(back.problem.target, case.instance.problem.target)
    truth = read_solution(tmp_path / "true.json", back)
    assert np.array_equal(truth, case.truth.cumulative())


def test_the_best_known_value_is_shown(run):
    record = json.loads(run("instance", "fractional", "--out", "a.json", "--json"))
    assert (record["best_known"], record["proven"], record["proof"]) == (49, True, "certificate")
    assert "49" in run("instance", "fractional", "--out", "b.json")
    record = json.loads(run("instance", "fractional:copies=3", "--out", "c.json", "--json"))
    assert record["best_known"] is record["proven"] is None


@pytest.mark.parametrize(
    ("name", "form"), [("p.mps", "qp"), ("p.lp", "qp"), ("p.mps", "pwl"), ("p.lp", "pwl")]
)
def test_programs_for_other_solvers(run, tmp_path, name, form):
    """HiGHS reads them; its linear program of unit segments has the value that is stated."""
    import highspy

    run("instance", "fractional", "--out", name, "--form", form)
    program = highspy.Highs()
    program.setOptionValue("output_flag", False)
    assert program.readModel(str(tmp_path / name)) == highspy.HighsStatus.kOk
    if form == "pwl":
        program.setOptionValue("solve_relaxation", True)
        program.run()
        assert program.getInfo().objective_function_value == pytest.approx(48.5)


@pytest.mark.parametrize("model", ["hierarchical", "cumulative"])
def test_highs_solves_the_program_of_real_counts(run, tmp_path, model):
    """Without a known table there are millions of unit segments; the quadratic form HiGHS does not take."""
    import highspy

    name = "korea:levels=3"
    options = ["--model", model, "--epsilon", "1/20", "--seed", "1"]
    run("instance", name, *options, "--out", "p.mps", "--form", "pwl")
    case = open_case(name, model, Fraction(1, 20), seed=1)
    assert Windows.whole(case.instance.problem).segments > MOST_SEGMENTS
    solution = solve(select(case.instance.problem), case.instance.problem, isolate=False)
    assert solution.certificate is True
    program = highspy.Highs()
    program.setOptionValue("output_flag", False)
    assert program.readModel(str(tmp_path / "p.mps")) == highspy.HighsStatus.kOk
    program.run()
    assert program.getModelStatus() == highspy.HighsModelStatus.kOptimal
    assert program.getInfo().objective_function_value == pytest.approx(solution.objective, rel=1e-9)


def test_the_seed_is_that_of_suites_where_none_is_given(run, tmp_path):
    record = json.loads(run("instance", "korea:levels=2", "--out", "a.json", "--json"))
    assert record["seed"] == 1
    assert record["fingerprint"] == open_case("korea:levels=2").fingerprint
    assert record["fingerprint"] == open_case("korea:levels=2", seed=1).fingerprint


@pytest.mark.parametrize("out", ["made.json", "made"])
@pytest.mark.parametrize(
    "name", ["uniform:scale=0.01", "fractional:copies=3", "window-trap", "ties:scale=0.01"]
)
def test_a_file_has_the_fingerprint_of_its_instance(run, tmp_path, name, out):
    record = json.loads(run("instance", name, "--out", out, "--json"))
    assert fingerprint(read_instance(tmp_path / out).problem) == record["fingerprint"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["mars", "--out", "a.json"], "unknown instance"),
        (["korea", "--out", "none/a.json"], "folder not found"),
        (["korea", "--out", "a.xyz"], r"unknown kind of instance: a.xyz: .*without an ending"),
        (["korea", "--out", "a.json", "--truth", "a.txt"], "unknown kind of truth"),
        (["fractional", "--out", "a.json", "--truth", "b.json"], "the truth is not known"),
        (["fractional", "--out", "a.json", "--model", "hierarchical"], "cumulative model alone"),
        (["korea", "--out", "a.json", "--epsilon", "0"], "epsilon is not positive"),
    ],
)
def test_what_cannot_be_is_refused_and_nothing_is_written(run, tmp_path, words, message):
    with pytest.raises(InputError, match=message):
        run("instance", *words)
    assert list(tmp_path.iterdir()) == []
