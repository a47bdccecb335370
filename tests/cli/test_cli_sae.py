"""`sae`: fit, guarantee, levers, release; vectors, ledger, variance modes, refusals, failures."""

from __future__ import annotations

import csv
import json
import re
import shlex
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from pgsr.ledger import Ledger
from pgsr.mechanism import Release
from pgsr.sae import AreaGuarantees, Posterior, confidential_fit

TOY = {
    "area": ["a", "b", "c", "d", "e", "f"],
    "y": [0.30, 0.45, 0.25, 0.60, 0.10, 0.50],
    "D": [0.04, 0.09, 0.16, 0.25, 0.36, 0.49],
    "delta": [0.05, 0.08, 0.10, 0.12, 0.15, 0.20],
    "x": [-1, 0, 1, 2, -2, 0.5],
}
PUBLIC = ("--variance", "D", "--sensitivity", "delta", "--model-variance", 0.1)
FILES = ["areas.csv", "areas.parquet", "draws.parquet", "guarantee.json", "provenance.json"]

# A share in 8 areas, with so many digits that no other number begins with them by chance.
SHARES = [
    0.1371582917,
    0.2083619481,
    0.1597284713,
    0.0911827357,
    0.3173618273,
    0.2239518471,
    0.1153728197,
    0.1867391847,
]
CONFIDENTIAL = tuple(str(share) for share in SHARES)
SURVEY = {
    "area": [f"0{k}" for k in range(1, 9)],
    "y": SHARES,
    "D": [0.0006, 0.0008, 0.0010, 0.0012, 0.0014, 0.0016, 0.0018, 0.0020],
    "delta": [0.010, 0.011, 0.012, 0.013, 0.014, 0.015, 0.016, 0.017],
    "x": [0.2, 0.3, 0.25, 0.1, 0.5, 0.4, 0.15, 0.35],
    "W": [9000, 8000, 7000, 6000, 5000, 4000, 3000, 2000],
    "kish": [0.004, 0.005, 0.006, 0.007, 0.008, 0.009, 0.010, 0.011],
    "n": [400, 350, 300, 250, 200, 150, 120, 100],
    "hole": [0.1, "", 0.2, 0.3, 0.4, 0.5, 0.6, 0.7],
}
JOINT = {
    "kind": "joint",
    "variances": "public",
    "source": "an earlier survey",
    "model_variance": 0.004,
}
STAGES = {
    "kind": "joint",
    "variances": "dp",
    "rho_p": "1/1000",
    "rho_b": "1/20",
    "rho_a": "1/20",
    "rho_draw": "1/5",
    "clip": 0.3,
    "reference": 0.004,
    "clamp": [0.05, 0.5],
}
WEIGHTS = {"variance": None, "weight_total": "W", "kish": "kish"}


def write(name: str, columns: dict[str, list]) -> str:
    with Path(name).open("w", newline="", encoding="utf-8") as stream:
        table = csv.writer(stream)
        table.writerow(columns)
        table.writerows(zip(*columns.values(), strict=True))
    return name


@pytest.fixture
def toy() -> str:
    return write("toy.csv", TOY)


@pytest.fixture
def survey(run) -> str:
    """Eight areas, and a ledger of rho 1."""
    made = run("ledger", "create", "ledger.jsonl", "--rho", "1", "--neighbours", "substitute")
    assert made.code == 0
    return write("survey.csv", SURVEY)


