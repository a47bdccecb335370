"""One run of a suite, family inequality: independent private releases of one index of public incomes.

CONFIDENTIAL in nature: errors depend on the incomes. They may be shown because those of the suites are public
or simulated; of confidential incomes they must not be.
"""

from __future__ import annotations

import hashlib
import time
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pgsr.bench.inequality_laws import (
    LOWER,
    SHIFT,
    ConfidentialLaws,
    Float64,
    clipped,
    generator,
    seeded,
    upper_draws,
)
from pgsr.bench.pages import Row
from pgsr.bench.task import FILE, Task
from pgsr.errors import InputError
from pgsr.inequality.domain import Domain
from pgsr.inequality.index import index
from pgsr.inequality.query import IndexQuery
from pgsr.inequality.upper import PrivateUpper, UpperGrid

if TYPE_CHECKING:
    from pgsr.bench.one import Say

BOUND_SHARE = Fraction(3, 20)
"""Share of epsilon that a private upper bound takes; the index has the rest, so that the sum is epsilon."""

PUBLIC_UPPER = 1e7
"""The public upper bound, such as an agency may set without looking at the data."""

MOST_RECORDS, LARGEST_UPPER = 100_000_000, 1e15


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class IncomeCase:
    """Incomes x (n,), sorted and shifted by 1; `upper`: the public bound to which larger ones are moved."""

    x: Float64
    upper: float


def run_inequality(task: Task, say: Say) -> Row:
    """Draw the releases; `estimate` and `error` are medians over them."""
    case = income_case(task.instance, task.seed or 0, Path(task.base))
    assert task.model is not None
    truth = index(task.model).value(case.x)
    few = IncomeCase(x=case.x[:: max(1, len(case.x) // 20)], upper=case.upper)
    _released(task, few, 1)  # loads what is needed
    say(
        {
            "fingerprint": hashlib.sha256(np.ascontiguousarray(case.x, dtype="<f8").tobytes()).hexdigest(),
            "entries": len(case.x),
            "truth": truth,
        }
    )
    start = time.perf_counter()
    values = _released(task, case, task.releases)
    took = time.perf_counter() - start
    say({})
    return {
        "outcome": "ran",
        "solve_s": took,
        "estimate": float(np.median(values)),
        "error": float(np.median(np.abs(values - truth))),
    }


def _released(task: Task, case: IncomeCase, runs: int) -> Float64:
    """(runs,) independent releases; the same for the same task."""
    assert task.model is not None
    assert task.epsilon is not None
    noise: Any
    noise, _, bound = task.method.partition(":")
    epsilon, rng = Fraction(task.epsilon), seeded(task.key)
    uppers = [(case.upper, runs)]
    if bound:
        private = PrivateUpper(
            grid=UpperGrid.spanning(1000, 10**9, Fraction(51, 50)), epsilon=epsilon * BOUND_SHARE
        )
        places, counts = np.unique(upper_draws(private, case.x, runs, rng), return_counts=True)
        uppers = list(zip(private.grid.values[places].tolist(), counts.tolist(), strict=True))
        epsilon *= 1 - BOUND_SHARE
    query = IndexQuery(index=task.model, epsilon=epsilon, noise=noise)
    drawn = []
    for upper, count in uppers:
        x = clipped(case.x, upper)
        laws = ConfidentialLaws(task.model, x, Domain(n=len(x), lower=LOWER, upper=upper))
        drawn.append(laws.released(query, count, rng))
    return np.concatenate(drawn)


def income_case(name: str, seed: int, base: Path) -> IncomeCase:
    """The incomes of that name (see `check_name`); those of `population` are drawn anew for each seed."""
    family, given = check_name(name)
    upper = float(given.get("upper", PUBLIC_UPPER))
    if family == FILE[:-1]:
        return IncomeCase(x=_read(base / file_parts(name)[0], given, name), upper=upper)
    if family == "cps-incomes":
        from pgsr.datasets import load_cps_incomes

        income = np.asarray(load_cps_incomes().income, dtype=np.float64)
        return IncomeCase(x=np.sort(income + SHIFT), upper=upper)
    from pgsr.bench.inequality_samples import Population

    x = Population().sample(int(given.get("n", 10_000)), generator("suite", name, seed))
    return IncomeCase(x=x, upper=upper)


def check_name(name: str) -> tuple[str, dict[str, str]]:
    """Family and parameters of `cps-incomes`, `population:n=N`, or `file:PATH,column=NAME`.

    All take `upper=U`, the public upper bound. InputError for any other name.
    """
    family, _, rest = name.partition(":")
    where = f"instance '{name}'"
    if family == FILE[:-1]:
        given = file_parts(name)[1]
    else:
        given = dict(part.partition("=")[::2] for part in rest.split(",")) if rest else {}
        known = {"cps-incomes": {"upper"}, "population": {"upper", "n"}}
        if family not in known or not given.keys() <= known[family]:
            way_out = "use cps-incomes, population:n=N or file:PATH,column=NAME"
            raise InputError(f"unknown incomes '{name}'", "instances", way_out)
    count = given.get("n", "2")
    if not count.isdecimal() or not 2 <= int(count) <= MOST_RECORDS:
        raise InputError("not a number of records", where, "give n=2 or more")
    try:
        upper = float(given.get("upper", PUBLIC_UPPER))
    except ValueError:
        upper = 0.0
    if not LOWER < upper < LARGEST_UPPER:
        raise InputError("not an upper bound", where, "give a public number above 1")
    return family, given


def file_parts(name: str) -> tuple[Path, dict[str, str]]:
    """The path and the parameters of `file:PATH,column=NAME,upper=U`."""
    path, *parts = name[len(FILE) :].split(",")
    given = dict(part.partition("=")[::2] for part in parts)
    if not path or not given.keys() <= {"column", "upper"}:
        raise InputError("not the name of a file", f"instance '{name}'", "give file:PATH,column=NAME")
    return Path(path), given


def _read(path: Path, given: dict[str, str], name: str) -> Float64:
    from pgsr.config.reals import real_numbers
    from pgsr.tables import read_table

    column = given.get("column", "income")
    income = real_numbers(read_table(path), column)
    if income.size < 2 or not (income >= 0).all():
        where = f"instance '{name}', column '{column}'"
        raise InputError(
            "not two or more incomes from 0 up", where, "leave negative ones out, by a stated rule"
        )
    return np.sort(income + SHIFT)
