"""The input rules, one by one: what must work, and what is refused in one line with nothing written."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pgsr.config import load_config

BIG = 2**53


def region(name, parent, *noisy, **more):
    return {"id": name, "parent": parent, "noisy": list(noisy), **more}


ACCEPTED = {
    "single region": ([region("r", None, 3, -1, 2)], {}),
    "no units": ([region("r", None, 3, -1, 2), region("a", "r", 1, 1, 1)], {"total": 0}),
    "one size": ([region("r", None, 3), region("a", "r", 1), region("b", "r", 4)], {"sizes": [7]}),
    "chain": ([region("r", None, 3, 1, 2), region("a", "r", 1, 1, 1), region("b", "a", 9, -9, 0)], {}),
    "negative noisy counts": ([region("r", None, -3, -1, -2), region("a", "r", -100, -1, -1)], {}),
    "empty region": ([region("r", None, 3, 1, 2), region("a", "r", 0, 0, 0), region("b", "r", 3, 1, 2)], {}),
    "regions in any order": ([region("b", "r", 1, 1, 1), region("r", None, 3, 1, 2)], {}),
    "gaps in the sizes": ([region("r", None, 3, 1, 2)], {"sizes": [0, 5, 100]}),
    "leading zeros": (
        [region("0", None, 3, 1, 2), region("00", "0", 1, 1, 1), region("000", "0", 2, 0, 1)],
        {},
    ),
    "magnitude 2^53": ([region("r", None, BIG, -BIG, 0)], {"total": BIG}),
    "weights": ([region("r", None, 3, 1, 2, weight=0), region("a", "r", 1, 1, 1, weight=0.3)], {}),
    "bounds": ([region("r", None, 3, 1, 2, lower=[0, 0, 9]), region("a", "r", 1, 1, 1, upper=[9, 1, 9])], {}),
    "absolute values": ([region("r", None, 3, 1, 2), region("a", "r", 1, 1, 1)], {"loss": "l1"}),
}


@pytest.mark.parametrize("name", ACCEPTED)
def test_must_work(run, write, instance, name) -> None:
    regions, head = ACCEPTED[name]
    done = run("solve", write(instance(regions, **head)), "--out", "s.json", "--json")
    assert (done.code, done.err) == (0, "")
    assert done.record["certificate"] is True
    assert run("verify", "instance.json", "s.json", "--json").record["optimal"] is True


TWO = [region("r", None, 3, 1, 2), region("a", "r", 1, 1, 1)]

REFUSED = {
    "empty tree": ([], {}, ("empty tree",)),
    "cycle": ([*TWO, region("x", "y", 1, 1, 1), region("y", "x", 1, 1, 1)], {}, ("cycle",)),
    "own parent": ([*TWO, region("x", "x", 1, 1, 1)], {}, ("'x'",)),
    "no root": ([region("x", "y", 1, 1, 1), region("y", "x", 1, 1, 1)], {}, ("root",)),
    "two roots": ([*TWO, region("q", None, 1, 1, 1)], {}, ("root", "'q'")),
    "orphan": ([*TWO, region("b", "nowhere", 1, 1, 1)], {}, ("'b'",)),
    "duplicate": ([*TWO, region("a", "r", 1, 1, 1)], {}, ("duplicate", "'a'")),
    "empty code": ([*TWO, region("", "r", 1, 1, 1)], {}, ("code",)),
    "unequal leaves": ([*TWO, region("b", "r", 1, 1, 1), region("c", "b", 1, 1, 1)], {}, ("depth", "'a'")),
    "short row": ([TWO[0], region("a", "r", 1, 1)], {}, ("2 entries for 3 sizes", "'a'")),
    "long row": ([TWO[0], region("a", "r", 1, 1, 1, 1)], {}, ("4 entries for 3 sizes", "'a'")),
    "unsorted sizes": (TWO, {"sizes": [0, 2, 1]}, ("sizes", "unsorted")),
    "repeated sizes": (TWO, {"sizes": [0, 1, 1]}, ("sizes", "repeated")),
    "negative size": (TWO, {"sizes": [-1, 0, 1]}, ("sizes",)),
    "no sizes": (TWO, {"sizes": []}, ("sizes",)),
    "negative total": (TWO, {"total": -1}, ("total",)),
    "fractional total": (TWO, {"total": 1.5}, ("total",)),
    "true as a total": (TWO, {"total": True}, ("total",)),
    "fraction": ([TWO[0], region("a", "r", 1, 1.5, 1)], {}, ("not a whole number", "'a'")),
    "text for a number": ([TWO[0], region("a", "r", 1, "1", 1)], {}, ("not a whole number", "'a'")),
    "null for a number": ([TWO[0], region("a", "r", 1, None, 1)], {}, ("not a whole number", "'a'")),
    "magnitude": ([TWO[0], region("a", "r", 1, BIG + 1, 1)], {}, ("2^53", "'a'")),
    "huge magnitude": ([TWO[0], region("a", "r", 1, -(10**40), 1)], {}, ("2^53", "'a'")),
    "half a character": ([TWO[0], region("\ud800", "r", 1, 1, 1)], {}, ("half a character",)),
    "weight of 401 digits": ([TWO[0], region("a", "r", 1, 1, 1, weight=10**400)], {}, ("weight", "'a'")),
    "escape in a code": (
        [TWO[0], region("\x1b[2J", "r", 1, 1)],
        {},
        ("2 entries for 3 sizes", r"'\x1b[2J'"),
    ),
    "escape in a key": ([TWO[0], region("a", "r", 1, 1, 1, **{"\x1b[2J": 1})], {}, (r"'\x1b[2J'",)),
    "large total": (TWO, {"total": BIG + 1}, ("total",)),
    "clashing bounds": (
        [TWO[0], region("a", "r", 1, 1, 1, lower=[2, 0, 0], upper=[1, 9, 9])],
        {},
        ("clash", "'a'"),
    ),
    "bounds against the total": ([region("r", None, 3, 1, 2, upper=[1, 1, 1])], {}, ("total",)),
    "lower above the parent": (
        [region("r", None, 3, 1, 2, upper=[1, 9, 9]), region("a", "r", 1, 1, 1, lower=[2, 0, 0])],
        {},
        ("clash", "'r'"),
    ),
    "negative weight": ([TWO[0], region("a", "r", 1, 1, 1, weight=-1)], {}, ("weight", "'a'")),
    "leaf of weight 0": ([TWO[0], region("a", "r", 1, 1, 1, weight=0)], {}, ("weight", "'a'")),
    "unknown key": (TWO, {"colour": 1}, ("unknown key 'colour'",)),
    "unknown key of a region": ([TWO[0], region("a", "r", 1, 1, 1, wieght=1)], {}, ("wieght", "region 2")),
    "unknown model": (TWO, {"model": "linear"}, ("unknown model",)),
    "unknown loss": (TWO, {"loss": "l3"}, ("unknown loss",)),
    "unknown version": (TWO, {"format": "pgsr-instance/2"}, ("unknown format",)),
    "number as a code": ([TWO[0], region(1, "r", 1, 1, 1)], {}, ("not text", "region 2")),
}


@pytest.mark.parametrize("name", REFUSED)
def test_must_be_refused(run, write, instance, name) -> None:
    regions, head, words = REFUSED[name]
    path = write(instance(regions, **head))
    run("solve", path, "--out", "s.json").refused("instance.json", *words)
    assert [file.name for file in Path().iterdir()] == ["instance.json"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", ("not JSON", "line 1")),
        ("{", ("not JSON",)),
        ("[]", ("not a JSON object",)),
        ('{"format": "pgsr-instance/1"}', ("is missing",)),
        ('{"format": "pgsr-instance/1", "total": 1, "total": 2}', ("'total' twice",)),
        ("\x00\x01", ("not JSON",)),
        ('{"x": NaN}', ("NaN",)),
        ('{"x": -Infinity}', ("Infinity",)),
        ('{"a\x9b\\u001b[2J": 1, "format": "pgsr-instance/1"}', ("is missing",)),
    ],
)
def test_damaged_text(run, write, text, words) -> None:
    run("solve", write(text)).refused("instance.json", *words)


def test_not_a_number_among_the_counts(run, write, instance) -> None:
    text = json.dumps(instance()).replace("-1", "NaN")
    run("solve", write(text)).refused("NaN", "instance.json")


@pytest.mark.parametrize("key", ["total", "noisy", "weight", "sizes"])
def test_numbers_of_thousands_of_digits(run, write, instance, key) -> None:
    text = json.dumps(instance([*TWO[:1], region("a", "r", 1, 777, 1, weight=888)], sizes=[0, 1, 999]))
    small = {"total": ": 10", "noisy": "777", "weight": "888", "sizes": "999"}[key]
    assert text.count(small) == 1
    for digits in ("9" * 5000, "-" + "9" * 5000):
        done = run("solve", write(text.replace(small, small[:2].strip("0123456789") + digits)))
        done.refused("instance.json", {"noisy": "'a', noisy", "weight": "'a'"}.get(key, key))


def test_a_byte_order_mark_is_skipped(run, instance, tmp_path) -> None:
    text = json.dumps(instance())
    (tmp_path / "instance.json").write_bytes(b"\xef\xbb\xbf" + text.encode())
    assert run("solve", "instance.json", "--out", "s.json").code == 0


def test_unreadable_files(run, write, instance, tmp_path) -> None:
    run("solve", "nowhere.json").refused("no such file", "nowhere.json")
    (tmp_path / "latin.json").write_bytes(b'{"caf\xe9": 1}')
    run("solve", "latin.json").refused("latin.json")
    (tmp_path / "empty").mkdir()
    run("solve", "empty").refused("no such file", "instance.json")
    path = write(instance())
    run("verify", path, "nowhere.json").refused("no such file", "nowhere.json")
    run("verify", path, "solution.txt").refused("solution.txt")
    (tmp_path / "s.parquet").write_bytes(b"no parquet")
    run("verify", path, "s.parquet").refused("not a Parquet file")


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"all": [1, 1, 1], "01": [1, 1, 1]}, ("'02'",)),
        ({"all": [1, 1, 1], "01": [1, 1, 1], "02": [1, 1]}, ("wrong length", "'02'")),
        ({"all": [1, 1, 1], "01": [1, 1, 1], "02": [1, 1, 1], "03": [1, 1, 1]}, ("unknown region", "'03'")),
        ({"all": [1, 1, 1], "01": [1, 1, 1], "02": [1, "1", 1]}, ("not a number", "'02'")),
        ({"all": [1, 1, 1], "01": [1, 1, 1], "02": [1, BIG + 2, 1]}, ("2^53", "'02'")),
        ([], ("'values'",)),
    ],
)
def test_bad_solutions(run, write, instance, values, words) -> None:
    path = write(instance())
    solution = write(json.dumps({"format": "pgsr-solution/1", "values": values}), "solution.json")
    run("verify", path, solution).refused("solution.json", *words)


def test_a_solution_of_another_version(run, write, instance) -> None:
    solution = write(json.dumps({"format": "pgsr-solution/9", "values": {}}), "solution.json")
    run("verify", write(instance()), solution).refused("unknown format", "solution.json")


@pytest.fixture
def folder(run, tmp_path) -> Path:
    assert run("generate", "uniform", "--scale", "0.05", "--sizes", "3", "--out", "large").code == 0
    return tmp_path / "large"


def rewrite(path: Path, change) -> None:
    pq.write_table(change(pq.read_table(path)), path)


@pytest.mark.parametrize(
    ("file", "change", "words"),
    [
        ("counts", lambda t: t.slice(1), ("rows for",)),
        ("counts", lambda t: t.drop_columns(["1"]), ("columns",)),
        ("counts", lambda t: t.set_column(1, "1", pa.array([0.5] * t.num_rows)), ("whole numbers", "'1'")),
        ("counts", lambda t: t.set_column(1, "1", pa.array(["1"] * t.num_rows)), ("whole numbers", "'1'")),
        (
            "counts",
            lambda t: t.set_column(1, "1", pa.array([None] * t.num_rows, pa.int64())),
            ("missing", "'1'"),
        ),
        ("counts", lambda t: t.set_column(1, "1", pa.array([BIG + 1] * t.num_rows)), ("2^53", "'1'")),
        ("regions", lambda t: t.rename_columns(["id", "up"]), ("columns", "regions.parquet")),
        ("regions", lambda t: t.append_column("x", t["id"]), ("columns", "regions.parquet")),
        (
            "regions",
            lambda t: pa.Table.from_arrays([t["id"], t["parent"], t["id"]], ["id", "parent", "id"]),
            ("columns of the same name", "regions.parquet"),
        ),
        (
            "counts",
            lambda t: t.set_column(1, "1", pa.array([1] * t.num_rows).cast(pa.float16())),
            ("not whole numbers", "'1'"),
        ),
        ("regions", lambda t: pa.concat_tables([t.slice(0, t.num_rows - 1), t.slice(1, 1)]), ("duplicate",)),
    ],
)
def test_damaged_folders(run, folder, file, change, words) -> None:
    rewrite(folder / f"{file}.parquet", change)
    before = sorted(Path().rglob("*"))
    run("solve", folder, "--out", "s.parquet").refused(*words)
    assert sorted(Path().rglob("*")) == before


def test_a_folder_without_one_of_its_files(run, folder) -> None:
    (folder / "counts.parquet").unlink()
    run("solve", folder).refused("no such file", "counts.parquet")


def test_a_folder_with_unknown_keys(run, folder) -> None:
    head = json.loads((folder / "instance.json").read_text(encoding="utf-8"))
    (folder / "instance.json").write_text(json.dumps({**head, "author": "me"}), encoding="utf-8")
    run("solve", folder).refused("unknown key 'author'", "instance.json")


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("max = 2", "max = " + "9" * 5000, ("too many digits", "line 9")),
        ("max = 2", "max = 1e" + "9" * 30, ("too many digits",)),
        ('epsilon = "1"', f"epsilon = {10**400}", ("release.toml, privacy.epsilon", "above 1e12")),
        ('ledger = "', 'seed = -1\nledger = "', ("privacy.seed",)),
        ('ledger = "', '"a\\u001b[2J" = 1\nledger = "', ("unknown key", r"\x1b[2J")),
        ("[sizes]", "[solve]\ntime_limit_s = nan\n[sizes]", ("solve.time_limit_s", "finite")),
        ("[sizes]", f"[solve]\ntime_limit_s = {10**400}\n[sizes]", ("solve.time_limit_s", "finite")),
        ("[sizes]", f"[solve]\nweights = [1, {10**400}]\n[sizes]", ("solve.weights", "finite")),
        ("[sizes]", f"[solve]\nthreads = {10**400}\n[sizes]", ("solve.threads",)),
        ('kind = "histogram"', f'kind = "histogram"\ntotal = {10**400}', ("data.total",)),
        ('kind = "histogram"', f'kind = "histogram"\nz_max = {10**400}', ("data.z_max",)),
        ("max = 2", f"list = [0, 1, {10**400}]", ("size list",)),
        ("max = 2", "max = 2\n#" + "\x1b", ("not TOML",)),
        ('kind = "histogram"', 'kind = "histogram"\ntotal = 7', ("total 7 disagrees", "counts.csv")),
    ],
    ids=lambda value: repr(value)[:24],
)
def test_bad_numbers_in_a_configuration(run, project, confidential, old, new, words) -> None:
    path = project / "release.toml"
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")
    before = (project / "ledger.jsonl").read_bytes()
    done = run("release", path, "--out", "out")
    done.refused(*words)
    assert done.err.strip().isprintable()
    assert not any(value in done.err for value in confidential)
    assert (project / "ledger.jsonl").read_bytes() == before
    assert not Path("out").exists()


def records(project: Path, table: str, data: str, sizes: str = "list = [0, 1, 2, 3]") -> str:
    (project / "table.csv").write_text(table, encoding="utf-8")
    text = (project / "release.toml").read_text(encoding="utf-8")
    text = text.replace('kind = "histogram"\nfile = "counts.csv"', f'file = "table.csv"\n{data}')
    (project / "release.toml").write_text(text.replace("max = 2", sizes), encoding="utf-8")
    return str(project / "release.toml")


def counted(path: str) -> list[int]:
    config = load_config(path)
    (part,) = config.parts()
    return part[1].read(config.hierarchy.build(), part[2].build()).counts[0].tolist()


def test_columns_of_default_names_are_used(run, project) -> None:
    units = "unit,region,size\na,01,1\nb,02,2\na,01,1\n"
    path = records(project, units, 'kind = "units"')
    run("release", path, "--out", "out").refused("listed twice", "table.csv", "line 4")
    text = Path(path).read_text(encoding="utf-8")
    Path(path).write_text(text.replace('kind = "units"', 'kind = "units"\nunit = ""'), encoding="utf-8")
    assert counted(path) == [0, 2, 1, 0]


@pytest.mark.parametrize(
    ("more", "expected"),
    [("z_max = 3", [0, 1, 0, 1]), ('z = ""', [0, 1, 1, 0]), ('z = "z"\nz_max = 3', [0, 1, 0, 1])],
)
def test_persons_with_a_column_z(project, more, expected) -> None:
    persons = "unit,region,z\na,01,1\nb,02,3\nb,02,0\n"
    (project / "units.csv").write_text("unit,region\na,01\nb,02\n", encoding="utf-8")
    path = records(project, persons, f'kind = "persons"\nframe = "units.csv"\n{more}')
    assert counted(path) == expected


def test_persons_without_z_or_without_their_frame(run, project) -> None:
    persons = "unit,region,z\na,01,1\nb,02,3\n"
    (project / "units.csv").write_text("unit,region\na,01\nb,02\n", encoding="utf-8")
    toml = (project / "release.toml").read_text(encoding="utf-8")
    for more, words in (
        ('z = ""\nz_max = 3\nframe = "units.csv"', ("z_max is above 1", "table.csv")),
        ('frame = "units.csv"', ("value above 1", "column 'z'", "line 3")),
        ("z_max = 3", ("size 0 is listed", "table.csv", "data.frame")),
    ):
        (project / "release.toml").write_text(toml, encoding="utf-8")
        path = records(project, persons, f'kind = "persons"\n{more}')
        run("release", path, "--out", "out").refused(*words)
        assert not Path("out").exists()


def test_histograms_with_more_columns_than_sizes(project) -> None:
    wide = "region,0,1,2,3,4\n01,1,2,3,4,900\n02,0,0,0,0,0\n"
    assert counted(records(project, wide, 'kind = "histogram"')) == [1, 2, 3, 904]