def toml(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else json.dumps(value)


def config(release: dict, areas: dict | None = None, privacy: dict | None = None) -> str:
    """Write a configuration; a key that is None is left out."""
    parts = {
        "areas": {
            "file": "survey.csv",
            "direct": "y",
            "sensitivity": "delta",
            "variance": "D",
            "covariates": ["x"],
            **(areas or {}),
        },
        "release": release,
        "privacy": {"ledger": "ledger.jsonl", **(privacy or {})},
    }
    lines = []
    for part, keys in parts.items():
        lines += [
            f"[{part}]",
            *(f"{key} = {toml(value)}" for key, value in keys.items() if value is not None),
        ]
    Path("release.toml").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return "release.toml"


def spent() -> Fraction:
    rho = Ledger.open("ledger.jsonl").spent.rho
    assert rho is not None
    return rho


# --- direct


def records(n: int = 60) -> dict[str, list]:
    rows = range(1, n + 1)
    return {
        "area": ["all"] * n,
        "sick": [int(7 * i % 5 < 2) for i in rows],
        "w": [10 + 13 * i % 17 for i in rows],
    }


@pytest.mark.parametrize(
    ("method", "variance"),
    [
        ("taylor", 0.00443936860099150),
        ("taylor-domains", 0.00443936860099150),
        ("sdr", 0.00699811521826105),
        ("jk1", 0.00446133308737513),
    ],
)
def test_direct_estimates_are_those_of_the_survey_package(run, method, variance) -> None:
    words = ("sae", "direct", write("records.csv", records()), "--outcome", "sick", "--weight", "w")
    found = run(*words, "--method", method, "--out", "areas.csv", "--json").record
    (row,) = found["areas"]
    assert (found["confidential"], found["records"], found["variance"]) == (True, 60, method)
    assert row["y"] == pytest.approx(0.4118190212373038, abs=1e-14)
    assert row["D"] == pytest.approx(variance, rel=1e-12)
    assert row["delta"] == pytest.approx(0.0240073868882733, abs=1e-15)
    with Path("areas.csv").open(encoding="utf-8") as stream:
        (read,) = csv.DictReader(stream)
    assert {name: read[name] for name in read} == {name: str(row[name]) for name in row}
    run(*words, "--out", "areas.csv").refused("exists already", "areas.csv")


def test_a_public_prevalence_gives_variances_that_are_public(run) -> None:
    rows = {
        "area": ["b", "a", "a", "b", "b"],
        "sick": [0, 0, 0, 0, 0],
        "w": [1, 2, 2, 1, 2],
        "home": ["p", "q", "q", "r", "r"],
    }
    words = ("sae", "direct", write("records.csv", rows), "--outcome", "sick", "--weight", "w")
    found = run(*words, "--prevalence", 0.2, "--household", "home", "--out", "p.csv", "--json").record
    first, second = found["areas"]
    assert (found["variance"], found["without_variance"]) == ("public", 0)
    assert (first["area"], first["D"], first["delta"]) == ("a", pytest.approx(0.16 / 2), 1)
    assert (second["area"], second["D"]) == ("b", pytest.approx(0.16 * 6 / 16))
    assert (second["delta"], second["n"], second["weight_total"]) == (0.75, 3, 4)
    assert (second["ratio"], second["kish"]) == (pytest.approx(1.5), pytest.approx(6 / 16))
    assert "Mind: D is 0 in 2 areas" in run(*words, "--out", "estimated.csv").out
    assert run("sae", "fit", "p.csv", "--direct", "y", "--variance", "D", "--json").code == 0
    fit = run("sae", "fit", "estimated.csv", "--direct", "y", "--variance", "D")
    fit.refused("not above 0", "estimated.csv, column 'D', line 2")


def test_strata_and_sampling_units_are_those_of_the_file(run) -> None:
    # u = (Y - 1/2)/4 is 1/8 or -1/8. Two strata of two units each: each adds 2 (1/8^2 + 1/8^2).
    rows = {
        "area": ["a"] * 4,
        "sick": [1, 0, 1, 0],
        "w": [1] * 4,
        "stratum": ["p", "p", "q", "q"],
        "unit": ["1", "2", "1", "2"],
    }
    words = ("sae", "direct", write("records.csv", rows), "--outcome", "sick", "--weight", "w", "--json")
    found = run(*words, "--strata", "stratum", "--psu", "unit", "--out", "both.csv").record
    assert found["areas"][0]["D"] == pytest.approx(2 * 2 * 2 * (1 / 8) ** 2)
    found = run(*words, "--psu", "stratum", "--out", "units.csv").record
    assert found["areas"][0]["D"] == 0
    found = run(*words, "--psu", "unit", "--out", "one.csv").record
    assert found["areas"][0]["D"] == pytest.approx(2 * 2 * (1 / 4) ** 2)


@pytest.mark.parametrize(
    ("changed", "words", "said"),
    [
        ({"w": [1, 0, 1]}, (), ("not above 0", "column 'w', line 3")),
        ({"sick": [0, 0.5, 1]}, (), ("an outcome is not 0 or 1", "column 'sick', line 3", "public range")),
        (
            {"sick": [0, 3, 1]},
            ("--lower", 0, "--upper", 2),
            ("outside the public range", "column 'sick', line 3"),
        ),
        ({}, ("--lower", 0), ("--lower, --upper",)),
        ({}, ("--prevalence", 1), ("--prevalence",)),
        (
            {"area": ["a", "a", "b"]},
            (),
            ("single primary sampling unit", "area 'b'", "--single-psu certainty"),
        ),
        ({"area": ["a", "", "b"]}, (), ("missing", "column 'area', line 3")),
        (
            {"area": ["a", "b", "b"]},
            ("--prevalence", 0.2, "--household", "home"),
            ("a household in two areas", "column 'home', line 3"),
        ),
    ],
)
def test_direct_estimates_refuse_what_they_cannot_use(run, changed, words, said) -> None:
    rows = {"area": ["a"] * 3, "sick": [0, 1, 1], "w": [1, 1, 2], "home": ["p", "p", "q"], **changed}
    given = ("--outcome", "sick", "--weight", "w", "--out", "areas.csv")
    run("sae", "direct", write("records.csv", rows), *given, *words).refused(*said)
    assert not Path("areas.csv").exists()


# --- fit


def test_a_fit_gives_the_numbers_of_the_small_example(run, toy) -> None:
    words = ("sae", "fit", toy, "--direct", "y", "--variance", "D", "--model-variance", 0.1)
    found = run(*words, "--json").record
    assert found["confidential"] is True
    assert (found["area"], found["columns"], found["method"]) == (TOY["area"], ["intercept"], "known")
    assert found["beta"] == pytest.approx([0.35912181268436116], abs=1e-14)
    assert found["eblup"][0] == pytest.approx(0.316891946481246, abs=1e-14)
    assert found["posterior_variance"][0] == pytest.approx(0.032124050886553776, abs=1e-14)
    shown = run(*words).out
    assert shown.startswith("CONFIDENTIAL")
    assert max(map(len, shown.splitlines())) <= 80


@pytest.mark.parametrize("method", ["reml", "ml", "fh", "pr"])
def test_a_fit_is_that_of_the_library(run, survey, method) -> None:
    words = ("--direct", "y", "--variance", "D", "--covariates", "x", "--method", method, "--json")
    found = run("sae", "fit", survey, *words).record
    design = np.column_stack([np.ones(8), SURVEY["x"]])
    fit = confidential_fit(np.array(SHARES), np.array(SURVEY["D"]), design, method=method)
    assert found["model_variance"] == pytest.approx(fit.model_variance.value, rel=1e-12)
    assert found["beta"] == pytest.approx(fit.beta.tolist(), rel=1e-12)
    assert found["eblup"] == pytest.approx(fit.eblup.tolist(), rel=1e-12)
    assert found["mse"] == pytest.approx(fit.mse.tolist(), rel=1e-12)
    assert found["predicted"] == []


def test_without_an_intercept_the_design_has_the_covariates_alone(run, toy) -> None:
    words = ("--direct", "y", "--variance", "D", "--covariates", "x", "--no-intercept", "--json")
    found = run("sae", "fit", toy, *words).record
    assert (found["columns"], len(found["beta"])) == (["x"], 1)


def test_areas_out_of_the_sample_are_predicted(run) -> None:
    y, d = [*TOY["y"][:2], "", *TOY["y"][3:]], [*TOY["D"][:2], "", *TOY["D"][3:]]
    file = write("holes.csv", {**TOY, "y": y, "D": d})
    words = ("sae", "fit", file, "--direct", "y", "--variance", "D", "--covariates", "x")
    run(*words).refused("missing value", "holes.csv, column 'y', line 4", "--out-of-sample")
    found = run(*words, "--out-of-sample", "--json").record
    keep = [0, 1, 3, 4, 5]
    x = np.column_stack([np.ones(6), TOY["x"]])
    fit = confidential_fit(np.array(TOY["y"])[keep], np.array(TOY["D"])[keep], x[keep])
    mean, mse = fit.predict(x[2:3])
    assert found["area"] == ["a", "b", "d", "e", "f"]
    assert found["predicted"] == [{"area": "c", "mean": pytest.approx(mean[0]), "mse": pytest.approx(mse[0])}]
    assert "area without estimate" in run(*words, "--out-of-sample").out


@pytest.mark.parametrize(
    ("changed", "words", "said"),
    [
        ({"D": [0.04, 0, 0.16, 0.25, 0.36, 0.49]}, (), ("not above 0", "column 'D', line 3", "floor")),
        ({"D": [0.04, 0.1, -1, 0.25, 0.36, 0.49]}, (), ("not above 0", "column 'D', line 4")),
        ({"D": [0.04, 0.1, "", 0.25, 0.36, 0.49]}, (), ("missing value", "column 'D', line 4")),
        ({"y": [0.3, "about 777", 0.2, 0.6, 0.1, 0.5]}, (), ("not a number", "column 'y', line 3")),
        ({"y": [0.3, "nan", 0.2, 0.6, 0.1, 0.5]}, (), ("not a number", "column 'y', line 3")),
        ({"y": [0.3, "1e17", 0.2, 0.6, 0.1, 0.5]}, (), ("magnitude above 2^53", "line 3")),
        ({"area": ["a", "b", "a", "d", "e", "f"]}, (), ("area 'a' twice", "column 'area', line 4")),
        ({}, ("--covariates", "z"), ("no column 'z'", "toy.csv")),
        ({}, ("--covariates", "x,x"), ("two columns called 'x'", "--covariates")),
        ({}, ("--covariates", "x,"), ("an empty name", "--covariates")),
        ({}, ("--covariates", "x,delta,two"), ("linearly dependent", "x", "two")),
        ({}, ("--no-intercept",), ("neither covariates nor an intercept", "--covariates")),
        ({}, ("--model-variance", "-1"), ("not a finite number of at least 0", "--model-variance")),
        ({}, ("--area", "place"), ("no column 'place'",)),
    ],
)
def test_a_fit_refuses_what_it_cannot_use(run, changed, words, said) -> None:
    columns = {**TOY, "two": [2 * value for value in TOY["x"]], **changed}
    done = run("sae", "fit", write("toy.csv", columns), "--direct", "y", "--variance", "D", *words)
    done.refused(*said)
    assert "777" not in done.err


ASKED = {
    "fit": ("--direct", "y", "--variance", "D"),
    "guarantee": ("--direct", "y", *PUBLIC),
    "levers": ("--direct", "y", *PUBLIC),
}


@pytest.mark.parametrize(
    ("command", "words", "option"),
    [
        ("fit", ("--covariates", "x,y"), "--covariates"),
        ("fit", ("--variance", "y"), "--variance"),
        ("guarantee", ("--covariates", "y"), "--covariates"),
        ("guarantee", ("--sensitivity", "y"), "--sensitivity"),
        ("guarantee", ("--area", "y"), "--area"),
        ("levers", ("--variance", "y"), "--variance"),
        ("levers", ("--counts", "y", "--kish", "x"), "--counts"),
        ("levers", ("--counts", "x", "--kish", "y"), "--kish"),
        ("levers", ("--features", "D,y"), "--features"),
        ("levers", ("--weights", "./toy.csv", "--weight", "y", "--bias", "0.1"), "--weight"),
    ],
)
def test_the_confidential_column_is_no_public_one(run, toy, command, words, option) -> None:
    assert run("sae", command, toy, *ASKED[command]).code == 0
    done = run("sae", command, toy, *ASKED[command], *words)
    done.refused("column 'y' is confidential", f": {option}:", "a column that is public")


@pytest.mark.parametrize("option", ["weight", "area", "strata", "psu", "household"])
def test_an_outcome_is_nothing_else_of_its_record(run, option) -> None:
    write("records.csv", records())
    given = {"weight": "w", option: "sick"}
    words = [part for name, column in given.items() for part in (f"--{name}", column)]
    done = run("sae", "direct", "records.csv", "--outcome", "sick", "--out", "made.csv", *words)
    done.refused("column 'sick' is confidential", f"--{option}")


def test_direct_estimates_are_written_in_full_precision(run) -> None:
    """Noisy direct estimates need them to 2^-20 of a sensitivity."""
    write("records.csv", records())
    words = ("--outcome", "sick", "--weight", "w", "--out", "made.csv", "--json")
    found = run("sae", "direct", "records.csv", *words).record["areas"][0]["y"]
    w, sick = (np.array(records()[name]) for name in ("w", "sick"))
    assert found == pytest.approx((w * sick).sum() / w.sum(), rel=1e-15)
    with Path("made.csv").open(encoding="utf-8") as stream:
        assert float(next(csv.DictReader(stream))["y"]) == found
    assert run("sae", "example", "--out", "areas").code == 0
    with Path("areas/areas.csv").open(encoding="utf-8") as stream:
        assert all(len(row["y"]) > 16 and repr(float(row["y"])) == row["y"] for row in csv.DictReader(stream))


def test_too_few_areas_are_refused(run) -> None:
    file = write("one.csv", {name: column[:1] for name, column in TOY.items()})
    run("sae", "fit", file, "--direct", "y", "--variance", "D").refused("too few areas", "one.csv")
    file = write("none.csv", {name: [] for name in TOY})
    run("sae", "fit", file, "--direct", "y", "--variance", "D").refused("no rows", "none.csv")


# --- guarantee


def test_a_guarantee_gives_the_numbers_of_the_small_example(run, toy) -> None:
    words = ("sae", "guarantee", toy, "--direct", "y", *PUBLIC)
    found = run(*words, "--json").record
    assert found["rho_joint"] == pytest.approx(0.02509691475512014, abs=1e-15)
    assert found["rho_marginals"] == pytest.approx(0.02825772444475698, abs=1e-15)
    assert found["a_free"] == pytest.approx(0.040816326530612256, abs=1e-15)
    posterior = Posterior(variance=np.array(TOY["D"]), model_variance=0.1)
    library = AreaGuarantees(posterior=posterior, sensitivity=np.array(TOY["delta"]))
    assert found["rho_area"] == pytest.approx(library.area.tolist(), abs=1e-15)
    assert found["rho_sum"] == pytest.approx(sum(found["rho_area"]), abs=1e-14)
    assert found["delta"] == 1e-7
    assert found["epsilon_exact"] == pytest.approx(library.epsilon(1e-7), rel=1e-12)
    assert found["epsilon_simple"] == pytest.approx(library.epsilon(1e-7, exact=False), rel=1e-12)
    assert found["epsilon_exact"] < found["epsilon_simple"]
    assert (found["conditional"], found["warnings"]) == (False, [])
    shown = run(*words).out
    assert max(map(len, shown.splitlines())) <= 80

    sloped = run(*words, "--covariates", "x", "--json").record
    assert sloped["rho_joint"] == pytest.approx(0.026936040729921996, abs=1e-15)
    assert sloped["rho_marginals"] == pytest.approx(0.03004926456793949, abs=1e-15)


def test_a_guarantee_reads_no_estimate(run) -> None:
    file = write("toy.csv", {**TOY, "y": ["secret"] * 6})
    found = run("sae", "guarantee", file, "--direct", "y", *PUBLIC, "--json").record
    assert found["rho_joint"] == pytest.approx(0.02509691475512014)
    run("sae", "guarantee", file, "--direct", "z", *PUBLIC).refused("no column 'z'")


def test_delta_draws_and_a_common_sensitivity(run, toy) -> None:
    words = ("sae", "guarantee", toy, "--variance", "D", "--sensitivity", "0.05", "--model-variance", 0.1)
    one = run(*words, "--json").record
    assert one["a_free"] == pytest.approx(0.05**2 / 0.08)
    ten = run(*words, "--draws", 10, "--records", 123456, "--json").record
    assert ten["delta"] == 1e-6
    assert ten["rho_draws"] == pytest.approx(10 * one["rho_joint"])
    assert ten["rho_joint"] == one["rho_joint"]
    assert ten["epsilon_exact"] > one["epsilon_exact"]
    assert run(*words, "--delta", 0.01, "--json").record["delta"] == 0.01
    run(*words, "--delta", 2).refused("delta", "--delta")
    run(*words, "--draws", 0).refused("--draws")
    run(*words, "--records", 0).refused("--records")


def test_a_guarantee_for_estimated_variances_says_that_it_is_none(run, toy) -> None:
    words = ("sae", "guarantee", toy, *PUBLIC, "--variances", "invariant")
    found = run(*words, "--json").record
    assert found["conditional"] is True
    assert found["assumptions"][0].startswith("Conditional figure, not a DP guarantee for these data:")
    assert run(*words).out.startswith("CONDITIONAL: not a DP guarantee")


def test_tiny_variances_are_never_silent(run) -> None:
    file = write("toy.csv", {**TOY, "D": [1e-6, *TOY["D"][1:]]})
    found = run("sae", "guarantee", file, *PUBLIC, "--json").record
    assert found["joint_area"] == "a"
    assert any("rho is above 1 in 1 of 6 areas, largest in 'a'" in text for text in found["warnings"])
    assert "Mind: rho is above 1" in run("sae", "guarantee", file, *PUBLIC).out


@pytest.mark.parametrize(
    ("sensitivity", "said"),
    [
        ("-0.1", ("not above 0", "--sensitivity")),
        ("inf", ("not above 0", "--sensitivity")),
        ("nan", ("no column 'nan'",)),
        ("width", ("no column 'width'", "delta")),
        ("x", ("not above 0", "column 'x', line 2")),
    ],
)
def test_a_sensitivity_is_a_column_or_a_positive_number(run, toy, sensitivity, said) -> None:
    given = ("--variance", "D", "--sensitivity", sensitivity, "--model-variance", 0.1)
    run("sae", "guarantee", toy, *given).refused(*said)


def test_areas_without_labels_are_counted(run) -> None:
    file = write("bare.csv", {name: column for name, column in TOY.items() if name != "area"})
    assert run("sae", "guarantee", file, *PUBLIC, "--json").record["area"] == list("123456")


# --- levers


def test_levers_on_the_model(run, toy) -> None:
    words = ("sae", "levers", toy, *PUBLIC, "--rho", 0.01, "--etas", "0,1", "--factors", "1,2")
    found = run(*words, "--json").record
    assert found["rho_joint"] == pytest.approx(0.02509691475512014)
    same, more = found["robustness"]
    assert same["joint"] == pytest.approx(found["rho_joint"])
    assert more["joint"] > same["joint"]
    once, twice = found["sample_size"]
    assert once["joint"] == pytest.approx(found["rho_joint"])
    assert twice["free"] == pytest.approx(once["free"] / 2)
    floor, delta = found["floor"], np.array(TOY["delta"])
    for name, tight in (("any_model", False), ("this_model", True)):
        floored = np.array(floor[name])
        assert (floored >= TOY["D"]).all()
        costs = AreaGuarantees(posterior=Posterior(variance=floored, model_variance=0.1), sensitivity=delta)
        assert costs.joint <= 0.01 * (1 + 1e-9)
        assert tight == (costs.joint > 0.0099)
    assert found["mean_mse"]["reshrunk"] < found["mean_mse"]["draw"]
    assert [found[name] for name in ("equal_weights", "regression", "trimming")] == [None] * 3
    shown = run(*words).out
    assert max(map(len, shown.splitlines())) <= 80


def test_levers_on_weights(run, survey) -> None:
    weights = {"area": ["01"] * 5 + ["02"] * 5, "weight": [1, 1, 1, 1, 6, 2, 2, 2, 2, 2]}
    words = (
        *("sae", "levers", survey, "--variance", "D", "--sensitivity", "delta", "--model-variance", 0.004),
        *("--counts", "n", "--kish", "kish", "--features", "n", "--covariates", "x"),
        *("--weights", write("weights.csv", weights), "--bias", 0.1),
    )
    found = run(*words, "--json").record
    # Area 01 has mean 2: capped at 2 t, its share above is (6 - 2 t)/10, which is 0.1 at t = 2.5.
    assert found["trimming"]["ratio"] == pytest.approx(2.5)
    first, second = found["trimming"]["areas"]
    assert (first["area"], first["bias_bound"]) == ("01", pytest.approx(0.1))
    assert first["sensitivity_after"] == pytest.approx(0.5)
    assert second["bias_bound"] == 0
    equal = found["equal_weights"]
    assert equal["rho_fixed"][0] == pytest.approx(equal["rho"][0] * (1 / 400 / 0.010) ** 2)
    assert [row["term"] for row in found["regression"]] == ["intercept", "n"]
    shown = run(*words).out
    assert "capped at 2.5 times their mean" in shown
    assert max(map(len, shown.splitlines())) <= 80
    run(*words, "--only", "99").refused("unknown area '99'", "--only")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--counts", "n"), ("--counts, --kish",)),
        (("--bias", 0.1), ("--weights, --bias",)),
        (("--only", "01"), ("--only",)),
        (("--rho", 0), ("--rho",)),
        (("--etas", "much"), ("not a list of numbers", "--etas")),
        (("--etas", "-2"), ("--etas",)),
        (("--factors", "0"), ("--factors",)),
        (("--features", "y,none"), ("no column 'none'",)),
        (("--counts", "n", "--kish", "W"), ("above 1", "column 'W', line 2")),
    ],
)
def test_levers_refuse_what_they_cannot_use(run, survey, words, said) -> None:
    given = ("--variance", "D", "--sensitivity", "delta", "--model-variance", 0.004)
    run("sae", "levers", survey, *given, *words).refused(*said)


