"""Ways out for names that are not known: the one that was probably meant, or all there are."""

from __future__ import annotations

import difflib
from collections.abc import Collection


def meant(word: str, known: Collection[str], otherwise: str) -> str:
    """The question whether a known name near to `word` was meant, if there is one, before `otherwise`."""
    near = difflib.get_close_matches(word, list(known), n=1)
    return f"did you mean '{near[0]}'? else {otherwise}" if near else otherwise
