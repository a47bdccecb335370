"""Mean log deviation M = log(mean) - mean(log): value, sensitivities and exact ladder.

Replacing x_m by y, with S the sum of the others, changes M by h(y) - h(x_m), h(y) = log(S + y) - log(y) / n
([Li2026], Proposition 3.1). h falls to its minimum at t = S / (n - 1) and rises after it.

The ladder is A^(k), the largest local sensitivity within k replacements (Theorem 3.3): the k largest others
go to L or the k smallest to U. All m have to be compared, but with sorted incomes a few order statistics
suffice. Write P_j and Q_j for the sums of the j smallest and largest incomes. For 1 <= k <= n - 1:

- x_m itself is replaced as well: the extreme sums are P_(n-k) + (k-1) L and Q_(n-k) + (k-1) U, since the
  largest range of h is quasi-convex in S.
- Others to L, m among the ranks n-k..n: S = P_(n-1-k) + k L is the same for all, and its t is at most the
  smallest of them, so that h is monotone on them: the first and the last suffice.
- Others to L, m among the ranks 1..n-1-k: S + x_m = T = P_(n-k) + k L is the same for all. h(c) - h(x) peaks
  in x at (T + c) / (n + 1) and h(x) - h(t) is U-shaped: the ends and the neighbours of the two peaks suffice.
- Others to U: the same with Q_(n-1-k) + k U, ranks 1..k+1, and T = Q_(n-k) + k U, ranks k+2..n.

A^(0) is the last kind with T = P_n; A^(k) = GS for k >= n.
"""

from __future__ import annotations

import math

import numpy as np

from pgsr.inequality.domain import Domain, Float64
from pgsr.inequality.numerics import UNIT, Indices, TopSums, log_ratio, log_ratio_shifted, total
from pgsr.inequality.smooth import Accuracy, Ranks


def value(x: Float64) -> float:
    """M of positive x (n,): the mean of log(mean / x_i). Error: see `accuracy`."""
    mean = total(x) / x.size
    return max(-total(x, lambda block: np.log(block / mean)), 0.0) / x.size


def change(s: Float64 | float, x: Float64 | float, y: Float64 | float, n: int) -> Float64:
    """h(y) - h(x): what replacing x by y adds to M, where `s` is the sum of the other n - 1 incomes."""
    return log_ratio_shifted(s, y, x) - log_ratio(y, x) / n


def change_at_most(s: Float64, x: Float64, domain: Domain) -> Float64:
    """D(S, x): the largest |change| when x moves anywhere in the domain (Proposition 3.1)."""
    n, low, high = domain.n, domain.lower, domain.upper
    lowest = np.clip(s / (n - 1), low, high)
    worst = np.maximum(np.abs(change(s, x, low, n)), np.abs(change(s, x, high, n)))
    return np.maximum(worst, change(s, lowest, x, n))


def range_at_most(s: Float64, domain: Domain) -> Float64:
    """R(S): the largest |change| when one income moves from anywhere to anywhere."""
    n, low, high = domain.n, domain.lower, domain.upper
    lowest = np.clip(s / (n - 1), low, high)
    return np.maximum(change(s, lowest, low, n), change(s, lowest, high, n))


def accuracy(domain: Domain) -> Accuracy:
    """Error bounds; u = 2^-53, r = U / L.

    Ladder: S is a sum of two parts of 2.2 u or less (`TopSums`), a product and perhaps a difference T - x
    with x <= T / 2: 9 u relative. `change` then has at most 13 + 9 u of log((S+y) / (S+x)), which is at most
    log1p((r-1) / n), 13 u of log(r) / n, and u for the difference. At a minimum t or a peak, an error of 10 u
    in its place counts squared. exp(-beta k) adds 10 u of I_k <= log1p((r-1) / n). In all below 40 u of each.

    Value: x / mean has 4 u; the logarithm adds 8 u of its size, the sums and the division 5 u. The mean of
    |log(x / mean)| is at most M + 2/e <= log(r) + 1, since log(z) <= z / e.
    """
    spread = math.log(domain.ratio)
    ladder = 64 * UNIT * (math.log1p((domain.ratio - 1) / domain.n) + spread / domain.n)
    return Accuracy(value=32 * UNIT * (1 + spread), ladder=ladder)


