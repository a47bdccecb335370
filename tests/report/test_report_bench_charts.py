"""Charts of the benchmark report: what is drawn from the tables, and what is not."""

from __future__ import annotations

import json
import math
import xml.etree.ElementTree as ET

import pytest

from pgsr.bench.analysis.accuracy import accuracy_curves
from pgsr.bench.analysis.noises import coverage_table
from pgsr.bench.analysis.profiles import gap_profile, time_profile
from pgsr.bench.analysis.relaxed import relaxed_table
from pgsr.bench.analysis.scaling import scaling_fits, scaling_points
from pgsr.report.charts import COLOURS, SHAPES, Chart, save_charts, series_scales, specifications, svg
from pgsr.report.charts_accuracy import accuracy_charts
from pgsr.report.charts_bench import (
    gap_profile_chart,
    relaxed_chart,
    scaling_chart,
    time_profile_chart,
)
from pgsr.report.charts_families import area_charts, inequality_chart
from pgsr.report.charts_kinds import _labelled


def values(chart):
    """The records that a chart draws."""
    (found,) = (
        chart.spec["datasets"].values() if "datasets" in chart.spec else (chart.spec["data"]["values"],)
    )
    return found


def marks(spec):
    """The marks of all layers."""
    layers = spec.get("spec", spec)["layer"]
    return [layer["mark"]["type"] for layer in layers]


def test_lines_of_profiles_go_on_to_the_right_edge(made_up):
    chart = time_profile_chart(time_profile(made_up))
    records = [r for r in values(chart) if r["panel"] == "hierarchical, exact"]
    last = max(r["tau"] for r in records)
    ends = {r["method"]: r["share"] for r in records if r["tau"] == last}
    assert ends == {"proximity": 1.0, "highs": pytest.approx(12 / 18)}
    assert last > 4.0  # highs takes four times as long
    assert max(r["tau"] for r in records if r["tau"] < last) == pytest.approx(4.0)


def test_a_solver_without_a_rival_has_no_profile(made_up):
    alone = [row for row in made_up if row["method"] == "proximity"]
    assert time_profile_chart(time_profile(alone)) is None
    panels = {r["panel"] for r in values(time_profile_chart(time_profile(made_up)))}
    assert panels == {"hierarchical, exact"}  # one method solves the relaxation


def test_gaps_of_zero_stand_at_the_left_edge(made_up):
    records = values(gap_profile_chart(gap_profile(made_up)))
    assert min(r["place"] for r in records) == 1e-6
    at_zero = {r["method"]: r["share"] for r in records if r["gap"] == 0.0 and r["place"] == 1e-6}
    assert at_zero == {"proximity": 1, "highs": pytest.approx(12 / 18), "topdown": 0, "piqp:rounded": 0}
    same = [row for row in made_up if row["method"] in ("proximity", "highs")]
    assert gap_profile_chart(gap_profile(same)) is None


def test_fitted_lines_are_the_fitted_powers(made_up):
    fits = scaling_fits(made_up)
    chart = scaling_chart(scaling_points(made_up), fits)
    lines = [r for r in values(chart) if r.get("fitted") == "yes" and r["method"] == "proximity"]
    assert [r["entries"] for r in lines] == [100, 400]
    assert [r["median"] for r in lines] == [pytest.approx(0.01), pytest.approx(0.16)]
    assert not [r for r in values(chart) if r["method"] == "noisy"]


def test_broken_sums_by_method_with_exact_ones_first(made_up):
    chart = relaxed_chart(relaxed_table(made_up, by_instance=True))
    by = {r["method"]: r["broken_share"] for r in values(chart)}
    assert by["piqp:rounded"] == pytest.approx(0.7)
    assert by["proximity"] == by["highs"] == by["topdown"] == 0
    assert next(iter(by)) in ("proximity", "highs")
    assert "piqp:rounded 70%" in chart.alt


def test_one_budget_makes_dots_and_several_make_lines(made_up):
    sizes = [row for row in made_up if row["family"] == "groupsizes" and row["outcome"] == "ran"]
    one = [row for row in sizes if row["epsilon"] == 1.0]
    assert "line" in marks(accuracy_charts([("L1", accuracy_curves(sizes, "l1"))])[0].spec)
    assert "line" not in marks(accuracy_charts([("L1", accuracy_curves(one, "l1"))])[0].spec)


def test_accuracy_has_a_chart_an_instance_and_a_panel_a_level_and_measure(made_up):
    sizes = [row for row in made_up if row["family"] == "groupsizes"]
    charts = accuracy_charts([("L1", accuracy_curves(sizes, "l1")), ("EMD", accuracy_curves(sizes, "emd"))])
    assert len(charts) == 3
    assert len({chart.name for chart in charts}) == 3
    records = values(charts[0])
    assert {r["panel"] for r in records} == {
        f"Level {n}: {m}" for n in ("0 (root)", "1") for m in ("L1", "EMD")
    }
    one = next(
        r
        for r in records
        if r["method"] == "proximity" and r["panel"] == "Level 0 (root): L1" and r["budget"] == 1.0
    )
    assert one["value"] == pytest.approx(10 * 2.2)
    assert one["lower"] < one["value"] < one["upper"]


