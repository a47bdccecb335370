"""Taylor linearisation against a published vector, plain loops, and simulation of a design."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pgsr.errors import InputError
from pgsr.sae import Microdata
from pgsr.sae.checks import Float64
from pgsr.sae.direct import confidential_direct, linearised
from pgsr.sae.variances import confidential_taylor


def toy() -> Microdata:
    """60 records, y = 1[(7 i mod 5) < 2], w = 10 + (13 i mod 17)."""
    i = np.arange(1, 61)
    return Microdata(outcome=7 * i % 5 < 2, weight=10 + 13 * i % 17, area=["all"] * 60, areas=("all",))


def test_the_vector() -> None:
    data = toy()
    direct = confidential_direct(data)
    assert direct.estimate[0] == pytest.approx(0.4118190212373038, rel=1e-14)
    for areas_are in ("strata", "domains"):
        found = confidential_taylor(data, direct, areas_are=areas_are)
        assert found.variance[0] == pytest.approx(0.00443936860099150, rel=1e-13)


@st.composite
def surveys(draw: st.DrawFn) -> Microdata:
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, m = draw(st.integers(8, 40)), draw(st.integers(1, 3))
    area = np.arange(n) % m
    return Microdata(
        outcome=rng.uniform(-1, 2, n),
        lower=-1,
        upper=2,
        weight=np.exp(rng.normal(size=n)),
        area=rng.permutation(area),
        areas=tuple(str(i) for i in range(m)),
        strata=rng.integers(0, draw(st.integers(1, 4)), n),
        psu=rng.integers(0, draw(st.integers(1, 6)), n),
    )


def by_loops(data: Microdata, estimator: str, areas_are: str, single_psu: str) -> Float64 | None:
    """The definition, record by record; None where it is to be refused."""
    direct = confidential_direct(data, estimator)
    u = linearised(data, direct)
    result = []
    for i in range(data.m):
        inside = data.area_codes == i
        scope = np.ones(data.n, dtype=bool) if areas_are == "domains" else inside
        strata = sorted(set(data.strata_codes[scope].tolist()))
        totals = {
            h: [
                float(u[inside & (data.psu_codes == j)].sum())
                for j in sorted(set(data.psu_codes[scope & (data.strata_codes == h)].tolist()))
            ]
            for h in strata
        }
        everything = [t for ts in totals.values() for t in ts]
        parts, lonely = 0.0, 0
        for ts in totals.values():
            if len(ts) > 1:
                parts += len(ts) * float(np.var(ts, ddof=1))
                continue
            lonely += 1
            if single_psu == "refuse":
                return None
            if single_psu == "centered":
                parts += (ts[0] - float(np.mean(everything))) ** 2
        if single_psu == "average":
            if lonely == len(totals):
                return None
            parts *= len(totals) / (len(totals) - lonely)
        result.append(parts)
    return np.array(result)


@settings(deadline=None, max_examples=300)
@given(
    data=surveys(),
    estimator=st.sampled_from(["hajek", "ht_total"]),
    areas_are=st.sampled_from(["strata", "domains"]),
    single_psu=st.sampled_from(["refuse", "certainty", "centered", "average"]),
)
def test_against_plain_loops(data: Microdata, estimator: str, areas_are: str, single_psu: str) -> None:
    expected = by_loops(data, estimator, areas_are, single_psu)
    direct = confidential_direct(data, estimator)
    options = {"areas_are": areas_are, "single_psu": single_psu}
    if expected is None:
        with pytest.raises(InputError, match="single primary sampling unit"):
            confidential_taylor(data, direct, **options)
    else:
        found = confidential_taylor(data, direct, **options).variance
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9 * float((direct.divisor).max()))


def test_domains_differ_from_strata_by_the_usual_factors() -> None:
    """One stratum, records as PSUs: n_i/(n_i - 1) against n/(n - 1)."""
    rng = np.random.default_rng(1)
    data = Microdata(
        outcome=rng.integers(0, 2, 50),
        weight=rng.uniform(1, 5, 50),
        area=["a"] * 10 + ["b"] * 40,
        areas=("a", "b"),
    )
    direct = confidential_direct(data)
    own, full = (confidential_taylor(data, direct, areas_are=kind).variance for kind in ("strata", "domains"))
    np.testing.assert_allclose(own / full, np.array([10 / 9, 40 / 39]) / (50 / 49), rtol=1e-12)


def test_a_total_is_estimated_without_bias() -> None:
    """Two PSUs a stratum drawn with replacement: the mean over all equally likely samples is exact."""
    strata = ([1.0, 4.0, 6.0], [2.0, 7.0])
    draws = [(a, b, c, d) for a in strata[0] for b in strata[0] for c in strata[1] for d in strata[1]]
    totals, variances = [], []
    for sample in draws:
        data = Microdata(
            outcome=sample,
            lower=0,
            upper=9,
            weight=[1.5, 1.5, 1, 1],
            area=["x"] * 4,
            areas=("x",),
            strata=list("sstt"),
        )
        direct = confidential_direct(data, "ht_total")
        totals.append(direct.estimate[0])
        variances.append(confidential_taylor(data, direct).variance[0])
    assert np.mean(totals) == pytest.approx(20)
    assert np.mean(variances) == pytest.approx(np.var(totals))


def test_single_psus_are_refused_naming_the_area() -> None:
    data = Microdata(outcome=[1, 0, 1], weight=[1, 1, 1], area=["a", "a", "b"], areas=("a", "b"))
    direct = confidential_direct(data)
    with pytest.raises(InputError, match=r"area 'b', 1 such strata.*certainty, centered or average"):
        confidential_taylor(data, direct)
    found = confidential_taylor(data, direct, single_psu="certainty")
    assert found.variance[1] == 0
    assert found.singles == 1
    assert repr(found) == "ConfidentialVariance(method='taylor', singles=1)"
    assert confidential_taylor(data, direct, areas_are="domains").variance.shape == (2,)


@pytest.mark.parametrize("option", [{"single_psu": "drop"}, {"areas_are": "cells"}])
def test_unknown_options_are_refused(option: dict[str, Any]) -> None:
    data = toy()
    with pytest.raises(InputError, match="unknown option"):
        confidential_taylor(data, confidential_direct(data), **option)
