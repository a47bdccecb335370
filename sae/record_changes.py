"""CONFIDENTIAL: every change of one record's outcome, and what it makes of its area's estimate and variance.

With a_j = sum w Y / W and b_j = sum w / W over PSU j of an area, t_j = a_j - y b_j, the Taylor variance is
Caa - 2 y Cab + y^2 Cbb, where Caa sums n_h / (n_h - 1) [sum a_j^2 - (sum a_j)^2 / n_h] over strata, and so
on. A change by delta = w (Y' - Y) / W in PSU j adds delta to y and a_j: O(1) for the variance after it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from pgsr.errors import InputError
from pgsr.sae.checks import Float64, Int64, sums
from pgsr.sae.microdata import Microdata


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Changes:
    """CONFIDENTIAL: one entry a changed outcome, at most two a record: to either end of the public range.

    `area` (c,) its place; `estimate` y_k and `variance` D_k by linearisation (c,) after it; `shift` (c,) of
    y_k; `total` W and `kish` sum w^2/W^2 (m,) of the areas; `unit_variance` p(1 - p) of the overall mean and
    `moved_unit_variance` (c,) after the change.
    """

    area: Int64 = field(repr=False)
    estimate: Float64 = field(repr=False)
    variance: Float64 = field(repr=False)
    shift: Float64 = field(repr=False)
    total: Float64 = field(repr=False)
    kish: Float64 = field(repr=False)
    unit_variance: float = field(repr=False)
    moved_unit_variance: Float64 = field(repr=False)

    def extreme(self) -> Int64:
        """The entries of the largest shift up and the largest down of each area."""
        rows = np.lexsort((self.shift, self.area))
        new = np.diff(self.area[rows]) > 0
        return np.unique(rows[np.append(new, True) | np.append(True, new)])


def changes(data: Microdata) -> Changes:
    """CONFIDENTIAL: all changes of one record of `data`; InputError for an area with a single PSU."""
    assert data.lower is not None
    assert data.upper is not None
    k, w = data.area_codes, data.weight
    total = data.sum_by_area(w)
    share = w / total[k]
    y = data.sum_by_area(share * data.outcome)
    record = np.concatenate([np.arange(data.n)] * 2)
    delta = share[record] * (np.repeat([data.lower, data.upper], data.n) - data.outcome[record])
    record, delta = record[delta != 0], delta[delta != 0]
    area = k[record]
    moved = y[area] + delta
    p, whole = float((w * data.outcome).sum() / w.sum()), float(w.sum())
    moved_p = p + delta * total[area] / whole
    return Changes(
        area=area,
        estimate=moved,
        variance=_taylor(data, share, record, delta, moved),
        shift=delta,
        total=total,
        kish=data.sum_by_area(share * share),
        unit_variance=p * (1 - p),
        moved_unit_variance=moved_p * (1 - moved_p),
    )


def _taylor(data: Microdata, share: Float64, record: Int64, delta: Float64, moved: Float64) -> Float64:
    """D_k after each change; areas are strata, as in `confidential_taylor`."""
    k, m = data.area_codes, data.m
    psus, strata = int(data.psu_codes.max()) + 1, int(data.strata_codes.max()) + 1
    _, psu = np.unique(k * psus + data.psu_codes, return_inverse=True)
    cells, cell = np.unique(k * strata + data.strata_codes, return_inverse=True)
    count = int(psu.max()) + 1
    a, b = sums(psu, share * data.outcome, count), sums(psu, share, count)
    cell_of = np.zeros(count, dtype=np.int64)
    cell_of[psu] = cell
    n = np.bincount(cell_of).astype(np.float64)
    if bool((n < 2).any()):
        place = data.areas[int(cells[int(np.flatnonzero(n < 2)[0])] // strata)]
        raise InputError("a stratum with a single primary sampling unit", f"area '{place}'", "merge strata")
    f, size = n / (n - 1), n.size
    sum_a, sum_b = sums(cell_of, a, size), sums(cell_of, b, size)

    def squares(left: Float64, right: Float64, sum_left: Float64, sum_right: Float64) -> Float64:
        part = f * (sums(cell_of, left * right, size) - sum_left * sum_right / n)
        return sums(cells // strata, part, m)

    aa, ab, bb = squares(a, a, sum_a, sum_a), squares(a, b, sum_a, sum_b), squares(b, b, sum_b, sum_b)
    area, j, h = k[record], psu[record], cell[record]
    more_aa = f[h] * (2 * a[j] * delta + delta**2 - (2 * sum_a[h] * delta + delta**2) / n[h])
    more_ab = f[h] * (b[j] * delta - sum_b[h] * delta / n[h])
    found = aa[area] + more_aa - 2 * moved * (ab[area] + more_ab) + moved**2 * bb[area]
    # An area whose outcomes are all alike after the change has variance 0; rounding must not hide it.
    scale = aa[area] + np.abs(more_aa) + moved**2 * bb[area]
    return np.where(found > 1e-13 * scale, found, 0.0)
