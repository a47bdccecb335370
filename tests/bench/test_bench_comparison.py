"""The solver comparison: resumable runs in fresh processes, tables that say what was found."""

from __future__ import annotations

import json

import pytest

from pgsr.bench import comparison as module
from pgsr.bench.comparison import Size, compare, main, usable
from pgsr.bench.comparison_one import one_or_fault
from pgsr.bench.comparison_tables import KINDS, comparison, features
from pgsr.bench.pages import finished, put_between
from pgsr.bench.presets import generate, write
from pgsr.errors import SolverFault
from pgsr.models.problem import Feature
from pgsr.solvers.registry import get, names

SIZES = (
    Size(entries=20, preset="uniform", scale=0.001, sizes=5),
    Size(entries=45, preset="uniform", scale=0.008, sizes=3),
)
WHOLE = ("Model 1, integers", "Model 2, integers")


def row(solver, entries=10, kind="Model 1, integers", **changes):
    return {
        "solver": solver,
        "native": solver == "proximity",
        "kind": kind,
        "size": entries,
        "entries": entries,
        "regions": 2,
        "limit_s": 60.0,
        "outcome": "ran",
        "wall_s": 1.0,
        "peak_gb": 0.25,
        "version": "1",
        "termination": "optimal",
        "point_status": "feasible",
        "raw_status": "optimal",
        "refuted": "",
        "objective": 100,
        "bound": 100,
        "gap_relative": 0.0,
        "certificate": True,
        "worst_violation": 0,
        "build_s": 0.5,
        "solve_s": 1.5,
    } | changes


def cells(text, solver, kind="Model 1, integers"):
    """The row of `solver` in the table of `kind`, without its name."""
    table = text.partition(f"**{kind}**")[2].partition("**")[0]
    line = next(line for line in table.splitlines() if line.startswith(f"| `{solver}`"))
    return [cell.strip() for cell in line.strip("|").split("|")][1:]


def report(rows, left_out=None):
    return comparison(rows, left_out or {}, 60.0, "today")


def test_runs_end_up_in_files_and_a_lost_line_is_run_again(tmp_path):
    said = []
    solvers = [get("proximity"), get("highs")]
    rows = compare(tmp_path, solvers, sizes=SIZES, kinds=WHOLE, limit_s=30.0, jobs=2, log=said.append)
    assert [r["outcome"] for r in rows if r["solver"] == "highs"] == ["ran"] * 4
    assert {r["outcome"] for r in rows if (r["solver"], r["kind"]) == ("proximity", WHOLE[1])} == {"lacks"}
    assert len(said) == 6
    for kind, entries in {(r["kind"], r["entries"]) for r in rows}:
        found = [r for r in rows if (r["kind"], r["entries"]) == (kind, entries) and r["outcome"] == "ran"]
        assert len({r["objective"] for r in found}) == 1
        assert all(r["peak_gb"] > 0.01 and r["solve_s"] > 0 and r["termination"] == "optimal" for r in found)
    path = tmp_path / "comparison.jsonl"
    lines = path.read_text().splitlines(keepends=True)
    assert len(lines) == len(rows) == 8
    path.write_text("".join(lines[:-1]) + lines[-1][:20])
    said.clear()
    again = compare(tmp_path, solvers, sizes=SIZES, kinds=WHOLE, limit_s=30.0, log=said.append)
    assert len(said) == 1
    lost = json.loads(lines[-1])
    assert again[-1]["objective"] == lost["objective"]
    assert [json.loads(line)["solver"] for line in path.read_text().splitlines()] == [
        r["solver"] for r in again
    ]
    said.clear()
    compare(tmp_path, solvers, sizes=SIZES, kinds=WHOLE, limit_s=30.0, log=said.append)
    assert not said


@pytest.mark.parametrize(
    ("before", "tried"),
    [
        ({"outcome": "killed"}, False),
        ({"outcome": "fault"}, False),
        ({"termination": "time_limit"}, False),
        ({"termination": "other_limit"}, False),
        ({"solve_s": 60.0}, False),
        ({"solve_s": 20.0}, True),
        ({"outcome": "refused"}, True),
        ({"outcome": "ran", "solve_s": 5.0}, True),
    ],
)
def test_what_is_no_longer_practical_is_not_tried_on_more(before, tried, tmp_path, monkeypatch):
    """45 entries after 20 take at least 2.25 times as long: hopeless if that is two limits or more."""
    monkeypatch.setattr(module, "_run", lambda row, instance: {"outcome": "killed"})
    first = row("highs", 20, limit_s=60.0) | before
    (tmp_path / "comparison.jsonl").write_text(json.dumps(first) + "\n")
    rows = compare(
        tmp_path, [get("highs")], sizes=SIZES, kinds=WHOLE[:1], limit_s=60.0, log=lambda text: None
    )
    assert rows[-1]["outcome"] == ("killed" if tried else "beyond")


def test_other_limits_are_other_results(tmp_path):
    (tmp_path / "comparison.jsonl").write_text(json.dumps(row("highs", 20, limit_s=5.0)) + "\n")
    rows = compare(tmp_path, [], sizes=SIZES, limit_s=60.0, log=lambda text: None)
    assert rows == []
    assert len(finished(tmp_path / "comparison.jsonl")) == 1


