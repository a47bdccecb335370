"""`window` against the bare linear program that it is built on, for both models.

Trees of 10,000 regions with 20 sizes: three levels, where the linear program of Model 2 is integral, and six,
where it hardly ever is; and a given instance, such as the frozen taxi counts. Every run is a fresh process:
`python -m pgsr.bench.windows INSTANCE LIMIT` solves one with `window` and prints one JSON object.
"""

from __future__ import annotations

import json
import sys
import tempfile
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from pgsr.bench.pages import Log, Row
from pgsr.bench.presets import generate, write
from pgsr.bench.process import run_python
from pgsr.models.files import read_instance, write_instance
from pgsr.models.instance import Instance
from pgsr.solvers.base import SolveOptions


def three_levels(regions: int, width: int, model: str, seed: int) -> Instance:
    """Households on a tree of three levels, noisy at epsilon 1: the easy kind of tree, at any size."""
    from pgsr.bench.trees import grown, household_shares
    from pgsr.counts import GroupSizes
    from pgsr.noise import DiscreteLaplace, SeededBits

    rng = np.random.default_rng(seed)
    middle = max(1, round(regions**0.5))
    leaves = max(middle, regions - 1 - middle)
    hierarchy = grown((1, middle, leaves), ("nation", "county", "tract"), rng)
    mean = rng.lognormal(2.0, 1.0, leaves)
    counts = rng.poisson(mean[:, None] * household_shares(width)).astype(np.int64)
    truth = GroupSizes.from_leaf_counts(hierarchy, np.arange(1, width + 1), counts)
    cumulative = model == "cumulative"
    law = DiscreteLaplace(scale=Fraction(3 if cumulative else 6))
    clean = truth.cumulative() if cumulative else truth.counts
    noisy = clean + law.sample(clean.size, SeededBits(seed)).reshape(clean.shape)
    return Instance.build(hierarchy, truth.sizes, noisy, truth.total, cumulative=cumulative)


def solve_window(path: str, limit_s: float) -> Row:
    """Solve an instance with `window`; what the record says."""
    from pgsr.solvers.registry import get

    problem = read_instance(path).problem
    tiny = generate("us", scale=1e-5, model="cumulative" if problem.cumulative else "hierarchical")
    get("window").solve(tiny.instance().problem, SolveOptions())  # loads what is compiled
    solution = get("window").solve(problem, SolveOptions(time_limit_s=limit_s))
    return {
        "seconds": solution.build_s + solution.solve_s,
        "objective": solution.objective,
        "bound": solution.bound,
        "certificate": solution.certificate,
        "worst_violation": max(solution.violations.values(), default=None),
        **{key: solution.details.get(key) for key in ("guess_s", "segments", "fractional", "searches")},
    }


def window_rows(quick: bool, limit_s: float, taxi: Path | None, log: Log) -> list[Row]:
    """One row a model and tree: seconds of `window`, and of the bare linear program as a ratio to it."""
    regions, scale = (300, 0.00003) if quick else (10_000, 0.00088)
    rows = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        cases: list[tuple[str, str, Path]] = []
        for model in ("hierarchical", "cumulative"):
            path = folder / f"three-{model}"
            write_instance(three_levels(regions, 20, model, seed=1), path)
            cases.append(("three levels", model, path))
            path = folder / f"six-{model}"
            write(generate("us", scale=scale, sizes=20, model=model, seed=1), path)
            cases.append(("six levels", model, path))
        if taxi is not None:
            path = folder / "taxi"
            write_instance(frozen(taxi), path)
            cases.append(("taxi, frozen", "cumulative", path))
        for tree, model, path in cases:
            problem = read_instance(path).problem
            row: Row = {"tree": tree, "model": model, "regions": problem.regions, "sizes": problem.width}
            log(f"window on {tree}, {model}")
            run = run_python(["-m", "pgsr.bench.windows", str(path), str(limit_s)], limit_s + 60)
            row |= {"peak_gb": run.peak_gb, **(run.output or {})}
            log(f"bare linear program on {tree}, {model}")
            bare = run_python(["-m", "pgsr.bench.peers", "highs", str(path)], limit_s + 60)
            if bare.output is not None:
                row["bare_s"], row["bare_value"] = bare.output["seconds"], bare.output["objective"]
                if row.get("seconds"):
                    row["ratio"] = row["bare_s"] / row["seconds"]
            rows.append(row)
    return rows


def frozen(path: Path) -> Instance:
    """The cumulative problem of a frozen noisy table: arrays `parent`, `total`, `noisy_cumulative`."""
    from pgsr.hierarchy import Hierarchy

    with np.load(path) as data:
        parent, total, noisy = data["parent"], int(data["total"]), data["noisy_cumulative"]
    codes: Any = np.array([f"r{row}" for row in range(len(parent))], dtype=np.dtypes.StringDType())
    hierarchy = Hierarchy(ids=codes, parent=parent)
    return Instance.build(hierarchy, np.arange(1, noisy.shape[1] + 1), noisy, total, cumulative=True)


if __name__ == "__main__":
    sys.stdout.write(json.dumps(solve_window(sys.argv[1], float(sys.argv[2]))) + "\n")
