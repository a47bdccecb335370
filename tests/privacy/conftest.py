"""What the privacy tests of both models share: tiny data sets, their neighbours, and Renyi divergences."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import mpmath
import pytest

from pgsr.counts import GroupSizes


class Records:
    """Neighbours of a data set: a tuple with the z of all persons of each unit, at most two of them."""

    @staticmethod
    def unit_states(z_max):
        """All multisets of at most two persons' z."""
        return [
            tuple(state)
            for persons in range(3)
            for state in itertools.combinations_with_replacement(range(z_max + 1), persons)
        ]

    @staticmethod
    def with_unit(state, unit, persons):
        return (*state[:unit], tuple(sorted(persons)), *state[unit + 1 :])

    def removals(self, state):
        """(unit, state) after the removal of any one person."""
        for unit, persons in enumerate(state):
            for i in range(len(persons)):
                yield unit, self.with_unit(state, unit, persons[:i] + persons[i + 1 :])

    def neighbours(self, state, z_max):
        """One record less, or one z changed; additions are removals seen from there."""
        for _, other in self.removals(state):
            yield other
        for unit, persons in enumerate(state):
            for i, z in itertools.product(range(len(persons)), range(z_max + 1)):
                yield self.with_unit(state, unit, (*persons[:i], z, *persons[i + 1 :]))

    def substitutions(self, state, z_max):
        """A record replaced by one with any z in any unit; this covers moving a person to another unit."""
        for _, without in self.removals(state):
            for unit, z in itertools.product(range(len(state)), range(z_max + 1)):
                yield self.with_unit(without, unit, (*without[unit], z))


@pytest.fixture
def records() -> Records:
    return Records()


def every_table(tree, sizes, units):
    """Every table of `units[i]` units in leaf i."""
    leaves = [
        [row for row in itertools.product(range(n + 1), repeat=len(sizes)) if sum(row) == n] for n in units
    ]
    for rows in itertools.product(*leaves):
        yield GroupSizes.from_leaf_counts(tree, sizes, rows)


@pytest.fixture
def all_tables() -> Callable:
    return every_table


def divergence(law, shift, order):
    """Renyi divergence of that order between the law and the law moved by `shift`, to 40 digits."""
    with mpmath.workdps(40):
        s2 = mpmath.mpf(law.sigma2.numerator) / law.sigma2.denominator
        reach = int(40 * math.sqrt(law.sigma2) * order) + 40
        support = range(-reach, reach + 1)
        norm = mpmath.fsum(mpmath.exp(-(k**2) / (2 * s2)) for k in support)
        moment = mpmath.fsum(
            mpmath.exp(-(order * k**2 + (1 - order) * (k - shift) ** 2) / (2 * s2)) / norm for k in support
        )
        return mpmath.log(moment) / (order - 1)


@pytest.fixture
def renyi() -> Callable:
    return divergence
