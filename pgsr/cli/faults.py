"""From exceptions to exit codes: one line on standard error, never a traceback unless asked for.

0 success; 1 a fault of ours; 2 bad input; 3 a solver stopped without a usable point; 130 Ctrl-C.
"""

from __future__ import annotations

import errno
import os
import sys
import traceback
from pathlib import Path

import typer

from pgsr.cli.process import STDOUT, Terminated, silence_stdout
from pgsr.errors import InputError, PgsrError, one_line

FAULT, BAD_INPUT, NO_POINT, INTERRUPTED, TERMINATED, BROKEN_PIPE = 1, 2, 3, 130, 143, 141

SHOW = "PGSR_TRACEBACK"
"""The environment variable that asks for tracebacks."""


class NoPoint(PgsrError):
    """A solver stopped without a usable point."""


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
        silence_stdout()
        return BROKEN_PIPE
    if isinstance(error, OSError) and error.filename == STDOUT:
        silence_stdout()
    code, text = _explain(error, command)
    notes = getattr(error, "__notes__", ())
    if os.environ.get(SHOW):
        traceback.print_exception(error, file=sys.stderr)
    print(one_line(": ".join([text, *notes])), file=sys.stderr)
    return code


def _explain(error: BaseException, command: str) -> tuple[int, str]:
    """Exit code and line of one exception."""
    if isinstance(error, InputError):
        return BAD_INPUT, str(error)
    if hasattr(error, "format_message"):  # typer's usage errors, whichever click they come from
        return BAD_INPUT, f"{error.format_message().rstrip('.')}: {command}: see {command} --help"
    # Nothing is loaded here: numpy, interrupted while it is loaded, cannot be loaded again.
    without_estimate = getattr(sys.modules.get("pgsr.mechanism"), "EstimateError", NoPoint)
    if isinstance(error, (NoPoint, without_estimate)):
        return NO_POINT, str(error)
    if isinstance(error, (KeyboardInterrupt, typer.Abort)):
        return INTERRUPTED, f"interrupted: {command}: nothing was left half-written"
    if isinstance(error, Terminated):
        return TERMINATED, f"terminated: {command}: nothing was left half-written"
    if isinstance(error, OSError):
        where = ", ".join(str(name) for name in (error.filename, error.filename2) if name) or command
        way_out = "free some space" if error.errno == errno.ENOSPC else "check the path and its permissions"
        if error.filename == STDOUT:
            way_out = "send it to a file or a terminal that takes it"
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
