"""Multipliers in solution files: exact round trips, values untouched, one clear line for bad ones."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pgsr.errors import InputError
from pgsr.models.files import read_instance, read_multipliers, read_solution, write_solution
from pgsr.models.folders import GRID

ENDINGS = ["json", "parquet"]
# Level order: 0, 03, 01, 031, 011; the inner regions are 0, 03 and 01. In the file: 03, 0, 011, 031, 01.
REGIONS = [("03", "0"), ("0", None), ("011", "01"), ("031", "03"), ("01", "0")]
VALUES = np.array([[1, 4, 7], [1, 3, 5], [0, 1, 2], [1, 3, 5], [0, 1, 2]])
PRICES = np.array([[0.5, -1.25, 3.0], [0.0, 2.5, -7.75], [1.0, 0.0, -0.25]])


@pytest.fixture
def make(tmp_path):
    def call(model="cumulative", regions=REGIONS, sizes=(1, 2, 5)):
        record = {
            "format": "pgsr-instance/1",
            "model": model,
            "sizes": list(sizes),
            "total": 7,
            "regions": [
                {"id": code, "parent": parent, "noisy": [1] * len(sizes)} for code, parent in regions
            ],
        }
        path = tmp_path / "instance.json"
        path.write_text(json.dumps(record))
        return read_instance(path)

    return call


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("grid", [2, 20, 40])
def test_round_trip(make, tmp_path, ending, grid):
    instance, path = make(), tmp_path / f"s.{ending}"
    write_solution(VALUES, instance, path, PRICES, grid=grid)
    back = read_multipliers(path, instance)
    assert back.dtype == np.float64
    assert np.array_equal(back, PRICES)
    values = read_solution(path, instance)
    assert values.dtype == np.int64
    assert np.array_equal(values, VALUES)


def test_what_stands_in_the_files(make, tmp_path):
    instance = make()
    write_solution(VALUES, instance, tmp_path / "s.json", PRICES, grid=2)
    record = json.loads((tmp_path / "s.json").read_text())
    assert list(record) == ["format", "values", "multipliers"]
    assert record["format"] == "pgsr-solution/1"
    assert record["multipliers"] == {
        "grid": 2,
        "values": {"03": [0, 10, -31], "0": [2, -5, 12], "01": [4, 0, -1]},
    }
    write_solution(VALUES, instance, tmp_path / "s.parquet", PRICES, grid=2)
    table = pq.read_table(tmp_path / "s.parquet")
    assert table.column_names == ["1", "2", "5", "multiplier:1", "multiplier:2", "multiplier:5"]
    assert table.schema.metadata[GRID] == b"2"
    rows = [list(row.values())[3:] for row in table.to_pylist()]
    assert rows == [[0, 10, -31], [2, -5, 12], [0, 0, 0], [0, 0, 0], [4, 0, -1]]


@pytest.mark.parametrize("ending", ENDINGS)
def test_numbers_are_rounded_to_the_grid_and_leaves_are_left_out(make, tmp_path, ending):
    instance, path = make(), tmp_path / f"s.{ending}"
    given = np.full((5, 3), 1 / 3)
    given[:3] += PRICES
    given[3:] = np.nan  # nobody looks at leaves
    write_solution(VALUES, instance, path, given, grid=4)
    assert np.array_equal(read_multipliers(path, instance), np.rint(given[:3] * 16) / 16)


@pytest.mark.parametrize("ending", ENDINGS)
def test_one_region_has_no_multipliers(make, tmp_path, ending):
    instance, path = make(regions=[("0", None)]), tmp_path / f"s.{ending}"
    write_solution(VALUES[:1], instance, path, np.zeros((1, 3)), grid=1)
    assert read_multipliers(path, instance).shape == (0, 3)


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("model", ["cumulative", "hierarchical"])
def test_a_solution_without_multipliers(make, tmp_path, ending, model):
    instance, path = make(model), tmp_path / f"s.{ending}"
    write_solution(VALUES, instance, path)
    assert read_multipliers(path, instance) is None


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_new_solution_replaces_old_multipliers(make, tmp_path, ending):
    instance, path = make(), tmp_path / f"s.{ending}"
    write_solution(VALUES, instance, path, PRICES)
    write_solution(VALUES, instance, path)
    assert read_multipliers(path, instance) is None


@pytest.mark.parametrize(
    ("given", "grid", "message"),
    [
        (np.zeros((2, 3)), 2, "wrong shape"),
        (np.zeros((3, 2)), 2, "wrong shape"),
        (np.zeros(3), 2, "wrong shape"),
        (np.full((3, 3), np.nan), 2, "not finite"),
        (np.full((3, 3), np.inf), 2, "not finite"),
        (np.full((3, 3), 2.0**52), 2, "2\\^53"),
        (PRICES, -1, "grid"),
        (PRICES, 41, "grid"),
    ],
)
def test_what_cannot_be_written(make, tmp_path, given, grid, message):
    for ending in ENDINGS:
        with pytest.raises(InputError, match=message):
            write_solution(VALUES, make(), tmp_path / f"s.{ending}", given, grid=grid)
        with pytest.raises(InputError, match="hierarchical"):
            write_solution(VALUES, make("hierarchical"), tmp_path / f"s.{ending}", PRICES)
    assert [path.name for path in tmp_path.iterdir()] == ["instance.json"]


GOOD = {"03": [0, 10, -31], "0": [2, -5, 12], "01": [4, 0, -1]}


@pytest.mark.parametrize(
    ("multipliers", "words"),
    [
        ([1], ["not an object"]),
        (None, ["not an object"]),
        ({"grid": 2}, ["key 'values' is missing"]),
        ({"values": GOOD}, ["key 'grid' is missing"]),
        ({"grid": 2, "values": GOOD, "more": 1}, ["unknown key 'more'"]),
        ({"grid": 2, "values": [1]}, ["'values' is not an object"]),
        ({"grid": 2.0, "values": GOOD}, ["the grid is not a whole number in 0 .. 40"]),
        ({"grid": True, "values": GOOD}, ["the grid"]),
        ({"grid": -1, "values": GOOD}, ["the grid"]),
        ({"grid": 41, "values": GOOD}, ["the grid"]),
        ({"grid": 10**300, "values": GOOD}, ["the grid"]),
        ({"grid": 2, "values": GOOD | {"zz": [0, 0, 0]}}, ["unknown region", "'zz'"]),
        ({"grid": 2, "values": {"03": [0, 0, 0], "0": [0, 0, 0]}}, ["without multipliers", "'01'"]),
        ({"grid": 2, "values": GOOD | {"031": [0, 1, 0]}}, ["leaf's multiplier is not 0", "'031'"]),
        ({"grid": 2, "values": GOOD | {"03": [0, 1]}}, ["2 entries for 3 sizes", "'03'"]),
        ({"grid": 2, "values": GOOD | {"03": 7}}, ["not a list", "'03'"]),
        ({"grid": 2, "values": GOOD | {"03": [0, 1, 0.5]}}, ["not a whole number", "'03'"]),
        ({"grid": 2, "values": GOOD | {"03": [0, 1, True]}}, ["not a whole number", "'03'"]),
        ({"grid": 2, "values": GOOD | {"03": [0, 1, "1"]}}, ["not a whole number", "'03'"]),
        ({"grid": 2, "values": GOOD | {"03": [0, 1, -(2**53) - 1]}}, ["2^53", "'03'"]),
    ],
)
def test_malformed_json(make, tmp_path, multipliers, words):
    record = {"format": "pgsr-solution/1", "values": {}}
    path = tmp_path / "s.json"
    path.write_text(json.dumps(record | {"multipliers": multipliers}))
    with pytest.raises(InputError) as caught:
        read_multipliers(path, make())
    text = str(caught.value)
    assert len(text.splitlines()) == 1
    for word in ["s.json", *words]:
        assert word in text


def test_zeros_for_leaves_may_be_given(make, tmp_path):
    path = tmp_path / "s.json"
    given = {"grid": 2, "values": GOOD | {"031": [0, 0, 0]}}
    path.write_text(json.dumps({"format": "pgsr-solution/1", "values": {}, "multipliers": given}))
    assert np.array_equal(read_multipliers(path, make()), PRICES)


def test_malformed_parquet(make, tmp_path):
    instance, path = make(), tmp_path / "s.parquet"
    write_solution(VALUES, instance, path, PRICES, grid=2)
    good = pq.read_table(path)

    def refused(table, *words):
        pq.write_table(table, path)
        with pytest.raises(InputError) as caught:
            read_multipliers(path, instance)
        text = str(caught.value)
        assert len(text.splitlines()) == 1
        for word in ("s.parquet", *words):
            assert word in text

    def column(values, kind=None):
        array = pa.array(values, type=kind)
        table = good.set_column(4, "multiplier:2", array)
        return table.replace_schema_metadata(good.schema.metadata)

    refused(good.replace_schema_metadata(None), "grid")
    for grid in (b"41", b"-1", b"2.0", b"", b"9" * 5000):
        refused(good.replace_schema_metadata({GRID: grid}), "the grid")
    refused(good.drop_columns(["multiplier:5"]), "lack columns")
    refused(good.select(["1", "2", "5"]), "lack columns")
    refused(good.rename_columns(["1", "2", "5", "multiplier:1", "multiplier:2", "x"]), "lack columns")
    refused(good.slice(0, 4), "4 rows for 5 regions")
    refused(column([0.5] * 5), "not whole numbers", "'multiplier:2'")
    refused(column([1, None, 0, 0, 1]), "missing value", "'multiplier:2'")
    refused(column([1, 2**53 + 1, 0, 0, 1]), "2^53", "'multiplier:2'", "region '0'")
    refused(column([-(2**63), 1, 0, 0, 1]), "2^53", "region '03'")
    refused(column([1, 1, 0, 2**64 - 1, 1], pa.uint64()), "2^53", "region '031'")
    refused(column([1, 1, 0, 3, 1]), "leaf", "region '031'")
    path.write_text("no parquet")
    with pytest.raises(InputError, match="not a Parquet file"):
        read_multipliers(path, instance)


@pytest.mark.parametrize("ending", ENDINGS)
def test_multipliers_of_the_other_model_are_refused(make, tmp_path, ending):
    path = tmp_path / f"s.{ending}"
    write_solution(VALUES, make(), path, PRICES)
    with pytest.raises(InputError, match="hierarchical"):
        read_multipliers(path, make("hierarchical"))


def test_many_row_groups(make, tmp_path):
    """Rows of the file in another order than the tree's, in groups of two."""
    instance, path = make(), tmp_path / "s.parquet"
    write_solution(VALUES, instance, path, PRICES, grid=2)
    pq.write_table(pq.read_table(path), path, row_group_size=2)
    assert np.array_equal(read_multipliers(path, instance), PRICES)
    assert np.array_equal(read_solution(path, instance), VALUES)
