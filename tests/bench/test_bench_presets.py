"""Generated instances: the promised shapes, reproducible, and files that the other commands take."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from pgsr.bench.presets import PRESETS, generate, write
from pgsr.bench.trees import CENSUS_2020, household_shares
from pgsr.config import load_config
from pgsr.counts import GroupSizes
from pgsr.errors import InputError
from pgsr.hierarchy import Hierarchy
from pgsr.models.files import read_instance
from pgsr.solvers.base import SolveOptions
from pgsr.solvers.registry import select
from pgsr.tables import read_table

SMALL = {"us": 0.0005, "taxi-like": 0.02, "uniform": 0.03, "chain": 0.05, "star": 0.002}


@pytest.mark.parametrize("preset", sorted(PRESETS))
@pytest.mark.parametrize("model", ["hierarchical", "cumulative"])
def test_same_seed_same_instance(preset, model):
    scale = SMALL.get(preset, 0.05)
    first = generate(preset, model=model, scale=scale, sizes=4, seed=7)
    again = generate(preset, model=model, scale=scale, sizes=4, seed=7)
    assert np.array_equal(first.noisy, again.noisy)
    assert first.truth.hierarchy.digest() == again.truth.hierarchy.digest()
    assert not first.truth.check()
    assert first.instance().problem.cumulative == (model == "cumulative")
    if preset != "ties":
        other = generate(preset, model=model, scale=scale, sizes=4, seed=8)
        assert not np.array_equal(first.truth.counts[0], other.truth.counts[0])


def test_us_has_the_promised_regions():
    tree = generate("us", scale=0.01).truth.hierarchy
    assert np.diff(tree.level_start).tolist() == [1, 51, 314, 8441, 23978, 81330]
    assert tree.regions == 114_115
    assert sum(CENSUS_2020) == 8_460_357


def test_household_shares():
    shares = household_shares(9)
    assert shares.sum() == pytest.approx(1)
    assert shares[7] / shares[8] == pytest.approx(2)
    assert shares[0] / shares[1] == pytest.approx(28 / 34)


@pytest.mark.parametrize(("model", "scale"), [("hierarchical", 8), ("cumulative", 4)])
def test_noise_has_the_promised_scale(model, scale):
    """Mean absolute value of discrete Laplace noise: 1 / sinh(1 / scale), with 4 levels and epsilon 1."""
    made = generate("uniform", model=model, scale=1.0)
    truth = made.truth.cumulative() if model == "cumulative" else made.truth.counts
    noise = made.noisy - truth
    expected = 1 / np.sinh(1 / scale)
    assert np.abs(noise).mean() == pytest.approx(expected, rel=0.05)
    assert abs(noise.mean()) < 0.3


@pytest.mark.parametrize("preset", sorted(set(PRESETS) - {"us"}))
def test_presets_are_solved_to_proven_optimality(preset):
    problem = generate(preset, scale=SMALL.get(preset, 0.05)).instance().problem
    solution = select(problem).solve(problem, SolveOptions())
    assert solution.certificate is True
    assert max(solution.violations.values()) == 0


@pytest.mark.parametrize("persons", [True, False])
def test_microdata_count_up_to_the_truth(persons, tmp_path):
    made = generate("uniform", scale=0.03, sizes=4, epsilon=Fraction(1, 2), seed=2)
    write(made, tmp_path / "data", "persons" if persons else "units")
    config = load_config(tmp_path / "data" / "release.toml")
    tree = config.hierarchy.build()
    assert tree.digest() == made.truth.hierarchy.digest()
    if persons:
        counts = GroupSizes.from_persons(
            tmp_path / "data" / "persons.parquet",
            tree,
            made.truth.sizes,
            z="z",
            frame=tmp_path / "data" / "units.parquet",
        )
    else:
        counts = GroupSizes.from_units(
            tmp_path / "data" / "units.parquet", tree, made.truth.sizes, unit="unit"
        )
    assert np.array_equal(counts.counts, made.truth.counts)


def test_instance_files(tmp_path):
    made = generate("uniform", scale=0.03, seed=1)
    for name in ("x.json", "folder"):
        write(made, tmp_path / name)
        back = read_instance(tmp_path / name)
        assert np.array_equal(back.problem.target, made.noisy)
        assert isinstance(back.hierarchy, Hierarchy)
    assert read_table(tmp_path / "folder" / "regions.parquet").rows == made.truth.hierarchy.regions


@pytest.mark.parametrize(
    ("preset", "options", "message"),
    [
        ("mars", {}, "unknown preset"),
        ("uniform", {"scale": 0}, "scale"),
        ("uniform", {"scale": float("nan")}, "scale"),
        ("uniform", {"sizes": 0}, "sizes"),
        ("uniform", {"epsilon": Fraction(0)}, "epsilon"),
        ("uniform", {"seed": -1}, "seed"),
        ("uniform", {"model": "other"}, "unknown model"),
    ],
)
def test_bad_options(preset, options, message):
    with pytest.raises(InputError, match=message):
        generate(preset, **options)


def test_too_much_microdata_is_refused(tmp_path):
    made = generate("huge", scale=0.05, sizes=3)
    with pytest.raises(InputError, match="lower --scale"):
        write(made, tmp_path / "data", "persons")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(InputError, match="unknown kind"):
        write(made, tmp_path / "data", "rows")
