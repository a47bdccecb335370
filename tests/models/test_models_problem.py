"""The problem: exact objectives, violations of each condition, what is refused."""

from __future__ import annotations

import pickle
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pgsr.errors import InputError
from pgsr.models.exact import dyadic_weights, sum_squares, weighted_sum
from pgsr.models.problem import Feature, Problem, RegionError
from pgsr.models.samples import random_problem, random_table

NAMES = ("consistency", "validity", "faithfulness", "monotonicity", "bounds")


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.integers(-(2**54), 2**54), min_size=1, max_size=30),
    st.lists(st.integers(0, 2**31 - 1), min_size=30, max_size=30),
)
def test_sums_of_squares_are_exact(values, weights):
    d = np.array(values)
    w = np.array(weights[: len(values)])
    assert sum_squares(d) == sum(v * v for v in values)
    assert sum_squares(d, w) == sum(u * v * v for u, v in zip(weights, values, strict=False))
    assert weighted_sum(w, d) == sum(u * v for u, v in zip(weights, values, strict=False))


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from(["unit", "dyadic", "zero"]), st.sampled_from(["l2", "l1"]))
def test_objective_is_exact(seed, weights, loss):
    rng = np.random.default_rng(seed)
    problem = random_problem(rng, noise=2**52, weights=weights, loss=loss, total=2**40)
    x = random_table(rng, problem)
    value = Fraction(0)
    for r in range(problem.regions):
        for s in range(problem.width):
            d = abs(int(x[r, s]) - int(problem.target[r, s]))
            value += Fraction(float(problem.region_weights[r])) * (d * d if loss == "l2" else d)
    got = problem.objective(x)
    assert got == (int(value) if value.denominator == 1 else float(value))
    assert isinstance(got, int) == (value.denominator == 1)
    assert problem.objective(x.astype(float)) == pytest.approx(float(value), rel=1e-12)


def test_dyadic_weights():
    integers, k = dyadic_weights(np.array([0.75, 2.0, 0.5]))
    assert integers.tolist() == [3, 8, 2]
    assert k == 2
    assert dyadic_weights(np.array([0.1])) is None
    assert dyadic_weights(np.array([2.0**31])) is None
    assert dyadic_weights(np.array([2.0**-16]))[1] == 16


def small(**changes):
    fields = {"parent": [-1, 0, 0], "target": [[2, 2], [1, 1], [1, 1]], "total": 4} | changes
    return Problem(**fields)


def test_violations_name_each_condition():
    problem = small(lower=[[0, 0], [1, 0], [0, 0]], upper=[[4, 4], [4, 4], [4, 1]])
    good = np.array([[2, 2], [1, 1], [1, 1]])
    assert problem.violations(good) == dict.fromkeys(NAMES, 0)
    assert problem.violations(np.array([[2, 2], [1, 1], [1, 3]])) == {
        "consistency": 2,
        "validity": 0,
        "faithfulness": 2,
        "monotonicity": 0,
        "bounds": 2,
    }
    assert problem.violations(np.array([[2, 2], [3, 1], [-1, 1]]))["validity"] == 1
    assert problem.violations(np.array([[2, 2], [0, 1], [2, 1]]))["bounds"] == 1
    assert problem.violations(np.array([[3, 2], [2, 1], [1, 1]]))["faithfulness"] == 1
    assert problem.violations(good + 0.25)["validity"] == 0.25
    assert problem.violations(np.full((3, 2), np.nan))["consistency"] == float("inf")


def test_violations_of_model_2():
    problem = small(cumulative=True)
    assert set(problem.violations(np.array([[2, 4], [1, 2], [1, 2]])).values()) == {0}
    broken = problem.violations(np.array([[2, 3], [1, 0], [1, 3]]))
    assert broken["monotonicity"] == 1
    assert broken["faithfulness"] == 1
    assert broken["consistency"] == 0


def test_faithfulness_looks_at_every_level():
    problem = Problem(parent=[-1, 0, 1], target=[[1], [1], [1]], total=5)
    assert problem.violations(np.array([[5], [5], [9]]))["faithfulness"] == 4
    assert problem.violations(np.array([[5], [8], [5]]))["faithfulness"] == 3


def test_leaves_above_the_last_level_count_below_too():
    problem = Problem(parent=[-1, 0, 0, 1], target=np.zeros((4, 1)), total=3)
    assert set(problem.violations(np.array([[3], [2], [1], [2]])).values()) == {0}


def test_features():
    assert small().requires == {Feature.HIERARCHICAL, Feature.INTEGER, Feature.L2}
    assert Feature.WEIGHTS in small(weights=[1, 2, 1]).requires
    assert Feature.L1 in small(loss="l1").requires
    assert Feature.BOUNDS in small(upper=[[9, 9], [1, 1], [9, 9]]).requires
    relaxed = small(lower=[[0, 0], [1, 0], [0, 0]], integer=False)
    assert relaxed.requires == {Feature.HIERARCHICAL, Feature.RELAXED, Feature.L2}
    inner = small(lower=[[1, 0], [0, 0], [0, 0]], integer=False)
    assert Feature.RELAXED_BOUNDS in inner.requires
    pinned = small(lower=[[2, 2], [0, 0], [0, 0]], upper=[[2, 2], [9, 9], [9, 0]], integer=False)
    assert Feature.RELAXED_BOUNDS not in pinned.requires


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"parent": []}, "empty"),
        ({"parent": [-1, 0, 3]}, "level order"),
        ({"parent": [0, 0, 0]}, "level order"),
        ({"parent": [-1, 1, 0]}, "level order"),
        ({"target": [[1, 2], [1, 1]]}, "shape"),
        ({"target": [[1, 2], [1, 1], [1, float("nan")]]}, "not an integer"),
        ({"target": [[1, 2], [1, 1], [1, 0.5]]}, "not an integer"),
        ({"target": [[1, 2], [1, 1], [1, 2**54]]}, "2\\^53"),
        ({"total": -1}, "negative"),
        ({"total": 1.5}, "not an integer"),
        ({"total": 2**54}, "2\\^53"),
        ({"loss": "l3"}, "loss"),
        ({"weights": [1, 1]}, "number of weights"),
        ({"weights": [1, -1, 1]}, "negative"),
        ({"weights": [1, 1, 0]}, "weight 0"),
        ({"weights": [1, float("inf"), 1]}, "finite"),
        ({"lower": [[0, 0], [3, 0], [0, 0]], "upper": [[9, 9], [2, 9], [9, 9]]}, "clash"),
        ({"lower": [[0, 0], [3, 0], [3, 0]], "upper": [[5, 9], [9, 9], [9, 9]]}, "clash"),
        ({"lower": [[0, 0], [3, 0], [2, 0]]}, "clash|exclude"),
        ({"upper": [[1, 1], [9, 9], [9, 9]]}, "exclude the public total"),
        ({"upper": [[1, 1]]}, "shape"),
    ],
)
def test_refused(changes, message):
    with pytest.raises(InputError, match=message) as caught:
        small(**changes)
    assert "\n" not in str(caught.value)


def test_region_errors_carry_the_row_and_survive_pickling():
    with pytest.raises(RegionError) as caught:
        small(weights=[1, 1, 0])
    error = pickle.loads(pickle.dumps(caught.value))
    assert error.region == 2
    assert str(error.named("GA")) == "a leaf has weight 0: region 'GA': give it a small positive weight"


def test_solutions_of_another_shape_are_refused():
    with pytest.raises(InputError, match="shape"):
        small().objective(np.zeros((2, 2)))
