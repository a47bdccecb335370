"""Best-known values of the instance library: the least objective found, and whether it is proven optimal.

    python -m pgsr.bench.best_known --out pgsr/bench/best_known.json [--limit S] [--only WORD] [--again]
    python -m pgsr.bench.best_known --out pgsr/bench/best_known.json --results DIR

The first solves what is listed in `pgsr.bench.library_list` and is not proven in the file yet; the second
takes over what a suite found in its own folder. Both keep the better of old and new.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from importlib.resources import files
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

from pgsr.atomic import atomic_path
from pgsr.bench.pages import Log, Row, log, today
from pgsr.errors import InputError

FORMAT = "pgsr-best-known/1"

Proof = Literal["certificate", "construction", "solver", ""]
_RANK: tuple[Proof, ...] = ("", "solver", "construction", "certificate")


@dataclass(frozen=True, slots=True, kw_only=True)
class BestKnown:
    """The best known value of one problem, which its `fingerprint` identifies.

    noise, epsilon, seed: None where the targets are part of the instance. objective: of a feasible table of
    integers, recomputed. bound: the best lower bound. linear: optimum of the linear program of unit segments
    (Model 2, where it was found). proof of optimality: "certificate", integer arithmetic from the problem
    alone; "construction", by the way the instance is made; "solver", a solver's word; "" if it is open.
    """

    name: str
    model: str
    noise: str | None
    epsilon: str | None
    seed: int | None
    fingerprint: str
    entries: int
    objective: int | float
    bound: int | float | None
    proof: Proof
    linear: float | None = None
    solver: str
    version: str
    date: str

    @property
    def proven(self) -> bool:
        """Whether it is the optimum, on more than a solver's word."""
        return self.proof in ("certificate", "construction")


@cache
def all_known() -> Mapping[str, BestKnown]:
    """The packaged values by fingerprint."""
    text = files("pgsr.bench").joinpath("best_known.json").read_text(encoding="utf-8")
    return MappingProxyType({found.fingerprint: found for found in _parsed(text, "best_known.json")})


def best_known(fingerprint: str) -> BestKnown | None:
    """What is known of the problem with this fingerprint (`LibraryCase.fingerprint`), or None."""
    return all_known().get(fingerprint)


def better(old: BestKnown | None, new: BestKnown) -> BestKnown:
    """The best of two records of one problem: least objective, largest bound, strongest proof.

    InputError if they contradict each other: an objective below a proven optimum.
    """
    if old is None:
        return new
    for one, other in ((old, new), (new, old)):
        if one.proven and other.objective < one.objective:
            raise InputError(
                f"{other.objective} found by {other.solver} is below the optimum {one.objective} that "
                f"{one.solver} has proven",
                f"instance {new.name}",
                "one of the two is wrong: report it",
            )
    first = max((old, new), key=lambda known: (-known.objective, _RANK.index(known.proof)))
    bounds = [known.bound for known in (old, new) if known.bound is not None]
    linear = [known.linear for known in (new, old) if known.linear is not None]
    return replace(first, bound=max(bounds, default=None), linear=linear[0] if linear else None)


def read_known(path: Path) -> dict[str, BestKnown]:
    """The values in a file by fingerprint; none if there is no file. InputError if it is no such file."""
    if not path.exists():
        return {}
    return {found.fingerprint: found for found in _parsed(path.read_text(encoding="utf-8"), str(path))}


def write_known(path: Path, known: Iterable[BestKnown]) -> None:
    """Write values, one line each, in the order of their names."""
    order = sorted(
        known, key=lambda k: (k.name, k.model, k.noise or "", k.epsilon or "", k.seed or 0, k.fingerprint)
    )
    lines = ",\n".join(json.dumps(asdict(entry)) for entry in order)
    with atomic_path(path) as new:
        new.write_text(f'{{"format": "{FORMAT}", "values": [\n{lines}\n]}}\n', encoding="utf-8")