def largest(domain: Domain) -> float:
    """The largest M on the domain, not below the true one.

    M is U-shaped in each income, so it is attained with j incomes at U and n - j at L. With r = U / L and
    p = j / n, M = log1p(p (r - 1)) - p log(r), concave in p with its peak at 1 / log(r) - 1 / (r - 1).
    """
    n, r = domain.n, domain.ratio
    peak = n * (1 / math.log(r) - 1 / (r - 1))
    at = [min(max(math.floor(peak) + step, 0), n) / n for step in (-1, 0, 1, 2)]
    return max(math.log1p(p * (r - 1)) - p * math.log(r) for p in at) + accuracy(domain).value


def _global(domain: Domain) -> float:
    s = (domain.n - 1) * domain.lower
    return float(change(s, domain.lower, domain.upper, domain.n))


def global_sensitivity(domain: Domain) -> float:
    """GS = log(((n-1) L + U) / (n L)) - log(U / L) / n (Proposition 3.2), not below the true one."""
    return _global(domain) + accuracy(domain).ladder


def ladder(x: Float64, domain: Domain) -> Ranks:
    """A^(k) of sorted x (n,), exact."""
    n, most = domain.n, _global(domain)
    kept: list[TopSums] = []

    def ranks(first: int, stop: int) -> Float64:
        result: Float64 = np.full(stop - first, most)
        needed = min(stop, n) + 1
        if not kept or kept[0].depth < needed:
            kept[:] = [TopSums(x, max(needed, min(2 * needed, 512)))]
        sums = kept[0]
        if first == 0 < stop:
            result[0] = _local(x, sums, domain)
        k = np.arange(max(first, 1), min(stop, n))
        if k.size:
            result[k - first] = _replaced(x, sums, domain, k)
        return np.minimum(result, most, out=result)

    return ranks


def _local(x: Float64, sums: TopSums, domain: Domain) -> float:
    n = domain.n
    all_ = float(sums.smallest(np.array(n)))
    at = _candidates(x, np.array([all_]), np.array([0]), np.array([n - 1]), domain)
    mine = x[at]
    # T - x loses digits when x is nearly all of T, which only the largest income can be.
    others = np.where(at == n - 1, float(sums.smallest(np.array(n - 1))), all_ - mine)
    return float(change_at_most(others, mine, domain).max())


def _replaced(x: Float64, sums: TopSums, domain: Domain, k: Indices) -> Float64:
    """A^(k) for each of the ranks 1 <= k <= n - 1."""
    n, low, high = domain.n, domain.lower, domain.upper
    both = range_at_most(
        np.stack([sums.smallest(n - k) + (k - 1) * low, sums.largest(n - k) + (k - 1) * high]), domain
    )
    least = sums.smallest(n - 1 - k) + k * low
    most = sums.largest(n - 1 - k) + k * high
    others = [least, least, most, most]
    mine = [x[n - k - 1], np.full(k.size, x[n - 1]), np.full(k.size, x[0]), x[k]]
    # The last rank has nobody left besides the k others and m: its range is empty, `inside` turns it off.
    inside = n - 2 - k >= 0
    to_low = sums.smallest(n - k) + k * low
    at = _candidates(x, to_low, np.zeros_like(k), np.maximum(n - 2 - k, 0), domain)
    others += list(np.where(inside, to_low - x[at], least))
    mine += list(np.where(inside, x[at], x[n - 1]))
    to_high = sums.largest(n - k) + k * high
    at = _candidates(x, to_high, np.minimum(k + 1, n - 1), np.full(k.size, n - 1), domain)
    others += list(np.where(inside, to_high - x[at], most))
    mine += list(np.where(inside, x[at], x[0]))
    one = change_at_most(np.stack(others), np.stack(mine), domain)
    worst: Float64 = np.maximum(both.max(axis=0), one.max(axis=0))
    return worst


def _candidates(x: Float64, sum_: Float64, first: Indices, last: Indices, domain: Domain) -> Indices:
    """(6, ranks) positions that may attain D when S + x_m = `sum_` for all m in first..last."""
    at = [first, last]
    for end in (domain.lower, domain.upper):
        after = np.searchsorted(x, (sum_ + end) / (domain.n + 1))
        at += [np.clip(after - 1, first, last), np.clip(after, first, last)]
    return np.stack(at)
