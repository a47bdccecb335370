"""How often the intervals of three-stage draws hold the truth, on simulated surveys of the normal model.

`python -m pgsr.bench.sae_coverage [--runs 100] [--docs docs/sae.md]` logs the table, and renews the page.
Sample sizes are log-uniform from 50 to 420, the prevalence is 0.15, budgets are those of the page's example.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from pgsr.bench.pages import head, line, log, renew, today
from pgsr.noise import SeededBits
from pgsr.sae.frame import AreaEstimates, AreaFrame
from pgsr.sae.threestage import ThreeStageMechanism

PREVALENCE = 0.15
CASES = ((16, 0.0), (16, 0.0003), (16, 0.001), (16, 0.003), (16, 0.01), (60, 0.001), (400, 0.001))
"""Numbers of areas and model variances."""


def plan(areas: int) -> ThreeStageMechanism:
    """A made-up plan with one covariate, and the budgets of the example."""
    rng = np.random.default_rng(areas)
    n = np.exp(rng.uniform(4, 6, areas))
    frame = AreaFrame(
        areas=tuple(f"area{i}" for i in range(areas)),
        sensitivity=3 / n,
        design=np.column_stack([np.ones(areas), rng.uniform(0.1, 0.3, areas)]),
        weight_total=200 * n,
        kish=1.4 / n,
    )
    return ThreeStageMechanism(
        frame=frame,
        rho_p="1/1000",
        rho_b="1/20",
        rho_a="1/20",
        rho_draw="1/5",
        clip=0.25,
        reference=0.001,
        clamp=(0.05, 0.4),
    )


def coverage(areas: int, model_variance: float, runs: int) -> list[str]:
    """One line of the table: runs of A~ = 0, coverage, coverage in those runs, mean standard deviation."""
    query = plan(areas)
    rng, frame = np.random.default_rng(7), query.frame
    noise = np.sqrt(PREVALENCE * (1 - PREVALENCE) * frame.kish)
    held, zero, widths = [], [], []
    for seed in range(runs):
        theta = 0.08 + 0.3 * frame.design[:, 1] + np.sqrt(model_variance) * rng.normal(size=areas)
        data = AreaEstimates(areas=frame.areas, values=theta + noise * rng.normal(size=areas))
        measured = query.measure(data, SeededBits(seed))
        table = query.estimate(measured).tables["areas"]
        held.append(float(((table["lower"] <= theta) & (theta <= table["upper"])).mean()))
        widths.append(float(table["sd"].mean()))
        zero.append(bool(query.measurements(measured)["stages"]["model_variance"][0] == 0))
    share = np.mean(zero)
    there = f"{np.mean(np.array(held)[zero]):.1%}" if share else ""
    return [
        f"{areas:,}",
        f"{model_variance:g}",
        f"{share:.0%}",
        f"{np.mean(held):.1%}",
        there,
        f"{np.mean(widths):.3f}",
    ]


def main(arguments: Sequence[str] | None = None) -> None:
    """Simulate all cases and show the table."""
    parser = argparse.ArgumentParser(description="Coverage of the intervals of three-stage draws.")
    parser.add_argument("--runs", type=int, default=100, help="surveys a case (default %(default)s)")
    parser.add_argument("--docs", type=Path, help="page whose generated table is replaced")
    options = parser.parse_args(arguments)
    if options.runs < 1:
        parser.error("--runs must be 1 or more")
    titles = ["areas", "true A", "A~ = 0 in", "coverage", "where A~ = 0", "mean sd"]
    lines = [f"Simulated {today()}: {options.runs:,} surveys a line.", "", *head(titles)]
    for areas, model_variance in CASES:
        lines.append(line(coverage(areas, model_variance, options.runs)))
        log(lines[-1])
    if options.docs is not None:
        renew(options.docs, {"coverage": "\n".join(lines)})


if __name__ == "__main__":
    main()
