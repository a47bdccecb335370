"""GE(2), half the squared coefficient of variation: value, sensitivities and a ladder.

V = n sum(x_i^2) / (2 sum(x_i)^2) - 1/2. With S and Q the sums of z and of z^2 over the others and t = Q / S,
replacing x_m by y changes V by f_y - f_x, where

    f_y(S, t) = h(y) - h(t) = n S (t - y)^2 / (2 (S + y)^2 (S + t)),

without any cancellation. So h falls to its minimum at t and rises after it, and a change is at most the
larger of f_L and f_U. With c fixed, df/dt has the sign of t - c and df/dS that of c t - t S - 2 S^2: f_L
rises and f_U falls in t, and in S both rise until S* = 2 c t / (t + sqrt(t^2 + 8 c t)) and fall after it.
That is what `ratio.ratio_ladder` needs, with the convex z^2: the ladder is the local sensitivity, then the
bound from the ranges of t and S.

Global sensitivity: GS = (n-1) (U - L)^2 / (2 ((n-1) L + U)^2), from all at L to one at U.
f_U: for given S the least t is S / (n-1), and f_U there falls in S, so all others are at L.
f_L: it rises in t, so take the largest Q for given S. In the unit L, with N = n - 1, r = U, d = r - 1: if
S <= N + d, one other is z and the rest are at L, and f_L rises in z:
f_L = n z^2 (z-1)^2 / (2 (N+z)^2 ((N-1+z)^2 + N-1+z^2)). Beyond, S = N + q d with 1 <= q <= N, and
Q <= (1 + r) S - N r gives at most n r^2 q^2 d^2 / (2 (S+1)^2 (S (S+1) + r q d)). That is not above GS,
because N (S+1)^2 (S (S+1) + r q d) - (N+1) r^2 q^2 (N+r)^2 has no negative coefficient as a polynomial in
q - 1, N - q and d. (z = r is the case q = 1.)
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from pgsr.inequality.domain import Domain, Float64
from pgsr.inequality.numerics import UNIT, total
from pgsr.inequality.ratio import Sums, ratio_ladder
from pgsr.inequality.smooth import Accuracy, Ranks


@dataclass(frozen=True, slots=True)
class Square:
    """phi(z) = z^2, see `pgsr.inequality.ratio.Convex`."""

    domain: Domain
    error: int = 5

    def phi(self, x: Float64) -> Float64:
        """The square."""
        return x * x

    def chord(self, a: Float64, b: Float64) -> Float64:
        """The sum of both ends."""
        return a + b

    def lowest(self, lam: Float64) -> tuple[Float64, Float64]:
        """Half of lam, kept inside the domain."""
        z = np.clip(lam / 2, self.domain.lower, self.domain.upper)
        return z, z * z


def value(x: Float64) -> float:
    """V of positive x (n,): half the mean of (x / mean - 1)^2. Error: see `accuracy`."""
    mean = total(x) / x.size
    return total(x, lambda block: np.square(block / mean - 1)) / (2 * x.size)


def _global(domain: Domain) -> float:
    n, low, high = domain.n, domain.lower, domain.upper
    return (n - 1) * ((high - low) / ((n - 1) * low + high)) ** 2 / 2


def _largest(domain: Domain) -> float:
    r, n = domain.ratio, domain.n
    peak = n / (1 + r)
    at = [min(max(math.floor(peak) + step, 0), n) / n for step in (-1, 0, 1, 2)]
    # The root is at most 1 / (2 sqrt(p)); its square cannot overflow, as that of (r - 1) could.
    roots = (math.sqrt(p * (1 - p)) * (r - 1) / (1 + p * (r - 1)) if p else 0.0 for p in at)
    return max(root * root for root in roots) / 2


def accuracy(domain: Domain) -> Accuracy:
    """Error bounds; u = 2^-53, w = U / ((n-1) L + U).

    Ladder: `ratio` finds t to 57 u relative. |t df/dt| is the sum of n/2 t |t - c| S / ((S+c)^2 (S+t)) and
    n/2 t |t - c| S / ((S+c) (S+t)^2). If c = L and t >= 2 L, each is at most 2 f; otherwise each is at most
    n w / 2, since t / (S + t) <= w and U / (S + U) <= w. f counts up to GS only. The formula itself has 30 u
    of f; the local sensitivity is a difference of two. In all below 300 u GS + 60 u n w.

    Value: r = x / mean has 4 u, so the mean of (r - 1)^2 has at most 8 u (2 V + sqrt(2 V)) + 10 u V.
    """
    n = domain.n
    weight = domain.upper / ((n - 1) * domain.lower + domain.upper)
    ladder = UNIT * (384 * _global(domain) + 96 * n * weight)
    return Accuracy(value=32 * UNIT * (1 + _largest(domain)), ladder=ladder)


def largest(domain: Domain) -> float:
    """The largest V on the domain, not below the true one.

    V is U-shaped in each income, so it is attained with j incomes at U and n - j at L: with r = U / L and
    p = j / n, V = p (1 - p) (r - 1)^2 / (2 (1 + p (r - 1))^2), which rises until p = 1 / (1 + r), then falls.
    """
    return _largest(domain) + accuracy(domain).value


def global_sensitivity(domain: Domain) -> float:
    """GS (see the module), not below the true one."""
    return _global(domain) + accuracy(domain).ladder


def move(s: Float64, t: Float64, c: Float64 | float, domain: Domain) -> Float64:
    """f_c(S, t)."""
    far = (t - c) / (s + c)
    return domain.n * far * far * (s / (s + t)) / 2


def move_at_most(s: Float64, t: Float64, c: float, domain: Domain) -> Float64:
    """The largest f_c for sums between s[0] and s[1]."""
    best = 2 * c * t / (t + np.sqrt(t * (t + 8 * c)))
    at = np.stack([s[0], np.clip(best, s[0], s[1]), s[1]])
    result: Float64 = move(at, t, c, domain).max(axis=0)
    return result


def local(x: Float64, sums: Sums, domain: Domain) -> float:
    """The local sensitivity at sorted x (n,); `sums` are those of x and x^2."""
    worst = 0.0
    for at, s, q in sums.others():
        t = q / s
        # t itself may be the goal: the change is then `here`, so only the rise to an end remains.
        here = move(s, t, x[at], domain)
        ends = np.maximum(move(s, t, domain.lower, domain), move(s, t, domain.upper, domain))
        worst = max(worst, float(np.maximum(ends - here, here).max()))
    return worst


def ladder(x: Float64, domain: Domain) -> Ranks:
    """The ladder of sorted x (n,); errors as stated in `accuracy`."""

    def at_zero(sums: Sums) -> float:
        return local(x, sums, domain)

    def at_most(s: Float64, t: Float64, c: float) -> Float64:
        return move_at_most(s, t, c, domain)

    return ratio_ladder(x, Square(domain), at_zero, at_most, _global(domain))
