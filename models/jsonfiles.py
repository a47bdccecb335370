"""Small instances and solutions as JSON: `pgsr-instance/1` and `pgsr-solution/1`, read strictly."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from pgsr.atomic import atomic_path
from pgsr.counting import size_list, total_count
from pgsr.errors import InputError
from pgsr.hierarchy import level_order
from pgsr.levelorder import MAGNITUDE
from pgsr.models.instance import Instance

INSTANCE = "pgsr-instance/1"
SOLUTION = "pgsr-solution/1"
MODELS = ("hierarchical", "cumulative")
_HEAD = {"format", "model", "sizes", "total"}
_OPTIONAL = {"loss", "expected"}
_REGION = {"id", "parent", "noisy"}
_REGION_OPTIONAL = {"weight", "lower", "upper"}


def read_json(path: Path, expected: str) -> dict[str, Any]:
    """Read one JSON object whose `format` is `expected`; InputError names the file otherwise.

    Repeated keys and NaN or Infinity are refused. A byte-order mark is skipped.
    """
    where = str(path)

    def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
        out = dict(items)
        if len(out) < len(items):
            names = [name for name, _ in items]
            twice = next(name for name in names if names.count(name) > 1)
            raise InputError(f"key {twice!r} twice in one object", where, "keep one")
        return out

    def constant(name: str) -> NoReturn:
        raise InputError(f"{name} is not a number", where, "give finite numbers")

    def integer(digits: str) -> int:
        # Python refuses to read thousands of digits. None of 400 is of use: whoever reads the key says so.
        return int(digits) if len(digits) <= 400 else int(digits[:400]) * 10

    try:
        with path.open(encoding="utf-8-sig") as file:
            record = json.load(file, object_pairs_hook=pairs, parse_constant=constant, parse_int=integer)
    except FileNotFoundError:
        raise InputError("no such file", where, "check the path") from None
    except json.JSONDecodeError as error:
        raise InputError(
            f"not JSON ({error.msg})", f"{where}, line {error.lineno}", "correct the file"
        ) from None
    except (OSError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(f"cannot be read ({type(error).__name__})", where, "check the file") from None
    if not isinstance(record, dict):
        raise InputError("not a JSON object", where, f"a file of format {expected} is one object")
    if record.get("format") != expected:
        raise InputError("unknown format", where, f"this version reads {expected}")
    return record


def keys(record: Mapping[str, Any], need: set[str], optional: set[str], where: str) -> None:
    """Refuse missing and unknown keys."""
    missing, unknown = sorted(need - set(record)), sorted(set(record) - need - optional)
    if missing:
        raise InputError(f"key {missing[0]!r} is missing", where, "add it")
    if unknown:
        raise InputError(f"unknown key {unknown[0]!r}", where, f"known: {', '.join(sorted(need | optional))}")


def read_head(
    record: Mapping[str, Any], where: str, extra: set[str]
) -> tuple[np.ndarray[Any, Any], int, dict[str, Any]]:
    """Sizes, total and the options of `Problem` from the head of an instance; `extra` keys are needed too."""
    keys(record, _HEAD | extra, _OPTIONAL, where)
    if record["model"] not in MODELS:
        raise InputError("unknown model", where, f"use {' or '.join(MODELS)}")
    loss = record.get("loss", "l2")
    if loss not in ("l2", "l1"):
        raise InputError("unknown loss", where, "use l2 or l1")
    sizes = size_list(whole(record["sizes"], f"{where}, sizes"), f"{where}, sizes")
    total = total_count(record["total"], f"{where}, total")
    return sizes, total, {"cumulative": record["model"] == "cumulative", "loss": loss}


def whole(values: Any, where: str, width: int | None = None) -> list[int]:
    """A JSON list of whole numbers of magnitude at most 2^53 (and of the given length)."""
    if not isinstance(values, list):
        raise InputError("not a list", where, "give a list of whole numbers")
    if width is not None and len(values) != width:
        raise InputError(f"{len(values)} entries for {width} sizes", where, "give one entry a size")
    for value in values:
        if type(value) is not int:
            raise InputError("an entry is not a whole number", where, "give whole numbers")
        if abs(value) > MAGNITUDE:
            raise InputError("an entry is above 2^53 in magnitude", where, "give smaller numbers")
    return values


def read_instance_json(path: Path) -> Instance:
    """Read a small instance; regions in any order."""
    record = read_json(path, INSTANCE)
    where = str(path)
    sizes, total, options = read_head(record, where, {"regions"})
    regions = record["regions"]
    if not isinstance(regions, list) or not all(isinstance(region, dict) for region in regions):
        raise InputError("'regions' is not a list of objects", where, "give one object a region")
    codes: list[str] = []
    parents: list[str | None] = []
    for number, region in enumerate(regions, start=1):
        place = f"{where}, region {number}"
        keys(region, _REGION, _REGION_OPTIONAL, place)
        if not isinstance(region["id"], str) or not isinstance(region["parent"], str | None):
            raise InputError(
                "id or parent is not text", place, "give codes as text, and null as the root's parent"
            )
        codes.append(region["id"])
        parents.append(region["parent"])
    tree, order = tree_of(codes, parents, where)
    places = [f"{where}, region {code!r}" for code in codes]
    noisy = [
        whole(region["noisy"], f"{place}, noisy", len(sizes))
        for region, place in zip(regions, places, strict=True)
    ]
    for name in ("lower", "upper"):
        if any(name in region for region in regions):
            free = 0 if name == "lower" else MAGNITUDE
            options[name] = np.array(
                [
                    whole(region[name], f"{place}, {name}", len(sizes))
                    if name in region
                    else [free] * len(sizes)
                    for region, place in zip(regions, places, strict=True)
                ],
                dtype=np.int64,
            )[order]
    if any("weight" in region for region in regions):
        weights = [
            _weight(region.get("weight", 1), place) for region, place in zip(regions, places, strict=True)
        ]
        options["weights"] = np.array(weights)[order]
    return build(tree, sizes, np.array(noisy, dtype=np.int64)[order], total, order, options, where)


def build(
    tree: Any, sizes: Any, noisy: Any, total: int, order: Any, options: dict[str, Any], where: str
) -> Instance:
    """`Instance.build` with the file's name in its errors."""
    try:
        return Instance.build(tree, sizes, noisy, total, order=order, **options)
    except InputError as error:
        raise InputError(
            error.what, f"{where}, {error.where}" if error.where else where, error.way_out
        ) from None


