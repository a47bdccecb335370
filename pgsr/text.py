"""Region codes and other text: from whatever a caller has to arrow, and from arrow to numpy strings.

Codes are text throughout, so that leading zeros survive: whole numbers become their decimal text.
"""

from __future__ import annotations

import re
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pgsr.errors import InputError

TextArray = np.ndarray[Any, np.dtypes.StringDType]
ArrowArray: TypeAlias = Any
"""A `pyarrow.Array`: its stubs know too few of the calls that it answers."""

CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
"""Control characters but tabs and line breaks: a terminal that shows them obeys them."""

_CHUNK = 1_000_000
_WAY_OUT = "give the codes as text"


def arrow_array(values: Any, where: str) -> ArrowArray:
    """One arrow array of any type from a sequence, numpy, pandas, polars or arrow column.

    `where` names the column in errors. NaN counts as missing in them.
    Raises InputError for values that fit no single arrow type.
    """
    import pyarrow as pa

    array: ArrowArray
    if isinstance(values, (pa.Array, pa.ChunkedArray)):
        array = values
    elif isinstance(values, np.ndarray) and values.dtype.kind == "T":
        array = _from_numpy_text(values)
    else:
        if isinstance(values, np.ndarray) and values.dtype.kind == "U":
            values = values.astype(object)
        try:
            if hasattr(values, "__arrow_c_stream__"):
                array = pa.chunked_array(values)
            else:
                array = pa.array(values, from_pandas=True)
        except UnicodeEncodeError:
            raise InputError("text with half a character (a lone surrogate)", where, _WAY_OUT) from None
        except (pa.ArrowException, TypeError, ValueError, OverflowError):
            # Not chained: the cause may quote a cell.
            raise InputError("values of mixed or unknown types", where, "give one type per column") from None
    if isinstance(array, pa.ChunkedArray):
        parts = [_plain(part) for part in array.chunks] or [_plain(pa.array([], array.type))]
        return pa.concat_arrays(parts) if len(parts) > 1 else parts[0]
    return _plain(array)


def _plain(array: ArrowArray) -> ArrowArray:
    """Dictionaries decoded, and text as large_string, whose 64-bit offsets hold any number of rows."""
    import pyarrow as pa

    if pa.types.is_dictionary(array.type):
        return _plain(array.dictionary).take(array.indices)
    if pa.types.is_string(array.type) or str(array.type) == "string_view":
        return array.cast(pa.large_string())
    return array


def text_array(values: Any, where: str) -> ArrowArray:
    """`values` as an arrow large_string array; whole numbers become decimal text, nulls stay null.

    Raises InputError, naming `where`, for floats, booleans and anything else that is not text.
    """
    import pyarrow as pa

    array = arrow_array(values, where)
    kind = array.type
    if kind == pa.large_string():
        return array
    if pa.types.is_floating(kind):
        raise InputError("codes are floating-point numbers, which lose leading zeros", where, _WAY_OUT)
    if not (pa.types.is_integer(kind) or pa.types.is_null(kind)):
        raise InputError(f"codes are of type {kind}", where, _WAY_OUT)
    return array.cast(pa.large_string())


def control_rows(array: ArrowArray) -> NDArray[np.bool_] | None:
    """Which codes of an arrow text array hold a control character (`CONTROL`), None if none does.

    Nulls hold none.
    """
    data = array.buffers()[2]
    if data is None or not _suspect(np.frombuffer(data, dtype=np.uint8)):
        return None
    import pyarrow.compute as pc

    found: ArrowArray = pc.match_substring_regex(array, CONTROL.pattern)
    rows = np.asarray(found.fill_null(False))
    return rows if rows.any() else None


def _suspect(data: NDArray[np.uint8]) -> bool:
    """Whether UTF-8 may hold a control character: bytes below 32, 127, or C2, with which 128 to 159 begin."""
    for start in range(0, data.size, _CHUNK):
        part = data[start : start + _CHUNK]
        if ((part < 0x20) | (part == 0x7F) | (part == 0xC2)).any():
            return True
    return False


def numpy_text(array: ArrowArray) -> TextArray:
    """Numpy strings from an arrow text array without nulls, a million at a time to bound the memory."""
    out = np.empty(len(array), dtype=np.dtypes.StringDType())
    for start in range(0, len(array), _CHUNK):
        out[start : start + _CHUNK] = array.slice(start, _CHUNK).to_numpy(zero_copy_only=False)
    return out


def _from_numpy_text(values: TextArray) -> ArrowArray:
    """Arrow text from numpy strings; older pyarrow does not know the type, so via objects if need be."""
    import pyarrow as pa

    try:
        return pa.array(values).cast(pa.large_string())
    except (pa.ArrowNotImplementedError, pa.ArrowTypeError, pa.ArrowInvalid):
        chunks = [
            pa.array(values[start : start + _CHUNK].astype(object), type=pa.large_string())
            for start in range(0, len(values), _CHUNK)
        ]
        return pa.concat_arrays(chunks) if chunks else pa.array([], type=pa.large_string())
