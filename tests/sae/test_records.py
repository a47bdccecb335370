"""From survey records to public facts and direct estimates: by hand, by brute force, exact sums."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from pgsr.errors import InputError
from pgsr.sae.direct import confidential_direct
from pgsr.sae.microdata import Microdata
from pgsr.sae.records import confidential_variance, record_facts
from pgsr.sae.replicates import confidential_replicate_variance, sdr
from pgsr.sae.variances import confidential_taylor

ROWS = {
    "outcome": [1, 0, 1, 0, 1, 0],
    "weight": [1, 2, 3, 4, 4, 1],
    "area": ["b", "a", "b", "a", "a", "b"],
    "areas": ("b", "a"),
}


def test_facts_by_hand_in_the_order_of_the_list() -> None:
    facts = record_facts(Microdata(**ROWS))
    np.testing.assert_allclose(facts.weight_total, [5, 10])
    np.testing.assert_allclose(facts.kish, [11 / 25, 36 / 100])
    np.testing.assert_allclose(facts.sensitivity, [3 / 5, 4 / 10])
    np.testing.assert_allclose(facts.ratio, [9 / 5, 12 / 10])
    assert facts.counts.tolist() == [3, 3]
    homes = record_facts(Microdata(**ROWS, units=["h", "i", "h", "i", "j", "k"]))
    np.testing.assert_allclose(homes.sensitivity, [4 / 5, 6 / 10])
    means = record_facts(Microdata(**ROWS, lower=-1, upper=3), "ht_mean", [10, 20])
    np.testing.assert_allclose(means.sensitivity, [4 * 3 / 10, 4 * 4 / 20])
    totals = record_facts(Microdata(**ROWS), "ht_total")
    np.testing.assert_allclose(totals.sensitivity, [3, 4])
    assert repr(facts) == "RecordFacts()"


def test_facts_do_not_depend_on_outcomes() -> None:
    other = {**ROWS, "outcome": [0] * 6}
    first, second = record_facts(Microdata(**ROWS)), record_facts(Microdata(**other))
    for name in ("sensitivity", "kish", "weight_total", "counts", "ratio"):
        np.testing.assert_array_equal(getattr(first, name), getattr(second, name))


@pytest.mark.parametrize("unit", [False, True])
@pytest.mark.parametrize("estimator", ["hajek", "ht_mean", "ht_total"])
def test_no_change_of_a_unit_moves_an_estimate_further(estimator: str, unit: bool) -> None:
    homes = np.array(["h", "i", "h", "i", "j", "k"]) if unit else np.arange(6).astype(str)
    population = [9, 11] if estimator == "ht_mean" else None
    rows = {**ROWS, "lower": 0.0, "upper": 2.0, "units": homes}
    delta = record_facts(Microdata(**rows), estimator, population).sensitivity
    most = np.zeros(2)
    for home in np.unique(homes):
        there = homes == home
        ends = []
        for end in (0.0, 2.0):
            outcome = np.where(there, end, 1.0)
            data = Microdata(**{**rows, "outcome": outcome})
            ends.append(confidential_direct(data, estimator, population).estimate)
        most = np.maximum(most, np.abs(ends[1] - ends[0]))
    np.testing.assert_allclose(most, delta, rtol=1e-12)


def test_estimates_are_accurate_enough_for_the_exact_mechanism() -> None:
    """Within 2^-20 of a sensitivity of 1/n of the range, where sums in floating point err by more."""
    n = 200_000
    rng = np.random.default_rng(1)
    w = np.exp(rng.normal(0, 0.3, n))
    whole = [int(x) for x in np.ldexp(w, 60).tolist()]  # exact: these are multiples of 2^-60
    for lower in (0.0, 30_000.0):
        outcome = lower + rng.uniform(0, 1, n)
        data = Microdata(
            outcome=outcome, weight=w, area=["a"] * n, areas=("a",), lower=lower, upper=lower + 1
        )
        parts = [int(x) for x in np.ldexp(outcome, 60).tolist()]
        exact = Fraction(sum(a * b for a, b in zip(whole, parts, strict=True)), sum(whole) << 60)
        allowed = Fraction(float(record_facts(data).sensitivity[0])) / 2**20
        assert abs(Fraction(float(confidential_direct(data).estimate[0])) - exact) <= allowed
        naive = Fraction(float(np.bincount(np.zeros(n, int), weights=w * outcome)[0] / w.sum()))
        if lower:
            assert abs(naive - exact) > allowed


def test_methods_are_those_of_their_modules() -> None:
    data = Microdata(**ROWS)
    direct = confidential_direct(data)
    for areas_are, method in (("strata", "taylor"), ("domains", "taylor-domains")):
        expected = confidential_taylor(data, direct, areas_are=areas_are).variance
        np.testing.assert_array_equal(confidential_variance(data, direct, method).variance, expected)
    expected = confidential_replicate_variance(data, direct, sdr(data)).variance
    np.testing.assert_array_equal(confidential_variance(data, direct, "sdr").variance, expected)
    with pytest.raises(InputError, match="use taylor"):
        confidential_variance(data, direct, "bootstrap")


def test_a_household_in_two_areas_is_refused() -> None:
    with pytest.raises(InputError, match="a household in two areas: household, row 2"):
        record_facts(Microdata(**ROWS, units=["h", "h", "i", "i", "j", "k"]))