# --- release


def test_a_joint_draw_is_charged_and_written(run, survey) -> None:
    planned = run("sae", "release", config(JOINT), "--dry-run", "--json").record
    assert (planned["dry_run"], planned["suffices"], planned["areas"], spent()) == (True, True, None, 0)
    design = np.column_stack([np.ones(8), SURVEY["x"]])
    posterior = Posterior(variance=np.array(SURVEY["D"]), model_variance=0.004, design=design)
    joint = AreaGuarantees(posterior=posterior, sensitivity=np.array(SURVEY["delta"])).joint
    cost = Fraction(planned["cost"]["rho"])
    assert joint <= cost <= joint * (1 + 1e-6)
    assert planned["mean_mse"]["noisy_direct"] < planned["mean_mse"]["draw"]

    done = run("sae", "release", "release.toml", "--out", "out", "--json")
    found = done.record
    assert sorted(path.name for path in Path("out").iterdir()) == FILES
    assert not Path("out.measured").exists()
    assert spent() == cost == Fraction(found["cost"]["rho"])
    assert [row["area"] for row in found["areas"]] == SURVEY["area"]
    made = Release.load("out")
    assert made.estimate.tables["areas"]["estimate"].tolist() == [row["estimate"] for row in found["areas"]]
    assert made.guarantee.text == found["guarantee"]["text"]
    assert found["guarantee"]["secure"] is True
    for row, sigma2 in zip(found["areas"], posterior.sigma2, strict=True):
        assert row["sd"] == pytest.approx(np.sqrt(2 * sigma2))
    said = done.out + "".join(Path("out", name).read_text() for name in FILES if "parquet" not in name)
    assert not [value for value in CONFIDENTIAL if value in said]

    run("sae", "release", "release.toml", "--out", "out").refused("exists already", "out")
    assert spent() == cost


