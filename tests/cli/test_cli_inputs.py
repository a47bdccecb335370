"""The input rules, one by one: what must work, and what is refused in one line with nothing written."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

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
    ],
)
def test_damaged_text(run, write, text, words) -> None:
    run("solve", write(text)).refused("instance.json", *words)


def test_not_a_number_among_the_counts(run, write, instance) -> None:
    text = json.dumps(instance()).replace("-1", "NaN")
    run("solve", write(text)).refused("NaN", "instance.json")


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
