"""One run in a fresh process: watched for time and memory, killed with all that it started.

Memory is watched, not limited by the system. RLIMIT_AS counts reserved addresses: compilers, thread pools and
arenas reserve many times what they use, so that a fair limit would end runs that are small. What counts here
is the resident memory of the process and its descendants together, looked at every `POLL_S` seconds
(libraries that several of them share count for each); a run that is killed for it may have been above the
limit for that long.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from pgsr.bench.pages import Row
from pgsr.bench.task import Task
from pgsr.errors import one_line

POLL_S = 0.02
"""Seconds between two looks at a run."""

WHEN = ("before the solve began", "after the solve")
"""Ends the reason of a run that was killed for the limit on building."""

_SOLVING = 1
"""Lines that the process has written while it solves."""

_PAGE_GB = os.sysconf("SC_PAGE_SIZE") / 1024**3


class Child:
    """A run that has been started. Call `poll` until it returns the row of the run, or `kill`.

    The process writes a line of JSON when all is built and the solve begins, one when the solve has ended,
    and one with the outcome. Between the first two it has the solve's own limit and the suite's grace, before
    and after them the limit on building.
    """

    def __init__(self, task: Task) -> None:
        self.task = task
        self._said = tempfile.TemporaryFile()  # noqa: SIM115 - closed in _close; no pipe that could fill up
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115
        self._peak = 0.0
        self._size, self._stage = 0, 0
        self._started = self._since = time.monotonic()
        threads = str(task.threads)
        limits = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"), threads)
        self._process = subprocess.Popen(  # noqa: S603 - our own module, no shell
            [sys.executable, "-m", "pgsr.bench.one", str(self._said.fileno()), str(os.getpid())],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=self._errors,
            pass_fds=(self._said.fileno(),),
            env={**os.environ, **limits, "PYTHONSAFEPATH": "1"},
            start_new_session=True,  # Ctrl-C reaches us alone, and all of it can be killed
        )
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):
            self._process.stdin.write(json.dumps(task.to_dict()).encode())
            self._process.stdin.close()

    def poll(self) -> Row | None:
        """What came of the run, or None while it goes on."""
        if self._process.poll() is not None:
            row = self._ended()
            self._close()
            return row
        now, used = time.monotonic(), resident_gb(self._process.pid)
        self._peak = max(self._peak, used)
        task = self.task
        if used > task.memory_limit_gb:
            return self._killed("memory", f"killed at {used:.3g} GB of {task.memory_limit_gb:g}")
        size = os.fstat(self._said.fileno()).st_size
        if size != self._size:
            self._size = size
            stage = os.pread(self._said.fileno(), size, 0).count(b"\n")
            if stage != self._stage:
                self._stage, self._since = stage, now
        spent = now - self._since
        if self._stage == _SOLVING:
            if spent > task.time_limit_s + task.grace_s:
                limit = f"limit {task.time_limit_s:g} s and grace {task.grace_s:g} s"
                return self._killed("killed", f"killed after {spent:.3g} s of the solve ({limit})")
        elif spent > task.build_limit_s:
            limit = f"limit {task.build_limit_s:g} s"
            return self._killed(
                "killed", f"killed after {spent:.3g} s {WHEN[self._stage > _SOLVING]} ({limit})"
            )
        return None

    def kill(self) -> None:
        """End the run and all that it started; its outcome is lost."""
        kill_tree(self._process.pid)
        self._process.wait()
        self._close()

    def _killed(self, outcome: str, reason: str) -> Row:
        kill_tree(self._process.pid)
        self._process.wait()
        row = self._row() | self._measured() | {"outcome": outcome, "reason": reason}
        self._close()
        return row

    def _ended(self) -> Row:
        # What the run left behind must not take time from the next one.
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        code = self._process.returncode
        row = self._measured() | self._row()
        row["peak_gb"] = max(self._peak, row.get("peak_gb") or 0.0)
        if "outcome" not in row:
            outcome, reason = "fault", f"exit code {code}"
            if code < 0:
                reason = f"died by signal {signal.Signals(-code).name}"
                if code == -signal.SIGKILL:
                    outcome, reason = "memory", "killed from outside, most likely for want of memory"
            last = self._last_error()
            row |= {"outcome": outcome, "reason": f"{reason} ({last})" if last else reason}
        return row

    def _measured(self) -> Row:
        return {"wall_s": time.monotonic() - self._started, "peak_gb": self._peak}

    def _row(self) -> Row:
        """All that the process has said, in whole lines."""
        self._said.seek(0)
        text = self._said.read().decode("utf-8", "replace")
        row: Row = {}
        for line in text[: text.rfind("\n") + 1].splitlines():
            row |= json.loads(line)
        return row

    def _last_error(self) -> str:
        size = os.fstat(self._errors.fileno()).st_size
        self._errors.seek(max(0, size - 2000))
        lines = self._errors.read().decode("utf-8", "replace").split("\n")
        found = [one_line(line) for line in lines if line.strip()]
        return found[-1][:200] if found else ""

    def _close(self) -> None:
        self._said.close()
        self._errors.close()


def resident_gb(pid: int) -> float:
    """Resident memory of a process and its descendants now, in GB; ended ones count nothing."""
    return sum(_own_gb(one) for one in (pid, *_descendants(pid)))


def _own_gb(pid: int) -> float:
    try:
        with open(f"/proc/{pid}/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * _PAGE_GB
    except (OSError, ValueError, IndexError):
        return 0.0


def _descendants(pid: int) -> Iterator[int]:
    """Processes that were started by this one, or by those."""
    try:
        threads = os.listdir(f"/proc/{pid}/task")
    except OSError:
        return
    for thread in threads:
        try:
            with open(f"/proc/{pid}/task/{thread}/children", encoding="ascii") as file:
                children = [int(word) for word in file.read().split()]
        except (OSError, ValueError):
            continue
        for child in children:
            yield child
            yield from _descendants(child)


def kill_tree(pid: int) -> None:
    """Kill a process of ours, its descendants and its group. It is stopped first, to start no more."""
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGSTOP)
    found: list[Any] = list(_descendants(pid))
    for one in found:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(one, signal.SIGKILL)
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
