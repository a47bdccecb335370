"""Noisy direct estimates: the exact grid, the noise, and Fay-Herriot as post-processing."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

import pgsr
from pgsr.errors import InputError
from pgsr.ledger import Ledger
from pgsr.mechanism import reprocess
from pgsr.noise import SeededBits
from pgsr.privacy import Neighbours
from pgsr.sae.frame import AreaEstimates, AreaFrame
from pgsr.sae.noisydirect import STEPS, NoisyDirectMechanism
from pgsr.sae.posterior import Posterior

NAMES = ("a", "b", "c", "d", "e", "f")
D6 = np.array([0.04, 0.09, 0.16, 0.25, 0.36, 0.49])
DELTA6 = np.array([0.05, 0.08, 0.10, 0.12, 0.15, 0.20])
Y6 = np.array([0.3, 0.45, 0.25, 0.6, 0.1, 0.5])
SLOPE = np.column_stack([np.ones(6), [-1, 0, 1, 2, -2, 0.5]])
DATA = AreaEstimates(areas=NAMES, values=Y6)


def frame(**parts):
    return AreaFrame(**{"areas": NAMES, "sensitivity": DELTA6, "design": SLOPE, **parts})


def ledger(rho=10):
    return Ledger.zcdp(rho, neighbours=Neighbours.SUBSTITUTE)


def run(query, data=DATA, rng=None, budget=None):
    return pgsr.release(query, data, ledger=budget or ledger(), rng=rng or SeededBits(1))


def noisy(**parts):
    return NoisyDirectMechanism(**{"frame": frame(), "rho": "1/4", "variance": D6, **parts})


def test_neighbours_are_at_most_one_sensitivity_apart_on_the_grid():
    query = noisy()
    rng = np.random.default_rng(1)
    farthest = 0
    for _ in range(300):
        y = rng.uniform(0, 1, 6)
        k = int(rng.integers(6))
        moved = y.copy()
        moved[k] += DELTA6[k]
        apart = np.abs(query._points(moved) - query._points(y))
        assert apart[np.arange(6) != k].max() == 0
        farthest = max(farthest, int(apart[k]))
    assert STEPS - 1 <= farthest <= STEPS
    # Worst case for rounding: just below and just above half steps, and the allowance for computing y.
    step = query.steps[0]
    for j in range(2000):
        half = float((Fraction(2 * j + 1, 2)) * step)
        low, high = math.nextafter(half, 0), float(Fraction(half) + Fraction(float(DELTA6[0])))
        y, moved = Y6.copy(), Y6.copy()
        y[0], moved[0] = low, high
        assert query._points(moved)[0] - query._points(y)[0] <= STEPS
    assert query.law.sigma2 == Fraction(STEPS**2) / (2 * Fraction(1, 4))
    assert float(STEPS**2 / (2 * query.law.sigma2)) == 0.25  # rho of a shift by STEPS


def test_noisy_estimates_and_predictors():
    query = noisy(model_variance=0.1)
    made = run(query, rng=SeededBits(4))
    table, areas = made.measurements["noisy"], made.estimate.tables["areas"]
    np.testing.assert_allclose(table["noise_sd"], DELTA6 / math.sqrt(0.5), rtol=1e-5)
    posterior = Posterior(variance=D6 + table["noise_sd"] ** 2, model_variance=0.1, design=SLOPE)
    np.testing.assert_allclose(areas["estimate"], posterior.mean(table["value"]), rtol=1e-12)
    np.testing.assert_allclose(areas["sd"] ** 2, posterior.sigma2, rtol=1e-12)
    assert made.guarantee.sampler == "exact"
    values = [query.noisy(query.measure(DATA, SeededBits(s))) - Y6 for s in range(400)]
    np.testing.assert_allclose(np.std(values, axis=0), table["noise_sd"], rtol=0.18)
    assert made.guarantee.event.rho == Fraction(1, 4)
    assert noisy(frame=frame(moves=True)).event.rho == Fraction(1, 2)


def test_the_model_is_post_processing():
    query = noisy()
    budget = ledger()
    first = run(query, budget=budget)
    assert budget.spent.rho == Fraction(1, 4)
    measured = query.measure(DATA, SeededBits(1))
    again = reprocess(noisy(model_variance=0.2, method="ml"), measured, first)
    assert budget.spent.rho == Fraction(1, 4)
    assert again.estimate.tables["model"]["model_variance"][0] == 0.2
    with pytest.raises(InputError, match="rho"):
        reprocess(noisy(rho="1/3"), measured, first)


def test_everything_from_the_noisy_estimates():
    """p~, D, A and predictors of a binary outcome; coverage of the intervals (95 %)."""
    rng = np.random.default_rng(7)
    m, n, a = 400, 100, 0.0015
    areas = tuple(f"area{i}" for i in range(m))
    public = AreaFrame(
        areas=areas,
        sensitivity=np.full(m, 1 / n),
        weight_total=np.full(m, float(n)),
        kish=np.full(m, 1 / n),
    )
    query = NoisyDirectMechanism(frame=public, rho=1)
    covered = []
    for seed in range(5):
        theta = 0.091 + math.sqrt(a) * rng.normal(size=m)
        y = theta + math.sqrt(0.091 * 0.909 / n) * rng.normal(size=m)
        made = run(query, AreaEstimates(areas=areas, values=y), SeededBits(seed))
        areas_table, model = made.estimate.tables["areas"], made.estimate.tables["model"]
        assert model["proportion"][0] == pytest.approx(0.091, abs=0.01)
        assert model["model_variance"][0] == pytest.approx(a, abs=5e-4)
        covered.append((areas_table["lower"] <= theta) & (theta <= areas_table["upper"]))
    assert np.mean(covered) == pytest.approx(0.95, abs=0.02)


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"rho": 0}, "rho"),
        ({"variance": None}, "weight_total"),
        ({"variance": [0.1] * 5}, "sampling variance"),
        ({"model_variance": -0.1}, "model variance"),
        ({"method": "best"}, "unknown method"),
        ({"clamp": (0.9, 0.1)}, "clamp"),
        ({"deff": [-1.0] * 6}, "deff"),
    ],
)
def test_parameters_that_do_not_fit_are_refused(parts, message):
    with pytest.raises(InputError, match=message):
        noisy(**parts)