def test_a_release_for_people(run, survey) -> None:
    assert "it suffices" in run("sae", "release", config(JOINT), "--dry-run").out
    shown = run("sae", "release", config(JOINT), "--out", "out").out
    assert shown.startswith("small areas: cost rho ")
    assert "written: out" in shown
    assert max(map(len, shown.splitlines())) <= 80


def test_an_overspend_is_refused_before_anything_is_drawn(run, survey) -> None:
    path = config({**JOINT, "draws": 100, "limit": 100})
    assert run("sae", "release", path, "--dry-run", "--json").record["suffices"] is False
    done = run("sae", "release", path, "--out", "out")
    assert done.code == 2
    assert spent() == 0
    assert not Path("out").exists()
    assert not Path("out.measured").exists()


@pytest.mark.parametrize("budget", [("--epsilon", "1", "--neighbours", "substitute"), ("--rho", "1")])
@pytest.mark.parametrize("words", [("--dry-run",), ("--out", "out")])
def test_a_ledger_of_another_kind_is_refused(run, survey, budget, words) -> None:
    Path("ledger.jsonl").unlink()
    assert run("ledger", "create", "ledger.jsonl", *budget).code == 0
    run("sae", "release", config(JOINT), *words).refused("--rho R --neighbours substitute --unit person")


