"""The confidential analysis of sensitivity: for the data's custodian, never for publication."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pgsr.errors import InputError
from pgsr.inequality.domain import Domain, Float64
from pgsr.inequality.index import index as index_named
from pgsr.inequality.smooth import smooth_maximum


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Sensitivity:
    """Confidential: every number but `global_` and `beta` depends on the incomes.

    `ladder` are I_0, I_1, ...; `smooth` is exp(-beta `rank`) I_rank, the largest.
    """

    index: str
    beta: float
    local: float
    global_: float
    smooth: float
    rank: int
    ladder: Float64


def confidential_sensitivity(
    x: Any, domain: Domain, index: str, beta: float, entries: int = 100
) -> Sensitivity:
    """Confidential: local, global and smooth sensitivity of an index at incomes x (n,), in any order.

    `entries` is how many ranks of the ladder are listed; there are n + 1 at most. Raises InputError for
    incomes that do not fit the domain, an unknown index, beta <= 0 and a negative number of entries.
    """
    chosen = index_named(index)
    if entries < 0:
        raise InputError("a negative number of entries", "entries", "ask for 0 or more")
    ranks = chosen.ranks(domain.sorted_incomes(x), domain)
    most = chosen.global_(domain)
    best = smooth_maximum(ranks, domain.n + 1, most, beta)
    return Sensitivity(
        index=chosen.name,
        beta=beta,
        local=float(ranks(0, 1)[0]),
        global_=most,
        smooth=best.value,
        rank=best.rank,
        ladder=ranks(0, min(entries, domain.n + 1)),
    )
