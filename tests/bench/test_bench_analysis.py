"""Tables of results against cases worked out by hand, and against runs that did not come to an end."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from pgsr.bench.analysis.accuracy import accuracy_curves, inequality_table
from pgsr.bench.analysis.noises import bias_table, coverage_table, noise_table
from pgsr.bench.analysis.profiles import gap_profile, time_profile
from pgsr.bench.analysis.relaxed import relaxed_table
from pgsr.bench.analysis.scaling import scaling_fits, scaling_points
from pgsr.bench.analysis.solvers import solver_table
from pgsr.bench.results import NAMES


def run(method="a", seed=1, **changes):
    """A row as the runner writes it: every column, what does not apply is None."""
    usual = {
        "suite": "s",
        "key": f"{method}-{seed}-{len(changes)}",
        "family": "groupsizes",
        "instance": "korea",
        "model": "hierarchical",
        "method": method,
        "kind": "exact",
        "noise": "geometric",
        "epsilon": 1.0,
        "seed": seed,
        "entries": 100,
        "time_limit_s": 60.0,
        "outcome": "ran",
        "termination": "optimal",
        "point_status": "feasible",
        "certificate": True,
        "objective": 10.0,
        "objective_exact": "10",
        "solve_s": 1.0,
        "pgsr": "0",
    }
    row = dict.fromkeys(NAMES) | usual | changes
    if "objective" in changes and "objective_exact" not in changes:
        row["objective_exact"] = None
    return row


def killed(method="a", seed=1, **changes):
    gone = dict.fromkeys(("termination", "point_status", "certificate", "objective", "solve_s"))
    return run(method, seed, outcome="killed", **(gone | {"objective_exact": None} | changes))


def line(table, **wanted):
    """The only line with these cells."""
    found = [r for r in table.records() if all(r[name] == value for name, value in wanted.items())]
    assert len(found) == 1, found
    return found[0]


def said(table, *words):
    return any(all(word in note for word in words) for note in table.notes)


# Solver against solver.


def test_solvers_by_hand():
    rows = [
        run("a", 1, solve_s=1.0),
        run("a", 2, solve_s=3.0, certificate=None),
        run("a", 3, solve_s=7.0),
        run("b", 1, solve_s=1.005),
        run("b", 2, termination="time_limit", objective=12.0, certificate=None, solve_s=60.0),
        killed("b", 3),
        run("c", 1, outcome="missing"),
        run("c", 2, outcome="missing"),
        run("c", 3, outcome="missing"),
    ]
    table = solver_table(rows)
    a, b, c = (line(table, method=name) for name in "abc")
    assert (a["solved"], a["proven"], a["fastest"], a["median_s"]) == (3, 2, 3, 3.0)
    assert (b["solved"], b["proven"], b["limit"], b["killed"], b["fastest"]) == (1, 1, 1, 1, 1)
    assert a["mean_s"] == pytest.approx((2 * 4 * 8) ** (1 / 3) - 1)
    assert b["mean_s"] == pytest.approx((2.005 * 61 * 61) ** (1 / 3) - 1)  # unsolved: the limit
    assert (c["solved"], c["never"], c["mean_s"], c["fastest"]) == (0, 3, None, None)
    assert said(table, "c is left out", "missing")
    assert "memory" not in [column.name for column in table.columns]  # nobody ran out of it


def test_what_a_solver_does_not_take_is_no_problem_of_it():
    rows = [run(m, s) for m in "ab" for s in range(5)] + [run("b", 5, outcome="lacks"), run("a", 5)]
    table = solver_table(rows)
    assert [line(table, method=m)["problems"] for m in "ab"] == [6, 5]
    assert line(table, method="b")["never"] == 1
    assert said(table, "b: 1 problem on which it did not run (lacks) count as not solved")


def test_objectives_that_others_prove_are_counted():
    # Proven by another run of the same problem, by the list, and not at all.
    rows = [run("a", 1), run("b", 1, certificate=None)]
    rows += [run(m, s, fingerprint=f"f{s}", certificate=None) for s in (2, 3) for m in "ab"]
    table = solver_table(rows, known={"f2": 10, "f3": 10}, proven=["f2"])
    a, b = (line(table, method=m) for m in "ab")
    assert (a["solved"], a["proven"], a["agreed"]) == (3, 1, 1)
    assert (b["solved"], b["proven"], b["agreed"]) == (3, 0, 2)
    assert "agreed" not in [column.name for column in solver_table(rows[:1]).columns]
    off = [
        run("a", 1, objective_exact=str(2**60)),
        run("b", 1, objective_exact=str(2**60 + 1), certificate=None),
    ]
    assert "agreed" not in [column.name for column in solver_table(off).columns]


def test_the_table_of_solvers_says_from_where_on_times_count():
    table = solver_table([run("a", solve_s=1e-4), run("b", solve_s=9e-4)])
    assert "below 1 ms count as 1 ms" in table.caption
    assert [line(table, method=m)["fastest"] for m in "ab"] == [1, 1]
    assert line(table, method="a")["median_s"] == 1e-4


def test_a_claimed_optimum_is_not_solved_if_something_better_is_known():
    rows = [run("a", objective_exact=str(2**60 + 1)), run("b", objective_exact=str(2**60))]
    table = solver_table(rows)
    assert line(table, method="a")["beaten"] == 1  # as floating-point numbers the two are the same
    assert line(table, method="b")["solved"] == 1
    named = [run("a", fingerprint="f"), run("b", fingerprint="f")]
    assert line(solver_table(named, known={"f": 9}), method="a")["beaten"] == 1
    assert line(solver_table(named, known={"f": 10}), method="a")["solved"] == 1


@pytest.mark.parametrize(
    "changes",
    [
        {"certificate": False},
        {"point_status": "infeasible"},
        {"termination": "numerical", "certificate": None},
    ],
)
def test_what_the_problem_refutes_is_not_solved(changes):
    table = solver_table([run("a", **changes)])
    assert (line(table, method="a")["solved"], line(table, method="a")["stopped"]) == (0, 1)


def test_relaxed_objectives_are_apart_from_those_of_integers():
    rows = [run("a", objective=10.0), run("p:relaxed", kind="relaxed", objective=9.5)]
    assert line(solver_table(rows), method="a")["solved"] == 1
    two = [
        run(m, kind="relaxed", objective=value) for m, value in (("p", 9.5), ("q", 9.5 + 1e-7), ("r", 9.6))
    ]
    assert [line(solver_table(two), method=m)["solved"] for m in "pqr"] == [1, 1, 0]


def test_only_problems_that_all_were_given_count_for_means():
    rows = [run("a", seed) for seed in range(4)] + [run("b", seed, solve_s=0.5) for seed in range(2)]
    rows += [run("c", 0, solve_s=0.1)]
    table = solver_table(rows)
    assert said(table, "c is left out", "1 of 4 problems")
    assert said(table, "2 of 4 problems are left out")
    assert (line(table, method="a")["fastest"], line(table, method="b")["fastest"]) == (0, 2)


# Performance profiles.


def test_profile_of_times_by_hand():
    # Factors of a: 1, 2, 1, never; of b: 2, 1, never, 1; problem 5 is solved by nobody.
    rows = [
        *(run("a", 1, solve_s=1.0), run("b", 1, solve_s=2.0)),
        *(run("a", 2, solve_s=6.0), run("b", 2, solve_s=3.0)),
        *(run("a", 3, solve_s=5.0), killed("b", 3)),
        *(run("a", 4, outcome="memory"), run("b", 4, solve_s=4.0)),
        *(killed("a", 5), killed("b", 5)),
    ]
    table = time_profile(rows)
    steps = {(r["method"], r["tau"]): r["share"] for r in table.records()}
    assert steps == {("a", 1): 0.5, ("a", 2): 0.75, ("b", 1): 0.5, ("b", 2): 0.75}
    assert {r["problems"] for r in table.records()} == {4}
    assert said(table, "1 problem left out", "nobody")


def test_profiles_do_not_let_thousandths_of_milliseconds_decide():
    rows = [run("a", solve_s=1e-6), run("b", solve_s=9e-4)]
    assert {(r["method"], r["tau"], r["share"]) for r in time_profile(rows).records()} == {
        ("a", 1, 1),
        ("b", 1, 1),
    }


def test_profile_of_quality_by_hand():
    rows = [
        *(run("a", 1, objective=10.0), run("h", 1, kind="heuristic", objective=11.0, certificate=None)),
        *(run("a", 2, objective=20.0), run("h", 2, kind="heuristic", objective=20.0, certificate=None)),
        run("p:rounded", 1, kind="rounded", objective=8.0, point_status="infeasible"),
        run("p:rounded", 2, kind="rounded", objective=8.0, point_status="infeasible"),
    ]
    steps = {(r["method"], r["gap"]): r["share"] for r in gap_profile(rows).records()}
    assert steps["a", 0] == 1
    assert (steps["h", 0], steps["h", 0.1]) == (0.5, 1)
    assert (steps["p:rounded", 0], steps["p:rounded", 0.1]) == (0, 0)  # cheap, and no table at all


# Growth.


def growing(exponent, sizes, *, noise=0.0, **changes):
    rng = np.random.default_rng(1)
    return [
        run(
            seed=seed,
            instance=f"us:scale={size}",
            entries=size,
            solve_s=2e-5 * size**exponent * math.exp(noise * rng.normal()),
            **changes,
        )
        for size in sizes
        for seed in range(3)
    ]


def test_the_exponent_is_found_again():
    fit = line(scaling_fits(growing(1.25, [1_000, 10_000, 100_000, 1_000_000])), method="a")
    assert (fit["exponent"], fit["constant"]) == pytest.approx((1.25, 2e-5))
    assert fit["lower"] == pytest.approx(1.25) == fit["upper"]
    assert fit["at_largest"] == pytest.approx(2e-5 * 1e6**1.25)
    assert (fit["instance"], fit["runs"], fit["smallest"], fit["largest"]) == ("us", 12, 1_000, 1_000_000)
    noisy = line(scaling_fits(growing(1.25, [1_000, 10_000, 100_000], noise=0.3)), method="a")
    assert noisy["lower"] < 1.25 < noisy["upper"]
    assert 0.02 < noisy["upper"] - noisy["lower"] < 0.5


def test_runs_that_were_cut_off_are_counted_and_not_fitted():
    rows = growing(1.0, [1_000, 10_000, 100_000])
    rows += [killed(seed=9, instance="us:scale=9", entries=10**6), run(
        seed=10, instance="us:scale=9", entries=10**6, termination="time_limit", solve_s=60.0
    )]  # fmt: skip
    rows += [run(seed=11, instance="us:scale=5", entries=50, solve_s=2e-4)]
    table = scaling_fits(rows)
    fit = line(table, method="a")
    assert (fit["exponent"], fit["cut"], fit["largest"]) == (pytest.approx(1.0), 2, 100_000)
    assert said(table, "3 runs", "1 killed", "1 stopped by a limit", "1 below 1 ms")
    points = scaling_points(rows)
    assert (line(points, entries=10**6)["runs"], line(points, entries=10**6)["cut"]) == (0, 2)
    assert line(points, entries=10**6)["median"] is None
    assert line(points, entries=1_000)["median"] == pytest.approx(0.02)


def test_two_sizes_are_no_fit_and_one_size_is_no_growth():
    table = scaling_fits(growing(1.0, [1_000, 10_000]))
    assert not table
    assert said(table, "No fit", "2 of the 3 sizes")
    assert not scaling_points(growing(1.0, [1_000]))


def test_growth_of_memory():
    rows = [run(instance=f"us:scale={n}", entries=n, peak_gb=1e-6 * n, seed=n) for n in (1e5, 1e6, 1e7)]
    assert line(scaling_fits(rows, "peak_gb"), method="a")["exponent"] == pytest.approx(1)


# Exact against relaxed.


def table_of(method, kind, seed=1, **changes):
    whole = {"broken_sums": 0, "sums": 8, "worst_sum": 0.0, "negative": 0, "fractional": 0, "total_off": 0.0}
    return run(method, seed, kind=kind, **(whole | changes))


def test_exact_and_relaxed_by_hand():
    rows = [
        table_of("a", "exact", 1, objective=100.0, l1=[4.0, 6.0], emd=[10.0, 10.0]),
        table_of("a", "exact", 2, objective=200.0, l1=[10.0, 10.0], emd=[0.0, 0.0]),
        table_of("p:rounded", "rounded", 1, objective=98.0, broken_sums=4, worst_sum=2.0, total_off=1.0,
                 point_status="infeasible", l1=[10.0, 10.0], emd=[5.0, 5.0]),
        table_of("p:rounded", "rounded", 2, objective=202.0, broken_sums=2, sums=2, worst_sum=3.0, negative=4,
                 point_status="infeasible", l1=[20.0, 20.0], emd=[5.0, 5.0]),
        table_of("p:relaxed", "relaxed", 1, objective=97.0, fractional=7, worst_sum=1e-12, total_off=1e-12),
        killed("p:relaxed", 2, kind="relaxed"),
    ]  # fmt: skip
    table = relaxed_table(rows)
    exact, rounded, real = (line(table, kind=kind) for kind in ("exact", "rounded", "relaxed"))
    assert (exact["keeps_all"], exact["broken_share"], exact["excess"], exact["l1_ratio"]) == (1, 0, 0, 1)
    assert (rounded["keeps_all"], rounded["broken_share"], rounded["worst_share"]) == (0, 0.6, 1.0)
    assert rounded["mean_share"] == 0.75
    assert (rounded["worst_sum"], rounded["negative"], rounded["total_off"]) == (3, 2, 1)
    assert rounded["excess"] == pytest.approx((-0.02 + 0.01) / 2)
    assert (rounded["l1_ratio"], rounded["emd_ratio"]) == pytest.approx((2, 0.5))
    assert said(table, "p:rounded", "1 problem", "EMD")  # an exact distance of 0 has no ratio
    assert (real["runs"], real["fractional"], real["worst_sum"], real["keeps_all"]) == (1, 7, 0, 0)
    assert said(table, "1 run", "1 killed")
    assert [r["kind"] for r in table.records()] == ["exact", "relaxed", "rounded"]
    off = relaxed_table([table_of("q", "rounded", total_off=1.0)])
    assert line(off, method="q")["keeps_all"] == 0


def test_without_an_exact_answer_there_is_nothing_to_compare_with():
    rows = [
        table_of("a", "exact", 1),
        table_of("p", "rounded", 2),
        table_of("q", "exact", 2, point_status="none"),
    ]
    table = relaxed_table(rows)
    assert line(table, method="p")["excess"] is None
    assert said(table, "1 problem without an exact answer")
    other = [table_of("a", "exact", fingerprint="x"), table_of("p", "rounded", fingerprint="y")]
    assert line(relaxed_table(other), method="p")["excess"] is None


# Accuracy.


def test_curves_by_hand_with_levels_and_intervals():
    rows = [run(seed=seed, l1=[1.0, value]) for seed, value in enumerate([2.0, 4.0, 6.0])]
    rows += [run(seed=1, epsilon=2.0, l1=[1.0, 1.0]), killed(seed=2, epsilon=2.0)]
    table = accuracy_curves(rows)
    whole = line(table, level="all", budget=1.0)
    half = 4.302653 * 2 / math.sqrt(3)  # Student's t with 2 degrees; the standard deviation is 2
    assert (whole["value"], whole["seeds"]) == (5, 3)
    assert (whole["lower"], whole["upper"]) == pytest.approx((max(0, 5 - half), 5 + half), abs=1e-5)
    assert line(table, level="0", budget=1.0)["value"] == 1
    assert line(table, level="1", budget=1.0)["value"] == 4
    single = line(table, level="all", budget=2.0)
    assert (single["value"], single["lower"], single["upper"]) == (2, None, None)
    assert said(table, "1 killed")
    assert said(table, "epsilon 2 has 1 of 3 seeds")


def test_tables_that_break_a_condition_are_no_points_but_rounded_ones_are():
    rows = [
        run(l1=[1.0], point_status="infeasible"),
        run("p", kind="rounded", l1=[2.0], point_status="infeasible"),
    ]
    table = accuracy_curves(rows)
    assert {r["method"] for r in table.records()} == {"p"}
    assert said(table, "breaks a condition")


def test_the_noisy_input_is_a_method_unless_it_ran_itself():
    rows = [run(seed=s, l1=[1.0], l1_noisy=[9.0]) for s in (1, 2)] + [run("b", 1, l1=[1.0], l1_noisy=[9.0])]
    assert line(accuracy_curves(rows), method="noisy", level="all")["seeds"] == 2
    rows += [run("noisy", s, kind="noisy", l1=[8.0]) for s in (1, 2)]
    assert line(accuracy_curves(rows), method="noisy", level="all")["value"] == 8


def test_errors_of_inequality_are_medians():
    errors = [1.0, 2.0, 3.0, 4.0, 5.0, 1e9]
    rows = [
        run("cauchy", s, family="inequality", kind="mechanism", model="mld", error=e, truth=2.0, estimate=e)
        for s, e in enumerate(errors)
    ]
    found = line(accuracy_curves(rows, "error"), method="cauchy")
    assert (found["value"], found["lower"], found["upper"], found["statistic"]) == (3.5, 1, 1e9, "median")
    table = inequality_table([*rows, killed("cauchy", 9, family="inequality")])
    assert (line(table, method="cauchy")["error"], line(table, method="cauchy")["relative"]) == (3.5, 1.75)
    assert said(table, "1 killed")
    # The error of a run is a median over its releases: the largest of them is not the largest error.
    (largest,) = (column for column in table.columns if column.name == "largest")
    assert (line(table, method="cauchy")["largest"], largest.title) == (1e9, "largest run")
    assert "median" in largest.about


def test_noise_against_noise():
    rows = [run(seed=s, l1=[10.0 + s, 10.0]) for s in range(8)]
    rows += [run(seed=s, noise="laplace", l1=[2 * (10.0 + s), 20.0]) for s in range(8)]
    rows += [run("other", 1, l1=[1.0])]
    table = noise_table(rows)
    assert line(table, noise="geometric")["ratio"] == 1
    laplace = line(table, noise="laplace")
    assert laplace["ratio"] == pytest.approx(2)
    assert 1.5 < laplace["lower"] < 2 < laplace["upper"] < 2.5
    assert said(table, "1 setting left out")


def test_bias_and_whether_it_is_more_than_chance():
    rows = [
        run(seed=s, bias_zero=[None, 1.0 + 0.1 * s], bias_positive=[1e-14, (-1.0) ** s]) for s in range(6)
    ]
    table = bias_table(rows)
    assert len(table.rows) == 3  # no zeros at the root
    assert line(table, level="1", true_count="0")["biased"] is True
    assert line(table, level="1", true_count="positive")["biased"] is False
    assert line(table, level="0", true_count="positive")["value"] == 0
    low = bias_table([row | {"bias_zero": [-1.0 - 0.1 * row["seed"]]} for row in rows])
    assert line(low, level="0", true_count="0")["biased"] is True
    one = bias_table(rows[:1])
    assert not one
    assert said(one, "1 setting with one seed left out")


def test_coverage():
    rows = [
        run("draw", s, family="sae", kind="mechanism", model=None, epsilon=None, rho=0.5, coverage=c, error=e)
        for s, c, e in ((1, 0.80, 1.0), (2, 0.82, 3.0), (3, 0.81, 2.0))
    ] + [run("draw", 4, family="sae", kind="mechanism", outcome="refused")]
    table = coverage_table(rows)
    found = line(table, method="draw")
    assert (found["coverage"], found["error"], found["budget_kind"]) == (pytest.approx(0.81), 2, "rho")
    assert found["short"] is True
    assert said(table, "1 refused")
    assert found["over"] == "seeds"


def test_coverage_of_one_seed_has_the_binomial_interval_of_its_areas():
    def areas(coverage, regions=52):
        row = run("draw", 1, family="sae", kind="mechanism", model=None, epsilon=None, rho=0.5, error=1.0)
        return line(coverage_table([row | {"coverage": coverage, "regions": regions}]), method="draw")

    exact = stats.binomtest(49, 52).proportion_ci(0.95, method="exact")
    found = areas(49 / 52)
    assert (found["lower"], found["upper"]) == pytest.approx((exact.low, exact.high))
    assert (found["over"], found["short"], found["areas"]) == ("areas", False, 52)
    assert areas(40 / 52)["short"] is True
    assert (areas(1.0)["upper"], areas(0.0)["lower"]) == (1, 0)
    assert areas(0.5, 3)["upper"] is None  # no share of 3 areas
    assert areas(0.5, None)["upper"] is None
