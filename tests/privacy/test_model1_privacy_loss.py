"""The privacy loss of Model 1's measurements on tiny trees, from the exact laws of their noise."""

import itertools
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from pgsr.counts import GroupSizes
from pgsr.groupsizes.budget import LevelBudget
from pgsr.groupsizes.hierarchical import HierarchicalMechanism
from pgsr.hierarchy import Hierarchy
from pgsr.noise import SeededBits
from pgsr.privacy import Kind

TREE = Hierarchy.from_columns(["r", "a", "b"], ["", "r", "r"])
SIZES = np.array([0, 1, 2])
CHAIN = Hierarchy.from_columns(["r", "a"], ["", "r"])


def neighbour_tables(counts):
    """One unit of one leaf moved from one size to another: all that one person's record can do."""
    leaf_counts = counts.counts[counts.hierarchy.leaves]
    for leaf, s, t in itertools.product(range(len(leaf_counts)), range(len(SIZES)), range(len(SIZES))):
        if s != t and leaf_counts[leaf, s] > 0:
            moved = leaf_counts.copy()
            moved[leaf, s] -= 1
            moved[leaf, t] += 1
            yield GroupSizes.from_leaf_counts(counts.hierarchy, SIZES, moved)


def mechanism(tree, total, budget, noise="laplace"):
    return HierarchicalMechanism(
        hierarchy=tree, sizes=SIZES, total=total, budget=budget, noise=noise, z_max=2
    )


def loss(query, one, other, output):
    """log P[output | one] / P[output | other] as an exact fraction: the normalisers cancel."""
    total = Fraction(0)
    for level, law in enumerate(query.laws):
        rows = query.hierarchy.level_slice(level)
        here = np.abs(output[rows] - one.counts[rows]).sum()
        there = np.abs(output[rows] - other.counts[rows]).sum()
        total += Fraction(int(there - here)) / law.scale
    return total


def worst_loss(query, one, other, reach):
    """Largest loss over outputs in a box around both tables; cells are independent, so one at a time."""
    low = np.minimum(one.counts, other.counts) - reach
    high = np.maximum(one.counts, other.counts) + reach
    worst = Fraction(0)
    for r, s in np.ndindex(low.shape):
        level = int(query.hierarchy.level_of()[r])
        scale = query.laws[level].scale
        worst += max(
            Fraction(abs(o - int(other.counts[r, s])) - abs(o - int(one.counts[r, s]))) / scale
            for o in range(int(low[r, s]), int(high[r, s]) + 1)
        )
    return worst


@pytest.mark.parametrize("shares", [("1/2", "1/2"), ("1/7", "3/5"), ("2", "0.001")])
@pytest.mark.parametrize("units", [(1, 1), (2, 1)])
def test_the_loss_never_exceeds_epsilon_and_reaches_it(all_tables, shares, units):
    query = mechanism(TREE, sum(units), LevelBudget.explicit(shares))
    epsilon = query.event.epsilon
    assert epsilon == sum(Fraction(share) for share in shares)
    losses = [
        worst_loss(query, one, other, 2)
        for one in all_tables(TREE, SIZES, units)
        for other in neighbour_tables(one)
    ]
    assert len(losses) > 10
    assert max(losses) == epsilon


def test_every_joint_output_of_a_chain(all_tables):
    """No factoring: all 4^6 outputs in a box, joint loss, exactly."""
    query = mechanism(CHAIN, 1, LevelBudget.explicit(["1/3", "1/2"]))
    boxes = list(itertools.product(range(-1, 3), repeat=6))
    for one in all_tables(CHAIN, SIZES, (1,)):
        for other in neighbour_tables(one):
            difference = [loss(query, one, other, np.array(box).reshape(2, 3)) for box in boxes]
            assert max(difference) == query.event.epsilon == Fraction(5, 6)
            assert min(difference) == -query.event.epsilon


def test_the_law_behind_the_loss_is_the_law_of_the_noise():
    """`loss` uses |k| / scale; the laws of the package have exactly those ratios."""
    query = mechanism(TREE, 2, LevelBudget.explicit(["1/7", "3/5"]))
    for law, share in zip(query.laws, query.budget.shares, strict=True):
        assert law.scale == 2 / share
        for k in range(-6, 7):
            ratio = math.log(law.probability(0) / law.probability(k))
            assert ratio == pytest.approx(float(abs(k) / law.scale), abs=1e-12)


def test_measurements_are_the_counts_plus_one_draw_of_each_level_in_turn():
    for noise, kind in (("laplace", Kind.PURE), ("gaussian", Kind.ZCDP)):
        query = mechanism(TREE, 7, LevelBudget.explicit(["1/7", "3/5"], kind=kind), noise)
        counts = GroupSizes.from_leaf_counts(TREE, SIZES, [[1, 2, 0], [0, 1, 3]])
        noisy = query.measure(counts, SeededBits(5)).noisy
        bits = SeededBits(5)
        for level, law in enumerate(query.laws):
            rows = TREE.level_slice(level)
            drawn = law.sample(counts.counts[rows].size, bits)
            assert np.array_equal((noisy - counts.counts)[rows].ravel(), drawn)
            assert len(np.unique(drawn)) > 1


@pytest.mark.parametrize("order", [mpmath.mpf("1.5"), 2, 5])
def test_gaussian_measurements_meet_zcdp_at_every_order(all_tables, renyi, order):
    query = mechanism(TREE, 2, LevelBudget.explicit(["1/7", "3/5"], kind=Kind.ZCDP), "gaussian")
    rho = query.event.rho
    assert rho == Fraction(1, 7) + Fraction(3, 5)
    cells = {
        (level, shift): renyi(law, shift, order) for level, law in enumerate(query.laws) for shift in (-1, 1)
    }
    worst = mpmath.mpf(0)
    for one in all_tables(TREE, SIZES, (1, 1)):
        for other in neighbour_tables(one):
            difference = other.counts - one.counts
            total = mpmath.mpf(0)
            for r, s in np.argwhere(difference):
                total += cells[int(TREE.level_of()[r]), int(difference[r, s])]
            worst = max(worst, total)
    assert worst <= order * mpmath.mpf(rho.numerator) / rho.denominator * (1 + mpmath.mpf(10) ** -30)
    assert worst >= order * mpmath.mpf(rho.numerator) / rho.denominator * mpmath.mpf("0.999")
