"""Smooth sensitivity from a ladder, with early stopping ([Nissim2007], Definition 2.2)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from pgsr.errors import InputError
from pgsr.inequality.domain import Float64, number

Ranks = Callable[[int, int], Float64]
"""A ladder: ranks(first, stop) are I_first, ..., I_(stop-1)."""

_FIRST = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class Smooth:
    """Confidential: `value` = exp(-beta `rank`) I_rank, the largest over all ranks."""

    value: float
    rank: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Accuracy:
    """Public bounds on absolute rounding errors: of an index (`value`) and of its sensitivities (`ladder`).

    Functions of n, lower and upper alone. `ladder` holds for the local sensitivity, each I_t and the smooth
    sensitivity; `value` for the index.
    """

    value: float
    ladder: float


def smooth_maximum(ranks: Ranks, most: int, global_sensitivity: float, beta: float) -> Smooth:
    """The maximum over t < `most` of exp(-beta t) I_t, where `ranks` gives the ladder.

    Every I_t is at most `global_sensitivity`, so the search ends at a rank t where the best so far reaches
    exp(-beta t) times that. Raises InputError unless beta > 0.
    """
    beta = number(beta, "beta")
    if beta <= 0:
        raise InputError("beta is not positive", "beta", "give a positive number, fixed without the data")
    best = Smooth(value=0.0, rank=0)
    first, stop = 0, min(_FIRST, most)
    while first < stop:
        weighted = np.exp(-beta * np.arange(first, stop)) * ranks(first, stop)
        at = int(weighted.argmax())
        if weighted[at] > best.value:
            best = Smooth(value=float(weighted[at]), rank=first + at)
        if best.value >= math.exp(-beta * stop) * global_sensitivity:
            break
        first, stop = stop, min(2 * stop, most)
    return best
