import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgsr.errors import InputError
from pgsr.hierarchy import Hierarchy
from pgsr.metrics import emd_by_level, l1_by_level, max_abs_by_level

TREE = Hierarchy.from_columns(list("rabcd"), [None, "r", "r", "a", "b"])
TABLES = st.lists(st.lists(st.integers(-(2**53), 2**53), min_size=3, max_size=3), min_size=5, max_size=5)


@given(TABLES, TABLES)
def test_distances_by_hand(a, b):
    l1, emd, largest = [0] * 3, [0] * 3, [0] * 3
    for region, level in enumerate([0, 1, 1, 2, 2]):
        for s in range(3):
            gap = a[region][s] - b[region][s]
            l1[level] += abs(gap)
            largest[level] = max(largest[level], abs(gap))
            emd[level] += abs(sum(a[region][: s + 1]) - sum(b[region][: s + 1]))
    assert l1_by_level(TREE, a, b).tolist() == l1
    assert emd_by_level(TREE, a, b).tolist() == emd
    assert max_abs_by_level(TREE, a, b).tolist() == largest
    assert l1_by_level(TREE, a, b).dtype == np.int64


@pytest.mark.parametrize(
    ("a", "b", "message"),
    [
        (np.zeros((5, 2), dtype=int), np.zeros((5, 3), dtype=int), "unequal shape"),
        (np.zeros((4, 2), dtype=int), np.zeros((4, 2), dtype=int), "table of shape"),
        (np.zeros((5, 0), dtype=int), np.zeros((5, 0), dtype=int), "table of shape"),
        (np.zeros(5, dtype=int), np.zeros(5, dtype=int), "table of shape"),
        (np.zeros((5, 2), dtype=int), np.zeros((5, 2)), "table of type float64"),
    ],
)
def test_bad_tables(a, b, message):
    for distance in (l1_by_level, emd_by_level, max_abs_by_level):
        with pytest.raises(InputError, match=message):
            distance(TREE, a, b)


def test_distances_beyond_64_bits_are_exact_or_refused():
    """4,001 regions of 2^53 units: sums of differences reach 2^66."""
    tree = Hierarchy.from_columns(["r", *map(str, range(4000))], [None, *["r"] * 4000])
    large, zero = np.zeros((4001, 4), dtype=np.int64), np.zeros((4001, 4), dtype=np.int64)
    large[1:20] = 2**53
    assert l1_by_level(tree, large, -large).tolist() == [0, 19 * 4 * 2**54]
    assert emd_by_level(tree, large, zero).tolist() == [0, 19 * (1 + 2 + 3 + 4) * 2**53]
    assert max_abs_by_level(tree, large, -large).tolist() == [0, 2**54]
    assert emd_by_level(tree, large, zero).dtype == np.int64
    large[:] = 2**53
    for distance in (l1_by_level, emd_by_level):
        with pytest.raises(InputError, match="2\\^63"):
            distance(tree, large, -large)


def test_emd_is_the_cost_of_moving_units():
    """Two units moved by one listed size and one by two; and it is the L1 of the cumulative counts."""
    a = np.array([[3, 2, 1, 0]])
    b = np.array([[1, 3, 1, 1]])
    tree = Hierarchy.from_columns(["r"], [None])
    assert emd_by_level(tree, a, b).tolist() == [2 + 1 + 1]
    assert l1_by_level(tree, np.cumsum(a, axis=1), np.cumsum(b, axis=1)).tolist() == [4]
    assert l1_by_level(tree, a, b).tolist() == [4]


@given(st.permutations(range(4)), st.lists(st.integers(0, 3), min_size=1, max_size=6))
def test_emd_against_the_best_matching(order, units):
    """With equal numbers of units the best matching pairs them in order of size."""
    others = [order[size] for size in units]
    tree = Hierarchy.from_columns(["r"], [None])
    a, b = (np.bincount(sizes, minlength=4)[None] for sizes in (units, others))
    cost = sum(abs(x - y) for x, y in zip(sorted(units), sorted(others), strict=True))
    assert emd_by_level(tree, a, b).tolist() == [cost]
