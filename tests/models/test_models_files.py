"""Instance and solution files: round trips, any row order, and one clear line for every bad input."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pgsr.errors import InputError
from pgsr.hierarchy import Hierarchy
from pgsr.models.files import (
    read_fingerprint,
    read_instance,
    read_solution,
    write_instance,
    write_solution,
)
from pgsr.models.instance import Instance

GOOD = {
    "format": "pgsr-instance/1",
    "model": "hierarchical",
    "sizes": [1, 2, 5],
    "total": 7,
    "regions": [
        {"id": "03", "parent": "0", "noisy": [1, -2, 3]},
        {"id": "0", "parent": None, "noisy": [4, 0, 1]},
        {"id": "011", "parent": "01", "noisy": [0, 0, 0]},
        {"id": "031", "parent": "03", "noisy": [0, 9, 0]},
        {"id": "01", "parent": "0", "noisy": [7, 8, 9]},
    ],
}


def put(folder, record, name="instance.json"):
    path = folder / name
    path.write_text(record if isinstance(record, str) else json.dumps(record))
    return path


def changed(**changes):
    record = json.loads(json.dumps(GOOD))
    record.update(changes)
    return record


def with_region(index, **changes):
    record = json.loads(json.dumps(GOOD))
    record["regions"][index].update(changes)
    return record


def test_regions_may_come_in_any_order(tmp_path):
    instance = read_instance(put(tmp_path, GOOD))
    # Level order; children in the order of the file.
    assert instance.hierarchy.ids.tolist() == ["0", "03", "01", "031", "011"]
    assert instance.problem.target[1].tolist() == [1, -2, 3]
    assert instance.problem.target[4].tolist() == [0, 0, 0]
    assert instance.problem.total == 7
    assert not instance.problem.cumulative


@pytest.mark.parametrize("large", [False, True])
def test_round_trip_keeps_the_order_of_the_file(large, tmp_path):
    record = with_region(3, weight=0.5, lower=[0, 1, 0], upper=[5, 5, 5]) | {
        "loss": "l1",
        "model": "cumulative",
    }
    first = read_instance(put(tmp_path, record))
    path = tmp_path / ("folder" if large else "again.json")
    write_instance(first, path)
    second = read_instance(path)
    assert second.hierarchy.ids.tolist() == first.hierarchy.ids.tolist()
    for name in ("target", "weights", "lower", "upper", "parent"):
        a, b = getattr(first.problem, name), getattr(second.problem, name)
        if name in ("lower", "upper"):
            a, b = np.clip(a, 0, 7), np.clip(b, 0, 7)
        assert np.array_equal(a, b), name
    assert second.problem.loss == "l1"
    assert second.problem.cumulative
    ids = (
        [r["id"] for r in json.loads(path.read_text())["regions"]]
        if not large
        else (pq.read_table(path / "regions.parquet")["id"].to_pylist())
    )
    assert ids == [r["id"] for r in GOOD["regions"]]
    if large:
        row = pq.read_table(path / "counts.parquet").to_pylist()[3]
        assert row == {"1": 0, "2": 9, "5": 0}
        assert pq.read_schema(path / "counts.parquet").types == [pa.int64()] * 3


@pytest.mark.parametrize("name", ["solution.json", "solution.parquet"])
@pytest.mark.parametrize("kind", [np.int64, np.float64])
def test_solution_round_trip(name, kind, tmp_path):
    instance = read_instance(put(tmp_path, GOOD))
    values = np.arange(15).reshape(5, 3).astype(kind) + (0.5 if kind is np.float64 else 0)
    write_solution(values, instance, tmp_path / name)
    back = read_solution(tmp_path / name, instance)
    assert back.dtype == kind
    assert np.array_equal(back, values)
    if name.endswith("parquet"):
        first = pq.read_table(tmp_path / name).to_pylist()[0]
        assert list(first.values()) == values[1].tolist(), "rows in the order of the instance's file"


@pytest.mark.parametrize("name", ["solution.json", "solution.parquet"])
def test_a_solution_may_say_which_problem_it_solves(name, tmp_path):
    instance = read_instance(put(tmp_path, GOOD))
    values = np.arange(15).reshape(5, 3)
    write_solution(values, instance, tmp_path / name)
    assert read_fingerprint(tmp_path / name) is None
    write_solution(values, instance, tmp_path / name, fingerprint="abc")
    assert read_fingerprint(tmp_path / name) == "abc"
    assert np.array_equal(read_solution(tmp_path / name, instance), values)


def test_a_fingerprint_is_text(tmp_path):
    path = put(tmp_path, {"format": "pgsr-solution/1", "values": {}, "fingerprint": 3}, "solution.json")
    with pytest.raises(InputError, match="fingerprint is not text"):
        read_fingerprint(path)


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ("{", "not JSON"),
        ("[1]", "not a JSON object"),
        (changed(format="pgsr-instance/2"), "unknown format"),
        (changed(model="other"), "unknown model"),
        (changed(extra=1), "unknown key 'extra'"),
        (changed(sizes=[2, 1, 5]), "unsorted"),
        (changed(sizes=[1, 1, 5]), "repeated"),
        (changed(sizes=[]), "sizes"),
        (changed(sizes=[1.5, 2, 3]), "whole"),
        (changed(total=-1), "total"),
        (changed(total=1.5), "total"),
        (changed(total=2**53 + 1), "total"),
        (changed(loss="l7"), "loss"),
        (changed(regions=[]), "empty tree"),
        (changed(regions=[1]), "regions"),
        (with_region(0, colour="red"), "unknown key 'colour'"),
        (with_region(0, noisy=[1, 2]), "2 entries for 3 sizes"),
        (with_region(0, noisy=[1, 2, 0.5]), "not a whole number.*'03'"),
        (with_region(0, noisy=[1, 2, True]), "not a whole number"),
        (with_region(0, noisy=[1, 2, 2**54]), "2\\^53"),
        (with_region(0, noisy="abc"), "not a list"),
        (with_region(0, parent="zz"), "'03'"),
        (with_region(0, parent="03"), "'03'"),
        (with_region(0, parent=None), "roots"),
        (with_region(1, parent="03"), "root|cycle"),
        (with_region(0, id="01"), "duplicate"),
        (with_region(0, id=3), "not text"),
        (with_region(2, parent="0"), "unequal depth.*single-child"),
        (with_region(0, weight=-1), "'03'"),
        (with_region(0, weight="x"), "weight"),
        (with_region(3, weight=0), "'031'"),
        (with_region(3, lower=[2, 0, 0], upper=[1, 9, 9]), "clash.*'031'"),
        (with_region(3, lower=[1, 0]), "2 entries for 3 sizes"),
        (json.dumps(GOOD).replace('"total": 7', '"total": NaN'), "NaN"),
        (json.dumps(GOOD).replace('"total": 7', '"total": 7, "total": 8'), "twice"),
        (json.dumps(GOOD).replace("-2", "1e400"), "whole|Infinity"),
    ],
)
def test_bad_instances_are_refused_in_one_line(record, message, tmp_path):
    path = put(tmp_path, record)
    with pytest.raises(InputError, match=message) as caught:
        read_instance(path)
    assert "\n" not in str(caught.value)
    assert "instance.json" in str(caught.value)


def test_missing_and_unreadable_files(tmp_path):
    with pytest.raises(InputError, match="no such file"):
        read_instance(tmp_path / "nothing.json")
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match=r"instance\.json"):
        read_instance(tmp_path / "empty")
    (tmp_path / "binary.json").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match="cannot be read"):
        read_instance(tmp_path / "binary.json")


@pytest.fixture
def folder(tmp_path):
    write_instance(read_instance(put(tmp_path, GOOD)), tmp_path / "large")
    return tmp_path / "large"


def test_bad_folders(folder):
    counts = pq.read_table(folder / "counts.parquet")

    def refused(table, message):
        pq.write_table(table, folder / "counts.parquet")
        with pytest.raises(InputError, match=message):
            read_instance(folder)

    refused(counts.slice(0, 4), "4 rows for 5 regions")
    refused(counts.select(["1", "2"]), "sizes of the instance")
    refused(counts.set_column(0, "1", pa.array([0.5] * 5)), "not whole numbers")
    refused(counts.set_column(0, "1", pa.array([1, None, 1, 1, 1])), "missing value")
    refused(counts.set_column(0, "1", pa.array([2**60] * 5)), "2\\^53")
    (folder / "counts.parquet").write_text("no parquet")
    with pytest.raises(InputError, match="not a Parquet file"):
        read_instance(folder)
    (folder / "counts.parquet").unlink()
    with pytest.raises(InputError, match="no such file"):
        read_instance(folder)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"0": [1, 2, 3]}, "without values"),
        ("all", "'zz'"),
        ("short", "wrong length"),
        ("text", "not a number"),
        ("huge", "2\\^53"),
    ],
)
def test_bad_solutions(values, message, tmp_path):
    instance = read_instance(put(tmp_path, GOOD))
    rows = {region["id"]: [0, 0, 0] for region in GOOD["regions"]}
    if values == "all":
        values = rows | {"zz": [0, 0, 0]}
    elif isinstance(values, str):
        values = rows | {"03": {"short": [0, 0], "text": ["a", 0, 0], "huge": [2**60, 0, 0]}[values]}
    path = put(tmp_path, {"format": "pgsr-solution/1", "values": values}, "solution.json")
    with pytest.raises(InputError, match=message):
        read_solution(path, instance)
    with pytest.raises(InputError, match=r"\.json or \.parquet"):
        read_solution(tmp_path / "solution.txt", instance)


def test_nothing_half_written(tmp_path, monkeypatch):
    instance = read_instance(put(tmp_path, GOOD))

    def fail(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(pq, "ParquetWriter", fail)
    before = sorted(p.name for p in tmp_path.iterdir())
    with pytest.raises(KeyboardInterrupt):
        write_instance(instance, tmp_path / "large")
    with pytest.raises(KeyboardInterrupt):
        write_solution(instance.problem.target, instance, tmp_path / "x.parquet")
    assert sorted(p.name for p in tmp_path.iterdir()) == before


def test_instances_are_built_with_regions_named():
    tree = Hierarchy.from_columns(["a", "b"], [None, "a"])
    with pytest.raises(InputError, match="region 'b'"):
        Instance.build(tree, np.array([1]), np.array([[1], [1]]), 1, weights=[1, 0])
