"""From random person rows to a release: all four conditions hold and the table is proven the closest."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pgsr
from pgsr.groupsizes.budget import LevelBudget
from pgsr.models.problem import Problem
from pgsr.privacy import Kind
from pgsr.solvers.base import SolveOptions
from pgsr.solvers.registry import get

TREE = pgsr.Hierarchy.from_columns(
    ["all", "a", "b", "a1", "a2", "b1"],
    [None, "all", "all", "a", "a", "b"],
    level_names=["top", "mid", "leaf"],
)
LEAVES = ["a1", "a2", "b1"]


@st.composite
def persons(draw):
    """A public frame of units, and person rows with z from 0 to 5."""
    z_max = draw(st.integers(1, 5))
    units = draw(st.lists(st.sampled_from(LEAVES), max_size=8))
    frame = {"unit": [f"u{i}" for i in range(len(units))], "region": units}
    rows = draw(
        st.lists(st.tuples(st.sampled_from(range(len(units))), st.integers(0, z_max)), max_size=15)
        if units
        else st.just([])
    )
    table = {
        "unit": [f"u{i}" for i, _ in rows],
        "region": [units[i] for i, _ in rows],
        "z": [z for _, z in rows],
    }
    return (
        z_max,
        frame,
        {name: np.array(column, dtype=int if name == "z" else object) for name, column in table.items()},
    )


@settings(max_examples=60, deadline=None)
@given(
    persons(),
    st.sampled_from([(0, 1, 2, 3), (0, 2, 5), (0,)]),
    st.sampled_from(["1/10", "1", "7"]),
    st.sampled_from([Kind.PURE, Kind.ZCDP]),
    st.integers(0, 10**6),
)
def test_persons_to_proven_release(data, sizes, budget, kind, seed):
    z_max, frame, rows = data
    units = {name: np.array(column, dtype=object) for name, column in frame.items()}
    truth = pgsr.GroupSizes.from_persons(rows, TREE, sizes, z="z", z_max=z_max, frame=units)
    assert truth.total == len(frame["unit"])
    query = pgsr.HierarchicalMechanism(
        hierarchy=TREE,
        sizes=truth.sizes,
        total=truth.total,
        budget=LevelBudget.equal(budget, 3, kind=kind),
        noise="laplace" if kind is Kind.PURE else "gaussian",
        z_max=z_max,
    )
    ledger = pgsr.Ledger.pure(budget) if kind is Kind.PURE else pgsr.Ledger.zcdp(budget)
    made = pgsr.release(query, truth, ledger=ledger, rng=pgsr.SeededBits(seed))
    counts = made.estimate.value
    assert counts.check(truth.total) == ()
    assert made.provenance.solve.certificate is True
    noisy = np.stack([made.measurements["noisy"][str(size)] for size in sizes], axis=1)
    problem = Problem(parent=TREE.parent, target=noisy, total=truth.total)
    reference = get("dp").solve(problem, SolveOptions(threads=1))
    assert problem.objective(counts.counts) == reference.objective == made.provenance.solve.objective
    with pytest.raises(pgsr.BudgetError):
        pgsr.release(query, truth, ledger=ledger, rng=pgsr.SeededBits(seed))