def tree_of(codes: Any, parents: Any, where: str) -> Any:
    """The hierarchy of a file and the file's row of each region."""
    try:
        return level_order(codes, parents, source=where)
    except InputError as error:
        if error.what.startswith("leaves at unequal depth"):
            raise InputError(
                error.what, f"{where}, {error.where}", "add single-child regions below it"
            ) from None
        raise


def _weight(value: Any, where: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InputError("the weight is not a number", where, "give a number >= 0")
    try:
        return float(value)
    except OverflowError:
        raise InputError("the weight is too large", where, "give a smaller number") from None


def write_instance_json(instance: Instance, path: Path) -> None:
    """Write a small instance, regions in the order it was read in."""
    problem = instance.problem
    ids = instance.hierarchy.ids.tolist()
    columns: dict[str, list[Any]] = {"noisy": problem.target.tolist()}
    if not problem.unit_weights:
        columns["weight"] = problem.region_weights.tolist()
    for name in ("lower", "upper"):
        bound = getattr(problem, name)
        if bound is not None:
            columns[name] = bound.tolist()
    regions = [
        {
            "id": ids[i],
            "parent": None if i == 0 else ids[problem.parent[i]],
            **{name: column[i] for name, column in columns.items()},
        }
        for i in _file_rows(instance)
    ]
    head = {"format": INSTANCE, **head_record(instance), "regions": regions}
    with atomic_path(path) as temporary:
        temporary.write_text(json.dumps(head) + "\n", encoding="utf-8")


def head_record(instance: Instance) -> dict[str, Any]:
    """Model, sizes, total (and loss, if it is not l2) as plain data."""
    problem = instance.problem
    head: dict[str, Any] = {
        "model": MODELS[problem.cumulative],
        "sizes": instance.sizes.tolist(),
        "total": problem.total,
    }
    if problem.loss != "l2":
        head["loss"] = problem.loss
    return head


def _file_rows(instance: Instance) -> Sequence[int]:
    """Regions in the order of the file."""
    if instance.order is None:
        return range(instance.hierarchy.regions)
    return np.argsort(instance.order).tolist()  # type: ignore[no-any-return]


def read_solution_json(path: Path, instance: Instance) -> NDArray[Any]:
    """Read the values (R, N) of a solution of `instance`: int64 if all are whole, else float64.

    Raises InputError, naming the region, for unknown, missing or repeated regions and wrong rows.
    """
    record = read_json(path, SOLUTION)
    where = str(path)
    keys(record, {"format", "values"}, {"multipliers", "fingerprint"}, where)
    values = record["values"]
    if not isinstance(values, dict):
        raise InputError("'values' is not an object", where, "give a list of numbers for each region")
    width = len(instance.sizes)
    rows = []
    for code in instance.hierarchy.ids.tolist():
        if code not in values:
            raise InputError(
                "region without values", f"{where}, region {code!r}", "give a value for each size"
            )
        row = values[code]
        if not isinstance(row, list) or len(row) != width:
            raise InputError(
                "a row of the wrong length", f"{where}, region {code!r}", f"give {width} numbers"
            )
        for value in row:
            if isinstance(value, bool) or not isinstance(value, int | float):
                raise InputError("a value is not a number", f"{where}, region {code!r}", "give numbers")
            if not abs(value) <= MAGNITUDE:
                raise InputError(
                    "a value is above 2^53 in magnitude", f"{where}, region {code!r}", "correct it"
                )
        rows.append(row)
    unknown = sorted(set(values) - set(instance.hierarchy.ids.tolist()))
    if unknown:
        raise InputError(
            "unknown region", f"{where}, region {unknown[0]!r}", "use the regions of the instance"
        )
    if all(type(value) is int for row in rows for value in row):
        return np.array(rows, dtype=np.int64)
    return np.array(rows, dtype=np.float64)


def read_fingerprint_json(path: Path) -> str | None:
    """The fingerprint of the problem that a solution file says it solves; None if it does not say."""
    found = read_json(path, SOLUTION).get("fingerprint")
    if found is not None and not isinstance(found, str):
        raise InputError("the fingerprint is not text", str(path), "correct it, or leave it out")
    return found


def write_solution_json(
    values: NDArray[Any],
    instance: Instance,
    path: Path,
    units: NDArray[np.int64] | None = None,
    grid: int = 0,
    fingerprint: str | None = None,
) -> None:
    """Write the values (R, N) of a solution, regions in the order of the instance's file.

    `units`: multipliers of the first regions, all inner ones among them, in units of 2^-grid.
    """
    ids, rows = instance.hierarchy.ids.tolist(), values.tolist()
    record: dict[str, Any] = {"format": SOLUTION, "values": {ids[i]: rows[i] for i in _file_rows(instance)}}
    if fingerprint is not None:
        record["fingerprint"] = fingerprint
    if units is not None:
        prices, inner = units.tolist(), instance.problem.inner()
        entries = {ids[i]: prices[i] for i in _file_rows(instance) if inner[i]}
        record["multipliers"] = {"grid": grid, "values": entries}
    with atomic_path(path) as temporary:
        temporary.write_text(json.dumps(record) + "\n", encoding="utf-8")
