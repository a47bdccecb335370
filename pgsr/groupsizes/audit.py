"""Confidential audit: true errors against the data. Never publish what these functions return.

They are kept away from releases on purpose: a true error is a function of the data without any noise.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgsr.counts import GroupSizes
from pgsr.errors import InputError
from pgsr.metrics import l1_by_level


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfidentialError:
    """CONFIDENTIAL: L1 distance to the data on one level, of the noisy and of the released counts.

    `confidential_l1_noisy` is None if no noisy counts were given.
    """

    level: str
    confidential_l1_noisy: float | None
    confidential_l1_released: float

    def to_dict(self) -> dict[str, Any]:
        """Plain record, marked as confidential."""
        return {
            "confidential": True,
            "level": self.level,
            "confidential_l1_noisy": self.confidential_l1_noisy,
            "confidential_l1_released": self.confidential_l1_released,
        }


def confidential_error_table(
    truth: GroupSizes, released: GroupSizes, noisy: NDArray[np.int64] | None = None
) -> tuple[ConfidentialError, ...]:
    """CONFIDENTIAL: true L1 errors by level, root first; `noisy` (R, N) are the counts with noise.

    Raises InputError if trees, sizes or shapes differ.
    """
    if truth.hierarchy.digest() != released.hierarchy.digest() or not np.array_equal(
        truth.sizes, released.sizes
    ):
        raise InputError(
            "other regions or sizes than the data", "confidential audit", "compare like with like"
        )
    if noisy is not None and noisy.shape != truth.counts.shape:
        raise InputError("noisy counts of another shape", "confidential audit", "compare like with like")
    after = l1_by_level(truth.hierarchy, truth.counts, released.counts)
    before = None if noisy is None else l1_by_level(truth.hierarchy, truth.counts, noisy)
    return tuple(
        ConfidentialError(
            level=name,
            confidential_l1_noisy=None if before is None else float(before[level]),
            confidential_l1_released=float(after[level]),
        )
        for level, name in enumerate(truth.hierarchy.level_names)
    )


def confidential_error_text(table: tuple[ConfidentialError, ...]) -> str:
    """CONFIDENTIAL: `table` in lines that a person can read, under a heading that says so."""
    lines = [
        "CONFIDENTIAL: true errors against the data, not for publication",
        "level | noisy L1 | released L1",
    ]
    for row in table:
        noisy = "-" if row.confidential_l1_noisy is None else f"{row.confidential_l1_noisy:,.0f}"
        lines.append(f"{row.level} | {noisy} | {row.confidential_l1_released:,.0f}")
    return "\n".join(lines)
