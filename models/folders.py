"""Large instances as a folder of Parquet files, and their solutions as one Parquet file.

`instance.json` (the head, without regions), `regions.parquet` (id, parent, and weight if not 1),
`counts.parquet` (one row a region, one int64 column a size), `lower.parquet` and `upper.parquet` of the
same shape if there are bounds. A solution has the shape of `counts.parquet`; multipliers, if any, follow as
columns `multiplier:SIZE` in units of 2^-grid, the grid in the schema's metadata.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from pgsr.atomic import atomic_dir, atomic_path
from pgsr.errors import InputError
from pgsr.levelorder import MAGNITUDE
from pgsr.models.instance import Instance
from pgsr.models.jsonfiles import INSTANCE, build, head_record, read_head, read_json, tree_of

_COMPRESSION: Final = "zstd"

GRID: Final = b"pgsr_multipliers_grid"
"""Key of the grid of multipliers in a solution's metadata."""

FINGERPRINT: Final = b"pgsr_fingerprint"
"""Key of the fingerprint of the problem solved."""


def read_folder(path: Path) -> Instance:
    """Read a large instance; regions in any order, all files in the same one."""
    record = read_json(path / "instance.json", INSTANCE)
    sizes, total, options = read_head(record, str(path / "instance.json"), set())
    where = path / "regions.parquet"
    names = _schema(where)
    if not {"id", "parent"} <= set(names) or not set(names) <= {"id", "parent", "weight"}:
        raise InputError("wrong columns", str(where), "columns are id, parent and, if need be, weight")
    columns = _columns(where, names)
    tree, order = tree_of(columns["id"], columns["parent"], str(where))
    in_order = np.array_equal(order, np.arange(order.size))
    row_order = None if in_order else order
    noisy = _table(path / "counts.parquet", sizes, tree.regions, row_order)
    if "weight" in columns:
        try:
            weights = np.asarray(columns["weight"], dtype=np.float64)
        except (TypeError, ValueError):
            raise InputError("a weight is not a number", str(where), "give numbers >= 0") from None
        options["weights"] = weights if row_order is None else weights[row_order]
    for name in ("lower", "upper"):
        if (path / f"{name}.parquet").exists():
            options[name] = _table(path / f"{name}.parquet", sizes, tree.regions, row_order)
    return build(tree, sizes, noisy, total, row_order, options, str(path))


def write_folder(instance: Instance, path: Path) -> None:
    """Write a large instance into the new folder `path`, whole or not at all."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from pgsr.text import arrow_array

    problem = instance.problem
    ids = instance.hierarchy.ids
    regions: dict[str, Any] = {"id": arrow_array(ids, "id")}
    regions["parent"] = regions["id"].take(pa.array(problem.parent, mask=problem.parent < 0))
    if not problem.unit_weights:
        regions["weight"] = problem.region_weights
    table = pa.table(regions)
    if instance.order is not None:
        table = table.take(np.argsort(instance.order))
    with atomic_dir(path) as temporary:
        head = {"format": INSTANCE, **head_record(instance)}
        (temporary / "instance.json").write_text(json.dumps(head) + "\n", encoding="utf-8")
        pq.write_table(table, temporary / "regions.parquet", compression=_COMPRESSION)
        for name in ("target", "lower", "upper"):
            values = getattr(problem, name)
            if values is not None:
                file = temporary / f"{'counts' if name == 'target' else name}.parquet"
                _write(file, instance.to_file_order(values), instance.sizes)


def read_solution_parquet(path: Path, instance: Instance) -> NDArray[Any]:
    """Read the values (R, N) of a solution, rows in the order of the instance's file."""
    return _table(path, instance.sizes, instance.hierarchy.regions, instance.order, floats=True)


def read_fingerprint_parquet(path: Path) -> str | None:
    """The fingerprint of the problem that a solution file says it solves; None if it does not say."""
    with open_parquet(path) as file:
        found = (file.schema_arrow.metadata or {}).get(FINGERPRINT)
    return None if found is None else found.decode("ascii", "replace")


def write_solution_parquet(
    values: NDArray[Any],
    instance: Instance,
    path: Path,
    units: NDArray[np.int64] | None = None,
    grid: int = 0,
    fingerprint: str | None = None,
) -> None:
    """Write the values (R, N) of a solution, rows in the order of the instance's file.

    `units`: multipliers of the first regions in units of 2^-grid; those of all others are 0.
    """
    with atomic_path(path) as temporary:
        table = instance.to_file_order(values)
        _write(temporary, table, instance.sizes, units, grid, instance.order, fingerprint)


