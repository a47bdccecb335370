"""One index to release: which, at what epsilon, with which noise."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, get_args

from pgsr.errors import InputError
from pgsr.inequality.index import index
from pgsr.inequality.loss import EPSILON_RANGE, alpha_max, check_constants, default_beta
from pgsr.privacy import as_fraction, show

Noise = Literal["ladder", "cauchy", "paper", "laplace"]
"""How an index is made private.

ladder is piecewise Laplace noise on a grid, cauchy smooth sensitivity with the best constants, paper the same
with alpha = epsilon/8, beta = epsilon/2, laplace global sensitivity.
"""


_SMALLEST_BETA = Fraction(1, 1 << 40)


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexQuery:
    """Release the index named `index` at `epsilon` (exact, 0.001 to 64) with `noise`.

    alpha, beta: constants of Cauchy noise, for noise "cauchy" only. beta in (0, epsilon), by default
    `default_beta`; alpha by default the largest that is private. `step` of the grid in the index's unit; by
    default a power of two far below the noise. All are fixed before the data is seen.
    Raises InputError for an unknown index or noise, and for constants whose exact loss is above epsilon.
    """

    index: str
    epsilon: Fraction
    noise: Noise = "ladder"
    alpha: Fraction | None = None
    beta: Fraction | None = None
    step: Fraction | None = None

    def __post_init__(self) -> None:
        put = object.__setattr__
        index(self.index)
        put(self, "epsilon", as_fraction(self.epsilon, f"epsilon of {self.index}"))
        low, high = EPSILON_RANGE
        if not low <= self.epsilon <= high:
            where = f"index '{self.index}'"
            raise InputError(
                f"epsilon is not between {float(low)} and {high}", where, "give one in this range"
            )
        if self.noise not in get_args(Noise):
            raise InputError("unknown noise", f"index '{self.index}'", f"use {', '.join(get_args(Noise))}")
        if self.noise != "cauchy" and (self.alpha is not None or self.beta is not None):
            raise InputError(
                f"alpha and beta have no meaning for noise '{self.noise}'",
                f"index '{self.index}'",
                "leave them out, or use cauchy",
            )
        if self.noise in ("cauchy", "paper"):
            alpha, beta = self._constants()
            put(self, "alpha", alpha)
            put(self, "beta", beta)
        if self.step is not None:
            put(self, "step", as_fraction(self.step, f"step of {self.index}"))
            if self.step <= 0:
                raise InputError("the step is not positive", f"index '{self.index}'", "give a positive one")

    def _constants(self) -> tuple[Fraction, Fraction]:
        if self.noise == "paper":
            return self.epsilon / 8, self.epsilon / 2
        beta = default_beta(self.epsilon) if self.beta is None else as_fraction(self.beta, "beta")
        if not _SMALLEST_BETA <= beta < self.epsilon:
            where = f"index '{self.index}', beta {show(beta)}, epsilon {show(self.epsilon)}"
            raise InputError(
                "beta is not above 2^-40 and below epsilon", where, "give one between, such as epsilon/2"
            )
        alpha = alpha_max(self.epsilon, beta) if self.alpha is None else as_fraction(self.alpha, "alpha")
        check_constants(self.epsilon, alpha, beta)
        return alpha, beta

    def to_dict(self) -> dict[str, Any]:
        """Plain record; fractions as text."""
        record: dict[str, Any] = {"index": self.index, "epsilon": str(self.epsilon), "noise": self.noise}
        for name in ("alpha", "beta", "step"):
            value = getattr(self, name)
            if value is not None:
                record[name] = str(value)
        return record

    def __str__(self) -> str:
        constants = ""
        if self.alpha is not None and self.beta is not None:
            constants = f", alpha {float(self.alpha):.10g}, beta {float(self.beta):.10g}"
        if self.step is not None:
            constants += f", on steps of {show(self.step)}"
        return f"{self.index} at epsilon {show(self.epsilon)} by {self.noise}{constants}"
