import pickle
import random

import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgsr.errors import InputError
from pgsr.hierarchy import Hierarchy, level_order
from pgsr.leveling import columns_from_levels


@st.composite
def level_trees(draw):
    """Parents of a random tree in level order whose leaves are all on the last level."""
    parents, level = [-1], [0]
    for _ in range(draw(st.integers(0, 4))):
        below = []
        for region in level:
            for _ in range(draw(st.integers(1, 3))):
                below.append(len(parents))
                parents.append(region)
        level = below
    return parents


@st.composite
def any_trees(draw):
    """Parents of a random tree, leaves anywhere."""
    size = draw(st.integers(1, 20))
    return [-1] + [draw(st.integers(0, i - 1)) for i in range(1, size)]


def columns(parents):
    ids = [f"{i:03}" for i in range(len(parents))]
    return ids, [None if p < 0 else ids[p] for p in parents]


def edges(tree):
    ids = [str(x) for x in tree.ids]
    return {(ids[i], None if p < 0 else ids[p]) for i, p in enumerate(tree.parent.tolist())}


def refused(message, *args, **kwargs):
    with pytest.raises(InputError, match=message) as caught:
        Hierarchy.from_columns(*args, **kwargs)
    assert "\n" not in str(caught.value)


@given(level_trees(), st.randoms())
def test_any_row_order_gives_the_same_tree_in_level_order(parents, rng):
    ids, above = columns(parents)
    rows = list(range(len(ids)))
    rng.shuffle(rows)
    tree, order = level_order([ids[i] for i in rows], [above[i] for i in rows])
    assert edges(tree) == set(zip(ids, above, strict=True))
    assert [ids[rows[i]] for i in order.tolist()] == tree.ids.tolist()
    assert tree.parent[0] == -1
    assert (tree.parent < np.arange(tree.regions)).all()
    assert (np.diff(tree.parent) >= 0).all()
    for i in range(tree.regions):
        kids = np.flatnonzero(tree.parent == i)
        assert kids.tolist() == list(range(tree.child_start[i], tree.child_start[i + 1]))
    depth = tree.level_of()
    assert depth[0] == 0
    assert (depth[1:] == depth[tree.parent[1:]] + 1).all()
    assert (np.bincount(depth) == np.diff(tree.level_start)).all()
    assert tree.leaves.tolist() == [i for i in range(tree.regions) if i not in tree.parent]


@given(level_trees())
def test_rows_in_level_order_stay_where_they_are(parents):
    tree, order = level_order(*columns(parents))
    assert order.tolist() == list(range(len(parents)))
    assert tree.parent.tolist() == parents


@given(level_trees(), st.randoms())
def test_networkx_and_back(parents, rng):
    graph = nx.DiGraph()
    nodes = list(range(len(parents)))
    rng.shuffle(nodes)
    graph.add_nodes_from(nodes)
    graph.add_edges_from((p, i) for i, p in enumerate(parents) if p >= 0)
    tree = Hierarchy.from_networkx(graph)
    back = tree.to_networkx()
    assert set(back.edges) == {(str(a), str(b)) for a, b in graph.edges}
    assert set(back.nodes) == {str(a) for a in graph.nodes}
    again = Hierarchy.from_networkx(back)
    assert again.digest() == tree.digest()
    assert [back.nodes[str(i)]["level"] for i in tree.ids] == [tree.level_names[k] for k in tree.level_of()]


@given(any_trees(), st.randoms())
def test_padding_brings_every_leaf_down_by_single_children(parents, rng):
    ids, above = columns(parents)
    rows = list(range(len(ids)))
    rng.shuffle(rows)
    tree, order = level_order([ids[i] for i in rows], [above[i] for i in rows], pad=True)
    added = set(tree.padded)
    assert edges(tree) >= set(zip(ids, above, strict=True))
    assert tree.regions == len(ids) + len(added)
    assert len(set(tree.ids.tolist())) == tree.regions
    for i, code in enumerate(tree.ids.tolist()):
        assert (order[i] == -1) == (code in added)
        if order[i] >= 0:
            assert ids[rows[order[i]]] == code
        else:
            assert (tree.parent == tree.parent[i]).sum() == 1
    deep = [i for i in range(tree.regions) if i not in tree.parent]
    assert deep == tree.leaves.tolist()
    if not added:
        assert Hierarchy.from_columns(ids, above).padded == ()


