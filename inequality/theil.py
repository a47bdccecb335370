"""Theil index T: value, local and global sensitivity, and the bound of [Li2026], Theorem 4.3.

T = sum(x_i log x_i) / sum(x_i) - log(mean). With S and H the sums of z and of z log(z / L) over the others,
replacing x_m by y changes T by h(y) - h(x_m), where (Proposition 4.1, in the unit L)

    h(y) - h(x) = y (l_y - e) / (S + y) - x (l_x - e) / (S + x) - log((S + y) / (S + x)),

l_z = log(z / L) and e = H / S. h falls to its minimum at t = L exp(e) and rises after it, so that
f_c(S, t) = h(c) - h(t), c = L or U, bounds every change. In the unit L nothing cancels in H.
"""

from __future__ import annotations

import math

import numpy as np

from pgsr.inequality.domain import Domain, Float64
from pgsr.inequality.numerics import UNIT, Indices, log_ratio, log_ratio_shifted, prefix_sums, total
from pgsr.inequality.ratio import Sums
from pgsr.inequality.smooth import Accuracy, Ranks, Smooth, smooth_maximum


def value(x: Float64) -> float:
    """T of positive x (n,): the mean of r log r, r = x / mean. Error: see `accuracy`."""
    mean = total(x) / x.size

    def term(block: Float64) -> Float64:
        r = block / mean
        return r * np.log(r)

    return max(total(x, term), 0.0) / x.size


def accuracy(domain: Domain) -> Accuracy:
    """Error bounds; u = 2^-53, r = U / L, w = U / ((n-1) L + U).

    Ladder: `pgsr.inequality.ratio` finds e = H / S to 132 u relative, which is 132 u log(r) absolute. Each
    term z (l_z - e) / (S + z) then has an error below 155 u log(r) w. The effect of e on t and so on
    log((S + t) / (S + c)) is at most 135 u log(r) w, and 8 u w of the exponential; that logarithm itself has
    30 u of at most log1p(r / (n-1)), which is above w. The place of the maximum over S counts squared.
    exp(-beta k) adds 10 u of the value.

    Value: r has 4 u, log(r) 8 u of its size, products and sums 5 u; the mean of r |log r| is at most
    T + 2/e <= log(n) + 1, and T moves by (T + 1) times the relative error of the mean.
    """
    spread = math.log(domain.ratio)
    weight = domain.upper / ((domain.n - 1) * domain.lower + domain.upper)
    ladder = UNIT * (512 * spread * weight + 64 * math.log1p(domain.ratio / (domain.n - 1)))
    return Accuracy(value=32 * UNIT * (1 + min(spread, math.log(domain.n))), ladder=ladder)


def largest(domain: Domain) -> float:
    """The largest T on the domain, not below the true one; at most log(n).

    T is U-shaped in each income, so it is attained with j incomes at U and n - j at L. With r = U / L and
    w = 1 + (r - 1) j / n, T = (r log(r) / (r - 1)) (w - 1) / w - log(w) rises until w = r log(r) / (r - 1).
    """
    n, r = domain.n, domain.ratio
    factor = r * math.log(r) / (r - 1)
    peak = n * (factor - 1) / (r - 1)
    at = [min(max(math.floor(peak) + step, 0), n) / n for step in (-1, 0, 1, 2)]
    found = [p * r * math.log(r) / (1 + p * (r - 1)) - math.log1p(p * (r - 1)) for p in at]
    # Terms of the size of log r are subtracted.
    slack = 32 * UNIT * (1 + math.log(r))
    return min(max(found) + slack, math.log(n) * (1 + 4 * UNIT))


def rounded_global(domain: Domain) -> float:
    """GS, rounded either way: the error is within `accuracy`."""
    n, low, high = domain.n, domain.lower, domain.upper
    s = (n - 1) * low
    return high * float(log_ratio(high, low)) / (s + high) - float(log_ratio_shifted(s, high, low))


def global_sensitivity(domain: Domain) -> float:
    """GS = U log(U/L) / ((n-1) L + U) - log(((n-1) L + U) / (n L)), not below the true one (Prop. 4.2)."""
    return rounded_global(domain) + accuracy(domain).ladder


