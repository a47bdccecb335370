"""Replication: published vectors, exact identities for totals, and Hadamard matrices."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pgsr.errors import InputError
from pgsr.sae import Microdata
from pgsr.sae.checks import Float64
from pgsr.sae.direct import confidential_direct
from pgsr.sae.hadamard import hadamard, next_order
from pgsr.sae.replicates import Replicates, brr, confidential_replicate_variance, given, jk1, jkn, sdr
from pgsr.sae.variances import confidential_taylor


def toy() -> Microdata:
    """60 records, y = 1[(7 i mod 5) < 2], w = 10 + (13 i mod 17)."""
    i = np.arange(1, 61)
    return Microdata(outcome=7 * i % 5 < 2, weight=10 + 13 * i % 17, area=["all"] * 60, areas=("all",))


def variance(data: Microdata, replicates: Replicates, estimator: str = "hajek") -> Float64:
    return confidential_replicate_variance(data, confidential_direct(data, estimator), replicates).variance


def one_area(outcome: Any, weight: Any = None, **design: Any) -> Microdata:
    n = len(outcome)
    ones = np.ones(n) if weight is None else weight
    return Microdata(outcome=outcome, lower=-9, upper=9, weight=ones, area=["x"] * n, areas=("x",), **design)


def test_the_vectors() -> None:
    data = toy()
    assert variance(data, sdr(data))[0] == pytest.approx(0.00699811521826105, rel=1e-13)
    assert variance(data, jk1(data))[0] == pytest.approx(0.00446133308737513, rel=1e-13)
    assert variance(data, jkn(data))[0] == pytest.approx(0.00446133308737513, rel=1e-13)


def test_sdr_factors() -> None:
    data = toy()
    factors = np.column_stack([sdr(data).column(r) for r in range(80)]) / data.weight[:, None]
    assert set(np.round(factors, 4).ravel()) == {0.2929, 1.0, 1.7071}
    assert sdr(data).coefficients.tolist() == [0.05] * 80


@pytest.mark.parametrize("rounds", [1, 2, 5])
def test_sdr_of_a_total_is_half_the_squared_successive_differences(rounds: int) -> None:
    """On a circle of 79 records, whichever round they are in: only those of the last one differ from 0."""
    rng = np.random.default_rng(rounds)
    y = np.zeros(79 * rounds)
    y[79 * (rounds - 1) :] = rng.normal(size=79)
    y = np.clip(y, -9, 9)
    last = y[79 * (rounds - 1) :]
    expected = ((last - np.roll(last, 1)) ** 2).sum() / 2
    data = one_area(y)
    assert variance(data, sdr(data), "ht_total")[0] == pytest.approx(expected, rel=1e-12)


def test_short_sdr_has_open_ends() -> None:
    y = np.array([1.0, 4, 2, 2, 5])
    data = one_area(y)
    ends = np.diff(np.concatenate([[0.0], y, [0.0]]))
    assert variance(data, sdr(data), "ht_total")[0] == pytest.approx((ends**2).sum() / 2, rel=1e-12)


def strata_of_two(h: int = 5) -> Microdata:
    rng = np.random.default_rng(h)
    n = 4 * h
    strata, psu = np.repeat(np.arange(h), 4), np.tile([0, 0, 1, 1], h)
    return one_area(rng.normal(size=n).clip(-9, 9), rng.uniform(1, 3, n), strata=strata, psu=psu)


@pytest.mark.parametrize("h", [1, 3, 4, 7, 12, 30])
def test_replication_of_totals_is_linearisation(h: int) -> None:
    data = strata_of_two(h)
    taylor = confidential_taylor(data, confidential_direct(data, "ht_total")).variance
    for scheme in (jkn(data), brr(data), brr(data, 0.3), brr(data, 0.5)):
        np.testing.assert_allclose(variance(data, scheme, "ht_total"), taylor, rtol=1e-12)
    flat = one_area(data.outcome, data.weight)
    taylor = confidential_taylor(flat, confidential_direct(flat, "ht_total")).variance
    np.testing.assert_allclose(variance(flat, jk1(flat), "ht_total"), taylor, rtol=1e-12)


def test_brr_keeps_one_psu_of_each_stratum_and_is_balanced() -> None:
    data = strata_of_two(6)
    scheme = brr(data)
    factors = np.column_stack([scheme.column(r) for r in range(8)]) / data.weight[:, None]
    assert set(factors.ravel()) == {0.0, 2.0}
    np.testing.assert_allclose(factors.mean(axis=1), 1.0)
    assert scheme.name == "brr"
    assert brr(data, 0.5).name == "fay"
    fay = np.column_stack([brr(data, 0.3).column(r) for r in range(8)]) / data.weight[:, None]
    np.testing.assert_allclose(sorted(set(np.round(fay.ravel(), 12))), [0.3, 1.7])


def test_fay_tends_to_linearisation_for_ratios() -> None:
    data = strata_of_two(8)
    taylor = confidential_taylor(data, confidential_direct(data)).variance
    np.testing.assert_allclose(variance(data, brr(data, 1 - 1e-6)), taylor, rtol=1e-5)


def test_given_replicate_weights() -> None:
    data = toy()
    matrix = np.column_stack([sdr(data).column(r) for r in range(80)])
    assert variance(data, given(matrix, 4 / 80))[0] == pytest.approx(0.00699811521826105, rel=1e-13)
    with pytest.raises(InputError, match="give n rows"):
        variance(data, given(matrix[:10], 4 / 80))
    for bad in (matrix[:, 0], matrix.astype(str), np.full((60, 2), np.nan)):
        with pytest.raises(InputError, match="replicate weights"):
            given(bad, 0.05)
    with pytest.raises(InputError, match="3 rows instead of 80"):
        given(matrix, [1, 2, 3])


def test_unusable_designs_are_refused() -> None:
    single = one_area([1.0, 2, 3], strata=list("aab"))
    with pytest.raises(InputError, match="single"):
        jkn(single)
    with pytest.raises(InputError, match="exactly two"):
        brr(single)
    with pytest.raises(InputError, match="jackknife needs two"):
        jk1(one_area([1.0, 2], psu=["p", "p"]))
    for fay in (1.0, -0.1, 2):
        with pytest.raises(InputError, match="fay"):
            brr(strata_of_two(), fay)
    lonely = Microdata(outcome=[1, 0, 1], weight=[1, 1, 1], area=["a", "a", "b"], areas=("a", "b"))
    with pytest.raises(InputError, match="area 'b', replicate 3"):
        variance(lonely, jk1(lonely))


@pytest.mark.parametrize("order", [1, 2, 4, 8, 12, 16, 20, 28, 36, 40, 76, 80, 108, 112, 160])
def test_hadamard_matrices(order: int) -> None:
    matrix = hadamard(order).astype(int)
    assert set(np.unique(matrix)) <= {1, -1}
    assert (matrix @ matrix.T == order * np.eye(order)).all()
    assert (matrix[:, 0] == 1).all()


@pytest.mark.parametrize(("order", "way_out"), [(3, "use 4"), (92, "use 96"), (0, "up to"), (5000, "up to")])
def test_other_orders_are_refused_with_a_way_out(order: int, way_out: str) -> None:
    with pytest.raises(InputError, match=way_out):
        hadamard(order)
    assert next_order(80) == 80
