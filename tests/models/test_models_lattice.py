"""Possible objectives: every feasible whole table of small problems has one of the numbers, and not fewer."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest

from pgsr.models.lattice import Lattice, objective_lattice
from pgsr.models.problem import Problem

CHAIN, PAIR, THREE = [-1, 0], [-1, 0, 0], [-1, 0, 0, 1, 1, 2]


def tables(problem):
    """All feasible whole tables of a small problem."""
    leaves = np.flatnonzero(~problem.inner())
    cells = itertools.product(range(problem.total + 1), repeat=leaves.size * problem.width)
    for values in cells:
        x = np.zeros(problem.target.shape, dtype=np.int64)
        x[leaves] = np.reshape(values, (leaves.size, problem.width))
        for region in range(problem.regions - 1, 0, -1):
            x[problem.parent[region]] += x[region]
        if max(problem.violations(x).values()) == 0:
            yield x


@pytest.mark.parametrize("loss", ["l2", "l1"])
@pytest.mark.parametrize("cumulative", [True, False])
@pytest.mark.parametrize("parent", [[-1], CHAIN, PAIR, THREE, [-1, 0, 0, 1]])
def test_every_table_has_one_of_the_numbers(parent, cumulative, loss):
    rng = np.random.default_rng([len(parent), cumulative])
    doubled = 0
    for trial in range(12):
        shape = (len(parent), 2)
        weights = [None, np.ones(len(parent)) * 0.1, rng.integers(0, 4, len(parent)) / 2 + 0.5][trial % 3]
        problem = Problem(
            parent=parent,
            target=rng.integers(-3, 6, shape),
            total=3,
            weights=weights,
            cumulative=cumulative,
            loss=loss,
        )
        lattice = objective_lattice(problem)
        assert 0 <= lattice.offset < lattice.step
        found = {problem.exact_objective(x) for x in tables(problem)}
        assert found
        assert all(lattice.up(value) == value for value in found)
        doubled += lattice.step == 2 * np.gcd.reduce((problem.region_weights * 20).astype(int)) / 20
    if parent in (CHAIN, PAIR):  # two levels, equal weights
        assert doubled >= 8
        differences = np.diff(sorted(found))
        assert differences.size == 0 or min(differences) >= lattice.step


def test_an_odd_number_of_levels_leaves_all_multiples():
    problem = Problem(parent=THREE[:5], target=np.zeros((5, 2), dtype=int), total=2, cumulative=True)
    assert objective_lattice(problem).step == 1  # a leaf on the second level, two on the third


def test_other_weights_have_no_lattice():
    problem = Problem(parent=PAIR, target=[[1], [1], [0]], total=1, weights=[0.1, 0.3, 0.2])
    assert objective_lattice(problem) is None


def test_rounding_up():
    even = Lattice(step=Fraction(2), offset=Fraction(1))
    assert [even.up(value) for value in (-1, -0.5, 1, 1.0001, Fraction(5, 2), 3)] == [-1, 1, 1, 3, 3, 3]
    assert even.up_roughly(1.0000000001) == 1.0
    assert even.up_roughly(1.01) == 3.0
    assert even.up_roughly(2**40 + 1 + 1e-4) == 2**40 + 1
