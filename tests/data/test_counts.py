from collections import Counter

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgsr.counting import size_list
from pgsr.counts import GroupSizes, Violation
from pgsr.errors import InputError
from pgsr.hierarchy import Hierarchy

TREE = Hierarchy.from_columns(
    ["r", "A", "B", "01", "02", "1", "2"],
    [None, "r", "r", "A", "A", "B", "B"],
    level_names=["all", "part", "leaf"],
)
PARENT = {"01": "A", "02": "A", "1": "B", "2": "B", "A": "r", "B": "r"}
LEAVES = ["01", "02", "1", "2"]
SECRET = "76543"


def refused(call, message):
    with pytest.raises(InputError, match=message) as caught:
        call()
    assert SECRET not in str(caught.value)
    assert "\n" not in str(caught.value)


def by_hand(units, sizes):
    """Counts by plain Python from (leaf, size) pairs: the last listed size takes all above, gaps go down."""
    counts = Counter()
    for leaf, size in units:
        edge = max(listed for listed in sizes if listed <= size)
        region = leaf
        while region is not None:
            counts[region, edge] += 1
            region = PARENT.get(region)
    return [[counts[str(code), size] for size in sizes] for code in TREE.ids]


SIZES = st.lists(st.integers(1, 9), unique=True, max_size=4).map(lambda rest: [0, *sorted(rest)])


@st.composite
def populations(draw):
    """Units by code with their leaf and the z of their persons."""
    units = draw(
        st.dictionaries(
            st.integers(0, 99),
            st.tuples(st.sampled_from(LEAVES), st.lists(st.integers(0, 5), max_size=4)),
            max_size=12,
        )
    )
    return {f"u{code}": value for code, value in units.items()}


@given(populations(), SIZES, st.randoms())
def test_persons_are_counted_as_by_hand(units, sizes, rng):
    rows = [(unit, leaf, z) for unit, (leaf, zs) in units.items() for z in zs]
    rng.shuffle(rows)
    persons = pd.DataFrame(rows, columns=["unit", "region", "z"]).astype(
        {"unit": str, "region": str, "z": int}
    )
    frame = pd.DataFrame([(u, leaf) for u, (leaf, _) in units.items()], columns=["unit", "region"]).astype(
        str
    )
    # Without a frame: units with at least one person. With it: all.
    some = by_hand([(leaf, sum(zs)) for leaf, zs in units.values() if zs], sizes)
    every = by_hand([(leaf, sum(zs)) for leaf, zs in units.values()], sizes)
    found = GroupSizes.from_persons(persons, TREE, sizes, z="z", z_max=5, units_have_persons=True)
    assert found.counts.tolist() == some
    framed = GroupSizes.from_persons(persons, TREE, sizes, z="z", z_max=5, frame=frame, total=len(units))
    assert framed.counts.tolist() == every
    assert framed.total == len(units)
    assert framed.check(len(units)) == ()
    placed = GroupSizes.from_persons(persons.drop(columns="region"), TREE, sizes, z="z", z_max=5, frame=frame)
    assert placed.counts.tolist() == every
    # Each person counts 1 without z.
    heads = by_hand([(leaf, len(zs)) for leaf, zs in units.values()], sizes)
    assert GroupSizes.from_persons(persons, TREE, sizes, frame=frame, z=None).counts.tolist() == heads


