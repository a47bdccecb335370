"""Results of benchmark suites: one row a run, in one tidy Parquet file that is whole at any moment.

The columns are fixed and documented (docs/suites.md lists `COLUMNS`), so that results made elsewhere stand
beside ours on equal terms. What does not apply to a run is null.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pgsr.atomic import atomic_path
from pgsr.bench.pages import Row
from pgsr.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa

FORMAT = "pgsr-results/1"
RESULTS = "results.parquet"

TEXT, WHOLE, REAL, TRUTH, REALS = "string", "int64", "float64", "bool", "list<float64>"


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One column of the results: its name, Arrow type, and what it holds; `needed`: never null."""

    name: str
    kind: str
    about: str
    needed: bool = False


def _column(name: str, kind: str, about: str, *, needed: bool = False) -> Column:
    return Column(name=name, kind=kind, about=about, needed=needed)


COLUMNS: tuple[Column, ...] = (
    _column("suite", TEXT, "name of the suite", needed=True),
    _column("key", TEXT, "names the run: unique in a file, the same in every run of a suite", needed=True),
    _column("family", TEXT, "groupsizes, inequality or sae", needed=True),
    _column("instance", TEXT, "what was worked on, as the suite names it", needed=True),
    _column("fingerprint", TEXT, "SHA-256 of the problem or the data: equal ones are the same"),
    _column("model", TEXT, "hierarchical or cumulative; index; kind of release"),
    _column("method", TEXT, "what is compared: a solver, a heuristic, a way to release", needed=True),
    _column("kind", TEXT, "exact, relaxed, rounded (a relaxation), heuristic, noisy, mechanism", needed=True),
    _column("noise", TEXT, "geometric, laplace, gaussian; ladder, cauchy, ..."),
    _column("epsilon", REAL, "pure epsilon of the release"),
    _column("rho", REAL, "zCDP cost of the release"),
    _column("seed", WHOLE, "seed of data and noise: the same seed is the same noisy input for all methods"),
    _column("levels", WHOLE, "levels of the tree"),
    _column("regions", WHOLE, "regions of the tree, or areas"),
    _column("sizes", WHOLE, "group sizes"),
    _column("entries", WHOLE, "integers of the table (regions x sizes), records, or areas"),
    _column("time_limit_s", REAL, "limit of the solve in seconds"),
    _column("memory_limit_gb", REAL, "limit of the memory of the process"),
    _column(
        "outcome",
        TEXT,
        "ran, killed (time), memory, fault, refused (input), lacks (a feature), missing (library)",
        needed=True,
    ),
    _column("reason", TEXT, "why it did not run, or what went wrong"),
    _column("termination", TEXT, "why the solver stopped: optimal, time_limit, ..."),
    _column("point_status", TEXT, "feasible, infeasible, none: recomputed from the problem"),
    _column("certificate", TRUTH, "true: proven optimal from the problem; false: refuted; null: unknown"),
    _column("objective", REAL, "value of the answer in the problem, recomputed"),
    _column("objective_exact", TEXT, "the same in digits, for integers"),
    _column("bound", REAL, "lower bound on the optimum that was proven or claimed, if it is above 0"),
    _column("gap", REAL, "objective minus bound"),
    _column("broken_sums", WHOLE, "parent cells that are not the sum of their children"),
    _column("sums", WHOLE, "parent cells that were looked at"),
    _column("worst_sum", REAL, "largest difference of a parent cell from the sum of its children"),
    _column("negative", WHOLE, "cells below zero (of the counts by size)"),
    _column("fractional", WHOLE, "cells that are not whole numbers"),
    _column("total_off", REAL, "largest difference of a region's total from the public total it should meet"),
    _column("l1", REALS, "L1 distance from the truth by level, the root's first"),
    _column("emd", REALS, "earth mover's distance from the truth by level"),
    _column("l1_noisy", REALS, "L1 distance of the noisy input from the truth by level"),
    _column("bias_zero", REALS, "mean error of cells whose true count is 0, by level"),
    _column("bias_positive", REALS, "mean error of cells whose true count is positive, by level"),
    _column("error", REAL, "absolute error against the truth (inequality), mean squared error (sae)"),
    _column("estimate", REAL, "the released value (inequality)"),
    _column("truth", REAL, "the value without privacy (inequality)"),
    _column("coverage", REAL, "share of areas whose 95 % interval holds the truth (sae)"),
    _column("build_s", REAL, "seconds to build the problem for the solver, not part of the solve"),
    _column("solve_s", REAL, "seconds of the solve alone, start-up and compilation outside"),
    _column("wall_s", REAL, "seconds of the whole process"),
    _column("peak_gb", REAL, "peak memory of the process in GB"),
    _column("version", TEXT, "version of the solver or library"),
    _column("pgsr", TEXT, "version of pgsr", needed=True),
    _column("commit", TEXT, "commit of the source tree, with + if it was changed; null if not known"),
    _column("python", TEXT, "version of Python"),
    _column("machine", TEXT, "processor"),
    _column("cores", WHOLE, "cores that the process may use"),
    _column("memory_gb", REAL, "memory of the machine"),
    _column("started", TEXT, "UTC time at which the run began, ISO 8601"),
)

