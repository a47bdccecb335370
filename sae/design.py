"""Design matrices of the area-level model: checks of rank, and the weighted QR factorisation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pgsr.errors import InputError
from pgsr.sae.checks import Float64, finite_rows, labels, numbers

RANK_TOLERANCE = 1e-11
"""Smallest singular value of the design with columns scaled to length 1, relative to the largest."""


def intercept(m: int) -> Float64:
    """The design (m, 1) of an intercept alone."""
    return np.ones((m, 1))


def design_matrix(x: Any, m: int, names: Sequence[str] | None = None) -> Float64:
    """`x` as a read-only design (m, p) of full rank; None is an intercept alone.

    No intercept is added. `names` of the columns are used in messages. Raises InputError for missing or
    infinite entries, more columns than areas, and dependent columns, which it names.
    """
    where = "design"
    if x is None:
        x = intercept(m)
    array = numbers(x, where, "give one row an area, one column a covariate")
    if array.ndim != 2 or array.shape[0] != m:
        raise InputError(f"not a matrix of {m} rows", where, "give one row an area, one column a covariate")
    p = array.shape[1]
    named = column_names(p, names)
    if not 1 <= p <= m:
        raise InputError(
            f"{p} columns for {m} areas", where, "give at least one column and no more than areas"
        )
    finite_rows(array, where)
    _check_rank(array, named)
    array.flags.writeable = False
    return array


def column_names(p: int, names: Sequence[str] | None) -> tuple[str, ...]:
    """The names of p columns; by default "column 0", "column 1", ..."""
    if names is None:
        return tuple(f"column {j}" for j in range(p))
    return labels(names, "names of the design's columns", p)


def is_intercept(x: Float64) -> bool:
    """Whether the design is a single column of ones."""
    return x.shape[1] == 1 and bool((x == 1.0).all())


def weighted_qr(x: Float64, total_variance: Float64) -> tuple[Float64, Float64]:
    """V^-1/2 X = U R with orthonormal U (m, p) and upper triangular R (p, p), V = `total_variance` (m,).

    So X R^-1 = V^1/2 U, and Q = (X'V^-1 X)^-1 = R^-1 R^-T. Closed form for an intercept alone. Rows are
    factored largest first, which keeps each row of U accurate when variances differ by many orders of
    magnitude (Cox and Higham 1998).
    """
    root = 1.0 / np.sqrt(total_variance)
    if is_intercept(x):
        length = np.sqrt(root @ root)
        return (root / length)[:, None], np.array([[length]])
    scaled = root[:, None] * x
    lengths = np.sqrt((scaled * scaled).sum(axis=0))
    scaled /= lengths
    order = np.argsort(-np.abs(scaled).max(axis=1), kind="stable")
    sorted_u, r = np.linalg.qr(scaled[order])
    u = np.empty_like(sorted_u)
    u[order] = sorted_u
    return u, r * lengths


def _check_rank(x: Float64, names: tuple[str, ...]) -> None:
    largest = np.abs(x).max(axis=0)
    if (largest == 0).any():
        name = names[int(np.flatnonzero(largest == 0)[0])]
        raise InputError("a column of zeros", f"design, {name}", "leave it out")
    scaled = x / largest
    r = np.linalg.qr(scaled / np.sqrt((scaled * scaled).sum(axis=0)), mode="r")
    _, singular, right = np.linalg.svd(r)
    if singular[-1] <= RANK_TOLERANCE * singular[0]:
        part = np.abs(right[-1])
        found = ", ".join(name for name, size in zip(names, part, strict=True) if size > 1e-6 * part.max())
        raise InputError("the columns are linearly dependent", f"design, {found}", "leave one of them out")