def test_a_cost_above_the_limit_names_the_area(run, survey) -> None:
    done = run("sae", "release", config({**JOINT, "limit": "1/1000"}), "--dry-run")
    done.refused("above the limit", "survey.csv, area '")


def test_a_seeded_experiment_repeats_itself_and_says_so(run, survey) -> None:
    path = config(JOINT, privacy={"ledger": "none", "seed": 7})
    first = run("sae", "release", path, "--out", "one", "--json").record
    second = run("sae", "release", path, "--out", "two", "--json").record
    assert first["areas"] == second["areas"]
    assert (first["ledger"], first["guarantee"]["secure"]) == (None, False)
    assert "NOT PRIVATE" in run("sae", "release", path, "--dry-run").out


def test_marginals_cost_more_and_draws_add_up(run, survey) -> None:
    def cost(release: dict) -> Fraction:
        record = run("sae", "release", config(release), "--dry-run", "--json").record
        return Fraction(record["cost"]["rho"])

    one = cost(JOINT)
    assert cost({**JOINT, "draws": 3}) == 3 * one
    assert cost({**JOINT, "kind": "marginals"}) > one


def test_records_that_move_cost_more(run, survey) -> None:
    still = run("sae", "release", config(JOINT), "--dry-run", "--json").record
    moving = run("sae", "release", config(JOINT, {"moves": True}), "--dry-run", "--json").record
    ratio = Fraction(moving["cost"]["rho"]) / Fraction(still["cost"]["rho"])
    assert 1 < ratio <= 4
    assert moving["mean_mse"] is None


