"""From exceptions to exit codes: one line on standard error, never a traceback unless asked for.

0 success; 1 a fault of ours; 2 bad input; 3 a solver stopped without a usable point; 130 Ctrl-C.
"""

from __future__ import annotations

import errno
import os
import signal
import sys
import threading
import traceback
from pathlib import Path
from types import FrameType
from typing import Any, Self

import typer

from pgsr.errors import InputError, PgsrError, one_line

FAULT, BAD_INPUT, NO_POINT, INTERRUPTED, TERMINATED, BROKEN_PIPE = 1, 2, 3, 130, 143, 141

SHOW = "PGSR_TRACEBACK"
"""The environment variable that asks for tracebacks."""


class NoPoint(PgsrError):
    """A solver stopped without a usable point."""


class Terminated(BaseException):
    """The process was asked to end (SIGTERM): unwind, so that nothing is left half-written."""


def exit_code(error: BaseException, command: str) -> int:
    """Say on standard error, in one line, what happened, and return the exit code.

    `command` is what was called, such as "pgsr solve". Notes on the exception end the line.
    """
    if isinstance(error, typer.Exit):
        return int(error.exit_code)
    if isinstance(error, BrokenPipeError) or (
        isinstance(error, SystemExit) and isinstance(error.__context__, BrokenPipeError)  # as rich has it
    ):
        # Whoever read our output has gone. Python would complain once more when it closes the pipe.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return BROKEN_PIPE
    code, text = _explain(error, command)
    notes = getattr(error, "__notes__", ())
    if os.environ.get(SHOW):
        traceback.print_exception(error, file=sys.stderr)
    print(one_line(": ".join([text, *notes])), file=sys.stderr)
    return code


def _explain(error: BaseException, command: str) -> tuple[int, str]:
    """Exit code and line of one exception."""
    from pgsr.mechanism import EstimateError

    if isinstance(error, InputError):
        return BAD_INPUT, str(error)
    if hasattr(error, "format_message"):  # typer's usage errors, whichever click they come from
        return BAD_INPUT, f"{error.format_message().rstrip('.')}: {command}: see {command} --help"
    if isinstance(error, (NoPoint, EstimateError)):
        return NO_POINT, str(error)
    if isinstance(error, (KeyboardInterrupt, typer.Abort)):
        return INTERRUPTED, f"interrupted: {command}: nothing was left half-written"
    if isinstance(error, Terminated):
        return TERMINATED, f"terminated: {command}: nothing was left half-written"
    if isinstance(error, OSError):
        where = ", ".join(str(name) for name in (error.filename, error.filename2) if name) or command
        way_out = "free some space" if error.errno == errno.ENOSPC else "check the path and its permissions"
        return (
            BAD_INPUT,
            f"cannot be read or written ({error.strerror or type(error).__name__}): {where}: {way_out}",
        )
    if isinstance(error, MemoryError):
        return FAULT, f"out of memory: {command}: use a larger machine or a smaller problem"
    way_out = f"set {SHOW}=1 to see the traceback, and report it"
    if isinstance(error, PgsrError):
        return FAULT, f"{error}: {command}: {way_out}"
    # The message of a foreign exception may quote a cell of confidential data: it is not shown.
    return FAULT, f"fault in pgsr ({type(error).__name__}): {command}, {_place(error)}: {way_out}"


def _place(error: BaseException) -> str:
    """File and line of ours in which `error` passed last."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if "pgsr" in Path(frame.filename).parts] or frames
    return f"{Path(ours[-1].filename).name} line {ours[-1].lineno}" if ours else "unknown place"


class Signals:
    """What Ctrl-C and SIGTERM do while a command runs: an exception, so that temporary files are removed.

    An exception that is raised inside a destructor or a callback of a library is lost (compiling with
    numba has many of them), so it is raised again every `AGAIN_S` seconds until `settle` is called.
    """

    AGAIN_S = 2.0

    def __init__(self) -> None:
        self._before: dict[int, Any] = {}
        self._asked: type[BaseException] | None = None
        self._hook = sys.unraisablehook

    def __enter__(self) -> Self:
        """Take over the signals, if this is the main thread (no other may)."""
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGALRM):
                if number == signal.SIGALRM or signal.getsignal(number) is not signal.SIG_IGN:
                    self._before[number] = signal.signal(number, self._raise)
            sys.unraisablehook = self._unraisable
        return self

    def __exit__(self, *error: object) -> None:
        """Give the signals back."""
        self.settle()
        for number, handler in self._before.items():
            signal.signal(number, handler)
        sys.unraisablehook = self._hook

    def settle(self, error: BaseException | None = None) -> BaseException | None:
        """The exception has arrived, perhaps in the guise of `error`: raise it no more, and return it."""
        if self._before:
            signal.setitimer(signal.ITIMER_REAL, 0)
        asked, self._asked = self._asked, None
        if asked is None or error is None or isinstance(error, asked):
            return error
        found = asked()
        for note in getattr(error, "__notes__", ()):
            found.add_note(note)
        return found

    def _raise(self, number: int, _frame: FrameType | None) -> None:
        if number != signal.SIGALRM:
            self._asked = KeyboardInterrupt if number == signal.SIGINT else Terminated
            signal.setitimer(signal.ITIMER_REAL, self.AGAIN_S, self.AGAIN_S)
        if self._asked is not None:
            raise self._asked

    def _unraisable(self, lost: Any) -> None:
        """Say nothing about an exception of ours that was lost: it comes again."""
        if lost.exc_type not in (KeyboardInterrupt, Terminated):
            self._hook(lost)