def test_padding_makes_names_unique():
    tree = Hierarchy.from_columns(["r", "a", "b", "c", "a~1"], [None, "r", "r", "b", "b"], pad=True)
    assert tree.padded == ("a~1~",)


def test_padding_a_comb_is_refused():
    n = 7_000
    ids = [f"s{i}" for i in range(n)] + [f"t{i}" for i in range(n)]
    above = [None, *(f"s{i}" for i in range(n - 1)), *(f"s{i}" for i in range(n))]
    refused("padding would add more", ids, above, pad=True)


@pytest.mark.parametrize(
    ("ids", "parents", "message"),
    [
        ([], [], "empty tree"),
        (["a", "b"], [None], "2 region codes but 1 parents"),
        (["r", "a", "b", "c"], [None, "c", "a", "b"], "cycle: hierarchy, region '[abc]'"),
        (["x", "r", "a", "b"], ["a", None, "b", "a"], "cycle: hierarchy, region '[ab]'"),
        (["a", "b"], ["b", "a"], "no root.*region 'a'"),
        (["a", "q", "z"], [None, "a", ""], "2 roots: hierarchy, regions 'a' and 'z'"),
        (["r", "a"], [None, "lost"], "parent 'lost' is not a region: hierarchy, region 'a'"),
        (["r", "a", "a"], [None, "r", "r"], "duplicate region: hierarchy, region 'a'"),
        (["r", "a", "a"], [None, "r", None], "duplicate region: hierarchy, region 'a'"),
        (["r", "a"], ["r", "r"], "region is its own parent: hierarchy, region 'r'"),
        (["r", "a", "b"], [None, "r", "b"], "region is its own parent: hierarchy, region 'b'"),
        (["r", None], [None, "r"], "empty region code: hierarchy, entry 2"),
        (["r", ""], [None, "r"], "empty region code: hierarchy, entry 2"),
        (["r", "a", "b", "c"], [None, "r", "r", "b"], "leaves at unequal depth: region 'a': pad"),
        ([1.5, 2.0], [None, 1.5], "floating-point"),
        ([True, False], [None, None], "codes are of type bool"),
        (["a", 1], [None, "a"], "mixed or unknown types"),
    ],
)
def test_what_is_no_tree_is_refused_and_the_region_named(ids, parents, message):
    refused(message, ids, parents)


def test_the_source_is_named():
    refused("duplicate region: regions.csv, region 'a'", ["a", "a"], [None, "a"], source="regions.csv")


def test_a_cycle_far_below_is_named_by_a_region_on_it():
    ids = ["r", "tail1", "tail2", "c1", "c2", "c3"]
    refused("region 'c[123]'", ids, [None, "tail2", "c1", "c2", "c3", "c1"])


@pytest.mark.parametrize(
    "kind",
    [
        list,
        tuple,
        np.array,
        lambda x: np.array(x, dtype=object),
        lambda x: np.array(x, dtype=np.dtypes.StringDType()),
        pd.Series,
        lambda x: pd.Series(x, dtype="category"),
        pl.Series,
        lambda x: pl.Series(x, dtype=pl.Categorical),
        pa.array,
        lambda x: pa.array(x).dictionary_encode(),
        lambda x: pa.chunked_array([x[:2], x[2:]]),
        lambda x: pa.array(x, type=pa.string_view()),
    ],
)
def test_every_kind_of_column_gives_the_same_tree_and_keeps_zeros(kind):
    tree = Hierarchy.from_columns(kind(["00", "01", "007"]), kind(["", "00", "00"]))
    assert tree.ids.tolist() == ["00", "01", "007"]
    assert tree.parent.tolist() == [-1, 0, 0]


def test_whole_numbers_become_text():
    tree = Hierarchy.from_columns(np.array([10, 7, 8]), pd.array([None, 10, 10], dtype="Int64"))
    assert tree.ids.tolist() == ["10", "7", "8"]


def test_single_region():
    tree = Hierarchy.from_columns(["only"], [None])
    assert (tree.regions, tree.levels, tree.leaves.tolist()) == (1, 1, [0])
    assert tree.level_names == ("level 1",)
    assert tree.to_networkx().number_of_nodes() == 1


def test_deep_chain_in_any_order():
    n = 100_000
    rows = list(range(n))
    random.Random(1).shuffle(rows)
    tree = Hierarchy.from_columns([str(i) for i in rows], [str(i - 1) if i else "" for i in rows])
    assert tree.levels == n
    assert tree.ids[-1] == str(n - 1)


