"""Options that several commands share, and checks of arguments before the work starts."""

from __future__ import annotations

import os
from collections.abc import Collection
from pathlib import Path
from typing import Annotated

import typer

from pgsr.errors import InputError

Json = Annotated[
    bool, typer.Option("--json", help="Print one JSON object on standard output, and nothing else.")
]


def new_place(path: Path, what: str, *, endings: Collection[str] = ()) -> Path:
    """Refuse, before any work, a `path` that cannot be written: InputError names it and says why.

    `endings` are the allowed endings of a file; without any, `path` may be a folder.
    """
    if endings and path.suffix not in endings:
        raise InputError(f"unknown kind of {what}", str(path), f"end its name in {' or '.join(endings)}")
    if not path.parent.is_dir():
        raise InputError("folder not found", str(path.parent), "create it first")
    if not os.access(path.parent, os.W_OK | os.X_OK):
        raise InputError("folder cannot be written to", str(path.parent), "choose another one")
    if path.is_dir() and endings:
        raise InputError("is a folder, a file is to be written", str(path), "give another name")
    return path


def new_folder(path: Path) -> Path:
    """Refuse, before any work, a folder that exists already (unless it is empty) or cannot be made."""
    new_place(path, "folder")
    if path.exists() and not (path.is_dir() and not any(path.iterdir())):
        raise InputError("exists already", str(path), "give --out another name, or remove it")
    return path
