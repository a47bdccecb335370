"""How long small area guarantees take: of many areas, against a draw and against dense algebra."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from pgsr.bench.pages import Log, Row
from pgsr.bench.timing import median_of
from pgsr.noise import SystemBits
from pgsr.sae.checks import Float64
from pgsr.sae.draws import confidential_draws
from pgsr.sae.fayherriot import confidential_fit
from pgsr.sae.frame import AreaEstimates, AreaFrame
from pgsr.sae.guarantees import area_rho, own_rho
from pgsr.sae.posterior import Posterior

SIZES = (2_462, 100_000)
QUICK_SIZES = (500, 5_000)
MOST_DENSE = 2_462
"""Areas up to which the posterior is built as matrices as well."""
COVARIATES = 8
MODEL_VARIANCE = 0.0026
TOLERANCE = 1e-12
_REPEATS = 3

COLUMNS = (
    "areas",
    "columns",
    "joint_s",
    "marginals_s",
    "alone_s",
    "draw_s",
    "joint_over_draw",
    "reml_s",
    "dense_s",
    "dense_ratio",
    "difference",
)
CAPTION = (
    "Small area guarantees of made-up areas, a design of 8 columns: seconds on one core, median of 3, from "
    "D, A and the design. `joint`: exact rho of a joint draw; `marginals`: of independent draws; `alone`: of "
    "every area released alone; `draw`: one joint draw by the mechanism's sampler; `reml`: the fit. `dense`: "
    "rho of a joint draw by matrices (m, m), M' Sigma^-1 M with a Cholesky factor; its ratio to `joint` and "
    "the largest relative difference of any rho_k. A blank means not run."
)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Case:
    """Made-up areas: design (m, p), D, Delta and direct estimates (m,)."""

    design: Float64 = field(repr=False)
    variance: Float64 = field(repr=False)
    sensitivity: Float64 = field(repr=False)
    direct: Float64 = field(repr=False)

    @classmethod
    def of(cls, m: int) -> Case:
        """Sizes, weights and covariates of the order of a national survey's; seeded."""
        rng = np.random.default_rng(m)
        n = np.exp(rng.uniform(np.log(50), np.log(4_000), m))
        x = np.column_stack([np.ones(m), rng.standard_normal((m, COVARIATES - 1))])
        variance = 0.109 * 2.0 / n
        noise = np.sqrt(variance + MODEL_VARIANCE) * rng.standard_normal(m)
        return cls(
            design=x,
            variance=variance,
            sensitivity=rng.uniform(2, 9, m) / n,
            direct=0.125 + x[:, 1:] @ np.full(COVARIATES - 1, 0.01) + noise,
        )

    def posterior(self) -> Posterior:
        """The posterior of the areas."""
        return Posterior(variance=self.variance, model_variance=MODEL_VARIANCE, design=self.design)


def sae_rows(quick: bool, log: Log) -> list[Row]:
    """One row a number of areas; keys as in `COLUMNS`.

    Raises RuntimeError if dense algebra finds another rho: then there is nothing to compare.
    """
    rows = []
    for m in QUICK_SIZES if quick else SIZES:
        log(f"sae: {m:,} areas")
        rows.append(_row(Case.of(m), m, 1 if quick else _REPEATS))
    return rows


def _row(case: Case, m: int, repeats: int) -> Row:
    frame = AreaFrame(areas=[str(k) for k in range(m)], sensitivity=case.sensitivity, design=case.design)
    data = AreaEstimates(areas=frame.areas, values=case.direct)
    rng = SystemBits()

    def draw() -> Float64:
        return confidential_draws(case.posterior(), frame, data, draws=1, kind="joint", rng=rng)

    def marginals() -> float:
        found = case.posterior()
        return float((own_rho(found, case.sensitivity) * (1 + found.correlation2_sum)).max())

    draw()  # loads what is loaded once
    joint_s, own = median_of(lambda: own_rho(case.posterior(), case.sensitivity), repeats)
    draw_s, _ = median_of(draw, repeats)
    row: Row = {
        "areas": m,
        "columns": COVARIATES,
        "joint_s": joint_s,
        "marginals_s": median_of(marginals, repeats)[0],
        "alone_s": median_of(lambda: area_rho(case.posterior(), case.sensitivity), repeats)[0],
        "draw_s": draw_s,
        "joint_over_draw": joint_s / draw_s,
        "reml_s": median_of(lambda: confidential_fit(case.direct, case.variance, case.design), repeats)[0],
    }
    if m <= MOST_DENSE:
        dense_s, dense = median_of(lambda: dense_rho(case), repeats)
        difference = float(np.abs(dense / own - 1).max())
        if difference > TOLERANCE:
            raise RuntimeError("dense algebra finds another rho")
        row |= {"dense_s": dense_s, "dense_ratio": dense_s / joint_s, "difference": difference}
    return row


def dense_rho(case: Case) -> Float64:
    """rho_k (m,) from the definition: Delta_k^2 M_.k' Sigma^-1 M_.k / 2 with matrices (m, m).

    Sigma^-1 = D^-1 + (I - H) / A. With Sigma^-1 = L L' and M = Sigma D^-1: M_.k = Sigma e_k / D_k, and the
    sum is the squared length of L^-1 e_k / D_k.
    """
    from scipy.linalg import solve_triangular

    m = case.variance.size
    q, _ = np.linalg.qr(case.design)
    precision = np.diag(1 / case.variance) + (np.eye(m) - q @ q.T) / MODEL_VARIANCE
    lower = np.linalg.cholesky(precision)
    columns = solve_triangular(lower, np.diag(1 / case.variance), lower=True)
    return np.asarray(case.sensitivity**2 * (columns * columns).sum(axis=0) / 2, dtype=np.float64)
