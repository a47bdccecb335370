"""Runs of the families inequality and sae, in this process: what they fill in, and that it is right."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from pgsr.bench.run_inequality import check_name, income_case, run_inequality
from pgsr.bench.run_sae import run_sae, survey_case
from pgsr.bench.task import Task
from pgsr.errors import InputError
from pgsr.inequality.indices import mld


def task(family: str, instance: str, method: str, **changes) -> Task:
    about = {
        "suite": "s",
        "key": f"{instance} {method} {changes}",
        "family": family,
        "instance": instance,
        "method": method,
        "model": None,
        "noise": None,
        "epsilon": None,
        "rho": None,
        "seed": 1,
        "releases": 1,
        "time_limit_s": 60.0,
        "grace_s": 20.0,
        "build_limit_s": 60.0,
        "memory_limit_gb": 4.0,
        "threads": 1,
        "base": "",
    }
    return Task(**(about | changes))


def done(work, asked: Task) -> dict:
    said: list[dict] = []
    row = work(asked, said.append)
    assert said[1] == {}
    return said[0] | row


def index(method: str, **changes) -> dict:
    asked = {"model": "mld", "epsilon": "1", "releases": 40} | changes
    return done(run_inequality, task("inequality", "population:n=2000", method, **asked))


def test_errors_are_those_of_the_released_values() -> None:
    one = index("ladder", releases=1)
    case = income_case("population:n=2000", 1, Path())
    assert one["truth"] == pytest.approx(mld(case.x), rel=1e-12)
    assert one["error"] == pytest.approx(abs(one["estimate"] - one["truth"]))
    assert one["entries"] == 2000
    assert one == index("ladder", releases=1) | {"solve_s": one["solve_s"]}


def test_noise_that_fits_the_data_beats_global_noise_and_a_private_bound_costs_little_more() -> None:
    ladder, laplace = index("ladder")["error"], index("laplace")["error"]
    assert 3 * ladder < laplace
    assert index("ladder", epsilon="8")["error"] < ladder
    private = index("ladder:private", epsilon="4")
    assert private["error"] < laplace
    assert private["estimate"] != index("ladder", epsilon="4")["estimate"]


def test_each_seed_has_a_sample_and_each_release_draws_of_its_own() -> None:
    a, b = index("ladder"), index("ladder", seed=2)
    assert a["fingerprint"] != b["fingerprint"]
    assert a["truth"] != b["truth"]
    assert index("cauchy")["fingerprint"] == a["fingerprint"]


def test_bounds_in_the_name_are_taken() -> None:
    assert income_case("population:n=50,upper=2000", 1, Path()).upper == 2000.0
    with pytest.raises(InputError):
        check_name("population:n=50,upper=2000,lower=3")


def area(method: str, **changes) -> dict:
    return done(run_sae, task("sae", "brfss-like", method, **changes))


def test_methods_of_equal_rho_cost_the_same() -> None:
    draw = area("draw", rho="draw")
    assert draw["rho"] > 0
    for method in ("reshrunk", "noisy-direct", "three-stage"):
        assert area(method, rho="draw")["rho"] == pytest.approx(draw["rho"], rel=1e-9), method
    assert area("direct")["rho"] is None
    assert area("predictor")["rho"] is None
    for method in ("draw", "noisy-direct", "three-stage"):
        cost = area(method, rho="1/10")["rho"]
        assert 0.099 < cost <= 0.1 * (1 + 1e-8), method


METHODS = ("direct", "predictor", "draw", "reshrunk", "noisy-direct")


@pytest.fixture(scope="module")
def surveys() -> dict[str, list[dict]]:
    return {method: [area(method, rho="draw", seed=seed) for seed in range(1, 9)] for method in METHODS}


def test_errors_are_ordered_as_theory_says(surveys) -> None:
    """Over eight surveys: the predictor is best, then noisy estimates and the draw; direct ones are worst."""
    mean = {method: np.mean([row["error"] for row in rows]) for method, rows in surveys.items()}
    assert mean["predictor"] < mean["noisy-direct"] < mean["draw"]
    assert mean["reshrunk"] < mean["draw"] < mean["direct"]


def test_intervals_cover_about_what_they_say(surveys) -> None:
    for method, rows in surveys.items():
        assert 0.90 < np.mean([row["coverage"] for row in rows]) < 0.99, method


def test_public_variances_are_those_of_the_estimates() -> None:
    """Over surveys: mean squared errors of the direct estimates against the public sampling variances."""
    ratios = []
    for seed in range(1, 9):
        case = survey_case("brfss-like", seed)
        ratios.append(np.mean((case.direct - case.truth) ** 2) / np.mean(case.variance))
    assert 0.7 < np.mean(ratios) < 1.3
