"""The privacy ledger: a budget, and what has been charged to it.

`Ledger` is the one object of pgsr with a state of its own: everything else is a frozen record. A charge is
checked and recorded in one step under a lock, and on disk before the caller draws anything.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any, NoReturn

from pgsr.errors import BudgetError, InputError
from pgsr.ledgerfile import Entry, FileLines, MemoryLines, Partition, Record, partition_pair
from pgsr.privacy import (
    Kind,
    Neighbours,
    Number,
    PrivacyEvent,
    as_fraction,
    exact_keys,
    show,
    to_substitution,
    to_zcdp,
    zcdp_to_approximate,
)

__all__ = ["LEDGER_FORMAT", "Amount", "Entry", "Ledger", "Partition"]

LEDGER_FORMAT = "pgsr-ledger/1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Amount:
    """So much of a budget: `epsilon`, `rho`, or `epsilon` and `delta`, and the `formula` it comes from."""

    epsilon: Fraction | None = None
    rho: Fraction | None = None
    delta: Fraction | None = None
    formula: str = ""

    def __str__(self) -> str:
        figures = [(name, getattr(self, name)) for name in ("epsilon", "rho", "delta")]
        return ", ".join(f"{name} {show(value)}" for name, value in figures if value is not None)

    def to_dict(self) -> dict[str, str]:
        """Plain record; fractions as text."""
        figures = [(name, getattr(self, name)) for name in ("epsilon", "rho", "delta")]
        record = {name: str(value) for name, value in figures if value is not None}
        if self.formula:
            record["formula"] = self.formula
        return record


@dataclass(frozen=True, slots=True)
class _Cost:
    """What entries cost in the three figures a ledger can add up."""

    epsilon: Fraction = Fraction(0)
    rho: Fraction = Fraction(0)
    delta: Fraction = Fraction(0)

    def plus(self, other: _Cost) -> _Cost:
        """Sequential composition."""
        return _Cost(self.epsilon + other.epsilon, self.rho + other.rho, self.delta + other.delta)

    def maximum(self, other: _Cost) -> _Cost:
        """Parallel composition, figure by figure."""
        return _Cost(max(self.epsilon, other.epsilon), max(self.rho, other.rho), max(self.delta, other.delta))


class Ledger:
    """A budget for one unit of privacy and one neighbour relation. It changes when it is charged.

    Make one with `pure`, `zcdp`, `approximate` (in memory) or `create`, `open` (on disk).
    Pure epsilons and rhos add, as exact fractions. A zCDP ledger counts a pure event as epsilon^2/2; a pure
    ledger refuses zCDP. An approximate ledger adds the epsilons of pure events, the epsilons and deltas of
    approximate ones, and the epsilon that the sum of all rhos gives at the delta left over (Renyi orders,
    see `pgsr.privacy.zcdp_to_approximate`). Pure and zCDP ledgers hold for costs chosen in view of earlier
    outputs too; an approximate ledger asks that each cost be chosen without looking at them.
    No ledger takes a conditional figure.
    An add/remove event on a substitution ledger costs twice its epsilon, four times its rho; events for
    another unit or relation are refused.
    Partitions: a charge with `partition=(name, part)` touches only that part of the records. Charges within
    a part add, the parts of one name cost their maximum, names and charges without partition add. The
    partition must be public: neighbours differ within one part (a record that may change parts is two steps).
    """

    __slots__ = ("_lines", "kind", "limit", "neighbours", "unit")

    def __init__(self, *, limit: PrivacyEvent, lines: MemoryLines | FileLines | None = None) -> None:
        if limit.kind is Kind.CONDITIONAL:
            raise InputError(
                "a conditional figure is no budget", "ledger", "use kind pure, zcdp or approximate"
            )
        self.kind = limit.kind
        self.unit = limit.unit
        self.neighbours = limit.neighbours
        self.limit = Amount(epsilon=limit.epsilon, rho=limit.rho, delta=limit.delta)
        self._lines = MemoryLines() if lines is None else lines

    @classmethod
    def pure(
        cls, epsilon: Number, *, unit: str = "person", neighbours: Neighbours = Neighbours.ADD_REMOVE
    ) -> Ledger:
        """A ledger in memory of `epsilon` in pure DP."""
        return cls(limit=PrivacyEvent.pure(epsilon, unit=unit, neighbours=neighbours))

    @classmethod
    def zcdp(
        cls, rho: Number, *, unit: str = "person", neighbours: Neighbours = Neighbours.ADD_REMOVE
    ) -> Ledger:
        """A ledger in memory of `rho` in zCDP."""
        return cls(limit=PrivacyEvent.zcdp(rho, unit=unit, neighbours=neighbours))

    @classmethod
    def approximate(
        cls,
        epsilon: Number,
        delta: Number,
        *,
        unit: str = "person",
        neighbours: Neighbours = Neighbours.ADD_REMOVE,
    ) -> Ledger:
        """A ledger in memory of (`epsilon`, `delta`) in approximate DP."""
        return cls(limit=PrivacyEvent.approximate(epsilon, delta, unit=unit, neighbours=neighbours))

    @classmethod
    def create(
        cls,
        path: str | Path,
        *,
        epsilon: Number | None = None,
        rho: Number | None = None,
        delta: Number | None = None,
        unit: str = "person",
        neighbours: Neighbours = Neighbours.ADD_REMOVE,
    ) -> Ledger:
        """A new ledger on disk: pure for `epsilon`, zCDP for `rho`, approximate for `epsilon` and `delta`.

        Raises InputError if there is a file already or the figures name no kind.
        """
        kind = Kind.PURE
        if rho is not None:
            kind = Kind.ZCDP
        elif delta is not None:
            kind = Kind.APPROXIMATE
        figures = {"epsilon": epsilon, "rho": rho, "delta": delta}
        exact = {name: as_fraction(value, name) for name, value in figures.items() if value is not None}
        limit = PrivacyEvent(kind=kind, unit=unit, neighbours=neighbours, **exact)
        header = {"format": LEDGER_FORMAT, "created": _now(), "limit": limit.to_dict()}
        return cls(limit=limit, lines=FileLines.create(Path(path), header))

    @classmethod
    def open(cls, path: str | Path) -> Ledger:
        """The ledger on disk at `path`; InputError if it is missing, damaged or of an unknown version."""
        lines = FileLines(Path(path))
        if lines.header.get("format") != LEDGER_FORMAT:
            raise InputError("unknown format", f"{path}, line 1", f"this version reads {LEDGER_FORMAT}")
        header = exact_keys(lines.header, f"{path}, line 1", {"format", "created", "limit"})
        ledger = cls(limit=PrivacyEvent.from_dict(header["limit"], f"{path}, line 1"), lines=lines)
        ledger._costs(ledger.entries)
        return ledger

    @property
    def path(self) -> Path | None:
        """Where it is on disk, or None."""
        return self._lines.path if isinstance(self._lines, FileLines) else None

    @property
    def entries(self) -> tuple[Entry, ...]:
        """All charges so far, by all processes."""
        return self._parse(self._lines.read())

    @property
    def spent(self) -> Amount:
        """What the charges so far cost together, and by which formula."""
        return self._total(self.entries)

    @property
    def remaining(self) -> Amount:
        """What is left; figure by figure, the limit less what is spent."""
        spent = self.spent
        left: dict[str, Any] = {}
        for name in ("epsilon", "rho", "delta"):
            limit = getattr(self.limit, name)
            left[name] = None if limit is None else limit - getattr(spent, name)
        return Amount(**left)

    def check(
        self, events: PrivacyEvent | Sequence[PrivacyEvent], *, partition: Partition | None = None
    ) -> None:
        """Raise BudgetError unless all `events` together can be charged now; charges nothing."""
        self._accept(self.entries, events, "", partition)

    def charge(
        self,
        events: PrivacyEvent | Sequence[PrivacyEvent],
        *,
        label: str = "",
        partition: Partition | None = None,
    ) -> None:
        """Charge `events`, all or none; on disk when it returns. Charge first, then draw.

        `label` is written down and must be public. Raises BudgetError, with nothing written, if an event
        does not fit this ledger or the budget does not suffice.
        """

        def decide(records: list[Record]) -> list[Record]:
            return [entry.to_dict() for entry in self._accept(self._parse(records), events, label, partition)]

        self._lines.transact(decide)

    def to_dict(self) -> dict[str, Any]:
        """Plain record: kind, unit, neighbours, limit, spent, remaining, entries."""
        return {
            "kind": self.kind.value,
            "unit": self.unit,
            "neighbours": self.neighbours.value,
            "limit": self.limit.to_dict(),
            "spent": self.spent.to_dict(),
            "remaining": self.remaining.to_dict(),
            "entries": [entry.to_dict() for entry in self.entries],
        }

    def __repr__(self) -> str:
        return f"Ledger({self.kind.value}, limit {self.limit}, {self._where})"

    def __reduce__(self) -> tuple[Any, tuple[Path]]:
        """On disk: the same file again. In memory: TypeError, since a copy would double the budget."""
        if self.path is None:
            raise TypeError("a ledger in memory cannot be copied: keep it on disk with Ledger.create")
        return Ledger.open, (self.path,)

    @property
    def _where(self) -> str:
        return "ledger in memory" if self.path is None else f"ledger {self.path}"

    def _parse(self, records: list[Record]) -> tuple[Entry, ...]:
        """Entries from records; the header is line 1 of a file, so entry n is on line n + 1."""
        return tuple(
            Entry.from_dict(record, number, f"{self._where}, line {number + 1}")
            for number, record in enumerate(records, start=1)
        )

    def _accept(
        self,
        entries: tuple[Entry, ...],
        events: PrivacyEvent | Sequence[PrivacyEvent],
        label: str,
        partition: Partition | None,
    ) -> tuple[Entry, ...]:
        """The new entries for `events`; BudgetError if they do not fit after `entries`."""
        sequence = (events,) if isinstance(events, PrivacyEvent) else tuple(events)
        if not isinstance(label, str):
            raise InputError("the label is not text", self._where, "give a public text")
        part = None if partition is None else partition_pair(partition, self._where)
        first = len(entries) + 1
        new = tuple(
            Entry(number=first + i, event=event, label=label, partition=part, time=_now())
            for i, event in enumerate(sequence)
        )
        total = self._total(entries + new)
        for name in ("epsilon", "rho", "delta"):
            limit = getattr(self.limit, name)
            if limit is not None and getattr(total, name) > limit:
                asked = " and ".join(str(event) for event in sequence)
                self._refuse(
                    f"the budget does not suffice for {asked}", f"left: {self._left(entries)}; ask for less"
                )
        return new

    def _left(self, entries: tuple[Entry, ...]) -> str:
        spent = self._total(entries)
        figures = [(n, getattr(self.limit, n), getattr(spent, n)) for n in ("epsilon", "rho", "delta")]
        return ", ".join(f"{n} {show(limit - used)}" for n, limit, used in figures if limit is not None)

    def _cost(self, event: PrivacyEvent) -> _Cost:
        """The cost of one event in this ledger's terms; BudgetError if it has none."""
        if not isinstance(event, PrivacyEvent):
            self._refuse("not a privacy event", "charge a PrivacyEvent")
        if event.kind is Kind.CONDITIONAL:
            self._refuse("a conditional figure is not a DP guarantee", "no ledger takes it as a charge")
        if event.unit != self.unit:
            self._refuse(
                f"the event protects one {event.unit}, the ledger one {self.unit}", "use another ledger"
            )
        if event.neighbours is not self.neighbours:
            if self.neighbours is not Neighbours.SUBSTITUTE or event.kind is Kind.APPROXIMATE:
                self._refuse("the event is for other neighbours than the ledger", "use another ledger")
            event = to_substitution(event)
        zero = Fraction(0)
        epsilon, rho, delta = event.epsilon or zero, event.rho or zero, event.delta or zero
        if self.kind is Kind.APPROXIMATE:
            return _Cost(epsilon, rho, delta)
        if self.kind is Kind.PURE:
            if event.kind is not Kind.PURE:
                self._refuse(
                    f"a pure-DP ledger does not take kind '{event.kind.value}'", "use another ledger"
                )
            return _Cost(epsilon=epsilon)
        if event.kind is Kind.APPROXIMATE:
            self._refuse("a zCDP ledger does not take kind 'approximate'", "use an approximate ledger")
        return _Cost(rho=to_zcdp(event).rho or zero)

    def _costs(self, entries: tuple[Entry, ...]) -> _Cost:
        """Sequential and parallel composition of all entries."""
        total = _Cost()
        parts: dict[Partition, _Cost] = {}
        for entry in entries:
            cost = self._cost(entry.event)
            if entry.partition is None:
                total = total.plus(cost)
            else:
                parts[entry.partition] = parts.get(entry.partition, _Cost()).plus(cost)
        dearest: dict[str, _Cost] = {}
        for (name, _), cost in parts.items():
            dearest[name] = dearest.get(name, _Cost()).maximum(cost)
        for cost in dearest.values():
            total = total.plus(cost)
        return total

    def _total(self, entries: tuple[Entry, ...]) -> Amount:
        cost = self._costs(entries)
        if self.kind is Kind.PURE:
            return Amount(epsilon=cost.epsilon, formula="sum of epsilon")
        if self.kind is Kind.ZCDP:
            return Amount(rho=cost.rho, formula="sum of rho (pure DP as epsilon^2/2)")
        formula = "sum of epsilon and delta"
        if cost.rho == 0:
            return Amount(epsilon=cost.epsilon, delta=cost.delta, formula=formula)
        limit = self.limit.delta or Fraction(0)
        if cost.delta >= limit:
            self._refuse("no delta is left to convert zCDP with", "ask for less delta, or use another ledger")
        converted = zcdp_to_approximate(cost.rho, limit - cost.delta)
        formula += f"; {converted.formula}, at the delta left over"
        return Amount(epsilon=cost.epsilon + converted.epsilon, delta=limit, formula=formula)

    def _refuse(self, what: str, way_out: str) -> NoReturn:
        raise BudgetError(what, self._where, way_out)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
