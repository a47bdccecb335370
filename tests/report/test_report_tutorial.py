"""Pictures of the tutorial: they show the optimum, and come out the same again."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from pgsr.report import tutorial

pytest.importorskip("matplotlib", reason="pictures need matplotlib (extra report)")


def test_the_cost_tables_lead_to_the_published_table() -> None:
    exact = tutorial.published()
    problem = tutorial.example()
    tables = [tutorial.costs(size)[0] for size in (1, 2, 3)]
    places = [v for v in itertools.product(range(tutorial.TOTAL + 1), repeat=3) if sum(v) == tutorial.TOTAL]
    cheapest = min(sum(int(t[v]) for t, v in zip(tables, place, strict=True)) for place in places)
    assert problem.objective(exact) == cheapest == 15
    np.testing.assert_array_equal(exact[0], exact[1] + exact[2])


def test_the_pictures_come_out_the_same_again(tmp_path, capsys) -> None:
    for name in ("one", "two"):
        tutorial.main(["--out", str(tmp_path / name)])
    assert capsys.readouterr().out.count("\n") == 8
    for path in (tmp_path / "one").iterdir():
        assert path.read_bytes() == (tmp_path / "two" / path.name).read_bytes()
