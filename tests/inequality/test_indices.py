"""Plain indices: agreement with other packages, limits, the decomposition by groups."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgsr.errors import InputError
from pgsr.inequality import INDICES
from pgsr.inequality.indices import (
    atkinson,
    atkinson_from_entropy,
    decomposition,
    generalised_entropy,
    mld,
    theil,
)

X = np.random.default_rng(4).lognormal(10, 0.8, 500)


def test_pysal_agrees() -> None:
    peers = pytest.importorskip("inequality", reason="PySAL's inequality is not installed")
    assert theil(X) == pytest.approx(float(peers.theil.Theil(X).T), rel=1e-12)
    for e in (0.0, 0.3, 0.5, 1, 1.5, 2.0, 5.0):
        assert atkinson(X, e) == pytest.approx(float(peers.atkinson.atkinson(X, e)), rel=1e-10, abs=1e-14)


def test_inequalipy_agrees() -> None:
    peers = pytest.importorskip("inequalipy", reason="inequalipy is not installed")
    for e in (0.5, 2.0):
        assert atkinson(X, e) == pytest.approx(float(peers.atkinson.index(X, e)), rel=1e-10)


@pytest.mark.parametrize("a", [-2.0, -0.5, 0.4, 1.5, 2.0, 3.0])
def test_the_definition(a: float) -> None:
    r = X / X.mean()
    assert generalised_entropy(X, a) == pytest.approx(float(np.mean(r**a - 1)) / (a * (a - 1)), rel=1e-10)


def test_zero_and_one_are_the_logarithmic_indices() -> None:
    r = X / X.mean()
    assert generalised_entropy(X, 0) == mld(X) == pytest.approx(-float(np.log(r).mean()), rel=1e-12)
    assert generalised_entropy(X, 1) == theil(X) == pytest.approx(float((r * np.log(r)).mean()), rel=1e-12)
    for a in (0, 1):
        near = generalised_entropy(X, a + 1e-7)
        assert near == pytest.approx(generalised_entropy(X, a), rel=1e-5)


def test_half_the_squared_coefficient_of_variation() -> None:
    assert generalised_entropy(X, 2) == pytest.approx((X.std() / X.mean()) ** 2 / 2, rel=1e-12)
    assert INDICES["ge2"].value(X) == pytest.approx(generalised_entropy(X, 2), rel=1e-12)


@pytest.mark.parametrize("a", [-1.0, 0.0, 0.5, 1.0, 2.0, 3.0])
def test_equal_incomes_have_no_inequality(a: float) -> None:
    for x in ([3.0], [0.1] * 7, [1e9] * 3):
        assert generalised_entropy(x, a) == pytest.approx(0, abs=1e-15)
        assert atkinson(x, abs(a)) == pytest.approx(0, abs=1e-15)


def test_atkinson_from_a_released_entropy() -> None:
    assert atkinson(X, 1) == pytest.approx(1 - math.exp(-mld(X)), rel=1e-14)
    assert atkinson(X, 1) == pytest.approx(1 - math.exp(np.log(X).mean()) / X.mean(), rel=1e-12)
    # A noisy GE(a) beyond what any data can have.
    assert atkinson_from_entropy(100.0, 0.5) == 1.0


@given(
    x=st.lists(st.floats(0.01, 1e6), min_size=2, max_size=30),
    scale=st.floats(1e-3, 1e3),
    a=st.sampled_from([-1.0, 0.0, 0.5, 1.0, 2.0]),
)
def test_neither_unit_nor_order_matters(x: list[float], scale: float, a: float) -> None:
    here = generalised_entropy(x, a)
    assert generalised_entropy([one * scale for one in reversed(x)], a) == pytest.approx(
        here, rel=1e-9, abs=1e-13
    )
    assert here >= -1e-14


@given(
    x=st.lists(st.floats(0.1, 1e4), min_size=2, max_size=30),
    a=st.sampled_from([-1.0, 0.0, 0.5, 1.0, 2.0, 3.0]),
    data=st.data(),
)
def test_within_and_between_add_up(x: list[float], a: float, data: st.DataObject) -> None:
    groups = data.draw(st.lists(st.sampled_from("abc"), min_size=len(x), max_size=len(x)))
    found = decomposition(x, groups, a)
    whole = generalised_entropy(x, a)
    assert found.within + found.between == pytest.approx(whole, rel=1e-8, abs=1e-12)
    assert found.labels == tuple(sorted(set(groups)))
    for label, inside in zip(found.labels, found.inside, strict=True):
        part = [one for one, group in zip(x, groups, strict=True) if group == label]
        assert inside == pytest.approx(generalised_entropy(part, a), abs=1e-12)


def test_shares_of_people_and_of_income_weigh_the_groups() -> None:
    x, groups = [1.0, 3.0, 4.0, 8.0], ["r", "r", "p", "p"]
    assert decomposition(x, groups, 0).weights == pytest.approx([0.5, 0.5])
    assert decomposition(x, groups, 1).weights == pytest.approx([0.75, 0.25])
    means = decomposition(x, groups, 1).between
    assert means == pytest.approx(theil([2.0, 2.0, 6.0, 6.0]))


@pytest.mark.parametrize(
    "x", [[], [0.0, 1.0], [-1.0, 2.0], [1.0, math.nan], [[1.0, 2.0]], ["a"], [1e-200, 1.0]]
)
def test_bad_incomes_are_refused(x: Any) -> None:
    for call in (mld, theil, lambda x: generalised_entropy(x, 2), lambda x: atkinson(x, 1)):
        with pytest.raises(InputError):
            call(x)


def test_bad_parameters_are_refused() -> None:
    with pytest.raises(InputError, match="aversion"):
        atkinson(X, -1)
    with pytest.raises(InputError, match="a"):
        generalised_entropy(X, math.nan)
    with pytest.raises(InputError, match="too large"):
        generalised_entropy([1e-9, 1e9], -60)
    with pytest.raises(InputError, match="label"):
        decomposition(X, ["a"], 0)