def _parsed(text: str, where: str) -> list[BestKnown]:
    try:
        record = json.loads(text)
        version, entries = record["format"], record["values"]
        found = [BestKnown(**entry) for entry in entries] if version == FORMAT else []
    except (ValueError, KeyError, TypeError) as error:
        raise InputError("not a file of best-known values", where, "restore it") from error
    if version != FORMAT:
        raise InputError(f"of format {version}", where, f"this version reads {FORMAT}")
    return found


def learn(known: dict[str, BestKnown], rows: Iterable[Row]) -> list[BestKnown]:
    """Put what finished runs of a suite found into `known`; the records that changed.

    Rows as in `pgsr.bench.results`: exact or heuristic tables that are feasible, on instances of the library.
    """
    changed = []
    for row in rows:
        value: Any = row.get("objective_exact")
        wanted = (
            row["outcome"] == "ran"
            and row["kind"] in ("exact", "heuristic")
            and row.get("point_status") == "feasible"
            and row.get("fingerprint")
            and value is not None
            and not row["instance"].startswith("file:")
        )
        if not wanted:
            continue
        certified = row.get("certificate") is True
        objective: int | float = int(value)
        new = BestKnown(
            name=row["instance"],
            model=row["model"],
            noise=row.get("noise"),
            epsilon=None if row.get("epsilon") is None else _fraction_text(row["epsilon"]),
            seed=row.get("seed"),
            fingerprint=row["fingerprint"],
            entries=row["entries"],
            objective=objective,
            bound=objective if certified else row.get("bound"),
            proof="certificate" if certified else "",
            solver=row["method"],
            version=row.get("version") or "",
            date=(row.get("started") or today())[:10],
        )
        old = known.get(new.fingerprint)
        best = better(old, new)
        if best != old and not (old is not None and old.proven):
            known[new.fingerprint] = best
            changed.append(best)
    return changed


def _fraction_text(epsilon: float) -> str:
    from pgsr.privacy import as_fraction

    return str(as_fraction(epsilon, "epsilon"))


def improve(
    path: Path, *, only: str = "", limit_s: float = 60.0, again: bool = False, log: Log = log
) -> dict[str, BestKnown]:
    """Solve what is listed and not proven in the file at `path` yet; the file is written after each one."""
    from pgsr.bench.library_list import listed
    from pgsr.bench.library_solving import solved

    known = read_known(path)
    cases = [asked for asked in listed() if only in asked.name]
    for number, asked in enumerate(cases, 1):
        case = asked.open()
        old = known.get(case.fingerprint)
        if old is not None and old.proven and not again:
            continue
        best = better(old, solved(case, limit_s))
        known[case.fingerprint] = best
        write_known(path, known.values())
        log(f"{number} of {len(cases)}: {asked}: {best.objective} ({best.proof or 'open'}, {best.solver})")
    return known


def main(arguments: Sequence[str] | None = None) -> None:
    """Improve a file of best-known values."""
    parser = argparse.ArgumentParser(description="Find best-known values of the instance library.")
    parser.add_argument("--out", type=Path, required=True, help="file to write, and to improve if it exists")
    parser.add_argument("--limit", type=float, default=60.0, help="seconds a solver may take (60)")
    parser.add_argument("--only", default="", help="instances with this in their names")
    parser.add_argument("--again", action="store_true", help="solve proven ones again too")
    parser.add_argument("--results", type=Path, help="take over what a suite found in this folder instead")
    options = parser.parse_args(arguments)
    if options.results is None:
        known = improve(options.out, only=options.only, limit_s=options.limit, again=options.again)
    else:
        from pgsr.bench.results import read_results

        known = read_known(options.out)
        rows: list[dict[str, Any]] = read_results(options.results)
        log(f"{len(learn(known, rows))} values are new or better")
        write_known(options.out, known.values())
    proven = sum(entry.proven for entry in known.values())
    log(f"written: {options.out}, {len(known)} values, {proven} of them proven optimal")


if __name__ == "__main__":
    main()