def test_new_areas_are_drawn_with_the_others_at_no_cost(run, survey) -> None:
    write("new.csv", {"area": ["98", "99"], "x": [0.2, 0.3]})
    found = run(*("sae", "release", config(JOINT, {"new_areas": "new.csv"}), "--out", "out", "--json")).record
    assert [row["area"] for row in found["areas"]] == [*SURVEY["area"], "98", "99"]
    without = run("sae", "release", config(JOINT), "--dry-run", "--json").record
    assert without["cost"] == found["cost"]
    write("new.csv", {"x": [0.2, 0.3]})
    run("sae", "release", config(JOINT, {"new_areas": "new.csv"}), "--dry-run").refused("new.csv", "labels")
    write("new.csv", {"area": ["09", "03"], "x": [0.3, 0.2]})
    run("sae", "release", config(JOINT, {"new_areas": "new.csv"}), "--dry-run").refused(
        "area '03' is among the areas already", "new.csv, column 'area', line 3"
    )


def test_three_stages_cost_the_sum_of_their_budgets(run, survey) -> None:
    found = run("sae", "release", config(STAGES, WEIGHTS), "--out", "out", "--json").record
    total = Fraction(1, 1000) + Fraction(1, 20) + Fraction(1, 20) + Fraction(1, 5)
    assert Fraction(found["cost"]["rho"]) == total == spent()
    given = {name: found["parameters"][name] for name in ("draws", "clip", "reference", "clamp", "weighting")}
    stated = {"clip": 0.3, "reference": 0.004, "clamp": [0.05, 0.5]}
    assert given == {"draws": 1, "weighting": "variance", **stated}
    assert {"variance", "floored"} <= set(found["areas"][0])
    assert found["stages"]["model_variance_upper"] > found["stages"]["model_variance"] >= 0
    assert {"coefficients.parquet", "stages.parquet"} <= {path.name for path in Path("out").iterdir()}