def test_level_names_are_checked():
    assert Hierarchy.from_columns(["a"], [None], level_names=["nation"]).level_names == ("nation",)
    refused("2 level names for 1 levels", ["a"], [None], level_names=["x", "y"])
    refused("empty or repeated", ["a", "b"], [None, "a"], level_names=["x", "x"])


@pytest.mark.parametrize(
    ("ids", "parent", "message"),
    [
        (["a", "b", "c"], [-1, 0], "do not fit"),
        (["a", "b", "c"], [-1.0, 0.0, 0.0], "do not fit"),
        (["a", "b", "c"], [0, 0, 0], "level order"),
        (["a", "b", "c"], [-1, 1, 0], "level order"),
        (["a", "b", "c"], [-1, 0, -1], "level order"),
        (["a", "b", "c", "d"], [-1, 0, 1, 0], "level order"),
        (["a", "b", "c", "d"], [-1, 0, 0, 1], "unequal depth.*'c'"),
        (["a", "b", "b"], [-1, 0, 0], "duplicate region.*'b'"),
        (["a", "", "b"], [-1, 0, 0], "empty region code"),
        (["a", None, "b"], [-1, 0, 0], "missing region code"),
        ([], [], "empty tree"),
    ],
)
def test_the_constructor_checks_its_arrays(ids, parent, message):
    with pytest.raises(InputError, match=message):
        Hierarchy(ids=ids, parent=np.array(parent))


def test_arrays_are_read_only_and_the_callers_stay_writeable():
    parent = np.array([-1, 0])
    tree = Hierarchy(ids=np.array(["a", "b"], dtype=np.dtypes.StringDType()), parent=parent)
    with pytest.raises(ValueError, match="read-only"):
        tree.parent[0] = 5
    parent[1] = 0
    with pytest.raises(AttributeError):
        tree.parent = parent


def test_pickle():
    tree = Hierarchy.from_columns(["r", "a", "b", "c"], [None, "r", "r", "b"], pad=True)
    again = pickle.loads(pickle.dumps(tree))
    assert again.digest() == tree.digest()
    assert (again.padded, again.level_names) == (tree.padded, tree.level_names)


def test_index_and_find():
    tree = Hierarchy.from_columns(["r", "01", "1"], [None, "r", "r"])
    assert tree.index(["1", "01", "1"]).tolist() == [2, 1, 2]
    assert tree.index("01").tolist() == [1]
    assert tree.index([]).tolist() == []
    assert tree.find(pa.array(["1", "x", None])).tolist() == [2, -1, -1]
    with pytest.raises(InputError, match="unknown region '001': here, entry 2"):
        tree.index(["1", "001"], source="here")
    with pytest.raises(InputError, match="empty region code: regions, entry 1"):
        tree.index([None])


def test_level_slice():
    tree = Hierarchy.from_columns(["r", "a", "b"], [None, "r", "r"])
    assert tree.level_slice(0) == slice(0, 1)
    assert tree.level_slice(1) == tree.level_slice(-1) == slice(1, 3)
    for level in (2, -3):
        with pytest.raises(InputError, match="no level"):
            tree.level_slice(level)


def test_digest_tells_trees_apart():
    trees = [
        Hierarchy.from_columns(["r", "a", "b"], [None, "r", "r"]),
        Hierarchy.from_columns(["r", "ab", "b"], [None, "r", "r"]),
        Hierarchy.from_columns(["r", "a", "bb"], [None, "r", "r"]),
        Hierarchy.from_columns(["r", "a", "b"], [None, "r", "a"]),
        Hierarchy.from_columns(["r", "b", "a"], [None, "r", "r"]),
    ]
    assert len({tree.digest() for tree in trees}) == len(trees)
    # Fixed for good: digests are kept in releases.
    assert trees[0].digest() == "627f1f499c71a460ba6b8928abb38529929793f86cbe70068a02d99feb7c51f4"


