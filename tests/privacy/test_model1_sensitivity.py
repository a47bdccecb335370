"""The sensitivities of Model 1, by enumerating every neighbour of every tiny data set.

Three units in two leaves below one root; every unit holds up to two persons, each with z in 0..Z.
"""

import itertools
import random
from functools import cache

import numpy as np
import pytest

from pgsr.counts import GroupSizes
from pgsr.errors import InputError
from pgsr.groupsizes.hierarchical import L1_SENSITIVITY, SQUARED_L2_SENSITIVITY
from pgsr.hierarchy import Hierarchy

TREE = Hierarchy.from_columns(["r", "a", "b"], ["", "r", "r"])
LEAF_OF_UNIT = (0, 0, 1)
LEVELS = (slice(0, 1), slice(1, 3))

CASES = [
    pytest.param(z_max, sizes, id=f"Z={z_max} sizes={sizes}")
    for z_max in (1, 2, 3)
    for sizes in ((0, 1, 2, 3, 4, 5, 6), (0, 1, 2), (0, 2, 5), (0,))
]


@cache
def cell(size, sizes):
    """Column of a unit: the last listed size that is not above its own; None below the first."""
    below = [column for column, edge in enumerate(sizes) if edge <= size]
    return below[-1] if below else None


def table(state, sizes):
    """Counts (3, N) of a data set, a tuple with the z of all persons of each unit."""
    counts = np.zeros((3, len(sizes)), dtype=np.int64)
    for unit, persons in enumerate(state):
        column = cell(sum(persons), sizes)
        if column is not None:
            counts[0, column] += 1
            counts[1 + LEAF_OF_UNIT[unit], column] += 1
    return counts


def distances(pairs, sizes):
    """Largest (L1, squared L2) distance on any one level over pairs of data sets."""
    tables = {}
    worst = [0, 0]
    for one, other in pairs:
        for state in (one, other):
            if state not in tables:
                tables[state] = table(state, sizes)
        difference = np.abs(tables[one] - tables[other])
        for rows in LEVELS:
            worst[0] = max(worst[0], int(difference[rows].sum()))
            worst[1] = max(worst[1], int((difference[rows] ** 2).sum()))
    return tuple(worst)


def states(records, z_max):
    # Z = 3 would give 3,375 data sets; the third unit's other states change nothing that units 1, 2 do not.
    units = records.unit_states(z_max)
    third = units if z_max < 3 else [(), (3,), (1, 3)]
    return itertools.product(units, units, third)


@pytest.mark.parametrize(("z_max", "sizes"), CASES)
def test_one_record_moves_one_unit(records, z_max, sizes):
    pairs = ((state, other) for state in states(records, z_max) for other in records.neighbours(state, z_max))
    assert (L1_SENSITIVITY, SQUARED_L2_SENSITIVITY) == (2, 2)
    assert distances(pairs, sizes) == ((0, 0) if len(sizes) == 1 else (2, 2))


@pytest.mark.parametrize(("z_max", "sizes"), CASES)
def test_a_substitution_or_move_costs_twice_epsilon_and_three_times_rho(records, z_max, sizes):
    pairs = (
        (state, other) for state in states(records, z_max) for other in records.substitutions(state, z_max)
    )
    reached = (4, 6)
    if len(sizes) == 1:
        reached = (0, 0)
    elif z_max == 1 and sizes == (0, 2, 5):  # two persons of z = 1 fill two bins only; 6 takes three
        reached = (4, 4)
    assert distances(pairs, sizes) == reached


@pytest.mark.parametrize("sizes", [(0, 1, 2, 3, 4), (0, 2)])
def test_any_change_inside_one_unit_moves_it_once(records, sizes):
    pairs = (
        (state, records.with_unit(state, unit, persons))
        for state in states(records, 2)
        for unit in range(3)
        for persons in records.unit_states(2)
    )
    assert distances(pairs, sizes) == (2, 2)


def persons_table(state):
    rows = [(f"u{unit}", z) for unit, persons in enumerate(state) for z in persons]
    return {
        "unit": [unit for unit, _ in rows],
        "region": ["ab"[LEAF_OF_UNIT[int(unit[1])]] for unit, _ in rows],
        "z": [z for _, z in rows],
    }


FRAME = {"unit": ["u0", "u1", "u2"], "region": ["a", "a", "b"]}


@pytest.mark.parametrize("sizes", [(0, 1, 2, 3, 4), (0, 1, 2), (0, 2)])
def test_the_query_counted_here_is_the_query_of_the_package(records, sizes):
    chosen = random.Random(1).sample(list(states(records, 2)), 12)
    for state in [*chosen, ((), (), ())]:
        counted = GroupSizes.from_persons(
            as_arrow(persons_table(state)), TREE, sizes, z="z", z_max=2, frame=as_arrow(FRAME), total=3
        )
        assert np.array_equal(counted.counts, table(state, sizes))


def as_arrow(columns):
    import pyarrow as pa

    kinds = {"unit": pa.string(), "region": pa.string(), "z": pa.int64()}
    return pa.table({name: pa.array(values, kinds[name]) for name, values in columns.items()})


def test_without_size_0_the_only_member_of_a_unit_is_not_protected(records):
    sizes = (1, 2, 3, 4)
    present = [state for state in states(records, 2) if all(sum(persons) > 0 for persons in state)]
    protected, exposed = [], []
    for state in present:
        for other in records.neighbours(state, 2):
            stays = all(sum(persons) > 0 for persons in other)
            (protected if stays else exposed).append((state, other))
    assert distances(protected, sizes) == (2, 2)
    # The number of units, which the release states as public and exact, gives the sole member away.
    assert exposed
    for state, other in exposed:
        assert table(other, sizes)[0].sum() == 2
        (unit,) = (u for u in range(3) if sum(other[u]) == 0)
        changed = [z for z in state[unit] if z > 0]
        assert len(changed) == 1
    state, other = exposed[0]
    with pytest.raises(InputError):
        GroupSizes.from_persons(
            as_arrow(persons_table(other)), TREE, sizes, z="z", z_max=2, frame=as_arrow(FRAME), total=3
        )
