"""A ledger's entries, and the two places they are kept: a locked, append-only file, or memory.

A file holds one JSON object a line: a header with the format version, then one entry a charge. Readers
and writers lock the file itself; a line is on disk (fsync) before `transact` returns, so before anything is
drawn.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import secrets
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pgsr.errors import InputError
from pgsr.privacy import PrivacyEvent, exact_keys

LOCK_WAIT_S = 10.0
"""A ledger that other processes lock for longer than this is refused."""

Record = dict[str, Any]
Decide = Callable[[list[Record]], list[Record]]


Partition = tuple[str, str]
"""(name of a public partition of the records, name of one part)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One charge: the event as it was stated, a public label, its part of a partition if any, UTC time."""

    number: int
    event: PrivacyEvent
    label: str = ""
    partition: Partition | None = None
    time: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Plain record; one line of a ledger on disk."""
        return {
            "number": self.number,
            "time": self.time,
            "label": self.label,
            "partition": None if self.partition is None else list(self.partition),
            "event": self.event.to_dict(),
        }

    @classmethod
    def from_dict(cls, record: Any, number: int, where: str) -> Entry:
        """The inverse of `to_dict`; InputError if it is not entry `number`."""
        fields = exact_keys(record, where, {"number", "time", "label", "partition", "event"})
        if (
            fields["number"] != number
            or not isinstance(fields["label"], str)
            or not isinstance(fields["time"], str)
        ):
            raise InputError("entries are missing or changed", where, "restore the ledger from a backup")
        parts = fields["partition"]
        event = PrivacyEvent.from_dict(fields["event"], where)
        partition = None if parts is None else partition_pair(parts, where)
        return cls(
            number=number, event=event, label=fields["label"], partition=partition, time=fields["time"]
        )


def partition_pair(partition: Any, where: str) -> Partition:
    """A pair of texts as a tuple; InputError for anything else."""
    pair = tuple(partition) if isinstance(partition, (tuple, list)) else ()
    if len(pair) != 2 or not all(isinstance(text, str) and text for text in pair):
        raise InputError("a partition is not a pair of texts", where, 'give ("name", "part")')
    return pair


class MemoryLines:
    """Lines of a ledger that ends with the process; threads take turns."""

    def __init__(self) -> None:
        self._records: list[Record] = []
        self._lock = threading.Lock()

    def read(self) -> list[Record]:
        """The entries so far."""
        with self._lock:
            return list(self._records)

    def transact(self, decide: Decide) -> None:
        """Append what `decide` returns for the entries so far; if it raises, append nothing."""
        with self._lock:
            self._records.extend(decide(list(self._records)))


