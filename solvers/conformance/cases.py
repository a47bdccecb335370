"""Cases: frozen small problems of both models with known optima, integer and relaxed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np

from pgsr.models.problem import Problem
from pgsr.solvers.conformance.case import Case
from pgsr.solvers.conformance.handmade import handmade

QUICK_VECTORS = 5
"""Every so-manieth published vector belongs to the quick cases."""


@cache
def cases() -> tuple[Case, ...]:
    """All cases: those stated by hand, then the 60 published vectors, each as integers and relaxed."""
    return (*handmade(), *_vectors())


def named(name: str) -> Case:
    """The case called `name`; KeyError if there is none."""
    return {found.name: found for found in cases()}[name]


def _vectors() -> Iterator[Case]:
    text = files("pgsr.solvers.conformance").joinpath("vectors.json").read_text(encoding="utf-8")
    numbers = {"hierarchical": 0, "cumulative": 0}
    for record in json.loads(text):
        model = record["model"]
        numbers[model] += 1
        name = f"model{1 if model == 'hierarchical' else 2}-vector-{numbers[model]:02}"
        problem, expected = vector_problem(record), record["expected"]
        quick = numbers[model] % QUICK_VECTORS == 1
        yield Case(
            name=name,
            problem=problem,
            optimum=expected["integer_optimum"],
            piecewise=expected["piecewise_linear_relaxation"],
            quick=quick,
        )
        yield Case(
            name=f"{name}-relaxed",
            problem=problem.relaxed(),
            optimum=expected["relaxed_optimum"],
            precision=1e-6,
            quick=quick,
        )


def vector_problem(record: dict[str, Any]) -> Problem:
    """The problem of one published vector (`pgsr-instance/1`, regions in level order)."""
    rows = {region["id"]: row for row, region in enumerate(record["regions"])}
    return Problem(
        parent=np.array([rows.get(region["parent"], -1) for region in record["regions"]]),
        target=np.array([region["noisy"] for region in record["regions"]]),
        total=record["total"],
        cumulative=record["model"] == "cumulative",
    )


def large_problem(regions: int, width: int, *, cumulative: bool, integer: bool) -> Problem:
    """A problem of some size for checks of time, on a tree of three levels; its optimum is not known."""
    rng = np.random.default_rng(1)
    middle = max(1, int(regions**0.5))
    parent = np.concatenate(
        [[-1], np.zeros(middle, dtype=np.int64), 1 + np.sort(rng.integers(0, middle, regions - 1 - middle))]
    )
    true = np.zeros((regions, width), dtype=np.int64)
    true[1 + middle :] = rng.integers(0, 9, (regions - 1 - middle, width))
    for region in range(regions - 1, 0, -1):
        true[parent[region]] += true[region]
    if cumulative:
        true = np.cumsum(true, axis=1)
    return Problem(
        parent=parent,
        target=true + np.rint(rng.laplace(0.0, 6.0, true.shape)).astype(np.int64),
        total=int(true[0, -1] if cumulative else true[0].sum()),
        cumulative=cumulative,
        integer=integer,
    )
