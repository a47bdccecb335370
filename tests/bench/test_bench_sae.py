"""The study of survey twins: the recipe's margins, figures against their definitions, rows, tables, speed."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

import pgsr.bench.sae_speed as speed
import pgsr.bench.sae_twins as twins
from pgsr.bench.foundation import markdown
from pgsr.bench.sae_figures import ETAS, QUANTILES, Analysis, area_rows, figures, others_reach
from pgsr.bench.sae_levers import CAPS, TARGETS, at_equal_rho, capped, errors_of_draw, realised, trimmed
from pgsr.bench.sae_paper import INTERVALS, LAYOUT, PRINTED
from pgsr.bench.sae_recipe import ACS, BRFSS, Recipe, households, ratios, simulate, sizes, tilted
from pgsr.bench.sae_tables import levers_report, tables_report
from pgsr.sae.conversions import epsilon_simple
from pgsr.sae.fayherriot import confidential_fit
from pgsr.sae.levers import floor_for_any_model, floor_for_this_model
from pgsr.sae.posterior import Posterior

SMALL = Recipe(
    name="brfss",
    number=9,
    title="a small one",
    areas=14,
    records=1_500,
    least=40,
    median=80,
    greatest=400,
    ratio=4.0,
    correlation=0.3,
    prevalence=0.2,
    model_variance=4e-3,
    household=1.0,
    delta=1e-4,
)
CLUSTERED = replace(SMALL, name="acs", number=8, household=2.4)


def quiet(text):
    return None


# --- The recipe ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("recipe", [ACS, BRFSS, SMALL])
def test_sample_sizes_hit_all_that_is_printed(recipe):
    n = sizes(recipe)
    assert n.size == recipe.areas
    assert n.sum() == recipe.records
    assert (n.min(), np.median(n), n.max()) == (recipe.least, recipe.median, recipe.greatest)
    assert (np.diff(n) >= 0).all()


def test_the_recipes_are_the_papers_surveys():
    for recipe in (ACS, BRFSS):
        printed = PRINTED[recipe.name]
        for name, field in (
            ("areas", "areas"),
            ("records", "records"),
            ("n_least", "least"),
            ("n_median", "median"),
            ("n_greatest", "greatest"),
            ("ratio_median", "ratio"),
        ):
            assert printed[name] == getattr(recipe, field)
        assert recipe.delta < 1 / recipe.records <= 10 * recipe.delta


def test_weights_hit_the_ratio_of_every_area():
    rng = np.random.default_rng(1)
    counts = np.array([5, 40, 300, 2_000])
    ratio = np.array([1.0, 9.0, 2.5, 30.0])
    codes, starts = np.repeat(np.arange(4), counts), np.concatenate([[0], counts.cumsum()[:-1]])
    w = tilted(rng.standard_normal(codes.size), starts, codes, ratio)
    assert (w > 0).all()
    for k in range(4):
        part = w[codes == k]
        assert part.mean() == pytest.approx(1)
        assert part.max() / part.mean() == pytest.approx(ratio[k], rel=1e-10)


def test_ratios_go_with_sizes_as_asked():
    found = np.array(
        [
            np.corrcoef(np.log(ratios(ACS, sizes(ACS), np.random.default_rng(s))), np.log(sizes(ACS)))[0, 1]
            for s in range(20)
        ]
    )
    assert found.mean() == pytest.approx(0.44, abs=0.02)
    assert np.median(ratios(ACS, sizes(ACS), np.random.default_rng(0))) == pytest.approx(6.92)


def test_households_stay_in_their_area_and_have_the_mean_asked_for():
    counts = sizes(ACS)[::100]
    codes, starts = np.repeat(np.arange(counts.size), counts), np.concatenate([[0], counts.cumsum()[:-1]])
    home = households(ACS, starts, codes, np.random.default_rng(1))
    first = np.unique(home, return_index=True)[1]
    assert (codes[first][home] == codes).all()
    assert np.bincount(home).mean() == pytest.approx(2.4, rel=0.02)
    assert (np.diff(home) >= 0).all()


def test_a_seed_is_a_survey_and_another_seed_another():
    one, same, other = simulate(CLUSTERED, 3), simulate(CLUSTERED, 3), simulate(CLUSTERED, 4)
    np.testing.assert_array_equal(one.data.outcome, same.data.outcome)
    np.testing.assert_array_equal(one.data.weight, same.data.weight)
    assert not np.array_equal(one.truth, other.truth)
    assert not np.array_equal(one.data.outcome, other.data.outcome)
    # One outcome a household, two of them somewhere in every larger area.
    for home in range(40):
        assert np.unique(one.data.outcome[one.data.psu_codes == home]).size == 1
    assert twins.brfss_like(1).data.m == 52


def test_prevalences_have_the_mean_and_variance_of_the_recipe():
    truth = np.concatenate([simulate(SMALL, seed).truth for seed in range(150)])
    assert truth.mean() == pytest.approx(SMALL.prevalence, abs=4 * np.sqrt(4e-3 / truth.size))
    assert truth.var() == pytest.approx(SMALL.model_variance, rel=0.12)
    assert ((truth > 0) & (truth < 1)).all()


def test_pooled_variances_of_households_have_the_taylor_total():
    twin = simulate(CLUSTERED, 2)
    kish, taylor = twin.variance("kish"), twin.variance("taylor")
    assert kish.sum() == pytest.approx(taylor.sum())
    np.testing.assert_allclose(kish * twin.weights.effective_n, kish[0] * twin.weights.effective_n[0])
    assert kish[0] > twin.direct.overall * (1 - twin.direct.overall) / twin.weights.effective_n[0] * 1.2
    with pytest.raises(ValueError, match="unknown method"):
        twin.variance("jackknife")


# --- Figures ------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def found():
    return Analysis.of(simulate(SMALL, 1), "kish")


def test_figures_are_the_papers_formulas(found):
    """Proposition 1 and equations (24) to (26) for an intercept alone, written out."""
    got, p = figures(found), found.posterior
    a, b, delta = p.model_variance, p.shrinkage, found.guarantees.sensitivity
    w = (1 - b).sum()
    c = np.outer(b, 1 - b) / w
    np.fill_diagonal(c, (1 - b) * (1 + b / w))
    sigma2 = a * b * (1 + b / w)
    rho = (np.diag(c) * delta) ** 2 / (2 * sigma2)
    for q in QUANTILES:
        assert got[f"rho_{q}"] == pytest.approx(np.percentile(rho, q))
        assert got[f"conservative_{q}"] == pytest.approx(np.percentile(delta**2 / (2 * sigma2), q))
        assert got[f"rho_{q}_epsilon"] == pytest.approx(epsilon_simple(got[f"rho_{q}"], SMALL.delta))
    joint = delta**2 / 2 * (c**2 / sigma2[:, None]).sum(axis=0)
    assert got["marginals"] == pytest.approx(joint.max())
    assert got["joint"] == pytest.approx(rho.max())
    assert got["sum"] == pytest.approx(rho.sum())
    assert got["inverse_gain2_median"] == pytest.approx(np.median(1 / np.diag(c) ** 2))
    reach = c * delta / (np.diag(c) * delta)[:, None]
    np.fill_diagonal(reach, 0)
    assert got["others_reach"] == pytest.approx(reach.max())
    assert got["equal_factor_fixed"] == pytest.approx(np.median(found.ratio**2))
    assert got["a_free"] == pytest.approx((delta**2 / (2 * p.variance)).max())


def test_the_reach_of_other_areas_by_brute_force():
    """Of three areas the one that reaches farthest can be the one that others reach most."""
    few = replace(SMALL, areas=3, records=520)
    farthest = 0
    for seed in range(1, 30):
        found = Analysis.of(simulate(few, seed), "kish")
        p = found.posterior
        if p.model_variance == 0:
            continue
        shift = np.abs(p.gain_matrix()) * found.guarantees.sensitivity
        own = np.diag(shift).copy()
        np.fill_diagonal(shift, 0)
        reach = shift.max(axis=1) / own
        assert others_reach(found) == pytest.approx(reach.max())
        farthest += int(reach.argmax() == (found.guarantees.sensitivity * (1 - p.shrinkage)).argmax())
    assert farthest > 0


def test_changes_of_the_model_variance_are_those_of_a_new_posterior(found):
    got = figures(found)
    p, delta = found.posterior, found.guarantees.sensitivity
    before = delta**2 * p.gain / p.variance
    for eta in ETAS:
        other = Posterior(variance=p.variance, model_variance=p.model_variance * (1 + eta))
        change = 100 * (delta**2 * other.gain / p.variance / before - 1)
        assert got[f"eta_{eta:g}_50"] == pytest.approx(np.median(change))
        assert got[f"eta_{eta:g}_0"] == pytest.approx(change.min())
        assert np.sign(got[f"eta_{eta:g}_100"]) == np.sign(eta)
    assert got["eta_small_most"] == max(-got["eta_-0.1_0"], got["eta_0.1_100"])


def test_slopes_are_least_squares(found):
    got = figures(found)
    x = np.column_stack([np.ones(SMALL.areas), np.log(found.n), np.log(found.ratio)])
    slope = np.linalg.lstsq(x, np.log(found.guarantees.own), rcond=None)[0]
    assert got["slope_both_n"] == pytest.approx(slope[1])
    assert got["slope_both_ratio"] == pytest.approx(slope[2])
    assert got["slope_both_ratio_lower"] < slope[2] < got["slope_both_ratio_upper"]


def test_areas_without_a_case_are_left_out_and_counted():
    rare = replace(SMALL, prevalence=0.03, model_variance=1e-3)
    twin = next(twin for twin in (simulate(rare, s) for s in range(50)) if (twin.direct.estimate == 0).any())
    found = Analysis.of(twin, "taylor")
    assert figures(found)["left_out"] == (twin.direct.estimate == 0).sum() > 0
    assert len(area_rows(found)) == found.posterior.m == found.kept.sum()
    assert twin.records_of(found.kept).m == found.posterior.m
    empty = np.array(twin.data.areas)[~found.kept]
    assert not {row["area"] for row in area_rows(found)} & set(empty)


def test_rows_of_areas_are_what_pictures_need(found):
    rows = area_rows(found)
    assert json.loads(json.dumps(rows)) == rows
    assert set(rows[0]) >= {
        "twin", "area", "n", "ratio", "kish", "variance", "shrinkage", "gain", "sensitivity", "rho_exact",
        "rho_conservative", "rho_a_free", "r_k", "direct", "truth", "draw", "sigma",
    }  # fmt: skip
    for row in rows:
        assert row["rho_exact"] <= row["rho_a_free"] <= row["rho_conservative"]
        assert row["sensitivity"] == pytest.approx(row["ratio"] / row["n"])
        assert row["rho_exact"] == pytest.approx(row["gain"] * row["rho_a_free"])


# --- Levers -------------------------------------------------------------------------------------------------


def test_errors_of_a_draw_with_other_variances_by_simulation(found):
    p = found.posterior
    np.testing.assert_allclose(errors_of_draw(p, p.variance), 2 * p.sigma2, rtol=1e-9)
    used = Posterior(variance=3 * p.variance, model_variance=p.model_variance)
    expected = errors_of_draw(used, p.variance)
    rng, runs = np.random.default_rng(5), 40_000
    theta = 0.2 + np.sqrt(p.model_variance) * rng.standard_normal((runs, p.m))
    y = theta + np.sqrt(p.variance) * rng.standard_normal((runs, p.m))
    mean = y @ used.gain_matrix().T
    draw = mean + rng.multivariate_normal(np.zeros(p.m), used.covariance_matrix(), runs)
    np.testing.assert_allclose(((draw - theta) ** 2).mean(axis=0), expected, rtol=0.04)


def test_every_way_to_a_smaller_rho_gets_there(found):
    rows, p, delta = at_equal_rho(found), found.posterior, found.guarantees.sensitivity
    assert rows["direct"] == pytest.approx(1)
    assert rows["draw"] == pytest.approx(2 * rows["predictor"])
    assert rows["predictor"] < rows["reshrunk"] < rows["draw"]
    reached = [target for target in TARGETS if target < rows["rho"]]
    assert reached
    for target in reached:
        for floor in (floor_for_any_model(p.variance, delta, target), floor_for_this_model(p, delta, target)):
            own = delta**2 * Posterior(variance=floor, model_variance=p.model_variance).gain / (2 * floor)
            assert own.max() <= target * (1 + 1e-6)
        kappa = rows["rho"] / target
        assert rows[f"kappa_at_{target:g}"] == pytest.approx((1 + kappa) * rows["predictor"])
        assert rows[f"floor_this_at_{target:g}"] <= rows[f"floor_any_at_{target:g}"] * (1 + 1e-9)
        assert rows[f"noisy_at_{target:g}"] < rows[f"kappa_at_{target:g}"]


def test_caps_keep_totals_and_move_no_estimate_by_more_than_their_bound(found):
    twin = found.twin
    after = {cap: capped(twin, cap) for cap in CAPS}
    rows = trimmed(found, after)
    assert twin.weights.ratio.max() > max(CAPS)
    for cap, one in after.items():
        np.testing.assert_allclose(one.weights.total, twin.weights.total)
        assert one.weights.ratio.max() <= cap * (1 + 1e-9)
        moved = np.abs(one.direct.estimate - twin.direct.estimate)
        assert moved.max() <= rows[f"cap_{cap:g}_bias"] * (1 + 1e-12)
        assert (one.data.outcome == twin.data.outcome).all()
        assert (one.weights.effective_n >= twin.weights.effective_n * (1 - 1e-9)).all()
    assert [rows[f"cap_{cap:g}_bias"] for cap in CAPS] == sorted(rows[f"cap_{cap:g}_bias"] for cap in CAPS)


def test_a_draw_is_compared_with_the_simulated_truth(found):
    rows = realised(found)
    assert 0 <= rows["covered_naive"] <= rows["covered_root2"] <= 1
    fit = confidential_fit(found.fit.direct, found.posterior.variance)
    truth = found.twin.truth
    expected = ((fit.eblup - truth) ** 2).mean() / ((found.fit.direct - truth) ** 2).mean()
    assert rows["realised_predictor"] == pytest.approx(expected)


# --- The study ----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    folder = tmp_path_factory.mktemp("twins")
    said = []
    cases = ((CLUSTERED, ("taylor",)), (SMALL, ("kish", "taylor")))
    return folder, cases, twins.study(folder, cases, seeds=2, log=said.append), said


def test_runs_are_kept_and_a_lost_one_is_made_again_the_same(study):
    folder, cases, rows, said = study
    assert len(said) == len(rows) == 6
    path = folder / "sae_runs.jsonl"
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(lines[:-1]) + lines[-1][:50])
    again = []
    assert twins.study(folder, cases, seeds=2, log=again.append) == rows
    assert len(again) == 1


def test_tables_show_the_papers_numbers_beside_the_twins(study):
    summary = twins.over_seeds(study[2])
    assert json.loads(json.dumps(summary)) == summary
    text = tables_report(summary, "here")
    for wanted in ("Table 1, ACS", "Table S2, BRFSS", "| 17.4 |", "3,190,000", "(95 %: 1.76 to 1.99)"):
        assert wanted in text
    by = {(row["twin"], row["variances"], row["figure"]): row for row in summary}
    row = by["brfss", "kish", "rho_50"]
    values = [
        one["figures"]["rho_50"] for one in study[2] if one["twin"] == "brfss" and one["variances"] == "kish"
    ]
    assert (row["median"], row["least"], row["greatest"]) == (np.median(values), min(values), max(values))
    assert (row["paper"], row["table"], row["seeds"]) == (0.188, "Table 2", 2)
    for twin, printed in PRINTED.items():
        listed = {key for labels in LAYOUT.values() for key in labels}
        assert set(printed) <= listed
        assert set(INTERVALS[twin]) <= set(printed)
        for key in printed:
            assert any(row["twin"] == twin and row["figure"] == key for row in summary)
    levers = levers_report(summary)
    assert "noisy direct estimates, then the model" in levers
    assert "| A and D | 8 | BRFSS, Taylor D |" in levers


def test_infinite_figures_count_as_larger_than_all_numbers():
    rows = [
        {
            "twin": "acs",
            "variances": "taylor",
            "seed": s,
            "figures": {"joint": value, "only_here": 1.0} if s == 1 else {"joint": value},
        }
        for s, value in enumerate([1.0, None, None], start=1)
    ]
    found = twins.over_seeds(rows)
    assert len(found) == 1
    assert (found[0]["median"], found[0]["least"], found[0]["greatest"]) == (None, 1.0, None)


def test_the_command_writes_rows_tables_and_the_page(tmp_path, monkeypatch):
    monkeypatch.setattr(twins, "CASES", ((CLUSTERED, ("taylor",)), (SMALL, ("kish",))))
    page = tmp_path / "page.md"
    markers = "<!-- twins -->\n<!-- end of twins -->\n<!-- levers -->\n<!-- end of levers -->\n"
    page.write_text("# Page\n" + markers)
    twins.main(["--out", str(tmp_path / "out"), "--quick", "--docs", str(page)])
    out = tmp_path / "out"
    assert len((out / "sae_areas.jsonl").read_text().splitlines()) == SMALL.areas
    for line in (out / "sae_tables.jsonl").read_text().splitlines():
        assert json.loads(line)["seeds"] == 2
    assert "Table S1" in page.read_text()
    assert "Audit" in (out / "twins.md").read_text()
    with pytest.raises(SystemExit):
        twins.main(["--out", str(out), "--seeds", "0"])


# --- Speed --------------------------------------------------------------------------------------------------


def test_speed_rows_compare_with_dense_algebra(monkeypatch):
    monkeypatch.setattr(speed, "QUICK_SIZES", (60, 3_000))
    rows = speed.sae_rows(quick=True, log=quiet)
    assert all(set(row) <= set(speed.COLUMNS) for row in rows)
    assert rows[0]["difference"] < 1e-12
    assert "dense_s" not in rows[1]
    text = markdown({"date": "today", "machine": {}, "sae": rows})
    assert "joint over draw" in text
    monkeypatch.setattr(speed, "TOLERANCE", -1.0)
    with pytest.raises(RuntimeError, match="another rho"):
        speed.sae_rows(quick=True, log=quiet)


def test_dense_rho_is_the_definition():
    case = speed.Case.of(40)
    p = case.posterior()
    m, inverse = p.gain_matrix(), np.linalg.inv(p.covariance_matrix())
    expected = [case.sensitivity[k] ** 2 * m[:, k] @ inverse @ m[:, k] / 2 for k in range(40)]
    np.testing.assert_allclose(speed.dense_rho(case), expected, rtol=1e-9)


def test_the_table_of_coverage_is_made_and_put_on_the_page(tmp_path, monkeypatch):
    from pgsr.bench import sae_coverage

    areas, variance, zero, held, _, width = sae_coverage.coverage(16, 0.001, 4)
    assert (areas, variance) == ("16", "0.001")
    assert 0 <= int(zero[:-1]) <= 100
    assert float(held[:-1]) > 80  # 64 intervals of 95 %
    assert 0.02 < float(width) < 0.2
    page = tmp_path / "page.md"
    page.write_text("<!-- coverage -->\n<!-- end of coverage -->\n", encoding="utf-8")
    monkeypatch.setattr(sae_coverage, "CASES", ((16, 0.01),))
    sae_coverage.main(["--runs", "1", "--docs", str(page)])
    assert "| 16 | 0.01 |" in page.read_text(encoding="utf-8")