@given(populations(), SIZES)
def test_persons_units_and_histograms_agree(units, sizes):
    pairs = [(leaf, sum(zs)) for leaf, zs in units.values()]
    table = pd.DataFrame(pairs, columns=["region", "size"]).astype({"region": str, "size": int})
    found = GroupSizes.from_units(table, TREE, sizes, total=len(pairs))
    assert found.counts.tolist() == by_hand(pairs, sizes)
    wide = found.to_table()
    assert GroupSizes.from_histogram(wide, TREE, sizes).counts.tolist() == found.counts.tolist()
    leaves = wide.slice(3)
    assert GroupSizes.from_histogram(leaves, TREE, sizes).counts.tolist() == found.counts.tolist()
    at = found.counts[3:]
    assert GroupSizes.from_leaf_counts(TREE, sizes, at).counts.tolist() == found.counts.tolist()
    long = [(code, size, at[i, j]) for i, code in enumerate(LEAVES) for j, size in enumerate(sizes)]
    rows = pd.DataFrame(long, columns=["region", "size", "count"])
    assert GroupSizes.from_long(rows, TREE, sizes).counts.tolist() == found.counts.tolist()
    # Unlisted sizes go to the listed one below.
    raw = Counter(pairs)
    long = [(code, size, raw[code, size]) for code in LEAVES for size in range(25)]
    rows = pd.DataFrame(long, columns=["region", "size", "count"]).sample(frac=1, random_state=1)
    assert GroupSizes.from_long(rows, TREE, sizes).counts.tolist() == found.counts.tolist()


@given(st.lists(st.lists(st.integers(-(2**53), 2**53), min_size=3, max_size=3), min_size=7, max_size=7))
def test_cumulative_and_differences_are_inverse(cells):
    found = GroupSizes(hierarchy=TREE, sizes=[0, 1, 5], counts=np.array(cells))
    cumulative = found.cumulative()
    assert cumulative.tolist() == [[sum(row[: k + 1]) for k in range(3)] for row in cells]
    assert GroupSizes.differences(cumulative).tolist() == cells


@given(st.lists(st.integers(-3, 3), min_size=14, max_size=14), st.integers(0, 4))
def test_check_finds_exactly_what_does_not_hold(cells, total):
    counts = np.array(cells).reshape(7, 2)
    found = GroupSizes(hierarchy=TREE, sizes=[0, 4], counts=counts).check(total)
    expected = set()
    for i, code in enumerate(TREE.ids.tolist()):
        level = TREE.level_names[TREE.level_of()[i]]
        for j, size in enumerate([0, 4]):
            if counts[i, j] < 0:
                expected.add(("validity", level, code, size, counts[i, j]))
            below = [counts[k, j] for k in range(7) if TREE.parent[k] == i]
            if below and counts[i, j] != sum(below):
                expected.add(("consistency", level, code, size, counts[i, j] - sum(below)))
    for k, name in enumerate(TREE.level_names):
        surplus = counts[TREE.level_slice(k)].sum() - total
        if surplus:
            expected.add(("faithfulness", name, None, None, surplus))
    assert {(v.kind, v.level, v.region, v.size, v.amount) for v in found} == expected
    assert len(found) == len(expected)


def test_check_is_exact_beyond_64_bits_and_capped():
    big = np.full((7, 1), 2**53)
    tree = Hierarchy.from_columns(["r", *map(str, range(2048))], [None, *["r"] * 2048])
    huge = np.full((2049, 1), 2**53)
    (off, level) = GroupSizes(hierarchy=tree, sizes=[0], counts=huge).check()
    assert off.amount == 2**53 - 2048 * 2**53
    assert level == Violation(
        kind="faithfulness", level="level 2", region=None, size=None, amount=2047 * 2**53
    )
    assert len(GroupSizes(hierarchy=tree, sizes=[0], counts=-huge).check(0, limit=5)) == 1 + 5 + 2
    assert GroupSizes(hierarchy=TREE, sizes=[3], counts=big).total == 2**53


def units_table():
    return pd.DataFrame(
        {"region": ["01", "1", "2", "01"], "size": [0, 3, 9, 1], "unit": ["a", "b", "c", "d"]}
    )


def test_every_source_counts_the_same(tmp_path):
    frame = units_table()
    frame.to_csv(tmp_path / "u.csv", index=False)
    frame.to_csv(tmp_path / "u.csv.gz", index=False)
    pq.write_table(pa.Table.from_pandas(frame), tmp_path / "u.parquet")
    sources = [frame, pl.DataFrame(frame), pa.Table.from_pandas(frame), dict(frame)]
    sources += [tmp_path / name for name in ("u.csv", "u.csv.gz", "u.parquet")]
    for source in sources:
        found = GroupSizes.from_units(source, TREE, range(5), unit="unit", total=4)
        assert found.counts[TREE.index(["01", "02", "1", "2"])].tolist() == [
            [1, 1, 0, 0, 0],
            [0, 0, 0, 0, 0],
            [0, 0, 0, 1, 0],
            [0, 0, 0, 0, 1],
        ]


