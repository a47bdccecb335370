"""What the figures were measured on: processor, cores, memory, versions. No host name."""

from __future__ import annotations

import os
import platform
from importlib import metadata

PACKAGES = ("pgsr", "numpy", "scipy", "numba", "pyarrow", "highspy", "piqp", "opendp", "cryptography")


def machine() -> dict[str, str]:
    """Plain facts about this machine and the versions in use."""
    facts = {
        "processor": _processor(),
        "cores": str(len(os.sched_getaffinity(0))),
        "memory_gb": f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 1024**3:.0f}",
        "system": platform.system(),
        "python": platform.python_version(),
    }
    for package in PACKAGES:
        try:
            facts[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            facts[package] = "not installed"
    return facts


def _processor() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            for line in file:
                if line.startswith("model name"):
                    return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.machine()
