"""Smoothed sampling variances: from a pooled prevalence and the weights, or a generalised variance function.

Estimated variances of small areas are noisy and may be 0 or tiny, where the privacy loss of a draw diverges.
`kish_variance` of public weights and a public or private prevalence is free of the areas' own outcomes.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pgsr.errors import InputError
from pgsr.sae.checks import Float64, number, positive, refuse, vector
from pgsr.sae.design import design_matrix


def kish_variance(
    kish: Any,
    *,
    prevalence: float | None = None,
    unit_variance: float | None = None,
    design_effect: Any = 1.0,
) -> Float64:
    """D (m,) = s^2 deff kish: of a Hajek mean of independent outcomes with one unit variance for all areas.

    kish (m,) = sum w^2/(sum w)^2 of the weights; s^2 is p(1 - p) of a pooled `prevalence` in (0, 1), or
    `unit_variance` > 0; `design_effect` > 0, a number or (m,), is for clustering. As public as these and the
    weights. Raises InputError for anything else.
    """
    if (prevalence is None) == (unit_variance is None):
        raise InputError("not one of the two", "prevalence, unit_variance", "give either")
    if unit_variance is not None:
        spread = number(unit_variance, "unit_variance", above=True)
    else:
        spread = bernoulli_variance(prevalence)
    factors = positive(kish, "kish")
    effect = design_effect
    if np.ndim(effect) == 0:
        effect = np.full(factors.size, effect)
    return spread * factors * positive(effect, "design effect", factors.size)


def bernoulli_variance(prevalence: Any) -> float:
    """p(1 - p); InputError unless p is inside (0, 1), where the variance is not zero."""
    p = number(prevalence, "prevalence", above=True)
    if p >= 1:
        raise InputError("not below 1", "prevalence", "give a pooled prevalence inside (0, 1)")
    return p * (1 - p)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ConfidentialGvf:
    """CONFIDENTIAL: a generalised variance function, log D = b0 + b1 log n (+ b2 log p(1 - p)) + error.

    `coefficients` b; `residual_variance` s^2; `variance` (m,) = exp(fitted + s^2/2), the smoothed variances;
    `fitted_areas` how many areas had a usable variance.
    """

    coefficients: Float64 = field(repr=False)
    residual_variance: float = field(repr=False)
    variance: Float64 = field(repr=False)
    fitted_areas: int = field(repr=False)


def confidential_gvf(variance: Any, size: Any, prevalence: Any = None) -> ConfidentialGvf:
    """Confidential: fit estimated variances (m,) >= 0 on sizes n (m,), least squares in logarithms.

    `size`: records or effective records of the areas; `prevalence` (m,) in (0, 1), if given, adds the term in
    log p(1 - p); the areas' own estimates there make the result depend on them. Areas with variance 0 take no
    part in the fit but get a value. Raises InputError for too few usable areas or equal sizes.
    """
    estimated = vector(variance, "variance")
    m = estimated.size
    refuse(estimated < 0, "a variance is negative", "variance", "give estimated variances")
    columns, names = [np.ones(m), np.log(positive(size, "size", m))], ["intercept", "log size"]
    if prevalence is not None:
        p = positive(prevalence, "prevalence", m, "give prevalences inside (0, 1)")
        refuse(p >= 1, "a number is not below 1", "prevalence", "give prevalences inside (0, 1)")
        columns.append(np.log(p * (1 - p)))
        names.append("log p(1 - p)")
    x, usable = np.column_stack(columns), estimated > 0
    count = int(usable.sum())
    if count <= x.shape[1]:
        where = f"{count} areas with a positive variance, {x.shape[1]} coefficients"
        raise InputError("too few areas for a variance function", where, "use kish_variance")
    fitted, logs = design_matrix(x[usable], count, names), np.log(estimated[usable])
    coefficients = np.linalg.lstsq(fitted, logs, rcond=None)[0].astype(np.float64)
    rest = logs - fitted @ coefficients
    s2 = float(rest @ rest) / (count - x.shape[1])
    return ConfidentialGvf(
        coefficients=coefficients,
        residual_variance=s2,
        variance=np.exp(x @ coefficients + s2 / 2),
        fitted_areas=count,
    )