def test_cells_are_multiples_of_our_own_fastest_solver():
    text = report([row("proximity"), row("highs", solve_s=5.5), row("cpsat", solve_s=0.1, certificate=None)])
    assert cells(text, "proximity") == ["1x"]
    assert cells(text, "highs") == ["3x"]
    assert cells(text, "cpsat") == ["0.3x (claimed)"]
    assert "proximity: 2 s" in text
    assert "25%, 0.25 GB at 10" in text


def test_the_fastest_of_all_is_the_measure_where_ours_did_not_solve():
    failed = row("proximity", termination="time_limit", certificate=None, gap_relative=0.125)
    text = report([failed, row("highs"), row("scip", solve_s=3.5)])
    assert cells(text, "highs") == ["1x"]
    assert cells(text, "scip") == ["2x"]
    assert cells(text, "proximity") == ["limit (gap 0.12)"]


@pytest.mark.parametrize(
    ("changes", "cell"),
    [
        ({"termination": "time_limit"}, "limit (its table is optimal)"),
        ({"outcome": "killed"}, "limit (killed)"),
        ({"outcome": "fault"}, "breaks down"),
        ({"outcome": "refused"}, "refuses"),
        ({"outcome": "beyond"}, "-"),
        ({"point_status": "none", "termination": "time_limit"}, "limit"),
        ({"point_status": "none", "termination": "other_limit"}, "size limit"),
        ({"point_status": "none", "termination": "numerical"}, "no answer"),
        ({"point_status": "infeasible", "worst_violation": 13.0}, "1x (violates 13)"),
        ({"objective": 110, "certificate": None}, "1x (claimed, not best 0.1)"),
        ({"refuted": "claims too much", "certificate": False}, "1x (refuted)"),
    ],
)
def test_cells_say_what_went_wrong(changes, cell):
    assert cells(report([row("proximity"), row("other", **changes)]), "other") == [cell]


def test_relaxations_are_held_against_proven_ones():
    kind = "Model 1, relaxation"
    rows = [
        row("proximity", kind=kind, objective=100.0),
        row("cheat", kind=kind, objective=90.0, certificate=None),
        row("close", kind=kind, objective=100.00001, certificate=None),
    ]
    text = report(rows)
    assert cells(text, "cheat", kind) == ["1x (claimed, off 0.1)"]
    assert cells(text, "close", kind) == ["1x (claimed)"]


def test_solvers_without_a_kind_of_problem_have_no_line():
    text = report([row("proximity"), row("piqp", outcome="lacks")], {"gone": "is not installed"})
    assert "`piqp`" not in text
    assert "gone (is not installed)" in text


def test_a_solver_that_cannot_be_loaded_is_left_out(monkeypatch):
    def broken(name):
        if name == "highs":
            raise SolverFault("no such module")
        return get(name)

    monkeypatch.setattr(module, "get", broken)
    solvers, left_out = usable()
    assert "highs" not in {solver.name for solver in solvers}
    assert left_out["highs"] == "cannot be loaded"
    assert "proximity" in {solver.name for solver in solvers}


def test_features_are_those_of_the_registered_classes():
    solvers = usable()[0]
    lines = features(solvers, {}).splitlines()
    head = [cell.strip() for cell in lines[0].strip("|").split("|")]
    for solver in solvers:
        line = next(line for line in lines if line.startswith(f"| `{solver.name}`"))
        got = [cell.strip() for cell in line.strip("|").split("|")]
        for feature in Feature:
            assert (got[head.index(feature.value)] == "yes") == (feature in solver.features)
    assert {solver.name for solver in solvers} <= set(names())


def test_tables_are_put_between_markers():
    page = "a\n<!-- t -->\nold\n<!-- end of t -->\nb <!-- u --><!-- end of u -->"
    new = put_between(page, "t", r"new \1")
    assert new == "a\n<!-- t -->\n\nnew \\1\n\n<!-- end of t -->\nb <!-- u --><!-- end of u -->"
    assert put_between(new, "t", r"new \1") == new
    with pytest.raises(ValueError, match="markers"):
        put_between(page, "v", "")


def test_one_run_is_a_record_or_says_what_went_wrong(tmp_path):
    instance = tmp_path / "instance"
    write(generate("uniform", scale=0.001, sizes=5), instance)
    found = one_or_fault("proximity", str(instance), False, 30.0)
    assert found["certificate"] is True
    assert found["objective"] == found["bound"]
    assert "unknown solver" in one_or_fault("nobody", str(instance), False, 30.0)["fault"]
    assert "does not take" in one_or_fault("piqp", str(instance), False, 30.0)["fault"]


def test_the_command_writes_report_and_page(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "SIZES", (SIZES[0], SIZES[0], SIZES[1]))
    monkeypatch.setattr(module, "_run", lambda r, instance: row(r["solver"], r["entries"], r["kind"]) | r)
    page = tmp_path / "page.md"
    markers = [f"<!-- {name} -->\n<!-- end of {name} -->" for name in ("features", "comparison")]
    page.write_text("\n\n".join(markers))
    main(["--out", str(tmp_path / "out"), "--quick", "--solvers", "proximity,highs", "--docs", str(page)])
    written = (tmp_path / "out" / "comparison.md").read_text()
    assert all(f"**{kind}**" in written for kind in KINDS)
    assert written.strip() in page.read_text()
    assert "| `proximity` | yes |" in page.read_text()
