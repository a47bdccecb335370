"""The process around a command: signals and streams. Loads next to nothing, so that it is there first."""

from __future__ import annotations

import errno
import os
import signal
import sys
import threading
import time
from functools import cache
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from types import FrameType

STARTED = time.monotonic()
"""About when this process began: this module is the first to be loaded."""

STDOUT = "standard output"
"""The file name of an OSError from writing there."""


class Terminated(BaseException):
    """The process was asked to end (SIGTERM): unwind, so that nothing is left half-written."""


class Signals:
    """What Ctrl-C and SIGTERM do while a command runs: an exception, so that temporary files are removed.

    An exception that is raised inside a destructor or a callback of a library is lost (compiling with
    numba has many of them), so it is raised again every `AGAIN_S` seconds until `settle` is called.
    With `last` the process ends after the command: `over` then ignores Ctrl-C, so that the exit code of a
    command that is complete stands while Python shuts down. SIGTERM ends even that.
    """

    AGAIN_S = 2.0

    def __init__(self, *, last: bool = False) -> None:
        self._last = last
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
        if not self._last:
            for number, handler in self._before.items():
                signal.signal(number, handler)
        sys.unraisablehook = self._hook

    def over(self) -> None:
        """The command has done all it had to do, or said what went wrong."""
        if self._last:
            for number, handler in self._before.items():
                signal.signal(number, handler if number == signal.SIGTERM else signal.SIG_IGN)
        self.settle()

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


class Output:
    """Standard output whose failures name it; `stream` is None if it was closed before we started."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        """All that is not writing is left to the stream, or to one that goes nowhere."""
        if self._stream is None:
            return getattr(_nowhere(), name)
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """Write; an OSError names standard output."""
        if self._stream is None:
            raise OSError(errno.EBADF, "it is closed", STDOUT)
        try:
            return int(self._stream.write(text))
        except OSError as error:
            raise _named(error) from None

    def flush(self) -> None:
        """Flush; an OSError names standard output."""
        if self._stream is None:
            return
        try:
            self._stream.flush()
        except OSError as error:
            raise _named(error) from None


def _named(error: OSError) -> OSError:
    return type(error)(error.errno, error.strerror, STDOUT)


@cache
def _nowhere() -> Any:
    """A stream that forgets what it is given."""
    return open(os.devnull, "w", encoding="utf-8")


class Streams:
    """Standard output as `Output` while a command runs, and standard error to nowhere if it is closed."""

    def __enter__(self) -> Self:
        """Put them in place."""
        self._before = sys.stdout, sys.stderr
        if None in self._before:
            # No file that is opened later may take the place of a closed standard stream.
            while (handle := os.open(os.devnull, os.O_RDWR)) <= 2:
                pass
            os.close(handle)
        sys.stdout = Output(sys.stdout)
        if sys.stderr is None:
            sys.stderr = _nowhere()
        return self

    def __exit__(self, *error: object) -> None:
        """Put back what was there."""
        sys.stdout, sys.stderr = self._before


def silence_stdout() -> None:
    """Nobody takes our output: Python would complain once more when it closes the pipe or file."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
