"""A confidential column is never read as a public one: the check of keys and options that name columns."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pgsr.errors import InputError

WAY_OUT = "name a column that is public"


def public_use(confidential: str | None, public: Mapping[str, object]) -> str | None:
    """The first key or option of `public` that names the column `confidential`, or None.

    `public` maps keys to what they name: a column, several, or anything else, which names none.
    """
    if confidential is None:
        return None
    for key, named in public.items():
        several = named if isinstance(named, (tuple, list)) else (named,)
        if any(isinstance(name, str) and name == confidential for name in several):
            return key
    return None


def refuse_confidential(confidential: str | None, public: Mapping[str, object]) -> None:
    """InputError, naming the key or option, if one of `public` names the column `confidential`."""
    key = public_use(confidential, public)
    if key is not None:
        raise InputError(f"column {confidential!r} is confidential", key, WAY_OUT)


def same_file(first: Path | None, second: Path | None) -> bool:
    """Whether two paths lead to one file, links included; False if one is None or not there."""
    if first is None or second is None:
        return False
    try:
        return first.samefile(second)
    except OSError:
        return first.absolute() == second.absolute()
