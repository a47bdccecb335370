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
