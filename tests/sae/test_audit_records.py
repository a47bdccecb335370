"""The audit over records against brute force: every change made, all estimated again, dense algebra."""

from __future__ import annotations

import math

import numpy as np
import pytest

from pgsr.errors import InputError
from pgsr.sae.audit import confidential_divergence
from pgsr.sae.audit_records import ESTIMATED_AGAIN, confidential_audit
from pgsr.sae.direct import confidential_direct
from pgsr.sae.fayherriot import confidential_fit
from pgsr.sae.guarantees import AreaGuarantees
from pgsr.sae.microdata import Microdata
from pgsr.sae.posterior import Posterior
from pgsr.sae.record_changes import changes
from pgsr.sae.variances import confidential_taylor

ORDERS = (2.0, 8.0)
AREAS = tuple("abcdef")


def survey(seed, *, sizes=(9, 14, 20, 26, 31, 45), strata=False, psu=False, upper=1.0, step=0.15):
    """Six areas of quite unlike prevalence, so that A is well above 0."""
    rng = np.random.default_rng(seed)
    place = np.repeat(np.arange(6), sizes)
    n = place.size
    p = 0.15 + step * np.arange(6)
    outcome = (rng.random(n) < p[place]).astype(float)
    if upper != 1.0:
        outcome = np.round(outcome * rng.uniform(0.5, upper, n), 3)
    return Microdata(
        outcome=outcome,
        weight=np.exp(0.5 * rng.standard_normal(n)),
        area=np.array(AREAS, dtype=object)[place],
        areas=AREAS,
        lower=None if upper == 1.0 else 0.0,
        upper=None if upper == 1.0 else upper,
        strata=np.arange(n) % 2 if strata else None,
        psu=np.arange(n) // 2 // (2 if strata else 1) if psu else None,
    )


def changed(data, record, value):
    outcome = data.outcome.copy()
    outcome[record] = value
    return Microdata(
        outcome=outcome,
        weight=data.weight,
        area=np.array(AREAS, dtype=object)[data.area_codes],
        areas=AREAS,
        lower=data.lower,
        upper=data.upper,
        strata=data.strata_codes,
        psu=data.psu_codes,
    )


def estimates(data, kind):
    direct = confidential_direct(data)
    if kind == "taylor":
        return direct.estimate, confidential_taylor(data, direct).variance
    p, total = direct.overall, data.sum_by_area(data.weight)
    return direct.estimate, p * (1 - p) * data.sum_by_area(data.weight**2) / total**2


def brute_force(data, kind, method, design=None):
    """Largest divergences by area, each way of estimating again, from nothing but the definitions."""
    y, d = estimates(data, kind)
    a = confidential_fit(y, d, design, method=method).posterior.model_variance
    before = Posterior(variance=d, model_variance=a, design=design)
    top = {again: np.zeros((len(ORDERS), data.m)) for again in ESTIMATED_AGAIN}
    for record in range(data.n):
        for value in (data.lower, data.upper):
            if value == data.outcome[record]:
                continue
            k = data.area_codes[record]
            moved_y, moved_d = estimates(changed(data, record, value), kind)
            for again in ESTIMATED_AGAIN:
                new_d = d if again == "model" else moved_d
                if new_d.min() <= 1e-12:
                    top[again][:, k] = math.inf
                    continue
                new_a = a
                if again != "sampling":
                    new_a = confidential_fit(moved_y, new_d, design, method=method).posterior.model_variance
                if new_a == 0:
                    top[again][:, k] = math.inf
                    continue
                after = Posterior(variance=new_d, model_variance=new_a, design=design)
                for place, order in enumerate(ORDERS):
                    loss = max(
                        confidential_divergence(before, y, after, moved_y, order),
                        confidential_divergence(after, moved_y, before, y, order),
                    )
                    top[again][place, k] = max(top[again][place, k], loss)
    return top


COVARIATE = np.column_stack([np.ones(6), [0.1, 0.9, 0.4, 0.6, 1.4, 1.1]])


@pytest.mark.parametrize(
    ("parts", "kind", "method", "design"),
    [
        ({"seed": 1}, "taylor", "reml", None),
        ({"seed": 2}, "kish", "reml", None),
        ({"seed": 3, "psu": True}, "taylor", "reml", COVARIATE),
        ({"seed": 4, "psu": True, "strata": True}, "taylor", "pr", None),
        ({"seed": 5, "upper": 3.0}, "taylor", "fh", None),
        ({"seed": 6, "sizes": (60, 90, 80, 70, 100, 120), "step": 0.12}, "taylor", "reml", None),
    ],
)
def test_losses_are_those_of_brute_force(parts, kind, method, design):
    data = survey(**parts)
    found = confidential_audit(data, variance=kind, method=method, design=design, orders=ORDERS)
    expected = brute_force(data, kind, method, design)
    for again in ESTIMATED_AGAIN:
        np.testing.assert_allclose(found.losses[again], expected[again], rtol=1e-7, err_msg=again)
    y, d = estimates(data, kind)
    fit = confidential_fit(y, d, design, method=method)
    share = np.array([data.weight[data.area_codes == k].max() for k in range(6)])
    delta = data.width * share / data.sum_by_area(data.weight)
    np.testing.assert_allclose(
        found.plug_in, AreaGuarantees(posterior=fit.posterior, sensitivity=delta).own, rtol=1e-12
    )


