"""Running a suite into a folder: what is done stays done, and at most the runs in flight are lost."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path

from pgsr.atomic import atomic_path
from pgsr.bench.again import to_repeat
from pgsr.bench.child import POLL_S, Child
from pgsr.bench.here import here
from pgsr.bench.pages import Row
from pgsr.bench.results import NAMES, RESULTS, Store
from pgsr.bench.suite import Suite, load_suite
from pgsr.bench.task import Task
from pgsr.bench.tasks import expand
from pgsr.errors import InputError

SUITE = "suite.toml"
"""The copy of the suite in the folder of its results."""

LOCK = ".lock"


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What a suite asks for in a folder: all its tasks, those still to do, and other rows that are there.

    `again`: keys of those to do that have a row, which the new one will replace. `others`: rows that the
    suite does not ask for, of an earlier version or made elsewhere; they stay.
    """

    suite: Suite
    source: Path
    tasks: tuple[Task, ...]
    todo: tuple[Task, ...]
    again: frozenset[str]
    others: int

    @property
    def longest_s(self) -> float:
        """The time that all would take if every solve ran into its limit; building is not counted."""
        return sum(task.time_limit_s for task in self.todo)


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A run that has come to an end: how many are done of how many, and the seconds that are left."""

    done: int
    todo: int
    task: Task
    row: Row
    left_s: float


Told = Callable[[Step], None]


def make_plan(path: Path, out: Path, only: str = "", again: Collection[str] = ()) -> Plan:
    """Read the suite at `path`, and what the folder `out` holds of it; writes nothing.

    `only`: just the runs whose key contains that text. `again`: outcomes of runs that are done anew, beside
    those whose hindrance is gone (`pgsr.bench.again`). Raises InputError for a suite that is not valid, a
    folder with the results of another suite, and `only` that no key contains.
    """
    suite = load_suite(path)
    _same_suite(suite, out)
    tasks = expand(suite, path.resolve().parent, str(path))
    keys = {task.key for task in tasks}
    wanted = tuple(task for task in tasks if only in task.key)
    if not wanted:
        raise InputError(f"no run has '{only}' in its key", "--only", "see the keys with --dry-run")
    store = Store(out)
    kept = {row["key"]: row for row in store.rows}
    anew = frozenset(
        task.key for task in wanted if task.key in kept and to_repeat(task, kept[task.key], again)
    )
    todo = tuple(task for task in wanted if task.key not in kept or task.key in anew)
    others = len(kept.keys() - keys)
    return Plan(suite=suite, source=path, tasks=wanted, todo=todo, again=anew, others=others)


def _same_suite(suite: Suite, out: Path) -> None:
    """A folder belongs to one suite, by its name; a changed suite adds to what is there."""
    kept = out / SUITE
    if kept.exists():
        name = load_suite(kept).name
        if name != suite.name:
            raise InputError(
                f"the folder holds results of the suite '{name}'", str(out), "give --out another folder"
            )
    elif out.is_dir() and any(one.name not in (RESULTS, LOCK) for one in out.iterdir()):
        raise InputError("the folder holds other files", str(out), "give --out a new folder")


def run_plan(plan: Plan, out: Path, *, jobs: int = 1, told: Told | None = None) -> Sequence[Row]:
    """Run what is to do, `jobs` at a time, and return the rows of the plan; each is on disk as it comes.

    Ctrl-C (or any exception) kills the runs in flight and leaves the file whole: the same call goes on where
    it stopped. Raises InputError if another process works in the folder.
    """
    if jobs < 1:
        raise InputError("not a number of jobs", "--jobs", "give 1 or more")
    out.mkdir(parents=True, exist_ok=True)
    with locked(out):
        _tidy(out)
        store = Store(out)
        _copy(plan.source, out / SUITE)
        todo = [task for task in plan.todo if task.key not in store or task.key in plan.again]
        facts = here(plan.suite.threads)
        begun = time.monotonic()
        for done, (task, row) in enumerate(_all(todo, jobs), 1):
            store.keep(dict.fromkeys(NAMES) | facts | _asked(task) | row)
            if told is not None:
                left_s = (time.monotonic() - begun) / done * (len(todo) - done)
                told(Step(done=done, todo=len(todo), task=task, row=row, left_s=left_s))
        wanted = {task.key for task in plan.tasks}
        return [row for row in store.rows if row["key"] in wanted]


def _all(todo: Sequence[Task], jobs: int) -> Iterator[tuple[Task, Row]]:
    """The tasks with what came of them, as they come."""
    waiting, running = list(reversed(todo)), list[tuple[Child, str]]()
    try:
        while waiting or running:
            while waiting and len(running) < jobs:
                started = datetime.now(UTC).isoformat(timespec="seconds")
                running.append((Child(waiting.pop()), started))
            for pair in list(running):
                child, started = pair
                row = child.poll()
                if row is not None:
                    running.remove(pair)
                    yield child.task, row | {"started": started}
            time.sleep(POLL_S)
    finally:
        for child, _ in running:
            child.kill()


def _asked(task: Task) -> Row:
    """The columns that say what was to be run; the run itself may know better."""
    return {
        "suite": task.suite,
        "key": task.key,
        "family": task.family,
        "instance": task.instance,
        "model": task.model,
        "method": task.method,
        "kind": _kind(task),
        "noise": task.noise,
        "epsilon": None if task.epsilon is None else float(Fraction(task.epsilon)),
        "rho": None if task.rho in (None, "draw") else float(Fraction(task.rho or 0)),
        "seed": task.seed,
        "time_limit_s": task.time_limit_s,
        "memory_limit_gb": task.memory_limit_gb,
    }


def _kind(task: Task) -> str:
    """The kind, for a run that died before it could say."""
    if task.family != "groupsizes":
        return "mechanism"
    return task.method.partition(":")[2] or ("noisy" if task.method == "noisy" else "exact")


def _copy(source: Path, target: Path) -> None:
    if target.exists() and target.samefile(source):
        return
    with atomic_path(target) as new:
        new.write_bytes(source.read_bytes())


def _tidy(out: Path) -> None:
    """Remove what a killed process left half-written beside its files."""
    for name in (RESULTS, SUITE):
        stem, _, ending = name.partition(".")
        for stray in out.glob(f".{stem}-{'[0-9a-f]' * 16}.{ending}"):
            stray.unlink(missing_ok=True)


@contextmanager
def locked(out: Path) -> Iterator[None]:
    """Work in a folder of results alone; InputError if another process does. The system frees a lock."""
    handle = os.open(out / LOCK, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise InputError(
                "another process works in the folder", str(out), "wait for it, or give another --out"
            ) from None
        yield
    finally:
        os.close(handle)