NAMES = tuple(column.name for column in COLUMNS)


def schema() -> pa.Schema:
    """The Arrow schema of a results file, with the format in its metadata."""
    import pyarrow as pa

    kinds = {
        TEXT: pa.string(),
        WHOLE: pa.int64(),
        REAL: pa.float64(),
        TRUTH: pa.bool_(),
        REALS: pa.list_(pa.float64()),
    }
    fields = [
        pa.field(c.name, kinds[c.kind], nullable=not c.needed, metadata={"about": c.about}) for c in COLUMNS
    ]
    return pa.schema(fields, metadata={"format": FORMAT})


def write_results(path: Path, rows: Iterable[Row]) -> None:
    """Write rows to a Parquet file, whole or not at all.

    Raises InputError, naming row and column, for unknown columns, missing needed ones, other types, and two
    rows of the same key.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows = list(rows)
    for at, row in enumerate(rows, 1):
        if unknown := sorted(set(row) - set(NAMES)):
            raise InputError(
                f"unknown columns {', '.join(unknown)}", f"{path}, row {at}", "see pgsr.bench.results.COLUMNS"
            )
    whole = schema()
    columns = []
    for field in whole:
        values = [row.get(field.name) for row in rows]
        try:
            columns.append(pa.array(values, field.type))
        except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError) as error:
            raise InputError(
                f"not of type {field.type}", f"{path}, column '{field.name}'", str(error)
            ) from None
    table = pa.Table.from_arrays(columns, schema=whole)
    _check(table, str(path))
    try:
        with atomic_path(path) as new:
            pq.write_table(table, new)
    except OSError as error:
        if error.filename is not None:
            raise
        raise OSError(error.errno, error.strerror or str(error), str(path)) from error


def read_results(path: Path) -> list[Row]:
    """The rows of a results file, or of the file `results.parquet` in a folder; other columns are dropped.

    Raises InputError for a file that is not there or no Parquet, needed columns that are missing or null,
    other types, and two rows of the same key.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    file = path / RESULTS if path.is_dir() else path
    try:
        found = pq.read_table(file)
    except FileNotFoundError:
        raise InputError(
            "there are no results", str(file), "run 'pgsr bench SUITE --out DIR' first"
        ) from None
    except (OSError, pa.ArrowInvalid):
        way_out = "move it away, or give results of 'pgsr bench'"
        raise InputError("the file is not Parquet", str(file), way_out) from None
    whole = schema()
    columns = []
    for field in whole:
        if field.name not in found.column_names:
            columns.append(pa.nulls(found.num_rows, field.type))
            continue
        try:
            columns.append(found[field.name].combine_chunks().cast(field.type))
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            raise InputError(f"not of type {field.type}", f"{file}, column '{field.name}'") from None
    table = pa.Table.from_arrays(columns, schema=whole)
    _check(table, str(file))
    rows: list[Row] = table.to_pylist()
    return rows


def is_results(file: Path) -> bool:
    """Whether a file may be a table of results: all but a Parquet file without its columns."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        return "key" in pq.read_schema(file).names
    except (OSError, pa.ArrowInvalid):
        return True  # reading it says what is wrong


def _check(table: pa.Table, where: str) -> None:
    """Needed columns without nulls, and no key twice."""
    for column in COLUMNS:
        if column.needed and table[column.name].null_count:
            raise InputError("values are missing", f"{where}, column '{column.name}'", "every run has one")
    seen: set[Any] = set()
    for at, key in enumerate(table["key"].to_pylist(), 1):
        if key in seen:
            raise InputError(f"key '{key}' stands twice", f"{where}, row {at}", "one row a run")
        seen.add(key)


class Store:
    """The results of a suite in a folder: each finished run is on disk before the next begins."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / RESULTS
        self._rows: dict[str, Row] = {}
        if self.path.exists():
            self._rows = {row["key"]: row for row in read_results(self.path)}

    def __contains__(self, key: object) -> bool:
        return key in self._rows

    def keep(self, row: Row) -> None:
        """Add a row, or put it in the place of the one with its key, and write the file anew."""
        self._rows[row["key"]] = row
        write_results(self.path, self._rows.values())

    @property
    def rows(self) -> Sequence[Row]:
        """All rows, in the order in which they came."""
        return list(self._rows.values())
