"""How a privacy budget is shared among the levels of the tree, and how levels are weighted."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from pgsr.errors import InputError
from pgsr.privacy import Kind, Number, as_fraction, show

Weighting = Literal["inverse-variance", "equal"] | tuple[float, ...]
Noise = Literal["laplace", "gaussian"]

GRID = 2**16
"""Weights are whole multiples of 1/GRID, so that weighted sums of integers stay exact."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LevelBudget:
    """One share a level, root first, as exact fractions; shares add up to the cost of the release.

    `kind` PURE: shares are epsilons; ZCDP: rhos. A share of 0 means that the level is not measured (or
    published exactly, if the mechanism lists it as invariant).
    Raises InputError for negative shares, no positive share, and kind APPROXIMATE.
    """

    shares: tuple[Fraction, ...]
    kind: Kind = Kind.PURE

    def __post_init__(self) -> None:
        if self.kind not in (Kind.PURE, Kind.ZCDP):
            raise InputError("levels share pure epsilon or rho", "budget", "use kind pure or zcdp")
        shares = tuple(
            as_fraction(share, f"budget of level {number}")
            for number, share in enumerate(self.shares, start=1)
        )
        for number, share in enumerate(shares, start=1):
            if share < 0:
                raise InputError("a negative share", f"budget of level {number}", "give a number from 0 up")
        if sum(shares) == 0:
            raise InputError("no level has a budget", "budget", "give at least one positive share")
        object.__setattr__(self, "shares", shares)

    @classmethod
    def equal(
        cls, total: Number, levels: int, *, kind: Kind = Kind.PURE, without: Collection[int] = ()
    ) -> LevelBudget:
        """`total` in equal shares over `levels` levels, nothing for the level indices in `without`."""
        unknown = set(without) - set(range(levels))
        if levels < 1 or unknown or len(set(without)) == levels:
            raise InputError("no such levels", "budget", "levels count from 0 at the root; keep at least one")
        share = as_fraction(total, "budget") / (levels - len(set(without)))
        return cls(shares=tuple(Fraction(0) if k in without else share for k in range(levels)), kind=kind)

    @classmethod
    def explicit(cls, shares: Sequence[Number], *, kind: Kind = Kind.PURE) -> LevelBudget:
        """The given shares, root first; text and whole numbers are read exactly."""
        exact = tuple(as_fraction(share, f"budget of level {i}") for i, share in enumerate(shares, start=1))
        return cls(shares=exact, kind=kind)

    @property
    def total(self) -> Fraction:
        """What the release costs."""
        return sum(self.shares, Fraction(0))

    def __str__(self) -> str:
        """The shares and their sum, such as "epsilon 0.1 + 0.2 = 0.3"."""
        name = "epsilon" if self.kind is Kind.PURE else "rho"
        return f"{name} {' + '.join(show(share) for share in self.shares)} = {show(self.total)}"


def check_levels(budget: LevelBudget, noise: Noise, names: Sequence[str], invariant: Collection[str]) -> None:
    """Raise InputError unless `budget` fits the `noise`, the level `names` and the `invariant` levels."""
    if noise not in ("laplace", "gaussian"):
        raise InputError("unknown noise", "noise", "use laplace or gaussian")
    kind = Kind.PURE if noise == "laplace" else Kind.ZCDP
    if budget.kind is not kind:
        raise InputError(f"noise '{noise}' needs a budget of kind '{kind.value}'", "budget", "change one")
    shares = budget.shares
    if len(shares) != len(names):
        raise InputError(f"{len(shares)} shares for {len(names)} levels", "budget", "give one share a level")
    for name in invariant:
        if name not in names:
            raise InputError(f"unknown level '{name}'", "invariant levels", f"levels are {', '.join(names)}")
    for share, name in zip(shares, names, strict=True):
        if name in invariant and share != 0:
            raise InputError(f"level '{name}' is invariant and has a budget", "budget", "give it the share 0")
    if shares[-1] == 0 and names[-1] not in invariant:
        raise InputError("the leaf level has no budget", "budget", "only inner levels may have none")


def level_weights(variances: Sequence[float | None], rule: Weighting) -> tuple[float, ...]:
    """One weight a level from the variances of its noise (None: the level has no noise).

    "equal": 1 everywhere. "inverse-variance": smallest variance / variance of the level, rounded to a
    multiple of 2^-16 and at least 2^-16; so 1 everywhere for equal variances. A level without noise gets
    weight 1 (the caller sets 0 for one that is not measured). A tuple: the weights themselves, one a level.
    Raises InputError for an unknown rule, and for weights that are no finite numbers from 0 up (above 0 for
    the leaves' level) or not one a level.
    """
    if not isinstance(rule, str):
        return _given_weights(rule, len(variances))
    if rule not in ("inverse-variance", "equal"):
        raise InputError("unknown weights", "weights", "use inverse-variance or equal")
    known = [variance for variance in variances if variance is not None]
    if rule == "equal" or not known:
        return (1.0,) * len(variances)
    smallest = min(known)
    weights = []
    for variance in variances:
        if variance is None or variance == smallest:
            weights.append(1.0)
        else:
            weights.append(max(1, round(smallest / variance * GRID)) / GRID)
    return tuple(weights)


def _given_weights(weights: Sequence[float], levels: int) -> tuple[float, ...]:
    """Weights as they were given, checked."""
    try:
        numbers = tuple(float(weight) for weight in weights)
    except (TypeError, ValueError):
        raise InputError("a weight is not a number", "weights", "give one number a level") from None
    if len(numbers) != levels:
        raise InputError(f"{len(numbers)} weights for {levels} levels", "weights", "give one number a level")
    if not all(math.isfinite(weight) and weight >= 0 for weight in numbers) or numbers[-1] == 0:
        raise InputError(
            "a weight is negative or not finite, or that of the leaves is 0",
            "weights",
            "give numbers above 0",
        )
    return numbers