@pytest.mark.parametrize(
    ("graph", "message"),
    [
        (nx.DiGraph(), "empty tree"),
        (nx.Graph([("a", "b")]), "not a simple directed graph"),
        (nx.MultiDiGraph([("a", "b")]), "not a simple directed graph"),
        (nx.DiGraph([("a", "b"), ("c", "b")]), "region with two parents: graph, region 'b'"),
        (nx.DiGraph([("a", "b"), ("c", "d")]), "2 roots: graph, regions 'a' and 'c'"),
        (nx.DiGraph([("a", "b"), ("b", "a")]), "no root"),
        (nx.DiGraph([("a", "b"), ("c", "d"), ("d", "c")]), "cycle: graph, region '[cd]'"),
        (nx.DiGraph([("a", "a")]), "its own parent"),
        (nx.DiGraph([("a", 1), ("a", "1")]), "duplicate region: graph, region '1'"),
    ],
)
def test_graphs_that_are_no_arborescence(graph, message):
    with pytest.raises(InputError, match=message):
        Hierarchy.from_networkx(graph)


def test_levels_by_path_and_by_prefix():
    tree = Hierarchy.from_levels(
        {"origin": ["EWR", "JFK", "EWR"], "month": [1, 1, 2]}, codes="path", root_level="all"
    )
    assert tree.ids.tolist() == ["all", "EWR", "JFK", "EWR/1", "EWR/2", "JFK/1"]
    assert tree.level_names == ("all", "origin", "month")
    tree = Hierarchy.from_levels({"state": ["01", "02", "01"], "county": ["013", "021", "011"]}, root="US")
    assert edges(tree) == {
        ("US", None),
        ("01", "US"),
        ("02", "US"),
        ("013", "01"),
        ("011", "01"),
        ("021", "02"),
    }


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame, pa.table])
def test_levels_from_a_data_frame(kind):
    columns = {"state": ["01", "02", "01"], "county": ["013", "021", "011"]}
    tree = Hierarchy.from_levels(kind(columns))
    assert tree.digest() == Hierarchy.from_levels(columns).digest()
    assert tree.level_names == ("root", "state", "county")
    with pytest.raises(InputError, match="no level columns"):
        Hierarchy.from_levels(pd.DataFrame())


def test_later_changes_of_the_callers_arrays_change_nothing():
    ids = np.array(["r", "a", "b"], dtype=np.dtypes.StringDType())
    parent = np.array([-1, 0, 0])
    tree = Hierarchy(ids=ids, parent=parent)
    ids[1], parent[2] = "r", 1
    assert (tree.ids.tolist(), tree.parent.tolist()) == (["r", "a", "b"], [-1, 0, 0])
    again = Hierarchy(ids=tree.ids, parent=tree.parent)
    assert again.parent is tree.parent
    assert again.ids is tree.ids
    for array in (tree.ids, tree.parent, tree.child_start, tree.level_start):
        assert array.flags.owndata
        assert not array.flags.writeable


def test_half_a_character_is_refused():
    with pytest.raises(InputError, match=r"half a character.*: hierarchy, region codes") as caught:
        Hierarchy.from_columns(["r", "\ud800"], [None, "r"])
    assert str(caught.value).isprintable()


@pytest.mark.parametrize(
    ("levels", "codes", "message"),
    [
        (
            {"a": ["1", "2"], "b": ["x", "x"]},
            "prefix",
            "code under two parents: levels, column 'b', code 'x'",
        ),
        ({"a": ["1", "1"], "b": ["x", "x"]}, "prefix", "leaf listed twice: levels, code 'x'"),
        ({"a": ["1", "1"], "b": ["x", "x"]}, "path", "leaf listed twice: levels, code '1/x'"),
        ({"a": ["1", "2"], "b": ["1", "3"]}, "prefix", "region is its own parent|duplicate region"),
        ({"a": ["all"]}, "prefix", "duplicate region|own parent"),
        ({"a": ["1", None]}, "path", "missing code: levels, column 'a', entry 2"),
        ({"a": ["1", "2"], "b": ["1"]}, "path", "unequal length: levels, column 'b'"),
        ({"a": []}, "path", "empty tree"),
        ({}, "path", "no level columns"),
        ({"a": ["1"]}, "other", "unknown kind of codes"),
    ],
)
def test_levels_that_are_no_tree(levels, codes, message):
    with pytest.raises(InputError, match=message):
        Hierarchy.from_levels(levels, codes=codes)


def test_level_columns_name_each_parent():
    ids, parents = columns_from_levels({"a": ["1", "2"], "b": ["x", "y"]}, root="r", joined=False, source="s")
    assert dict(zip(ids.to_pylist(), parents.to_pylist(), strict=True)) == {
        "r": None, "1": "r", "2": "r", "x": "1", "y": "2",
    }  # fmt: skip
