"""The forms of one problem have the same optimum, and files say to other readers what they should."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from itertools import product

import numpy as np
import pytest

from pgsr.errors import InputError
from pgsr.hierarchy import Hierarchy
from pgsr.models.forms import export
from pgsr.models.forms.cvxpy_problem import cvxpy_problem
from pgsr.models.forms.export import as_good_windows, proven_windows, safe_names, write_program
from pgsr.models.forms.matrix import near_origin
from pgsr.models.forms.piecewise import Windows
from pgsr.models.forms.pyomo_model import pyomo_model, pyomo_table
from pgsr.models.instance import Instance
from pgsr.models.problem import Problem
from pgsr.solvers.conformance import named

TREE = np.array([-1, 0, 0, 1, 1])
"""A root, two regions, two leaves below the first: three leaves with two sizes can be enumerated."""

COUNTEREXAMPLE = named("model2-fractional").problem
"""Smallest known one whose piecewise-linear relaxation is fractional: 48.5 against 49."""


@cache
def counts(total: int) -> tuple[np.ndarray, ...]:
    """All ways to put `total` units into six places: three leaves with two sizes."""
    found = [cells for cells in product(range(total + 1), repeat=6) if sum(cells) == total]
    return tuple(np.array(cells).reshape(3, 2) for cells in found)


def tables(problem: Problem) -> list[np.ndarray]:
    """All whole tables on `TREE` with two sizes that are feasible."""
    found = []
    for leaves in counts(problem.total):
        low = np.cumsum(leaves, axis=1) if problem.cumulative else leaves  # regions 2, 3, 4
        x = np.array([low.sum(axis=0), low[1] + low[2], *low])
        if max(problem.violations(x).values()) == 0:
            found.append(x)
    return found


def drawn(number: int) -> Problem:
    """A small problem; both models, both losses, weights and bounds by turns."""
    rng = np.random.default_rng(number)
    weights = [None, [0.0, 1.0, 0.25, 1.0, 2.5], [0.0, 0.0, 1.0, 3.0, 0.3]][number % 3]
    problem = Problem(
        parent=TREE,
        target=rng.integers(-2, 5, (5, 2)),
        total=3,
        cumulative=number % 2 == 1,
        loss="l1" if number // 2 % 2 else "l2",
        weights=None if weights is None else np.array(weights),
    )
    if number % 5 < 2:
        lower, upper = np.zeros((5, 2), dtype=np.int64), np.full((5, 2), 3)
        lower[1, 1], upper[3, 1] = 1, 2
        return replace(problem, lower=lower, upper=upper)
    return problem


def optimum(problem: Problem) -> float:
    return min(float(problem.objective(x)) for x in tables(problem))


def by_scip(model) -> float:
    from pyomo.contrib.solver.common.factory import SolverFactory

    results = SolverFactory("scip_direct").solve(model)
    return float(results.incumbent_objective)


NUMBERS = range(12)


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("form", ["qp", "epigraph", "piecewise"])
@pytest.mark.parametrize("near", [False, True])
def test_every_pyomo_form_has_the_optimum_of_all_tables(number, form, near) -> None:
    pytest.importorskip("pyscipopt")
    problem = drawn(number)
    model = pyomo_model(problem, form=form, origin=near_origin(problem) if near else None)
    assert by_scip(model) == pytest.approx(optimum(problem), abs=1e-5)
    x = pyomo_table(model)
    assert x.dtype == np.int64
    assert max(problem.violations(x).values()) == 0
    assert float(problem.objective(x)) == pytest.approx(optimum(problem))


@pytest.mark.parametrize("number", NUMBERS)
def test_the_pyomo_and_cvxpy_relaxations_agree(number) -> None:
    pytest.importorskip("pyscipopt")
    problem = drawn(number).relaxed()
    stated, z = cvxpy_problem(problem)
    value = stated.solve(solver="CLARABEL")
    near, _ = cvxpy_problem(problem, near_origin(problem))
    assert near.solve(solver="CLARABEL") == pytest.approx(value, abs=1e-5)
    assert value <= optimum(problem) + 1e-5
    assert by_scip(pyomo_model(problem)) == pytest.approx(value, abs=1e-5)
    assert by_scip(pyomo_model(problem, form="epigraph")) == pytest.approx(value, abs=1e-5)
    table = np.asarray(z.value).reshape(problem.target.shape)
    assert problem.objective(table) == pytest.approx(value, abs=1e-4)
    # Unit segments lie above the square between whole numbers.
    assert by_scip(pyomo_model(problem, form="piecewise")) >= value - 1e-5


@pytest.mark.parametrize("number", NUMBERS)
def test_the_integer_problem_in_cvxpy_has_the_optimum(number) -> None:
    pytest.importorskip("pyscipopt")
    problem = drawn(number)
    for origin in (None, near_origin(problem)):
        stated, _ = cvxpy_problem(problem, origin)
        assert stated.solve(solver="SCIP") == pytest.approx(optimum(problem), abs=1e-4)


@pytest.mark.parametrize(("cumulative", "most"), [(False, 2), (True, 3)])
@pytest.mark.parametrize("regions", [1, 3, 40])
def test_cvxpy_gets_one_constraint_a_kind_whatever_the_size(cumulative, most, regions) -> None:
    parent = np.array([-1, *((np.arange(1, regions) - 1) // 3)])
    problem = Problem(parent=parent, target=np.zeros((regions, 4), dtype=int), total=5, cumulative=cumulative)
    stated, variable = cvxpy_problem(problem)
    assert len(stated.constraints) == most
    assert stated.variables() == [variable]
    assert stated.parameters() == []


def test_the_counterexample_in_pyomo() -> None:
    pytest.importorskip("pyscipopt")
    relaxed = pyomo_model(COUNTEREXAMPLE.relaxed(), form="piecewise")
    assert by_scip(relaxed) == pytest.approx(48.5)
    assert by_scip(pyomo_model(COUNTEREXAMPLE, form="piecewise")) == pytest.approx(49)
    assert by_scip(pyomo_model(COUNTEREXAMPLE.relaxed())) == pytest.approx(45.189655, abs=1e-5)


def test_tails_bound_the_optimum_from_below_and_windows_from_above() -> None:
    pytest.importorskip("pyscipopt")
    for number in NUMBERS:
        problem = drawn(number)
        best = optimum(problem)
        windows = Windows.around(problem, np.zeros(problem.target.shape), 1)
        tailed = by_scip(pyomo_model(problem, form="piecewise", windows=windows, tails=True))
        assert tailed <= best + 1e-6
        # All of one leaf's: windows that hold a table.
        held = Windows.around(problem, tables(problem)[0], 0)
        assert by_scip(pyomo_model(problem, form="piecewise", windows=held)) >= best - 1e-6


def test_an_unknown_form_is_refused() -> None:
    with pytest.raises(InputError, match="unknown form"):
        pyomo_model(drawn(0), form="conic")
    with pytest.raises(InputError, match="unknown form"):
        write_program(drawn(0), "here.mps", "conic")


def scip_reads(path) -> float:
    pyscipopt = pytest.importorskip("pyscipopt")
    model = pyscipopt.Model()
    model.hideOutput()
    model.readProblem(str(path))
    model.optimize()
    return float(model.getObjVal())


def gurobi_reads(path) -> float:
    gurobipy = pytest.importorskip("gurobipy")
    with gurobipy.Env(params={"OutputFlag": 0}) as env, gurobipy.read(str(path), env=env) as model:
        model.Params.MIPGap = 0
        model.optimize()
        return float(model.ObjVal)


def highs_reads(path) -> float:
    import highspy

    highs = highspy.Highs()
    highs.setOptionValue("output_flag", False)
    assert highs.readModel(str(path)) == highspy.HighsStatus.kOk
    highs.run()
    assert highs.getModelStatus() == highspy.HighsModelStatus.kOptimal
    return float(highs.getInfo().objective_function_value)


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("ending", ["mps", "lp"])
def test_files_have_the_optimum_for_every_reader(number, ending, tmp_path) -> None:
    problem = drawn(number)
    best = optimum(problem)
    path = tmp_path / f"program.{ending}"
    written = write_program(problem, path)
    assert written.integers == problem.target.size
    assert scip_reads(path) == pytest.approx(best, abs=1e-5)
    assert gurobi_reads(path) == pytest.approx(best, abs=1e-5)
    segments = write_program(problem, path, "pwl")
    windows = Windows.whole(problem)
    steps = (windows.high - windows.low)[problem.region_weights > 0].sum()
    free = (windows.high > windows.low)[problem.region_weights == 0].sum()
    assert segments.columns == steps + free + 1
    for read in (scip_reads, gurobi_reads, highs_reads):
        assert read(path) == pytest.approx(best, abs=1e-5)
    relaxed = cvxpy_problem(problem.relaxed())[0].solve(solver="CLARABEL")
    assert write_program(problem.relaxed(), path).integers == 0
    for read in (scip_reads, gurobi_reads, highs_reads):
        assert read(path) == pytest.approx(relaxed, abs=1e-4)


def test_a_file_of_the_counterexample_is_fractional_only_without_integers(tmp_path) -> None:
    write_program(COUNTEREXAMPLE, tmp_path / "whole.mps", "pwl")
    write_program(COUNTEREXAMPLE.relaxed(), tmp_path / "relaxed.mps", "pwl")
    assert highs_reads(tmp_path / "whole.mps") == pytest.approx(49)
    assert highs_reads(tmp_path / "relaxed.mps") == pytest.approx(48.5)


def test_a_known_table_leaves_out_only_steps_that_no_better_table_takes(tmp_path) -> None:
    for number in NUMBERS:
        problem = drawn(number)
        known = min(tables(problem), key=problem.objective)
        windows = as_good_windows(problem, known)
        best = [x for x in tables(problem) if problem.objective(x) <= problem.objective(known)]
        assert all(np.all((windows.low <= x) & (x <= windows.high)) for x in best)
    far = Problem(parent=TREE, target=np.tile([500, 4], (5, 1)), total=1000)
    known = np.array([[996, 4], [664, 3], [332, 1], [332, 2], [332, 1]])
    assert as_good_windows(far, known).segments < Windows.whole(far).segments
    with pytest.raises(InputError, match="known"):
        write_program(far, tmp_path / "a.lp", "pwl", known + 1)


def test_names_are_safe_different_and_hold_codes_and_sizes(tmp_path) -> None:
    codes = ["all", "a b", "a_20_b", "é:1", "1" * 400, "1" * 401]
    names = safe_names(codes)
    assert len(set(names)) == len(codes)
    assert all(set(name) <= set("abcdefghijklmnopqrstuvwxyz0123456789_.") for name in names)
    hierarchy = Hierarchy.from_columns(codes, [None, *["all"] * 5])
    instance = Instance.build(
        hierarchy, np.array([0, 7]), np.arange(12).reshape(6, 2), 9, cumulative=True, loss="l2"
    )
    for ending in ("mps", "lp"):
        path = tmp_path / f"named.{ending}"
        write_program(instance, path)
        text = path.read_text(encoding="ascii")
        for name in ("x.a_20_b.7", "x.a_5f_20_5f_b.0", "consistency.all.7", "monotone._e9__3a_1.7", "total"):
            assert name in text
        assert scip_reads(path) == pytest.approx(gurobi_reads(path), abs=1e-5)


@pytest.mark.parametrize("value", [0.1, 1.0, -3.0, 2.0**53, 2.0**54, 1e-20, 1e300, -0.3])
def test_numbers_read_back_as_they_were(value) -> None:
    assert float(export.number(value)) == value


def test_what_cannot_be_written_is_refused_and_leaves_nothing(tmp_path, monkeypatch) -> None:
    with pytest.raises(InputError, match="segments"):
        write_program(
            Problem(parent=np.array([-1]), target=np.array([[5, 5]]), total=2**52), tmp_path / "a.lp", "pwl"
        )
    with pytest.raises(InputError, match=r"\.mps or \.lp"):
        write_program(drawn(0), tmp_path / "a.txt")

    def broken(*_: object) -> None:
        raise OSError("the disk is full")

    monkeypatch.setattr(export, "_write_lp", broken)
    with pytest.raises(OSError, match="full"):
        write_program(drawn(0), tmp_path / "a.lp")
    assert list(tmp_path.iterdir()) == []


def test_an_optimal_table_leaves_the_steps_near_it_and_the_optimum(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(export, "REACH", 0)
    for number in NUMBERS:
        problem = drawn(number)
        known = min(tables(problem), key=problem.objective)
        windows = proven_windows(problem, known)
        assert np.all((windows.low <= known) & (known <= windows.high))
        monkeypatch.setattr(export, "MOST_SEGMENTS", windows.segments)
        write_program(problem, tmp_path / "a.mps", "pwl", known, proven=True)
        assert highs_reads(tmp_path / "a.mps") == pytest.approx(optimum(problem))
    relaxed = problem.relaxed()  # may be better elsewhere
    with pytest.raises(InputError, match="one of integers"):
        proven_windows(relaxed, known)
    with pytest.raises(InputError, match="not a feasible table"):
        proven_windows(problem, known + 1)


def test_steps_are_left_out_for_a_proof_only_where_there_are_too_many(tmp_path, monkeypatch) -> None:
    far = Problem(parent=TREE, target=np.tile([1400, 4], (5, 1)), total=3000)
    known = np.array([[2996, 4], [1998, 3], [998, 1], [999, 2], [999, 1]])
    monkeypatch.setattr(export, "MOST_SEGMENTS", as_good_windows(far, known).segments)
    all_as_good = write_program(far, tmp_path / "a.lp", "pwl", known, proven=True)
    assert all_as_good == write_program(far, tmp_path / "a.lp", "pwl", known)
    monkeypatch.setattr(export, "MOST_SEGMENTS", as_good_windows(far, known).segments - 1)
    with pytest.raises(InputError, match="unit segments are more"):
        write_program(far, tmp_path / "a.lp", "pwl", known)
    fewer = write_program(far, tmp_path / "a.lp", "pwl", known, proven=True)
    assert fewer.columns < all_as_good.columns
