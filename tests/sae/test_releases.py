"""Releases with public variances: laws, costs, exactness, coverage, refusals, nothing confidential."""

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
from pgsr.noise import DiscreteGaussian, SeededBits, SystemBits
from pgsr.privacy import Kind, Neighbours
from pgsr.sae.draws import PosteriorMechanism
from pgsr.sae.frame import AreaEstimates, AreaFrame
from pgsr.sae.guarantees import AreaGuarantees, moving_rho
from pgsr.sae.noisydirect import NoisyDirectMechanism
from pgsr.sae.normals import grid_step, standard_normals
from pgsr.sae.posterior import Posterior
from pgsr.sae.reshrink import reshrunk

NAMES = ("a", "b", "c", "d", "e", "f")
D6 = np.array([0.04, 0.09, 0.16, 0.25, 0.36, 0.49])
DELTA6 = np.array([0.05, 0.08, 0.10, 0.12, 0.15, 0.20])
Y6 = np.array([0.3, 0.45, 0.25, 0.6, 0.1, 0.5])
SLOPE = np.column_stack([np.ones(6), [-1, 0, 1, 2, -2, 0.5]])
DATA = AreaEstimates(areas=NAMES, values=Y6)


def frame(**parts):
    return AreaFrame(**{"areas": NAMES, "sensitivity": DELTA6, "design": SLOPE, **parts})


def mechanism(**parts):
    given = {"frame": frame(), "variance": D6, "model_variance": 0.1, "variance_source": "an earlier wave"}
    return PosteriorMechanism(**{**given, **parts})


def ledger(rho=10):
    return Ledger.zcdp(rho, neighbours=Neighbours.SUBSTITUTE)


def run(query, data=DATA, rng=None, budget=None):
    return pgsr.release(query, data, ledger=budget or ledger(), rng=rng or SeededBits(1))


# --- Normals ------------------------------------------------------------------------------------------------


def test_normals_follow_the_normal_law():
    z = standard_normals(200_000, SeededBits(3))
    assert stats.kstest(z, "norm").pvalue > 1e-3
    assert stats.chisquare(np.histogram(stats.norm.cdf(z), bins=64, range=(0, 1))[0]).pvalue > 1e-3
    assert abs(stats.kurtosis(z)) < 0.06
    scaled = np.ldexp(z, 49)
    np.testing.assert_array_equal(scaled, np.rint(scaled))
    whole = DiscreteGaussian(sigma2=Fraction(4**28)).sample(200_000, SeededBits(3))
    assert np.abs(np.ldexp(z, 28) - whole).max() < 0.5
    # The offsets within a cell of 2^-28 are uniform: nothing is left out between the cells.
    inside = np.ldexp(z, 28) - np.rint(np.ldexp(z, 28))
    assert stats.kstest(inside + 0.5, "uniform").pvalue > 1e-3


def test_grid_steps_are_powers_of_two_below_the_scale():
    step = grid_step(np.array([1.0, 0.75, 3.0, 1e-5]))
    np.testing.assert_array_equal(step[:3], [2.0**-16, 2.0**-17, 2.0**-15])
    assert 2.0**-17 < step[3] / 1e-5 <= 2.0**-16


# --- The joint draw -----------------------------------------------------------------------------------------


def test_the_law_of_the_joint_draw_and_what_a_record_does_to_it():
    query = mechanism(draws=4000, limit=1000)
    posterior = query.posterior
    values = query.measure(DATA, SeededBits(5)).values
    sigma = posterior.covariance_matrix()
    error = 5 / math.sqrt(4000)
    np.testing.assert_allclose(values.mean(axis=0), posterior.mean(Y6), atol=error * math.sqrt(sigma.max()))
    np.testing.assert_allclose(np.cov(values.T), sigma, atol=error * sigma.max() * 1.5)
    # With the same bits a record moves every draw by the same vector; its cost under Sigma is rho_k.
    own = AreaGuarantees(posterior=posterior, sensitivity=DELTA6).own
    one = mechanism(draws=1)
    before = one.measure(DATA, SeededBits(6)).values[0]
    for k in range(6):
        y = Y6.copy()
        y[k] += DELTA6[k]
        shift = one.measure(AreaEstimates(areas=NAMES, values=y), SeededBits(6)).values[0] - before
        cost = shift @ np.linalg.solve(sigma, shift) / 2
        assert cost == pytest.approx(float(own[k]), rel=1e-3)
        assert cost <= float(one.event.rho) * (1 + 1e-3)