@pytest.mark.parametrize(
    "parts", [{"seed": 1}, {"seed": 4, "psu": True, "strata": True}, {"seed": 5, "upper": 3.0}]
)
def test_every_change_is_listed_with_its_estimate_and_variance(parts):
    data = survey(**parts)
    found = changes(data)
    row = 0
    for value in (data.lower, data.upper):
        for record in range(data.n):
            if data.outcome[record] == value:
                continue
            after = changed(data, record, value)
            y, d = estimates(after, "taylor")
            k = data.area_codes[record]
            assert found.area[row] == k
            assert found.estimate[row] == pytest.approx(y[k], rel=1e-12, abs=1e-15)
            assert found.variance[row] == pytest.approx(d[k], rel=1e-9, abs=1e-14)
            if parts.get("upper") is None:
                p = confidential_direct(after).overall
                assert found.moved_unit_variance[row] == pytest.approx(p * (1 - p), rel=1e-12)
            row += 1
    assert row == found.area.size


def test_an_area_that_one_record_makes_uniform_loses_without_bound():
    data = survey(1)
    only = np.flatnonzero(data.area_codes == 0)
    outcome = data.outcome.copy()
    outcome[only] = 0.0
    outcome[only[0]] = 1.0
    one_case = Microdata(
        outcome=outcome, weight=data.weight, area=np.array(AREAS, dtype=object)[data.area_codes], areas=AREAS
    )
    found = confidential_audit(one_case)
    assert np.isinf(found.losses["sampling"][:, 0]).all()
    assert np.isfinite(found.losses["model"][0, 0])
    table = found.table()
    assert table["infinite"][2] >= 1
    assert table["infinite_share"][2] == table["infinite"][2] / 6
    outcome[only[0]] = 0.0
    with pytest.raises(InputError, match="not positive"):
        confidential_audit(
            Microdata(
                outcome=outcome,
                weight=data.weight,
                area=np.array(AREAS, dtype=object)[data.area_codes],
                areas=AREAS,
            )
        )


def test_ratios_are_over_order_times_the_plug_in_figure():
    found = confidential_audit(survey(6, sizes=(60, 90, 80, 70, 100, 120), step=0.12), orders=(2.0,))
    ratio = found.ratios("model")
    np.testing.assert_allclose(ratio, found.losses["model"] / (2.0 * found.plug_in)[None, :])
    table = found.table()
    assert list(table["again"]) == list(ESTIMATED_AGAIN)
    assert table["median"][0] == pytest.approx(np.median(ratio))
    assert table["greatest_finite"][0] == pytest.approx(ratio[np.isfinite(ratio)].max())
    assert "0." not in repr(found)


@pytest.mark.parametrize("variance", ["taylor", "kish"])
def test_each_part_alone_is_that_of_the_whole(variance):
    data = survey(6, sizes=(60, 90, 80, 70, 100, 120), step=0.12)
    whole = confidential_audit(data, variance=variance)
    for again in ESTIMATED_AGAIN:
        part = confidential_audit(data, variance=variance, again=(again,))
        assert set(part.losses) == {again}
        np.testing.assert_array_equal(part.losses[again], whole.losses[again])
        assert list(part.table()["again"]) == [again] * 2


@pytest.mark.parametrize(
    ("wrong", "word"),
    [
        ({"variance": "jackknife"}, "unknown variance"),
        ({"orders": ()}, "no orders"),
        ({"orders": (1.0,)}, "above 1"),
        ({"again": ()}, "nothing known"),
        ({"again": ("model", "weights")}, "nothing known"),
        ({"method": "moments"}, "unknown method"),
    ],
)
def test_wrong_options_are_named(wrong, word):
    with pytest.raises(InputError, match=word):
        confidential_audit(survey(1), **wrong)


def test_model_variance_zero_and_other_outcomes_are_refused():
    with pytest.raises(InputError, match="model variance 0"):
        confidential_audit(survey(3, step=0.0))
    with pytest.raises(InputError, match="not 0 and 1 alone"):
        confidential_audit(survey(5, upper=3.0), variance="kish")
    data = survey(1)
    clustered = Microdata(
        outcome=data.outcome,
        weight=data.weight,
        area=np.array(AREAS, dtype=object)[data.area_codes],
        areas=AREAS,
        psu=data.area_codes,
    )
    with pytest.raises(InputError, match="single primary"):
        confidential_audit(clustered)
