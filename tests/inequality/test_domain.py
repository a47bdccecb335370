"""The public domain: what it accepts, what it refuses, and that no income is ever shown."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from pgsr.errors import InputError
from pgsr.inequality import INDICES, Domain, confidential_sensitivity
from pgsr.inequality.index import index

DOMAIN = Domain(n=3, lower=1, upper=100)


@pytest.mark.parametrize(
    ("n", "lower", "upper"),
    [
        (1, 1, 2),
        (0, 1, 2),
        (2.0, 1, 2),
        (True, 1, 2),
        (2**32 + 1, 1, 2),
        (3, 0, 2),
        (3, -1, 2),
        (3, 2, 2),
        (3, 3, 2),
        (3, 1, math.inf),
        (3, math.nan, 2),
        (3, 1, "2"),
        (3, 1, None),
        (3, 1, 1.0009),
        (3, 1e-101, 2),
        (3, 1, 1e101),
    ],
)
def test_unusable_domains_are_refused(n: Any, lower: Any, upper: Any) -> None:
    with pytest.raises(InputError, match="domain"):
        Domain(n=n, lower=lower, upper=upper)


def test_numbers_are_stored_plainly() -> None:
    domain = Domain(n=np.int64(3), lower=np.float32(1), upper=10)  # type: ignore[arg-type]
    assert (type(domain.n), type(domain.lower), type(domain.upper)) == (int, float, float)
    assert domain.ratio == 10


@pytest.mark.parametrize(
    "x",
    [
        [1.0, 2.0],
        [1.0, 2.0, 3.0, 4.0],
        [1.0, 2.0, math.nan],
        [1.0, 2.0, math.inf],
        [0.5, 2.0, 77.125],
        [2.0, 77.125, 100.5],
        [[1.0, 2.0, 3.0]],
        ["1", "2", "3"],
        [1.0, 2.0, None],
        [1.0, 2.0, "x"],
        [1.0, 2.0, 3j],
        None,
    ],
)
def test_unfit_incomes_are_refused_without_showing_one(x: Any) -> None:
    for call in (
        lambda: DOMAIN.sorted_incomes(x),
        lambda: INDICES["mld"].local(x, DOMAIN),
        lambda: INDICES["theil"].ladder(x, DOMAIN, 3),
        lambda: confidential_sensitivity(x, DOMAIN, "ge2", 0.5),
    ):
        with pytest.raises(InputError) as caught:
            call()
        assert "77" not in str(caught.value)
        assert "100.5" not in str(caught.value)


def test_sorting_clipping_and_order() -> None:
    x = np.array([50.0, 2.0, 7.0])
    assert DOMAIN.sorted_incomes(x).tolist() == [2, 7, 50]
    assert DOMAIN.checked(x).tolist() == x.tolist() == [50, 2, 7]
    assert DOMAIN.clip([0, -5, 1e9, 3]).tolist() == [1, 1, 100, 3]
    with pytest.raises(InputError):
        DOMAIN.clip([1, math.nan])


def test_the_ends_belong_to_the_domain() -> None:
    assert DOMAIN.sorted_incomes([100, 1, 50]).tolist() == [1, 50, 100]


@pytest.mark.parametrize("name", ["gini", "", 3, None, ["mld"]])
def test_unknown_indices_are_refused_by_name(name: Any) -> None:
    with pytest.raises(InputError, match="mld, theil, ge2"):
        index(name)


@pytest.mark.parametrize("name", sorted(INDICES))
def test_an_index_refuses_what_it_cannot_answer(name: str) -> None:
    x = [1.0, 2.0, 3.0]
    for beta in (0, -1, math.nan, "1"):
        with pytest.raises(InputError, match="beta"):
            INDICES[name].smooth(x, DOMAIN, beta)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="count"):
        INDICES[name].ladder(x, DOMAIN, -1)  # type: ignore[arg-type]
    for bad in ([], [0.0, 1.0], [-1.0, 2.0], [1.0, math.nan]):
        with pytest.raises(InputError):
            INDICES[name].value(bad)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="entries"):
        confidential_sensitivity(x, DOMAIN, name, 0.5, entries=-1)
