"""Tables from files and data frames, read strictly: errors name file, column and row, never the value.

CSV is read as text, so that codes keep their leading zeros and a bad number can be named by its line.
"""

from __future__ import annotations

import csv
import gzip
import io
import os
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from pgsr.atomic import atomic_dir, atomic_path
from pgsr.errors import InputError
from pgsr.levelorder import MAGNITUDE
from pgsr.text import ArrowArray, arrow_array, control_rows, text_array

__all__ = ["AUTO", "Auto", "Table", "atomic_dir", "atomic_path", "read_table"]

LIMIT = MAGNITUDE
"""No magnitude above this is accepted: beyond it floating point skips whole numbers."""


class Auto(Enum):
    """The default of an optional column: the one of the default name, if the table has it."""

    AUTO = "auto"


AUTO: Final = Auto.AUTO

_WHOLE = r"^[+-]?[0-9]+(\.0*)?$"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Table:
    """Named columns of equal length as arrow arrays, and where they came from.

    source: name for errors. columns: name to `pyarrow.Array`. csv_path: the file whose lines errors name;
    without it they name rows, counted from 1.
    Raises InputError for columns of unequal length.
    """

    source: str
    columns: Mapping[str, ArrowArray]
    csv_path: Path | None = None

    def __post_init__(self) -> None:
        """Check the lengths."""
        for name, column in self.columns.items():
            if len(column) != self.rows:
                raise InputError("columns of unequal length", self.where(name), "give every row a cell")

    def __repr__(self) -> str:
        """Source, rows and columns; no cell."""
        return f"Table({self.source!r}, {self.rows} rows, columns {list(self.columns)})"

    @property
    def rows(self) -> int:
        """Number of rows."""
        return len(next(iter(self.columns.values()), ()))

    def column(self, name: str) -> ArrowArray:
        """The arrow array of one column; raises InputError, listing the columns, if it is not there."""
        if name not in self.columns:
            there = ", ".join(repr(other) for other in list(self.columns)[:20])
            more = ", ..." if len(self.columns) > 20 else ""
            raise InputError(f"no column {name!r}", self.source, f"columns are {there}{more}")
        return arrow_array(self.columns[name], self.where(name))

    def optional(self, column: str | Auto | None, default: str) -> str | None:
        """The name of an optional column: `column`, or for `AUTO` `default` if there is such a column."""
        if isinstance(column, Auto):
            return default if default in self.columns else None
        return column

    def where(self, name: str, row: int | None = None) -> str:
        """How an error names a column and, counted from 0, a row: CSV files by line, others by row from 1."""
        place = f"{self.source}, column {name!r}"
        if row is None:
            return place
        if self.csv_path is None:
            return f"{place}, row {row + 1}"
        return f"{place}, line {_line_of(self.csv_path, row)}"

    def text(self, name: str, *, empty: bool = False) -> ArrowArray:
        """One column of codes as arrow large_string; whole numbers become their decimal text.

        Raises InputError for another type, for control characters and, unless `empty`, for missing or empty
        cells.
        """
        codes = text_array(self.column(name), self.where(name))
        if not empty:
            import pyarrow.compute as pc

            length: ArrowArray = pc.binary_length(codes)
            self._refuse(np.asarray(length.fill_null(0)) == 0, "missing code", name, "fill every cell")
        control = control_rows(codes)
        if control is not None:
            self._refuse(control, "control character in a code", name, "take it out")
        return codes

    def integers(self, name: str, *, minimum: int = -LIMIT, maximum: int = LIMIT) -> NDArray[np.int64]:
        """One column of whole numbers as int64, from integers, whole floats or decimals, or their text.

        Raises InputError for missing cells, fractions, NaN, text that is no number, and values outside
        `minimum` .. `maximum` (which are at most 2^53 in magnitude), naming the row and not the value.
        """
        import pyarrow as pa
        import pyarrow.compute as pc

        column = self.column(name)
        kind = column.type
        if pa.types.is_null(kind):
            column, kind = column.cast(pa.int64()), pa.int64()
        textual = pa.types.is_large_string(kind)
        numeric = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
        numeric = numeric and not pa.types.is_float16(kind)  # which skips whole numbers from 2048 up
        if not (textual or numeric):
            raise InputError(f"column of type {kind}", self.where(name), "give whole numbers")
        self._refuse(np.asarray(column.is_null(nan_is_null=True)), "missing value", name, "fill every cell")
        if textual:
            column = self._parsed(column, name)
        elif not pa.types.is_integer(kind):
            part = np.asarray(pc.not_equal(pc.floor(column), column))
            self._refuse(part, "not a whole number", name, "give whole numbers")
        beyond = np.zeros(len(column), dtype=np.bool_)
        for bound, compare in ((-LIMIT, pc.less), (LIMIT, pc.greater)):
            if pa.types.is_floating(column.type):
                beyond |= np.asarray(compare(column, pa.scalar(float(bound), column.type)))
            elif pa.types.is_decimal(column.type):
                beyond |= np.asarray(compare(column, pa.scalar(bound)))
            elif column.type == pa.int64() or (column.type == pa.uint64() and bound > 0):
                beyond |= np.asarray(compare(column, pa.scalar(bound, column.type)))
        self._refuse(beyond, "magnitude above 2^53", name, "give smaller numbers")
        values = np.asarray(column.cast(pa.int64()))
        too_low = "negative value" if minimum == 0 else f"value below {minimum}"
        self._refuse(values < minimum, too_low, name, f"the least is {minimum}")
        self._refuse(values > maximum, f"value above {maximum}", name, f"the most is {maximum}")
        return values

    def _parsed(self, column: ArrowArray, name: str) -> ArrowArray:
        """Whole numbers from text."""
        import pyarrow as pa
        import pyarrow.compute as pc

        text: ArrowArray = pc.utf8_trim_whitespace(column)
        self._refuse(np.asarray(pc.binary_length(text)) == 0, "missing value", name, "fill every cell")
        bad = np.asarray(pc.invert(pc.match_substring_regex(text, _WHOLE)))
        self._refuse(bad, "not a whole number", name, "give whole numbers")
        # Strip the plus sign, leading zeros and a fraction of zeros: what is left is short or too large.
        text = pc.replace_substring_regex(text, r"^\+?(-?)0*([0-9]+?)(\.0*)?$", r"\1\2")
        length: ArrowArray = pc.binary_length(text)
        self._refuse(np.asarray(length) > 17, "magnitude above 2^53", name, "give smaller numbers")
        return text.cast(pa.int64())

    def _refuse(self, bad: NDArray[np.bool_], what: str, name: str, way_out: str) -> None:
        """Raise InputError naming the first row where `bad` holds."""
        if bad.any():
            raise InputError(what, self.where(name, int(np.argmax(bad))), way_out)


