"""`pgsr export`: files for other solvers, refusals, records."""

from __future__ import annotations

import highspy
import pytest


def optimum(path) -> float:
    highs = highspy.Highs()
    highs.setOptionValue("output_flag", False)
    assert highs.readModel(str(path)) == highspy.HighsStatus.kOk
    highs.run()
    assert highs.getModelStatus() == highspy.HighsModelStatus.kOptimal
    return float(highs.getInfo().objective_function_value)


@pytest.mark.parametrize("ending", ["mps", "lp"])
def test_a_piecewise_linear_file_has_the_optimum_that_solve_finds(ending, run, write, instance) -> None:
    write(instance())
    done = run("export", "instance.json", "--out", f"a.{ending}", "--form", "pwl", "--json")
    assert (done.code, done.err) == (0, "")
    assert done.record["form"] == "pwl"
    assert done.record["rows"] == 4
    assert done.record["integers"] == done.record["columns"] - 1
    solved = run("solve", "instance.json", "--json").record
    assert optimum(f"a.{ending}") == pytest.approx(solved["objective"])


def test_a_relaxed_quadratic_file_has_the_optimum_of_the_relaxation(run, write, instance) -> None:
    write(instance())
    done = run("export", "instance.json", "--out", "a.lp", "--relax", "--json")
    assert done.record == {
        "file": "a.lp",
        "form": "qp",
        "model": "hierarchical",
        "relaxed": True,
        "rows": 4,
        "columns": 10,
        "nonzeros": 12,
        "integers": 0,
    }
    solved = run("solve", "instance.json", "--relax", "--json").record
    assert optimum("a.lp") == pytest.approx(solved["objective"], abs=1e-6)


def test_what_is_written_is_shown_and_replaces_a_file(run, write, instance, tmp_path) -> None:
    write(instance())
    (tmp_path / "a.mps").write_text("old", encoding="utf-8")
    done = run("export", "instance.json", "--out", "a.mps")
    assert done.code == 0
    assert "written: a.mps" in done.out
    text = (tmp_path / "a.mps").read_text(encoding="utf-8")
    assert "QUADOBJ" in text
    assert "x.02.2" in text


def test_a_wrong_ending_a_missing_folder_and_a_bad_form_are_refused(run, write, instance, tmp_path) -> None:
    write(instance())
    run("export", "instance.json", "--out", "a.txt").refused("a.txt", ".mps or .lp")
    run("export", "instance.json", "--out", "none/a.mps").refused("none")
    run("export", "instance.json", "--out", "a.mps", "--form", "conic").refused("conic")
    run("export", "missing.json", "--out", "a.mps").refused("missing.json")
    assert not list(tmp_path.glob("a.*"))


def test_segments_that_no_better_table_reaches_are_left_out(run, write, instance) -> None:
    regions = [
        {"id": "all", "parent": None, "noisy": [400000, 300000, 300000]},
        {"id": "01", "parent": "all", "noisy": [200003, 100001, 150000]},
        {"id": "02", "parent": "all", "noisy": [200000, 200000, 149999]},
    ]
    write(instance(regions, total=1_000_000))
    done = run("export", "instance.json", "--out", "a.mps", "--form", "pwl", "--json")
    assert (done.code, done.err) == (0, "")
    assert done.record["columns"] < 5000
    assert optimum("a.mps") == run("solve", "instance.json", "--json").record["objective"]


def test_too_many_segments_exit_with_2_and_write_nothing(run, write, instance, tmp_path) -> None:
    write(instance(total=10**12))
    run("export", "instance.json", "--out", "a.mps", "--form", "pwl").refused("segments", "qp")
    assert not list(tmp_path.glob("a.*"))