def test_captions_say_what_is_drawn(made_up):
    def caption(rows):
        return accuracy_charts([("L1", accuracy_curves(rows, "l1"))])[0].caption

    sizes = [row for row in made_up if row["family"] == "groupsizes" and row["outcome"] == "ran"]
    one = [row for row in sizes if row["epsilon"] == 1.0]
    assert "less privacy to the right" in caption(sizes)
    assert "click a name in the legend" in caption(sizes)
    assert "Bars are 95 % intervals" in caption(one)
    assert "to the right" not in caption(one)
    assert "legend" not in caption(one)
    single = caption([row for row in sizes if row["seed"] == 1])
    assert "Bars" not in single
    assert "there are no intervals" in single
    areas = [row for row in made_up if row["family"] == "sae" and row["rho"] != 1.0]
    assert "level lines" not in area_charts(coverage_table(areas))[0].caption
    assert "level lines" in area_charts(coverage_table(made_up))[0].caption


def test_intervals_of_one_budget_are_drawn(made_up):
    one = [row for row in made_up if row["family"] == "groupsizes" and row.get("epsilon") == 1.0]
    chart = accuracy_charts([("L1", accuracy_curves(one, "l1"))])[0]
    assert marks(chart.spec) == ["rule", "point"]
    assert all(r["low"] < r["value"] < r["upper"] for r in values(chart))


def test_a_profile_of_one_panel_names_it(made_up):
    assert time_profile_chart(time_profile(made_up)).title.endswith("time (hierarchical, exact)")


@pytest.mark.parametrize(
    ("low", "high", "digits"),
    [
        (1, 1000, "[1]"),
        (90, 2000, "[1, 2, 5]"),
        (150, 550, "[1, 2, 3, 5]"),
        (0.0006, 0.0018, "[1, 2, 3, 4, 6, 8]"),
    ],
)
def test_logarithmic_axes_keep_their_powers_of_ten(low, high, digits):
    found = _labelled([(low, high)])
    assert found.startswith(f"indexof({digits},")
    assert _labelled([(low, high), (100, 120)]) == "true"


def test_other_noise_is_named_beside_the_method(made_up):
    rows = [row for row in made_up if row["family"] == "groupsizes" and row["instance"] == "us:scale=1"]
    rows += [row | {"noise": "laplace", "key": f"laplace {row['key']}"} for row in rows]
    chart = accuracy_charts([("L1", accuracy_curves(rows, "l1"))])[0]
    methods = {r["method"] for r in values(chart)}
    assert {"proximity", "proximity, laplace"} <= methods
    assert "Geometric noise where no other one is named." in chart.caption


def test_errors_of_zero_take_the_logarithm_away(made_up):
    rows = [dict(row) for row in made_up if row["family"] == "inequality"]
    assert '"type": "log"' in json.dumps(inequality_chart(accuracy_curves(rows, "error")).spec["layer"])
    for row in rows:
        if row["method"] == "ladder":
            row["error"] = 0.0
    chart = inequality_chart(accuracy_curves(rows, "error"))
    points = next(layer for layer in chart.spec["layer"] if layer["mark"]["type"] == "point")
    assert "type" not in points["encoding"]["y"]["scale"]


def test_estimates_without_privacy_are_level_lines(made_up):
    errors, coverage = area_charts(coverage_table(made_up))
    direct = [r for r in values(errors) if r["method"] == "direct (no privacy)"]
    assert [r["budget"] for r in direct] == [0.5, 1.0]
    assert {r["value"] for r in direct} == {0.002}
    assert {r["cost"] for r in values(coverage)} == {"no privacy", "ρ = 0.5", "ρ = 1"}
    assert area_charts(coverage_table([row for row in made_up if row["family"] != "sae"])) == []


def test_no_two_series_look_alike():
    names = [f"method {at}" for at in range(40)]

    class Scales:
        @staticmethod
        def Scale(**given):
            return given

    scales = series_scales(Scales, names)
    looks = {
        (scales["color"]["range"][at], scales["shape"]["range"][at], str(scales["strokeDash"]["range"][at]))
        for at in range(len(names))
    }
    assert len(looks) == len(names)
    assert math.gcd(len(COLOURS), len(SHAPES)) == 1


def test_pictures_stand_alone_and_come_out_the_same_again(made_up, tmp_path):
    chart = relaxed_chart(relaxed_table(made_up, by_instance=True))
    inside = svg(chart)
    assert inside.startswith("<svg")
    assert "http" not in inside
    assert inside == svg(chart)
    first = [path.read_bytes() for path in save_charts([chart], tmp_path / "a")]
    assert first == [path.read_bytes() for path in save_charts([chart], tmp_path / "b")]
    drawn = ET.fromstring(first[0])
    text = "".join(drawn.itertext())
    assert "piqp:rounded" in text
    assert "share of broken sums" in text


def test_specifications_can_stand_in_a_script_element():
    spec = {"title": "</script><!--\u2028", "config": {}}
    chart = Chart(name="nasty", title="", caption="", alt="", spec=spec)
    text = specifications([chart])
    assert "<" not in text
    assert "\u2028" not in text
    assert json.loads(text)["nasty"] == spec
