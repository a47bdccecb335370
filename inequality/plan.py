"""From a query and a public domain to the public constants of its release, and to the law of the draw."""

from __future__ import annotations

from fractions import Fraction
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pgsr.errors import PgsrError
from pgsr.inequality.domain import Domain
from pgsr.inequality.grid import Grid, power_of_two_below
from pgsr.inequality.index import index
from pgsr.inequality.ladder import LadderPlan
from pgsr.inequality.laplace import LaplacePlan
from pgsr.inequality.query import IndexQuery
from pgsr.inequality.rounding import CauchyPlan
from pgsr.noise import BitSource

Float64 = NDArray[np.float64]
Plan: TypeAlias = LadderPlan | CauchyPlan | LaplacePlan

_FINE_BITS = 10
_COARSE_BITS = 16


class ConfidentialLaw(Protocol):
    """CONFIDENTIAL: the law of one release, for given data; a draw of it may be published."""

    def draw(self, rng: BitSource) -> int:
        """One release: a point of the public grid."""


def release_grid(query: IndexQuery, domain: Domain) -> Grid:
    """The public grid of a release: a function of query and domain only.

    Default step: a power of two some thousand times below the least noise to be expected, min(1/n, global
    sensitivity)/max(1, epsilon), or 2^-16 of the global sensitivity for Laplace noise.
    """
    kind = index(query.index)
    step = query.step
    if step is None:
        wide = kind.global_(domain)
        if query.noise == "laplace":
            step = power_of_two_below(wide, _COARSE_BITS)
        else:
            step = power_of_two_below(min(1.0 / domain.n, wide) / max(1.0, float(query.epsilon)), _FINE_BITS)
    return Grid.covering(kind.largest(domain), step)


def make_plan(query: IndexQuery, domain: Domain) -> Plan:
    """All public constants of the release of `query` on `domain`."""
    kind = index(query.index)
    grid, accuracy = release_grid(query, domain), kind.accuracy(domain)
    bound, delta = Fraction(kind.global_(domain)), Fraction(accuracy.value)
    eta = Fraction(accuracy.ladder)
    if query.noise == "ladder":
        return LadderPlan(epsilon=query.epsilon, grid=grid, n=domain.n, bound=bound, delta=delta, eta=eta)
    if query.noise == "laplace":
        return LaplacePlan(epsilon=query.epsilon, grid=grid, bound=bound, delta=delta)
    assert query.alpha is not None
    assert query.beta is not None
    return CauchyPlan(
        epsilon=query.epsilon,
        alpha=query.alpha,
        beta=query.beta,
        grid=grid,
        bound=bound,
        delta=delta,
        ladder_eta=eta,
    )


def confidential_law(query: IndexQuery, domain: Domain, x: Float64) -> ConfidentialLaw:
    """CONFIDENTIAL: the law of the release of `query` for incomes x (n,) inside the domain."""
    kind, plan = index(query.index), make_plan(query, domain)
    value = _finite(kind.value(x))
    if isinstance(plan, LaplacePlan):
        return plan.confidential_draw(value)
    if isinstance(plan, CauchyPlan):
        return plan.confidential_draw(value, _finite(kind.smooth(x, domain, plan.beta_run).value))
    ladder = [_finite(entry) for entry in kind.ladder(x, domain, plan.rungs).tolist()]
    return plan.confidential_draw(value, ladder)


def _finite(value: float) -> float:
    """`value`, which the error bounds promise to be finite; a fault of ours otherwise."""
    if not np.isfinite(value):
        raise PgsrError("an index or sensitivity is not finite")
    return float(value)