def move_at_most(s: Float64, t: Float64, c: float, domain: Domain) -> Float64:
    """The largest f_c over sums between s[0] and s[1], with H = S log(t / L): `t` is log(t / L) here.

    f_c rises in S up to S* = c (r log r - r + 1) / (r - 1 - log r), r = t / c, and falls after it.
    """
    from_c = t - float(log_ratio(c, domain.lower))  # log r
    grown = np.expm1(from_c)  # r - 1
    near = np.abs(grown) < 1e-3
    up = np.where(near, 1.0, (1 + grown) * from_c - grown)
    down = np.where(near, 1.0, grown - from_c)
    best = c * np.where(near, 1 + grown / 3, up / down)
    at = np.stack([s[0], np.clip(best, s[0], s[1]), s[1]])
    result: Float64 = (log_ratio_shifted(at, domain.lower * np.exp(t), c) - c * from_c / (at + c)).max(axis=0)
    return result


def local_moves(s: Float64, h: Float64, x: Float64, domain: Domain) -> Float64:
    """(3, ...) |changes| of T when x moves to L, to U and to t; s and h are the sums of the others."""
    low, high = domain.lower, domain.upper
    e = h / s
    here = x * (log_ratio(x, low) - e) / (s + x)
    changes = []
    for y, log_y in ((low, 0.0), (high, float(log_ratio(high, low)))):
        changes.append(np.abs(y * (log_y - e) / (s + y) - here - log_ratio_shifted(s, y, x)))
    lowest = np.clip(low * np.exp(e), low, high)
    changes.append(here + log_ratio_shifted(s, lowest, x))
    return np.stack(changes)


def weighted_logs(x: Float64, domain: Domain) -> Float64:
    """Each x log(x / L): relative error at most 13 u."""
    return x * log_ratio(x, domain.lower)


def local(x: Float64, sums: Sums, domain: Domain) -> float:
    """The local sensitivity at sorted x (n,), the largest |change| of T by one income (Proposition 4.1).

    `sums` are those of x and of `weighted_logs`.
    """
    worst = 0.0
    for at, s, h in sums.others():
        worst = max(worst, float(local_moves(s, h, x[at], domain).max()))
    return worst


def paper_ranges(x: Float64, domain: Domain, k: Indices) -> dict[str, Float64]:
    """The paper's ranges of S and t at the ranks 0 <= k <= n - 1 for sorted x (n,): Theorem 4.3, its Table 2.

    Keys low_s, up_s, low_t, up_t, each as long as k. They depend on the unit of income, as H does.
    """
    n, low, high, q = domain.n, domain.lower, domain.upper, k
    phi = np.sort(x * np.log(x))
    ends = sorted((low * math.log(low), high * math.log(high)))
    least = -1 / math.e if low <= 1 / math.e <= high else ends[0]
    below, above = prefix_sums(x), prefix_sums(x[::-1])
    low_s, up_s = below[n - 1 - q] + q * low, above[n - 1 - q] + q * high
    phi_below = np.concatenate([[0.0], np.cumsum(phi)])
    phi_above = np.concatenate([[0.0], np.cumsum(phi[::-1])])
    low_h, up_h = phi_below[n - 1 - q] + q * least, phi_above[n - 1 - q] + q * ends[1]
    with np.errstate(over="ignore"):
        low_t = np.exp(np.minimum(low_h / low_s, low_h / up_s))
        up_t = np.exp(np.maximum(up_h / low_s, up_h / up_s))
    return {
        "low_s": low_s,
        "up_s": up_s,
        "low_t": np.clip(low_t, low, high),
        "up_t": np.clip(up_t, low, high),
    }


def paper_ladder(x: Float64, domain: Domain) -> Ranks:
    """B_T^(k) of sorted x (n,): the paper's ladder (Theorem 4.3), for comparison."""
    most = rounded_global(domain)

    def ranks(first: int, stop: int) -> Float64:
        result = np.full(stop - first, most)
        k = np.arange(first, min(stop, domain.n - 1))
        found = paper_ranges(x, domain, k)
        s = np.stack([found["low_s"], found["up_s"]])
        to_low = move_at_most(s, log_ratio(found["up_t"], domain.lower), domain.lower, domain)
        to_high = move_at_most(s, log_ratio(found["low_t"], domain.lower), domain.upper, domain)
        result[k - first] = np.minimum(np.maximum(to_low, to_high), most)
        return result

    return ranks


def paper_smooth(x: Float64, domain: Domain, beta: float) -> Smooth:
    """The paper's smooth bound of sorted x (n,): max over k of exp(-beta k) B_T^(k).

    Raises InputError unless beta > 0.
    """
    return smooth_maximum(paper_ladder(x, domain), domain.n, global_sensitivity(domain), beta)