def test_the_cost_of_draws():
    figures = AreaGuarantees(posterior=mechanism().posterior, sensitivity=DELTA6)
    one = mechanism()
    assert one.event.kind is Kind.ZCDP
    assert one.event.neighbours is Neighbours.SUBSTITUTE
    assert figures.joint < float(one.event.rho) < figures.joint * (1 + 1e-6)
    assert mechanism(draws=7).event.rho == 7 * one.event.rho
    assert float(mechanism(kind="marginals").event.rho) == pytest.approx(figures.marginals, rel=1e-6)
    moved = mechanism(frame=frame(moves=True))
    assert float(moved.event.rho) == pytest.approx(moving_rho(figures.posterior, DELTA6)[0], rel=1e-6)
    assert "any area" in moved.guarantee(SystemBits()).text
    assert mechanism(frame=frame(unit="household")).event.unit == "household"


def test_new_areas_are_of_the_same_joint_draw_and_cost_nothing():
    new_design = np.array([[1.0, 0.5], [1.0, -3.0]])
    query = mechanism(draws=4000, limit=1000, new_areas=("x", "y"), new_design=new_design)
    assert query.event == mechanism(draws=4000, limit=1000).event
    values = query.measure(DATA, SeededBits(5)).values
    x = np.vstack([SLOPE, new_design])
    prior = 0.1 * np.eye(8) + 1e7 * x @ x.T
    gain = prior[:, :6] @ np.linalg.inv(prior[:6, :6] + np.diag(D6))
    sigma = np.linalg.inv(np.linalg.inv(prior) + np.diag(np.r_[1 / D6, 0, 0]))
    np.testing.assert_allclose(values.mean(axis=0), gain @ Y6, atol=0.04)
    np.testing.assert_allclose(np.cov(values.T), sigma, atol=0.035)
    assert mechanism(new_areas=("x", "y"), new_design=new_design).parameters()["new_areas"] == 2
    made = run(mechanism(new_areas=("x", "y"), new_design=new_design)).estimate.tables["areas"]
    assert list(made["area"]) == [*NAMES, "x", "y"]
    np.testing.assert_allclose(made["sd"] ** 2 / 2, np.diag(sigma), rtol=1e-5)
    # The whole vector costs what it costs without the new areas: the divergence of eight from eight numbers.
    shift = gain[:, 3] * DELTA6[3]
    own = AreaGuarantees(posterior=query.posterior, sensitivity=DELTA6).own[3]
    assert shift @ np.linalg.solve(sigma, shift) / 2 == pytest.approx(float(own), rel=1e-4)
    for parts in (
        {"kind": "marginals"},
        {"reshrink": True},
        {"new_areas": ("x",)},
        {"new_areas": ("a", "y")},
    ):
        with pytest.raises(InputError):
            mechanism(**{"new_areas": ("x", "y"), "new_design": new_design, **parts})


def test_marginals_are_drawn_independently():
    query = mechanism(kind="marginals", draws=4000, limit=1000)
    values = query.measure(DATA, SeededBits(8)).values
    np.testing.assert_allclose(values.var(axis=0), query.posterior.sigma2, rtol=0.12)
    correlation = np.corrcoef(values.T) - np.eye(6)
    assert np.abs(correlation).max() < 5 / math.sqrt(4000)


def test_published_draws_lie_on_the_public_grid():
    values = mechanism(draws=3).measure(DATA, SeededBits(2)).values
    steps = values / grid_step(DELTA6)
    np.testing.assert_array_equal(steps, np.rint(steps))


def test_intervals_count_the_noise_of_the_draw():
    """The interval with sqrt(2) sigma covers 95 %, the naive one 83.5 %."""
    rng = np.random.default_rng(11)
    m, a, covered, naive, again = 2000, 0.05, [], [], []
    x = np.column_stack([np.ones(m), rng.normal(size=m)])
    d = np.exp(rng.normal(-2.5, 0.5, m))
    areas = tuple(f"area{i}" for i in range(m))
    public = AreaFrame(areas=areas, sensitivity=np.full(m, 0.01), design=x)
    query = PosteriorMechanism(
        frame=public, variance=d, model_variance=a, variance_source="simulation", reshrink=True
    )
    for seed in range(10):
        theta = x @ [0.3, 0.1] + math.sqrt(a) * rng.normal(size=m)
        y = theta + np.sqrt(d) * rng.normal(size=m)
        made = run(query, AreaEstimates(areas=areas, values=y), SeededBits(seed)).estimate.tables["areas"]
        error = np.abs(made["estimate"] - theta)
        covered.append((made["lower"] <= theta) & (theta <= made["upper"]))
        naive.append(error <= 1.96 * np.sqrt(query.posterior.sigma2))
        again.append(((made["reshrunk"] - theta) / made["reshrunk_sd"]) ** 2)
    assert np.mean(covered) == pytest.approx(0.95, abs=0.006)
    assert np.mean(naive) == pytest.approx(0.835, abs=0.01)
    assert np.mean(again) == pytest.approx(1, abs=0.03)