def test_a_release_without_a_model_variance_says_so(run, survey) -> None:
    for seed in range(30):
        path = config(STAGES, WEIGHTS, {"ledger": "none", "seed": seed})
        shown = " ".join(run("sae", "release", path, "--out", f"out{seed}").out.split())
        found = "Model variance of the draws: 0; of the intervals:" in shown
        assert "Model variance of the draws:" in shown
        assert ("Mind: no model variance was found" in shown) == found
        if found:
            return
    pytest.fail("no seed gives an estimate of 0")


def test_estimates_too_large_for_floating_point_cost_nothing(run, survey) -> None:
    """At 1e15 a draw of sensitivity 0.01 would show the estimates themselves."""
    far = {**SURVEY, "y": [1e15 + k / 8 for k in range(8)]}
    write("survey.csv", far)
    for release in (JOINT, {**JOINT, "kind": "marginals", "limit": 9}):
        done = run("sae", "release", config(release), "--out", "out")
        done.refused("too large for its sensitivity", "direct estimate of '01'", "lower end")
    invariant = {"kind": "joint", "variances": "invariant"}
    path = config(invariant, privacy={"ledger": "none"})
    run("sae", "release", path, "--out", "out").refused("too large for its sensitivity")
    assert spent() == 0
    assert not Path("out").exists()


def test_control_characters_in_labels_are_refused(run, survey) -> None:
    write("survey.csv", {**SURVEY, "area": [*SURVEY["area"][:7], "\x1b[2Jx"]})
    done = run("sae", "release", config(JOINT), "--dry-run")
    done.refused("control character in a code", "survey.csv, column 'area', line 9")
    assert "\x1b" not in done.err


def test_an_error_names_its_file_once(run, survey) -> None:
    write("survey.csv", {**SURVEY, "x": [*SURVEY["x"][:7], "much"]})
    done = run("sae", "release", config(JOINT), "--dry-run")
    done.refused("not a number", "survey.csv, column 'x', line 9")
    assert done.err.count("survey.csv") == 1


@pytest.mark.parametrize("variances", ["public", "dp"])
def test_noisy_direct_estimates_cost_their_rho(run, survey, variances) -> None:
    release = {"kind": "noisy-direct", "variances": variances, "rho": "1/4"}
    path = config(release, WEIGHTS if variances == "dp" else {})
    found = run("sae", "release", path, "--out", "out", "--json").record
    assert Fraction(found["cost"]["rho"]) == Fraction(1, 4) == spent()
    assert found["guarantee"]["sampler"] == "exact"
    assert len(found["areas"]) == 8


def test_a_conditional_release_goes_through_no_ledger(run, survey) -> None:
    release = {"kind": "joint", "variances": "invariant"}
    run("sae", "release", config(release), "--out", "out").refused("no ledger takes", "release.toml")
    path = config(release, privacy={"ledger": "none"})
    planned = run("sae", "release", path, "--dry-run", "--json").record
    assert (planned["conditional"], planned["cost"]) == (True, None)
    assert planned["guarantee"]["text"].startswith("Conditional figure, not a DP guarantee for these data:")
    found = run("sae", "release", path, "--out", "out", "--json").record
    assert (found["conditional"], found["ledger"], found["cost"]["kind"]) == (True, None, "conditional")
    assert found["guarantee"]["text"].startswith("Conditional figure, not a DP guarantee for these data:")
    assert set(found["areas"][0]) == {"area", "estimate"}
    assert (found["parameters"]["kind"], found["parameters"]["draws"]) == ("joint", 1)
    assert spent() == 0
    for words in (("--dry-run",), ("--out", "again")):
        shown = run("sae", "release", path, *words).out
        assert shown.startswith("small areas: a CONDITIONAL figure, not differential privacy")