def read_table(source: Any, *, name: str = "table") -> Table:
    """Table from a CSV (also gzipped) or Parquet file, a data frame, or a mapping of columns.

    Data frames are those of pandas, polars and pyarrow, and whatever has `__arrow_c_stream__`; `name` names
    them in errors. Files are told apart by their first bytes. CSV: UTF-8, comma, header in line 1.
    Raises InputError for anything that cannot be read.
    """
    if isinstance(source, Table):
        return source
    if isinstance(source, (str, os.PathLike)):
        return _read_file(Path(source))
    import pyarrow as pa

    if isinstance(source, Mapping) or type(source).__module__.partition(".")[0] == "pandas":
        try:
            columns = {str(key): source[key] for key in source}
        except (KeyError, TypeError):
            raise InputError("not a table", name, "give a data frame") from None
        if len(columns) < len(list(source)):
            raise InputError("columns of the same name", name, "name every column once")
        return Table(
            source=name,
            columns={key: arrow_array(value, f"{name}, column {key!r}") for key, value in columns.items()},
        )
    if not (isinstance(source, (pa.Table, pa.RecordBatch)) or hasattr(source, "__arrow_c_stream__")):
        raise InputError(
            f"cannot read a table from {type(source).__name__}", name, "give a path or a data frame"
        )
    try:
        table = pa.table(source)
    except (pa.ArrowException, TypeError, ValueError):
        raise InputError("cannot be read as a table", name, "give a path or a data frame") from None
    return _from_arrow(table, name)


