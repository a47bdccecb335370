"""Synthetic twins of two surveys, and a study of them beside the paper's figures.

`python -m pgsr.bench.sae_twins --out DIR [--quick] [--docs PAGE]` simulates the twins under 20 seeds, fits
them as the paper fits its surveys, and writes to DIR: `sae_runs.jsonl`, the figures of each seed (finished
ones are not run again); `sae_tables.jsonl`, one row a figure over seeds, with the paper's if it is printed;
`sae_areas.jsonl`, one row an area of one seed of each twin, for pictures; `twins.md`.

All data are simulated. What is shown of them would be confidential of a real survey.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pgsr.bench.pages import Journal, Log, Row, finished, here_and_now, log, renew, write_text
from pgsr.bench.sae_figures import Analysis, Figures, area_rows, figures
from pgsr.bench.sae_levers import CAPS, at_equal_rho, capped, realised, trimmed
from pgsr.bench.sae_paper import LAYOUT, PRINTED
from pgsr.bench.sae_recipe import ACS, BRFSS, Recipe, Twin, simulate
from pgsr.bench.sae_tables import levers_report, tables_report
from pgsr.sae.audit_records import confidential_audit

SEEDS = 20
QUICK_SEEDS = 2
CASES: tuple[tuple[Recipe, tuple[str, ...]], ...] = ((ACS, ("taylor", "kish")), (BRFSS, ("kish", "taylor")))
"""Each twin with the ways to its sampling variances; pictures show the first."""
AUDITED = {
    ("acs", "taylor"): ("sampling",),
    ("brfss", "kish"): ("model", "sampling", "both"),
    ("brfss", "taylor"): ("model", "sampling", "both"),
}
"""What the audit of each case estimates again; thousands of fits of thousands of areas take too long."""
PICTURED_SEED = 1


def acs_like(seed: int) -> Twin:
    """A survey like the ACS application: 2,462 areas, 3,190,000 records in households, poverty."""
    return simulate(ACS, seed)


def brfss_like(seed: int) -> Twin:
    """A survey like the BRFSS application: 52 areas, 24,197 records, smoking."""
    return simulate(BRFSS, seed)


def study(
    out: Path, cases: Sequence[tuple[Recipe, Sequence[str]]] = CASES, *, seeds: int = SEEDS, log: Log
) -> list[Row]:
    """Run what has not been run yet in the folder `out`, and return one row a twin, variance and seed."""
    file = out / "sae_runs.jsonl"
    wanted = [
        (recipe, seed, method)
        for recipe, methods in cases
        for seed in range(1, seeds + 1)
        for method in methods
    ]
    rows = {_key(row): row for row in finished(file)}
    todo = [one for one in wanted if _key_of(*one) not in rows]
    journal = Journal(file, len(todo), log)
    twin, twins = None, {}
    for recipe, seed, method in todo:
        if twin is None or (twin.recipe, twin.seed) != (recipe, seed):
            twin = simulate(recipe, seed)
            twins = {cap: capped(twin, cap) for cap in CAPS}
        row = measure(twin, twins, method)
        rows[_key(row)] = row
        journal.keep(row, f"{recipe.name}, {method}, seed {seed}")
    return [rows[_key_of(*one)] for one in wanted]


def _key_of(recipe: Recipe, seed: int, method: str) -> tuple[Any, ...]:
    return repr(recipe), seed, method


def _key(row: Row) -> tuple[Any, ...]:
    return row["recipe"], row["seed"], row["variances"]


def measure(twin: Twin, twins: Mapping[float, Twin], method: str) -> Row:
    """All figures of one twin with one kind of variances; `twins` are those with capped weights, by cap."""
    found = Analysis.of(twin, method)
    values: Figures = figures(found) | at_equal_rho(found) | realised(found) | trimmed(found, twins)
    if again := AUDITED.get((twin.recipe.name, method), ()):
        values |= audited(found, again)
    return {
        "recipe": repr(twin.recipe),
        "twin": twin.recipe.name,
        "seed": twin.seed,
        "variances": method,
        "figures": {key: value if np.isfinite(value) else None for key, value in values.items()},
    }


def audited(found: Analysis, again: Sequence[str]) -> Figures:
    """The audit over the records of the areas that were kept."""
    data = found.twin.data if bool(found.kept.all()) else found.twin.records_of(found.kept)
    table = confidential_audit(data, variance=found.method, again=again).table()
    rows: Figures = {}
    for i, what in enumerate(table["again"]):
        for name in ("median", "greatest_finite", "infinite", "infinite_share"):
            rows[f"audit_{what}_{table['order'][i]:g}_{name}"] = float(table[name][i])
    return rows


def over_seeds(rows: Sequence[Row]) -> list[Row]:
    """One row a twin, variance and figure: median, least and greatest over seeds, and what the paper prints.

    A figure that is infinite in some seed counts as larger than all numbers; its median may be None. Figures
    that some seed does not have are left out.
    """
    tables = {key: name for name in reversed(list(LAYOUT)) for key in LAYOUT[name]}  # the first that shows it
    found = []
    for twin, method in dict.fromkeys((row["twin"], row["variances"]) for row in rows):
        own = [row["figures"] for row in rows if (row["twin"], row["variances"]) == (twin, method)]
        for key in own[0]:
            if any(key not in one for one in own):
                continue
            values = np.array([np.inf if one[key] is None else one[key] for one in own])
            three = (np.median(values), values.min(), values.max())
            middle, least, greatest = (float(x) if np.isfinite(x) else None for x in three)
            found.append(
                {
                    "twin": twin,
                    "variances": method,
                    "table": tables.get(key, "more"),
                    "figure": key,
                    "paper": PRINTED[twin].get(key),
                    "median": middle,
                    "least": least,
                    "greatest": greatest,
                    "seeds": len(own),
                }
            )
    return found


def write_rows(path: Path, rows: Sequence[Row]) -> None:
    """JSON lines, whole or not at all."""
    write_text(path, "".join(json.dumps(row) + "\n" for row in rows))


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the study and write its tables."""
    parser = argparse.ArgumentParser(
        description="Simulate twins of two surveys and set them beside the paper."
    )
    parser.add_argument("--out", type=Path, required=True, help="folder for the rows and twins.md")
    parser.add_argument(
        "--quick", action="store_true", help="two seeds of the small twin: to see that it runs"
    )
    parser.add_argument("--seeds", type=int, help=f"number of seeds (default {SEEDS})")
    parser.add_argument("--docs", type=Path, help="page whose generated tables are replaced")
    options = parser.parse_args(arguments)
    seeds = (QUICK_SEEDS if options.quick else SEEDS) if options.seeds is None else options.seeds
    if seeds < 1:
        parser.error("--seeds must be 1 or more")
    options.out.mkdir(parents=True, exist_ok=True)
    cases = CASES[1:] if options.quick else CASES
    areas = [
        row
        for recipe, methods in cases
        for row in area_rows(Analysis.of(simulate(recipe, PICTURED_SEED), methods[0]))
    ]
    write_rows(options.out / "sae_areas.jsonl", areas)
    rows = study(options.out, cases, seeds=seeds, log=log)
    summary = over_seeds(rows)
    write_rows(options.out / "sae_tables.jsonl", summary)
    parts = {"twins": tables_report(summary, here_and_now()), "levers": levers_report(summary)}
    write_text(options.out / "twins.md", "\n".join(parts.values()))
    if options.docs is not None:
        renew(options.docs, parts)
    log(f"written: {options.out / 'twins.md'}")


if __name__ == "__main__":
    main()
