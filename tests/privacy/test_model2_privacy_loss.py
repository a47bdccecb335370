"""The privacy loss of Model 2's measurements on tiny trees, from the exact laws of their noise."""

import itertools
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from pgsr.counts import GroupSizes
from pgsr.groupsizes.budget import LevelBudget
from pgsr.groupsizes.cumulative import CumulativeMechanism
from pgsr.hierarchy import Hierarchy
from pgsr.noise import DiscreteGaussian, DiscreteLaplace
from pgsr.privacy import Kind

TREE = Hierarchy.from_columns(["r", "a", "b"], ["", "r", "r"])
CHAIN = Hierarchy.from_columns(["r", "a"], ["", "r"])

# Z, size list, B
CASES = [(1, (0, 1, 2), 1), (2, (0, 1, 2), 2), (5, (0, 1, 2), 2), (2, (0, 2, 5), 1), (4, (0, 2, 5), 2)]


def neighbour_tables(data, z_max):
    """One unit of one leaf moved to another listed size, as one person with z up to Z can do."""
    leaf_counts = data.counts[data.hierarchy.leaves]
    moves = set()
    for size in range(int(data.sizes[-1]) + 1):
        for z in range(1, z_max + 1):
            moves.add(tuple(int((data.sizes <= value).sum()) - 1 for value in (size, size + z)))
    for leaf, (low, high) in itertools.product(range(len(leaf_counts)), moves):
        for s, t in ((low, high), (high, low)):
            if s != t and leaf_counts[leaf, s] > 0:
                moved = leaf_counts.copy()
                moved[leaf, s] -= 1
                moved[leaf, t] += 1
                yield GroupSizes.from_leaf_counts(data.hierarchy, data.sizes, moved)


def mechanism(tree, sizes, total, z_max, budget, noise="laplace"):
    return CumulativeMechanism(
        hierarchy=tree, sizes=sizes, total=total, budget=budget, noise=noise, z_max=z_max
    )


def loss(query, one, other, output):
    """log P[output | one] / P[output | other] as an exact fraction: the normalisers cancel."""
    total = Fraction(0)
    for level, law in enumerate(query.laws):
        rows = query.hierarchy.level_slice(level)
        here = np.abs(output[rows] - one.cumulative()[rows]).sum()
        there = np.abs(output[rows] - other.cumulative()[rows]).sum()
        total += Fraction(int(there - here)) / law.scale
    return total


def worst_loss(query, one, other):
    """Largest loss over outputs in a box around both tables; cells are independent, so one at a time."""
    here, there = one.cumulative(), other.cumulative()
    worst = Fraction(0)
    for r, s in np.ndindex(here.shape):
        scale = query.laws[int(query.hierarchy.level_of()[r])].scale
        low, high = sorted((int(here[r, s]), int(there[r, s])))
        worst += max(
            Fraction(abs(o - int(there[r, s])) - abs(o - int(here[r, s]))) / scale
            for o in range(low - 2, high + 3)
        )
    return worst


@pytest.mark.parametrize(("z_max", "sizes", "crossed"), CASES)
@pytest.mark.parametrize("shares", [("1/2", "1/2"), ("1/7", "3/5"), ("2", "0.001")])
def test_the_loss_never_exceeds_epsilon_and_reaches_it(all_tables, z_max, sizes, crossed, shares):
    query = mechanism(TREE, sizes, 3, z_max, LevelBudget.explicit(shares))
    assert [law.scale for law in query.laws] == [crossed / Fraction(share) for share in shares]
    epsilon = query.event.epsilon
    assert epsilon == sum(Fraction(share) for share in shares)
    losses = [
        worst_loss(query, one, other)
        for one in all_tables(TREE, sizes, (2, 1))
        for other in neighbour_tables(one, z_max)
    ]
    assert len(losses) > 10
    assert max(losses) == epsilon


@pytest.mark.parametrize(("z_max", "sizes"), [(1, (0, 1, 2)), (2, (0, 1, 2)), (3, (0, 2, 5))])
def test_every_joint_output_of_a_chain(all_tables, z_max, sizes):
    """No factoring: all 4^6 outputs in a box, joint loss, exactly."""
    query = mechanism(CHAIN, sizes, 1, z_max, LevelBudget.explicit(["1/3", "1/2"]))
    boxes = list(itertools.product(range(-1, 3), repeat=6))
    for one in all_tables(CHAIN, sizes, (1,)):
        for other in neighbour_tables(one, z_max):
            found = [loss(query, one, other, np.array(box).reshape(2, 3)) for box in boxes]
            crossed = np.abs(one.cumulative() - other.cumulative())[0].sum()
            assert max(found) == -min(found) == Fraction(5, 6) * int(crossed) / query.sensitivity[0]
            assert max(found) <= query.event.epsilon == Fraction(5, 6)


def test_the_law_behind_the_loss_is_the_law_of_the_noise():
    """`loss` uses |k| / scale; the laws of the package have exactly those ratios."""
    query = mechanism(TREE, (0, 1, 2), 2, 2, LevelBudget.explicit(["1/7", "3/5"]))
    for law, share in zip(query.laws, query.budget.shares, strict=True):
        assert law == DiscreteLaplace(scale=2 / share)
        for k in range(-6, 7):
            ratio = math.log(law.probability(0) / law.probability(k))
            assert ratio == pytest.approx(float(abs(k) / law.scale), abs=1e-12)


@pytest.mark.parametrize(("z_max", "sizes", "crossed"), CASES)
@pytest.mark.parametrize("order", [mpmath.mpf("1.5"), 5])
def test_gaussian_measurements_meet_zcdp_at_every_order(all_tables, renyi, z_max, sizes, crossed, order):
    budget = LevelBudget.explicit(["1/7", "3/5"], kind=Kind.ZCDP)
    query = mechanism(TREE, sizes, 2, z_max, budget, "gaussian")
    rho = query.event.rho
    assert rho == Fraction(1, 7) + Fraction(3, 5)
    assert list(query.laws) == [DiscreteGaussian(sigma2=crossed / (2 * share)) for share in budget.shares]
    cells = [renyi(law, 1, order) for law in query.laws]
    worst = mpmath.mpf(0)
    for one in all_tables(TREE, sizes, (1, 1)):
        for other in neighbour_tables(one, z_max):
            moved = np.abs(other.cumulative() - one.cumulative())
            assert moved.max() <= 1
            worst = max(worst, sum(cells[int(TREE.level_of()[r])] for r, _ in np.argwhere(moved)))
    limit = order * mpmath.mpf(rho.numerator) / rho.denominator
    assert worst <= limit * (1 + mpmath.mpf(10) ** -30)
    assert worst >= limit * mpmath.mpf("0.999")
