"""`pgsr demo`: the main job on packaged real data, end to end."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pgsr.cli.options import Json, new_folder
from pgsr.cli.output import bars, console, emit, heading, line, pairs, paragraph, table

if TYPE_CHECKING:
    from pgsr.counts import GroupSizes
    from pgsr.groupsizes.hierarchical import HierarchicalMechanism
    from pgsr.ledger import Ledger
    from pgsr.mechanism import Release

EPSILON, BUDGET = 1, 2

_CONFIG = """\
# The same release as the demo's, to try `pgsr release` with. Paths are relative to this file.
[hierarchy]
file = "regions.csv"        # one row a region: region, parent
level_names = ["nation", "province", "district", "dong"]

[data]
kind = "histogram"          # one row a region, one column a size
file = "households.csv"
region = "region"

[sizes]
max = 7                     # 1 .. 7, where 7 means 7 or more
without_size_zero = true    # households of 0 members are not counted

[privacy]
epsilon = "1"               # in equal shares over the four levels
ledger = "../ledger.jsonl"  # holds the budget; charged before anything is drawn
"""


def demo(
    out: Annotated[Path, typer.Option(help="New folder for what is written.")] = Path("pgsr-demo"),
    as_json: Json = False,
) -> None:
    """Release the households of Korea by size, with epsilon = 1 on 4 levels, and show how good it is."""
    new_folder(out)
    started = time.perf_counter()
    with bars() as report:
        if report is not None:
            report("read", 0.0)
        from pgsr.datasets import describe, load_korea_households
        from pgsr.groupsizes.budget import LevelBudget
        from pgsr.groupsizes.hierarchical import HierarchicalMechanism
        from pgsr.ledger import Ledger
        from pgsr.mechanism import release
        from pgsr.noise import SystemBits

        data = load_korea_households()
        mechanism = HierarchicalMechanism(
            hierarchy=data.hierarchy,
            sizes=data.sizes,
            total=data.total,
            budget=LevelBudget.equal(EPSILON, data.hierarchy.levels),
            without_size_zero=True,
        )
        from pgsr.atomic import atomic_dir

        with atomic_dir(out) as folder:
            ledger = Ledger.create(folder / "ledger.jsonl", epsilon=BUDGET)
            made = release(
                mechanism, data, ledger=ledger, rng=SystemBits(), label="pgsr demo", progress=report
            )
            if report is not None:
                report("write", 0.0)
            made.save(folder / "release")
            for file in sorted((folder / "release").iterdir()):
                file.rename(folder / file.name)
            (folder / "release").rmdir()
            _write_inputs(data, folder / "input")
            record = _record(data, mechanism, made, ledger)
            record["files"] = sorted(
                str(file.relative_to(folder)) for file in folder.rglob("*") if file.is_file()
            )
    record["seconds"] = round(time.perf_counter() - started, 3)
    record["out"] = str(out)
    about = describe("korea-households")
    record["data"] = {"title": about.title, "source": about.source, "licence": about.licence}
    if as_json:
        emit(record)
    else:
        _print(record)


def _write_inputs(data: GroupSizes, folder: Path) -> None:
    """The demo's data as files, and a configuration that releases them."""
    import pyarrow as pa
    import pyarrow.csv as pacsv

    folder.mkdir()
    tree = data.hierarchy
    counts = data.to_table()
    parents = counts.column("region").take(pa.array(tree.parent, mask=tree.parent < 0))
    pacsv.write_csv(pa.table({"region": counts.column("region"), "parent": parents}), folder / "regions.csv")
    pacsv.write_csv(counts.slice(int(tree.leaves[0])), folder / "households.csv")
    (folder / "release.toml").write_text(_CONFIG, encoding="utf-8")


def _record(
    data: GroupSizes, mechanism: HierarchicalMechanism, made: Release, ledger: Ledger
) -> dict[str, Any]:
    """What the demo shows. The errors are taken against data that are public."""
    import numpy as np

    from pgsr.groupsizes.audit import confidential_error_table

    noisy = mechanism.measured(made.measurements["noisy"]).noisy
    errors = confidential_error_table(data, made.estimate.value, noisy)
    regions = np.diff(data.hierarchy.level_start).tolist()
    levels = [
        {
            "level": expected.level,
            "regions": count,
            "share": str(expected.share),
            "noise": expected.noise,
            "scale": None if law is None else law.describe().get("scale"),
            "expected_l1_noisy": expected.l1,
            "l1_noisy": error.confidential_l1_noisy,
            "l1_released": error.confidential_l1_released,
        }
        for expected, law, error, count in zip(
            mechanism.expected_error(), mechanism.laws, errors, regions, strict=True
        )
    ]
    solve = made.provenance.solve
    return {
        "levels": levels,
        "solve": None if solve is None else solve.to_dict(),
        "guarantee": made.guarantee.to_dict(),
        "ledger": {"spent": ledger.spent.to_dict(), "remaining": ledger.remaining.to_dict()},
    }


def _print(record: dict[str, Any]) -> None:
    """The same for people."""
    heading(record["data"]["title"])
    paragraph(f"Source: {record['data']['source']}. Licence: {record['data']['licence']}.", style="dim")
    table(
        ("level", "regions", "epsilon", "scale", "expected", "noisy", "released"),
        [
            (
                row["level"],
                row["regions"],
                row["share"],
                row["scale"],
                row["expected_l1_noisy"],
                row["l1_noisy"],
                row["l1_released"],
            )
            for row in record["levels"]
        ],
    )
    paragraph(
        "scale: of the discrete Laplace noise on each count. expected, noisy, released: L1 error of the "
        "level, expected for the noisy counts, and found for the noisy and the released ones."
    )
    paragraph(
        "These data are public, so this is a demonstration: with real data the found errors are "
        "CONFIDENTIAL, and pgsr release does not show them.",
        style="bold",
    )
    console().print()
    solve = record["solve"]
    broken = sorted(name for name, value in solve["violations"].items() if value)
    pairs(
        {
            "violations": ", ".join(broken) if broken else "0 (adds up, not negative, whole, total met)",
            "certificate": "true (no closer table exists)"
            if solve["certificate"]
            else str(solve["certificate"]).lower(),
            "objective": solve["objective"],
            "solver": f"{solve['solver']} {solve['version']}",
            "seconds": f"{solve['solve_s']:.2f} to solve, {record['seconds']:.2f} in all",
            "ledger": f"epsilon {record['ledger']['spent']['epsilon']} of {BUDGET} spent",
        }
    )
    console().print()
    heading("guarantee")
    paragraph(record["guarantee"]["text"])
    console().print()
    line(f"written: {record['out']}")
    for name in record["files"]:
        line(f"  {name}")
    line(f"next: pgsr release {record['out']}/input/release.toml --out {record['out']}-2")
