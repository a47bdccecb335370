"""Which features of areas go with rho: least squares on logarithms, with intervals."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from pgsr.errors import InputError
from pgsr.mechanism import Columns
from pgsr.sae.checks import number, positive
from pgsr.sae.design import design_matrix


def log_log(outcome: Any, features: Mapping[str, Any], *, level: float = 0.95) -> Columns:
    """log(outcome) on an intercept and the logs of the features, all (m,) and positive.

    One row a coefficient: term ("intercept" first), slope, se, lower, upper (t intervals for independent
    errors of equal variance) and correlation, that of the feature's log with the outcome's (NaN for the
    intercept). Raises InputError for dependent features and fewer than p + 2 areas.
    """
    from scipy.stats import t

    y = np.log(positive(outcome, "outcome"))
    names = ["intercept", *features]
    logs = [np.log(positive(column, name, y.size)) for name, column in features.items()]
    x = design_matrix(np.column_stack([np.ones(y.size), *logs]), y.size, names)
    free = y.size - x.shape[1]
    if free < 1:
        raise InputError("too few areas", "outcome", f"give {x.shape[1] + 1} or more")
    coverage = number(level, "level", above=True)
    if coverage >= 1:
        raise InputError("not below 1", "level", "give a coverage such as 0.95")
    u, r = np.linalg.qr(x)
    slope = np.linalg.solve(r, u.T @ y)
    rest = y - x @ slope
    inverse = np.linalg.solve(r, np.eye(r.shape[0]))
    se = np.sqrt(float(rest @ rest) / free * (inverse * inverse).sum(axis=1))
    reach = float(t.ppf(0.5 + coverage / 2, free)) * se
    correlation = [float("nan"), *(float(np.corrcoef(column, y)[0, 1]) for column in logs)]
    return {
        "term": np.array(names, dtype=np.dtypes.StringDType()),
        "slope": slope,
        "se": se,
        "lower": slope - reach,
        "upper": slope + reach,
        "correlation": np.array(correlation),
    }
