"""The one way from confidential data to a release: check, charge, measure, estimate, stamp.

Every mechanism family goes through `release`. A `Release` holds noisy measurements and what was computed
from them, never the data.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
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

_TOTAL_FROM = "total_from"  # added by the command line: where the total comes from
_AS_BEFORE = "use the parameters it was made with"

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
    checked = {}
    for name, columns in tables.items():
        if not _NAME.fullmatch(name):
            raise InputError("a table's name is not lower-case letters, digits and _", what, "rename it")
        arrays = {str(key): np.asarray(column) for key, column in columns.items()}
        shapes = {array.shape for array in arrays.values()}
        if len(shapes) > 1 or any(len(shape) != 1 for shape in shapes):
            where = f"{what}, table '{name}'"
            raise InputError("columns of unequal length", where, "give 1-d arrays of one length")
        for key, array in arrays.items():
            if array.dtype.kind not in "iufbT":
                where = f"{what}, table '{name}', column '{key}'"
                raise InputError("neither numbers nor text", where, "use numpy StringDType for text")
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

    @property
    def event(self) -> PrivacyEvent:
        """The cost; an adaptive mechanism states a bound fixed in advance."""

    @property
    def post_parameters(self) -> frozenset[str]:
        """Names of those `parameters` that concern post-processing alone: `reprocess` may change them."""

    def parameters(self) -> Mapping[str, Any]:
        """All public parameters as plain data, for the record and its digest."""

    def guarantee(self, rng: BitSource) -> Guarantee:
        """What a release with bits from `rng` promises; a function of public parameters only."""

    def check(self, data: Data_contra) -> None:
        """Raise InputError if `data` does not fit the public parameters; called before any charge."""

    def measure(self, data: Data_contra, rng: BitSource) -> Measured:
        """Noisy measurements; with `check`, the only method that sees confidential data."""

    def measurements(self, measured: Measured) -> Tables:
        """The noisy measurements as tables that may be published."""

    def estimate(self, measured: Measured, progress: Progress | None = None) -> Estimate:
        """Post-processing; raises EstimateError if there is nothing to publish."""


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
            for name, plain in (("guarantee", self.guarantee.to_dict()), ("provenance", record)):
                text = json.dumps(plain, indent=2, allow_nan=False) + "\n"
                (temporary / f"{name}.json").write_text(text, encoding="utf-8")
            for name, columns in {**self.estimate.tables, **self.measurements}.items():
                _write_table(temporary / name, columns, csv=name in self.estimate.tables)

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
            if not isinstance(names, list) or not all(_NAME.fullmatch(str(name)) for name in names):
                raise InputError("table names are damaged", where, "restore the file as it was written")
            found[group] = {name: _read_table(folder / f"{name}.parquet") for name in names}
        provenance = Provenance.from_dict(record["provenance"], where)
        guarantee = Guarantee.from_dict(_read_json(folder / "guarantee.json"), str(folder / "guarantee.json"))
        estimate = Estimate(tables=found["tables"], solve=provenance.solve)
        noisy = found["measurements"]
        return cls(estimate=estimate, measurements=noisy, guarantee=guarantee, provenance=provenance)


class EstimateError(PgsrError):
    """Post-processing gave nothing to publish.

    `solve` says how the optimiser stopped (None after a fault). When raised by `release`, `partial` is a
    release with the noisy measurements alone: they are paid for, so save it and try `reprocess`.
    """

    def __init__(
        self, text: str, *, solve: SolveRecord | None = None, partial: Release | None = None
    ) -> None:
        super().__init__(text)
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
    if not isinstance(ledger, Ledger):
        raise InputError("not a ledger", "ledger", "use Ledger.open or Ledger.create")
    facts = [type(getattr(rng, name, None)) for name in ("secure", "description")]
    if isinstance(rng, type) or facts != [bool, str] or not callable(getattr(rng, "words", None)):
        raise InputError("not a source of random bits", "rng", "use SystemBits()")
    mechanism.check(data)
    guarantee = mechanism.guarantee(rng)
    if guarantee.event != mechanism.event:
        raise PgsrError("the mechanism's guarantee states another cost than its event")
    ledger.charge(mechanism.event, label=label, partition=partition)
    report = progress or (lambda _stage, _done: None)
    report("measure", 0.0)
    measured = mechanism.measure(data, rng)
    report("measure", 1.0)
    seeded = not rng.secure
    partial = _stamp(mechanism, measured, Estimate(tables={}), guarantee, seeded, label)
    if on_measured is not None:
        on_measured(partial)
    estimate = _estimate(mechanism, measured, partial, progress)
    return _stamp(mechanism, measured, estimate, guarantee, seeded, label)


def reprocess(
    mechanism: Mechanism[Any, Measured],
    measured: Measured,
    earlier: Release,
    *,
    progress: Progress | None = None,
) -> Release:
    """Post-process the measurements of an `earlier` release again; costs nothing.

    `measured` are the earlier measurements in the mechanism's own type. The guarantee is stated anew, for the
    earlier random bits and the public items as they are now. Raises InputError if a parameter differs from
    the earlier one that is not for post-processing alone, EstimateError if post-processing fails.
    """
    _same_query(mechanism, earlier.provenance)
    guarantee = mechanism.guarantee(_EarlierBits(earlier.guarantee.randomness, earlier.guarantee.secure))
    if mechanism.event != earlier.guarantee.event or guarantee.event != mechanism.event:
        raise InputError("the earlier release has another cost", "privacy event", _AS_BEFORE)
    estimate = _estimate(mechanism, measured, earlier, progress)
    seeded, label = earlier.provenance.seeded, earlier.provenance.label
    return _stamp(mechanism, measured, estimate, guarantee, seeded, label)


@dataclass(frozen=True, slots=True)
class _EarlierBits:
    """The random bits of an earlier release, in words alone: none can be drawn."""

    description: str
    secure: bool

    def words(self, n: int) -> NDArray[np.uint64]:
        raise PgsrError(f"{n} random bits were asked for after the draw")


def _same_query(query: Mechanism[Any, Any], earlier: Provenance) -> None:
    """Raise InputError, naming it, if the measurements were made with another parameter."""
    stated = Provenance.now(mechanism=query.name, parameters=query.parameters(), seeded=False, solve=None)
    now = {"mechanism": stated.mechanism, **stated.parameters}
    then = {"mechanism": earlier.mechanism, **earlier.parameters}
    for name in sorted(set(now) | set(then) - {_TOTAL_FROM}):
        if name not in query.post_parameters and now.get(name) != then.get(name):
            values = [one_line(str(record.get(name, "not stated")))[:80] for record in (then, now)]
            where = f"{values[0]} in the earlier release of {earlier.created}, {values[1]} in the mechanism"
            raise InputError(f"the earlier release has another parameter '{name}'", where, _AS_BEFORE)


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
    name, stated, solve = mechanism.name, mechanism.parameters(), estimate.solve
    provenance = Provenance.now(mechanism=name, parameters=stated, seeded=seeded, label=label, solve=solve)
    measurements = mechanism.measurements(measured)
    return Release(estimate=estimate, measurements=measurements, guarantee=guarantee, provenance=provenance)


@contextmanager
def _reading(path: Path, damaged: type[Exception]) -> Iterator[None]:
    """Failures to read `path` as InputErrors that name it."""
    try:
        yield
    except FileNotFoundError:
        raise InputError("no such file", str(path), "give the folder of a release") from None
    except (OSError, damaged):
        raise InputError("unreadable file", str(path), "restore the file as it was written") from None


def _read_json(path: Path) -> Any:
    with _reading(path, ValueError):
        return json.loads(path.read_text(encoding="utf-8"))


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

    with _reading(path, pa.ArrowException):
        table = pyarrow.parquet.read_table(path)
    if (table.schema.metadata or {}).get(b"format") != _TABLE_FORMAT:
        raise InputError("unknown format", str(path), f"this version reads {_TABLE_FORMAT.decode()}")
    columns = {}
    for name in table.column_names:
        array = table.column(name).combine_chunks()
        textual = pa.types.is_string(array.type) or pa.types.is_large_string(array.type)
        columns[name] = numpy_text(array) if textual else array.to_numpy(zero_copy_only=False)
    return columns
