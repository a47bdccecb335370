"""One object for each inequality index: what a release needs to know about it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Protocol

from pgsr.errors import InputError
from pgsr.inequality import ge2, mld, theil, theil_tight
from pgsr.inequality.domain import Domain, Float64, positive_incomes
from pgsr.inequality.smooth import Accuracy, Ranks, Smooth, smooth_maximum


class Index(Protocol):
    """An inequality index with its sensitivities, for neighbours that differ in one income (n fixed).

    x (n,) are incomes of the domain in any order; sorted ones save the sort. What depends on x is
    confidential: `local`, `ladder`, `smooth`, and `value` itself. What depends on the domain alone is public.
    Raises InputError (no income is shown) if x does not fit the domain.
    """

    @property
    def name(self) -> str:
        """Short name: "mld", "theil" or "ge2"."""

    def value(self, x: Float64) -> float:
        """The index of positive x (n,), n >= 1."""

    def largest(self, domain: Domain) -> float:
        """Public: the largest value on the domain, not below the true one."""

    def local(self, x: Float64, domain: Domain) -> float:
        """Confidential: the local sensitivity at x, the largest change of the value by one income."""

    def global_(self, domain: Domain) -> float:
        """Public: the global sensitivity, not below the true one."""

    def ladder(self, x: Float64, domain: Domain, count: int) -> Float64:
        """Confidential: (count,) I_0, I_1, ...: I_0 >= local and I_t(x) <= I_(t+1)(x') for neighbours.

        The ideal I_t have these properties exactly; those returned differ by at most `accuracy`.
        """

    def smooth(self, x: Float64, domain: Domain, beta: float) -> Smooth:
        """Confidential: the largest exp(-beta t) I_t and its rank t. Raises InputError unless beta > 0."""

    def accuracy(self, domain: Domain) -> Accuracy:
        """Public: bounds on the absolute rounding errors of all of the above."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LadderIndex:
    """An `Index` made of functions, `ranks` being the ladder of sorted incomes."""

    name: str
    value_of: Callable[[Float64], float]
    largest_on: Callable[[Domain], float]
    global_on: Callable[[Domain], float]
    ranks: Callable[[Float64, Domain], Ranks]
    accuracy_on: Callable[[Domain], Accuracy]

    def value(self, x: Float64) -> float:
        """See `Index`. Raises InputError unless x are positive numbers, one or more."""
        return self.value_of(positive_incomes(x))

    def largest(self, domain: Domain) -> float:
        """See `Index`."""
        return self.largest_on(domain)

    def local(self, x: Float64, domain: Domain) -> float:
        """See `Index`."""
        return float(self.ladder(x, domain, 1)[0])

    def global_(self, domain: Domain) -> float:
        """See `Index`."""
        return self.global_on(domain)

    def ladder(self, x: Float64, domain: Domain, count: int) -> Float64:
        """See `Index`. Raises InputError for a negative `count`."""
        if count < 0:
            raise InputError("a negative number of rungs", "count", "ask for 0 or more")
        return self.ranks(domain.sorted_incomes(x), domain)(0, count)

    def smooth(self, x: Float64, domain: Domain, beta: float) -> Smooth:
        """See `Index`. The search over t stops early, once no later rank can be larger."""
        ranks = self.ranks(domain.sorted_incomes(x), domain)
        return smooth_maximum(ranks, domain.n + 1, self.global_on(domain), beta)

    def accuracy(self, domain: Domain) -> Accuracy:
        """See `Index`."""
        return self.accuracy_on(domain)


MLD = LadderIndex(
    name="mld",
    value_of=mld.value,
    largest_on=mld.largest,
    global_on=mld.global_sensitivity,
    ranks=mld.ladder,
    accuracy_on=mld.accuracy,
)
"""Mean log deviation, GE(0), with the exact ladder A^(k), see `pgsr.inequality.mld`."""

THEIL = LadderIndex(
    name="theil",
    value_of=theil.value,
    largest_on=theil.largest,
    global_on=theil.global_sensitivity,
    ranks=theil_tight.ladder,
    accuracy_on=theil.accuracy,
)
"""Theil index, GE(1), with the ladder B1: `pgsr.inequality.theil_tight`."""

GE2 = LadderIndex(
    name="ge2",
    value_of=ge2.value,
    largest_on=ge2.largest,
    global_on=ge2.global_sensitivity,
    ranks=ge2.ladder,
    accuracy_on=ge2.accuracy,
)
"""GE(2), half the squared coefficient of variation: `pgsr.inequality.ge2`."""

INDICES: Mapping[str, LadderIndex] = MappingProxyType({one.name: one for one in (MLD, THEIL, GE2)})


def index(name: Any) -> LadderIndex:
    """The index of that name; raises InputError naming the known ones."""
    if not isinstance(name, str) or name not in INDICES:
        raise InputError(f"unknown index {name!r}", "index", f"choose one of {', '.join(INDICES)}")
    return INDICES[name]