@pytest.mark.parametrize("draws", [1, 2, 5])
def test_shrinking_again_is_the_best_linear_predictor(draws):
    posterior = mechanism().posterior
    value, mse = reshrunk(posterior, np.array([0.2, 0.7, 0.1, 0.9, 0.3, 0.4]), draws)
    sigma, a, x = posterior.covariance_matrix(), 0.1, SLOPE
    inverse = np.linalg.inv(sigma @ np.diag(1 / D6))
    noise = np.diag(D6) + inverse @ (sigma / draws) @ inverse.T
    pseudo = inverse @ [0.2, 0.7, 0.1, 0.9, 0.3, 0.4]
    prior = a * np.eye(6) + 1e9 * x @ x.T  # a flat prior in the limit
    gain = prior @ np.linalg.inv(prior + noise)
    np.testing.assert_allclose(value, gain @ pseudo, atol=2e-6)
    free = np.linalg.inv(np.linalg.inv(noise) + (np.eye(6) - x @ np.linalg.solve(x.T @ x, x.T)) / a)
    np.testing.assert_allclose(mse, np.diag(free), rtol=1e-9)
    assert (mse < posterior.sigma2 * (1 + 1 / draws)).all()


def test_shrinking_again_gains_one_minus_half_b_with_many_areas():
    posterior = Posterior(variance=np.full(20_000, 0.3), model_variance=0.1)
    _, mse = reshrunk(posterior, np.zeros(20_000))
    assert float(mse[0] / (2 * posterior.sigma2[0])) == pytest.approx(1 - 0.75 / 2, rel=1e-3)
    with pytest.raises(InputError, match="nothing to shrink"):
        reshrunk(Posterior(variance=D6, model_variance=0.0), Y6)


def noisy(**parts):
    return NoisyDirectMechanism(**{"frame": frame(), "rho": "1/4", "variance": D6, **parts})


# --- Refusals, and what is written --------------------------------------------------------------------------


def test_a_tiny_variance_is_never_released_silently():
    d = D6.copy()
    d[2] = 1e-6
    with pytest.raises(InputError, match=r"above the limit 1: area 'c': floor the variances"):
        mechanism(variance=d)
    assert mechanism(variance=d, limit=10**4).event.rho > 100
    for bad in (0.0, -1.0, float("nan")):
        d[2] = bad
        with pytest.raises(InputError, match="sampling variance, row 3"):
            mechanism(variance=d)


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"draws": 0}, "number of draws"),
        ({"draws": 2.5}, "number of draws"),
        ({"kind": "means"}, "unknown kind"),
        ({"model_variance": -1.0}, "model variance"),
        ({"variance_source": " "}, "source of the variances"),
        ({"kind": "marginals", "reshrink": True}, "reshrink"),
        ({"model_variance": 0.0, "reshrink": True}, "reshrink"),
        ({"limit": 0}, "limit"),
    ],
)
def test_parameters_that_do_not_fit_are_refused(parts, message):
    with pytest.raises(InputError, match=message):
        mechanism(**parts)


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"areas": ("a",), "sensitivity": [0.1], "design": None}, "one area alone"),
        ({"areas": ("a", "a", "c", "d", "e", "f")}, "twice"),
        ({"areas": ("a", "\x1b[2J", "c", "d", "e", "f")}, "control character in a label: areas, row 2"),
        ({"areas": ("a", "b", "c\u202e", "d", "e", "f")}, "control character in a label: areas, row 3"),
        ({"areas": ("a", "b", "c", "d\n", "e", "f")}, "control character in a label: areas, row 4"),
        ({"sensitivity": [0.1] * 5}, "sensitivity"),
        ({"sensitivity": [0.0, *DELTA6[1:]]}, "sensitivity, row 1"),
        ({"design": np.ones((6, 2))}, "dependent"),
        ({"kish": [0.1] * 5 + [1.5]}, "kish"),
        ({"moves": 1}, "moves"),
    ],
)
def test_frames_that_do_not_fit_are_refused(parts, message):
    with pytest.raises(InputError, match=message):
        frame(**parts)


