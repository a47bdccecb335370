"""How long sensitivities of many incomes take, with and without the sort, and against the direct method."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from pgsr.bench.inequality_laws import INDEXES, Float64
from pgsr.bench.pages import Log, Row
from pgsr.bench.timing import median_of
from pgsr.inequality import mld_direct
from pgsr.inequality.domain import Domain
from pgsr.inequality.incomes import Incomes
from pgsr.inequality.index import LadderIndex, index
from pgsr.inequality.mechanism import InequalityMechanism
from pgsr.inequality.query import IndexQuery
from pgsr.inequality.smooth import Smooth, smooth_maximum
from pgsr.ledger import Ledger
from pgsr.mechanism import release
from pgsr.noise import SystemBits
from pgsr.privacy import Neighbours

SIZES = (100_000, 1_000_000, 10_000_000)
MOST_DIRECT = 1_000_000
"""Incomes up to which the direct method is run."""
MOST_RANKS = 1_000_000
"""Incomes up to which all n + 1 ranks are computed."""
LOWER, UPPER = 1.0, 1e6
BETA = 0.25
_REPEATS = 3

COLUMNS = (
    "index",
    "n",
    "sort_s",
    "smooth_s",
    "with_sort_s",
    "again_s",
    "all_ranks_s",
    "direct_s",
    "ratio",
    "again_ratio",
    "release_s",
)
CAPTION = (
    "Smooth sensitivity of mean log deviation (exact) and Theil index (B1) at beta 0.25 for lognormal "
    "incomes (sigma 0.9, median 49,000, L = 1, U = 10^6): seconds on one core, median of 3. `sort`; `smooth` "
    "of sorted incomes, sums included; both; `again` with the sums kept, as for another beta; all n + 1 "
    "ranks. `direct`: Theorem 3.3 record by record with early stopping (the paper's Algorithm 1) on the same "
    "sorted incomes. Ratios: `direct` over `smooth` and over `again`. `release`: one index by the ladder, "
    "through `pgsr.release`, sort included. A blank means not run."
)


def inequality_rows(quick: bool, log: Log) -> list[Row]:
    """One row an index and number of incomes; keys as in `COLUMNS`.

    Raises RuntimeError if the direct method finds another sensitivity: then there is nothing to compare.
    """
    rows = []
    repeats = 1 if quick else _REPEATS
    for n in SIZES[:1] if quick else SIZES:
        x = lognormal(n)
        for name in INDEXES:
            log(f"inequality: {name}, {n:,} incomes")
            rows.append(_row(name, x, repeats))
    return rows


def lognormal(n: int) -> Float64:
    """(n,) incomes in no order: lognormal, sigma 0.9, median 49,000, moved into [1, 10^6]."""
    values = 49_000.0 * np.exp(0.9 * np.random.default_rng(n).standard_normal(n))
    return np.clip(values, LOWER, UPPER)


def _row(name: str, x: Float64, repeats: int) -> Row:
    n = len(x)
    kind, domain = index(name), Domain(n=n, lower=LOWER, upper=UPPER)
    _release(name, x[:1000])  # loads what is loaded once
    sort_s, in_order = median_of(lambda: np.sort(x), repeats)
    smooth_s, found = median_of(lambda: kind.smooth(in_order, domain, BETA), repeats)
    both_s, _ = median_of(lambda: kind.smooth(x, domain, BETA), repeats)
    again_s = _again_s(kind, in_order, domain, repeats)
    row: Row = {
        "index": name,
        "n": n,
        "sort_s": sort_s,
        "smooth_s": smooth_s,
        "with_sort_s": both_s,
        "again_s": again_s,
        "rank": found.rank,
    }
    if n <= MOST_RANKS:
        row["all_ranks_s"], _ = median_of(lambda: kind.ranks(in_order, domain)(0, n + 1), repeats)
    if name == "mld" and n <= MOST_DIRECT:
        direct_s, same = median_of(lambda: mld_direct.smooth(in_order, domain, BETA), 1)
        _compare(found, same)
        row |= {"direct_s": direct_s, "ratio": direct_s / smooth_s, "again_ratio": direct_s / again_s}
    row["release_s"], _ = median_of(lambda: _release(name, x), repeats)
    return row


def _again_s(kind: LadderIndex, in_order: Float64, domain: Domain, repeats: int) -> float:
    """Seconds of another search over the ranks of incomes whose sums are kept."""
    ranks, most = kind.ranks(in_order, domain), kind.global_(domain)

    def search() -> Smooth:
        return smooth_maximum(ranks, domain.n + 1, most, BETA)

    search()
    return median_of(search, 10 * repeats)[0]


def _compare(found: Smooth, same: Smooth) -> None:
    if abs(found.value - same.value) > 1e-13:
        raise RuntimeError("the direct method finds another sensitivity")


def _release(name: str, x: Float64) -> None:
    mechanism = InequalityMechanism(
        sizes=len(x), lower=LOWER, upper=UPPER, queries=(IndexQuery(index=name, epsilon=Fraction(1)),)
    )
    ledger = Ledger.pure(1, neighbours=Neighbours.SUBSTITUTE)
    release(mechanism, Incomes(values=x), ledger=ledger, rng=SystemBits())