def price_columns(sizes: NDArray[np.int64]) -> list[str]:
    """The names of a solution's columns of multipliers."""
    return [f"multiplier:{size}" for size in sizes.tolist()]


def _write(
    path: Path,
    values: NDArray[Any],
    sizes: NDArray[np.int64],
    units: NDArray[np.int64] | None = None,
    grid: int = 0,
    order: NDArray[np.int64] | None = None,
    fingerprint: str | None = None,
) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    fields = [(str(size), pa.from_numpy_dtype(values.dtype)) for size in sizes.tolist()]
    metadata: dict[bytes | str, bytes | str] = {}
    if fingerprint is not None:
        metadata[FINGERPRINT] = fingerprint
    if units is not None:
        fields += [(name, pa.int64()) for name in price_columns(sizes)]
        metadata[GRID] = str(grid)
    region = np.arange(values.shape[0]) if order is None else np.argsort(order)
    schema = pa.schema(fields, metadata=metadata or None)
    rows = max(1, 4_000_000 // len(sizes))
    with pq.ParquetWriter(path, schema, compression=_COMPRESSION) as writer:
        for first in range(0, max(1, values.shape[0]), rows):
            part = values[first : first + rows]
            arrays = [pa.array(np.ascontiguousarray(part[:, j])) for j in range(part.shape[1])]
            if units is not None:
                here = region[first : first + rows]
                for j in range(part.shape[1]):
                    column = np.zeros(here.size, dtype=np.int64)
                    known = here < units.shape[0]
                    column[known] = units[here[known], j]
                    arrays.append(pa.array(column))
            writer.write_table(pa.Table.from_arrays(arrays, schema=schema))


def open_parquet(path: Path) -> Any:
    """Open a Parquet file; InputError if it is none."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        return pq.ParquetFile(path)
    except FileNotFoundError:
        raise InputError("no such file", str(path), "check the path") from None
    except (OSError, pa.ArrowException):
        raise InputError("not a Parquet file", str(path), "check the file") from None


def _schema(path: Path) -> list[str]:
    with open_parquet(path) as file:
        names = list(file.schema_arrow.names)
    if len(set(names)) < len(names):
        raise InputError("columns of the same name", str(path), "name every column once")
    return names


def _columns(path: Path, names: list[str]) -> dict[str, Any]:
    with open_parquet(path) as file:
        table = file.read(columns=names)
    return {name: table.column(name) for name in names}


def _table(
    path: Path,
    sizes: NDArray[np.int64],
    regions: int,
    order: NDArray[np.int64] | None,
    *,
    floats: bool = False,
) -> NDArray[Any]:
    """A (R, N) table from a file with one column a size, brought into the hierarchy's order."""
    import pyarrow as pa

    names = [str(size) for size in sizes.tolist()]
    with open_parquet(path) as file:
        more = price_columns(sizes) if floats else []  # a solution may hold multipliers
        if list(file.schema_arrow.names) not in (names, names + more):
            raise InputError(
                "the columns are not the sizes of the instance", str(path), "one column a size, in order"
            )
        if file.metadata.num_rows != regions:
            raise InputError(
                f"{file.metadata.num_rows} rows for {regions} regions", str(path), "one row a region"
            )
        kinds = [file.schema_arrow.field(name).type for name in names]
        for name, kind in zip(names, kinds, strict=True):
            if not (pa.types.is_integer(kind) or (floats and pa.types.is_floating(kind))):
                raise InputError("not whole numbers", f"{path}, column {name!r}", "use int64")
        real = any(pa.types.is_floating(kind) for kind in kinds)
        out = np.empty((regions, len(names)), dtype=np.float64 if real else np.int64)
        first = 0
        # A row group at a time: the file is never in memory twice.
        for group in range(file.num_row_groups):
            part = file.read_row_group(group, columns=names)
            last = first + part.num_rows
            for j, name in enumerate(names):
                column = part.column(j)
                if column.null_count:
                    raise InputError("missing value", f"{path}, column {name!r}", "fill every cell")
                values = column.to_numpy()
                if values.size and not (values.max() <= MAGNITUDE and values.min() >= -MAGNITUDE):
                    raise InputError("a value above 2^53 or NaN", f"{path}, column {name!r}", "correct it")
                out[first:last, j] = values
            first = last
    return out if order is None else out[order]