def test_data_must_fit_and_a_refusal_costs_nothing():
    budget = ledger()
    for data, message in (
        (AreaEstimates(areas=NAMES[:5], values=Y6[:5]), "area 'f' has no direct estimate"),
        (AreaEstimates(areas=(*NAMES, "g"), values=[*Y6, 0.1]), "area 'g' is not in the public frame"),
        (Y6, "AreaEstimates"),
    ):
        for query in (mechanism(), noisy()):
            with pytest.raises(InputError, match=message):
                run(query, data, budget=budget)
    with pytest.raises(InputError, match="too large"):
        run(noisy(), AreaEstimates(areas=NAMES, values=Y6 * 1e20), budget=budget)
    for kind in ("joint", "marginals"):
        with pytest.raises(InputError, match="too large for its sensitivity: direct estimate of 'a'"):
            run(mechanism(kind=kind), AreaEstimates(areas=NAMES, values=Y6 + 1e15), budget=budget)
    assert budget.spent.rho == 0
    with pytest.raises(InputError, match="row 2") as refusal:
        AreaEstimates(areas=NAMES, values=[0.123456, float("nan"), 0, 0, 0, 0])
    assert "0.123456" not in str(refusal.value)


def test_estimates_that_floating_point_does_not_resolve_are_refused():
    """Within the limits a neighbour's estimate, and the noise, are told apart; beyond them draws repeat."""
    delta = np.full(6, 0.01)
    query = PosteriorMechanism(
        frame=frame(sensitivity=delta),
        variance=np.full(6, 1e-4),
        model_variance=1.0,
        variance_source="an earlier survey",
    )
    near, far = 2.0**30 * 0.01 * 0.999, 2.0**30 * 0.01 * 1.001
    for sign in (-1.0, 1.0):
        query.check(AreaEstimates(areas=NAMES, values=np.full(6, sign * near)))
        with pytest.raises(InputError, match="too large for its sampling variance"):
            query.check(AreaEstimates(areas=NAMES, values=[0, 0, 0, 0, 0, sign * far]))
    data = AreaEstimates(areas=NAMES, values=np.full(6, near))
    draws = [query.measure(data, SeededBits(seed)).values[0, 0] for seed in range(50)]
    assert len(set(draws)) == 50
    wide = PosteriorMechanism(
        frame=frame(sensitivity=delta),
        variance=np.full(6, 1e4),
        model_variance=1.0,
        variance_source="an earlier survey",
    )
    wide.check(AreaEstimates(areas=NAMES, values=np.full(6, 2.0**31 * 0.01)))
    with pytest.raises(InputError, match="too large for its sensitivity"):
        wide.check(AreaEstimates(areas=NAMES, values=np.full(6, 2.0**31 * 0.0101)))


def test_data_in_another_order_is_aligned():
    back = AreaEstimates(areas=NAMES[::-1], values=Y6[::-1])
    first, second = (run(mechanism(), data).measurements["draws"]["value"] for data in (DATA, back))
    np.testing.assert_array_equal(first, second)


def test_an_overspend_is_refused_and_draws_are_charged():
    budget = ledger("0.08")
    run(mechanism(draws=2), budget=budget)
    assert budget.spent.rho == mechanism(draws=2).event.rho
    with pytest.raises(BudgetError):
        run(mechanism(draws=2), budget=budget)


@pytest.mark.parametrize("query", [mechanism(draws=2, reshrink=True), mechanism(kind="marginals"), noisy()])
def test_nothing_confidential_is_written(query, tmp_path):
    made = run(query, rng=SystemBits())
    made.save(tmp_path / "out")
    text = "".join(
        path.read_text() for path in sorted((tmp_path / "out").iterdir()) if path.suffix != ".parquet"
    )
    posterior = Posterior(variance=D6, model_variance=0.1, design=SLOPE)
    secret = np.r_[posterior.mean(Y6), posterior.beta(Y6)]
    published = [
        c for table in (*made.estimate.tables.values(), *made.measurements.values()) for c in table.values()
    ]
    numbers = np.concatenate([np.asarray(c, dtype=float) for c in published if c.dtype.kind in "if"])
    assert np.abs(numbers[:, None] - secret).min() > 1e-9
    assert not any(repr(float(value)) in text for value in secret)
    assert "0.45" not in repr(DATA)
    assert "0.3" not in repr(DATA)
    read = Release.load(tmp_path / "out")
    assert read.guarantee == made.guarantee
    record = json.loads((tmp_path / "out" / "guarantee.json").read_text())
    assert record["event"]["kind"] == "zcdp"
    assert "weight" in record["text"]
    assert "stay the same" in record["text"]
    assert record["invariants"] == []
    assert record["secure"] is True
    assert "NOT PRIVATE" in run(query).guarantee.text
