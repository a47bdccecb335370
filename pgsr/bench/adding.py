"""Results made elsewhere on equal terms: solutions are judged like any other, tables of results merged."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pgsr.bench.here import here
from pgsr.bench.judged import about, judged, point_status, stated_bound
from pgsr.bench.library import LibraryCase, open_case
from pgsr.bench.pages import Row
from pgsr.bench.results import NAMES, RESULTS, Store, is_results, read_results, write_results
from pgsr.bench.runner import SUITE, locked
from pgsr.bench.suite import load_suite
from pgsr.bench.task import FILE
from pgsr.bench.tasks import digest
from pgsr.errors import InputError
from pgsr.models.fingerprint import fingerprint
from pgsr.solvers.certificate import certify

ELSEWHERE = "made elsewhere"
"""Ends the key of a result that no suite has run."""

KINDS = ("exact", "relaxed", "rounded", "heuristic")


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """What a solution solves, and where it comes from: columns of the same names."""

    instance: str
    method: str
    model: Any = None
    epsilon: str = "1"
    noise: Any = "geometric"
    seed: int = 1
    kind: str | None = None
    solve_s: float | None = None
    version: str | None = None


def add_solution(
    out: Path,
    solution: Path,
    origin: Origin,
    *,
    base: Path | None = None,
    solved: Path | None = None,
    replace: bool = False,
) -> Row:
    """Judge a solution file and add its row to the results in `out`.

    Objective, violations, certificate and distances are recomputed from the problem. `kind` by default:
    relaxed for real numbers, exact for integers proven optimal, else heuristic. `solved`: the instance file
    that was solved, which must hold the very problem of `origin`; a solution file that names its problem is
    compared with that too. Raises InputError for another problem, files that do not fit the instance,
    folders without results, and, unless `replace`, another row of the same key.
    """
    from pgsr.models.files import read_multipliers, read_solution

    base = base or Path()
    case = open_case(
        origin.instance,
        model=origin.model,
        epsilon=origin.epsilon,
        noise=origin.noise,
        seed=origin.seed,
        base=base,
    )
    _same_problem(case, solution, solved)
    x = read_solution(solution, case.instance)
    if not np.issubdtype(x.dtype, np.integer) and bool(np.all(x == np.rint(x))):
        x = x.astype(np.int64)
    problem = case.instance.problem
    whole = np.issubdtype(x.dtype, np.integer)
    asked = problem if whole else problem.relaxed()
    proof = certify(asked, x, multipliers=read_multipliers(solution, case.instance))
    kind = origin.kind or ("relaxed" if not whole else "exact" if proof.optimal else "heuristic")
    if kind not in KINDS:
        raise InputError(f"unknown kind '{kind}'", "kind", f"use {', '.join(KINDS)}")
    row = here() | about(problem) | judged(problem, x, case.truth)
    bound = stated_bound(proof.bound, row["objective"])
    row |= {
        "suite": _suite(out),
        "key": _key(origin, case, base),
        "family": "groupsizes",
        "instance": origin.instance,
        "fingerprint": case.fingerprint,
        "method": origin.method,
        "kind": kind,
        "noise": case.noise,
        "epsilon": None if case.epsilon is None else float(case.epsilon),
        "rho": None if case.rho is None else float(case.rho),
        "seed": case.seed,
        "outcome": "ran",
        "reason": f"{ELSEWHERE}: times are as stated by its maker",
        "point_status": point_status(asked, x),
        "certificate": proof.optimal,
        "bound": bound,
        "gap": None if bound is None else row["objective"] - bound,
        "solve_s": origin.solve_s,
        "version": origin.version,
    }
    with locked(out):
        store = Store(out)
        if row["key"] in store and not replace:
            kept = next(one for one in store.rows if one["key"] == row["key"])
            if kept != dict.fromkeys(NAMES) | row:
                way_out = "give --replace, or the method another name"
                raise InputError("there is another result of this run", f"{out}, '{row['key']}'", way_out)
        store.keep(row)
    return row


def _same_problem(case: LibraryCase, solution: Path, solved: Path | None) -> None:
    """Refuse a solution that was made for another problem, by what is stated of it."""
    from pgsr.models.files import read_fingerprint, read_instance

    way_out = "give the model, epsilon, noise and seed with which the instance was written"
    stated = read_fingerprint(solution)
    if stated is not None and stated != case.fingerprint:
        where = f"{solution}, instance '{case.name}'{_drawn(case)}"
        raise InputError("the solution is one of another problem", where, way_out)
    if solved is not None and fingerprint(read_instance(solved).problem) != case.fingerprint:
        where = f"{solved}, instance '{case.name}'{_drawn(case)}"
        raise InputError("the file holds another problem", where, way_out)


def _drawn(case: LibraryCase) -> str:
    """Model and noise of a case, in words."""
    if case.seed is None:
        return f" ({case.model})"
    return f" ({case.model}, epsilon {case.epsilon}, {case.noise}, seed {case.seed})"


def add_results(out: Path, file: Path) -> tuple[int, int]:
    """Merge results made elsewhere into those in `out`: the numbers of rows added, and of equal ones.

    Raises InputError, and adds nothing, for another result of the same key, and for another problem under the
    same name (by its fingerprint).
    """
    if file.suffix == ".json" or (file.suffix == ".parquet" and not is_results(file)):
        way_out = "a solution needs --instance NAME and --method NAME"
        raise InputError("not a table of results", str(file), way_out)
    rows = read_results(file)
    _suite(out)
    with locked(out):
        store = Store(out)
        kept = {row["key"]: row for row in store.rows}
        problems = {_name(row): row["fingerprint"] for row in store.rows if row["fingerprint"]}
        fresh = []
        for row in rows:
            key = row["key"]
            if (
                row["fingerprint"]
                and problems.setdefault(_name(row), row["fingerprint"]) != row["fingerprint"]
            ):
                raise InputError(
                    "another problem under the same name", f"{file}, '{key}'", "rename its instance"
                )
            if key not in kept:
                fresh.append(row)
            elif row != kept[key]:
                way_out = "compare the two by 'pgsr bench compare', or rename the method of one"
                raise InputError("both have a result of this run", f"{file}, '{key}'", way_out)
        write_results(out / RESULTS, [*kept.values(), *fresh])
    return len(fresh), len(rows) - len(fresh)


def _name(row: Row) -> tuple[Any, ...]:
    """What is to be the same problem; files of one name may differ, and their keys tell them apart."""
    own = row["key"] if str(row["instance"]).startswith(FILE) else ""
    return (row["family"], row["instance"], row["model"], row["noise"], row["epsilon"], row["seed"], own)


def _suite(out: Path) -> str:
    """The suite of a folder of results; InputError if it is none."""
    if (out / SUITE).exists():
        return load_suite(out / SUITE).name
    if (out / RESULTS).exists():
        return "elsewhere"
    raise InputError("no folder of results", str(out), "make one with 'pgsr bench SUITE --out DIR'")


def _key(origin: Origin, case: Any, base: Path) -> str:
    """Like the keys of a suite, without limits."""
    content = digest("groupsizes", origin.instance, base)
    words = [origin.instance + (f" ({content})" if content else ""), case.model]
    if case.seed is not None:
        words += [f"epsilon {case.epsilon}", case.noise, f"seed {case.seed}"]
    return " | ".join([*words, origin.method, ELSEWHERE])
