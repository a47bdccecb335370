"""`release`: configurations, files, the ledger, several queries, failures after the charge."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pgsr.counts import GroupSizes
from pgsr.hierarchy import Hierarchy
from pgsr.ledger import Ledger
from pgsr.mechanism import Release

FILES = ["counts.csv", "counts.parquet", "guarantee.json", "noisy.parquet", "provenance.json"]


def entries(ledger: str = "ledger.jsonl") -> int:
    return len(Path(ledger).read_text(encoding="utf-8").splitlines()) - 1


def change(project: Path, old: str, new: str) -> None:
    path = project / "release.toml"
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


def names() -> set[str]:
    return {path.name for path in Path().iterdir()}


def test_a_release_writes_tables_guarantee_and_provenance(run, project, confidential) -> None:
    done = run("release", "release.toml", "--out", "out", "--json")
    assert (done.code, done.err) == (0, "")
    assert sorted(path.name for path in Path("out").iterdir()) == FILES
    assert names() == {"regions.csv", "counts.csv", "release.toml", "ledger.jsonl", "out"}
    made = Release.load("out")
    tree = Hierarchy.from_columns(["all", "01", "02"], ["", "all", "all"])
    counts = GroupSizes.from_histogram("out/counts.parquet", tree, [0, 1, 2], total=240017)
    assert counts.check(240017) == ()
    assert made.provenance.parameters["total_from"].startswith("the list of units in the data")
    assert made.guarantee.secure
    assert made.guarantee.text.startswith("1-DP (pure, epsilon = 1) for one person")
    record = done.record
    (query,) = record["queries"]
    assert query["solve"]["certificate"] is True
    assert set(query["solve"]["violations"].values()) == {0}
    assert record["ledger"]["remaining"]["epsilon"] == "1"
    assert entries() == 1
    text = done.out + "".join(p.read_text(encoding="utf-8") for p in Path("out").glob("*.json"))
    assert [value for value in confidential if value in text] == []


def test_readable_output(run, project, confidential) -> None:
    for words in (("--dry-run",), ("--out", "out")):
        done = run("release", "release.toml", *words)
        assert done.code == 0
        assert max(map(len, done.out.splitlines())) <= 80
        assert "1-DP" in done.out
        assert [value for value in confidential if value in done.out] == []


def test_a_dry_run_spends_and_writes_nothing(run, project) -> None:
    before = names()
    record = run("release", "release.toml", "--dry-run", "--json").record
    assert (record["dry_run"], record["suffices"], record["out"]) == (True, True, None)
    levels = record["queries"][0]["levels"]
    assert [(row["level"], row["cells"], row["share"]) for row in levels] == [
        ("level 1", 3, "1/2"),
        ("level 2", 6, "1/2"),
    ]
    assert levels[1]["l1"] == pytest.approx(6 * levels[1]["absolute"])
    assert (names(), entries()) == (before, 0)


def test_an_overspend_is_refused_before_anything_is_drawn(run, project, monkeypatch) -> None:
    change(project, '"1"', '"3"')
    monkeypatch.setattr("pgsr.noise.DiscreteLaplace.sample", lambda *_: pytest.fail("drawn"))
    before = names()
    assert run("release", "release.toml", "--dry-run", "--json").record["suffices"] is False
    run("release", "release.toml", "--out", "out").refused("budget does not suffice", "left: epsilon 2")
    assert (names(), entries()) == (before, 0)


def test_from_noisy_costs_nothing_and_reads_no_data(run, project) -> None:
    assert run("release", "release.toml", "--out", "out").code == 0
    (project / "counts.csv").unlink()
    done = run("release", "release.toml", "--out", "again", "--from-noisy", "out", "--json")
    assert (done.code, entries()) == (0, 1)
    assert sorted(path.name for path in Path("again").iterdir()) == FILES
    first, second = Release.load("out"), Release.load("again")
    assert second.provenance.solve.objective == first.provenance.solve.objective
    assert second.provenance.parameters["total_from"] == first.provenance.parameters["total_from"]
    assert second.guarantee == first.guarantee
    shown = run("release", "release.toml", "--out", "third", "--from-noisy", "out").out
    assert "release: costs nothing; the measurements cost epsilon 1 for one person" in shown


def test_after_a_failed_solve_the_measurements_are_kept_and_used(run, project) -> None:
    change(project, "[privacy]", "[solve]\ntime_limit_s = 1e-9\n\n[privacy]")
    done = run("release", "release.toml", "--out", "out")
    assert (done.code, done.out, len(done.err.splitlines())) == (3, "", 1)
    assert "--from-noisy out.measured" in done.err
    assert not Path("out").exists()
    assert entries() == 1
    assert sorted(path.name for path in Path("out.measured").iterdir()) == sorted(
        ["guarantee.json", "noisy.parquet", "provenance.json"]
    )
    # A new run would pay again: it is refused while paid measurements lie there.
    run("release", "release.toml", "--out", "out").refused("out.measured", "--from-noisy")
    assert entries() == 1
    change(project, "time_limit_s = 1e-9", "time_limit_s = 100")
    assert run("release", "release.toml", "--out", "out", "--from-noisy", "out.measured").code == 0
    assert Release.load("out").provenance.solve.certificate is True
    assert entries() == 1


def test_interrupted_while_writing_the_measurements_are_kept(run, project, monkeypatch) -> None:
    save = Release.save

    def interrupted(self, folder) -> None:
        if str(folder) == "out":
            raise KeyboardInterrupt
        save(self, folder)

    monkeypatch.setattr(Release, "save", interrupted)
    done = run("release", "release.toml", "--out", "out")
    assert done.code == 130
    assert "--from-noisy out.measured" in done.err
    assert names() >= {"out.measured"}
    assert not Path("out").exists()


def test_interrupted_before_the_draw_nothing_is_left(run, project, monkeypatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    before = names()
    monkeypatch.setattr("pgsr.groupsizes.hierarchical.HierarchicalMechanism.measure", interrupted)
    done = run("release", "release.toml", "--out", "out")
    assert done.code == 130
    assert "ledger.jsonl was charged" in done.err
    assert (names(), entries()) == (before, 1)


def test_a_seed_is_marked_not_private(run, project) -> None:
    change(project, 'ledger = "ledger.jsonl"', 'ledger = "none"\nseed = 7')
    done = run("release", "release.toml", "--out", "one")
    assert done.code == 0
    assert "NOT PRIVATE" in done.out
    assert run("release", "release.toml", "--out", "two", "--json").record["ledger"] is None
    one, two = Release.load("one"), Release.load("two")
    assert not one.guarantee.secure
    assert one.provenance.seeded
    for name, column in one.measurements["noisy"].items():
        assert column.tolist() == two.measurements["noisy"][name].tolist()
    assert entries() == 0


SEVERAL = """\
[hierarchy]
file = "regions.csv"