def test_whole_number_regions_lose_no_match():
    frame = pl.DataFrame({"region": [1, 2], "size": [0, 1]})
    assert GroupSizes.from_units(frame, TREE, [0, 1]).counts[TREE.index(["1", "2", "01"])].tolist() == [
        [1, 0],
        [0, 1],
        [0, 0],
    ]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"region": ["01", "1", "zz", "01"]}, "unknown region 'zz': units, column 'region', row 3"),
        ({"region": ["01", "A", "2", "01"]}, "region 'A' is not a leaf of the hierarchy: units.*row 2"),
        ({"region": ["01", None, "2", "01"]}, "missing code: units, column 'region', row 2"),
        ({"size": [0, 3, -76543, 1]}, "negative value: units, column 'size', row 3"),
        ({"size": [0, 76543.5, 2, 1]}, "not a whole number: units, column 'size', row 2"),
        ({"size": [0, np.nan, 2, 1]}, "missing value: units, column 'size', row 2"),
        ({"size": ["0", "x76543", "2", "1"]}, "not a whole number: units, column 'size', row 2"),
        ({"unit": ["a", "b", "a", "c"]}, "listed twice: units, column 'unit', row 3"),
        ({"unit": ["a", "b", "", "c"]}, "missing code: units, column 'unit', row 3"),
    ],
)
def test_bad_units(change, message):
    frame = units_table().assign(**change)
    refused(lambda: GroupSizes.from_units(frame, TREE, range(5), unit="unit"), message)


def test_units_below_the_first_size_and_totals():
    def count(sizes, **kwargs):
        return lambda: GroupSizes.from_units(units_table(), TREE, sizes, **kwargs)

    refused(count([1, 2]), "smaller than the first listed size, 1: units.*row 1: add 0 to the size list")
    refused(count([5, 6]), "smaller than the first listed size, 5: .*start the size list lower")
    refused(count([0], total=5), "total 5 disagrees with the data: units")
    for total in (-1, 2**53 + 1):
        refused(count([0], total=total), "between 0 and 2\\^53")
    for total in (4.0, True, "4", float("nan")):
        refused(count([0], total=total), "total is not a whole number")
    refused(count([0], size="sizes"), "no column 'sizes'")


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ([], "not a list of whole numbers"),
        ([0, 2, 1], "unsorted or repeated at size 1"),
        ([0, 1, 1], "unsorted or repeated at size 1"),
        ([-1, 0], "between 0 and"),
        ([0, 2**53 + 1], "between 0 and"),
        ([0, 10**30], "not a list of whole numbers"),
        ([0.0, 1.0], "not a list of whole numbers"),
        (["0", "1"], "not a list of whole numbers"),
        ([[0, 1]], "not a list of whole numbers"),
        ([[0], [1, 2]], "not a list of whole numbers"),
        (5, "not a list of whole numbers"),
        ([True, False], "not a list of whole numbers"),
    ],
)
def test_size_lists(sizes, message):
    refused(lambda: size_list(sizes), message)


def persons_table():
    return pd.DataFrame({"unit": ["a", "a", "b", "c"], "region": ["01", "01", "1", "2"], "z": [1, 0, 1, 1]})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"region": ["01", "1", "1", "2"]}, "unit 'a' in two regions: persons, column 'region', row 2"),
        ({"z": [1, 2, 1, 1]}, "value above 1: persons, column 'z', row 2"),
        ({"z": [1, 0, -1, 1]}, "negative value: persons, column 'z', row 3"),
        ({"z": [1, 0, None, 1]}, "missing value: persons, column 'z', row 3"),
        ({"z": [1, 0.5, 1, 1]}, "not a whole number: persons, column 'z', row 2"),
        ({"unit": ["a", "a", None, "b"]}, "missing code: persons, column 'unit', row 3"),
        ({"region": ["01", "01", "B", "2"]}, "region 'B' is not a leaf"),
    ],
)
def test_bad_persons(change, message):
    frame = persons_table().assign(**change)
    refused(lambda: GroupSizes.from_persons(frame, TREE, range(5), z="z", units_have_persons=True), message)


