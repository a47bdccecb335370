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
from pgsr.metrics import emd_by_level, l1_by_level


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfidentialError:
    """CONFIDENTIAL: distances to the data on one level, of the noisy and of the released counts.

    L1 of the counts; EMD, the L1 of the cumulative counts. Those of the noisy counts are None if none
    were given.
    """

    level: str
    confidential_l1_noisy: float | None
    confidential_l1_released: float
    confidential_emd_noisy: float | None
    confidential_emd_released: float

    def to_dict(self) -> dict[str, Any]:
        """Plain record, marked as confidential."""
        return {
            "confidential": True,
            "level": self.level,
            "confidential_l1_noisy": self.confidential_l1_noisy,
            "confidential_l1_released": self.confidential_l1_released,
            "confidential_emd_noisy": self.confidential_emd_noisy,
            "confidential_emd_released": self.confidential_emd_released,
        }


def confidential_error_table(
    truth: GroupSizes, released: GroupSizes, noisy: NDArray[np.int64] | None = None
) -> tuple[ConfidentialError, ...]:
    """CONFIDENTIAL: true errors by level, root first; `noisy` (R, N) are the counts with noise.

    Of Model 2 give `GroupSizes.differences` of the noisy cumulative counts.

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

    def distances(counts: NDArray[np.int64]) -> list[tuple[float, float]]:
        l1, emd = (d(truth.hierarchy, truth.counts, counts).tolist() for d in (l1_by_level, emd_by_level))
        return [(float(a), float(b)) for a, b in zip(l1, emd, strict=True)]

    levels = truth.hierarchy.level_names
    after = distances(released.counts)
    before = [(None, None)] * len(levels) if noisy is None else distances(noisy)
    return tuple(
        ConfidentialError(
            level=name,
            confidential_l1_noisy=before[level][0],
            confidential_l1_released=after[level][0],
            confidential_emd_noisy=before[level][1],
            confidential_emd_released=after[level][1],
        )
        for level, name in enumerate(levels)
    )


def confidential_error_text(table: tuple[ConfidentialError, ...]) -> str:
    """CONFIDENTIAL: `table` in lines that a person can read, under a heading that says so."""
    lines = [
        "CONFIDENTIAL: true errors against the data, not for publication",
        "level | noisy L1 | released L1 | noisy EMD | released EMD",
    ]
    for row in table:
        values = (
            row.confidential_l1_noisy,
            row.confidential_l1_released,
            row.confidential_emd_noisy,
            row.confidential_emd_released,
        )
        shown = ["-" if value is None else f"{value:,.0f}" for value in values]
        lines.append(" | ".join([row.level, *shown]))
    return "\n".join(lines)
