"""Repeated releases on real incomes: private and known upper bound, all kinds of noise, one page.

`python -m pgsr.bench.inequality_releases --out DIR [--quick] [--docs PAGE]` releases the indices of the
packaged CPS households 10,000 times at each epsilon. In a run all releases share one private upper bound;
beside it stand a public bound of ten million, and U = the largest income, which is not private. Results go
to `DIR/releases.jsonl` as they come (finished ones are not run again), then to `DIR/releases.md`.

CONFIDENTIAL: errors, ladders, shares of runs that clip and numbers clipped depend on the incomes. They may be
shown here because these incomes are public; of confidential incomes they must not be.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from pgsr.bench.inequality_laws import (
    EPSILON_UPPER,
    INDEXES,
    LOWER,
    NOISES,
    PROBABILITIES,
    SHIFT,
    ConfidentialLaws,
    Float64,
    Int64,
    clipped,
    generator,
    paper_upper_draws,
    quantiles,
    seeded,
    study_upper,
    upper_draws,
)
from pgsr.bench.inequality_tables import releases_report
from pgsr.bench.pages import Journal, Log, Row, finished, here_and_now, log, renew, write_text
from pgsr.errors import InputError
from pgsr.inequality.domain import Domain
from pgsr.inequality.index import INDICES, index
from pgsr.inequality.loss import default_beta
from pgsr.inequality.query import IndexQuery
from pgsr.inequality.theil import paper_ladder
from pgsr.inequality.upper import PrivateUpper

EPSILONS = ("0.25", "0.5", "1", "1.5", "2")
RUNS = 10_000
QUICK_RUNS = 500
RATIOS = ("101/100", "51/50", "21/20")
"""Steps of the grids on which the private bounds are compared."""
UPPERS = ("private", "public", "max")
PUBLIC_UPPER = 1e7
"""Such as an agency may set without looking at the data."""
LADDER_EPSILON = "1"
_KEY = ("what", "data", "runs", "index", "upper", "epsilon", "noise", "algorithm", "ratio")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Case:
    """Public incomes, none negative, and a line about them; `x` (n,) is sorted and shifted by 1."""

    name: str
    title: str
    x: Float64

    @classmethod
    def of(cls, name: str, title: str, incomes: Any) -> Case:
        """From incomes (n,) in any order; raises InputError for negative ones."""
        values = np.asarray(incomes, dtype=np.float64)
        if values.size < 2 or not (values >= 0).all():
            raise InputError("negative incomes, or fewer than two", name, "leave them out, by a stated rule")
        return cls(name=name, title=title, x=np.sort(values + SHIFT))


def compare(
    out: Path, case: Case, *, runs: int = RUNS, epsilons: Sequence[str] = EPSILONS, log: Log
) -> list[Row]:
    """Run what has not been run yet in the folder `out`, and return the rows of this study."""
    file = out / "releases.jsonl"
    wanted = _wanted(case, runs, epsilons)
    rows = {_key(row): row for row in finished(file)}
    todo = [key for key in map(_key, wanted) if key not in rows]
    journal = Journal(file, len(todo), log)
    maker = _Maker(case, runs)
    for row in wanted:
        key = _key(row)
        if key in rows:
            continue
        rows[key] = row | maker.measure(row)
        journal.keep(rows[key], ", ".join(str(part) for part in key if part))
    return [rows[key] for key in map(_key, wanted)]


def _wanted(case: Case, runs: int, epsilons: Sequence[str]) -> list[Row]:
    """The first half of all rows: what is to be measured."""
    about: Row = {"data": case.name, "runs": runs}
    rows: list[Row] = [
        {"what": "bound", **about, "algorithm": algorithm, "ratio": ratio}
        for algorithm in ("U", "U even", "paper")
        for ratio in RATIOS
    ]
    rows += [{"what": "ladder", **about, "index": name, "epsilon": LADDER_EPSILON} for name in INDEXES]
    rows += [{"what": "clipping", **about, "index": name} for name in INDEXES]
    rows += [
        {"what": "release", **about, "index": name, "upper": upper, "epsilon": epsilon, "noise": noise}
        for name in INDEXES
        for upper in UPPERS
        for epsilon in epsilons
        for noise in NOISES
    ]
    return rows


def _key(row: Row) -> tuple[Any, ...]:
    return tuple(row.get(name, "") for name in _KEY)


class _Maker:
    """Measures rows; bounds and laws are kept from one to the next."""

    def __init__(self, case: Case, runs: int) -> None:
        self._case, self._runs = case, runs
        self._places: Int64 | None = None
        self._kept: tuple[tuple[str, str], dict[float, ConfidentialLaws]] = ("", ""), {}

    def measure(self, row: Row) -> Row:
        """The second half of a row."""
        kinds: dict[str, Callable[[Row], Row]] = {
            "bound": self._bound,
            "ladder": self._ladder,
            "clipping": self._clipping,
            "release": self._release,
        }
        return kinds[row["what"]](row)

    def _bound(self, row: Row) -> Row:
        """Private upper bounds: how often they clip, how many incomes, how far they overshoot."""
        private, x = study_upper(row["ratio"]), self._case.x
        if row["algorithm"] != "U":  # the paper's even split of epsilon, with exact and with its own noise
            private = PrivateUpper(grid=private.grid, epsilon=EPSILON_UPPER, epsilon_tau=EPSILON_UPPER / 2)
        if row["algorithm"] == "paper":
            places = paper_upper_draws(private, x, self._runs, generator("paper", row["ratio"]))
        else:
            places = upper_draws(private, x, self._runs, seeded(row["algorithm"], row["ratio"]))
        uppers = private.grid.values[places]
        above = len(x) - np.searchsorted(x, uppers, side="right")
        return {
            "n": len(x),
            "clip_share": float((above > 0).mean()),
            "clipped": quantiles(above.astype(np.float64), (0.05, 0.5, 0.95)),
            "over_max": quantiles(uppers / x[-1], (0.5, 0.95, 0.99)),
            "at_end_share": float((places == private.grid.count - 1).mean()),
        }

    def _ladder(self, row: Row) -> Row:
        """The sensitivities I_k with U = max, at ranks spaced evenly on a logarithmic axis."""
        x = self._case.x
        domain = Domain(n=len(x), lower=LOWER, upper=float(x[-1]))
        kind = index(row["index"])
        rungs = kind.ranks(x, domain)(0, len(x) + 1)
        at = np.unique(np.append(0, np.geomspace(1, len(x), 200).astype(np.int64)))
        found: Row = {
            "n": len(x),
            "largest": domain.upper,
            "value": kind.value(x),
            "global": kind.global_(domain),
            "beta": float(default_beta(Fraction(row["epsilon"]))),
            "k": at.tolist(),
            "entries": rungs[at].tolist(),
        }
        if row["index"] == "theil":
            found["paper_entries"] = paper_ladder(x, domain)(0, len(x) + 1)[at].tolist()
        return found

    def _clipping(self, row: Row) -> Row:
        """What the private bound alone does to the index: distances from the index of all incomes."""
        kind, x = INDICES[row["index"]], self._case.x
        moved = [kind.value(clipped(x, upper)) for upper, _ in self._uppers("private")]
        counts = [count for _, count in self._uppers("private")]
        return {"errors": quantiles(np.abs(np.repeat(moved, counts) - kind.value(x)), (0.5, 0.95, 0.99))}

    def _release(self, row: Row) -> Row:
        """The distribution of the releases, and of their distances from the index of all incomes."""
        query = IndexQuery(index=row["index"], epsilon=Fraction(row["epsilon"]), noise=row["noise"])
        rng = seeded(*(row[name] for name in ("data", "index", "upper", "epsilon", "noise")))
        released = []
        for upper, count in self._uppers(row["upper"]):
            released.append(self._laws(row, upper).released(query, count, rng))
        values = np.concatenate(released)
        truth = INDICES[row["index"]].value(self._case.x)
        return {
            "n": len(self._case.x),
            "truth": truth,
            "probabilities": list(PROBABILITIES),
            "values": quantiles(values),
            "errors": quantiles(np.abs(values - truth)),
        }

    def _uppers(self, kind: str) -> list[tuple[float, int]]:
        """The upper bounds of all runs, each with the number of runs that have it."""
        if kind == "max":
            return [(float(self._case.x[-1]), self._runs)]
        if kind == "public":
            return [(PUBLIC_UPPER, self._runs)]
        private = study_upper()
        if self._places is None:
            self._places = upper_draws(private, self._case.x, self._runs, seeded(self._case.name, "upper"))
        places, counts = np.unique(self._places, return_counts=True)
        return list(zip(private.grid.values[places].tolist(), counts.tolist(), strict=True))

    def _laws(self, row: Row, upper: float) -> ConfidentialLaws:
        group = row["index"], row["upper"]
        if self._kept[0] != group:
            self._kept = group, {}
        laws = self._kept[1]
        if upper not in laws:
            x = clipped(self._case.x, upper)
            laws[upper] = ConfidentialLaws(row["index"], x, Domain(n=len(x), lower=LOWER, upper=upper))
        return laws[upper]


def cps() -> Case:
    """Households of the Current Population Survey, from the package."""
    from pgsr.datasets import describe, load_cps_incomes

    return Case.of("cps-incomes", describe("cps-incomes").title, load_cps_incomes().income)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the study and write its report."""
    parser = argparse.ArgumentParser(description="Release inequality indices of public incomes many times.")
    parser.add_argument("--out", type=Path, required=True, help="folder for releases.jsonl and releases.md")
    parser.add_argument("--quick", action="store_true", help=f"{QUICK_RUNS} releases: to see that it runs")
    parser.add_argument("--runs", type=int, help=f"releases of each kind (default {RUNS:,})")
    parser.add_argument("--docs", type=Path, help="page whose generated tables are replaced")
    options = parser.parse_args(arguments)
    runs = (QUICK_RUNS if options.quick else RUNS) if options.runs is None else options.runs
    if runs < 1:
        parser.error("--runs must be 1 or more")
    options.out.mkdir(parents=True, exist_ok=True)
    case = cps()
    text = releases_report(
        compare(options.out, case, runs=runs, epsilons=EPSILONS, log=log), case.title, here_and_now()
    )
    write_text(options.out / "releases.md", text)
    if options.docs is not None:
        renew(options.docs, {"releases": text})
    log(f"written: {options.out / 'releases.md'}")


if __name__ == "__main__":
    main()
