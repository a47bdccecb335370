"""Levels of geocodes: the code of a region starts with the code of the one above it.

United States census geocodes, for example: state 2 digits, county 5, tract 11, block group 12, block 15.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from types import MappingProxyType
from typing import Any

import numpy as np

from pgsr.errors import InputError
from pgsr.text import ArrowArray, text_array

US_CENSUS: Mapping[str, int] = MappingProxyType(
    {"state": 2, "county": 5, "tract": 11, "block group": 12, "block": 15}
)
"""Length of the codes of each level of the United States census."""


def levels_from_prefixes(
    codes: Any,
    lengths: Mapping[str, int] | Sequence[int],
    *,
    source: str = "geocodes",
) -> dict[str, ArrowArray]:
    """Columns for `Hierarchy.from_levels`, from the codes of the leaves and the code length of each level.

    codes: a sequence or column of text, one a leaf. lengths: characters of a code on each level from the top
    down, below the root; a mapping also names the levels. The last is the length of the leaves' codes.
    Returns one arrow column a level, each as long as `codes`.
    Raises InputError for lengths that do not increase, and for a code of another length, naming it.
    """
    import pyarrow.compute as pc

    cuts = list(lengths.values()) if isinstance(lengths, Mapping) else list(lengths)
    names = (
        [str(name) for name in lengths]
        if isinstance(lengths, Mapping)
        else [f"level {place}" for place in range(2, len(cuts) + 2)]
    )
    if not cuts or cuts[0] < 1 or any(short >= long for short, long in pairwise(cuts)):
        raise InputError("code lengths do not increase from 1 up", source, "give them from the top down")
    text = text_array(codes, source)
    found: ArrowArray = pc.utf8_length(text)
    wrong = np.asarray(found.fill_null(-1)) != cuts[-1]
    if wrong.any():
        row = int(np.argmax(wrong))
        code = text[row].as_py()
        what = "missing code" if code is None else f"code {code!r} has not {cuts[-1]} characters"
        raise InputError(what, f"{source}, entry {row + 1}", "keep leading zeros: read codes as text")
    columns: list[ArrowArray] = [pc.utf8_slice_codeunits(text, 0, stop=int(cut)) for cut in cuts]
    return dict(zip(names, columns, strict=True))
