"""Made-up results of a suite, by the schema, with numbers that the tests can reckon with."""

from __future__ import annotations

from typing import Any

import pytest

from pgsr.bench.results import NAMES

COMMON = {
    "suite": "made-up",
    "pgsr": "0.1.0",
    "commit": "0123abc",
    "python": "3.11.7",
    "machine": "some processor",
    "cores": 2,
    "memory_gb": 24.0,
    "time_limit_s": 60.0,
    "memory_limit_gb": 4.0,
    "started": "2026-12-01T04:00:00Z",
}
# Kind, seconds for 100 entries (they grow with the square), broken sums of 10, L1 of a level at epsilon 1.
METHODS = {
    "proximity": ("exact", 0.01, 0, 10.0),
    "highs": ("exact", 0.04, 0, 10.0),
    "piqp:relaxed": ("relaxed", 0.02, 0, 11.0),
    "piqp:rounded": ("rounded", 0.02, 7, 11.0),
    "topdown": ("heuristic", 0.005, 0, 15.0),
    "noisy": ("noisy", None, 10, 40.0),
}
OBJECTIVES = {"exact": 100, "relaxed": 98.5, "rounded": 101, "heuristic": 120, "noisy": 0}


def sizes(instance: str, entries: int, epsilon: float, seed: int, method: str) -> dict[str, Any]:
    kind, seconds, broken, error = METHODS[method]
    exact = kind == "exact"
    whole = kind not in ("relaxed", "noisy")
    errors = [error * (2 + level + 0.1 * seed) / epsilon for level in range(2)]
    return COMMON | {
        "key": f"{instance} {epsilon:g} {seed} {method}",
        "family": "groupsizes",
        "instance": instance,
        "fingerprint": f"{instance} {epsilon:g} {seed}",
        "model": "hierarchical",
        "method": method,
        "kind": kind,
        "noise": "geometric",
        "epsilon": epsilon,
        "seed": seed,
        "levels": 2,
        "entries": entries,
        "outcome": "ran",
        "termination": "optimal" if kind in ("exact", "relaxed") else None,
        "point_status": "infeasible" if broken else "feasible",
        "certificate": True if exact else None,
        "objective": float(OBJECTIVES[kind]),
        "objective_exact": str(OBJECTIVES[kind]) if whole else None,
        "broken_sums": broken,
        "sums": 10,
        "worst_sum": 3.0 if broken else 0.0,
        "negative": 0,
        "fractional": 5 if kind == "relaxed" else 0,
        "total_off": 0.0,
        "l1": errors,
        "emd": [2 * e for e in errors],
        "bias_zero": [0.1, 0.2],
        "bias_positive": [-0.1, -0.2],
        "solve_s": None if seconds is None else seconds * (entries / 100) ** 2,
        "wall_s": 1.0,
        "peak_gb": 0.2,
    }


def index(method: str, epsilon: float, seed: int) -> dict[str, Any]:
    error = {"laplace": 0.4, "ladder": 0.01}[method] * (1 + 0.1 * seed) / epsilon
    return COMMON | {
        "key": f"mld {method} {epsilon:g} {seed}",
        "family": "inequality",
        "instance": "incomes",
        "model": "mld",
        "method": method,
        "kind": "mechanism",
        "noise": method,
        "epsilon": epsilon,
        "seed": seed,
        "entries": 1000,
        "outcome": "ran",
        "error": error,
        "estimate": 0.5 + error,
        "truth": 0.5,
        "solve_s": 0.01,
    }


def areas(method: str, rho: float | None, seed: int) -> dict[str, Any]:
    return COMMON | {
        "key": f"areas {method} {rho} {seed}",
        "family": "sae",
        "instance": "survey",
        "method": method,
        "kind": "mechanism",
        "rho": rho,
        "seed": seed,
        "entries": 50,
        "outcome": "ran",
        "error": 0.002 if rho is None else 0.002 + 0.001 / rho + 0.0001 * seed,
        "coverage": 0.95 if rho is None else 0.9 + 0.001 * seed,
        "solve_s": 0.05,
    }


@pytest.fixture(scope="session")
def made_up() -> list[dict[str, Any]]:
    """Rows of all three families; one solver was killed on the largest problem, another never ran."""
    rows = [
        sizes(instance, entries, epsilon, seed, method)
        for instance, entries in (("us:scale=1", 100), ("us:scale=2", 200), ("us:scale=4", 400))
        for epsilon in (0.5, 1.0)
        for seed in (1, 2, 3)
        for method in METHODS
    ]
    for row in rows:
        if row["method"] == "highs" and row["instance"] == "us:scale=4":
            kept = {name: row[name] for name in (*COMMON, "key", "family", "instance", "model", "method")}
            kept |= {
                name: row[name] for name in ("kind", "noise", "epsilon", "seed", "entries", "fingerprint")
            }
            row.clear()
            row.update(kept | {"outcome": "killed", "reason": "limit of 60 s"})
    rows += [index(m, e, s) for m in ("laplace", "ladder") for e in (0.5, 1.0) for s in range(1, 8)]
    rows += [areas(m, r, s) for m, r in (("direct", None), ("draw", 0.5), ("draw", 1.0)) for s in (1, 2, 3)]
    absent = COMMON | {"key": "gurobi", "family": "groupsizes", "instance": "us:scale=1", "kind": "exact"}
    absent |= {"method": "gurobi", "model": "hierarchical", "noise": "geometric", "epsilon": 1.0, "seed": 1}
    rows.append(absent | {"outcome": "missing", "reason": "gurobipy is not installed"})
    return [dict.fromkeys(NAMES) | row for row in rows]  # as they are read from a file
