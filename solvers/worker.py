"""The process in which one solve runs by itself: `python -m pgsr.solvers.worker FD`; see `running`.

Reads the task from standard input and sends frames through the file descriptor FD: progress, observations,
and at last the solution or the exception. Its standard output and error belong to the back end's log.
"""

from __future__ import annotations

import ctypes
import os
import pickle
import signal
import struct
import sys
import threading
from contextlib import suppress
from dataclasses import replace
from typing import Any

LENGTH = struct.Struct("<Q")


class Sender:
    """Sends frames `(kind, content)`; back ends may report from threads of their own."""

    def __init__(self, handle: int) -> None:
        self._file = os.fdopen(handle, "wb")
        self._lock = threading.Lock()

    def send(self, kind: str, content: Any) -> None:
        """Send one frame, whole; the parent reads it at once."""
        data = pickle.dumps((kind, content), protocol=pickle.HIGHEST_PROTOCOL)
        with self._lock:
            self._file.write(LENGTH.pack(len(data)))
            self._file.write(data)
            self._file.flush()


def main(handle: int) -> None:
    """Do the task that stands on standard input."""
    _end_with_parent()
    # A process of ours is ended from outside; what a back end does about Ctrl-C is no concern of it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    sender = Sender(handle)
    try:
        # Trusted: the parent process of ours wrote it.
        path, content = pickle.load(sys.stdin.buffer)  # noqa: S301
        sys.path[:] = path
        solver, problem, options = pickle.loads(content)  # noqa: S301
        options = replace(
            options,
            progress=lambda stage, done: sender.send("progress", (stage, done)),
            observe=lambda point, x: sender.send("observed", (point, x)),
        )
        sender.send("started", None)
        solution = solver.solve(problem, options)
        # The parent has the problem; sending it back would double the traffic.
        sender.send("solved", replace(solution, problem=None))
    except BaseException as error:
        sender.send("raised", _portable(error))
    sys.stdout.flush()
    # Threads of a back end that still run must not keep the process alive.
    os._exit(0)


def _portable(error: BaseException) -> BaseException:
    """`error` if it can be sent, else its text."""
    try:
        pickle.loads(pickle.dumps(error))  # noqa: S301
    except Exception:
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error


def _end_with_parent() -> None:
    """Ask Linux to kill this process when its parent dies, however that happens."""
    # On another system the process ends when its limit has passed.
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


if __name__ == "__main__":
    main(int(sys.argv[1]))
