"""The sensitivities of Model 2, by enumerating every neighbour of every tiny data set.

Three units in two leaves below one root; every unit holds up to two persons, each with z in 0..Z. Measured
are cumulative counts: of each listed size, the units of that size or smaller.
"""

import itertools
from functools import cache

import numpy as np
import pytest

import pgsr
from pgsr.groupsizes.cumulative import most_crossed

TREE = pgsr.Hierarchy.from_columns(["r", "a", "b"], ["", "r", "r"])
LEAF_OF_UNIT = (0, 0, 1)
LEVELS = (slice(0, 1), slice(1, 3))

# Z, size list, B
CASES = [
    (1, (0, 1, 2, 3, 4), 1),
    (2, (0, 1, 2, 3, 4), 2),
    (5, tuple(range(11)), 5),
    (5, (0, 1, 2), 2),
    (1, (0, 2, 5), 1),
    (2, (0, 2, 5), 1),
    (3, (0, 2, 5), 1),
    (4, (0, 2, 5), 2),
    (2, (0, 3, 4, 5), 2),
    (3, (0, 4, 5, 6, 9), 3),
    (5, (0, 4, 5, 6, 9), 3),
    (5, (0, 1, 5, 6), 2),
]


def data_sets(records, z_max):
    # The third unit is alone in its leaf: it needs the sizes from which most listed ones lie ahead.
    third = [(z,) for z in (1, 2, 3) if z <= z_max]
    first = records.unit_states(z_max)
    return itertools.product(first, first if z_max < 5 else first[::2], [(), *third])


@cache
def table(state, sizes):
    """Cumulative counts (3, N) of a data set, a tuple with the z of all persons of each unit."""
    found = np.zeros((3, len(sizes)), dtype=np.int64)
    for unit, persons in enumerate(state):
        for column in range(len(sizes)):
            # A unit counts as size sizes[column] or smaller unless it has reached the next listed size.
            if column + 1 == len(sizes) or sum(persons) < sizes[column + 1]:
                found[0, column] += 1
                found[1 + LEAF_OF_UNIT[unit], column] += 1
    return found


def pairs_of_removals(records, state):
    """Two records less, of different units."""
    for unit, once in records.removals(state):
        for other, twice in records.removals(once):
            if other > unit:
                yield twice


def distances(pairs, sizes):
    """Largest (L1, squared L2) distance on any one level over pairs of data sets."""
    worst = [0, 0]
    for one, other in pairs:
        difference = np.abs(table(one, sizes) - table(other, sizes))
        for rows in LEVELS:
            worst[0] = max(worst[0], int(difference[rows].sum()))
            worst[1] = max(worst[1], int((difference[rows] ** 2).sum()))
    return tuple(worst)


def mechanism(z_max, sizes, **changes):
    options = {"hierarchy": TREE, "sizes": sizes, "total": 3, "budget": pgsr.LevelBudget.equal(1, 2)}
    return pgsr.CumulativeMechanism(**{**options, "z_max": z_max, **changes})


@pytest.mark.parametrize(("z_max", "sizes", "crossed"), CASES)
def test_one_record_crosses_at_most_b_sizes(records, z_max, sizes, crossed):
    pairs = (
        (state, other) for state in data_sets(records, z_max) for other in records.neighbours(state, z_max)
    )
    assert mechanism(z_max, sizes).sensitivity == (crossed, crossed)
    assert distances(pairs, sizes) == (crossed, crossed)
    assert crossed <= min(z_max, len(sizes) - 1)


@pytest.mark.parametrize(("z_max", "sizes", "crossed"), CASES)
def test_a_substitution_or_move_costs_twice_epsilon_and_twice_rho(records, z_max, sizes, crossed):
    pairs = (
        (state, other) for state in data_sets(records, z_max) for other in records.substitutions(state, z_max)
    )
    assert distances(pairs, sizes) == (2 * crossed, 2 * crossed)


@pytest.mark.parametrize(("z_max", "sizes", "crossed"), CASES)
def test_two_records_cost_twice_epsilon_and_four_times_rho(records, z_max, sizes, crossed):
    pairs = (
        (state, other) for state in data_sets(records, z_max) for other in pairs_of_removals(records, state)
    )
    assert distances(pairs, sizes) == (2 * crossed, 4 * crossed)


def test_the_number_of_units_of_a_region_does_not_move(records):
    for z_max, sizes, _ in CASES[:4]:
        for state in data_sets(records, z_max):
            assert table(state, sizes)[:, -1].tolist() == [3, 2, 1]


def test_a_whole_unit_is_not_covered_by_the_cost_of_one_person(records):
    """Unlike Model 1, so the guarantee does not say it."""
    sizes = (0, 1, 2, 3, 4)
    units = records.unit_states(2)
    pairs = ((state, records.with_unit(state, 0, unit)) for state in data_sets(records, 2) for unit in units)
    assert distances(pairs, sizes) == (4, 4)
    assert mechanism(2, sizes).sensitivity == (2, 2)
    assert "Any change inside one unit" not in mechanism(2, sizes).guarantee(pgsr.SystemBits()).text


@pytest.mark.parametrize("gaps", list(itertools.product((1, 2, 4), repeat=3)))
def test_b_by_its_definition(gaps):
    """Without and with size 0: the most listed sizes after the first in any range of z_max sizes."""
    for first, z_max in itertools.product((0, 2), range(1, 16)):
        sizes = np.cumsum([first, *gaps])
        crossed = max(
            sum(size < listed <= size + z_max for listed in sizes[1:])
            for size in range(first, int(sizes[-1]) + 1)
        )
        assert most_crossed(sizes, z_max) == crossed


def test_b_of_extreme_lists():
    assert most_crossed(np.array([0]), 5) == 1  # nothing is crossed, but noise needs a scale
    assert most_crossed(np.arange(5000), 1) == 1
    assert most_crossed(np.arange(5000), 2**53) == 4999
    assert most_crossed(np.array([0, 2**53 - 1, 2**53]), 2**53) == 2


@pytest.mark.parametrize("sizes", [(0, 1, 2, 3, 4), (0, 2, 5), (0,)])
def test_the_query_counted_here_is_the_query_of_the_package(records, sizes):
    """The measurements minus the noise, drawn again from the same bits, level by level."""
    import pyarrow as pa

    query = mechanism(2, sizes)
    frame = pa.table({"unit": ["u0", "u1", "u2"], "region": ["a", "a", "b"]})
    for state in itertools.islice(data_sets(records, 2), 0, None, 7):
        rows = [(f"u{unit}", z) for unit, persons in enumerate(state) for z in persons]
        persons = pa.table(
            {
                "unit": pa.array([unit for unit, _ in rows], pa.string()),
                "z": pa.array([z for _, z in rows], pa.int64()),
            }
        )
        data = pgsr.GroupSizes.from_persons(persons, TREE, sizes, z="z", z_max=2, frame=frame, total=3)
        noisy = query.measure(data, pgsr.SeededBits(4)).noisy
        bits = pgsr.SeededBits(4)
        for law, rows in zip(query.laws, LEVELS, strict=True):
            noisy[rows] -= law.sample(noisy[rows].size, bits).reshape(noisy[rows].shape)
        assert np.array_equal(noisy, table(state, sizes))
