"""What a designer can change and what it does to rho: variances, weights, model variance, sample size.

All are functions of public inputs and return tables, one row an area or a setting.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pgsr.errors import InputError
from pgsr.mechanism import Columns
from pgsr.sae.checks import Float64, number, outcome_range, positive
from pgsr.sae.guarantees import free_rho, own_rho
from pgsr.sae.posterior import Posterior
from pgsr.sae.stages import floored_variance

_ROUNDS = 10_000
_CLOSE = 1e-10


def floor_for_any_model(variance: Any, sensitivity: Any, rho: float, draws: int = 1) -> Float64:
    """D'_k = max(D_k, L Delta_k^2 / (2 rho)) (m,): L joint draws cost at most `rho` for every A and design.

    For public D; D' then takes D's place in mean and variance alike.
    """
    d = positive(variance, "sampling variance")
    delta = positive(sensitivity, "sensitivity", d.size)
    return floored_variance(d, delta, number(rho, "rho", above=True), draws)


def floor_for_this_model(posterior: Posterior, sensitivity: Any, rho: float) -> Float64:
    """The smallest D' >= D (m,) found by raising it step by step until every rho_k is at most `rho`.

    Lower than the floor for any model, and valid for this model variance (and below) and design alone. A
    step multiplies D_k by sqrt(rho_k / rho): rho_k falls as D_k^-2 at the fastest, so no step overshoots. The
    other floor bounds it.
    """
    delta = positive(sensitivity, "sensitivity", posterior.m)
    target = number(rho, "rho", above=True)
    top = floored_variance(posterior.variance, delta, target)
    d = posterior.variance
    for _ in range(_ROUNDS):
        own = own_rho(_with(posterior, d, posterior.model_variance), delta)
        if float(own.max()) <= target * (1 + _CLOSE):
            return np.minimum(d * (1 + _CLOSE), np.maximum(top, d))
        d = np.minimum(d * np.sqrt(np.maximum(own / target, 1.0)), top)
    return top


def equal_weights(
    posterior: Posterior,
    sensitivity: Any,
    counts: Any,
    kish: Any,
    *,
    lower: float = 0.0,
    upper: float = 1.0,
) -> Columns:
    """What rho_k would be with equal weights within areas: Delta_k = R / n_k.

    counts n (m,), kish sum w^2 / W^2 (m,). `rho_fixed` holds the variances as they are (the paper's factor
    (w_max / w_mean)^2); `rho_recomputed` gives each area the smaller sampling variance D_k / (n_k kish_k)
    that equal weights bring, which takes part of the gain back. Factors are rho over these.
    """
    m = posterior.m
    delta = positive(sensitivity, "sensitivity", m)
    n, spread = positive(counts, "counts", m), positive(kish, "kish", m)
    equal = outcome_range(lower, upper) / n
    own = own_rho(posterior, delta)
    fixed = own * (equal / delta) ** 2
    again = own_rho(_with(posterior, posterior.variance / (n * spread), posterior.model_variance), equal)
    return {
        "rho": own,
        "rho_fixed": fixed,
        "rho_recomputed": again,
        "factor_fixed": own / fixed,
        "factor_recomputed": own / again,
    }


def robustness(posterior: Posterior, sensitivity: Any, etas: Sequence[float]) -> Columns:
    """How rho changes if the model variance is A (1 + eta), eta >= -1; one row an eta.

    Columns: eta, joint, and the least, median and greatest relative change of rho_k over the areas. All
    rise with eta, and stay below the bound free of A.
    """
    delta = positive(sensitivity, "sensitivity", posterior.m)
    steps = [number(eta, "eta", -1.0) for eta in etas]
    if not steps:
        raise InputError("no changes", "etas", "give one or more")
    base = own_rho(posterior, delta)
    if float(base.min()) == 0:
        raise InputError("an area costs nothing", "posterior", "leave it out")
    rows = []
    for eta in steps:
        own = own_rho(_with(posterior, posterior.variance, posterior.model_variance * (1 + eta)), delta)
        change = own / base - 1
        rows.append((eta, own.max(), change.min(), np.median(change), change.max()))
    names = ("eta", "joint", "change_least", "change_median", "change_greatest")
    return dict(zip(names, np.array(rows, dtype=np.float64).T, strict=True))


def sample_size(posterior: Posterior, sensitivity: Any, factors: Sequence[float]) -> Columns:
    """Rho if every area had `factor` times its records: Delta / f and D / f, A as it is; one row a factor.

    Columns: factor, joint, free (the bound free of A), least, median and greatest rho_k.
    """
    delta = positive(sensitivity, "sensitivity", posterior.m)
    rows = []
    for factor in factors:
        f = number(factor, "factor", above=True)
        d = posterior.variance / f
        own = own_rho(_with(posterior, d, posterior.model_variance), delta / f)
        rows.append((f, own.max(), free_rho(d, delta / f), own.min(), np.median(own), own.max()))
    if not rows:
        raise InputError("no factors", "factors", "give one or more")
    names = ("factor", "joint", "free", "least", "median", "greatest")
    return dict(zip(names, np.array(rows, dtype=np.float64).T, strict=True))


def _with(posterior: Posterior, variance: Float64, model_variance: float) -> Posterior:
    return Posterior(
        variance=variance,
        model_variance=model_variance,
        design=posterior.design,
        names=posterior.names,
    )