def test_persons_and_their_frame():
    frame = pd.DataFrame({"unit": ["a", "b", "c", "d"], "region": ["01", "1", "2", "02"]})

    def count(sizes=(0, 1, 2), persons=None, frame=frame, **kwargs):
        return lambda: GroupSizes.from_persons(
            persons_table() if persons is None else persons, TREE, sizes, z="z", frame=frame, **kwargs
        )

    assert count()().counts[TREE.index(LEAVES)].tolist() == [[0, 1, 0], [1, 0, 0], [0, 1, 0], [0, 1, 0]]
    stray = persons_table().assign(unit=["a", "a", "b", SECRET])
    refused(count(persons=stray), "unit is not in the frame: persons, column 'unit', row 4")
    moved = frame.assign(region=["01", "2", "2", "02"])
    refused(count(frame=moved), "unit 'b' in two regions: persons, column 'region', row 3")
    twice = frame.assign(unit=["a", "b", "a", "d"])
    refused(count(frame=twice), "listed twice: frame, column 'unit', row 3")
    refused(count(sizes=[1, 2]), "smaller than the first listed size, 1: frame, column 'unit', row 4: add 0")
    none = persons_table().assign(z=0)
    refused(
        count(sizes=[1, 2], persons=none, frame=None), "smaller than.*persons, column 'unit', row 1: add 0"
    )
    refused(count(total=3), "total 3 disagrees")
    for z_max in (0, -1, 1.5, True):
        refused(count(z_max=z_max), "z_max is not a whole number")


def test_persons_alone_do_not_show_all_units():
    def count(sizes, **kwargs):
        return lambda: GroupSizes.from_persons(persons_table(), TREE, sizes, **kwargs)

    refused(count([0, 1]), "size 0 is listed, but persons alone.*: persons: give the list of all units")
    assert count([0, 1], units_have_persons=True)().total == 3
    assert count([1, 2])().total == 3


def test_columns_of_the_default_names_are_used_unless_they_are_declined():
    persons = persons_table().assign(z=[1, 0, 1, 1])
    assert GroupSizes.from_persons(persons, TREE, [1, 2]).counts[0].tolist() == [3, 0]
    assert GroupSizes.from_persons(persons, TREE, [1, 2], z=None).counts[0].tolist() == [2, 1]
    alone = persons.drop(columns="z")
    assert GroupSizes.from_persons(alone, TREE, [1, 2]).counts[0].tolist() == [2, 1]
    refused(
        lambda: GroupSizes.from_persons(persons.assign(z=[1, 2, 1, 1]), TREE, [1, 2]),
        "value above 1: persons, column 'z', row 2",
    )
    for table, z in ((alone, {}), (persons, {"z": None})):
        refused(
            lambda table=table, z=z: GroupSizes.from_persons(table, TREE, [1, 2], z_max=2, **z),
            "z_max is above 1, but no column of z is used: persons",
        )
    units = units_table().assign(unit=["a", "b", "a", "c"])
    refused(lambda: GroupSizes.from_units(units, TREE, range(5)), "listed twice: units, column 'unit', row 3")
    assert GroupSizes.from_units(units, TREE, range(5), unit=None).total == 4
    assert GroupSizes.from_units(units.drop(columns="unit"), TREE, range(5)).total == 4


