"""Files and folders that appear whole or not at all."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pgsr.errors import InputError


@contextmanager
def atomic_path(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a temporary path in the same folder; it becomes `path` when the block ends well.

    The file is flushed to disk first, and replaces a file of that name. If the block fails or is
    interrupted, the temporary file is removed and `path` is as it was. The ending of the name is kept.
    Raises InputError if the folder is missing or `path` is a folder.
    """
    target = Path(path)
    temporary = _beside(target, target.suffix)
    if target.is_dir():
        raise InputError("is a folder, a file is to be written", str(target), "give another name")
    try:
        yield temporary
        _flush(temporary)
        temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    _flush(target.parent)


@contextmanager
def atomic_dir(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a new temporary folder beside `path`; it becomes `path` when the block ends well.

    All files in it are flushed to disk first. If the block fails or is interrupted it is removed.
    Raises InputError if `path` exists, unless as an empty folder, or if the folder above is missing.
    """
    target = Path(path)
    temporary = _beside(target, "")
    if target.exists() and not (target.is_dir() and not any(target.iterdir())):
        raise InputError("exists already", str(target), "give a new or an empty folder")
    temporary.mkdir()
    try:
        yield temporary
        for folder, _, names in os.walk(temporary):
            for name in names:
                _flush(Path(folder) / name)
            _flush(Path(folder))
        temporary.replace(target)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise
    _flush(target.parent)


def _beside(target: Path, suffix: str) -> Path:
    """An unused hidden name in the folder of `target`."""
    if not target.parent.is_dir():
        raise InputError("folder not found", str(target.parent), "create it first")
    return target.with_name(f".{target.stem}-{secrets.token_hex(8)}{suffix}")


def _flush(path: Path) -> None:
    """Ask the operating system to put a file or folder on disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
