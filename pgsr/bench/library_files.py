"""The reader's own instances: noisy ones with or without their truth, and true counts to add noise to."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pgsr.bench.methods_cases import counts_file
from pgsr.counts import GroupSizes
from pgsr.errors import InputError
from pgsr.models.instance import Instance

PREFIX = "file:"
_COUNTS = (".csv", ".csv.gz", ".parquet")
_NAME = re.compile(r"file:(?P<path>.+?)(,truth[:=](?P<truth>[^,]+)|,sizes=(?P<sizes>[0-9]+))?", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Given:
    """What a file holds: an `instance` made elsewhere with its `truth` if known, or `truth` alone."""

    title: str
    instance: Instance | None
    truth: GroupSizes | None


def parts(name: str, base: Path) -> tuple[Path, Path | None, int | None]:
    """Path, path of the truth, and number of sizes of a name such as `file:A.json,truth=B.csv`.

    Paths are relative to `base`. InputError if the name is not of that form.
    """
    found = _NAME.fullmatch(name)
    if found is None:
        raise InputError(
            "not the name of a file", f"instance '{name}'", "give file:PATH or file:PATH,truth=PATH"
        )
    truth, sizes = found["truth"], found["sizes"]
    return (
        base / found["path"],
        None if truth is None else base / truth,
        None if sizes is None else int(sizes),
    )


def is_counts(path: Path) -> bool:
    """Whether the file holds true counts, by the ending of its name."""
    return path.name.endswith(_COUNTS) and not path.is_dir()


def read_given(name: str, base: Path) -> Given:
    """Read what `name` names; see `parts`.

    A JSON file or folder is an instance (`pgsr.models.files`); its truth a solution file of the same form, or
    a table region,size,count. A CSV or Parquet file holds true counts: columns of levels from the top down,
    then size, then count; sizes are 1 to the largest, or to `sizes`. InputError naming file and row.
    """
    path, truth, sizes = parts(name, base)
    if not path.exists():
        raise InputError("file not found", str(path), "give a path relative to the suite, or to this folder")
    if is_counts(path):
        if truth is not None:
            raise InputError("true counts with a truth of their own", name, "leave the truth out")
        counts = counts_file(path)
        return Given(
            title=path.name, instance=None, truth=counts if sizes is None else with_sizes(counts, sizes)
        )
    if sizes is not None:
        raise InputError("an instance has its own sizes", name, "leave sizes out")
    from pgsr.models.files import read_instance

    instance = read_instance(path)
    return Given(
        title=path.name,
        instance=instance,
        truth=None if truth is None else read_truth(truth, instance),
    )


def with_sizes(counts: GroupSizes, sizes: int) -> GroupSizes:
    """The same units with sizes 1 .. `sizes`; what is larger counts as the last."""
    if not 1 <= sizes <= 100_000:
        raise InputError("the number of sizes is not in 1 .. 100,000", "sizes")
    table = np.zeros((counts.hierarchy.regions, sizes), dtype=np.int64)
    shared = min(sizes, len(counts.sizes))
    table[:, :shared] = counts.counts[:, :shared]
    table[:, -1] += counts.counts[:, sizes:].sum(axis=1)
    return GroupSizes(hierarchy=counts.hierarchy, sizes=np.arange(1, sizes + 1), counts=table)


def read_truth(path: Path, instance: Instance) -> GroupSizes:
    """The true counts of `instance`: a solution file, or a table with the columns region, size, count.

    InputError if they are not a table of counts that adds up and holds the instance's total.
    """
    if path.name.endswith((".csv", ".csv.gz")):
        truth = GroupSizes.from_long(path, instance.hierarchy, instance.sizes)
    else:
        from pgsr.models.files import read_solution

        values = read_solution(path, instance)
        if not np.issubdtype(values.dtype, np.integer):
            raise InputError("true counts are not whole numbers", str(path), "give the truth, not a release")
        counts = GroupSizes.differences(values) if instance.problem.cumulative else values
        truth = GroupSizes(hierarchy=instance.hierarchy, sizes=instance.sizes, counts=counts)
    for violation in truth.check(instance.problem.total, limit=1):
        where = violation.level if violation.region is None else f"region '{violation.region}'"
        raise InputError(
            f"not the truth of this instance ({violation.kind})", f"{path}, {where}", "correct the file"
        )
    return truth
