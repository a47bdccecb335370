"""The tables of docs/instances.md: what the library holds, where it comes from, what is known of it.

`python -m pgsr.bench.library_page --docs docs/instances.md` puts them between their markers; a test compares.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from pgsr.bench.best_known import BestKnown, all_known
from pgsr.bench.library_entries import ENTRIES
from pgsr.bench.pages import head, line, renew
from pgsr.datasets import DATASETS

_LEAST = 1e-6
"""A linear value this far below the whole-number optimum means a fractional program."""


def tables() -> dict[str, str]:
    """The text of each marked part of the page."""
    return {"instances": instances(), "data": data(), "known": known()}


def instances() -> str:
    """One row a family."""
    rows = head(("name", "what it is", "levels", "regions x sizes", "models", "parameters"))
    for found in ENTRIES.values():
        both = "both" if len(found.models) > 1 else found.models[0]
        size = f"{found.regions:,} x {found.sizes:,}" if found.regions else "small"
        cells = (
            f"`{found.name}`",
            found.title + ("; targets fixed" if found.fixed else ""),
            f"{found.levels:,}" if found.levels else "",
            size,
            both,
            ", ".join(f"`{key}`" for key in found.parameters),
        )
        rows.append(line(cells))
    return "\n".join(rows)


def data() -> str:
    """One row a data set, those of the inequality suites too, and one for what is made here."""
    rows = head(("name", "source", "licence", "cite"))
    for found in ENTRIES.values():
        if found.kind == "data":
            rows.append(_origin(found.name, found.source, found.licence, found.citation))
    incomes = DATASETS["cps-incomes"]
    rows.append(_origin(incomes.name, incomes.source, incomes.licence, incomes.citation))
    ours = ENTRIES["uniform"]
    rows.append(line(("all others", "made by this package", ours.licence, ours.citation)))
    return "\n".join(rows)


def _origin(name: str, source: str, licence: str, citation: str) -> str:
    return line((f"`{name}`", source, licence, citation))


def known() -> str:
    """One row a family: how many values, and how they are proven."""
    rows = head(("name", "values", "certificate", "construction", "solver", "open", "fractional"))
    groups: dict[str, list[BestKnown]] = {name: [] for name in ENTRIES}
    for value in all_known().values():
        groups[value.name.partition(":")[0]].append(value)
    groups["**all**"] = list(all_known().values())
    for name, values in groups.items():
        proofs = ("certificate", "construction", "solver", "")
        counts = [sum(value.proof == proof for value in values) for proof in proofs]
        cells = [name if name.startswith("*") else f"`{name}`", len(values), *counts, sum(map(_gap, values))]
        rows.append(line([str(cell) for cell in cells]))
    return "\n".join(rows)


def _gap(value: BestKnown) -> bool:
    """Whether the linear program is worth less than the best table."""
    return value.linear is not None and value.linear < value.objective - _LEAST


def main(arguments: Sequence[str] | None = None) -> None:
    """Renew the tables of the page."""
    parser = argparse.ArgumentParser(description="Renew the tables of the page on instances.")
    parser.add_argument("--docs", type=Path, required=True, help="the page")
    renew(parser.parse_args(arguments).docs, tables())


if __name__ == "__main__":
    main()
