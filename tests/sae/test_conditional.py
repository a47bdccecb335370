"""Releases with variances from the same data: never a DP charge, and said so first."""

from __future__ import annotations

import json
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

import pgsr
from pgsr.errors import BudgetError, InputError
from pgsr.ledger import Ledger
from pgsr.mechanism import Release
from pgsr.noise import SeededBits, SystemBits
from pgsr.privacy import Guarantee, Kind, Neighbours
from pgsr.sae.audit import confidential_divergence
from pgsr.sae.conditional import conditional_release, two_digits_up
from pgsr.sae.fayherriot import confidential_fit
from pgsr.sae.frame import AreaEstimates, AreaFrame
from pgsr.sae.guarantees import AreaGuarantees
from pgsr.sae.posterior import Posterior

TEXT = (
    "Conditional figure, not a DP guarantee for these data: D_i and A are treated as known constants. "
    "Changing one record nearly always changes estimated D_i and A; such pairs are not covered, and there "
    "may be none that are."
)
M = 30
RNG = np.random.default_rng(2)
NAMES = tuple(f"area{i}" for i in range(M))
N = RNG.integers(40, 400, M)
Y = np.clip(0.2 + 0.05 * RNG.normal(size=M), 0.05, 0.6)
D = Y * (1 - Y) / N
FRAME = AreaFrame(areas=NAMES, sensitivity=1 / N)
DATA = AreaEstimates(areas=NAMES, values=Y)
A = confidential_fit(Y, D).model_variance.value


def make(rng=None, **parts):
    return conditional_release(
        FRAME, DATA, **{"variance": D, "model_variance": A, "rng": rng or SeededBits(1), **parts}
    )


def test_the_statement_comes_first_in_these_words():
    guarantee = make(SystemBits()).guarantee
    assert guarantee.text.startswith(TEXT + " ")
    assert guarantee.event.kind is Kind.CONDITIONAL
    assert guarantee.invariants
    assert "zCDP" not in guarantee.text
    assert "Not charged to any ledger" in guarantee.text
    assert str(guarantee.event).startswith("conditional rho")


def test_no_ledger_takes_its_event():
    event = make().guarantee.event
    for ledger in (
        Ledger.zcdp(10**6, neighbours=Neighbours.SUBSTITUTE),
        Ledger.approximate(10**6, "1e-6", neighbours=Neighbours.SUBSTITUTE),
        Ledger.pure(10**6, neighbours=Neighbours.SUBSTITUTE),
    ):
        with pytest.raises(BudgetError, match="not a DP guarantee"):
            ledger.charge(event)
        assert ledger.entries == ()


def test_it_is_no_mechanism_for_the_common_release():
    with pytest.raises((AttributeError, TypeError)):
        pgsr.release(conditional_release, DATA, ledger=Ledger.zcdp(1), rng=SeededBits(1))


def test_neither_variances_nor_means_nor_estimates_are_published(tmp_path):
    made = make(draws=2)
    made.save(tmp_path / "out")
    text = "".join(p.read_text() for p in sorted((tmp_path / "out").iterdir()) if p.suffix != ".parquet")
    posterior = Posterior(variance=D, model_variance=A)
    secret = np.r_[D, A, np.sqrt(posterior.sigma2), posterior.mean(Y), Y, posterior.beta(Y)]
    assert not any(repr(float(value)) in text for value in secret)
    tables = (*made.estimate.tables.values(), *made.measurements.values())
    numbers = np.concatenate([c for table in tables for c in table.values() if c.dtype.kind == "f"])
    assert np.abs(numbers[:, None] - secret).min() > 1e-10
    assert set(made.estimate.tables["areas"]) == {"area", "estimate"}
    record = json.loads((tmp_path / "out" / "guarantee.json").read_text())
    assert record["event"]["kind"] == "conditional"
    assert Guarantee.from_dict(record) == made.guarantee
    assert Release.load(tmp_path / "out").guarantee.event.kind is Kind.CONDITIONAL
    assert made.provenance.parameters["variance_mode"] == "invariant"


