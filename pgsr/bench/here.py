"""Where results were made: versions, commit, machine, as columns of a row. No host name, no paths."""

from __future__ import annotations

import os
import platform
import subprocess
from contextlib import suppress
from importlib import metadata
from pathlib import Path

from pgsr.bench.machine import machine
from pgsr.bench.pages import Row


def here(threads: int | None = None) -> Row:
    """The columns on provenance; `threads`: the cores that a run may use, if fewer than there are."""
    facts = machine()
    cores = int(facts["cores"])
    return {
        "pgsr": metadata.version("pgsr"),
        "commit": commit(),
        "python": platform.python_version(),
        "machine": facts["processor"],
        "cores": cores if threads is None else min(cores, threads),
        "memory_gb": float(facts["memory_gb"]),
    }


def commit() -> str | None:
    """The commit of the source tree that runs, with + if files of it were changed; None elsewhere."""
    root = next((folder for folder in Path(__file__).resolve().parents if (folder / ".git").exists()), None)
    if root is None:
        return None
    environment = {**os.environ, "GIT_OPTIONAL_LOCKS": "0"}
    said = []
    for words in (
        ("rev-parse", "--short=12", "HEAD"),
        ("status", "--porcelain", "--untracked-files=no", "--ignore-submodules"),
    ):
        with suppress(OSError, subprocess.SubprocessError):
            done = subprocess.run(  # noqa: S603 - fixed words, no shell
                ["git", "-C", str(root), *words],  # noqa: S607 - git is where the user has it
                capture_output=True,
                text=True,
                timeout=20,
                check=True,
                env=environment,
            )
            said.append(done.stdout.strip())
    if len(said) < 2 or not said[0]:
        return None
    return said[0] + ("+" if said[1] else "")
