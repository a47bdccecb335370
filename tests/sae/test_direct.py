"""Microdata and direct estimates: by hand, invariances, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgsr.errors import InputError
from pgsr.sae import Microdata
from pgsr.sae.direct import confidential_direct, linearised

SIX: dict[str, Any] = {
    "outcome": [1, 0, 1, 1, 0, 0],
    "weight": [1.0, 2, 3, 4, 5, 6],
    "area": ["b", "a", "a", "b", "b", "a"],
    "areas": ("a", "b"),
}


def test_estimates_by_hand() -> None:
    data = Microdata(**SIX)
    hajek = confidential_direct(data)
    assert hajek.estimate.tolist() == [3 / 11, 5 / 10]
    assert hajek.overall == 8 / 21
    assert hajek.counts.tolist() == [3, 3]
    assert confidential_direct(data, "ht_total").estimate.tolist() == [3, 5]
    assert confidential_direct(data, "ht_total").overall == 8
    mean = confidential_direct(data, "ht_mean", [12, 8])
    assert mean.estimate.tolist() == [3 / 12, 5 / 8]
    assert mean.overall == 8 / 20


def test_the_order_of_areas_is_the_public_one() -> None:
    swapped = Microdata(**{**SIX, "areas": ("b", "a")})
    assert confidential_direct(swapped).estimate.tolist() == [5 / 10, 3 / 11]


@given(
    rows=st.lists(st.tuples(st.floats(-3, 7), st.floats(0.01, 100)), min_size=2, max_size=12),
    scale=st.floats(1e-6, 1e6),
)
def test_hajek_is_free_of_the_scale_of_weights(rows: list[tuple[float, float]], scale: float) -> None:
    y, w = np.array(rows).T
    area = ["x" if i % 2 else "y" for i in range(len(y))]
    common: dict[str, Any] = {"outcome": y, "area": area, "areas": ("x", "y"), "lower": -3, "upper": 7}
    one, other = (confidential_direct(Microdata(weight=weight, **common)) for weight in (w, w * scale))
    np.testing.assert_allclose(one.estimate, other.estimate, atol=1e-12)


def test_linearised_records_are_derivatives() -> None:
    """u_r is the derivative of the area's estimate in the log of record r's weight."""
    for estimator, population in (("hajek", None), ("ht_total", None), ("ht_mean", [12, 8])):
        data = Microdata(**SIX)
        direct = confidential_direct(data, estimator, population)
        u = linearised(data, direct)
        for r in range(6):
            weight = np.array(SIX["weight"])
            weight[r] *= np.exp(1e-7)
            moved = confidential_direct(Microdata(**{**SIX, "weight": weight}), estimator, population)
            slope = (moved.estimate - direct.estimate)[data.area_codes[r]] / 1e-7
            assert slope == pytest.approx(u[r], abs=1e-6)


def test_labels_may_be_numbers_and_units_are_kept() -> None:
    data = Microdata(**{**SIX, "area": [7, 5, 5, 7, 7, 5], "areas": ("5", "7")}, units=list("uvwuvw"))
    assert data.area_codes.tolist() == [1, 0, 0, 1, 1, 0]
    assert data.unit_codes.tolist() == [0, 1, 2, 0, 1, 2]
    assert Microdata(**SIX).unit_codes.tolist() == list(range(6))


def test_the_same_psu_label_in_two_strata_is_two_units() -> None:
    data = Microdata(**SIX, strata=list("ssttss"), psu=[1, 2, 1, 2, 1, 2])
    assert len(set(data.psu_codes.tolist())) == 4


def test_nothing_is_shown() -> None:
    data = Microdata(**SIX)
    assert repr(data) == "Microdata(lower=0.0, upper=1.0)"
    assert repr(confidential_direct(data)) == "ConfidentialDirect(estimator='hajek')"
    assert data.width == 1


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"outcome": [1, 0, 1, 1, 0, 77.125]}, "outcome is not 0 or 1.*row 6.*public range"),
        ({"outcome": [1, 0, 77.125, 0, 0, 0], "lower": 0, "upper": 50}, "outside the public range.*row 3"),
        ({"outcome": [1, 0, -77.125, 0, 0, 0], "lower": 0, "upper": 50}, "outside the public range.*row 3"),
        ({"outcome": [1, 0, np.nan, 1, 0, 0]}, "outcome, row 3"),
        ({"outcome": list("101100")}, "outcome"),
        ({"lower": 0}, "one end"),
        ({"lower": 1, "upper": 1}, "range of the outcome is empty"),
        ({"lower": 0, "upper": np.inf}, "upper"),
        ({"weight": [1, 2, 0, 4, 5, 6]}, "weight, row 3.*leave out"),
        ({"weight": [1, 2, 3, -4, 5, 6]}, "weight, row 4"),
        ({"weight": [1, 2, 3]}, "3 rows instead of 6"),
        ({"area": ["a", "b", "c", "a", "b", "a"]}, "area, row 3.*list all areas"),
        ({"area": ["a", "b", None, "a", "b", "a"]}, "label is missing.*area"),
        ({"area": ["a", "b"]}, "2 labels for 6 records"),
        ({"area": [0.5] * 6}, "area"),
        ({"areas": ("a", "b", "c")}, "without records.*'c'.*predict"),
        ({"areas": ("a", "b", "a")}, "'a' twice"),
        ({"areas": ()}, "no areas"),
        ({"strata": list("ss")}, "2 labels for 6 records.*strata"),
        ({"psu": ["p", None, "p", "p", "p", "p"]}, "psu"),
        ({"units": [1.5] * 6}, "units"),
    ],
)
def test_unusable_microdata_are_refused(changed: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        Microdata(**{**SIX, **changed})
    assert "77" not in str(caught.value)


def test_unusable_estimators_are_refused() -> None:
    data = Microdata(**SIX)
    with pytest.raises(InputError, match="hajek, ht_mean, ht_total"):
        confidential_direct(data, "ratio")
    for estimator, population in (("hajek", [1, 2]), ("ht_mean", None), ("ht_total", [1, 2])):
        with pytest.raises(InputError, match="ht_mean"):
            confidential_direct(data, estimator, population)
    with pytest.raises(InputError, match="population, row 2"):
        confidential_direct(data, "ht_mean", [5, 0])
