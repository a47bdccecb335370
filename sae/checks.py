"""Checks of input shared by the small area modules; messages name places, never values."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgsr.errors import InputError

Float64 = NDArray[np.float64]
Int64 = NDArray[np.int64]

CONTROLS = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
"""Categories of what no label has: terminals and pages obey it, or show it as something else."""


def numbers(x: Any, name: str, way_out: str) -> Float64:
    """A copy of `x` as float64 of any shape; InputError for text, ragged rows and anything but numbers."""
    try:
        found = np.asarray(x)
        text = found.dtype.kind == "O" and any(isinstance(entry, (str, bytes)) for entry in found.flat)
        if found.dtype.kind in "iufbO" and not text:
            return np.array(found, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        pass  # The cause may quote an entry.
    raise InputError("not numbers alone", name, way_out)


def vector(x: Any, name: str, m: int | None = None) -> Float64:
    """`x` as a read-only copy (m,) of finite float64; InputError naming `name` and the row otherwise."""
    array = numbers(x, name, "give one number a row")
    if array.ndim != 1:
        raise InputError("not a 1-d array", name, "give one number a row")
    if m is not None and array.size != m:
        raise InputError(f"{array.size} rows instead of {m}", name, "give one number a row")
    refuse(~np.isfinite(array), "a number is missing or not finite", name, "complete it or leave the row out")
    array.flags.writeable = False
    return array


def positive(x: Any, name: str, m: int | None = None, way_out: str = "give positive numbers") -> Float64:
    """`vector`, and InputError naming the first row that is not above zero."""
    array = vector(x, name, m)
    refuse(array <= 0, "a number is not positive", name, way_out)
    return array


def refuse(bad: NDArray[np.bool_], what: str, name: str, way_out: str) -> None:
    """InputError naming the first row (counted from 1) where `bad` is true."""
    places = np.flatnonzero(bad)
    if places.size:
        raise InputError(what, f"{name}, row {places[0] + 1}", way_out)


def number(x: Any, name: str, low: float = 0.0, *, above: bool = False) -> float:
    """`x` as a finite float of at least `low` (`above`: more than it); InputError otherwise."""
    accepted = isinstance(x, (int, float, np.integer, np.floating)) and not isinstance(x, bool)
    value = float(x) if accepted else float("nan")
    if not np.isfinite(value) or value < low or (above and value == low):
        bound = "" if low == -np.inf else f" {'above' if above else 'of at least'} {low:g}"
        raise InputError(f"not a finite number{bound}", name, "give one")
    return value


def labels(x: Any, name: str, m: int | None = None) -> tuple[str, ...]:
    """Distinct text labels; InputError naming the row of a label that is missing or repeated."""
    if isinstance(x, str) or not isinstance(x, (Sequence, np.ndarray)):
        raise InputError("not a list of labels", name, "give one label a row")
    texts = tuple(x)
    if m is not None and len(texts) != m:
        raise InputError(f"{len(texts)} labels instead of {m}", name, "give one label a row")
    seen: set[str] = set()
    for row, text in enumerate(texts, start=1):
        if not isinstance(text, str) or not text.strip():
            raise InputError("a label is not text", f"{name}, row {row}", "give labels as text")
        if any(unicodedata.category(letter) in CONTROLS for letter in text):
            raise InputError("a control character in a label", f"{name}, row {row}", "take it out")
        if text in seen:
            raise InputError(f"label '{text}' twice", f"{name}, row {row}", "give each label once")
        seen.add(text)
    return tuple(str(text) for text in texts)


def finite_rows(x: Float64, name: str) -> None:
    """InputError naming the first row of the matrix `x` with an entry that is missing or infinite."""
    bad = np.asarray(~np.isfinite(x).all(axis=1))
    refuse(bad, "a number is missing or not finite", name, "complete the covariates")


def sums(codes: Int64, x: Any, m: int) -> Float64:
    """Sums (m,) of x (n,) over records with the same place in `codes` (n,)."""
    return np.bincount(codes, weights=x, minlength=m).astype(np.float64)


def public_range(lower: Any, upper: Any) -> tuple[float, float]:
    """The public range of an outcome, both ends finite; InputError unless lower < upper."""
    where, way_out = "lower, upper", "give the smallest and the largest possible outcome"
    if lower is None or upper is None:
        raise InputError("only one end of the public range", where, way_out)
    low, high = (number(end, name, -np.inf) for end, name in ((lower, "lower"), (upper, "upper")))
    if low >= high:
        raise InputError("the range of the outcome is empty", where, way_out)
    return low, high


def outcome_range(lower: Any, upper: Any) -> float:
    """R = upper - lower, the width of `public_range`."""
    low, high = public_range(lower, upper)
    return high - low