def _refuse_same_names(names: list[str], where: str) -> None:
    """Raise InputError if two columns have one name."""
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InputError(f"columns of the same name {twice!r}", where, "name every column once")


def _from_arrow(table: Any, source: str) -> Table:
    """Table from a `pyarrow.Table`."""
    _refuse_same_names(table.column_names, source)
    return Table(
        source=source,
        columns={
            key: arrow_array(table.column(key), f"{source}, column {key!r}") for key in table.column_names
        },
    )


def _read_file(path: Path) -> Table:
    """Table from a file, Parquet if it starts as one, else CSV."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    source = str(path)
    try:
        with path.open("rb") as stream:
            start = stream.read(4)
    except FileNotFoundError:
        raise InputError("file not found", source, "check the path") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "bad path"
        raise InputError(f"cannot be read ({reason})", source, "check the path") from None
    if not start:
        raise InputError("empty file", source, "give a CSV or Parquet file with a header")
    parquet = start == b"PAR1"
    if not parquet and path.suffix.lower() in (".parquet", ".pq"):
        raise InputError("not a Parquet file", source, "check the file")
    # Causes are not chained: the messages of arrow quote the row.
    try:
        if parquet:
            _refuse_same_names(list(pq.read_schema(path).names), source)
        table = pq.read_table(path) if parquet else _read_csv(path)
    except (UnicodeDecodeError, pa.ArrowException, OSError, EOFError, csv.Error):
        if not parquet:
            _refuse_ragged(path)
        kind = "Parquet" if parquet else "CSV in UTF-8"
        raise InputError(f"cannot be read as {kind}", source, "check the file") from None
    if parquet:
        return _from_arrow(table, source)
    return Table(source=source, columns=_from_arrow(table, source).columns, csv_path=path)


def _read_csv(path: Path) -> Any:
    """A `pyarrow.Table` of text columns."""
    import pyarrow as pa
    import pyarrow.csv as pacsv

    with _open_text(path) as stream:
        header = next(csv.reader(stream), [])
    if not header:
        raise InputError("no header in line 1", str(path), "name the columns in line 1")
    _refuse_same_names(header, f"{path}, line 1")
    stream_of: Any = pa.input_stream
    with stream_of(str(path), compression="gzip" if _gzipped(path) else None) as raw:
        return pacsv.read_csv(
            raw,
            parse_options=pacsv.ParseOptions(newlines_in_values=True),
            convert_options=pacsv.ConvertOptions(
                column_types=dict.fromkeys(header, pa.large_string()), strings_can_be_null=False
            ),
        )


def _gzipped(path: Path) -> bool:
    """Whether the file starts as a gzip file does."""
    with path.open("rb") as stream:
        return stream.read(2) == b"\x1f\x8b"


def _open_text(path: Path) -> io.TextIOWrapper:
    """The file as text, unpacked if need be; a byte-order mark is skipped."""
    if _gzipped(path):
        return gzip.open(path, "rt", encoding="utf-8-sig", newline="")
    return path.open(encoding="utf-8-sig", newline="")


def _line_of(path: Path, row: int) -> int:
    """The line of the file on which a data row starts: blank lines and line breaks in cells count."""
    left, before = row + 1, 0  # the header is a record too
    try:
        with _open_text(path) as stream:
            reader = csv.reader(stream)
            for cells in reader:
                if cells and left == 0:
                    return before + 1
                left -= bool(cells)
                before = reader.line_num
    except (UnicodeDecodeError, OSError, EOFError, csv.Error):
        pass  # the file was read before; if it cannot be now, count a line a row
    return row + 2


def _refuse_ragged(path: Path) -> None:
    """Raise InputError naming the first line whose number of cells is not that of the header."""
    try:
        with _open_text(path) as stream:
            reader = csv.reader(stream)
            width = len(next(reader, []))
            for cells in reader:
                if cells and len(cells) != width:
                    raise InputError(
                        f"{len(cells)} cells for {width} columns",
                        f"{path}, line {reader.line_num}",
                        "check the row",
                    )
    except (UnicodeDecodeError, OSError, EOFError, csv.Error):
        return
