"""The confidential analysis: the paper's Tables 1 and 2, witnesses of every rank, and one call for all."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest

from pgsr.errors import InputError
from pgsr.inequality import INDICES, Domain, confidential_sensitivity
from pgsr.inequality.witness import Witness, mld_witness, theil_local_witness, theil_range

X = np.array([8.0, 2, 12, 5, 3])
DOMAIN = Domain(n=5, lower=1, upper=20)


def mean_log_deviation(x: np.ndarray) -> mpmath.mpf:
    with mpmath.workdps(40):
        incomes = [mpmath.mpf(one) for one in x.tolist()]
        return mpmath.log(sum(incomes) / len(incomes)) - sum(map(mpmath.log, incomes)) / len(incomes)


@pytest.mark.parametrize(
    ("rank", "data", "move", "change"),
    [
        (0, [2, 3, 5, 8, 12], (5, 1), 0.1788),
        (1, [2, 3, 5, 8, 1], (8, 20), 0.3063),
        (2, [2, 3, 5, 1, 1], (5, 20), 0.5337),
        (3, [2, 3, 1, 1, 1], (3, 20), 0.7600),
        (4, [2, 1, 1, 1, 1], (2, 20), 0.9258),
        (5, [1, 1, 1, 1, 1], (1, 20), 0.9695),
    ],
)
def test_table_1(rank: int, data: list[float], move: tuple[float, float], change: float) -> None:
    found = mld_witness(X, DOMAIN, rank)
    assert found.data.tolist() == data
    assert (found.before, found.after) == move
    assert found.data[found.position] == found.before
    assert round(found.change, 4) == change


@pytest.mark.parametrize(
    ("rank", "smallest", "largest", "t", "bound"),
    [
        (0, [2, 3, 5, 8], [3, 5, 8, 12], (2.854, 20), 0.5355),
        (1, [2, 3, 5, 1], [5, 8, 12, 20], (1.327, 20), 0.8280),
        (2, [2, 3, 1, 1], [8, 12, 20, 20], (1.081, 20), 0.9278),
        (3, [2, 1, 1, 1], [12, 20, 20, 20], (1.019, 20), 0.9278),
        (4, [1, 1, 1, 1], [20, 20, 20, 20], (1, 20), 0.9278),
    ],
)
def test_table_2(
    rank: int, smallest: list[float], largest: list[float], t: tuple[float, float], bound: float
) -> None:
    found = theil_range(X, DOMAIN, rank)
    assert (found.smallest.tolist(), found.largest.tolist()) == (smallest, largest)
    assert (round(found.low_t, 3), round(found.up_t, 3)) == t
    assert round(found.bound, 4) == bound
    assert found.low_t - 1e-12 <= found.tight_low_t <= found.tight_up_t <= found.up_t + 1e-12
    assert found.tight_bound <= found.bound + 1e-12
    assert found.tight_bound == INDICES["theil"].ladder(X, DOMAIN, 6)[rank]


def test_theil_at_rank_zero_ranges_over_the_records() -> None:
    found = theil_range(X, DOMAIN, 0)
    exact = []
    for m in range(5):
        others = np.delete(X, m)
        exact.append(math.exp(float((others * np.log(others)).sum() / others.sum())))
    assert (found.tight_low_t, found.tight_up_t) == pytest.approx((min(exact), max(exact)), rel=1e-13)


def test_the_papers_theil_move() -> None:
    found = theil_local_witness(X, DOMAIN)
    assert (found.before, found.after) == (8, 1)
    assert found.change == INDICES["theil"].local(X, DOMAIN) == pytest.approx(0.1428338330346945, abs=1e-14)


def random_case(seed: int) -> tuple[np.ndarray, Domain]:
    rng = np.random.default_rng([17, seed])
    n = int(rng.integers(2, 9))
    high = float(rng.choice([1.01, 5.0, 1e3, 1e6]))
    u = rng.uniform(size=n)
    shapes = [
        1 + u * (high - 1),
        high**u,
        np.full(n, high ** u[0]),
        rng.choice([1.0, high], n),
        high * (1 - 0.1 * u),
        1 + np.floor(8 * u),
    ]
    return np.clip(shapes[seed % 6], 1, high), Domain(n=n, lower=1, upper=high)


def check(found: Witness, x: np.ndarray, domain: Domain, change: float) -> None:
    assert (found.data != np.sort(x)).sum() <= found.rank
    assert found.data.min() >= domain.lower
    assert found.data.max() <= domain.upper
    assert domain.lower <= found.after <= domain.upper
    assert found.change == pytest.approx(change, abs=1e-13)


@pytest.mark.parametrize("seed", range(60))
def test_witnesses_attain_every_rank(seed: int) -> None:
    x, domain = random_case(seed)
    rungs = INDICES["mld"].ladder(x, domain, domain.n + 1)
    for rank, rung in enumerate(rungs.tolist()):
        found = mld_witness(x, domain, rank)
        check(found, x, domain, rung)
        moved = found.data.copy()
        moved[found.position] = found.after
        attained = abs(mean_log_deviation(moved) - mean_log_deviation(found.data))
        assert float(attained) == pytest.approx(rung, abs=1e-12)
    found = theil_local_witness(x, domain)
    check(found, x, domain, INDICES["theil"].local(x, domain))
    moved = found.data.copy()
    moved[found.position] = found.after
    value = INDICES["theil"].value
    assert abs(value(moved) - value(found.data)) == pytest.approx(found.change, abs=1e-13)


@pytest.mark.parametrize("name", sorted(INDICES))
def test_one_call_gives_all(name: str) -> None:
    index = INDICES[name]
    found = confidential_sensitivity(X, DOMAIN, name, 0.5)
    assert found.ladder.tolist() == index.ladder(X, DOMAIN, 6).tolist()
    assert found.local == index.local(X, DOMAIN) == found.ladder[0]
    assert found.global_ == index.global_(DOMAIN) >= found.ladder[-1]
    smooth = index.smooth(X, DOMAIN, 0.5)
    assert (found.smooth, found.rank) == (smooth.value, smooth.rank)
    assert found.smooth == pytest.approx(max(found.ladder * np.exp(-0.5 * np.arange(6))))
    assert (found.index, found.beta) == (name, 0.5)
    assert (
        confidential_sensitivity(X, DOMAIN, name, 0.5, entries=2).ladder.tolist() == found.ladder[:2].tolist()
    )
    assert confidential_sensitivity(X, DOMAIN, name, 0.5, entries=0).ladder.size == 0


def test_no_such_rank() -> None:
    with pytest.raises(InputError, match="rank"):
        mld_witness(X, DOMAIN, -1)
    for rank in (-1, 5):
        with pytest.raises(InputError, match="rank"):
            theil_range(X, DOMAIN, rank)
