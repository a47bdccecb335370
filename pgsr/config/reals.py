"""Columns of real numbers, read strictly; errors name file, column and line, never a value."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pgsr.errors import InputError
from pgsr.tables import LIMIT, Table

_NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,3})?$"


def real_numbers(table: Table, name: str, *, blanks: bool = False) -> NDArray[np.float64]:
    """A column of real numbers as float64, from numbers or their text; with `blanks`, NaN for empty cells.

    Raises InputError for empty cells otherwise, for text that is no number and for magnitudes above 2^53,
    naming the row and not the value.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    column = table.column(name)
    kind = column.type
    if pa.types.is_large_string(kind):
        text = pc.utf8_trim_whitespace(column)
        blank = np.asarray(pc.binary_length(text).fill_null(0)) == 0
        text = pc.if_else(pa.array(blank), pa.scalar("0", pa.large_string()), text)
        bad = np.asarray(pc.invert(pc.match_substring_regex(text, _NUMBER)))
        refuse_cells(table, name, bad, "not a number", "give numbers such as 12 or 0.125")
        column = pc.replace_substring_regex(text, r"^\+", "")
    elif pa.types.is_null(kind):
        blank, column = np.ones(len(column), dtype=np.bool_), column.cast(pa.float64())
    elif pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        blank = np.asarray(column.is_null(nan_is_null=True))
    else:
        raise InputError(f"column of type {kind}", table.where(name), "give numbers")
    if not blanks:
        refuse_cells(table, name, blank, "missing value", "fill every cell")
    values = np.array(column.cast(pa.float64(), safe=False).fill_null(0.0), dtype=np.float64)
    values[blank] = 0.0
    refuse_cells(table, name, np.abs(values) > LIMIT, "magnitude above 2^53", "choose another unit")
    values[blank] = np.nan
    return values


def refuse_cells(table: Table, name: str, bad: NDArray[np.bool_], what: str, way_out: str) -> None:
    """Raise InputError naming the first row of the column where `bad` holds."""
    if bad.any():
        raise InputError(what, table.where(name, int(np.argmax(bad))), way_out)
