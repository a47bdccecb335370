"""`release` with `model = "cumulative"`: from a configuration to a release folder and back."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from pgsr.counts import GroupSizes
from pgsr.hierarchy import Hierarchy
from pgsr.mechanism import Release
from pgsr.models.problem import Problem

FILES = ["counts.csv", "counts.parquet", "guarantee.json", "noisy.parquet", "provenance.json"]
TREE = Hierarchy.from_columns(["all", "01", "02"], ["", "all", "all"])


def entries() -> int:
    return len(Path("ledger.jsonl").read_text(encoding="utf-8").splitlines()) - 1


def change(project: Path, old: str, new: str) -> None:
    path = project / "release.toml"
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


@pytest.fixture
def cumulative(project) -> Path:
    change(project, 'epsilon = "1"', 'model = "cumulative"\nepsilon = "1"')
    return project


def test_a_release_and_its_measurements_again(run, cumulative, confidential) -> None:
    done = run("release", "release.toml", "--out", "out", "--json")
    assert (done.code, done.err) == (0, "")
    assert sorted(path.name for path in Path("out").iterdir()) == FILES
    counts = GroupSizes.from_histogram("out/counts.parquet", TREE, [0, 1, 2], total=240017)
    assert counts.check(240017) == ()
    made = Release.load("out")
    # noisy.parquet holds cumulative counts: the objective is that of the cumulative released ones.
    noisy = np.stack([made.measurements["noisy"][name] for name in "012"], axis=1)
    problem = Problem(parent=TREE.parent, target=noisy, total=240017, cumulative=True)
    assert problem.objective(counts.cumulative()) == made.provenance.solve.objective
    assert made.provenance.solve.termination == "optimal"
    assert made.provenance.mechanism == "groupsizes.cumulative"
    assert made.provenance.parameters["total_from"].startswith("the list of units in the data")
    (query,) = done.record["queries"]
    assert query["model"] == "cumulative"
    assert set(query["solve"]["violations"].values()) == {0}
    assert "Measured are cumulative counts" in made.guarantee.text
    assert entries() == 1
    text = done.out + "".join(p.read_text(encoding="utf-8") for p in Path("out").glob("*.json"))
    assert [value for value in confidential if value in text] == []

    (cumulative / "counts.csv").unlink()
    assert run("release", "release.toml", "--out", "again", "--from-noisy", "out").code == 0
    second = Release.load("again")
    assert (second.guarantee, entries()) == (made.guarantee, 1)
    assert second.provenance.solve.objective == made.provenance.solve.objective
    change(cumulative, "cumulative", "hierarchical")
    run("release", "release.toml", "--out", "third", "--from-noisy", "out").refused(
        "another parameter 'mechanism'"
    )


def test_a_dry_run_shows_l1_and_emd_by_level(run, cumulative) -> None:
    change(cumulative, 'file = "counts.csv"', 'file = "counts.csv"\nz_max = 2')
    levels = run("release", "release.toml", "--dry-run", "--json").record["queries"][0]["levels"]
    # B = 2 and half of the epsilon: scale 4. E|X| = 1/sinh(1/4); for a difference of two, about 1.5 scales.
    for row, regions in zip(levels, (1, 2), strict=True):
        assert row["absolute"] == pytest.approx(1 / np.sinh(0.25))
        assert row["emd"] == pytest.approx(3 * regions * row["absolute"])
        assert row["l1"] == pytest.approx(regions * (row["absolute"] + 2 * 1.5 * 4), rel=0.02)
    shown = run("release", "release.toml", "--dry-run").out
    assert max(map(len, shown.splitlines())) <= 80
    assert "EMD" in shown
    assert "of one noisy cumulative count" in " ".join(shown.split())
    change(cumulative, "cumulative", "hierarchical")
    rows = run("release", "release.toml", "--dry-run", "--json").record["queries"][0]["levels"]
    assert all(row["emd"] > row["l1"] for row in rows)
    assert entries() == 0


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (
            'epsilon = "1"',
            'epsilon = "1"\nstructural_zeros = [["02", 2]]',
            ("release.toml, structural_zeros", "'cumulative'", 'model = "hierarchical"'),
        ),
        (
            'epsilon = "1"',
            'epsilon = "1"\ninvariant_levels = ["level 1"]',
            ("release.toml, invariant_levels", "'cumulative'"),
        ),
        ('"cumulative"', '"ordered"', ("privacy.model", "'hierarchical' or 'cumulative'")),
        ("[privacy]", '[solve]\nsolver = "dp"\n[privacy]', ("'dp' does not take cumulative",)),
        ('"1"', '"3"', ("budget does not suffice",)),
        ('file = "counts.csv"', 'file = "counts.csv"\nz_max = 0', ("data.z_max",)),
    ],
)
def test_bad_configurations(run, cumulative, old, new, words, confidential) -> None:
    change(cumulative, old, new)
    done = run("release", "release.toml", "--out", "out")
    done.refused(*words)
    assert [value for value in confidential if value in done.err] == []
    assert (entries(), Path("out").exists(), Path("out.measured").exists()) == (0, False, False)


def test_a_seed_reproduces_and_is_marked(run, cumulative) -> None:
    change(cumulative, 'ledger = "ledger.jsonl"', 'ledger = "none"\nseed = 7\n[solve]\nsolver = "auto"')
    for name in ("one", "two"):
        assert run("release", "release.toml", "--out", name).code == 0
    one, two = Release.load("one"), Release.load("two")
    for table in ("counts", "noisy"):
        columns = {**one.estimate.tables, **one.measurements}[table]
        others = {**two.estimate.tables, **two.measurements}[table]
        assert all(np.array_equal(columns[name], others[name]) for name in columns)
    assert not one.guarantee.secure


def test_queries_of_both_models_under_one_ledger(run, project) -> None:
    queries = "".join(
        f'[[queries]]\nname = "{model}"\ndata = {{kind = "histogram", file = "counts.csv"}}\n'
        f'sizes = {{max = 2}}\nprivacy = {{epsilon = "1/2", model = "{model}"}}\n'
        for model in ("hierarchical", "cumulative")
    )
    (project / "release.toml").write_text(
        f'[hierarchy]\nfile = "regions.csv"\n[privacy]\nledger = "ledger.jsonl"\n{queries}', encoding="utf-8"
    )
    record = run("release", "release.toml", "--out", "out", "--json").record
    assert [query["model"] for query in record["queries"]] == ["hierarchical", "cumulative"]
    assert record["ledger"]["remaining"]["epsilon"] == "1"
    solvers = [Release.load(f"out/{name}").provenance.solve.solver for name in ("hierarchical", "cumulative")]
    assert solvers[0] == "proximity" != solvers[1]
    change(project, "[privacy]\nledger", '[privacy]\nmodel = "cumulative"\nledger')
    run("release", "release.toml", "--out", "b").refused("each of [[queries]]")


def test_generated_microdata_carry_their_model(run) -> None:
    for kind in ("units", "persons"):
        words = ("--model", "cumulative", "--scale", "0.02", "--sizes", "4", "--as", kind, "--out", kind)
        assert run("generate", "uniform", *words).code == 0
        record = run("release", f"{kind}/release.toml", "--dry-run", "--json").record
        assert record["queries"][0]["model"] == "cumulative"
