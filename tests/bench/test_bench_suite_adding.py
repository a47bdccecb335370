"""Results made elsewhere: judged from the problem, merged on equal terms, refused where they do not fit."""

from __future__ import annotations

import json

import numpy as np
import pytest

from pgsr.bench.adding import Origin, add_results, add_solution
from pgsr.bench.library import open_case
from pgsr.bench.results import RESULTS, read_results, write_results
from pgsr.errors import InputError
from pgsr.models.files import write_instance, write_solution
from pgsr.solvers.certificate import certify
from pgsr.solvers.registry import get
from pgsr.solvers.running import run

NAME = "uniform:scale=0.008,sizes=3"
OTHER = {
    "suite": "other",
    "family": "groupsizes",
    "instance": NAME,
    "model": "hierarchical",
    "method": "x",
    "kind": "exact",
    "outcome": "ran",
    "pgsr": "0",
}


@pytest.fixture(scope="module")
def case():
    return open_case(NAME, model="hierarchical", epsilon="1/2", seed=4)


@pytest.fixture
def folder(tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    write_results(out / RESULTS, [OTHER | {"key": "one"}])
    return out


def origin(**changes) -> Origin:
    return Origin(
        **(
            {"instance": NAME, "method": "mine", "model": "hierarchical", "epsilon": "1/2", "seed": 4}
            | changes
        )
    )


def solved(case, tmp_path, *, relaxed=False):
    problem = case.instance.problem
    solution = run(get("proximity"), problem.relaxed() if relaxed else problem, isolate=False)
    path = tmp_path / "answer.json"
    write_solution(solution.x, case.instance, path)
    return path, solution


def test_a_solution_is_judged_from_the_problem(case, folder, tmp_path) -> None:
    path, solution = solved(case, tmp_path)
    row = add_solution(folder, path, origin(solve_s=1.5, version="7"))
    kept = read_results(folder)[1]
    assert kept["key"] == f"{NAME} | hierarchical | epsilon 1/2 | geometric | seed 4 | mine | made elsewhere"
    assert (kept["kind"], kept["certificate"], kept["point_status"]) == ("exact", True, "feasible")
    assert kept["objective_exact"] == str(solution.objective) == row["objective_exact"]
    assert (kept["fingerprint"], kept["solve_s"], kept["version"]) == (case.fingerprint, 1.5, "7")
    assert (kept["broken_sums"], kept["gap"]) == (0, 0.0)
    assert len(read_results(folder)) == 2


def test_another_result_of_the_same_run_is_refused_unless_it_is_to_be_replaced(
    case, folder, tmp_path
) -> None:
    path, _ = solved(case, tmp_path)
    add_solution(folder, path, origin(solve_s=1.5))
    before = read_results(folder)
    add_solution(folder, path, origin(solve_s=1.5))  # the very same
    assert read_results(folder) == before
    with pytest.raises(InputError, match=r"another result of this run: .*mine \| made elsewhere'.*--replace"):
        add_solution(folder, path, origin(solve_s=2.5))
    assert read_results(folder) == before
    add_solution(folder, path, origin(solve_s=2.5), replace=True)
    assert [row["solve_s"] for row in read_results(folder)] == [None, 2.5]


@pytest.mark.parametrize("ending", ["json", "parquet"])
def test_a_solution_of_another_problem_is_refused(case, folder, tmp_path, ending) -> None:
    """An optimal answer for seed 4 that is added as one for seed 1 would pass for a bad heuristic."""
    path, solution = solved(case, tmp_path)
    problem = tmp_path / "problem.json"
    write_instance(case.instance, problem)
    assert add_solution(folder, path, origin(), solved=problem)["kind"] == "exact"
    with pytest.raises(InputError, match=r"holds another problem: .*problem.json, .*seed 1"):
        add_solution(folder, path, origin(seed=1), solved=problem)
    stated = tmp_path / f"stated.{ending}"
    write_solution(solution.x, case.instance, stated, fingerprint=case.fingerprint)
    add_solution(folder, stated, origin())
    before = read_results(folder)
    for changes in ({"seed": 1}, {"epsilon": "1"}, {"noise": "gaussian"}):
        with pytest.raises(InputError, match="solution is one of another problem"):
            add_solution(folder, stated, origin(**changes))
    assert read_results(folder) == before


def test_a_solution_is_not_mistaken_for_a_table_of_results(case, folder, tmp_path) -> None:
    path, solution = solved(case, tmp_path)
    write_solution(solution.x, case.instance, tmp_path / "answer.parquet")
    for one in (path, tmp_path / "answer.parquet"):
        with pytest.raises(InputError, match=r"not a table of results: .*--instance NAME and --method NAME"):
            add_results(folder, one)


def test_a_bound_that_says_nothing_is_none(case, folder, tmp_path) -> None:
    """What exchanges prove of a bad table lies far below 0, though no sum of squares does."""
    path, solution = solved(case, tmp_path)
    problem = case.instance.problem
    x = np.zeros_like(solution.x)
    x[:, -1] = problem.total  # all units in the last leaf of each level
    for first, last in zip(problem.level_start[:-1], problem.level_start[1:], strict=True):
        x[first : last - 1] = 0
    write_solution(x, case.instance, path)
    assert certify(problem, x).bound < 0
    row = add_solution(folder, path, origin())
    assert (row["point_status"], row["bound"], row["gap"]) == ("feasible", None, None)


def test_a_worse_or_broken_solution_is_not_called_exact(case, folder, tmp_path) -> None:
    path, solution = solved(case, tmp_path)
    x = np.asarray(solution.x).copy()
    x[0, 0] += 1
    write_solution(x, case.instance, path)
    row = add_solution(folder, path, origin())
    assert (row["kind"], row["certificate"], row["point_status"]) == ("heuristic", False, "infeasible")
    assert row["broken_sums"] == 1


def test_real_numbers_are_a_relaxation(case, folder, tmp_path) -> None:
    path, solution = solved(case, tmp_path, relaxed=True)
    row = add_solution(folder, path, origin())
    assert row["kind"] == "relaxed"
    assert row["fractional"] > 0
    assert row["objective"] == pytest.approx(solution.objective)


def test_another_instance_or_folder_is_refused(case, folder, tmp_path) -> None:
    path, _ = solved(case, tmp_path)
    with pytest.raises(InputError):
        add_solution(folder, path, origin(instance="fractional", model=None))
    with pytest.raises(InputError, match="no folder of results"):
        add_solution(tmp_path, path, origin())
    with pytest.raises(InputError, match="unknown kind"):
        add_solution(folder, path, origin(kind="best"))
    path.write_text(json.dumps({"format": "pgsr-solution/1", "values": {}}), encoding="utf-8")
    with pytest.raises(InputError):
        add_solution(folder, path, origin())


def test_results_are_merged_by_their_keys(folder, tmp_path) -> None:
    more = tmp_path / "more.parquet"
    write_results(more, [OTHER | {"key": "one"}, OTHER | {"key": "two", "method": "y"}])
    assert add_results(folder, more) == (1, 1)
    assert add_results(folder, more) == (0, 2)
    assert [row["key"] for row in read_results(folder)] == ["one", "two"]


def test_contradictions_are_refused_and_nothing_is_added(folder, tmp_path) -> None:
    more = tmp_path / "more.parquet"
    write_results(more, [OTHER | {"key": "two"}, OTHER | {"key": "one", "outcome": "fault"}])
    with pytest.raises(InputError, match="both have a result of this run"):
        add_results(folder, more)
    write_results(
        more,
        [OTHER | {"key": "three", "fingerprint": "a"}, OTHER | {"key": "four", "fingerprint": "b"}],
    )
    with pytest.raises(InputError, match="another problem under the same name"):
        add_results(folder, more)
    assert [row["key"] for row in read_results(folder)] == ["one"]
