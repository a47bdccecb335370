"""The one way from confidential data to a release: check, charge, measure, estimate, stamp.

Every mechanism family goes through `release`. A `Release` holds noisy measurements and what was computed
from them, never the data.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from pgsr.errors import InputError, PgsrError, one_line
from pgsr.ledger import Ledger, Partition
from pgsr.privacy import Guarantee, PrivacyEvent, exact_keys
from pgsr.provenance import Provenance, SolveRecord

if TYPE_CHECKING:
    from pgsr.noise import BitSource

RELEASE_FORMAT = "pgsr-release/1"
_TABLE_FORMAT = b"pgsr-table/1"
_NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")

Progress = Callable[[str, float], None]
"""Called with the stage's name and the fraction of it that is done (0 to 1)."""

Columns = Mapping[str, NDArray[Any]]
"""A table: column names to 1-d arrays of one length, of integers, floats, booleans or numpy strings."""

Tables = Mapping[str, Columns]

Data = TypeVar("Data")
Data_contra = TypeVar("Data_contra", contravariant=True)
Measured = TypeVar("Measured")


def _tables(tables: Tables, what: str) -> dict[str, dict[str, NDArray[Any]]]:
    """A copy of `tables` (not of the arrays) after checks of names, shapes and types."""
    checked: dict[str, dict[str, NDArray[Any]]] = {}
    for name, columns in tables.items():
        if not _NAME.fullmatch(name):
            raise InputError("a table's name is not lower-case letters, digits and _", what, "rename it")
        arrays = {str(key): np.asarray(column) for key, column in columns.items()}
        shapes = {array.shape for array in arrays.values()}
        if len(shapes) > 1 or any(len(shape) != 1 for shape in shapes):
            raise InputError(
                "columns of unequal length", f"{what}, table '{name}'", "give 1-d arrays of one length"
            )
        for key, array in arrays.items():
            if array.dtype.kind not in "iufbT":
                raise InputError(
                    "neither numbers nor text",
                    f"{what}, table '{name}', column '{key}'",
                    "use numpy StringDType for text",
                )
        checked[name] = arrays
    return checked


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Estimate:
    """What a mechanism makes of its measurements.

    `tables` the published tables by name; `value` the same in the family's own type (None for a release
    read from disk); `solve` how the optimiser answered, None if there was none.
    """

    tables: Tables
    value: Any = None
    solve: SolveRecord | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "tables", _tables(self.tables, "estimate"))


