"""The exact loss of whole releases with the real indices: all data sets of a tiny domain, all neighbours."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from pgsr.inequality.domain import Domain
from pgsr.inequality.incomes import Incomes
from pgsr.inequality.index import INDICES
from pgsr.inequality.ladder import ConfidentialLadder
from pgsr.inequality.loss import pair_loss
from pgsr.inequality.mechanism import InequalityMechanism
from pgsr.inequality.plan import confidential_law, make_plan
from pgsr.inequality.query import IndexQuery
from pgsr.inequality.upper import PrivateUpper, UpperGrid
from pgsr.noise import SeededBits

VALUES = (1.0, 1.3, 4.0, 30.0)
SIZES = (2, 3, 4)


def data_sets(n, values=VALUES):
    return list(itertools.combinations_with_replacement(values, n))


def neighbours(x, values=VALUES):
    for i, value in itertools.product(range(len(x)), values):
        if value != x[i]:
            yield tuple(sorted((*x[:i], value, *x[i + 1 :])))


def laws(query, n, lower=VALUES[0], upper=VALUES[-1], values=VALUES):
    domain = Domain(n=n, lower=lower, upper=upper)
    clipped = {x: np.clip(np.array(x), lower, upper) for x in data_sets(n, values)}
    return {x: confidential_law(query, domain, incomes) for x, incomes in clipped.items()}


def ladder_law(law: ConfidentialLadder):
    """P[o] of all grid points as fractions, from the positions that each owns."""
    weights = [0] * (law.plan.grid.last + 1)
    seen = 0
    for _ in weights:
        o = law.at(seen)
        score = next(j for j, r in enumerate(law._radii) if abs(o - law.centre) <= r)
        weights[o] = law.plan.weights[min(score, len(law.plan.weights) - 1)]
        seen += weights[o]
    assert seen == law.total
    return [Fraction(weight, seen) for weight in weights]


def log_ratio(one, other):
    worst = max(max(a / b, b / a) for a, b in zip(one, other, strict=True))
    return float(mpmath.log(mpmath.mpf(worst.numerator) / worst.denominator))


@pytest.mark.parametrize("index", sorted(INDICES))
@pytest.mark.parametrize("epsilon", ["1/2", "2"])
def test_ladder_releases(index, epsilon):
    query = IndexQuery(index=index, epsilon=epsilon, step="1/8")
    worst = 0.0
    for n in SIZES:
        exact = {x: ladder_law(law) for x, law in laws(query, n).items()}
        worst = max(worst, *(log_ratio(exact[x], exact[y]) for x in exact for y in neighbours(x)))
    assert worst <= float(query.epsilon) * (1 + 1e-12)
    assert worst > 0.4 * float(query.epsilon)


@pytest.mark.parametrize("index", sorted(INDICES))
@pytest.mark.parametrize("noise", ["cauchy", "paper"])
@pytest.mark.parametrize("epsilon", ["1/2", "1", "2"])
def test_cauchy_releases(index, noise, epsilon):
    """The exact loss of the values and scales in use; the paper's constants use about half of epsilon."""
    query = IndexQuery(index=index, epsilon=epsilon, noise=noise)
    worst = 0.0
    for n in SIZES:
        found = laws(query, n)
        for x, law in found.items():
            for y in neighbours(x):
                other = found[y]
                distance = abs(float(law.value - other.value))
                # pair_loss takes S and S'; the law holds S/alpha.
                worst = max(worst, pair_loss(distance, float(law.scale), float(other.scale), 1.0))
    assert worst <= float(query.epsilon) * (1 + 1e-9)
    if noise == "paper":
        assert worst < 0.52 * float(query.epsilon)


@pytest.mark.parametrize("index", sorted(INDICES))
def test_laplace_releases(index):
    query = IndexQuery(index=index, epsilon=1, noise="laplace")
    for n in SIZES:
        plan = make_plan(query, Domain(n=n, lower=VALUES[0], upper=VALUES[-1]))
        assert plan.law.scale == Fraction(plan.sensitivity)
        found = laws(query, n)
        moves = [abs(found[x].centre - found[y].centre) for x in found for y in neighbours(x)]
        assert max(moves) <= plan.sensitivity  # the loss is moves / scale


def test_a_private_bound_and_an_index_of_two_groups():
    """The joint law of the bound and both groups' releases, each clipped to the bound that was drawn.

    Both groups together have 4 records; a neighbour replaces one income in one group.
    """
    values = (1.0, 3.0, 9.0)
    grid = UpperGrid(first=Fraction(2), ratio=Fraction(3), count=2)  # 2, 6
    private = PrivateUpper(grid=grid, epsilon=Fraction(3, 2))
    query = IndexQuery(index="mld", epsilon=1, step="1/8")
    by_bound = [laws(query, 2, upper=float(upper), values=values) for upper in grid.values]
    exact = [{x: ladder_law(law) for x, law in found.items()} for found in by_bound]

    def bound_law(x):
        """P[bound = 2], P[bound = 6]: one comparison, at the first point."""
        r, q = Fraction(private.threshold_ratio, 2**64), Fraction(private.query_ratio, 2**64)
        a = q ** (private.threshold(4) - int(private.confidential_counts(np.array(x))[0]))
        first = a * (1 - r) / (1 - r * q)
        return [first, 1 - first]

    sets = data_sets(2, values)
    worst = worst_index = 0.0
    for x, fixed in itertools.product(sets, sets):
        for y in neighbours(x, values):
            here, there = bound_law((*x, *fixed)), bound_law((*y, *fixed))
            # The fixed group's law is the same on both sides for each bound, so it cancels.
            joint = [
                ([here[j] * p for p in exact[j][x]], [there[j] * p for p in exact[j][y]]) for j in range(2)
            ]
            worst = max(worst, *(log_ratio(*pair) for pair in joint))
            worst_index = max(worst_index, *(log_ratio(exact[j][x], exact[j][y]) for j in range(2)))
    mechanism = InequalityMechanism(
        sizes={"a": 2, "b": 2}, lower=1, upper=private, queries=(query,), clip=True
    )
    assert mechanism.event.epsilon == Fraction(5, 2)
    assert worst_index <= 1
    assert worst_index < worst <= 2.5


def test_the_mechanism_draws_from_the_enumerated_laws():
    """Frequencies of whole releases against the product of the exact laws."""
    mechanism = InequalityMechanism(
        sizes={"a": 2, "b": 3},
        lower=1,
        upper=30,
        queries=(IndexQuery(index="mld", epsilon=2, step="1/2"),),
    )
    data = Incomes(values=[1.0, 30.0, 4.0, 4.0, 30.0], groups=["a", "b", "a", "b", "b"])
    expected = []
    for n, part in ((2, [1.0, 4.0]), (3, [30.0, 4.0, 30.0])):
        law = confidential_law(mechanism.queries[0], Domain(n=n, lower=1, upper=30), np.array(part))
        expected.append(np.array([float(p) for p in ladder_law(law)]))
    joint = np.outer(*expected)
    rng = SeededBits(1)
    draws = 1500
    counts = np.zeros(joint.shape)
    for _ in range(draws):
        counts[mechanism.measure(data, rng).points] += 1
    cells = joint.size - 1
    statistic = ((counts - draws * joint) ** 2 / (draws * joint)).sum()
    assert statistic < cells + 4 * math.sqrt(2 * cells) + 8
