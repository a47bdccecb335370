"""Sensitivities against brute force: never exceeded, and attained."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pgsr.errors import InputError
from pgsr.sae.sensitivity import (
    clipped_square_sensitivity,
    free_weight_sensitivity,
    mean_sensitivity,
    national_sensitivity,
)

W = np.array([1.0, 2.5, 4.0, 3.0, 1.5, 2.0, 5.0])
AREA = np.array(["b", "a", "a", "b", "a", "b", "b"])
HOME = np.array([1, 2, 2, 3, 4, 1, 5])


def estimate(values, rows, estimator, population):
    w, y = W[rows], values[rows]
    if estimator == "hajek":
        return (w * y).sum() / w.sum()
    total = (w * y).sum()
    return total / population if estimator == "ht_mean" else total


@pytest.mark.parametrize("estimator", ["hajek", "ht_mean", "ht_total"])
@pytest.mark.parametrize("household", [None, HOME])
def test_no_change_of_outcomes_exceeds_the_sensitivity_and_one_attains_it(estimator, household):
    population = [20.0, 30.0]
    found = mean_sensitivity(
        W, AREA, lower=-1, upper=2, estimator=estimator, population=population, household=household
    )
    units = np.arange(W.size) if household is None else household
    worst = np.zeros(2)
    for values in itertools.product((-1.0, 2.0), repeat=W.size):
        before = np.array(values)
        for unit in np.unique(units):
            mine = np.flatnonzero(units == unit)
            for new in itertools.product((-1.0, 0.5, 2.0), repeat=mine.size):
                after = before.copy()
                after[mine] = new
                for k, label in enumerate("ab"):
                    rows = np.flatnonzero(label == AREA)
                    pair = [estimate(v, rows, estimator, population[k]) for v in (before, after)]
                    worst[k] = max(worst[k], abs(pair[0] - pair[1]))
    np.testing.assert_allclose(worst, found, rtol=1e-13)


def test_published_value_of_a_hajek_mean():
    i = np.arange(1, 61)
    w = 10.0 + (13 * i) % 17
    assert mean_sensitivity(w, ["x"] * 60)[0] == pytest.approx(0.0240073868882733, rel=1e-14)


@given(st.floats(1e-3, 1e3), st.lists(st.floats(0.1, 10), min_size=1, max_size=8))
def test_rescaled_weights_change_nothing(scale, weights):
    w = np.array(weights)
    one = mean_sensitivity(w, ["x"] * w.size)
    np.testing.assert_allclose(mean_sensitivity(scale * w, ["x"] * w.size), one, rtol=1e-12)
    assert 1 / w.size * (1 - 1e-12) <= one[0] <= 1


def test_a_weight_that_may_change_brute_force():
    low, high, top, s_min = -1.0, 1.0, 3.0, 2.0
    bound = free_weight_sensitivity([s_min], top, lower=low, upper=high)[0]
    worst = 0.0
    weights = np.linspace(0, top, 13)
    for s, others in itertools.product((s_min, 2 * s_min), np.linspace(low, high, 9)):
        values = [(s * others + w * y) / (s + w) for w in weights for y in np.linspace(low, high, 9)]
        worst = max(worst, max(values) - min(values))
    assert worst == pytest.approx(bound, rel=1e-12)  # attained by w = top on both sides


@given(
    st.floats(0.01, 2.0),
    st.floats(0.05, 2.0),
    st.floats(-4, 4),
    st.floats(-1, 1),
)
@settings(max_examples=300)
def test_the_clipped_square_moves_no_further(delta, cap, r, part):
    moved = abs(min((r + part * delta) ** 2, cap**2) - min(r**2, cap**2))
    assert moved <= clipped_square_sensitivity(np.array([delta]), cap)[0] * (1 + 1e-12) + 1e-15


@pytest.mark.parametrize("delta", [0.1, 0.5, 0.999, 1.0, 1.5, 5.0])
def test_the_clipped_square_attains_its_bound(delta):
    r = np.linspace(-3, 3, 60_001)
    moved = np.abs(np.minimum((r + delta) ** 2, 1) - np.minimum(r**2, 1)).max()
    assert moved == pytest.approx(clipped_square_sensitivity(np.array([delta]), 1.0)[0], abs=3e-4)


def test_the_national_mean_moves_by_its_sensitivity():
    delta, total = np.array([0.2, 0.05]), np.array([10.0, 90.0])
    moves = [abs(total[k] * delta[k]) / total.sum() for k in range(2)]
    assert national_sensitivity(delta, total) == pytest.approx(max(moves), rel=1e-15)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"weights": [1.0, 0.0, 1.0]}, "weights, row 2"),
        ({"weights": [1.0, -2.0, 1.0]}, "not positive"),
        ({"area": ["a", "b"]}, "one area a record"),
        ({"lower": 1.0}, "range of the outcome is empty"),
        ({"upper": float("inf")}, "finite"),
        ({"household": [1, 1, 1]}, "household in two areas"),
        ({"estimator": "mean"}, "unknown estimator"),
        ({"estimator": "ht_mean"}, "population"),
    ],
)
def test_bad_input_is_named(change, message):
    arguments = {"weights": [1.0, 2.0, 1.0], "area": ["a", "a", "b"], **change}
    with pytest.raises(InputError, match=message):
        mean_sensitivity(arguments.pop("weights"), arguments.pop("area"), **arguments)