[privacy]
ledger = "ledger.jsonl"

[[queries]]
name = "first"
data = {kind = "histogram", file = "counts.csv"}
sizes = {max = 2}
privacy = {epsilon = "1/2"}

[[queries]]
name = "second"
data = {kind = "long", file = "long.csv", total = 4}
sizes = {list = [1, 3], without_size_zero = true}
privacy = {epsilon = "1", levels = ["1/4", "3/4"]}
"""


@pytest.fixture
def several(project) -> Path:
    (project / "release.toml").write_text(SEVERAL, encoding="utf-8")
    (project / "long.csv").write_text("region,size,count\n01,1,3\n02,4,1\n", encoding="utf-8")
    return project


def test_several_queries_under_one_ledger(run, several) -> None:
    record = run("release", "release.toml", "--out", "out", "--json").record
    assert [query["name"] for query in record["queries"]] == ["first", "second"]
    assert record["ledger"]["remaining"]["epsilon"] == "1/2"
    for name in ("first", "second"):
        assert sorted(path.name for path in (Path("out") / name).iterdir()) == FILES
    second = Release.load("out/second")
    assert second.provenance.parameters["total_from"] == "the configuration"
    assert second.provenance.parameters["budget"] == ["1/4", "3/4"]
    assert run("release", "release.toml", "--out", "again", "--from-noisy", "out").code == 0
    assert entries() == 2


def test_several_queries_are_charged_all_or_none(run, several) -> None:
    change(several, '"1/2"', '"5/4"')
    change(several, '"ledger.jsonl"', '"small.jsonl"')
    assert run("ledger", "create", "small.jsonl", "--epsilon", "2").code == 0
    run("release", "release.toml", "--out", "out").refused("does not suffice")
    assert entries("small.jsonl") == 0


def test_several_queries_keep_all_measurements(run, several) -> None:
    change(several, "[privacy]", "[solve]\ntime_limit_s = 1e-9\n\n[privacy]")
    assert run("release", "release.toml", "--out", "out").code == 3
    assert sorted(path.name for path in Path("out.measured").iterdir()) == ["first", "second"]
    change(several, "time_limit_s = 1e-9", "threads = 1")
    assert run("release", "release.toml", "--out", "out", "--from-noisy", "out.measured").code == 0


def test_zcdp_invariants_structural_zeros_and_weights(run, project) -> None:
    assert run("ledger", "create", "rho.jsonl", "--rho", "1").code == 0
    change(project, 'epsilon = "1"', 'rho = "1/2"\ninvariant_levels = ["level 1"]')
    change(project, "ledger.jsonl", "rho.jsonl")
    change(project, "[privacy]", '[solve]\nweights = [2, 0.5]\nloss = "l1"\nthreads = 1\n\n[privacy]')
    change(project, 'ledger = "rho.jsonl"', 'ledger = "rho.jsonl"\nstructural_zeros = [["02", 2]]')
    done = run("release", "release.toml", "--out", "out", "--json")
    assert done.code == 0
    made = Release.load("out")
    assert made.guarantee.event.rho * 2 == 1
    assert made.guarantee.invariants
    assert made.provenance.parameters["weights"] == [2, 0.5]
    assert made.provenance.parameters["loss"] == "l1"
    assert made.estimate.tables["counts"]["2"].tolist() == [90003, 90003, 0]
    assert made.estimate.tables["counts"]["0"][0] == 70006


def persons(project: Path, **columns: list) -> None:
    pq.write_table(pa.table(columns), project / "persons.parquet")
    change(project, 'kind = "histogram"\nfile = "counts.csv"', 'kind = "persons"\nfile = "persons.parquet"')


def test_persons_with_a_frame(run, project) -> None:
    persons(project, unit=["u1", "u1", "u2"], z=[1, 0, 1])
    change(project, 'file = "persons.parquet"', 'file = "persons.parquet"\nz = "z"\nframe = "units.csv"')
    (project / "units.csv").write_text("unit,region\nu1,01\nu2,02\nu3,02\n", encoding="utf-8")
    record = run("release", "release.toml", "--dry-run", "--json").record
    assert record["queries"][0]["total"] == 3


def test_persons_without_a_frame_do_not_show_units_of_size_zero(run, project) -> None:
    persons(project, unit=["u1", "u1", "u2"], region=["01", "01", "02"])
    run("release", "release.toml", "--dry-run").refused("persons.parquet", "data.frame")
    change(project, "max = 2", "max = 2\nwithout_size_zero = true")
    assert run("release", "release.toml", "--dry-run").code == 0


def test_units_and_a_tree_from_levels(run, project) -> None:
    (project / "leaves.csv").write_text("state,county\n1,01\n1,02\n2,03\n", encoding="utf-8")
    (project / "units.csv").write_text("region,size\n01,2\n03,0\n03,9\n", encoding="utf-8")
    change(project, 'file = "regions.csv"', 'file = "leaves.csv"\nlevels = ["state", "county"]')
    change(project, 'kind = "histogram"\nfile = "counts.csv"', 'kind = "units"\nfile = "units.csv"')
    record = run("release", "release.toml", "--dry-run", "--json").record
    assert [row["level"] for row in record["queries"][0]["levels"]] == ["root", "state", "county"]


def test_padding_is_asked_for(run, project) -> None:
    (project / "regions.csv").write_text("region,parent\nall,\n01,all\n02,all\n011,01\n", encoding="utf-8")
    (project / "counts.csv").write_text("region,0,1,2\n011,1,2,3\n02,5,6,0\n", encoding="utf-8")
    run("release", "release.toml", "--dry-run").refused("unequal depth", "'02'", "regions.csv")
    change(project, '"regions.csv"', '"regions.csv"\npad = true')
    assert run("release", "release.toml", "--out", "out").code == 0


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("max = 2", "max = 2\nmaximum = 3", ("unknown key 'sizes.maximum'",)),
        ("[sizes]", "[extra]\n[sizes]", ("unknown key 'extra'",)),
        ("max = 2", "max = 2.0", ("sizes.max", "integer")),
        ("max = 2", 'max = "2"', ("sizes.max", "integer")),
        ("max = 2", "max = true", ("sizes.max", "integer")),
        ("max = 2", "max = -1", ("sizes.max",)),
        ("max = 2", "max = 99999999999", ("sizes.max",)),
        ("max = 2", "list = [0, 2, 1]", ("unsorted", "sizes")),
        ("max = 2", "list = [0, 1, 1]", ("repeated", "sizes")),
        ("max = 2", "list = []", ("size list",)),
        ("max = 2", "max = 2\nlist = [0]", ("'max' or 'list'", "sizes")),
        ("max = 2", "list = [1, 2]", ("without_size_zero",)),
        ('"1"', '"one"', ("not a number", "privacy.epsilon")),
        ('"1"', "nan", ("not a number", "privacy.epsilon")),
        ('"1"', '"-1"', ("budget",)),
        ('"1"', '"0"', ("budget",)),
        ('epsilon = "1"', 'epsilon = "1"\nrho = "1"', ("epsilon, rho",)),
        ('epsilon = "1"\n', "", ("epsilon, rho",)),
        ('epsilon = "1"', 'epsilon = "1"\nnoise = "gaussian"', ("noise",)),
        ('epsilon = "1"', 'epsilon = "1"\nnoise = "uniform"', ("privacy.noise",)),
        ('epsilon = "1"', 'epsilon = "1"\nlevels = ["1/2", "1/4"]', ("3/4", "levels")),
        ('epsilon = "1"', 'epsilon = "1"\nlevels = ["1"]', ("1 shares for 2 levels",)),
        ('epsilon = "1"', 'epsilon = "1"\ninvariant_levels = ["nation"]', ("unknown level 'nation'",)),
        ('epsilon = "1"', 'epsilon = "1"\nstructural_zeros = [["09", 1]]', ("'09'",)),
        ('epsilon = "1"', 'epsilon = "1"\nstructural_zeros = [["01", 8]]', ("not listed", "'01'")),
        ('epsilon = "1"', 'epsilon = "1"\nseed = "7"', ("privacy.seed",)),
        ('"ledger.jsonl"', '"nowhere.jsonl"', ("no such ledger", "nowhere.jsonl")),
        ('"ledger.jsonl"', '"counts.csv"', ("counts.csv",)),
        ('"ledger.jsonl"', '"none"', ("privacy.seed",)),
        ('ledger = "ledger.jsonl"', "", ("'privacy.ledger' is missing",)),
        ('"histogram"', '"rows"', ("unknown kind of data", "data")),
        ('kind = "histogram"\n', "", ("data.kind",)),
        ('kind = "histogram"', 'kind = "histogram"\nunit = "u"', ("unknown key 'data.unit'",)),
        ('"regions.csv"', '"nowhere.csv"', ("file not found", "nowhere.csv")),
        ('"counts.csv"', '"nowhere.csv"', ("file not found", "nowhere.csv")),
        ('"counts.csv"', "3", ("data.file",)),
        ('"regions.csv"', '"regions.csv"\nregion = "code"', ("no column 'code'", "regions.csv")),
        ('"regions.csv"', '"regions.csv"\ncodes = "path"', ("'codes'", "hierarchy")),
        ('"regions.csv"', '"regions.csv"\nlevel_names = ["all"]', ("level names",)),
        ('"counts.csv"', '"counts.csv"\ntotal = 3', ("total 3 disagrees", "total")),
        ('"counts.csv"', '"counts.csv"\ntotal = -3', ("data.total",)),
        ('"counts.csv"', '"counts.csv"\nz_max = 0', ("data.z_max",)),
        (
            "[privacy]",
            '[solve]\nsolver = "nobody"\n[privacy]',
            ("unknown solver 'nobody'", "release.toml, solve.solver"),
        ),
        ("[privacy]", "[solve]\ntime_limit_s = 0\n[privacy]", ("solve.time_limit_s",)),
        ("[privacy]", '[solve]\nweights = "most"\n[privacy]', ("solve.weights",)),
        ("[privacy]", "[privacy", ("not TOML", "line 11")),
    ],
)
def test_bad_configurations(run, project, old, new, words, confidential) -> None:
    change(project, old, new)
    before = names()
    done = run("release", "release.toml", "--out", "out")
    done.refused(*words)
    assert [value for value in confidential if value in done.err] == []
    assert (names(), entries()) == (before, 0)


@pytest.mark.parametrize(
    ("file", "old", "new", "words"),
    [
        ("counts.csv", "01,70001", "01,x", ("whole number", "'0'", "line 2")),
        ("counts.csv", "01,70001", "01,-70001", ("negative", "'0'", "line 2")),
        ("counts.csv", "01,70001", "01,70001.5", ("whole number", "'0'", "line 2")),
        ("counts.csv", "01,70001", "01,nan", ("whole number", "'0'", "line 2")),
        ("counts.csv", "01,70001", "01,", ("missing", "'0'", "line 2")),
        ("counts.csv", "01,70001", "01,9007199254740993", ("2^53", "'0'", "line 2")),
        ("counts.csv", "01,70001", "01,1,70001", ("5 cells for 4 columns", "line 2")),
        ("counts.csv", "02,5", "03,5", ("unknown region '03'", "line 3")),
        ("counts.csv", "02,5,6,0\n", "", ("no row for leaf region '02'",)),
        ("counts.csv", "02,5", "01,5", ("listed twice", "line 3")),
        ("counts.csv", "region,0,1,2", "region,0,1,3", ("no column '2'", "counts.csv")),
        ("counts.csv", "region,0,1,2", "region,0,0,2", ("same name", "counts.csv")),
        ("regions.csv", "02,all", "02,all\n021,02", ("unequal depth", "'01'")),
        ("regions.csv", "02,all", "02,nowhere", ("'nowhere'",)),
        ("regions.csv", "02,all", "02,", ("root",)),
        ("regions.csv", "02,all", "01,all", ("duplicate", "'01'")),
        ("regions.csv", "all,\n", "all,02\n", ("root",)),
        ("regions.csv", "region,parent\nall,\n01,all\n02,all\n", "region,parent\n", ("empty tree",)),
        ("regions.csv", "region,parent\nall,\n01,all\n02,all\n", "", ("empty file", "regions.csv")),
    ],
)
def test_bad_data(run, project, file, old, new, words, confidential) -> None:
    path = project / file
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")
    before = names()
    done = run("release", "release.toml", "--out", "out")
    done.refused(*words)
    assert [value for value in confidential if value in done.err] == []
    assert (names(), entries()) == (before, 0)


def test_wrong_types_in_parquet(run, project) -> None:
    pq.write_table(
        pa.table({"region": [1.0, 2.0], "0": [1, 2], "1": [1, 2], "2": [1, 2]}), project / "c.parquet"
    )
    change(project, '"counts.csv"', '"c.parquet"')
    run("release", "release.toml", "--dry-run").refused("c.parquet", "'region'", "floating-point")


def test_places_that_cannot_be_written(run, project) -> None:
    run("release", "release.toml").refused("--out")
    run("release", "release.toml", "--out", "missing/out").refused("folder not found")
    run("release", "release.toml", "--out", ".").refused("exists already")
    run("release", "release.toml", "--out", "counts.csv").refused("exists already")
    run("release", "nowhere.toml", "--out", "out").refused("no such file", "nowhere.toml")
    run("release", "release.toml", "--dry-run", "--from-noisy", "x").refused("--from-noisy")
    run("release", "release.toml", "--out", "out", "--from-noisy", "x").refused("no such file")
    assert entries() == 0


def test_measurements_of_another_release_are_refused(run, project) -> None:
    assert run("release", "release.toml", "--out", "out").code == 0
    change(project, '"1"', '"1/2"')
    run("release", "release.toml", "--out", "b", "--from-noisy", "out").refused(
        "another parameter 'budget'", "release.toml", "--from-noisy out", "['1/2', '1/2']", "['1/4', '1/4']"
    )
    change(project, "max = 2", "max = 3")
    run("release", "release.toml", "--out", "b", "--from-noisy", "out").refused("columns", "noisy")
    assert not Path("b").exists()


def test_the_configuration_may_lie_elsewhere(run, project, tmp_path, monkeypatch) -> None:
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert run("release", "../release.toml", "--out", "out").code == 0
    assert (
        json.loads((tmp_path / "elsewhere/out/guarantee.json").read_text(encoding="utf-8"))["secure"] is True
    )


def test_measurements_of_another_tree_are_refused(run, project) -> None:
    assert run("release", "release.toml", "--out", "out").code == 0
    change(project, 'file = "regions.csv"', 'file = "regions.csv"\nlevel_names = ["nation", "state"]')
    run("release", "release.toml", "--out", "b", "--from-noisy", "out").refused("another parameter 'levels'")
    assert not Path("b").exists()


def test_a_seeded_release_post_processed_again_is_marked(run, project) -> None:
    change(project, 'ledger = "ledger.jsonl"', 'ledger = "none"\nseed = 7')
    assert run("release", "release.toml", "--out", "one").code == 0
    done = run("release", "release.toml", "--out", "two", "--from-noisy", "one")
    assert (done.code, "NOT PRIVATE" in done.out) == (0, True)
    made = Release.load("two")
    assert (made.provenance.seeded, made.guarantee.secure) == (True, False)


def test_two_runs_to_one_place_are_told_apart_before_the_charge(run, project, monkeypatch) -> None:
    """The second starts while the first draws: it is refused, pays nothing, and leaves the first alone."""
    measure = "pgsr.groupsizes.hierarchical.HierarchicalMechanism.measure"
    seen = []

    def meanwhile(self, data, rng):
        monkeypatch.undo()
        monkeypatch.chdir(project)
        seen.append(run("release", "release.toml", "--out", "out"))
        return type(self).measure(self, data, rng)

    monkeypatch.setattr(measure, meanwhile)
    assert run("release", "release.toml", "--out", "out").code == 0
    seen[0].refused("another run is writing here", "out.measured")
    assert entries() == 1
    assert Path("out/counts.csv").is_file()
    assert not Path("out.measured").exists()


def test_a_folder_written_in_the_meantime_is_found_before_the_charge(run, project, monkeypatch) -> None:
    """Another run may end between our first look and our turn."""
    build = "pgsr.hierarchy.Hierarchy.digest"
    original = Hierarchy.digest

    def slow(self):
        Path("out").mkdir(exist_ok=True)
        (Path("out") / "counts.csv").touch()
        return original(self)

    monkeypatch.setattr(build, slow)
    run("release", "release.toml", "--out", "out").refused("exists already: out:")
    assert entries() == 0
    assert not Path("out.measured").exists()


def test_measurements_of_others_are_not_called_ours(run, project) -> None:
    Path("out.measured").mkdir()
    done = run("release", "release.toml", "--out", "out")
    done.refused("another run is writing here", "remove the folder")
    (Path("out.measured") / "noisy.parquet").touch()
    done = run("release", "release.toml", "--out", "out")
    done.refused("paid measurements of another run", "--from-noisy out.measured")
    assert "kept in" not in done.err
    assert (entries(), sorted(path.name for path in Path("out.measured").iterdir())) == (0, ["noisy.parquet"])


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="no /proc here")
def test_a_folder_that_cannot_be_made_is_found_before_the_charge(run, project) -> None:
    done = run("release", "release.toml", "--out", "/proc/out")
    assert (done.code, done.out, len(done.err.splitlines())) == (2, "", 1)
    assert "/proc/" in done.err
    assert entries() == 0


def test_interrupted_during_the_charge_the_cost_may_be_spent(run, project, monkeypatch) -> None:
    original = Ledger.charge

    def interrupted(self, *events, **options) -> None:
        original(self, *events, **options)
        raise KeyboardInterrupt

    before = names()
    monkeypatch.setattr(Ledger, "charge", interrupted)
    done = run("release", "release.toml", "--out", "out")
    assert (done.code, len(done.err.splitlines())) == (130, 1)
    assert "may have been charged: see pgsr ledger show ledger.jsonl" in done.err
    assert names() == before


def test_a_refused_charge_says_nothing_of_a_cost(run, project) -> None:
    change(project, '"1"', '"3"')
    done = run("release", "release.toml", "--out", "out")
    done.refused("budget does not suffice")
    assert "charged" not in done.err
    assert not Path("out.measured").exists()


def test_an_interrupt_after_the_release_does_not_hide_it(run, project, monkeypatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("pgsr.cli.release.show_release", interrupted)
    done = run("release", "release.toml", "--out", "out")
    assert done.code == 130
    assert "the release is complete: it is written to out, and ledger.jsonl is charged" in done.err


def test_structural_zeros_are_published_and_checked(run, project) -> None:
    change(project, 'epsilon = "1"', 'epsilon = "1"\nstructural_zeros = [["01", 2]]')
    run("release", "release.toml", "--out", "out").refused("structural zero", "region '01', size 2")
    assert (entries(), Path("out.measured").exists()) == (0, False)
    change(project, '[["01", 2]]', '[["02", 2]]')
    assert run("release", "release.toml", "--out", "out").code == 0
    assert {"upper.csv", "upper.parquet"} <= {path.name for path in Path("out").iterdir()}
    assert "region '02' size 2 at most 0" in Release.load("out").guarantee.text
