"""Many releases of the same incomes: what `pgsr.inequality` computes for one release, kept for the next.

CONFIDENTIAL: laws, errors and numbers clipped depend on the incomes. The studies here are about public data.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgsr.inequality.domain import Domain
from pgsr.inequality.index import index
from pgsr.inequality.laplace import LaplacePlan
from pgsr.inequality.plan import ConfidentialLaw, make_plan, release_grid
from pgsr.inequality.query import IndexQuery, Noise
from pgsr.inequality.rounding import CauchyPlan
from pgsr.inequality.smooth import smooth_maximum
from pgsr.inequality.upper import PrivateUpper, UpperGrid
from pgsr.noise import BitSource, SeededBits

Float64 = NDArray[np.float64]
Int64 = NDArray[np.int64]

INDEXES = ("mld", "theil")
NOISES: tuple[Noise, ...] = ("laplace", "paper", "cauchy", "ladder")
LOWER = 1.0
SHIFT = 1.0
EPSILON_UPPER = Fraction(3, 20)
PROBABILITIES = (0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99)
"""Where the distribution of the releases is recorded."""
_KEPT = 512


def study_upper(ratio: str = "51/50") -> PrivateUpper:
    """The private upper bound of the studies: a grid from 1,000 to 10^9, by default in steps of 2 %."""
    grid = UpperGrid.spanning(1000, 10**9, Fraction(ratio))
    return PrivateUpper(grid=grid, epsilon=EPSILON_UPPER)


class ConfidentialLaws:
    """The laws of releases of one index of sorted incomes x (n,) inside a domain.

    The same laws as `confidential_law` gives; value and sums are computed once.
    """

    def __init__(self, name: str, x: Float64, domain: Domain) -> None:
        self._index = index(name)
        self._domain = domain
        self._all_ranks = self._index.ranks(x, domain)
        self._first_ranks = self._all_ranks(0, min(_KEPT, domain.n + 1))
        self.value = self._index.value(x)

    def _ranks(self, first: int, stop: int) -> Float64:
        """The ladder; its first ranks are kept, since each release asks for them."""
        if stop <= len(self._first_ranks):
            return self._first_ranks[first:stop]
        return self._all_ranks(first, stop)

    def law(self, query: IndexQuery) -> ConfidentialLaw:
        """The law of the release of `query`, which asks for this index."""
        plan = make_plan(query, self._domain)
        if isinstance(plan, LaplacePlan):
            return plan.confidential_draw(self.value)
        if isinstance(plan, CauchyPlan):
            most = self._index.global_(self._domain)
            smooth = smooth_maximum(self._ranks, self._domain.n + 1, most, plan.beta_run)
            return plan.confidential_draw(self.value, smooth.value)
        return plan.confidential_draw(self.value, self._ranks(0, plan.rungs).tolist())

    def released(self, query: IndexQuery, runs: int, rng: BitSource) -> Float64:
        """(runs,) independent releases of `query`, in the index's unit."""
        law, grid = self.law(query), release_grid(query, self._domain)
        largest = self._index.largest(self._domain)
        return np.array([grid.value(law.draw(rng), largest) for _ in range(runs)])


def upper_draws(private: PrivateUpper, x: Float64, runs: int, rng: BitSource) -> Int64:
    """(runs,) places in the grid of independent private upper bounds: the law of `PrivateUpper.draw`.

    CONFIDENTIAL inside: the numbers of incomes below the grid's points are counted once.
    """
    counts = private.confidential_counts(x)
    draws = [private.draw_from(counts, len(x), rng) for _ in range(runs)]
    return np.array(draws, dtype=np.int64)


def paper_upper_draws(private: PrivateUpper, x: Float64, runs: int, rng: np.random.Generator) -> Int64:
    """(runs,) places by the paper's form, to compare: exponential noise in doubles, threshold n + 1/epsilon.

    With c_j = #{x_i <= U_j}: the first j with c_j + E_j >= tau. From the first j with c_j = n on, crossings
    are independent with probability p = exp(-epsilon_queries (tau - n)), so that the place follows from one
    geometric draw. Kept to the grid's last point. NOT private: doubles.
    """
    n = len(x)
    counts = private.confidential_counts(x)
    full = int(np.searchsorted(counts, n))  # all incomes are at most this point
    tau_scale, query_scale = 1 / float(private.epsilon_tau or 0), 1 / float(private.epsilon_queries)
    found = np.empty(runs, dtype=np.int64)
    for run in range(runs):
        tau = n + 1 / float(private.epsilon) + rng.exponential(tau_scale)
        crossed = counts[:full] + rng.exponential(query_scale, full) >= tau
        if crossed.any():
            found[run] = int(crossed.argmax())
            continue
        p = max(math.exp(-(tau - n) / query_scale), 1e-300)
        beyond = rng.exponential() / -math.log1p(-p) if p < 1 else 0.0
        found[run] = int(min(full + math.floor(beyond), private.grid.count - 1))
    return found


def clipped(x: Float64, upper: float) -> Float64:
    """Sorted x with the incomes above `upper` moved to it; x itself if there are none."""
    return x if x[-1] <= upper else np.minimum(x, upper)


def seeded(*key: Any) -> SeededBits:
    """Random bits of their own for each key: results do not depend on what ran before."""
    return SeededBits(_number(key))


def generator(*key: Any) -> np.random.Generator:
    """The same for simulated data, which are no part of a release."""
    return np.random.default_rng(_number(key))


def _number(key: Sequence[Any]) -> int:
    return int.from_bytes(hashlib.sha256(repr(key).encode()).digest()[:16], "little")


def quantiles(values: Float64, probabilities: Sequence[float] = PROBABILITIES) -> list[float]:
    """Empirical quantiles as plain numbers."""
    return [float(value) for value in np.quantile(values, probabilities)]