def test_the_figure_is_that_of_the_draws_rounded_up_to_two_digits():
    figures = AreaGuarantees(posterior=Posterior(variance=D, model_variance=A), sensitivity=1 / N)
    for draws, kind in ((1, "joint"), (3, "joint"), (1, "marginals")):
        rho = float(make(draws=draws, kind=kind).guarantee.event.rho)
        exact = draws * getattr(figures, kind)
        assert exact < rho <= 1.1 * exact
    assert two_digits_up(0.123) == Fraction(13, 100)
    assert two_digits_up(1234.0) == 1300
    assert two_digits_up(0.0) == 0
    assert two_digits_up(0.0999) == Fraction(1, 10)


def test_the_floor_does_not_help_variances_from_the_same_data():
    """n = 40, 2/40 -> 3/40, target 1/2: the Renyi divergence is infinite at order 4, floor or not."""
    n, a, target = 40, 0.005, 0.5
    posteriors, estimates = [], []
    for hits in (2, 3):
        y = np.r_[hits / n, np.full(99, 0.1)]
        d = y * (1 - y) / np.r_[n, np.full(99, 400)]
        floored = np.maximum(d, (1 / np.r_[n, np.full(99, 400)]) ** 2 / (2 * target))
        np.testing.assert_array_equal(floored, d)  # the floor never binds
        posteriors.append(Posterior(variance=floored, model_variance=a))
        estimates.append(y)
    before, after = zip(posteriors, estimates, strict=True)
    assert (
        max(
            confidential_divergence(*before, *after, 4),
            confidential_divergence(*after, *before, 4),
        )
        == math.inf
    )
    plain = AreaGuarantees(
        posterior=posteriors[0], sensitivity=np.r_[1 / n, np.full(99, 1 / 400)], per_area=False
    )
    assert plain.joint < target


def test_divergences_by_the_multivariate_formula():
    posterior, other = Posterior(variance=D, model_variance=A), Posterior(variance=D, model_variance=1.1 * A)
    moved = Y + np.r_[1 / N[0], np.zeros(M - 1)]
    own = AreaGuarantees(posterior=posterior, sensitivity=1 / N).own[0]
    for order in (1.5, 2, 8):
        same = confidential_divergence(posterior, Y, posterior, moved, order)
        assert same == pytest.approx(order * float(own), rel=1e-6)
    # Against simulation, where both differ: E_Q (dP/dQ)^2 is exp of the divergence of order 2.
    rng = np.random.default_rng(3)
    m = 3
    parts = [Posterior(variance=D[:m], model_variance=a) for a in (A, 1.1 * A)]
    laws = [stats.multivariate_normal(q.mean(Y[:m]), q.covariance_matrix()) for q in parts]
    draws = laws[1].rvs(400_000, random_state=rng)
    ratio = np.exp(2 * (laws[0].logpdf(draws) - laws[1].logpdf(draws)))
    found = confidential_divergence(parts[0], Y[:m], parts[1], Y[:m], 2)
    assert math.log(ratio.mean()) == pytest.approx(found, rel=0.05)
    for bad in ((posterior, Y, parts[0], Y[:m], 2), (posterior, Y, other, Y, 1.0)):
        with pytest.raises(InputError):
            confidential_divergence(*bad)
    with pytest.raises(InputError, match="model variance 0"):
        confidential_divergence(posterior, Y, Posterior(variance=D, model_variance=0.0), Y, 2)


def test_estimates_that_floating_point_does_not_resolve_are_refused():
    far = AreaEstimates(areas=NAMES, values=Y + 1e15)
    with pytest.raises(InputError, match="too large for its sensitivity: direct estimate of 'area0'"):
        conditional_release(FRAME, far, variance=D, model_variance=A, rng=SeededBits(1))


def test_bad_input_is_refused():
    with pytest.raises(InputError, match="sampling variance, row 1"):
        make(variance=np.r_[0.0, D[1:]])
    with pytest.raises(InputError, match="draws"):
        make(draws=0)
    with pytest.raises(InputError, match="label"):
        make(label=3)