class Mechanism(Protocol[Data_contra, Measured]):
    """A private query with its post-processing; built from public parameters only."""

    @property
    def name(self) -> str:
        """Short name for the records."""
        ...

    @property
    def event(self) -> PrivacyEvent:
        """The cost; an adaptive mechanism states a bound fixed in advance."""
        ...

    def parameters(self) -> Mapping[str, Any]:
        """All public parameters as plain data, for the record and its digest."""
        ...

    def guarantee(self, rng: BitSource) -> Guarantee:
        """What a release with bits from `rng` promises; a function of public parameters only."""
        ...

    def check(self, data: Data_contra) -> None:
        """Raise InputError if `data` does not fit the public parameters; called before any charge."""
        ...

    def measure(self, data: Data_contra, rng: BitSource) -> Measured:
        """Noisy measurements; with `check`, the only method that sees confidential data."""
        ...

    def measurements(self, measured: Measured) -> Tables:
        """The noisy measurements as tables that may be published."""
        ...

    def estimate(self, measured: Measured, progress: Progress | None = None) -> Estimate:
        """Post-processing; raises EstimateError if there is nothing to publish."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Release:
    """A release: `estimate`, noisy `measurements`, `guarantee`, `provenance`; nothing confidential."""

    estimate: Estimate
    measurements: Tables = field(default_factory=dict)
    guarantee: Guarantee
    provenance: Provenance

    def __post_init__(self) -> None:
        object.__setattr__(self, "measurements", _tables(self.measurements, "measurements"))
        twice = sorted(set(self.measurements) & set(self.estimate.tables))
        if twice:
            raise InputError(f"two tables named '{twice[0]}'", "release", "rename one")

    def save(self, folder: str | Path) -> None:
        """Write `guarantee.json`, `provenance.json` and the tables into the new `folder`, all or nothing.

        A table of the estimate becomes `NAME.parquet` and `NAME.csv`, a table of measurements `NAME.parquet`.
        """
        from pgsr.atomic import atomic_dir

        record = {
            "format": RELEASE_FORMAT,
            "tables": sorted(self.estimate.tables),
            "measurements": sorted(self.measurements),
            "provenance": self.provenance.to_dict(),
        }
        with atomic_dir(Path(folder)) as temporary:
            _write_json(Path(temporary) / "guarantee.json", self.guarantee.to_dict())
            _write_json(Path(temporary) / "provenance.json", record)
            for name, columns in self.estimate.tables.items():
                _write_table(Path(temporary) / name, columns, csv=True)
            for name, columns in self.measurements.items():
                _write_table(Path(temporary) / name, columns, csv=False)

    @classmethod
    def load(cls, folder: str | Path) -> Release:
        """Read what `save` wrote (the Parquet files, not the CSV); `estimate.value` is None.

        Raises InputError, naming the file, for missing files, unknown versions and unknown keys.
        """
        folder = Path(folder)
        where = str(folder / "provenance.json")
        record = _read_json(folder / "provenance.json")
        if not isinstance(record, dict) or record.get("format") != RELEASE_FORMAT:
            raise InputError("unknown format", where, f"this version reads {RELEASE_FORMAT}")
        record = exact_keys(record, where, {"format", "tables", "measurements", "provenance"})
        found: dict[str, dict[str, Columns]] = {}
        for group in ("tables", "measurements"):
            names = record[group]
            if not isinstance(names, list) or not all(
                isinstance(n, str) and _NAME.fullmatch(n) for n in names
            ):
                raise InputError("table names are damaged", where, "restore the file as it was written")
            found[group] = {name: _read_table(folder / f"{name}.parquet") for name in names}
        provenance = Provenance.from_dict(record["provenance"], where)
        guarantee = Guarantee.from_dict(_read_json(folder / "guarantee.json"), str(folder / "guarantee.json"))
        estimate = Estimate(tables=found["tables"], solve=provenance.solve)
        return cls(
            estimate=estimate, measurements=found["measurements"], guarantee=guarantee, provenance=provenance
        )


class EstimateError(PgsrError):
    """Post-processing gave nothing to publish.

    `solve` says how the optimiser stopped (None after a fault). When raised by `release`, `partial` is a
    release with the noisy measurements alone: they are paid for, so save it and try `reprocess`.
    """

    def __init__(
        self, message: str, *, solve: SolveRecord | None = None, partial: Release | None = None
    ) -> None:
        super().__init__(message)
        self.solve = solve
        self.partial = partial


def release(
    mechanism: Mechanism[Data, Measured],
    data: Data,
    *,
    ledger: Ledger,
    rng: BitSource,
    label: str = "",
    partition: Partition | None = None,
    progress: Progress | None = None,
    on_measured: Callable[[Release], None] | None = None,
) -> Release:
    """Release `data` through `mechanism` at the expense of `ledger`, with random bits from `rng`.

    `label` (public) and `partition` go to the ledger. `on_measured` gets the release of the noisy
    measurements alone before post-processing starts, for instance to save it. Raises InputError for data
    that does not fit, BudgetError for an overspend (both before anything is drawn or written), and
    EstimateError, with the measurements, if post-processing fails.
    """
    mechanism.check(data)
    guarantee = mechanism.guarantee(rng)
    if guarantee.event != mechanism.event:
        raise PgsrError("the mechanism's guarantee states another cost than its event")
    ledger.charge(mechanism.event, label=label, partition=partition)
    _report(progress, "measure", 0.0)
    measured = mechanism.measure(data, rng)
    _report(progress, "measure", 1.0)
    seeded = not rng.secure
    partial = _stamp(mechanism, measured, Estimate(tables={}), guarantee, seeded, label)
    if on_measured is not None:
        on_measured(partial)
    estimate = _estimate(mechanism, measured, partial, progress)
    return _stamp(mechanism, measured, estimate, guarantee, seeded, label)


def reprocess(
    mechanism: Mechanism[Data, Measured],
    measured: Measured,
    earlier: Release,
    *,
    progress: Progress | None = None,
) -> Release:
    """Post-process the measurements of an `earlier` release again; costs nothing, the guarantee stays.

    `measured` are the earlier measurements in the mechanism's own type. Raises InputError if the mechanism's
    cost is not the earlier one, EstimateError if post-processing fails.
    """
    if mechanism.event != earlier.guarantee.event:
        raise InputError(
            "the earlier release has another cost", "privacy event", "use the parameters it was made with"
        )
    estimate = _estimate(mechanism, measured, earlier, progress)
    seeded, label = earlier.provenance.seeded, earlier.provenance.label
    return _stamp(mechanism, measured, estimate, earlier.guarantee, seeded, label)


def _estimate(
    mechanism: Mechanism[Any, Measured], measured: Measured, partial: Release, progress: Progress | None
) -> Estimate:
    try:
        return mechanism.estimate(measured, progress)
    except EstimateError as error:
        error.partial = partial
        raise
    except Exception as error:
        # Post-processing sees only what is private already, so its message may be passed on.
        reason = one_line(f"{type(error).__name__}: {error}")
        raise EstimateError(f"post-processing failed: {reason}", partial=partial) from error


def _stamp(
    mechanism: Mechanism[Any, Measured],
    measured: Measured,
    estimate: Estimate,
    guarantee: Guarantee,
    seeded: bool,
    label: str,
) -> Release:
    provenance = Provenance.now(
        mechanism=mechanism.name,
        parameters=mechanism.parameters(),
        seeded=seeded,
        label=label,
        solve=estimate.solve,
    )
    measurements = mechanism.measurements(measured)
    return Release(estimate=estimate, measurements=measurements, guarantee=guarantee, provenance=provenance)


def _report(progress: Progress | None, stage: str, done: float) -> None:
    if progress is not None:
        progress(stage, done)


def _write_json(path: Path, record: Mapping[str, Any]) -> None:
    path.write_text(json.dumps(record, indent=2, allow_nan=False) + "\n", encoding="utf-8")


def _read_json(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError("no such file", str(path), "give the folder of a release") from None
    except (OSError, ValueError):
        raise InputError("unreadable file", str(path), "restore the file as it was written") from None


def _write_table(stem: Path, columns: Columns, *, csv: bool) -> None:
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet

    from pgsr.text import arrow_array

    arrays = [arrow_array(column, name) for name, column in columns.items()]
    table = pa.table(arrays, names=list(columns)).replace_schema_metadata({b"format": _TABLE_FORMAT})
    pyarrow.parquet.write_table(table, stem.with_name(f"{stem.name}.parquet"))
    if csv:
        pyarrow.csv.write_csv(table, stem.with_name(f"{stem.name}.csv"))


def _read_table(path: Path) -> Columns:
    import pyarrow as pa
    import pyarrow.parquet

    from pgsr.text import numpy_text

    try:
        table = pyarrow.parquet.read_table(path)
    except FileNotFoundError:
        raise InputError("no such file", str(path), "give the folder of a release") from None
    except (OSError, pa.ArrowException):
        raise InputError("unreadable file", str(path), "restore the file as it was written") from None
    if (table.schema.metadata or {}).get(b"format") != _TABLE_FORMAT:
        raise InputError("unknown format", str(path), f"this version reads {_TABLE_FORMAT.decode()}")
    columns = {}
    for name in table.column_names:
        array = table.column(name).combine_chunks()
        textual = pa.types.is_string(array.type) or pa.types.is_large_string(array.type)
        columns[name] = numpy_text(array) if textual else array.to_numpy(zero_copy_only=False)
    return columns
