"""Repeated samples from a known distribution: error of private indices against sample size.

`python -m pgsr.bench.inequality_samples --out DIR [--quick] [--docs PAGE]` draws samples of incomes, releases
their indices with a private upper bound, and compares with the indices of the distribution, which are found
by numerical integration; beside them stand the errors of the sampled incomes' own indices. Results go to
`DIR/samples.jsonl`, one row a sample (finished ones are not drawn again), then, as quantiles of the errors,
to `DIR/sample_errors.jsonl` and `DIR/samples.md`.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from pgsr.bench.inequality_laws import (
    INDEXES,
    LOWER,
    NOISES,
    SHIFT,
    ConfidentialLaws,
    Float64,
    clipped,
    generator,
    seeded,
    study_upper,
    upper_draws,
)
from pgsr.bench.inequality_tables import samples_report
from pgsr.bench.pages import Journal, Log, Row, finished, here_and_now, log, renew, write_text
from pgsr.inequality.domain import Domain
from pgsr.inequality.index import INDICES
from pgsr.inequality.query import IndexQuery, Noise

EPSILONS = ("0.5", "1", "2")
SIZES = (1_000, 10_000, 100_000, 1_000_000)
SAMPLES = 1_000
QUICK_SIZES, QUICK_SAMPLES = SIZES[:2], 20
_SAID_EVERY = 50
_LAPLACE_STEP = Fraction(1, 256)


@dataclass(frozen=True, slots=True, kw_only=True)
class Population:
    """Incomes: 0 with probability `zeros`, else GB2(a, b, p, q), b in units of income.

    Density of the latter: a y^(ap - 1) / (b^(ap) B(p, q) (1 + (y/b)^a)^(p + q)). Its mean is finite if
    a q > 1. The defaults look like household incomes; they are a choice of ours.
    """

    a: float = 2.0
    b: float = 60_000.0
    p: float = 0.8
    q: float = 1.2
    zeros: float = 0.02

    def sample(self, n: int, rng: np.random.Generator) -> Float64:
        """(n,) sorted incomes plus 1: (y/b)^a is a quotient of gamma variables."""
        y = self.b * (rng.standard_gamma(self.p, n) / rng.standard_gamma(self.q, n)) ** (1 / self.a)
        y[: rng.binomial(n, self.zeros)] = 0.0
        return np.sort(y + SHIFT)

    def truth(self) -> dict[str, float]:
        """Mean log deviation and Theil index of an income plus 1.

        The density of t = log y is analytic and falls off exponentially at both ends, so that the trapezoidal
        rule on an even grid converges geometrically ([Trefethen2014]): errors near 1e-13 here.
        """
        reach = 45.0
        t = np.linspace(-reach / (self.a * self.p), reach / (self.a * self.q - 1), 20_001)
        z = self.a * t
        log_beta = math.lgamma(self.p) + math.lgamma(self.q) - math.lgamma(self.p + self.q)
        density = self.a * np.exp(self.p * z - (self.p + self.q) * np.logaddexp(0, z) - log_beta)
        weights = (1 - self.zeros) * density * (t[1] - t[0])
        y = self.b * np.exp(t)
        log_x = np.log1p(y)  # x = y + 1; incomes of 0 have x = 1 and log x = 0
        mean = self.zeros + float(weights @ (y + SHIFT))
        theil = float(weights @ ((y + SHIFT) * log_x)) / mean - math.log(mean)
        return {"mld": math.log(mean) - float(weights @ log_x), "theil": theil}

    def __str__(self) -> str:
        return (
            f"0 with probability {self.zeros:g}, else GB2({self.a:g}, {self.b:,.0f}, {self.p:g}, {self.q:g})"
        )


def compare(
    out: Path,
    population: Population,
    *,
    sizes: Sequence[int] = SIZES,
    samples: int = SAMPLES,
    epsilons: Sequence[str] = EPSILONS,
    log: Log,
) -> list[Row]:
    """Draw what has not been drawn yet in the folder `out`, and return one row a sample."""
    file = out / "samples.jsonl"
    wanted = [(str(population), list(epsilons), n, sample) for n in sizes for sample in range(1, samples + 1)]
    rows = {_key(row): row for row in finished(file)}
    todo = [one for one in wanted if _key_of(*one) not in rows]
    journal = Journal(file, len(todo), log)
    for name, _, n, sample in todo:
        row = measure(population, n, sample, epsilons)
        rows[_key(row)] = row
        journal.keep(row, f"{n:,} incomes of {name}" if sample % _SAID_EVERY == 0 else "")
    return [rows[_key_of(*one)] for one in wanted]


def _key_of(population: str, epsilons: Sequence[str], n: int, sample: int) -> tuple[Any, ...]:
    return population, tuple(epsilons), n, sample


def _key(row: Row) -> tuple[Any, ...]:
    return _key_of(row["population"], row["epsilons"], row["n"], row["sample"])


def measure(population: Population, n: int, sample: int, epsilons: Sequence[str]) -> Row:
    """One sample: its upper bound, its own indices, and one release of each kind.

    `released` holds for each index one number for each noise of `NOISES` and each epsilon, in this order.
    """
    x = population.sample(n, generator(str(population), n, sample))
    rng = seeded(str(population), n, sample)
    private = study_upper()
    upper = float(private.grid.values[upper_draws(private, x, 1, rng)[0]])
    domain = Domain(n=n, lower=LOWER, upper=upper)
    moved = clipped(x, upper)
    released: dict[str, list[list[float]]] = {}
    for name in INDEXES:
        laws = ConfidentialLaws(name, moved, domain)
        released[name] = [
            [float(laws.released(_query(name, noise, epsilon), 1, rng)[0]) for epsilon in epsilons]
            for noise in NOISES
        ]
    return {
        "population": str(population),
        "epsilons": list(epsilons),
        "n": n,
        "sample": sample,
        "upper": upper,
        "clipped": int(n - np.searchsorted(x, upper, side="right")),
        "sampled": {name: INDICES[name].value(x) for name in INDEXES},
        "released": released,
    }


def _query(name: str, noise: Noise, epsilon: str) -> IndexQuery:
    """Laplace noise gets a coarse grid: a sampler is built for every sample, and its errors are large."""
    step = _LAPLACE_STEP if noise == "laplace" else None
    return IndexQuery(index=name, epsilon=Fraction(epsilon), noise=noise, step=step)


def summary(rows: Sequence[Row], truth: Mapping[str, float]) -> list[Row]:
    """Tidy rows: index, n, noise, epsilon and the quantiles of the absolute errors over the samples.

    Noise "none", epsilon "" is the error of the sampled incomes' own index: sampling alone.
    """
    found: list[Row] = []
    for n in sorted({row["n"] for row in rows}):
        own = [row for row in rows if row["n"] == n]
        for name in INDEXES:
            sampled = np.array([row["sampled"][name] for row in own])
            released = np.array([row["released"][name] for row in own])  # (samples, noises, epsilons)
            about = {"index": name, "n": n, "samples": len(own), "truth": truth[name]}
            found.append(about | {"noise": "none", "epsilon": ""} | _errors(sampled - truth[name]))
            for i, noise in enumerate(NOISES):
                for j, epsilon in enumerate(own[0]["epsilons"]):
                    errors = _errors(released[:, i, j] - truth[name])
                    found.append(about | {"noise": noise, "epsilon": epsilon} | errors)
    return found


def _errors(differences: Float64) -> Row:
    middle, most = np.quantile(np.abs(differences), (0.5, 0.95))
    return {
        "error_50": float(middle),
        "error_95": float(most),
        "median_difference": float(np.median(differences)),
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the study and write its report."""
    parser = argparse.ArgumentParser(description="Release inequality indices of many samples.")
    parser.add_argument("--out", type=Path, required=True, help="folder for samples.jsonl and samples.md")
    parser.add_argument("--quick", action="store_true", help="few small samples: to see that it runs")
    parser.add_argument("--sizes", help="numbers of incomes, separated by commas (default: all)")
    parser.add_argument("--samples", type=int, help=f"samples of each size (default {SAMPLES:,})")
    parser.add_argument("--docs", type=Path, help="page whose generated tables are replaced")
    options = parser.parse_args(arguments)
    samples = (QUICK_SAMPLES if options.quick else SAMPLES) if options.samples is None else options.samples
    if samples < 1:
        parser.error("--samples must be 1 or more")
    options.out.mkdir(parents=True, exist_ok=True)
    population = Population()
    sizes: Sequence[int] = QUICK_SIZES if options.quick else SIZES
    if options.sizes is not None:
        sizes = tuple(int(n) for n in options.sizes.split(","))
    rows = compare(options.out, population, sizes=sizes, samples=samples, log=log)
    truth = population.truth()
    errors = summary(rows, truth)
    lines = "".join(json.dumps(row) + "\n" for row in errors)
    write_text(options.out / "sample_errors.jsonl", lines)
    text = samples_report(rows, errors, truth, here_and_now())
    write_text(options.out / "samples.md", text)
    if options.docs is not None:
        renew(options.docs, {"samples": text})
    log(f"written: {options.out / 'samples.md'}")


if __name__ == "__main__":
    main()
