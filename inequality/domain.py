"""The public domain of an income vector: how many incomes there are, and the range that they lie in."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgsr.errors import InputError

Float64 = NDArray[np.float64]

SMALLEST = 1e-100
LARGEST = 1e100
MOST = 2**32  # incomes; the error bounds of the sums hold up to there
_RATIO = 1.001


def number(value: Any, where: str) -> float:
    """`value` as a finite float; raises InputError, naming `where`, for anything else."""
    try:
        plain = math.nan if isinstance(value, (str, bytes, bool)) else float(value)
    except (TypeError, ValueError, OverflowError):
        plain = math.nan
    if not math.isfinite(plain):
        raise InputError("not a finite number", where, "give a number")
    return plain


def incomes(x: Any, where: str = "incomes") -> Float64:
    """`x` as float64 (n,); raises InputError unless it is one row of finite numbers (no value is shown)."""
    try:
        array = np.asarray(x)
        if array.dtype.kind not in "iufO":
            raise InputError("not numbers", where, "give the incomes as numbers")
        array = array.astype(np.float64, copy=False)
    except (TypeError, ValueError):
        raise InputError("not numbers", where, "give the incomes as numbers") from None
    if array.ndim != 1:
        raise InputError("not one row of numbers", where, "give a one-dimensional array")
    if not bool(np.isfinite(array).all()):
        raise InputError("a value is missing or infinite", where, "leave such records out before, by a rule")
    return array


def positive_incomes(x: Any) -> Float64:
    """`incomes`, one or more, all positive and between 1e-100 and 1e100; raises InputError otherwise."""
    array = incomes(x)
    if not array.size:
        raise InputError("no incomes", "incomes", "give one or more")
    if array.min() <= 0:
        raise InputError("an income is not positive", "incomes", "add 1 to all incomes, or clip them")
    if array.min() < SMALLEST or array.max() > LARGEST:
        raise InputError("an income outside 1e-100 to 1e100", "incomes", "choose another unit of income")
    return array


@dataclass(frozen=True, slots=True, kw_only=True)
class Domain:
    """Public: `n` incomes, each in [`lower`, `upper`].

    Raises InputError unless 2 <= n <= 2^32, 1e-100 <= lower < upper <= 1e100 and upper / lower >= 1.001: the
    error bounds of `Index.accuracy` are derived for such domains.
    """

    n: int
    lower: float
    upper: float

    def __post_init__(self) -> None:
        if isinstance(self.n, bool) or not isinstance(self.n, (int, np.integer)):
            raise InputError("the number of incomes is not a whole number", "domain, n", "correct it")
        if not 2 <= self.n <= MOST:
            raise InputError("an inequality index needs 2 incomes or more", "domain, n", "2 <= n <= 2^32")
        lower, upper = number(self.lower, "domain, lower"), number(self.upper, "domain, upper")
        if lower <= 0:
            raise InputError("the lower bound is not positive", "domain, lower", "add 1 to all incomes")
        if lower >= upper:
            raise InputError("the lower bound is not below the upper bound", "domain", "give lower < upper")
        if lower < SMALLEST or upper > LARGEST:
            raise InputError("bounds outside 1e-100 to 1e100", "domain", "choose another unit of income")
        if upper / lower < _RATIO:
            raise InputError("the bounds are too close together", "domain", "upper / lower must be >= 1.001")
        object.__setattr__(self, "n", int(self.n))
        object.__setattr__(self, "lower", lower)
        object.__setattr__(self, "upper", upper)

    @property
    def ratio(self) -> float:
        """`upper / lower`."""
        return self.upper / self.lower

    def clip(self, x: Any) -> Float64:
        """The incomes (any length) moved into the domain; raises InputError for missing or infinite ones."""
        return np.clip(incomes(x), self.lower, self.upper)

    def checked(self, x: Any) -> Float64:
        """The incomes (n,) as float64, in the order given.

        Raises InputError, without showing a value, for another number of incomes and for incomes that are
        missing, infinite or outside the domain.
        """
        array = incomes(x)
        if array.size != self.n:
            raise InputError(
                "the number of incomes differs from the public n",
                "incomes",
                f"give {self.n} of them",
            )
        if array.min() < self.lower or array.max() > self.upper:
            raise InputError(
                "an income lies outside the domain",
                "incomes",
                f"clip to [{self.lower:g}, {self.upper:g}]",
            )
        return array

    def sorted_incomes(self, x: Any) -> Float64:
        """The incomes (n,) in ascending order; errors as in `checked`. Sorted ones come back as they are."""
        array = self.checked(x)
        if bool((array[1:] >= array[:-1]).all()):
            return array
        return np.sort(array)
