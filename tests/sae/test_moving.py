"""Records that may change area: every pair by brute force, each stage by its own definition."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pgsr.errors import InputError
from pgsr.noise import SeededBits, SystemBits
from pgsr.sae.draws import PosteriorMechanism
from pgsr.sae.frame import AreaEstimates, AreaFrame
from pgsr.sae.guarantees import AreaGuarantees, moving_rho
from pgsr.sae.microdata import Microdata
from pgsr.sae.pairs import two_largest, worst_pair
from pgsr.sae.posterior import Posterior
from pgsr.sae.records import moving_sensitivity
from pgsr.sae.stages import proportion_scale
from pgsr.sae.threestage import ThreeStageMechanism

SEEDS = st.integers(0, 2**32 - 1)


def problem(seed: int, m: int = 8, a: float | None = None) -> tuple[Posterior, np.ndarray]:
    rng = np.random.default_rng(seed)
    p = int(rng.integers(1, 4))
    x = np.column_stack([np.ones(m), rng.normal(size=(m, p - 1))])
    d = np.exp(rng.normal(-3, 1.2, m))
    if a is None:
        a = float(np.exp(rng.normal(-4, 2)))
    return Posterior(variance=d, model_variance=a, design=x), np.exp(rng.normal(-2, 0.7, m))


def corners(metric: np.ndarray, delta: np.ndarray) -> float:
    """The largest d'metric d / 2 over shifts of one or two coordinates, of all signs."""
    m = delta.size
    best = max(metric[k, k] * delta[k] ** 2 / 2 for k in range(m))
    for k, n in itertools.combinations(range(m), 2):
        for sign in (-1, 1):
            shift = np.zeros(m)
            shift[k], shift[n] = delta[k], sign * delta[n]
            best = max(best, shift @ metric @ shift / 2)
    return float(best)


@settings(deadline=None, max_examples=60)
@given(seed=SEEDS)
def test_every_pair_of_areas_by_dense_algebra(seed: int) -> None:
    posterior, delta = problem(seed)
    gain, sigma = posterior.gain_matrix(), posterior.covariance_matrix()
    joint = gain.T @ np.linalg.solve(sigma, gain)
    marginals = gain.T @ (gain / posterior.sigma2[:, None])
    for kind, metric in (("joint", joint), ("marginals", marginals)):
        rho, pair = moving_rho(posterior, delta, kind)  # type: ignore[arg-type]
        assert rho == pytest.approx(corners(metric, delta), rel=1e-8)
        assert len(set(pair)) == 2
    # No smaller shift inside the rectangle costs more.
    rng = np.random.default_rng(seed)
    for _ in range(50):
        k, n = rng.choice(delta.size, 2, replace=False)
        shift = np.zeros(delta.size)
        shift[[k, n]] = rng.uniform(-1, 1, 2) * delta[[k, n]]
        assert shift @ marginals @ shift / 2 <= moving_rho(posterior, delta, "marginals")[0] * (1 + 1e-9)


@settings(deadline=None, max_examples=40)
@given(seed=SEEDS)
def test_a_move_costs_between_one_and_four_times_as_much(seed: int) -> None:
    posterior, delta = problem(seed)
    found = AreaGuarantees(posterior=posterior, sensitivity=delta)
    for kind, still in (("joint", found.joint), ("marginals", found.marginals)):
        moving = moving_rho(posterior, delta, kind)[0]  # type: ignore[arg-type]
        assert still < moving <= 4 * still * (1 + 1e-12)
    # The bound free of A and design, on which the floor of the third stage rests.
    assert moving_rho(posterior, delta)[0] <= two_largest(delta**2 / (2 * posterior.variance)) * (1 + 1e-12)


def test_no_model_variance_and_an_area_that_the_model_fixes() -> None:
    x = np.array([[1.0], [2.0], [0.0]])
    posterior, delta = Posterior(variance=np.ones(3), model_variance=0.0, design=x), np.full(3, 0.1)
    metric = np.linalg.pinv(posterior.covariance_matrix())
    gain = posterior.gain_matrix()
    assert moving_rho(posterior, delta)[0] == pytest.approx(corners(gain.T @ metric @ gain, delta), rel=1e-12)
    live = gain[:2].T @ (gain[:2] / posterior.sigma2[:2, None])
    assert moving_rho(posterior, delta, "marginals")[0] == pytest.approx(corners(live, delta), rel=1e-12)