def test_nobody_at_all():
    persons = pa.table({"unit": pa.array([], pa.string()), "region": pa.array([], pa.string())})
    none = GroupSizes.from_persons(persons, TREE, [0, 1], total=0, units_have_persons=True)
    assert none.counts.sum() == 0
    units = pa.table({"region": pa.array([], pa.string()), "size": pa.array([], pa.int64())})
    assert GroupSizes.from_units(units, TREE, [0]).total == 0


def wide_table(**change):
    return pd.DataFrame({"region": LEAVES, "0": [1, 0, 2, 0], "1": [0, 0, 5, 1]}).assign(**change)


def test_histograms():
    found = GroupSizes.from_histogram(wide_table(), TREE, [0, 1], total=9)
    assert found.counts[0].tolist() == [3, 6]
    renamed = wide_table().rename(columns={"0": "none", "1": "1+", "region": "code"})
    for columns in (["none", "1+"], {0: "none", 1: "1+"}):
        again = GroupSizes.from_histogram(renamed, TREE, [0, 1], region="code", columns=columns)
        assert again.counts.tolist() == found.counts.tolist()
    for columns in (["none"], "ab", ["none", "none"], {0: "none"}, {0: "none", 1: "1+", 2: "x"}):
        refused(
            lambda columns=columns: GroupSizes.from_histogram(
                renamed, TREE, [0, 1], region="code", columns=columns
            ),
            "columns do not match the size list: histogram",
        )


def test_columns_of_sizes_that_are_not_listed_count_as_in_long_tables():
    # 0..3 listed and a column "4"; a gap; out of order; leading zeros and signs are the same numbers.
    cells = {"9": [0, 0, 0, 4], "0": [1, 0, 2, 0], "2": [5, 0, 0, 0], "1": [0, 0, 5, 1], "3": [0, 900, 0, 1]}
    wide = pd.DataFrame({"region": LEAVES, "name": ["w"] * 4, **cells})
    long = wide.drop(columns="name").melt(id_vars="region", var_name="size", value_name="count")
    for sizes in ([0, 1, 2, 3], [0, 1, 3], [0, 2], [0], [0, 1, 2, 3, 9]):
        listed = wide.copy()
        for size in set(sizes) - {int(name) for name in cells}:
            listed[str(size)] = 0
        found = GroupSizes.from_histogram(listed, TREE, sizes)
        assert found.counts.tolist() == GroupSizes.from_long(long, TREE, sizes).counts.tolist(), sizes
        assert found.total == sum(map(sum, cells.values()))
    # The caller's own choice of columns stands.
    assert GroupSizes.from_histogram(wide, TREE, [0, 1], columns=["0", "1"]).total == 9
    far = wide_table(**{"1" + "0" * 30: [0, 0, 0, 7]})
    assert GroupSizes.from_histogram(far, TREE, [0, 1], total=16).counts[0].tolist() == [3, 13]


@pytest.mark.parametrize(
    ("table", "sizes", "message"),
    [
        (wide_table(), [1], "below the first listed, 1: histogram, column '0': start the size list lower"),
        (wide_table(**{"-1": [0] * 4}), [0, 1], "below the first listed, 0: histogram, column '-1'"),
        (wide_table(**{"01": [0] * 4}), [0, 1], "size with two columns: histogram, column '01'"),
        (wide_table(**{"7": [0] * 4, "+7": [0] * 4}), [0, 1], "size with two columns.*column '[+]7'"),
        (wide_table(**{"7": [0, -76543, 0, 0]}), [0, 1], "negative value: histogram, column '7', row 2"),
        (wide_table(**{"7": [2**53] * 4}), [0, 1], r"sum to more than 2\^53: histogram, column '7'"),
    ],
)
def test_bad_columns_of_sizes(table, sizes, message):
    refused(lambda: GroupSizes.from_histogram(table, TREE, sizes), message)


def test_a_region_column_named_by_a_number_is_no_size():
    table = wide_table().rename(columns={"region": "7"})
    assert GroupSizes.from_histogram(table, TREE, [0, 1], region="7").total == 9


