"""What `pgsr bench` shows: the plan, progress while it runs, and what came of it."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pgsr.cli.output import heading, line, pairs, paragraph, table

if TYPE_CHECKING:
    from pgsr.bench.runner import Plan, Step

SAID_EVERY_S = 30.0
"""Seconds between two lines of progress in a file or pipe."""


@contextmanager
def progress(plan: Plan) -> Iterator[Callable[[Step], None]]:
    """On a terminal a line a run and a bar with the time left; elsewhere a line now and then."""
    if sys.stderr.isatty():
        with _bar(plan) as told:
            yield told
        return
    said = time.monotonic()

    def tell(step: Step) -> None:
        nonlocal said
        if time.monotonic() - said >= SAID_EVERY_S:
            said = time.monotonic()
            print(
                f"{step.done} of {step.todo}: {spoken(step)}; {left(step.left_s)}",
                file=sys.stderr,
                flush=True,
            )

    yield tell


@contextmanager
def _bar(plan: Plan) -> Iterator[Callable[[Step], None]]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    shown = Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[left]}", markup=False),
        console=Console(file=sys.stderr, highlight=False, markup=False, emoji=False),
        transient=True,
        redirect_stdout=False,
        redirect_stderr=False,
    )
    with shown:
        task = shown.add_task(plan.suite.name, total=len(plan.todo), left="")

        def tell(step: Step) -> None:
            shown.console.print(spoken(step), soft_wrap=True)
            shown.update(task, completed=step.done, left=left(step.left_s))

        yield tell


def spoken(step: Step) -> str:
    """A run and what came of it, in one line."""
    row = step.row
    what = row["outcome"]
    if what == "ran":
        took = row.get("solve_s")
        what = (row.get("termination") or "done") + ("" if took is None else f" in {took:.2g} s")
    elif row.get("reason"):
        what = f"{what} ({row['reason']})"
    return f"{step.task.key}: {what}"


def left(seconds: float) -> str:
    """The time that is left, in words."""
    if seconds < 90:
        return f"about {seconds:.0f} s left"
    if seconds < 5400:
        return f"about {seconds / 60:.0f} min left"
    return f"about {seconds / 3600:.1f} h left"


def show_plan(plan: Plan) -> None:
    """What a dry run tells."""
    heading(f"{plan.suite.name}: {plan.suite.title}")
    if plan.suite.about:
        paragraph(" ".join(plan.suite.about.split()))
    done = len(plan.tasks) - len(plan.todo) + len(plan.again)
    pairs(
        {
            "runs": len(plan.tasks),
            "done before": done,
            "to do": len(plan.todo),
            **({"of them again": len(plan.again)} if plan.again else {}),
            "all at their limits": left(plan.longest_s).removesuffix(" left"),
        }
    )
    kinds = Counter((task.family, task.instance, task.model or "-", task.method) for task in plan.todo)
    if kinds:
        rows = [
            (family, instance, model, method, n) for (family, instance, model, method), n in kinds.items()
        ]
        table(("family", "instance", "model", "method", "runs"), rows)


def summary(plan: Plan, rows: Sequence[dict[str, Any]], out: Path) -> dict[str, Any]:
    """What came of the runs of a plan, as a record."""
    from pgsr.bench.results import RESULTS

    outcomes = Counter(row["outcome"] for row in rows)
    exact = [row for row in rows if row["kind"] == "exact" and row["outcome"] == "ran"]
    return {
        "suite": plan.suite.name,
        "runs": len(plan.tasks),
        "run_now": len(plan.todo),
        "others": plan.others,
        "outcomes": dict(outcomes.most_common()),
        "exact_answers": sum(row["objective"] is not None for row in exact),
        "proven_optimal": sum(row["certificate"] is True for row in exact),
        "out": out,
        "results": out / RESULTS,
    }


def show_summary(record: dict[str, Any]) -> None:
    """The same for people."""
    heading(f"{record['suite']}: {record['runs']:,} runs, {record['run_now']:,} of them now")
    pairs(dict(record["outcomes"]))
    if record["exact_answers"]:
        proven, answers = record["proven_optimal"], record["exact_answers"]
        paragraph(f"{proven:,} of {answers:,} answers of exact solvers are proven optimal.")
    if record["others"]:
        paragraph(f"The folder holds {record['others']:,} other rows, which the suite does not ask for.")
    line(f"written: {record['results']}")
    line(f"next: pgsr report {record['out']}")