@pytest.mark.parametrize(
    ("release", "areas", "privacy", "said"),
    [
        (JOINT, {"covariates": ["x", "y"]}, {}, ("areas.covariates names the confidential column",)),
        (JOINT, {"variance": "y"}, {}, ("areas.variance names the confidential column of areas.direct",)),
        (JOINT, {"sensitivity": "y"}, {}, ("areas.sensitivity names the confidential",)),
        (JOINT, {"area": "y"}, {}, ("areas.area names the confidential",)),
        (STAGES, {**WEIGHTS, "kish": "y"}, {}, ("areas.kish names the confidential",)),
        (STAGES, {**WEIGHTS, "weight_total": "y"}, {}, ("areas.weight_total names the confidential",)),
        (STAGES, {**WEIGHTS, "deff": "y"}, {}, ("areas.deff names the confidential",)),
        ({**JOINT, "variances": "guessed"}, {}, {}, ("release.variances",)),
        ({**JOINT, "kind": "noisy-direct", "variances": "invariant"}, {}, {}, ("noisy-direct", "variances")),
        ({**STAGES, "kind": "marginals"}, WEIGHTS, {}, ('"public" or "invariant"',)),
        ({**JOINT, "source": None}, {}, {}, ("needs 'source'",)),
        ({**JOINT, "rho": 1}, {}, {}, ("'rho' does not go with",)),
        ({**JOINT, "method": "ml"}, {}, {}, ("'method' does not go with",)),
        ({**JOINT, "colour": 1}, {}, {}, ("unknown key 'release.colour'", "docs/sae.md")),
        ({**JOINT, "draws": 0}, {}, {}, ("release.draws",)),
        ({**JOINT, "draws": 20_000}, {}, {}, ("release.draws",)),
        ({**JOINT, "model_variance": -1}, {}, {}, ("release.model_variance",)),
        ({**JOINT, "model_variance": "big"}, {}, {}, ("release.model_variance", "not a number")),
        ({**STAGES, "rho_p": 0}, WEIGHTS, {}, ("release.rho_p",)),
        ({**STAGES, "rho_a": None}, WEIGHTS, {}, ("needs 'rho_a'",)),
        ({**STAGES, "clamp": [0.5, 0.1]}, WEIGHTS, {}, ("release.clamp",)),
        (STAGES, {**WEIGHTS, "kish": None}, {}, ("areas.kish",)),
        (STAGES, {**WEIGHTS, "variance": "D"}, {}, ("areas.variance does not go with",)),
        (JOINT, {"variance": None}, {}, ("needs areas.variance",)),
        (JOINT, {"kish": "kish"}, {}, ("areas.kish does not go with",)),
        (JOINT, {"covariates": ["nowhere"]}, {}, ("no column 'nowhere'", "survey.csv")),
        (JOINT, {"covariates": [], "intercept": False}, {}, ("areas", "intercept")),
        (JOINT, {"covariates": ["hole"]}, {}, ("missing value", "survey.csv, column 'hole', line 3")),
        (JOINT, {"direct": "hole"}, {}, ("missing value", "survey.csv, column 'hole', line 3")),
        (JOINT, {"variance": "hole"}, {}, ("missing value", "survey.csv, column 'hole', line 3")),
        (STAGES, {**WEIGHTS, "direct": "n"}, {}, ("not a proportion", "column 'n', line 2")),
        (JOINT, {"file": "nowhere.csv"}, {}, ("file not found", "nowhere.csv")),
        (JOINT, {"sensitivity": 0}, {}, ("areas.sensitivity",)),
        (JOINT, {"unit": "household"}, {}, ("for one person", "make another", "--unit household")),
        (JOINT, {}, {"ledger": "none"}, ("privacy.seed",)),
        (JOINT, {}, {"ledger": "nowhere.jsonl"}, ("no such ledger", "--rho R --neighbours substitute")),
    ],
)
def test_configurations_that_do_not_fit_are_refused(run, survey, release, areas, privacy, said) -> None:
    done = run("sae", "release", config(release, areas, privacy), "--out", "out")
    done.refused(*said)
    assert not Path("out").exists()
    assert spent() == 0


@pytest.mark.parametrize("text", ["[areas", "[areas]\n", "\xff", "x = 1e99999999999999999999"])
def test_files_that_are_no_configuration_are_refused(run, text) -> None:
    Path("bad.toml").write_bytes(text.encode("latin-1"))
    run("sae", "release", "bad.toml", "--dry-run").refused("bad.toml")
    run("sae", "release", "none.toml", "--dry-run").refused("no such file", "none.toml")
    run("sae", "release", "bad.toml").refused()


def test_a_release_needs_a_folder(run, survey) -> None:
    run("sae", "release", config(JOINT)).refused("--out")


def test_what_is_paid_for_survives_a_failure(run, survey, monkeypatch) -> None:
    save = Release.save

    def failing(self: Release, folder: Path) -> None:
        if Path(folder).name == "out":
            raise OSError(28, "No space left on device")
        save(self, folder)

    monkeypatch.setattr(Release, "save", failing)
    done = run("sae", "release", config(JOINT), "--out", "out")
    assert done.code == 2
    assert "what was drawn is paid for and kept in out.measured" in done.err
    assert spent() > 0
    assert "draws" in Release.load("out.measured").measurements
    again = run("sae", "release", "release.toml", "--out", "out")
    again.refused("another run writes or wrote here", "out.measured")


@pytest.fixture(scope="module")
def page() -> str:
    for folder in Path(__file__).resolve().parents:
        if (folder / "README.md").is_file() and (folder / "docs" / "sae.md").is_file():
            return (folder / "docs" / "sae.md").read_text(encoding="utf-8")
    pytest.skip("no source tree: these tests run against an installed wheel")


def test_the_examples_of_the_page_work(page, run, capsys) -> None:
    for block in re.findall(r"```sh\n(.*?)```", page, re.DOTALL):
        for line in block.splitlines():
            words = shlex.split(line)
            assert words[0] == "pgsr"
            done = run(*words[1:])
            assert (done.code, done.err) == (0, ""), line
    # The configurations of the page differ from that of the example in the release and its columns.
    for number, block in enumerate(re.findall(r"```toml\n(.*?)```", page, re.DOTALL)):
        path = Path("areas") / f"{number}.toml"
        path.write_text(block, encoding="utf-8")
        planned = run("sae", "release", path, "--dry-run", "--json")
        assert planned.record["dry_run"] is True, planned.err
    for block in re.findall(r"```python\n(.*?)```", page, re.DOTALL):
        exec(compile(block, "sae.md", "exec"), {})
    assert "zCDP" in capsys.readouterr().out


def test_the_example_can_be_released(run) -> None:
    assert run("sae", "example", "--out", "ex", "--json").record["made_up"] is True
    assert run("ledger", "create", "ex/ledger.jsonl", "--rho", "1", "--neighbours", "substitute").code == 0
    found = run("sae", "release", "ex/release.toml", "--out", "out", "--json").record
    assert len(found["areas"]) == 16
    found = run("sae", "release", "ex/from-records.toml", "--out", "records", "--json").record
    assert (len(found["areas"]), float(Fraction(found["cost"]["rho"])) < 0.2) == (6, True)
    run("sae", "example", "--out", "ex").refused("exists already")
