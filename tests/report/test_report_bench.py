"""The benchmark report: what it says, what it leaves out, that it loads nothing, and its files."""

from __future__ import annotations

import base64
import csv
import hashlib
import json
import re
import xml.etree.ElementTree as ET
from html.parser import HTMLParser

import pytest

from pgsr.bench.adding import ELSEWHERE
from pgsr.bench.results import RESULTS, write_results
from pgsr.cli.app import call
from pgsr.errors import InputError
from pgsr.report.bench import MOST_PRINTED, bench_report, write_files
from pgsr.report.bench_findings import headlines
from pgsr.report.bench_runs import MOST_RUNS, outcome_table, runs_table

LOADING = {"src", "href", "srcset", "data", "action", "poster", "background", "ping", "formaction"}


class Reader(HTMLParser):
    """Tags with their attributes, the cells of tables by row, and the texts of scripts."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.rows, self.scripts, self.words = [], [], [], []
        self._in = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self._in.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th") and self.rows:
            self.rows[-1].append("")
        if tag == "script":
            self.scripts.append((dict(attrs), ""))

    def handle_endtag(self, tag):
        if tag in self._in:
            while self._in.pop() != tag:
                pass

    def handle_data(self, data):
        if "script" in self._in:
            attrs, text = self.scripts[-1]
            self.scripts[-1] = (attrs, text + data)
        elif "td" in self._in or "th" in self._in:
            self.rows[-1][-1] += data
        elif "style" not in self._in:
            self.words.append(data)


@pytest.fixture(scope="module")
def report(made_up):
    return bench_report(made_up)


@pytest.fixture(scope="module")
def page(report):
    return Reader(report.page.html())


def test_all_sections_stand_in_order(report):
    assert report.sections == [
        "What was found",
        "What was run",
        "Exact against relaxed",
        "Solvers",
        "Accuracy",
        "Inequality indices",
        "Small area estimates",
        "All runs",
        "How to read this",
    ]


def test_sections_without_data_do_not_appear(made_up):
    for family, without in (
        ("inequality", ["Exact against relaxed", "Solvers", "Accuracy", "Small area estimates"]),
        ("sae", ["Exact against relaxed", "Solvers", "Accuracy", "Inequality indices"]),
        ("groupsizes", ["Inequality indices", "Small area estimates"]),
    ):
        sections = bench_report([row for row in made_up if row["family"] == family]).sections
        assert not set(without) & set(sections), family
        assert {"What was run", "All runs"} <= set(sections)


def test_nothing_is_loaded_and_only_known_scripts_run(page):
    for tag, attrs in page.tags:
        for name in LOADING & attrs.keys():
            assert attrs[name].startswith("#"), (tag, name, attrs[name][:80])
    assert not [tag for tag, _ in page.tags if tag in ("link", "iframe", "object", "embed", "img", "base")]
    policy = next(a["content"] for t, a in page.tags if t == "meta" and "http-equiv" in a)
    assert "default-src 'none'" in policy
    assert "unsafe-eval" not in policy
    assert not re.search(r"https?:|\*", policy)
    run = [text for attrs, text in page.scripts if attrs.get("type") != "application/json"]
    assert len(run) == 3  # charts, the box that sifts, sorting
    for text in run:
        assert base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() in policy


def test_tables_show_the_measured_numbers(page):
    rounded = [row for row in page.rows if row[:2] == ["rounded", "piqp:rounded"]]
    assert len(rounded) == 1
    assert rounded[0][2:5] == ["18", "0\u00a0%", "70.0\u00a0%"]
    assert [row[2:5] for row in page.rows if row[:3] == ["exact", "highs", "18"]] == [["18", "12", "12"]]
    assert ["Inequality indices", "28", "1", "2", "28", "0", "0"] in page.rows


def test_headlines_follow_from_the_rows(made_up):
    found = " ".join(headlines(made_up, {})).replace("\u00a0", " ")
    assert "piqp:rounded left 70.0 % of the counts different from the sum of their parts" in found
    assert "in 18 tables (70.0 % in the worst one), by up to 3. They are 1.10 times as far" in found
    assert "The exact answers to the hierarchical model broke no sum in 30 tables." in found
    assert "topdown keeps the conditions of the hierarchical model at an objective 20.0 % above" in found
    assert "the noisy ones are 4.00 times as far away" in found
    assert "Optimality of all 30 answers of exact solvers to the hierarchical model is proven" in found
    assert "proximity solved 18 of 18 problems" in found
    assert "highs with 12 of 18" in found
    assert "grows as the number of entries to the power 2.00" in found
    assert "smallest median error 0.014 with ladder, largest 0.56 with laplace" in found
    assert "least for draw on survey: 90.2 %" in found
    assert "6 of 146 runs were killed, ran out of memory or failed (highs)" in found
    assert "1 of 146 runs did not take place (gurobi)" in found


def test_a_heuristic_that_breaks_conditions_is_not_said_to_keep_them(made_up):
    rows = [dict(row) for row in made_up if row["family"] == "groupsizes"]
    bad = [row for row in rows if row["method"] == "topdown"][:2]
    for row in bad:
        row |= {"broken_sums": 2, "worst_sum": 4.0, "point_status": "infeasible"}
    found = " ".join(headlines(rows, {}))
    assert "The heuristic topdown breaks conditions of the hierarchical model in 2 of 18 tables" in found
    assert "by up to 4" in found
    assert "topdown keeps" not in found
    # One that is cheap because it breaks sums is named as well.
    for row in rows:
        if row["method"] == "topdown":
            row |= {"objective": 90.0, "objective_exact": "90", "negative": 3}
    assert "topdown breaks conditions of the hierarchical model in 18 of 18" in " ".join(headlines(rows, {}))
    kept = [row for row in made_up if row["method"] == "topdown"]
    assert "The heuristic topdown keeps the conditions" in " ".join(headlines(kept, {}))


def test_exact_tables_with_other_broken_conditions_are_called_out(made_up):
    rows = [dict(row) for row in made_up if row["family"] == "groupsizes"]
    next(row for row in rows if row["method"] == "proximity")["negative"] = 1
    assert (
        "proximity, an exact solver of the hierarchical model, left conditions broken in 1 of 18"
        in " ".join(headlines(rows, {}))
    )


def test_few_problems_are_no_verdict(made_up):
    few = [row for row in made_up if row.get("fingerprint") in ("us:scale=1 0.5 1", "us:scale=1 0.5 2")]
    found = " ".join(headlines(few, {}))
    assert (
        "No verdict on the best solver of the hierarchical model: 2 solvers had 2 problems in common" in found
    )
    assert "Best solver" not in found


def test_what_did_not_take_place_is_not_unsolved(made_up):
    rows = [row for row in made_up if row["family"] == "groupsizes"]
    rows += [row | {"method": "lp", "key": f"lp {at}", "outcome": "lacks"} for at, row in enumerate(rows[:9])]
    found = " ".join(headlines(rows, {}))
    assert "10 of 118 runs did not take place (gurobi and lp)" in found
    assert "118 runs were killed, ran out of memory or failed (highs)" in found


def test_long_lists_of_names_are_cut(made_up):
    lost = [made_up[0] | {"method": f"m{at}", "key": str(at), "outcome": "fault"} for at in range(9)]
    assert "(m0, m1, m2 and 6 more)" in " ".join(headlines(lost, {}))


def test_equal_distances_are_not_counted_in_times(made_up):
    rows = [dict(row) for row in made_up if row["family"] == "groupsizes"]
    exact = {row["fingerprint"]: row["l1"] for row in rows if row["method"] == "proximity"}
    for row in rows:
        if row["kind"] == "rounded":
            row["l1"] = exact[row["fingerprint"]]
    assert "They are as far from the truth as exact ones" in " ".join(headlines(rows, {}))


def test_coverage_within_chance_is_said_to_be_so(made_up):
    one = [row | {"coverage": 47 / 50, "regions": 50} for row in made_up if row["family"] == "sae"]
    one = [row for row in one if row["seed"] == 1]
    found = " ".join(headlines(one, {})).replace("\u00a0", " ")
    assert "94.0 % of the areas (47 of 50; 1 seed, 95 % interval 83.5 % to 98.7 %)" in found
    assert "within chance" in found
    assert "areas or more" not in found
    chart = next(c for c in bench_report(one).charts if c.name == "areas_coverage")
    assert "binomial intervals over the areas" in chart.caption


def test_answers_made_elsewhere_and_other_suites_are_named(made_up):
    rows = [*made_up[:6], made_up[6] | {"suite": "mine", "reason": f"{ELSEWHERE}: times are as stated"}]
    text = bench_report(rows).page.html()
    assert "Results of 2 suites stand here together (runs by suite: made-up: 6, mine: 1)" in text
    assert "1 answer of these were made elsewhere" not in text
    assert "1 answer here was made elsewhere" in text
    assert "Every run of a suite is a process of its own" in text
    assert "Every run was a fresh process" not in text
    assert "made elsewhere" not in bench_report(made_up[:6]).page.html()


def test_runs_say_what_was_solved_and_commits_what_the_plus_means(made_up):
    table = runs_table(made_up[:6])
    ends = {row["method"]: row["termination"] for row in table.records()}
    assert (ends["proximity"], ends["piqp:relaxed"]) == ("optimal", "optimal (relaxation)")
    text = bench_report([row | {"commit": "abc+"} for row in made_up[:6]]).page.html()
    assert "abc+ (+: with changes that were not committed)" in text
    assert "not committed" not in bench_report(made_up[:6]).page.html()


def test_an_exact_solver_that_breaks_sums_is_called_out(made_up):
    rows = [dict(row) for row in made_up if row["family"] == "groupsizes"]
    bad = next(row for row in rows if row["method"] == "proximity")
    bad |= {"broken_sums": 1, "point_status": "infeasible", "certificate": False}
    found = " ".join(headlines(rows, {}))
    assert "Something is wrong: proximity" in found
    assert "broke no sum" not in found


def test_unproven_answers_are_counted(made_up):
    rows = [dict(row) for row in made_up if row["family"] == "groupsizes"]
    next(row for row in rows if row["method"] == "proximity")["certificate"] = None
    assert "Of the 30 answers" in " ".join(headlines(rows, {}))
    found = " ".join(headlines(rows, {}))
    assert "29 are proven" in found
    assert "1 more have a proven objective" not in found
    assert "1 more has a proven objective" in found  # highs proves it


def test_known_values_beat_claims(made_up):
    one = next(row for row in made_up if row["method"] == "proximity")
    found = " ".join(headlines(made_up, {one["fingerprint"]: 99.0}))
    assert "proximity solved 17 of 18" in found
    tables = {table.name: table for table in bench_report(made_up, known={one["fingerprint"]: 99.0}).tables}
    times = [r for r in tables["profile_time"].records() if r["kind"] == "exact"]
    assert {r["problems"] for r in times} == {17}  # one that nobody solved is left out
    gaps = [r["share"] for r in tables["profile_gap"].records() if r["method"] == "proximity"]
    assert (gaps[0], gaps[-1]) == (pytest.approx(17 / 18), 1.0)


def test_runs_that_did_not_end_are_counted_with_reasons(made_up):
    table = outcome_table(made_up)
    sizes = table.records()[0]
    assert (sizes["runs"], sizes["ran"], sizes["killed"], sizes["missing"]) == (109, 102, 6, 1)
    assert "highs, 6 runs: killed, limit of 60 s." in table.notes
    assert "gurobi, 1 run: missing, gurobipy is not installed." in table.notes


def test_long_lists_of_runs_are_cut_and_say_so(made_up):
    many = [made_up[0] | {"key": str(at)} for at in range(MOST_RUNS + 1)]
    table = runs_table(many)
    assert len(table.rows) == MOST_RUNS
    assert "4,001" in table.notes[0]


def test_many_runs_are_not_printed(made_up):
    few = bench_report(made_up[:6]).page.style
    many = bench_report([made_up[108] | {"key": str(at)} for at in range(MOST_PRINTED + 1)]).page.style
    assert "Not printed" not in few
    assert "Not printed: 301 lines" in many


def test_runs_of_two_machines_come_with_a_warning(made_up):
    assert not bench_report(made_up[:6]).page.lead
    other = made_up[1] | {"machine": "another", "key": "other"}
    text = bench_report([*made_up[:6], other]).page.html()
    assert "2 different machines: their times are not comparable" in text


def test_names_cannot_break_out_of_the_page(made_up):
    nasty = "</script><img src=x onerror=alert(1)>'\"&<!--"
    rows = [row | {"instance": nasty, "method": f"{row['method']}{nasty}"} for row in made_up[:6]]
    read = Reader(bench_report(rows).page.html())
    assert not [tag for tag, attrs in read.tags if tag == "img" or "onerror" in attrs]
    assert any(nasty in cell for row in read.rows for cell in row)
    data = json.loads(next(text for attrs, text in read.scripts if attrs.get("id") == "charts"))
    assert nasty in json.dumps(data, ensure_ascii=False).replace('\\"', '"')


def test_no_runs_are_refused():
    with pytest.raises(InputError, match="no runs"):
        bench_report([])


def test_one_run_alone_makes_a_page(made_up):
    for row in (made_up[0], made_up[-1]):
        assert "1 run," in bench_report([row]).page.html()


def test_files_of_charts_and_tables(report, tmp_path):
    paths = write_files(report, tmp_path)
    assert {path.parent.name for path in paths} == {"figures", "tables"}
    names = {path.name for path in paths}
    assert {"profile_time.svg", "profile_time.png", "relaxed.csv", "relaxed.tex", "runs.csv"} <= names
    for path in paths:
        if path.suffix == ".svg":
            ET.parse(path)
        elif path.suffix == ".png":
            assert path.read_bytes().startswith(b"\x89PNG")
    with (tmp_path / "tables" / "relaxed.csv").open() as lines:
        rounded = next(row for row in csv.DictReader(lines) if row["kind"] == "rounded")
    assert float(rounded["broken_share"]) == 0.7
    assert r"\toprule" in (tmp_path / "tables" / "relaxed.tex").read_text()


def test_the_same_rows_make_the_same_page(made_up):
    assert bench_report(made_up[:12]).page.html() == bench_report(made_up[:12]).page.html()


def test_command_writes_page_and_files(made_up, tmp_path, capsys):
    write_results(tmp_path / RESULTS, made_up[:12])
    call(["report", str(tmp_path), "--figures", "--json"])
    said = json.loads(capsys.readouterr().out)
    assert said["report"] == str(tmp_path / "report.html")
    assert said["runs"] == 12
    assert said["sections"][0] == "What was found"
    assert (tmp_path / "report.html").read_text().startswith("<!DOCTYPE html>")
    assert all((tmp_path / name).exists() for name in said["files"])
    call(["report", str(tmp_path / RESULTS), "--out", str(tmp_path / "other.html")])
    shown = (tmp_path / "other.html").read_text().count('<table class="sortable">')
    assert 0 < shown < len(said["tables"])  # the data of charts are files alone
    assert f"12 runs, {len(said['charts'])} charts, {shown} tables" in capsys.readouterr().out


def test_command_refuses_what_is_not_there(tmp_path, made_up):
    with pytest.raises(InputError, match="pgsr bench SUITE"):
        call(["report", str(tmp_path)])
    write_results(tmp_path / RESULTS, made_up[:2])
    with pytest.raises(InputError, match=r"end its name in \.html"):
        call(["report", str(tmp_path), "--out", str(tmp_path / "page.pdf")])
    with pytest.raises(InputError, match="folder not found"):
        call(["report", str(tmp_path), "--out", str(tmp_path / "no" / "page.html")])