def inner(**change):
    rows = pd.DataFrame({"region": ["r", "A"], "0": [3, 1], "1": [6, 0]}).assign(**change)
    return pd.concat([rows, wide_table()])


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (wide_table(region=["01", "02", "1", "1"]), "listed twice: histogram, column 'region', row 4"),
        (wide_table(region=["01", "02", "1", "x"]), "unknown region 'x': histogram, column 'region', row 4"),
        (wide_table().head(3), "no row for leaf region '2': histogram, column 'region'"),
        (wide_table(**{"1": [0, -76543, 0, 0]}), "negative value: histogram, column '1', row 2"),
        (wide_table(**{"1": [0, 76543.5, 0, 0]}), "not a whole number: histogram, column '1', row 2"),
        (wide_table(**{"1": [0, None, 0, 0]}), "missing value: histogram, column '1', row 2"),
        (wide_table(**{"1": [2**53, 1, 0, 0]}), "values sum to more than 2\\^53: histogram"),
        (wide_table(**{"0": [2**53, 0, 0, 0], "1": [1, 0, 0, 0]}), "values sum to more than 2\\^53"),
        (wide_table(**{"1": [2**53] * 4}), "sum to more than 2\\^53"),
        (wide_table().drop(columns="1"), "no column '1': histogram: columns are 'region', '0'"),
        (inner(**{"0": [76543, 1]}), "not the sum over the regions below: histogram, column '0', region 'r'"),
        (inner(**{"1": [6, 1]}), "not the sum over the regions below: histogram, column '1', region 'A'"),
    ],
)
def test_bad_histograms(table, message):
    refused(lambda: GroupSizes.from_histogram(table, TREE, [0, 1]), message)


def test_inner_rows_that_agree_are_accepted_up_to_the_limit():
    assert GroupSizes.from_histogram(inner(), TREE, [0, 1]).total == 9
    most = GroupSizes.from_leaf_counts(TREE, [0, 1], [[2**53 - 1, 1], [0, 0], [0, 0], [0, 0]])
    assert GroupSizes.from_histogram(most.to_table(), TREE, [0, 1], total=2**53).counts[0, 0] == 2**53 - 1


def long_table(**change):
    columns = {"region": ["01", "02", "1", "2", "2"], "size": [0, 0, 1, 0, 7], "count": [1, 0, 2, 3, 4]}
    return pd.DataFrame(columns).assign(**change)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (long_table(size=[0, 0, 1, 7, 7]), "region and size listed twice: histogram, column 'size', row 5"),
        (long_table().tail(4), "no row for leaf region '01'"),
        (long_table(count=[1, 0, -76543, 3, 4]), "negative value: histogram, column 'count', row 3"),
        (long_table(size=[0, 0, -1, 0, 7]), "negative value: histogram, column 'size', row 3"),
        (long_table(count=[2**53, 2**53, 1, 1, 1]), "sum to more than"),
        (
            pd.concat([long_table(), pd.DataFrame({"region": ["B"], "size": [0], "count": [76543]})]),
            "not the sum over the regions below: histogram, column 'count', size 0, region 'B'",
        ),
    ],
)
def test_bad_long_tables(table, message):
    refused(lambda: GroupSizes.from_long(table, TREE, [0, 1, 5]), message)


def test_long_tables():
    found = GroupSizes.from_long(long_table(), TREE, [0, 1, 5])
    assert found.counts[TREE.index(["01", "02", "1", "2"])].tolist() == [
        [1, 0, 0],
        [0, 0, 0],
        [0, 2, 0],
        [3, 0, 4],
    ]
    refused(
        lambda: GroupSizes.from_long(long_table(), TREE, [1, 2]),
        "smaller than the first listed size, 1: histogram, column 'size', row 1: add 0",
    )


