"""Comparisons of results and methods: right pairs, right numbers, nothing that could not be paired unsaid."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest
import typer
from scipy import stats
from typer.testing import CliRunner

from pgsr.bench.analysis.compare import compare_methods, compare_results
from pgsr.bench.results import write_results
from pgsr.cli.bench_compare import compare
from pgsr.errors import InputError

TIMES = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]


def run(method="a", seed=1, **changes):
    row = {
        "suite": "s",
        "family": "groupsizes",
        "instance": "korea",
        "model": "hierarchical",
        "method": method,
        "kind": "exact",
        "noise": "geometric",
        "epsilon": 1.0,
        "seed": seed,
        "fingerprint": f"f{seed}",
        "outcome": "ran",
        "termination": "optimal",
        "point_status": "feasible",
        "objective": 10.0,
        "objective_exact": "10",
        "solve_s": 1.0,
        "pgsr": "0",
        "machine": "m",
    } | changes
    return {"key": f"{row['instance']} {method} {row['epsilon']} {seed}"} | row


def line(table, **wanted):
    found = [r for r in table.records() if all(r[name] == value for name, value in wanted.items())]
    assert len(found) == 1, found
    return found[0]


def said(table, *words):
    return any(all(word in note for word in words) for note in table.notes)


def test_two_results_by_hand_and_by_scipy():
    factors = np.array([2.0, 2.5, 1.5, 3.0, 0.9, 2.2, 1.8, 2.1])
    a = [run(seed=s, solve_s=t) for s, t in enumerate(TIMES)]
    b = [run(seed=s, solve_s=t * f) for s, (t, f) in enumerate(zip(TIMES, factors, strict=True))]
    table = compare_results(a, b, measures=["solve_s", "objective"])
    found = line(table, measure="solve_s")
    assert (found["pairs"], found["a_better"], found["ties"], found["b_better"]) == (8, 7, 0, 1)
    assert found["ratio"] == pytest.approx(stats.gmean(factors))
    assert found["lower"] < found["ratio"] < found["upper"]
    assert found["mean_a"] == 4.5
    wilcoxon = stats.wilcoxon(np.log(factors), method="exact").pvalue
    assert found["p_wilcoxon"] == pytest.approx(wilcoxon)
    assert found["p_holm"] == found["p_wilcoxon"]  # no other line of this measure
    same = line(table, measure="objective")
    assert (same["ties"], same["ratio"], same["p_wilcoxon"], same["lower"]) == (8, 1, 1, 1)
    assert same["p_holm"] is None  # nothing to test


def test_p_values_are_adjusted_for_the_lines_of_their_measure():
    rows = [
        run(method, s, instance=instance, l1=[3.0 + s % 2, factor if method == "b" else 1.0])
        for method in "ab"
        for instance, factor in (("korea", 2.0), ("flights", 3.0), ("same", 1.0))
        for s in range(8)
    ]
    table = compare_methods(rows, ("a", "b"))
    assert [r["p_holm"] for r in table.records() if r["measure"] == "l1"] == [4 / 2**8, 4 / 2**8, None, None]
    assert not said(table, "l1", "Holm")
    # All 24 pairs: those of "same" are equal, and 16 that have one sign are left.
    assert line(table, measure="l1", instance="all")["p_signs"] == 2 / 2**16


def test_the_caption_says_what_the_p_values_are():
    rows = [run(m, s, l1=[1.0 + s]) for m in "ab" for s in range(3)]
    table = compare_methods(rows, ("a", "b"), measures=["l1"])
    words = " ".join([table.caption, *(f"{c.title} {c.about}" for c in table.columns)])
    for word in (
        "Wilcoxon's signed-rank",
        "permutation test that flips the signs",
        "lines of the same measure",
        "Nothing adjusts for the number of measures",
        "bootstrap",
        "may disagree",
        "p sign flips",
    ):
        assert word in words


def test_what_only_one_side_came_to_an_end_with_is_counted_and_said():
    a = [run(seed=s) for s in range(8)]
    b = [run(seed=s) for s in range(6)]
    b += [run(seed=6, outcome="killed", solve_s=None), run(seed=7, termination="time_limit", solve_s=60.0)]
    table = compare_results(a, b)
    found = line(table, measure="solve_s")
    assert (found["pairs"], found["only_a"], found["only_b"], found["mean_b"]) == (6, 2, 0, 1)
    assert said(table, "only A", "there B is worse")
    assert not said(table, "there A is worse")


def test_a_table_that_breaks_a_condition_has_no_value_at_all():
    a, b = [run(l1=[5.0])], [run(l1=[1.0], objective=1.0, objective_exact="1", point_status="infeasible")]
    for name in ("solve_s", "objective", "l1"):
        found = line(compare_results(a, b, measures=[name]), measure=name)
        assert (found["pairs"], found["only_a"]) == (0, 1)


def test_objectives_are_compared_in_full():
    a = [run(seed=s, objective=2.0**60, objective_exact=str(2**60)) for s in range(6)]
    b = [run(seed=s, objective=2.0**60, objective_exact=str(2**60 + 1)) for s in range(6)]
    found = line(compare_results(a, b, measures=["objective"]), measure="objective")
    assert (found["a_better"], found["p_wilcoxon"]) == (6, 2 / 2**6)


def test_runs_without_a_partner_are_said_and_other_keys_still_pair():
    a = [run(seed=1), run(seed=2), run("c", seed=1)]
    b = [run(seed=1) | {"key": "of another suite"}, run(seed=3), run("d", seed=1)]
    table = compare_results(a, b, names=("old", "new"), measures=["solve_s"])
    assert line(table, measure="solve_s")["pairs"] == 1
    assert said(table, "2 runs of old", "korea, a: 1", "korea, c: 1")
    assert said(table, "2 runs of new")


def test_other_problems_and_other_circumstances():
    a = [run(seed=1), run(seed=2)]
    b = [run(seed=1, fingerprint="changed"), run(seed=2, machine="n", cores=4)]
    table = compare_results(a, b, measures=["solve_s"])
    assert line(table, measure="solve_s")["pairs"] == 1
    assert said(table, "1 pair left out", "fingerprints")
    assert said(table, "different processors")
    assert not said(table, "cores")  # not known of A
    with pytest.raises(InputError, match=r"no run of A can be paired.*fingerprints"):
        compare_results(a[:1], b[:1])
    with pytest.raises(InputError, match="no run of A can be paired"):
        compare_results([], [])


def test_results_of_one_method_each_are_paired_by_problem():
    a, b = [run("mine", s) for s in (1, 2)], [run("yours", s, solve_s=3.0) for s in (1, 2)]
    found = line(compare_results(a, b, measures=["solve_s"]), measure="solve_s")
    assert (found["pairs"], found["method"]) == (2, "mine/yours")
    assert found["ratio"] == pytest.approx(3)


def test_two_methods_of_one_result():
    rows = [run("a", s, solve_s=2.0) for s in range(6)] + [run("b", s, solve_s=1.0) for s in range(1, 7)]
    rows += [run("other", 0)]
    table = compare_methods(rows, ("a", "b"), measures=["solve_s"])
    found = line(table, measure="solve_s")
    assert (found["pairs"], found["b_better"], found["ratio"]) == (5, 5, pytest.approx(0.5))
    assert found["p_wilcoxon"] == found["p_holm"] == 2 / 2**5
    assert said(table, "5 pairs that differ and 1 line no p value can fall below 0.05")
    assert said(table, "1 run of a without a partner")
    assert "method" not in found
    with pytest.raises(InputError, match=r"no runs of method 'z'.*there are a, b, other"):
        compare_methods(rows, ("a", "z"))
    with pytest.raises(InputError, match="with itself"):
        compare_methods(rows, ("a", "a"))
    with pytest.raises(InputError, match="no measure 'speed'"):
        compare_methods(rows, ("a", "b"), measures=["speed"])


def test_ways_to_release_have_their_own_noise_and_are_compared_all_the_same():
    rows = [
        run(method, s, family="inequality", kind="mechanism", model="mld", noise=method, error=error,
            fingerprint="data", point_status=None, termination=None, objective_exact=None)
        for method, error in (("laplace", 2.0), ("ladder", 0.5))
        for s in range(4)
    ]  # fmt: skip
    found = line(compare_methods(rows, ("laplace", "ladder"), measures=["error"]), measure="error")
    assert (found["pairs"], found["ratio"]) == (4, pytest.approx(0.25))


def test_settings_stand_apart_and_are_summed_up_alike():
    rows = []
    for instance, seeds, factor in (("korea", 2, 4.0), ("flights", 6, 1.0)):
        for s in range(seeds):
            rows += [run("a", s, instance=instance), run("b", s, instance=instance, solve_s=factor)]
    rows += [run("a", 9, instance="flights", l1=[0.0]), run("b", 9, instance="flights", l1=[2.0])]
    table = compare_methods(rows, ("a", "b"), measures=["solve_s", "l1"])
    assert line(table, measure="solve_s", instance="korea")["ratio"] == pytest.approx(4)
    assert line(table, measure="solve_s", instance="flights")["ratio"] == pytest.approx(1)
    whole = line(table, measure="solve_s", instance="all")
    assert (whole["ratio"], whole["pairs"], whole["p_wilcoxon"]) == (pytest.approx(2), 9, None)
    zero = line(table, measure="l1")
    assert (zero["ratio"], zero["pairs"], zero["a_better"]) == (None, 1, 1)
    assert said(table, "1 pair with a value of 0")


def test_p_values_of_methods_that_are_alike_are_not_small():
    rng = np.random.default_rng(3)
    small = 0
    for _ in range(200):
        rows = [run(m, s, l1=[float(rng.exponential())]) for m in "ab" for s in range(10)]
        small += line(compare_methods(rows, ("a", "b"), measures=["l1"]), measure="l1")["p_wilcoxon"] <= 0.05
    assert small / 200 < 0.09


# The command.

APP = typer.Typer()
APP.command()(compare)


def call(*words):
    return CliRunner().invoke(APP, [str(word) for word in words], catch_exceptions=False)


@pytest.fixture
def results(tmp_path):
    for folder, factor in (("old", 1.0), ("new", 0.5)):
        (tmp_path / folder).mkdir()
        rows = [run(m, s, solve_s=t * factor, l1=[4.0, 2.0]) for m in "ab" for s, t in enumerate(TIMES)]
        write_results(tmp_path / folder / "results.parquet", rows)
    return tmp_path / "old", tmp_path / "new" / "results.parquet"


def test_command_on_two_results(results, tmp_path):
    found = json.loads(call(*results, "--json").stdout)
    assert {row["measure"] for row in found["rows"]} == {"solve_s", "objective", "l1"}
    whole = [row for row in found["rows"] if row["measure"] == "solve_s" and row["instance"] == "all"]
    assert whole[0]["ratio"] == pytest.approx(0.5)
    text = call(
        *results, "--measure", "solve_s", "--latex", tmp_path / "t.tex", "--csv", tmp_path / "t.csv"
    ).stdout
    assert "seconds of the solve" in text
    assert "objective" not in text.partition("seconds of the solve")[2]
    prose = [line for line in text.splitlines() if str(tmp_path) not in line]
    assert max(map(len, prose)) <= 80
    paper = (tmp_path / "t.tex").read_text()
    assert r"& pairs & mean A & mean B & B / A &" in paper
    assert "sign flips" not in paper
    with (tmp_path / "t.csv").open(newline="") as file:
        assert [row["pairs"] for row in csv.DictReader(file)] == ["8", "8", "16"]


def test_command_on_two_methods(results):
    text = call(results[0], "--methods", "a", "b").stdout
    assert "A: a, B: b" in text
    for words in ((results[0],), (*results, "--methods", "a", "b")):
        with pytest.raises(InputError, match="not stated in one way"):
            call(*words)
    with pytest.raises(InputError, match=r"end its name in \.tex"):
        call(*results, "--latex", "t.txt")
    with pytest.raises(InputError, match="no results"):
        call(results[0].parent, results[1])
