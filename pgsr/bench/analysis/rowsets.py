"""What a row of the results says: which problem it is about, how it ended, and how good its answer is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

from pgsr.bench.pages import Row

Rows: TypeAlias = Sequence[Row]
Problem: TypeAlias = tuple[Any, ...]
Known: TypeAlias = Mapping[str, float]
"""Best-known objectives of the integer problems by fingerprint."""

PROBLEM = ("family", "instance", "model", "seed")
"""What names a problem, with its budget and noise: all methods that share it had the same input."""

LIMITS = ("time_limit", "other_limit")
NEVER_TRIED = ("lacks", "missing", "refused")
"""Outcomes of runs that did not take place: a feature, a library or the right input was not there."""
EXACT_TOLERANCE, RELAXED_TOLERANCE = 1e-9, 1e-6
"""Relative: objectives that are nearer are equal. Whole objectives are compared in full instead."""

K = TypeVar("K", bound=Hashable)


def problem(row: Row) -> Problem:
    """The values of `PROBLEM`, the noise of the input, and the budget."""
    return (*(row.get(name) for name in PROBLEM), input_noise(row), budget(row))


def input_noise(row: Row) -> str | None:
    """The noise that all methods of the family groupsizes are given; elsewhere each method has its own."""
    noise: str | None = row.get("noise")
    return noise if row["family"] == "groupsizes" else None


def budget(row: Row) -> tuple[float | None, str]:
    """The budget and its kind: epsilon, or rho where there is no epsilon."""
    if row.get("epsilon") is not None:
        return float(row["epsilon"]), "epsilon"
    return (None, "") if row.get("rho") is None else (float(row["rho"]), "rho")


def base(row: Row) -> str:
    """The name of the instance without its parameters: growing problems of one kind share it.

    Files of the reader's own stand for themselves.
    """
    name = str(row["instance"])
    return name if name.startswith("file:") else name.partition(":")[0]


def ran(row: Row) -> bool:
    """Whether the run came to its end and left something to judge."""
    return bool(row["outcome"] == "ran")


def finished(row: Row) -> bool:
    """Whether it ran and no limit stopped it."""
    return ran(row) and row.get("termination") not in LIMITS


def feasible(row: Row) -> bool:
    """Whether it left a table that keeps all conditions."""
    return ran(row) and row.get("point_status") == "feasible"


def objective(row: Row) -> float | None:
    """The objective: a whole number in full where the row has its digits."""
    digits = row.get("objective_exact")
    if digits is not None:
        try:
            return int(digits)
        except ValueError:
            pass
    value = row.get("objective")
    return None if value is None else float(value)


def same_problem(row: Row) -> Hashable:
    """The fingerprint, or what names the problem; integers apart from relaxations."""
    relaxed = row["kind"] == "relaxed"
    return (relaxed, row["fingerprint"] if row.get("fingerprint") else problem(row))


def best_objectives(rows: Iterable[Row], known: Known | None = None) -> dict[Hashable, float]:
    """The smallest objective of a feasible table, by `same_problem`; `known` ones count as well."""
    best: dict[Hashable, float] = {(False, name): value for name, value in (known or {}).items()}
    for row in rows:
        value = objective(row)
        if value is None or not feasible(row):
            continue
        key = same_problem(row)
        best[key] = min(value, best.get(key, value))
    return best


def proven_objectives(
    rows: Iterable[Row], known: Known | None = None, proven: Collection[str] = ()
) -> dict[Hashable, float]:
    """Objectives that are proven optimal, by `same_problem`: by a certificate of a row, or known and proven.

    `proven`: the fingerprints of `known` whose value is proven.
    """
    found: dict[Hashable, float] = {(False, name): (known or {})[name] for name in proven}
    for row in rows:
        value = objective(row)
        if value is not None and feasible(row) and row.get("certificate") is True:
            found.setdefault(same_problem(row), value)
    return found


def agrees(row: Row, proven: Mapping[Hashable, float]) -> bool:
    """Whether its objective is the one of `proven`, whole ones in full."""
    value, least = objective(row), proven.get(same_problem(row))
    if value is None or least is None:
        return False
    if isinstance(value, int) and isinstance(least, int):
        return value == least
    tolerance = RELAXED_TOLERANCE if row["kind"] == "relaxed" else EXACT_TOLERANCE
    return abs(float(value - least)) <= tolerance * max(abs(least), 1)


def excess(row: Row, best: Mapping[Hashable, float]) -> float | None:
    """Objective minus the best one, over the best one (at least 1); None without a table or a best."""
    value, least = objective(row), best.get(same_problem(row))
    if value is None or least is None:
        return None
    return float((value - least) / max(abs(least), 1))


def state(row: Row, best: Mapping[Hashable, float]) -> str:
    """How a run of a solver ended.

    `solved`: it says optimal or the problem proves it, its table keeps all conditions, and nothing better
    is known; `beaten`: it said so, and something better is known; `limit`: a limit stopped it; `stopped`:
    other ends, such as a claim that its own table refutes; else the outcome: killed, memory, fault, ...
    """
    if not ran(row):
        return str(row["outcome"])
    claims = row.get("termination") == "optimal" or row.get("certificate") is True
    if claims and feasible(row) and row.get("certificate") is not False:
        over = excess(row, best)
        tolerance = RELAXED_TOLERANCE if row["kind"] == "relaxed" else EXACT_TOLERANCE
        digits = isinstance(objective(row), int) and isinstance(best.get(same_problem(row)), int)
        worse = over is not None and over > (0 if digits else tolerance)
        return "beaten" if worse else "solved"
    return "limit" if row.get("termination") in LIMITS else "stopped"


def grouped(rows: Iterable[Row], key: Callable[[Row], K]) -> dict[K, list[Row]]:
    """Rows by key, in the order in which the keys come."""
    groups: dict[K, list[Row]] = {}
    for row in rows:
        groups.setdefault(key(row), []).append(row)
    return groups


def columns_of(*names: str) -> Callable[[Row], tuple[Any, ...]]:
    """The key that consists of these columns."""
    return lambda row: tuple(row.get(name) for name in names)


def total(row: Row, measure: str) -> float | None:
    """A distance summed over the levels, or the value of another measure."""
    value = row.get(measure)
    if value is None:
        return None
    if isinstance(value, (list, tuple)):
        return None if not value or any(part is None for part in value) else float(sum(value))
    return float(value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """Methods that were all tried on the same problems: `runs[problem][method]`, and what was left out."""

    methods: tuple[str, ...]
    runs: Mapping[Problem, Mapping[str, Row]]
    notes: tuple[str, ...]


def panel(rows: Rows) -> Panel:
    """The fair set: problems that were given to all methods.

    A method that was never run at all is left out, and one that was given less than half of the problems
    too, since it would take the other problems from all; `notes` say so. Runs that were killed, ran out of
    memory or failed stay in.
    """
    notes = []
    table: dict[Problem, dict[str, Row]] = {}
    twice = 0
    for row in rows:
        runs = table.setdefault(problem(row), {})
        twice += row["method"] in runs
        runs[row["method"]] = row
    if twice:
        notes.append(f"{count(twice, 'run')} of a method on a problem it had run on: the last one counts.")
    tried: Counter[str] = Counter()
    absent: dict[str, Counter[str]] = {}
    for runs in table.values():
        for method, row in runs.items():
            tried[method] += row["outcome"] not in NEVER_TRIED
            if row["outcome"] in NEVER_TRIED:
                absent.setdefault(method, Counter())[row["outcome"]] += 1
    methods = []
    for method in tried:
        given = sum(method in runs for runs in table.values())
        if not tried[method]:
            why = ", ".join(sorted(absent[method]))
            notes.append(f"{method} is left out: it never ran ({why}).")
        elif 2 * given < len(table):
            notes.append(f"{method} is left out: it was given {given} of {count(len(table), 'problem')}.")
        else:
            methods.append(method)
            if method in absent:
                why = ", ".join(sorted(absent[method]))
                number = count(absent[method].total(), "problem")
                notes.append(f"{method}: {number} on which it did not run ({why}) count as not solved.")
    common = {
        name: {method: runs[method] for method in methods}
        for name, runs in table.items()
        if methods and all(method in runs for method in methods)
    }
    if len(common) < len(table):
        notes.append(f"{len(table) - len(common)} of {len(table)} problems are left out: not given to all.")
    return Panel(methods=tuple(methods), runs=common, notes=tuple(notes))


def count(number: int, what: str) -> str:
    """A number and its noun: "1 run", "2 runs"."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def left_out(rows: Iterable[Row], why: Callable[[Row], str | None], what: str) -> list[str]:
    """One note on the rows for which `why` has a reason, with how many of each; none if there are none."""
    reasons = Counter(reason for row in rows if (reason := why(row)) is not None)
    if not reasons:
        return []
    parts = ", ".join(f"{number} {reason}" for reason, number in reasons.most_common())
    return [f"Left out of {what}: {count(sum(reasons.values()), 'run')} ({parts})."]
