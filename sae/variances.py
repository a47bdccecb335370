"""Confidential: sampling variances by Taylor linearisation, for strata and primary sampling units (PSUs).

With u the linearised records and t_hj their total in PSU j of stratum h, the variance of an area's estimate
is the sum over h of n_h/(n_h - 1) sum_j (t_hj - tbar_h)^2, with replacement: no finite population correction.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, get_args

import numpy as np

from pgsr.errors import InputError
from pgsr.sae.checks import Float64, Int64, sums
from pgsr.sae.direct import ConfidentialDirect, linearised
from pgsr.sae.microdata import Microdata

AreasAre = Literal["strata", "domains"]
"""strata: areas are design strata, and n_h counts the area's own PSUs in stratum h; domains: n_h counts all
PSUs of stratum h, those without a record of the area add nothing to its totals."""

SinglePsu = Literal["refuse", "certainty", "centered", "average"]
"""What a stratum with one PSU adds. refuse: an error; certainty: nothing, as if sampled with certainty;
centered: its squared distance from the mean total of all PSUs; average: as much as the other strata do."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ConfidentialVariance:
    """CONFIDENTIAL: sampling variances `variance` (m,) of direct estimates, estimated by `method`.

    A variance estimated from the data is not public: one record moves it. `singles` counts the strata with
    one PSU that were dealt with by the chosen option.
    """

    method: str
    variance: Float64 = field(repr=False)
    singles: int = 0


def confidential_taylor(
    data: Microdata,
    direct: ConfidentialDirect,
    *,
    areas_are: str = "strata",
    single_psu: str = "refuse",
) -> ConfidentialVariance:
    """Confidential: sampling variances (m,) of `direct` estimates of `data` by linearisation.

    Raises InputError for unknown options and, naming an area, for strata with one PSU if `single_psu` is
    refuse, or is average and the area has no other stratum.
    """
    for name, value, known in (("areas_are", areas_are, AreasAre), ("single_psu", single_psu, SinglePsu)):
        if value not in get_args(known):
            raise InputError(f"unknown option '{value}'", name, f"use {', '.join(get_args(known))}")
    cells = _cells(data, linearised(data, direct), domains=areas_are == "domains")
    single = cells.sizes == 1
    if single_psu == "refuse" and single.any():
        _refuse(data, cells.areas[single])
    parts = np.divide(cells.sizes * cells.spread, cells.sizes - 1.0, out=np.zeros(len(single)), where=~single)
    if single_psu == "centered":
        means = _by_area(cells, cells.sums, data.m) / _by_area(cells, cells.sizes, data.m)
        parts = np.where(single, (cells.sums - means[cells.areas]) ** 2, parts)
    variance = _by_area(cells, parts, data.m)
    if single_psu == "average":
        strata = np.bincount(cells.areas, minlength=data.m)
        others = strata - np.bincount(cells.areas[single], minlength=data.m)
        if (others == 0).any():
            _refuse(data, np.flatnonzero(others == 0))
        variance = variance * strata / others
    return ConfidentialVariance(method="taylor", variance=variance, singles=int(single.sum()))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Cells:
    """One row an area and stratum: number of PSUs, sum of their totals, squares about their mean."""

    areas: Int64
    sizes: Int64
    sums: Float64
    spread: Float64


def _cells(data: Microdata, u: Float64, *, domains: bool) -> _Cells:
    """Totals of u over (area, PSU), then over (area, stratum). Domains: every area has every stratum."""
    strata = int(data.strata_codes.max()) + 1
    psus = int(data.psu_codes.max()) + 1
    keys, places = np.unique(data.area_codes * psus + data.psu_codes, return_inverse=True)
    totals = np.bincount(places, weights=u)
    areas, psu = keys // psus, keys % psus
    stratum_of = np.zeros(psus, dtype=np.int64)
    stratum_of[data.psu_codes] = data.strata_codes
    pairs, rows = np.unique(areas * strata + stratum_of[psu], return_inverse=True)
    if domains:
        sizes = np.bincount(stratum_of, minlength=strata)
        pairs, rows = np.arange(data.m * strata), pairs[rows]
        size = np.tile(sizes, data.m)
    else:
        size = np.bincount(rows)
    total = sums(rows, totals, len(pairs))
    present = np.bincount(rows, minlength=len(pairs))
    centre = total / size
    # PSUs without a record of the area have total 0.
    spread = sums(rows, (totals - centre[rows]) ** 2, len(pairs))
    spread += (size - present) * centre**2
    return _Cells(areas=pairs // strata, sizes=size, sums=total, spread=spread)


def _by_area(cells: _Cells, x: Float64 | Int64, m: int) -> Float64:
    return sums(cells.areas, x, m)


def _refuse(data: Microdata, areas: Int64) -> None:
    what = "a stratum with a single primary sampling unit has no variance"
    where = f"area '{data.areas[int(areas[0])]}', {len(areas)} such strata in all"
    raise InputError(what, where, "merge strata, or choose single_psu certainty, centered or average")
