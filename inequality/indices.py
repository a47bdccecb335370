"""Plain inequality indices of positive incomes, and their decomposition by groups. Nothing here is private.

Generalised entropy: GE(a) = mean((x / mean)^a - 1) / (a (a - 1)); GE(0) is the mean log deviation, GE(1) the
Theil index. Atkinson: A(e) = 1 - (mean of x^(1-e))^(1/(1-e)) / mean, A(1) = 1 - exp(-MLD).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from pgsr.errors import InputError
from pgsr.inequality import mld as mld_module
from pgsr.inequality import theil as theil_module
from pgsr.inequality.domain import Float64, number, positive_incomes
from pgsr.inequality.numerics import total


def mld(x: Any) -> float:
    """Mean log deviation, GE(0), of positive incomes (n,): 0 if all are equal. Raises InputError."""
    return mld_module.value(positive_incomes(x))


def theil(x: Any) -> float:
    """Theil index, GE(1), of positive incomes (n,): from 0 (all equal) to log(n). Raises InputError."""
    return theil_module.value(positive_incomes(x))


def generalised_entropy(x: Any, a: float) -> float:
    """GE(a) of positive incomes (n,) for any finite `a`; a = 0 and 1 are MLD and Theil.

    Raises InputError, also where the result is beyond what a float can hold.
    """
    array, a = positive_incomes(x), number(a, "a")
    if a in {0.0, 1.0}:
        return mld_module.value(array) if a == 0 else theil_module.value(array)
    result = _powers(array, a) / (a * (a - 1) * array.size)
    if not math.isfinite(result):
        raise InputError("the index is too large to compute", "a", "give a number nearer to 0")
    return result


def _powers(x: Float64, a: float) -> float:
    """The sum of r^a - 1 - a (r - 1), r = x / mean: each term has the sign of a (a - 1)."""
    mean = total(x) / x.size

    def term(block: Float64) -> Float64:
        r = block / mean
        return np.expm1(a * np.log(r)) - a * (r - 1)

    with np.errstate(over="ignore", invalid="ignore"):
        return total(x, term)


def atkinson(x: Any, e: float) -> float:
    """Atkinson's A(e), from 0 (all equal) to 1, of positive incomes (n,), inequality aversion e >= 0.

    Raises InputError for a negative e.
    """
    e = number(e, "e")
    if e < 0:
        raise InputError("inequality aversion is negative", "e", "give 0 or more")
    return atkinson_from_entropy(generalised_entropy(x, 1 - e), e)


def atkinson_from_entropy(entropy: float, e: float) -> float:
    """A(e) from GE(1 - e), for instance from a released MLD (e = 1): post-processing, free of cost.

    A(e) = 1 - (1 + a (a - 1) GE(a))^(1 / a), a = 1 - e; the base is kept at 0 or above.
    """
    a = 1 - e
    if a == 0:
        return -math.expm1(-entropy)
    base = a * (a - 1) * entropy
    return 1.0 if base <= -1 else -math.expm1(math.log1p(base) / a)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Decomposition:
    """GE(a) = `within` + `between`, groups in the order of `labels`.

    `weights` (groups,) are those of the groups' own indices `inside` (groups,) in `within`: share of
    people^(1-a) times share of income^a.
    """

    labels: tuple[str, ...]
    inside: Float64
    weights: Float64
    within: float
    between: float


def decomposition(x: Any, groups: Any, a: float) -> Decomposition:
    """The decomposition of GE(a) of positive incomes (n,) by the group labels (n,) (Shorrocks 1980).

    Raises InputError for lengths that differ.
    """
    array, a = positive_incomes(x), number(a, "a")
    labels, at = np.unique(np.asarray(groups).astype(str), return_inverse=True)
    if at.shape != array.shape:
        raise InputError("not one group label for each income", "groups", "give as many labels as incomes")
    order = np.argsort(at, kind="stable")
    parts = np.split(array[order], np.cumsum(np.bincount(at))[:-1])
    means = np.array([total(part) / part.size for part in parts])
    people = np.array([part.size for part in parts]) / array.size
    ratios = means / (total(array) / array.size)
    inside = np.array([generalised_entropy(part, a) for part in parts])
    weights = people * ratios**a
    # The between part is GE(a) of the group means, each counted as often as its group has members.
    if a == 0:
        between = -float(people @ np.log(ratios))
    elif a == 1:
        between = float(people @ (ratios * np.log(ratios)))
    else:
        between = float(people @ (ratios**a - 1)) / (a * (a - 1))
    return Decomposition(
        labels=tuple(str(label) for label in labels),
        inside=inside,
        weights=weights,
        within=float(weights @ inside),
        between=max(between, 0.0),
    )
