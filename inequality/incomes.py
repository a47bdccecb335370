"""Confidential incomes: one value a record, and perhaps one public group label a record."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import InitVar, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgsr.errors import InputError
from pgsr.inequality.domain import incomes

Float64 = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Incomes:
    """CONFIDENTIAL: incomes `values` (n,) and, if given, the `groups` of the records: n labels (text).

    `labels` are the labels found, `codes` (n,) the place of each record's label among them; both None without
    groups. Values are finite numbers, as they are: bounds and shift belong to the mechanism. Raises
    InputError, without showing a value, for other values, missing labels and unequal lengths.
    """

    values: Float64 = field(repr=False)
    groups: InitVar[Any] = None
    labels: tuple[str, ...] | None = field(init=False, repr=False)
    codes: NDArray[np.int64] | None = field(init=False, repr=False)

    def __post_init__(self, groups: Any) -> None:
        put = object.__setattr__
        values = incomes(self.values).copy()
        values.flags.writeable = False
        put(self, "values", values)
        labels, codes = (None, None) if groups is None else _encoded(groups)
        if codes is not None and len(codes) != len(values):
            raise InputError("not one label an income", "groups", "give as many labels as incomes")
        put(self, "labels", labels)
        put(self, "codes", codes)

    @property
    def n(self) -> int:
        """Number of records; public in every release."""
        return len(self.values)

    def sizes(self, labels: Sequence[str]) -> list[int]:
        """Number of records with each of the `labels`."""
        counts = np.bincount(self._places(labels), minlength=len(labels) + 1)
        return [int(count) for count in counts[: len(labels)]]

    def first_unlisted(self, labels: Sequence[str]) -> int | None:
        """The first record whose label is not among `labels`; None if there is none."""
        unlisted = np.flatnonzero(self._places(labels) == len(labels))
        return int(unlisted[0]) if unlisted.size else None

    def split(self, x: Float64, labels: Sequence[str]) -> list[Float64]:
        """The entries of `x` (n,) by group, in the order of `labels`; all labels must be among them."""
        places = self._places(labels)
        order = np.argsort(places, kind="stable")
        ends = np.cumsum(np.bincount(places, minlength=len(labels)))
        return np.split(x[order], ends[:-1])

    def _places(self, labels: Sequence[str]) -> NDArray[np.int64]:
        """The place of each record's label in `labels`; len(labels) if it is not there."""
        assert self.labels is not None
        assert self.codes is not None
        place = {label: i for i, label in enumerate(labels)}
        listed = np.array([place.get(label, len(labels)) for label in self.labels], dtype=np.int64)
        return listed[self.codes]


def _encoded(groups: Any) -> tuple[tuple[str, ...], NDArray[np.int64]]:
    """Distinct labels and the place of each record's label among them."""
    from pgsr.text import text_array

    texts = text_array(groups, "groups")
    if texts.null_count:
        raise InputError("a label is missing", "groups", "give every record a label")
    encoded = texts.dictionary_encode()
    codes = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    return tuple(encoded.dictionary.to_pylist()), codes
