"""What a table is worth: counted by hand, and the same for every method."""

from __future__ import annotations

import numpy as np
import pytest

from pgsr.bench.judged import about, conditions, judged, stated_bound
from pgsr.counts import GroupSizes
from pgsr.hierarchy import Hierarchy
from pgsr.models.problem import Problem

TREE = Hierarchy.from_columns(["all", "a", "b", "a1", "a2", "b1"], ["", "all", "all", "a", "a", "b"])
TRUTH = GroupSizes.from_leaf_counts(TREE, [1, 2], np.array([[3, 0], [1, 2], [0, 4]]))
TARGET = np.array([[5, 5], [5, 1], [0, 5], [2, 0], [2, 2], [-1, 4]])


def problem(*, cumulative: bool = False) -> Problem:
    target = np.cumsum(TARGET, axis=1) if cumulative else TARGET
    return Problem(parent=TREE.parent, target=target, total=10, cumulative=cumulative)


def test_sums_negatives_and_totals_are_counted_by_hand() -> None:
    found = conditions(problem(), TARGET)
    # all: 5 = 5 + 0, 5 against 1 + 5; a: 5 against 2 + 2, 1 against 0 + 2; b: 0 against -1, 5 against 4.
    assert (found["broken_sums"], found["sums"], found["worst_sum"]) == (5, 6, 1.0)
    assert (found["negative"], found["fractional"]) == (1, 0)
    assert found["total_off"] == 1.0  # the middle level has 11 of 10 units, the last one 9
    assert about(problem()) == {
        "model": "hierarchical",
        "levels": 3,
        "regions": 6,
        "sizes": 2,
        "entries": 12,
    }


def test_cumulative_tables_are_judged_by_their_own_cells_and_their_counts() -> None:
    found = conditions(problem(cumulative=True), np.cumsum(TARGET, axis=1))
    # Second column, units up to size 2: all 10 against 6 + 5, a 6 against 2 + 4, b 5 against 3.
    assert (found["broken_sums"], found["sums"], found["worst_sum"]) == (4, 6, 2.0)
    assert found["negative"] == 1


def test_real_numbers_are_broken_beyond_the_tolerance_only() -> None:
    x = TRUTH.counts.astype(np.float64)
    x[0, 0] += 1e-9
    assert conditions(problem(), x)["broken_sums"] == 0
    assert conditions(problem(), x)["fractional"] == 0
    x[3, 0] += 0.25
    found = conditions(problem(), x)
    assert (found["broken_sums"], found["fractional"]) == (1, 1)
    assert found["worst_sum"] == pytest.approx(0.25)


def test_distances_and_bias_by_level() -> None:
    found = judged(problem(), TARGET, TRUTH)
    # Truth: all (4, 6); a (4, 2), b (0, 4); a1 (3, 0), a2 (1, 2), b1 (0, 4).
    assert found["l1"] == [2, 3, 3] == found["l1_noisy"]
    assert found["emd"] == [1, 1 + 0 + 0 + 1, 1 + 1 + 1 + 1 + 1 + 1]
    assert found["bias_zero"] == [None, 0.0, (0 - 1) / 2]
    assert found["bias_positive"] == [0.0, (1 - 1 + 1) / 3, (-1 + 1 + 0 + 0) / 4]
    assert (found["objective"], found["objective_exact"]) == (0.0, "0")


def test_huge_objectives_keep_their_digits() -> None:
    big = Problem(parent=TREE.parent, target=np.full((6, 2), 2**40), total=10)
    found = judged(big, np.zeros((6, 2), dtype=np.int64), None)
    assert found["objective_exact"] == str(12 * 2**80)
    assert "l1" not in found


def test_a_bound_is_stated_if_it_says_more_than_that_no_loss_is_below_zero() -> None:
    assert stated_bound(7, 9) == 7.0
    for bound in (None, 0, 0.0, -3.5):
        assert stated_bound(bound, 9) is None
        assert stated_bound(bound, None) is None
    assert (stated_bound(0, 0), stated_bound(-2, 0.0), stated_bound(None, 0)) == (0.0, 0.0, None)
