"""The process of one run: `python -m pgsr.bench.one FD PARENT`, the task as JSON on standard input.

Writes to the open file FD a line of JSON when all is built and the solve begins, one when the solve has
ended, and one with the outcome. Started by `pgsr.bench.child`, and ended by the system if that process dies.
"""

from __future__ import annotations

import ctypes
import json
import math
import os
import resource
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from pgsr.bench.pages import Row
from pgsr.bench.task import Task
from pgsr.errors import InputError, PgsrError, one_line

Say = Callable[[Row], None]
"""Called with what is known of the problem right before the solve, and with {} right after it."""


def run(task: Task, say: Say) -> Row:
    """The columns that this run fills, `outcome` among them."""
    if task.family == "groupsizes":
        from pgsr.bench.run_groupsizes import run_groupsizes as work
    elif task.family == "inequality":
        from pgsr.bench.run_inequality import run_inequality as work
    else:
        from pgsr.bench.run_sae import run_sae as work
    try:
        return work(task, say)
    except InputError as error:
        return {"outcome": "refused", "reason": str(error)}
    except MemoryError:
        return {"outcome": "memory", "reason": "out of memory"}
    except PgsrError as error:
        return {"outcome": "fault", "reason": str(error)}
    except Exception as error:
        return {"outcome": "fault", "reason": one_line(f"{type(error).__name__}: {error}")[:300]}


def plain(value: Any) -> Any:
    """Numbers of numpy as Python's; infinite and undefined ones as None."""
    if isinstance(value, dict):
        return {key: plain(one) for key, one in value.items()}
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def peak_gb() -> float | None:
    """Peak resident memory of this process, in GB; resource.getrusage would include the parent's."""
    with suppress(OSError), open("/proc/self/status", encoding="ascii") as file:
        for line in file:
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1024**2
    return None


def _end_with(parent: int) -> None:
    """Have the system kill this process when its parent dies (Linux), and write no core files."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
    if os.getppid() != parent:
        os._exit(1)


def main() -> None:
    """Run the task on standard input."""
    handle, parent = int(sys.argv[1]), int(sys.argv[2])
    _end_with(parent)
    os.set_inheritable(handle, False)
    task = Task(**json.load(sys.stdin))
    with os.fdopen(handle, "wb", buffering=0) as file:

        def say(row: Row) -> None:
            file.write(json.dumps(plain(row), allow_nan=False).encode() + b"\n")

        row = run(task, say)
        say(row | {"peak_gb": peak_gb()})


if __name__ == "__main__":
    main()
