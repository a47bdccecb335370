"""One measured run in a fresh process, with a hard kill at a time limit."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """Wall seconds and peak memory of a process, and the JSON object that it printed (None if killed)."""

    wall_s: float
    peak_gb: float
    output: dict[str, Any] | None


def run_python(arguments: Sequence[str], limit_s: float) -> Run:
    """Run `python` with `arguments` in a fresh process; killed after `limit_s` seconds."""
    start = time.monotonic()
    process = subprocess.Popen(  # noqa: S603 - our own modules, no shell
        [sys.executable, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        stdin=subprocess.DEVNULL,
    )
    peak, printed = 0.0, b""
    while True:
        # The parent's own peak would show in the child's resource usage, so its memory map is asked.
        peak = max(peak, _peak_gb(process.pid))
        try:
            printed, _ = process.communicate(timeout=_POLL_S)
            break
        except subprocess.TimeoutExpired:
            if time.monotonic() - start > limit_s:
                process.kill()
    wall = time.monotonic() - start
    output = json.loads(printed.splitlines()[-1]) if process.returncode == 0 and printed.strip() else None
    return Run(wall_s=wall, peak_gb=peak, output=output)


_POLL_S = 0.05


def _peak_gb(pid: int) -> float:
    """Peak resident memory of a running process so far, in GB; 0 if it has just ended."""
    try:
        with open(f"/proc/{pid}/status", encoding="ascii") as file:
            for line in file:
                if line.startswith("VmHWM:"):
                    return int(line.split()[1]) / 1024**2
    except (OSError, ValueError):
        pass
    return 0.0
