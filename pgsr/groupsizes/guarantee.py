"""The words of a group-size release: what is protected, at what cost, and what is not."""

from __future__ import annotations

import hashlib
import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgsr.groupsizes.budget import LevelBudget
from pgsr.hierarchy import Hierarchy
from pgsr.privacy import Kind, show

_LISTED = 24
_CELLS = 20
"""Bounded cells that are listed one by one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelWords:
    """What the guarantee says of one model alone.

    `table` what is measured and bounded, `entry` one of its entries before the size; `reach` what more to
    say of Z; `measured` sentences on the query; `rho_factor` what replacing a record costs in rho;
    `whole_unit` whether any change inside one unit costs the same as one record.
    """

    table: str
    entry: str
    reach: str
    measured: str
    rho_factor: int
    whole_unit: bool


def size_list_text(sizes: NDArray[np.int64]) -> str:
    """The size list in words, with its top code; long lists are shortened and identified by a digest."""
    values = [int(size) for size in sizes]
    if len(values) > 2 and values == list(range(values[0], values[-1] + 1)):
        listed = f"{values[0]}..{values[-1]}"
    elif len(values) <= _LISTED:
        listed = ", ".join(str(value) for value in values)
    else:
        mark = hashlib.sha256(",".join(str(value) for value in values).encode("ascii")).hexdigest()[:16]
        listed = f"{values[0]}, {values[1]}, ..., {values[-1]} ({len(values)} sizes, sha256 {mark}...)"
    gaps = any(b - a > 1 for a, b in itertools.pairwise(values))
    bins = ", each the lower edge of a bin" if gaps else ""
    return f"{listed}{bins} (top code: {values[-1]} stands for {values[-1]} and more)"


def public_items(
    *,
    hierarchy: Hierarchy,
    sizes: NDArray[np.int64],
    total: int,
    z_max: int,
    words: ModelWords,
    budget: LevelBudget,
    weights: tuple[float, ...],
    lower: NDArray[np.int64] | None,
    upper: NDArray[np.int64] | None,
) -> tuple[str, ...]:
    """What is public, fixed and not protected, one item each."""
    items = [
        f"the list of {total} units and the leaf region of each (so the unit counts of every region)",
        f"the region tree with all {hierarchy.regions} regions (sha256 {hierarchy.digest()})",
        f"the size list {size_list_text(sizes)}",
        f"the largest z of a person, Z = {z_max}{words.reach}",
        f"the level budgets, {budget}",
        f"the level weights, {', '.join(f'{weight:.10g}' for weight in weights)}",
    ]
    if hierarchy.padded:
        items.append(f"{len(hierarchy.padded)} regions added to bring all leaves to one level")
    for name, bound, free in (("lower", lower, 0), ("upper", upper, total)):
        if bound is not None:
            items.append(_bound_item(hierarchy, sizes, words, name, bound, free))
    return tuple(items)


def _bound_item(
    hierarchy: Hierarchy,
    sizes: NDArray[np.int64],
    words: ModelWords,
    name: str,
    bound: NDArray[np.int64],
    free: int,
) -> str:
    """Bounds in words: each bounded cell, or for more than `_CELLS` their number and where they are."""
    cells = np.argwhere(bound > free if name == "lower" else bound < free)
    if len(cells) > _CELLS:
        mark = hashlib.sha256(np.ascontiguousarray(bound, dtype="<i8").tobytes()).hexdigest()
        return (
            f"the {name} bounds of the {words.table}: {len(cells)} cells, in the table {name} (sha256 {mark})"
        )
    relation = "at least" if name == "lower" else "at most"
    listed = [
        f"region '{hierarchy.ids[row]}' {words.entry} {sizes[column]} {relation} {bound[row, column]}"
        for row, column in cells.tolist()
    ]
    return f"the {name} bounds of the {words.table}: {', '.join(listed) or 'none that binds'}"


def invariant_items(hierarchy: Hierarchy, invariant_levels: tuple[str, ...]) -> tuple[str, ...]:
    """What is published exactly although it comes from the data."""
    starts = hierarchy.level_start
    items = []
    for index, name in enumerate(hierarchy.level_names):
        if name in invariant_levels:
            regions = int(starts[index + 1] - starts[index])
            items.append(
                f"the counts of all sizes in the {regions} regions of level '{name}', exactly as in the data"
            )
    return tuple(items)


def guarantee_text(
    *,
    words: ModelWords,
    budget: LevelBudget,
    z_max: int,
    first_size: int,
    public: tuple[str, ...],
    invariants: tuple[str, ...],
    laws: list[dict[str, str]],
    randomness: str,
    secure: bool,
) -> str:
    """The sentence of a release ([Fioretto2021] M_H, M_c); neighbours as in `docs/privacy.md`."""
    cost = show(budget.total)
    pure = budget.kind is Kind.PURE
    claim = f"{cost}-DP (pure, epsilon = {cost})" if pure else f"{cost}-zCDP (rho = {cost})"
    factor = 2 if pure else words.rho_factor
    name = "epsilon" if pure else "rho"
    dearer = f"{factor} {name} = {show(factor * budget.total)}"
    many = "k epsilon" if pure else "k^2 rho"
    neighbours = f"adding or removing one person's record, or by changing its z within 0..{z_max}"
    parts = [f"{claim} for one person: neighbours differ by {neighbours}."]
    if words.measured:
        parts.append(words.measured)
    parts.append(f"Public, fixed and not protected: {'; '.join(public)}.")
    if invariants:
        parts.append(
            f"Held invariant: {'; '.join(invariants)}. These values come from the data and are disclosed "
            "as they are: no part of the claim protects them, and it covers the noisy measurements of the "
            "other levels alone. One person's record usually shows in them, so few or no neighbours agree "
            "on them."
        )
    parts.append(
        f"Replacing a record or moving a person to another unit costs {dearer}; k records cost {many}."
    )
    if words.whole_unit:
        listed = " that leaves it at a listed size" if first_size > 0 else ""
        parts.append(f"Any change inside one unit{listed} costs {name} = {cost}.")
    if first_size > 0:
        parts.append(f"Size 0 is not listed: {_unprotected(first_size)} is not protected.")
    parts.append(
        f"Noise drawn exactly, level by level from the root: {'; '.join(_law_text(law) for law in laws)}."
    )
    parts.append(f"Noise from {randomness}; the claim assumes that generator.")
    if not secure:
        parts.append("Fixed seed: NOT PRIVATE.")
    return " ".join(parts)


def _unprotected(first_size: int) -> str:
    if first_size == 1:
        return "the only member of a unit"
    return f"a person without whom a unit would fall below size {first_size}"


def _law_text(law: dict[str, str]) -> str:
    values = [f"{key} {value}" for key, value in law.items() if key != "law"]
    return " ".join([law["law"], *values])


def law_record(law: Any, invariant: bool) -> dict[str, str]:
    """Describe the noise of one level, which may have none."""
    if law is not None:
        return {str(key): str(value) for key, value in law.describe().items()}
    return {"law": "none (published exactly)" if invariant else "none (not measured)"}