class FileLines:
    """Lines of a ledger on disk; processes and threads take turns by flock.

    Every read and every `transact` looks at the disk again, and waits at most `LOCK_WAIT_S` for its turn.
    Raises InputError, naming file and line, for anything it cannot read.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        with self._locked(os.O_RDONLY, fcntl.LOCK_SH) as descriptor:
            self.header, _, _ = self._parse(_read_all(descriptor))

    @classmethod
    def create(cls, path: Path, header: Record) -> FileLines:
        """Write a new file with `header`; it appears under its name complete or not at all.

        Raises InputError if there is a file already.
        """
        temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}.tmp")
        try:
            descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
            try:
                _write_all(descriptor, _line(header))
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
            os.link(temporary, path)  # unlike a rename, never replaces an existing ledger
            _sync_folder(path.parent)
        except FileExistsError:
            raise InputError(
                "there is a file already", str(path), "open it, or choose another name"
            ) from None
        except OSError as error:
            raise InputError(
                f"cannot write a ledger ({error.strerror})", str(path), "choose another folder"
            ) from error
        finally:
            with contextlib.suppress(FileNotFoundError, NotADirectoryError):
                os.unlink(temporary)
        return cls(path)

    def read(self) -> list[Record]:
        """The entries on disk now."""
        with self._locked(os.O_RDONLY, fcntl.LOCK_SH) as descriptor:
            header, records, _ = self._parse(_read_all(descriptor))
        self._same_header(header)
        return records

    def transact(self, decide: Decide) -> None:
        """Under the lock, append what `decide` returns for the entries on disk, and flush it to disk.

        If `decide` raises, nothing is written. If writing fails, the file is cut back and InputError raised.
        """
        with self._locked(os.O_RDWR | os.O_APPEND, fcntl.LOCK_EX) as descriptor:
            content = _read_all(descriptor)
            header, records, complete = self._parse(content)
            self._same_header(header)
            new = decide(records)
            if not new:
                return
            # A crash can cut a line just before its newline: the entry counts, and its line ends here.
            lines = b"" if complete else b"\n"
            lines += b"".join(_line(record) for record in new)
            try:
                _write_all(descriptor, lines)
                os.fsync(descriptor)
            except OSError as error:
                with contextlib.suppress(OSError):
                    os.ftruncate(descriptor, len(content))
                way_out = "nothing was drawn; free the disk and charge again"
                raise InputError(
                    f"cannot write the ledger ({error.strerror})", str(self.path), way_out
                ) from error

    @contextlib.contextmanager
    def _locked(self, flags: int, lock: int) -> Iterator[int]:
        try:
            descriptor = os.open(self.path, flags)
        except FileNotFoundError:
            raise InputError("no such ledger", str(self.path), "create it first") from None
        except OSError as error:
            raise InputError(
                f"cannot open the ledger ({error.strerror})", str(self.path), "check the file"
            ) from error
        try:
            self._wait(descriptor, lock)
            yield descriptor
        finally:
            os.close(descriptor)  # releases the lock

    def _wait(self, descriptor: int, lock: int) -> None:
        """Lock the open file; InputError if others keep it locked or it cannot be."""
        end = time.monotonic() + LOCK_WAIT_S
        while True:
            try:
                fcntl.flock(descriptor, lock | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() >= end:
                    raise InputError(
                        "ledger is in use by another process", str(self.path), "try again when it has ended"
                    ) from None
                time.sleep(0.005)
            except OSError as error:
                raise InputError(
                    f"cannot lock the ledger ({error.strerror})", str(self.path), "put it on a local disk"
                ) from error
            else:
                return

    def _parse(self, content: bytes) -> tuple[Record, list[Record], bool]:
        """Header, entries, and whether the last line is complete with its newline."""
        lines = content.split(b"\n")
        complete = lines[-1] == b""
        if complete:
            del lines[-1]
        if not lines:
            raise InputError(
                "an empty file is no ledger", str(self.path), "create a ledger under another name"
            )
        records = []
        for number, line in enumerate(lines, start=1):
            where = f"{self.path}, line {number}"
            try:
                record = json.loads(line.decode("utf-8"))
            except (ValueError, RecursionError):
                if number == len(lines) and number > 1 and not complete:
                    way_out = (
                        "a crash cut it before anything was drawn for it: delete that last line, nothing else"
                    )
                    raise InputError("the last line is torn", where, way_out) from None
                raise InputError("unreadable line", where, "restore the ledger from a backup") from None
            if not isinstance(record, dict):
                raise InputError("not a record", where, "restore the ledger from a backup")
            records.append(record)
        return records[0], records[1:], complete

    def _same_header(self, header: Record) -> None:
        if header != self.header:
            raise InputError(
                "the header has changed since it was opened", str(self.path), "open the ledger again"
            )


def _line(record: Record) -> bytes:
    return json.dumps(record, ensure_ascii=True, allow_nan=False).encode("ascii") + b"\n"


def _read_all(descriptor: int) -> bytes:
    parts = []
    while part := os.read(descriptor, 1 << 20):
        parts.append(part)
    return b"".join(parts)


def _write_all(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