def test_padded_leaves_take_their_data():
    tree = Hierarchy.from_columns(["r", "a", "b", "c", "d"], [None, "r", "r", "b", "c"], pad=True)
    assert tree.padded == ("a~1", "a~2")
    units = pd.DataFrame({"region": ["a", "d", "a"], "size": [1, 0, 0]})
    found = GroupSizes.from_units(units, tree, [0, 1])
    assert found.counts[tree.index(["a", "a~1", "a~2", "d", "r"])].tolist() == [[1, 1]] * 3 + [[1, 0], [2, 1]]
    wide = pd.DataFrame({"region": ["a", "d"], "0": [1, 1], "1": [1, 0]})
    assert GroupSizes.from_histogram(wide, tree, [0, 1]).counts.tolist() == found.counts.tolist()
    assert GroupSizes.from_histogram(found.to_table(), tree, [0, 1]).counts.tolist() == found.counts.tolist()


def test_single_region_and_no_units():
    tree = Hierarchy.from_columns(["x"], [None])
    found = GroupSizes.from_leaf_counts(tree, [0], [[0]])
    assert (found.total, found.check(), found.cumulative().tolist()) == (0, (), [[0]])


@pytest.mark.parametrize(
    ("counts", "message"),
    [
        (np.zeros((7, 3), dtype=int), "counts of shape"),
        (np.zeros((6, 2), dtype=int), "counts of shape"),
        (np.zeros(14, dtype=int), "counts of shape"),
        (np.zeros((7, 2)), "not whole numbers"),
        (np.zeros((7, 2), dtype=bool), "not whole numbers"),
        (np.full((7, 2), 2**53 + 1), "magnitude above"),
        (np.full((7, 2), -(2**53) - 1), "magnitude above"),
        (np.full((7, 2), 2**64 - 1, dtype=np.uint64), "magnitude above"),
    ],
)
def test_the_constructor_checks_shape_type_and_magnitude(counts, message):
    refused(lambda: GroupSizes(hierarchy=TREE, sizes=[0, 1], counts=counts), message)


@pytest.mark.parametrize(
    ("counts", "message"),
    [
        ([[1], [2]], "leaf counts of shape"),
        ([[1.0]] * 4, "not whole numbers"),
        ([[1], [2], [-76543], [0]], "negative count"),
        (np.full((4, 1), 2**53), "sum to more than"),
        (np.full((4, 1), 2**64 - 1, dtype=np.uint64), "magnitude above"),
    ],
)
def test_leaf_counts_are_checked(counts, message):
    refused(lambda: GroupSizes.from_leaf_counts(TREE, [0], counts), message)


def test_later_changes_of_the_callers_arrays_change_nothing():
    counts, sizes = np.zeros((7, 2), dtype=np.int64), np.array([0, 1])
    found = GroupSizes(hierarchy=TREE, sizes=sizes, counts=counts)
    view = np.zeros((7, 2), dtype=np.int64)
    behind = view[:]
    behind.flags.writeable = False
    seen = GroupSizes(hierarchy=TREE, sizes=sizes, counts=behind)
    counts[0, 0] = view[0, 0] = sizes[0] = -5
    assert found.counts[0, 0] == seen.counts[0, 0] == found.sizes[0] == 0
    turned = GroupSizes(hierarchy=TREE, sizes=[0, 1], counts=np.zeros((2, 7), dtype=np.int64).T)
    assert turned.counts.flags.c_contiguous


def test_read_only_counts_are_not_copied():
    counts = np.zeros((7, 2), dtype=np.int64)
    counts.flags.writeable = False
    found = GroupSizes(hierarchy=TREE, sizes=[0, 1], counts=counts)
    assert np.shares_memory(found.counts, counts)
    again = GroupSizes(hierarchy=TREE, sizes=found.sizes, counts=found.counts)
    assert np.shares_memory(again.counts, counts)


def test_arrays_are_read_only_and_repr_shows_no_count():
    found = GroupSizes.from_leaf_counts(TREE, [0], [[76543]] * 4)
    with pytest.raises(ValueError, match="read-only"):
        found.counts[0, 0] = 1
    assert SECRET not in repr(found)
    assert repr(found) == "GroupSizes(Hierarchy(7 regions, 3 levels, root 'r'), 1 sizes)"
