"""Load the packaged data sets."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import as_file, files
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pgsr.counts import GroupSizes
from pgsr.hierarchy import Hierarchy
from pgsr.tables import Table, read_table
from pgsr.text import TextArray, numpy_text

_KOREA_LEVELS = ("province", "district", "dong")
_FLIGHT_LEVELS = ("origin", "carrier", "month")
_SUPPRESSED_BELOW = 5


def load_korea_households() -> GroupSizes:
    """Households of Korea in 2020: nation, 17 provinces, 250 districts, 3,489 dong; sizes 1 .. 7 (7 or more).

    Region ids are census codes, the nation's is "KR". Cells under 5 are imputed: see `korea_imputed`.
    """
    table = _packaged("korea_households.csv.gz")
    tree = Hierarchy.from_levels(
        {level: table.text(level) for level in _KOREA_LEVELS}, root="KR", root_level="nation"
    )
    return GroupSizes.from_histogram(table, tree, range(1, 8), region="dong")


def korea_imputed() -> NDArray[np.bool_]:
    """(R, N) bool: cells of `load_korea_households` that were suppressed at the source and imputed.

    They are the cells under 5 of the dong; counts of the levels above contain them.
    """
    data = load_korea_households()
    imputed = np.zeros(data.counts.shape, dtype=np.bool_)
    imputed[data.hierarchy.leaves] = data.counts[data.hierarchy.leaves] < _SUPPRESSED_BELOW
    return imputed


def korea_names() -> dict[str, str]:
    """Names in Latin letters of the provinces, districts and dong by code; a code where there is none."""
    table = _packaged("korea_names.csv.gz")
    names = dict(zip(table.text("region").to_pylist(), table.text("name").to_pylist(), strict=True))
    return {"KR": "Korea", **names}


def load_flights() -> GroupSizes:
    """Planes by their flights from New York City in 2013: all, airport, carrier, month; sizes 1 .. 93.

    Region ids are paths such as "EWR/UA/01" below "all". Size 0 is not listed: the units are
    planes that flew.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    table = _packaged("flights.csv.gz")
    columns = {level: table.text(level) for level in _FLIGHT_LEVELS}
    paths = pc.binary_join_element_wise(*columns.values(), pa.scalar("/", pa.large_string()))
    groups = pa.table(columns).group_by(list(_FLIGHT_LEVELS), use_threads=False).aggregate([])
    tree = Hierarchy.from_levels(
        {level: groups[level] for level in _FLIGHT_LEVELS}, root="all", root_level="all", codes="path"
    )
    units = Table(source=table.source, columns={"region": paths, "size": table.column("flights")})
    return GroupSizes.from_units(units, tree, range(1, 94))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StateIncomes:
    """Incomes of households: `state` (n,) FIPS codes as numpy strings, `income` (n,) float64, in dollars."""

    state: TextArray
    income: NDArray[np.float64]


def load_cps_incomes() -> StateIncomes:
    """Incomes of 74,194 households of 2014 by state, in no order of meaning; 3,502 of them are zero.

    Households only, negative incomes left out, no weights: see `describe("cps-incomes")`.
    """
    table = _packaged("cps_incomes.csv.gz")
    income = table.integers("income", minimum=0).astype(np.float64)
    return StateIncomes(state=numpy_text(table.text("state")), income=income)


def write_cps_incomes(path: str | Path) -> None:
    """Write the same as a CSV file with the columns `state` and `income`, in place of any such file."""
    import gzip

    from pgsr.atomic import atomic_path

    packed = (files("pgsr.datasets") / "data" / "cps_incomes.csv.gz").read_bytes()
    with atomic_path(Path(path)) as temporary:
        temporary.write_bytes(gzip.decompress(packed))


def _packaged(name: str) -> Table:
    """A table of the package's data."""
    with as_file(files("pgsr.datasets") / "data" / name) as path:
        return read_table(path)