@settings(deadline=None, max_examples=40)
@given(seed=SEEDS, m=st.integers(2, 60), q=st.integers(1, 3))
def test_the_search_finds_the_worst_pair(seed: int, m: int, q: int) -> None:
    rng = np.random.default_rng(seed)
    f = rng.normal(size=(m, q)) * np.exp(rng.normal(0, 1, (m, 1)))
    own = (f * f).sum(axis=1) / 2
    every = own[:, None] + own + np.abs(f @ f.T)
    np.fill_diagonal(every, 0)
    best, (k, n) = worst_pair(own, f, f)
    assert best == pytest.approx(every.max(), rel=1e-13)
    assert every[k, n] == pytest.approx(best, rel=1e-13)


def test_one_area_has_no_pair() -> None:
    assert worst_pair(np.array([2.0]), np.ones((1, 1)), np.ones((1, 1))) == (2.0, (0, 0))


# --- Mechanisms ---------------------------------------------------------------------------------------------


def frame(seed: int, m: int = 7, *, moves: bool = True) -> AreaFrame:
    rng = np.random.default_rng(seed)
    return AreaFrame(
        areas=tuple(f"area{i}" for i in range(m)),
        sensitivity=np.exp(rng.normal(-4, 0.6, m)),
        design=np.column_stack([np.ones(m), rng.normal(size=m)]),
        weight_total=np.exp(rng.normal(8, 1, m)),
        kish=rng.uniform(0.002, 0.02, m),
        moves=moves,
    )


def stages(public: AreaFrame, **parts: object) -> ThreeStageMechanism:
    given_ = {"rho_p": "0.001", "rho_b": "0.02", "rho_a": "0.04", "rho_draw": "0.5"}
    rest = {"clip": 0.4, "reference": 0.004, "clamp": (0.02, 0.6)}
    return ThreeStageMechanism(frame=public, **{**given_, **rest, **parts})  # type: ignore[arg-type]


