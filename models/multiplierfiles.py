"""Multipliers beside a solution of Model 2: whole numbers of units of 2^-grid, so that a proof survives.

JSON: a key of the solution, entries for inner regions alone. Parquet: columns of the solution's own file, so
that the two are never parted, with the grid in the schema's metadata. [Fioretto2021] Model 2.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from pgsr.errors import InputError
from pgsr.levelorder import MAGNITUDE
from pgsr.models.folders import GRID, open_parquet, price_columns
from pgsr.models.instance import Instance
from pgsr.models.jsonfiles import SOLUTION, keys, read_json, whole

Float64 = NDArray[np.float64]
Int64 = NDArray[np.int64]

MOST_PLACES: Final = 40
"""Largest grid: binary places of a multiplier."""


def snapped(multipliers: NDArray[Any], instance: Instance, grid: int) -> Int64:
    """Multipliers (R, N), or of the rows up to the last inner region, as whole numbers of 2^-grid.

    Returns the rows up to the last inner region, 0 at leaves. Raises InputError for Model 1, a wrong shape, a
    grid not in 0 .. 40, and numbers that are not finite or above 2^53 on the grid.
    """
    if not instance.problem.cumulative:
        raise InputError("multipliers for a hierarchical instance", "multipliers", "leave them out")
    if not 0 <= grid <= MOST_PLACES:
        raise InputError(f"the grid is not in 0 .. {MOST_PLACES}", "grid", "give the number of binary places")
    inner = instance.problem.inner()
    rows = inner_rows(instance)
    given = np.asarray(multipliers, dtype=np.float64)
    if given.ndim != 2 or given.shape[1] != len(instance.sizes) or given.shape[0] not in (rows, inner.size):
        shape = instance.problem.target.shape
        raise InputError("multipliers of the wrong shape", "multipliers", f"give {shape}")
    units = np.where(inner[:rows, None], given[:rows], 0.0)
    units = np.rint(np.ldexp(units, grid))
    # Compared as `not <=`, so that NaN is refused too.
    if units.size and not float(np.abs(units).max()) <= MAGNITUDE:
        raise InputError(
            "a multiplier is not finite or above 2^53 units", "multipliers", "use a coarser grid"
        )
    return units.astype(np.int64)


def inner_rows(instance: Instance) -> int:
    """The number of rows up to the last inner region."""
    inner = np.flatnonzero(instance.problem.inner())
    return int(inner[-1]) + 1 if inner.size else 0


def read_multipliers_json(path: Path, instance: Instance) -> Float64 | None:
    """Read the multipliers of a small solution, or None if it has none; see `files.read_multipliers`."""
    record = read_json(path, SOLUTION)
    keys(record, {"format", "values"}, {"multipliers", "fingerprint"}, str(path))
    if "multipliers" not in record:
        return None
    where = f"{path}, multipliers"
    _cumulative(instance, where)
    given = record["multipliers"]
    if not isinstance(given, dict):
        raise InputError("not an object", where, "give grid and values")
    keys(given, {"grid", "values"}, set(), where)
    grid, values = _grid(given["grid"], where), given["values"]
    if not isinstance(values, dict):
        raise InputError("'values' is not an object", where, "give a list of numbers for each inner region")
    ids, inner = instance.hierarchy.ids.tolist(), instance.problem.inner()
    unknown = sorted(set(values) - set(ids))
    if unknown:
        raise InputError("unknown region", f"{where}, region {unknown[0]!r}", "use those of the instance")
    width = len(instance.sizes)
    units = np.zeros((inner_rows(instance), width), dtype=np.int64)
    for row, code in enumerate(ids):
        place = f"{where}, region {code!r}"
        if code not in values:
            if inner[row]:
                raise InputError("inner region without multipliers", place, "give one for each size")
            continue
        numbers = whole(values[code], place, width)
        if inner[row]:
            units[row] = numbers
        elif any(numbers):
            raise InputError("a leaf's multiplier is not 0", place, "leave leaves out")
    return np.ldexp(units.astype(np.float64), -grid)


def read_multipliers_parquet(path: Path, instance: Instance) -> Float64 | None:
    """Read the multipliers of a large solution, or None if it has none; see `files.read_multipliers`."""
    import pyarrow as pa

    sizes = [str(size) for size in instance.sizes.tolist()]
    names = price_columns(instance.sizes)
    problem = instance.problem
    inner, rows = problem.inner(), inner_rows(instance)
    with open_parquet(path) as file:
        schema = file.schema_arrow
        text = (schema.metadata or {}).get(GRID)
        if list(schema.names) == sizes and text is None:
            return None
        _cumulative(instance, str(path))
        if list(schema.names) != sizes + names or text is None:
            raise InputError(
                "multipliers lack columns, or a grid in the metadata", str(path), "write the file anew"
            )
        grid = _grid(int(text) if text.isdigit() and len(text) < 4 else None, str(path))
        if file.metadata.num_rows != problem.regions:
            raise InputError(
                f"{file.metadata.num_rows} rows for {problem.regions} regions", str(path), "one row a region"
            )
        for name in names:
            if not pa.types.is_integer(schema.field(name).type):
                raise InputError("not whole numbers", f"{path}, column {name!r}", "use int64")
        # The region of each row of the file.
        region = np.arange(problem.regions) if instance.order is None else np.argsort(instance.order)
        out = np.zeros((rows, len(sizes)))
        first = 0
        for group in range(file.num_row_groups):
            part = file.read_row_group(group, columns=names)
            here = region[first : first + part.num_rows]
            first += part.num_rows
            for j, name in enumerate(names):
                column = part.column(j)
                if column.null_count:
                    raise InputError("missing value", f"{path}, column {name!r}", "fill every cell")
                units = column.to_numpy()
                bad = np.flatnonzero((units > MAGNITUDE) | (units < -MAGNITUDE))
                _clean(bad, here, instance, f"{path}, column {name!r}", "a multiplier above 2^53 units")
                bad = np.flatnonzero((units != 0) & ~inner[here])
                _clean(bad, here, instance, f"{path}, column {name!r}", "a leaf's multiplier is not 0")
                kept = here < rows
                out[here[kept], j] = np.ldexp(units[kept].astype(np.float64), -grid)
    return out


def _clean(bad: NDArray[np.intp], here: NDArray[Any], instance: Instance, where: str, what: str) -> None:
    """Refuse if any row is `bad`, by the region of the first one."""
    if bad.size:
        code = str(instance.hierarchy.ids[here[bad[0]]])
        raise InputError(what, f"{where}, region {code!r}", "correct it")


def _cumulative(instance: Instance, where: str) -> None:
    if not instance.problem.cumulative:
        raise InputError("multipliers for a hierarchical instance", where, "leave them out")


def _grid(value: Any, where: str) -> int:
    """The grid if it is one."""
    if type(value) is not int or not 0 <= value <= MOST_PLACES:
        raise InputError(
            f"the grid is not a whole number in 0 .. {MOST_PLACES}", where, "give the number of binary places"
        )
    return value
