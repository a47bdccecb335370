"""The plan of the three-stage mechanism: noise scales and debiasing constants, all public.

Fixed before any release: rho_p, rho_b, rho_A, rho_draw, the clip C, A_ref, the range of p~, the number of
draws.

1. p~ = sum_k W_k y_k / W + N(0, Delta_N^2 / (2 rho_p)), clamped. One record moves the sum by at most
   Delta_N = max_k W_k Delta_k / W: rho_p-zCDP. Then D_k = p~ (1 - p~) kish_k deff_k is post-processing.
2. beta~ = G^-1 X'Omega y + N(0, t^2 G^-1), G = X'Omega X. A shift delta of y_k moves it by
   delta omega_k G^-1 x_k, of squared length (delta omega_k)^2 x_k'G^-1 x_k in the metric G: with
   t^2 = max_k (Delta_k omega_k)^2 x_k'G^-1 x_k / (2 rho_b) it is rho_b-zCDP for every p~ (Omega depends on
   p~ and A_ref alone).
3. T~ = sum_k a_k min(r_k^2, C^2) + N(0, s^2), r = y - X beta~, a = omega / sum omega. For fixed beta~ one
   record changes one term, by at most a_k (2 C Delta_k - Delta_k^2), or a_k C^2 from Delta_k = C on:
   with s = GS / sqrt(2 rho_A) it is rho_A-zCDP for every p~ and beta~. A~ = max((T~ - k0)/k1, 0) debiases:
   with h = X G^-1 X'Omega, E r_i^2 = V_i - 2 h_ii V_i + sum_j h_ij^2 V_j + t^2 x_i'G^-1 x_i (hX = X), so
   E T = k0 + k1 A without clipping.
4. L draws with A~ and D'_k = max(D_k, L Delta_k^2 / (2 rho_draw)) in posterior mean and variance: each costs
   at most max_k Delta_k^2 / (2 D'_k) <= rho_draw / L, for every p~, beta~, A~ (`free_rho`).

By adaptive composition of zCDP the whole costs rho_p + rho_b + rho_A + rho_draw.

Records that move (`AreaFrame.moves`) change two areas, k and l, by at most Delta_k and Delta_l. W_k and
kish_k are then public figures of the plan, not sums of the records' weights, so all of the above is a
function of y alone, and each stage pays for two coordinates:
1. Delta_N is the sum of the two largest W_k Delta_k / W.
2. With f_k = Delta_k omega_k R^-T x_k, G = R'R, the shift costs at most |f_k|^2 + |f_l|^2 + 2 |f_k . f_l|
   over 2 t^2 (`pairs`); t^2 = that, at the worst pair, over 2 rho_b.
3. Two terms of T change: GS is the sum of the two largest a_k (2 C Delta_k - Delta_k^2).
4. The shift delta of a joint draw costs delta' D^-1 Sigma D^-1 delta / 2 <= delta' D^-1 delta / 2, as
   Sigma <= D, so at most the sum of two Delta_k^2 / (2 D'_k): the floor is at half of rho_draw.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pgsr.sae.checks import Float64
from pgsr.sae.frame import AreaFrame
from pgsr.sae.normals import grid_step
from pgsr.sae.pairs import two_largest, worst_pair
from pgsr.sae.sensitivity import clipped_square_sensitivity, national_sensitivity
from pgsr.sae.smoothing import kish_variance


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RegressionStage:
    """Stages 2 and 3 for given weights `omega` (m,) > 0.

    beta_map (p, m) = G^-1 X'Omega; beta_root (p, p) with beta_root beta_root' = t^2 G^-1; beta_step, t_step
    the public grids; share a (m,); beta_spread (m,) = t^2 x_i'G^-1 x_i; t_scale the noise s of T~;
    residual_map (m,), the diagonal of h.
    """

    frame: AreaFrame
    omega: Float64 = field(repr=False)
    rho_b: float
    rho_a: float
    clip: float
    beta_map: Float64 = field(init=False, repr=False)
    beta_root: Float64 = field(init=False, repr=False)
    beta_step: Float64 = field(init=False, repr=False)
    beta_spread: Float64 = field(init=False, repr=False)
    leverage: Float64 = field(init=False, repr=False)
    share: Float64 = field(init=False, repr=False)
    t_scale: float = field(init=False)
    t_step: float = field(init=False)

    def __post_init__(self) -> None:
        x, omega, delta = self.frame.design, self.omega, self.frame.sensitivity
        u, r = np.linalg.qr(np.sqrt(omega)[:, None] * x)
        metric = (u * u).sum(axis=1) / omega  # x_k'G^-1 x_k
        # f_k = Delta_k omega_k R^-T x_k, with sqrt(omega) X = U R.
        f = u * (delta * np.sqrt(omega))[:, None]
        squares = (f * f).sum(axis=1) / 2
        moves = self.frame.moves
        t2 = (worst_pair(squares, f, f)[0] if moves else float(squares.max())) / self.rho_b
        inverse = np.linalg.solve(r, np.eye(r.shape[0]))
        share = omega / omega.sum()
        terms = share * clipped_square_sensitivity(delta, self.clip)
        reach = two_largest(terms) if moves else float(terms.max())
        put = object.__setattr__
        put(self, "beta_map", np.linalg.solve(r, u.T * np.sqrt(omega)))
        put(self, "beta_root", math.sqrt(t2) * inverse)
        put(self, "beta_step", grid_step(np.sqrt(t2 * (inverse * inverse).sum(axis=1))))
        put(self, "beta_spread", t2 * metric)
        put(self, "leverage", omega * metric)
        put(self, "share", share)
        put(self, "t_scale", reach / math.sqrt(2.0 * self.rho_a))
        put(self, "t_step", float(grid_step(self.t_scale)))

    def expected(self, v: Float64) -> float:
        """kap(V) = sum_i a_i [V_i - 2 h_ii V_i + sum_j h_ij^2 V_j], in O(m p^2)."""
        x = self.frame.design
        middle = (x * self.share[:, None]).T @ x
        squares = np.einsum("pj,pq,qj->j", self.beta_map, middle, self.beta_map, optimize=True)
        return float((self.share * (1.0 - 2.0 * self.leverage) * v).sum() + (squares * v).sum())

    def model_variance(self, noisy: float, variance: Float64) -> float:
        """A~ = max((T~ - k0)/k1, 0) for T~ and the sampling variances D (m,) before flooring."""
        k1 = self.expected(np.ones_like(variance))
        k0 = self.expected(variance) + float((self.share * self.beta_spread).sum())
        return max((noisy - k0) / k1, 0.0) if k1 > 0 else 0.0


def proportion_scale(frame: AreaFrame, rho_p: float) -> float:
    """The noise Delta_N / sqrt(2 rho_p) of stage 1."""
    reach = national_sensitivity(frame.sensitivity, frame.weight_total, moves=frame.moves)
    return reach / math.sqrt(2.0 * rho_p)


def binary_variance(proportion: float, kish: Float64, deff: Any) -> Float64:
    """D_k = p (1 - p) deff sum w^2/W^2 (m,): the variance of a Hajek proportion of independent outcomes."""
    return kish_variance(kish, prevalence=proportion, design_effect=deff)


def floored_variance(variance: Float64, sensitivity: Float64, rho: float, draws: int = 1) -> Float64:
    """D'_k = max(D_k, L Delta_k^2 / (2 rho)) (m,): L joint draws then cost at most rho, for every A and X.

    Only if D is public or comes from releases that are charged for, and D' is used in posterior mean and
    variance alike. A D estimated from the same data voids it, even where the floor does not bind.
    """
    return np.maximum(variance, draws * sensitivity**2 / (2.0 * rho))