def moved(public: AreaFrame, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Direct estimates before and after a record has gone from one area to another."""
    y = rng.uniform(0.05, 0.4, public.m)
    k, n = rng.choice(public.m, 2, replace=False)
    after = y.copy()
    after[[k, n]] += rng.choice([-1, 1], 2) * public.sensitivity[[k, n]]
    return y, after


@settings(deadline=None, max_examples=60)
@given(seed=SEEDS, weighting=st.sampled_from(["variance", "sensitivity"]))
def test_no_move_costs_more_than_its_share_in_any_stage(seed: int, weighting: str) -> None:
    public = frame(seed)
    query = stages(public, weighting=weighting, draws=2)
    stage = query._stage(0.15)
    rng = np.random.default_rng(seed)
    share = public.weight_total / public.weight_total.sum()
    covariance = stage.beta_root @ stage.beta_root.T
    posterior = query._posterior(0.15, float(rng.uniform(0, 0.02)))
    inverse = np.linalg.pinv(posterior.covariance_matrix(), hermitian=True)
    beta = rng.normal(0, 0.1, 2)
    for _ in range(20):
        y, after = moved(public, rng)
        shift = after - y
        assert (share @ shift / proportion_scale(public, 0.001)) ** 2 / 2 <= 0.001 * (1 + 1e-9)
        moved_beta = stage.beta_map @ shift
        assert moved_beta @ np.linalg.solve(covariance, moved_beta) / 2 <= 0.02 * (1 + 1e-9)
        parts = [stage.share @ np.minimum((v - public.design @ beta) ** 2, 0.4**2) for v in (y, after)]
        assert ((parts[1] - parts[0]) / stage.t_scale) ** 2 / 2 <= 0.04 * (1 + 1e-9)
        mean = posterior.mean(after) - posterior.mean(y)
        assert 2 * mean @ inverse @ mean / 2 <= 0.5 * (1 + 1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_each_of_the_first_three_stages_is_attained(seed: int) -> None:
    public = frame(seed)
    query = stages(public)
    stage = query._stage(0.15)
    delta, m = public.sensitivity, public.m
    share = public.weight_total / public.weight_total.sum()
    metric = np.outer(share, share) / proportion_scale(public, 0.001) ** 2
    assert corners(metric, delta) == pytest.approx(0.001, rel=1e-9)
    metric = stage.beta_map.T @ np.linalg.inv(stage.beta_root @ stage.beta_root.T) @ stage.beta_map
    assert corners(metric, delta) == pytest.approx(0.02, rel=1e-8)
    steps = [stage.share[k] * (0.4**2 - (0.4 - delta[k]) ** 2) for k in range(m)]
    both = max(a + b for a, b in itertools.combinations(steps, 2))
    assert (both / stage.t_scale) ** 2 / 2 == pytest.approx(0.04, rel=1e-9)


def test_a_move_makes_three_stages_noisier_and_the_statement_says_what_is_planned() -> None:
    still, moves = stages(frame(3, moves=False)), stages(frame(3))
    assert still.event.rho == moves.event.rho
    assert moves._stage(0.15).t_scale > still._stage(0.15).t_scale
    low, high = still._posterior(0.15, 0.0).variance, moves._posterior(0.15, 0.0).variance
    bound = 2 * moves.frame.sensitivity**2 / (2 * 0.5)
    np.testing.assert_allclose(high, np.maximum(low, bound), rtol=1e-12)
    text = moves.guarantee(SystemBits()).text
    assert "any allowed weight and any area" in text
    assert "planned weight totals and Kish factors" in text
    assert "planned" not in still.guarantee(SystemBits()).text
    y = AreaEstimates(areas=moves.frame.areas, values=np.full(7, 0.15))
    assert moves.measure(y, SeededBits(1)).values.shape == (1, 7)


def test_marginals_of_records_that_move() -> None:
    public = frame(4)
    parts = {"variance": np.full(7, 0.002), "model_variance": 0.001, "variance_source": "an earlier wave"}
    query = PosteriorMechanism(frame=public, kind="marginals", limit=10, **parts)
    rho = moving_rho(query.posterior, public.sensitivity, "marginals")[0]
    assert rho < float(query.event.rho) < rho * (1 + 1e-6)


# --- Sensitivities ------------------------------------------------------------------------------------------


@settings(deadline=None, max_examples=60)
@given(seed=SEEDS)
def test_no_replaced_record_moves_an_estimate_further_than_the_public_bounds_say(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = 12
    area = np.array(["a", "b", "c"])[np.r_[0, 0, 0, 1, 1, 1, 2, 2, 2, rng.integers(0, 3, n - 9)]]
    w, y = rng.uniform(0.5, 2, n), rng.integers(0, 2, n).astype(float)
    data = Microdata(outcome=y, weight=w, area=area, areas=("a", "b", "c"))
    rest = min(w[area == k].sum() - w[area == k].max() for k in "abc")
    delta = moving_sensitivity(data, 2.0, rest)
    before = np.array([w[area == k] @ y[area == k] / w[area == k].sum() for k in "abc"])
    for _ in range(20):
        there, weight, value = area.copy(), w.copy(), y.copy()
        i = rng.integers(n)
        there[i], weight[i], value[i] = rng.choice(["a", "b", "c"]), rng.uniform(0.01, 2), rng.integers(0, 2)
        after = np.array([weight[there == k] @ value[there == k] / weight[there == k].sum() for k in "abc"])
        assert (np.abs(after - before) <= delta * (1 + 1e-12)).all()


def test_data_that_do_not_keep_to_the_bounds_are_refused() -> None:
    data = Microdata(outcome=[0, 1, 1, 0], weight=[1, 2, 3, 3], area=list("aabb"), areas=("a", "b"))
    np.testing.assert_allclose(moving_sensitivity(data, 4.0, [1, 2]), [4 / 5, 4 / 6])
    with pytest.raises(InputError, match="weight, row 3") as refusal:
        moving_sensitivity(data, 2.5, 1.0)
    assert "3.0" not in str(refusal.value)
    with pytest.raises(InputError, match="area 'a'"):
        moving_sensitivity(data, 4.0, 2.0)
    for largest, rest in ((0.0, 1.0), (math.inf, 1.0), (4.0, 0.0)):
        with pytest.raises(InputError):
            moving_sensitivity(data, largest, rest)
