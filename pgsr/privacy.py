"""What a privacy guarantee is: events, guarantees, and conversions between their kinds.

Everything here is computed from public parameters; budgets are exact fractions.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from numbers import Integral
from typing import Any, Literal

import numpy as np

from pgsr.errors import InputError

Number = int | str | float | Decimal | Fraction
GUARANTEE_FORMAT = "pgsr-guarantee/1"

_LARGEST = 10**12
_TINY = 1e-300
_CLOSED = "zCDP by rho + 2 sqrt(rho ln(1/delta))"
_NUMBER_TEXT = re.compile(r"[+-]?(\d{1,300}/\d{1,300}|\d{0,300}\.?\d{0,300}([eE][+-]?\d{1,3})?)")


class Kind(Enum):
    """Which definition of differential privacy a figure belongs to."""

    PURE = "pure"
    """epsilon-DP."""
    ZCDP = "zcdp"
    """rho-zCDP, zero-concentrated [BunSteinke2016]."""
    APPROXIMATE = "approximate"
    """(epsilon, delta)-DP."""
    CONDITIONAL = "conditional"
    """rho-zCDP if quantities taken from the same data were known constants: no DP guarantee, no charge."""


class Neighbours(Enum):
    """Which two data sets a guarantee holds to be hard to tell apart."""

    ADD_REMOVE = "add-remove"
    """One record is there or not (and, where the mechanism says so, one value of it changes)."""
    SUBSTITUTE = "substitute"
    """One record is replaced by another; the number of records is the same."""


def as_fraction(value: Number, what: str) -> Fraction:
    """`value` as an exact fraction; `what` names it in errors.

    Text is read exactly ("1/3", "0.1", "1e-6"). A float stands for its shortest decimal text, so 0.1 is
    1/10 and not the binary number next to it.
    Raises InputError for anything else, NaN, infinities and exponents above 3 digits.
    """
    if isinstance(value, Fraction):
        return value
    if isinstance(value, Integral) and not isinstance(value, bool):
        value = int(value)  # numpy's too
    if isinstance(value, bool) or not isinstance(value, (int, str, float, Decimal)):
        raise InputError("not a number", what, 'give a fraction as text, such as "1/3" or "0.1"')
    try:
        text = repr(float(value)) if isinstance(value, float) else str(value).strip()
        # The pattern keeps texts such as 1e999999999 from being expanded.
        if _NUMBER_TEXT.fullmatch(text):
            return Fraction(text)
    except (ValueError, ZeroDivisionError):
        pass
    raise InputError("not a number", what, 'give a fraction as text, such as "1/3" or "0.1"')


def show(value: Fraction) -> str:
    """`value` for people: as a decimal if that is exact and short, else as "p/q"."""
    scaled = value * 10**9
    if scaled.denominator != 1 or abs(value) >= 10**15:
        return str(value)
    text = f"{Decimal(int(scaled)).scaleb(-9):f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def exact_keys(
    record: Any, where: str, needed: set[str], optional: frozenset[str] = frozenset()
) -> dict[str, Any]:
    """`record` as a dict if its keys are `needed` and perhaps some of `optional`; else InputError."""
    if not isinstance(record, Mapping):
        raise InputError("not a record", where, "expected a JSON object")
    unknown = sorted(str(key) for key in set(record) - needed - optional)
    if unknown:
        raise InputError(f"unknown key {unknown[0]!r}", where, "written by a newer version, or not ours")
    missing = sorted(needed - set(record))
    if missing:
        raise InputError(f"missing key {missing[0]!r}", where, "restore the file as it was written")
    return dict(record)


def _budget(value: Number | None, what: str) -> Fraction:
    if value is None:
        raise InputError(f"{what} is missing", what, "state it for this kind of guarantee")
    fraction = as_fraction(value, what)
    if fraction < 0 or fraction > _LARGEST:
        raise InputError(f"{what} is negative or above 1e12", what, "give a number from 0 up")
    return fraction


@dataclass(frozen=True, slots=True, kw_only=True)
class PrivacyEvent:
    """The privacy cost of one query, from public parameters only.

    `epsilon` for PURE, `rho` for ZCDP and CONDITIONAL, `epsilon` and `delta` for APPROXIMATE; the others are
    None. A CONDITIONAL figure is no charge: ledgers refuse it.
    `unit` is what is protected ("person"). Raises InputError if figures and kind do not fit.
    """

    kind: Kind
    epsilon: Fraction | None = None
    rho: Fraction | None = None
    delta: Fraction | None = None
    neighbours: Neighbours = Neighbours.ADD_REMOVE
    unit: str = "person"

    def __post_init__(self) -> None:
        kind: Any = self.kind  # callers may not check types
        neighbours: Any = self.neighbours
        unit: Any = self.unit
        if not isinstance(kind, Kind) or not isinstance(neighbours, Neighbours):
            raise InputError("unknown kind or neighbours", "privacy event", "use Kind and Neighbours")
        if not isinstance(unit, str) or not unit.strip():
            raise InputError("the unit of privacy is missing", "privacy event", 'name it, such as "person"')
        wanted = {Kind.PURE: ("epsilon",), Kind.APPROXIMATE: ("epsilon", "delta")}.get(self.kind, ("rho",))
        for name in ("epsilon", "rho", "delta"):
            value = getattr(self, name)
            if name in wanted:
                object.__setattr__(self, name, _budget(value, name))
            elif value is not None:
                raise InputError(
                    f"{name} has no meaning for kind '{self.kind.value}'", "privacy event", "leave it out"
                )
        if self.delta is not None and not 0 < self.delta < 1:
            raise InputError(
                "delta is not between 0 and 1", "delta", "give a small positive number, or use kind pure"
            )

    @classmethod
    def pure(cls, epsilon: Number, **other: Any) -> PrivacyEvent:
        """epsilon-DP; `other` may hold `neighbours` and `unit`."""
        return cls(kind=Kind.PURE, epsilon=as_fraction(epsilon, "epsilon"), **other)

    @classmethod
    def zcdp(cls, rho: Number, **other: Any) -> PrivacyEvent:
        """rho-zCDP; `other` may hold `neighbours` and `unit`."""
        return cls(kind=Kind.ZCDP, rho=as_fraction(rho, "rho"), **other)

    @classmethod
    def approximate(cls, epsilon: Number, delta: Number, **other: Any) -> PrivacyEvent:
        """(epsilon, delta)-DP; `other` may hold `neighbours` and `unit`."""
        exact, small = as_fraction(epsilon, "epsilon"), as_fraction(delta, "delta")
        return cls(kind=Kind.APPROXIMATE, epsilon=exact, delta=small, **other)

    @classmethod
    def conditional(cls, rho: Number, **other: Any) -> PrivacyEvent:
        """A conditional rho, not a DP charge; `other` may hold `neighbours` and `unit`."""
        return cls(kind=Kind.CONDITIONAL, rho=as_fraction(rho, "rho"), **other)

    def __str__(self) -> str:
        """The figures, such as "epsilon 0.1"."""
        figures = [(name, getattr(self, name)) for name in ("epsilon", "rho", "delta")]
        text = ", ".join(f"{name} {show(value)}" for name, value in figures if value is not None)
        return f"conditional {text}" if self.kind is Kind.CONDITIONAL else text

    def to_dict(self) -> dict[str, str]:
        """Plain record; fractions as text."""
        record = {"kind": self.kind.value}
        for name in ("epsilon", "rho", "delta"):
            value = getattr(self, name)
            if value is not None:
                record[name] = str(value)
        record["neighbours"] = self.neighbours.value
        record["unit"] = self.unit
        return record

    @classmethod
    def from_dict(cls, record: Any, where: str = "privacy event") -> PrivacyEvent:
        """The inverse of `to_dict`; InputError, naming `where`, for anything else."""
        fields = exact_keys(
            record, where, {"kind", "neighbours", "unit"}, frozenset({"epsilon", "rho", "delta"})
        )
        if not all(isinstance(value, str) for value in fields.values()):
            raise InputError("a value is not text", where, "fractions are written as text")
        try:
            kind, neighbours = Kind(fields.pop("kind")), Neighbours(fields.pop("neighbours"))
        except ValueError:
            raise InputError(
                "unknown kind or neighbours", where, "written by a newer version, or not ours"
            ) from None
        unit = fields.pop("unit")
        figures = {name: as_fraction(value, f"{where}, {name}") for name, value in fields.items()}
        return cls(kind=kind, neighbours=neighbours, unit=unit, **figures)


@dataclass(frozen=True, slots=True, kw_only=True)
class Guarantee:
    """What a release promises, in figures and in words; a function of public parameters only.

    `event` the cost; `text` the sentence of the release; `public` what is fixed and not protected;
    `invariants` what is published exactly although it comes from the data; `sampler` "exact" (the law of
    the noise is the stated one) or "idealised" (real arithmetic assumed); `randomness` where the random
    bits come from; `secure` False if they can be reproduced, and then nothing is private.
    """

    event: PrivacyEvent
    text: str
    public: tuple[str, ...] = ()
    invariants: tuple[str, ...] = ()
    sampler: Literal["exact", "idealised"]
    randomness: str
    secure: bool

    def __post_init__(self) -> None:
        object.__setattr__(self, "public", tuple(self.public))
        object.__setattr__(self, "invariants", tuple(self.invariants))
        if self.sampler not in ("exact", "idealised"):
            raise InputError("unknown sampler", "guarantee", "use exact or idealised")
        texts: tuple[Any, ...] = (self.text, self.randomness, *self.public, *self.invariants)
        if not all(isinstance(text, str) and text for text in texts) or not isinstance(self.secure, bool):
            raise InputError("a text is missing or 'secure' is not true or false", "guarantee", "state each")

    def to_dict(self) -> dict[str, Any]:
        """Plain record for `guarantee.json`."""
        return {
            "format": GUARANTEE_FORMAT,
            "event": self.event.to_dict(),
            "text": self.text,
            "public": list(self.public),
            "invariants": list(self.invariants),
            "sampler": self.sampler,
            "randomness": self.randomness,
            "secure": self.secure,
        }

    @classmethod
    def from_dict(cls, record: Any, where: str = "guarantee") -> Guarantee:
        """The inverse of `to_dict`; InputError, naming `where`, for another version or other keys."""
        if isinstance(record, Mapping) and record.get("format") != GUARANTEE_FORMAT:
            raise InputError("unknown format", where, f"this version reads {GUARANTEE_FORMAT}")
        names = {"format", "event", "text", "public", "invariants", "sampler", "randomness", "secure"}
        fields = exact_keys(record, where, names)
        if not isinstance(fields["public"], list) or not isinstance(fields["invariants"], list):
            raise InputError(
                "'public' or 'invariants' is not a list", where, "restore the file as it was written"
            )
        del fields["format"]
        fields["event"] = PrivacyEvent.from_dict(fields["event"], where)
        return cls(**fields)


def to_substitution(event: PrivacyEvent) -> PrivacyEvent:
    """An add/remove event under substitution of a record: twice epsilon, four times rho.

    A substitution is a removal and an addition, so two steps [BunSteinke2016, Proposition 1.9]. A mechanism
    may know a smaller cost and say so in its guarantee. Raises InputError for other kinds.
    """
    _refuse_conditional(event)
    if event.neighbours is Neighbours.SUBSTITUTE:
        return event
    if event.kind is Kind.PURE and event.epsilon is not None:
        return PrivacyEvent.pure(2 * event.epsilon, neighbours=Neighbours.SUBSTITUTE, unit=event.unit)
    if event.kind is Kind.ZCDP and event.rho is not None:
        return PrivacyEvent.zcdp(4 * event.rho, neighbours=Neighbours.SUBSTITUTE, unit=event.unit)
    raise InputError("no conversion to substitution", "approximate event", "state it under substitution")


def to_zcdp(event: PrivacyEvent) -> PrivacyEvent:
    """A pure event as zCDP: rho = epsilon^2 / 2, exactly [BunSteinke2016, Proposition 1.4].

    Raises InputError for approximate and conditional events, which imply no zCDP.
    """
    _refuse_conditional(event)
    if event.kind is Kind.ZCDP:
        return event
    if event.kind is Kind.PURE and event.epsilon is not None:
        return PrivacyEvent.zcdp(event.epsilon**2 / 2, neighbours=event.neighbours, unit=event.unit)
    raise InputError("no conversion to zCDP", "approximate event", "use an approximate ledger")


def _refuse_conditional(event: PrivacyEvent) -> None:
    if event.kind is Kind.CONDITIONAL:
        raise InputError("a conditional figure is not a DP guarantee", "privacy event", "it converts to none")


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversion:
    """An (epsilon, delta) that follows from a zCDP figure, and the formula it was computed by."""

    epsilon: Fraction
    delta: Fraction
    formula: str


def zcdp_to_approximate(
    rho: Number, delta: Number, *, method: Literal["renyi", "gaussian"] = "renyi"
) -> Conversion:
    """The epsilon at `delta` of a rho-zCDP mechanism, rounded up.

    "renyi" holds for every rho-zCDP mechanism: the smaller of dp_accounting's conversion by Renyi orders and
    rho + 2 sqrt(rho ln(1/delta)) [BunSteinke2016, Proposition 1.3]. "gaussian" is the exact formula of
    continuous Gaussian noise with that rho: smaller, and idealised for the discrete Gaussian.
    Raises InputError for a delta outside (0, 1), and in "gaussian" for one below 1e-300.
    """
    exact_rho = _budget(rho, "rho")
    exact_delta = _budget(delta, "delta")
    if not 0 < exact_delta < 1:
        raise InputError("delta is not between 0 and 1", "delta", "give a small positive number")
    if method not in ("renyi", "gaussian"):
        raise InputError("unknown conversion", "method", "use renyi or gaussian")
    if exact_rho == 0:
        return Conversion(epsilon=Fraction(0), delta=exact_delta, formula="nothing to convert")
    # What is too small for floating point is rounded to where it costs more: rho up, delta down.
    r, d = max(float(exact_rho), 1e-20), float(exact_delta)
    if d > exact_delta:
        d = math.nextafter(d, 0.0)
    if d < _TINY:
        if method == "gaussian":
            raise InputError("delta is below 1e-300", "delta", "give a larger one, or use renyi")
        log = math.log(exact_delta.denominator) - math.log(exact_delta.numerator)
        return _converted(r + 2 * math.sqrt(r * log), exact_delta, _CLOSED)
    import dp_accounting  # seconds to import

    if method == "gaussian":
        with np.errstate(divide="ignore"):  # it takes the logarithm of deltas that are 0 in floating point
            epsilon = dp_accounting.get_epsilon_gaussian(1 / math.sqrt(2 * r), d)
        return _converted(epsilon, exact_delta, "exact formula of continuous Gaussian noise (dp_accounting)")
    accountant = dp_accounting.rdp.RdpAccountant()
    accountant.compose(dp_accounting.dp_event.ZCDpEvent(r))
    by_orders = float(accountant.get_epsilon(d))
    closed = r + 2 * math.sqrt(r * math.log(1 / d))
    if math.isfinite(by_orders) and by_orders <= closed:
        return _converted(by_orders, exact_delta, "zCDP by Renyi orders (dp_accounting)")
    return _converted(closed, exact_delta, _CLOSED)


def _converted(epsilon: float, delta: Fraction, formula: str) -> Conversion:
    """Round up, past the rounding errors of floating point, to 12 decimals."""
    raised = Fraction(epsilon) * (1 + Fraction(1, 10**9))
    return Conversion(epsilon=Fraction(math.ceil(raised * 10**12), 10**12), delta=delta, formula=formula)
