"""`sae release` from survey records: what a file of areas made of them promises, joins, moves, refusals."""

from __future__ import annotations

import csv
import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from pgsr.ledger import Ledger
from pgsr.mechanism import Release

FILES = ["areas.csv", "areas.parquet", "draws.parquet", "guarantee.json", "provenance.json"]
SOURCE = {"source": "an earlier survey", "model_variance": 0.004}
JOINT = {"kind": "joint", "variances": "public", **SOURCE}
BUDGETS = {"rho_p": "1/1000", "rho_b": "1/20", "rho_a": "1/20", "rho_draw": "1/5"}
STAGES = {
    "kind": "joint",
    "variances": "dp",
    **BUDGETS,
    "clip": 0.3,
    "reference": 0.004,
    "clamp": [0.05, 0.5],
}


def write(name: str, columns: dict[str, list]) -> str:
    with Path(name).open("w", newline="", encoding="utf-8") as stream:
        rows = csv.writer(stream)
        rows.writerow(columns)
        rows.writerows(zip(*columns.values(), strict=True))
    return name


def toml(**parts: dict | None) -> str:
    """A configuration; a key that is None is left out."""
    lines: list[str] = []
    for part, keys in parts.items():
        given = {key: value for key, value in (keys or {}).items() if value is not None}
        lines += [f"[{part}]", *(f"{key} = {json.dumps(value)}" for key, value in given.items())]
    Path("release.toml").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return "release.toml"


def from_records(release: dict, records: dict, areas: dict | None = None, privacy: dict | None = None) -> str:
    privacy = {"ledger": "ledger.jsonl", **(privacy or {})}
    return toml(records=records, areas=areas, release=release, privacy=privacy)


def from_areas(release: dict, areas: dict) -> str:
    """From joined.csv, with a seed."""
    given = {
        "file": "joined.csv",
        "direct": "y",
        "sensitivity": "delta",
        "variance": "D",
        "covariates": ["x"],
    }
    return toml(areas={**given, **areas}, release=release, privacy=SEEDED)


def spent() -> Fraction:
    rho = Ledger.open("ledger.jsonl").spent.rho
    assert rho is not None
    return rho


def ledger(run, rho: int) -> None:
    Path("ledger.jsonl").unlink(missing_ok=True)
    assert run("ledger", "create", "ledger.jsonl", "--rho", rho, "--neighbours", "substitute").code == 0


def joined(run, *words: object) -> None:
    """A file of areas made of the records by `sae direct`, in the order of the public file."""
    given = ("sae", "direct", "records.csv", "--outcome", "sick", "--weight", "w", "--out", "made.csv")
    assert run(*given, *words).code == 0
    with Path("made.csv").open(encoding="utf-8") as stream:
        made = {row["area"]: row for row in csv.DictReader(stream)}
    names = AREAS_FILE["name"]
    columns = {
        key: [made[name][key] for name in names] for key in ("y", "D", "delta", "weight_total", "kish")
    }
    write("joined.csv", {**AREAS_FILE, **columns, "area": names})


def sample(seed: int = 1) -> dict[str, list]:
    """Records of six areas, in no order of theirs, with weights of many digits."""
    rng = np.random.default_rng(seed)
    n = 240
    place = np.r_[np.arange(6).repeat(20), rng.integers(0, 6, n - 120)]
    home = place * 1000 + rng.integers(0, 12, n)
    order = rng.permutation(n)
    columns = {
        "area": [f"0{k + 1}" for k in place],
        "sick": rng.binomial(1, 0.2, n).tolist(),
        "income": rng.uniform(0, 50, n).round(2).tolist(),
        "w": np.exp(rng.normal(3, 0.5, n)).tolist(),
        "home": [f"h{k}" for k in home],
        "psu": [f"p{k % 2}-{k // 1000}" for k in home],
    }
    return {name: [column[i] for i in order] for name, column in columns.items()}


AREAS_FILE = {
    "name": ["06", "01", "03", "02", "05", "04"],
    "x": [0.2, 0.35, 0.3, 0.1, 0.25, 0.15],
    "N": [900, 800, 700, 600, 500, 400],
    "D": [0.002, 0.003, 0.0025, 0.0035, 0.004, 0.002],
    "total": [900.0] * 6,
    "kish": [0.03] * 6,
}
RECORDS = {"file": "records.csv", "outcome": "sick", "weight": "w"}
PREVALENCE = {**RECORDS, "prevalence": 0.2}
SEEDED = {"ledger": "none", "seed": 3}
LISTED = {"file": "public.csv", "area": "name", "covariates": ["x"]}


@pytest.fixture
def microdata(run) -> dict[str, list]:
    ledger(run, 1)
    write("public.csv", AREAS_FILE)
    columns = sample()
    write("records.csv", columns)
    return columns


@pytest.mark.parametrize("household", [None, "home"])
@pytest.mark.parametrize("release", [JOINT, {**JOINT, "kind": "marginals"}, STAGES, "noisy", "noisy-dp"])
def test_records_promise_what_a_file_of_areas_made_of_them_does(run, microdata, release, household) -> None:
    """The two ways have one guarantee, one cost, one set of parameters and, with one seed, one release."""
    unit = "person" if household is None else "household"
    if isinstance(release, str):
        variances = "dp" if release.endswith("dp") else "public"
        release = {"kind": "noisy-direct", "variances": variances, "rho": "1/4"}
    elif release is not STAGES:
        release = {**release, "limit": 100}
    joined(run, "--prevalence", 0.2, *(() if household is None else ("--household", household)))
    dp = release["variances"] == "dp"
    columns = {"variance": None, "weight_total": "weight_total", "kish": "kish"} if dp else {}
    old = run(
        "sae", "release", from_areas(release, {"unit": unit, **columns}), "--out", "one", "--json"
    ).record
    given = {**(RECORDS if dp else PREVALENCE), **({} if household is None else {"household": household})}
    path = from_records(release, given, LISTED, SEEDED)
    new = run("sae", "release", path, "--out", "two", "--json").record
    for key in ("guarantee", "cost", "parameters", "areas"):
        assert new[key] == old[key], key
    assert new["cost"]["unit"] == unit
    dry = run("sae", "release", path, "--dry-run", "--json").record
    assert (dry["cost"], dry["guarantee"]) == (new["cost"], new["guarantee"])


def test_a_release_from_records_is_charged_and_shows_no_outcome(run, microdata) -> None:
    path = from_records(JOINT, PREVALENCE, LISTED)
    planned = run("sae", "release", path, "--dry-run", "--json").record
    assert spent() == 0
    done = run("sae", "release", path, "--out", "out", "--json")
    assert Fraction(done.record["cost"]["rho"]) == spent() == Fraction(planned["cost"]["rho"])
    assert [row["area"] for row in done.record["areas"]] == AREAS_FILE["name"]
    said = done.out + "".join(Path("out", name).read_text() for name in FILES if "parquet" not in name)
    w, y = np.array(microdata["w"]), np.array(microdata["sick"], dtype=float)
    for name in AREAS_FILE["name"]:
        here = np.array(microdata["area"]) == name
        assert repr(float(w[here] @ y[here] / w[here].sum()))[:10] not in said


def test_records_alone_are_enough(run, microdata) -> None:
    path = from_records(JOINT, PREVALENCE, privacy=SEEDED)
    found = run("sae", "release", path, "--out", "out", "--json").record
    assert [row["area"] for row in found["areas"]] == [f"0{k}" for k in range(1, 7)]
    assert found["parameters"]["design_columns"] == ["column 0"]
    assert "no covariates, an intercept alone" in found["guarantee"]["text"]


def test_outcomes_of_a_public_range_and_other_estimators(run, microdata) -> None:
    kept = {**RECORDS, "outcome": "income", "lower": 0, "upper": 50}
    noisy_ = {"kind": "noisy-direct", "variances": "public", "rho": 400, "model_variance": 1}
    costs = {}
    for name, records, areas in (
        ("hajek", {**kept, "unit_variance": 200}, LISTED),
        ("ht_mean", {**kept, "estimator": "ht_mean"}, {**LISTED, "variance": "D", "population": "N"}),
        ("ht_total", {**kept, "estimator": "ht_total"}, {**LISTED, "variance": "D"}),
    ):
        path = from_records(noisy_, records, areas, SEEDED)
        assert run("sae", "release", path, "--out", name, "--json").record["cost"]["rho"] == "400"
        costs[name] = Release.load(name).measurements["noisy"]
    w, y, area = (np.array(microdata[key]) for key in ("w", "income", "area"))
    for k, label in enumerate(AREAS_FILE["name"]):
        here = area == label
        total, largest = float(w[here] @ y[here]), 50 * float(w[here].max())
        for name, divisor in (
            ("hajek", w[here].sum()),
            ("ht_mean", AREAS_FILE["N"][k]),
            ("ht_total", 1.0),
        ):
            table = costs[name]
            assert table["noise_sd"][k] == pytest.approx(largest / divisor / np.sqrt(800), rel=1e-5)
            assert abs(table["value"][k] - total / divisor) < 6 * table["noise_sd"][k]


def test_covariates_are_joined_by_label(run, microdata) -> None:
    path = from_records(JOINT, PREVALENCE, LISTED, SEEDED)
    first = run("sae", "release", path, "--dry-run", "--json").record
    turned = {name: column[::-1] for name, column in AREAS_FILE.items()}
    write("public.csv", turned)
    second = run("sae", "release", path, "--dry-run", "--json").record
    # The order of the file is that of the release, and the cost is that of the pairs of label and covariate.
    assert Fraction(first["cost"]["rho"]) == pytest.approx(Fraction(second["cost"]["rho"]), rel=1e-9)
    write("public.csv", {**turned, "x": AREAS_FILE["x"]})
    third = run("sae", "release", path, "--dry-run", "--json").record
    assert Fraction(third["cost"]["rho"]) != pytest.approx(Fraction(second["cost"]["rho"]), rel=1e-6)


def test_design_effects_and_new_areas_beside_records(run, microdata) -> None:
    write("new.csv", {"name": ["98"], "x": [0.2]})
    write("public.csv", {**AREAS_FILE, "deff": [2] * 6})
    costs = {}
    for deff in (None, 2, "deff"):
        areas = {**LISTED, "deff": deff, "new_areas": "new.csv"}
        found = run("sae", "release", from_records(JOINT, PREVALENCE, areas), "--dry-run", "--json").record
        costs[deff] = Fraction(found["cost"]["rho"])
        assert found["parameters"]["new_areas"] == 1
    assert costs[2] == costs["deff"] < 0.6 * costs[None]


@pytest.mark.parametrize("release", [JOINT, {**JOINT, "kind": "marginals"}, STAGES])
def test_records_that_move_need_public_bounds_and_cost_more(run, microdata, release) -> None:
    dp = release is STAGES
    release = release if dp else {**release, "limit": 1000}
    areas = {**LISTED, "moves": True, **({"weight_total": "total", "kish": "kish"} if dp else {})}
    areas = areas if dp else {**areas, "variance": "D"}
    weights = np.array(microdata["w"])
    bounds = {"largest_weight": 200.0, "rest_weight": 300.0}
    assert weights.max() < 200
    path = from_records(release, {**RECORDS, **bounds}, areas, SEEDED)
    moving = run("sae", "release", path, "--out", "out", "--json").record
    assert "any allowed weight and any area" in moving["guarantee"]["text"]
    delta = 200 / 500
    columns = {"variance": None, "weight_total": "total", "kish": "kish"} if dp else {}
    frame = {
        "file": "shares.csv",
        "area": "name",
        "direct": "share",
        "sensitivity": delta,
        "moves": True,
        **columns,
    }
    write("shares.csv", {**AREAS_FILE, "share": [0.2] * 6})
    stated = from_areas(release, frame)
    assert run("sae", "release", stated, "--dry-run", "--json").record["cost"] == moving["cost"]
    assert ("planned weight totals" in moving["guarantee"]["text"]) == dp
    run(
        "sae",
        "release",
        from_records(release, {**RECORDS, **bounds, "largest_weight": 20}, areas),
        "--dry-run",
    ).refused("above the public bound", "records.csv, column 'w', line")
    run(
        "sae", "release", from_records(release, {**RECORDS, **bounds, "rest_weight": 9e4}, areas), "--dry-run"
    ).refused("below the public bound", "area '06'")


@pytest.mark.parametrize("method", ["taylor", "sdr"])
def test_variances_from_the_records_are_conditional(run, microdata, method) -> None:
    records = {**RECORDS, "variance_method": method}
    release = {"kind": "joint", "variances": "invariant"}
    path = from_records(release, records, LISTED, SEEDED)
    found = run("sae", "release", path, "--out", "out", "--json").record
    assert found["conditional"] is True
    assert found["guarantee"]["text"].startswith("Conditional figure, not a DP guarantee for these data:")
    joined(run, "--method", method)
    stated = from_areas(release, {})
    again = run("sae", "release", stated, "--out", "again", "--json").record
    assert (again["areas"], again["cost"]) == (found["areas"], found["cost"])


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"sick": [0.5, 1]}, ("an outcome is not 0 or 1", "column 'sick', line 2", "public range")),
        ({"sick": ["", 1]}, ("missing value", "column 'sick', line 2")),
        ({"sick": ["unwell", 1]}, ("not a number", "column 'sick', line 2")),
        ({"w": [1, 0]}, ("not above 0", "column 'w', line 3", "leave out records")),
        ({"w": [1, -2]}, ("not above 0", "column 'w', line 3")),
        ({"w": [1, "much"]}, ("not a number", "column 'w', line 3")),
        ({"area": ["01", ""]}, ("missing", "column 'area', line 3")),
        ({"area": ["07", "01"]}, ("not among the public areas", "column 'area', line 2", "list all areas")),
        ({"home": ["h", ""]}, ("missing", "column 'home', line 3")),
        ({"w": [1, 1e-323]}, ("a weight below 1e-100", "column 'w', line 3")),
        ({"home": ["h", "\x07"]}, ("control character", "column 'home', line 3")),
    ],
)
def test_bad_records_are_named_without_a_value(run, microdata, changed, said) -> None:
    rows = {name: [*changed.get(name, [column[0]] * 2), *column] for name, column in microdata.items()}
    write("records.csv", rows)
    path = from_records({**JOINT, "limit": 100}, {**PREVALENCE, "household": "home"}, LISTED)
    done = run("sae", "release", path, "--dry-run")
    done.refused("records.csv", *said)
    assert (done.err.count("records.csv"), done.err.count("public.csv")) == (1, 0)
    assert not any(value in done.err for value in ("0.5", "unwell", "much", "-2"))


def test_areas_without_records_and_households_in_two_areas_are_refused(run, microdata) -> None:
    write("public.csv", {name: [*column, column[0]] for name, column in AREAS_FILE.items()})
    path = from_records(JOINT, PREVALENCE, LISTED)
    run("sae", "release", path, "--dry-run").refused("area '06' twice", "public.csv, column 'name', line 8")
    names = [*AREAS_FILE["name"], "99"]
    write("public.csv", {**{k: [*v, v[0]] for k, v in AREAS_FILE.items()}, "name": names})
    run("sae", "release", path, "--dry-run").refused(
        "an area without records", "area '99'", "areas.new_areas"
    )
    write("public.csv", AREAS_FILE)
    homes = {**microdata, "home": ["h"] * len(microdata["home"])}
    write("records.csv", homes)
    path = from_records(JOINT, {**PREVALENCE, "household": "home"}, LISTED)
    run("sae", "release", path, "--dry-run").refused("a household in two areas", "column 'home', line")
    run("sae", "release", from_records(JOINT, {**PREVALENCE, "weight": "v"}), "--dry-run").refused(
        "no column 'v'"
    )
    run("sae", "release", from_records(JOINT, {**PREVALENCE, "outcome": "v"}), "--dry-run").refused(
        "no column 'v'", "records.csv"
    )


@pytest.mark.parametrize(
    ("release", "records", "areas", "said"),
    [
        (JOINT, {**PREVALENCE, "weight": "sick"}, {}, ("records.weight names the confidential column",)),
        (JOINT, {**PREVALENCE, "area": "sick"}, {}, ("records.area names the confidential column",)),
        (JOINT, {**PREVALENCE, "household": "sick"}, {}, ("records.household names the confidential",)),
        (JOINT, {**PREVALENCE, "strata": "sick"}, {}, ("records.strata names the confidential column",)),
        (JOINT, {**PREVALENCE, "psu": "sick"}, {}, ("records.psu names the confidential column",)),
        (
            JOINT,
            PREVALENCE,
            {"file": "./records.csv", "covariates": ["sick"]},
            ("areas.covariates names the confidential column of records.outcome",),
        ),
        (JOINT, PREVALENCE, {"unit": "household"}, ("no records.household says",)),
        (JOINT, RECORDS, {}, ("needs one of areas.variance, records.prevalence, records.unit_variance",)),
        (JOINT, PREVALENCE, {**LISTED, "variance": "D"}, ("needs one of",)),
        (JOINT, PREVALENCE, {"direct": "y"}, ("areas.direct does not go with [records]",)),
        (JOINT, PREVALENCE, {"sensitivity": 0.1}, ("areas.sensitivity does not go with [records]",)),
        (JOINT, PREVALENCE, {**LISTED, "kish": "kish"}, ("areas.kish does not go with [records]",)),
        (JOINT, PREVALENCE, {"covariates": ["x"]}, ("areas.covariates needs areas.file",)),
        (JOINT, {**PREVALENCE, "strata": "psu"}, {}, ("records.strata does not go with",)),
        (JOINT, {**PREVALENCE, "lower": 0, "upper": 2}, {}, ("'prevalence' is for outcomes of 0 or 1",)),
        (JOINT, {**PREVALENCE, "lower": 0}, {}, ("only one of 'lower' and 'upper'",)),
        (JOINT, {**RECORDS, "lower": 2, "upper": 1, "unit_variance": 1}, {}, ("range", "lower, upper")),
        (JOINT, {**PREVALENCE, "prevalence": 1}, {}, ("records.prevalence",)),
        (JOINT, {**RECORDS, "unit_variance": 0}, {}, ("records.unit_variance",)),
        (JOINT, {**PREVALENCE, "largest_weight": 9}, {}, ("records.largest_weight does not go with",)),
        (JOINT, {**PREVALENCE, "colour": 1}, {}, ("unknown key 'records.colour'", "docs/sae.md")),
        (JOINT, {**PREVALENCE, "estimator": "ht_total"}, {}, ("is for Hajek means",)),
        (JOINT, {**RECORDS, "estimator": "ht_mean"}, {**LISTED, "variance": "D"}, ("areas.population",)),
        (STAGES, PREVALENCE, LISTED, ("records.prevalence does not go with",)),
        (STAGES, {**RECORDS, "lower": 0, "upper": 1}, LISTED, ("Hajek means of an outcome of 0 or 1",)),
        (JOINT, PREVALENCE, {**LISTED, "moves": True}, ("areas.moves needs records.largest_weight",)),
        (JOINT, PREVALENCE, {"moves": True}, ("areas.file",)),
        (JOINT, {**RECORDS, "household": "home"}, {**LISTED, "variance": "D", "deff": 2}, ("areas.deff",)),
        ({**JOINT, "limit": "1/1000"}, PREVALENCE, LISTED, ("above the limit", "area '0")),
        (JOINT, {**PREVALENCE, "household": "home"}, {**LISTED, "unit": "person"}, ("above the limit",)),
    ],
)
def test_keys_of_records_that_do_not_fit_are_refused(run, microdata, release, records, areas, said) -> None:
    done = run("sae", "release", from_records(release, records, areas), "--dry-run")
    done.refused(*said)


def test_single_sampling_units_of_records(run, microdata) -> None:
    records = {**RECORDS, "psu": "area"}
    release = {"kind": "joint", "variances": "invariant"}
    path = from_records(release, records, LISTED, {"ledger": "none"})
    run("sae", "release", path, "--out", "out").refused("single primary", "records.single_psu to")
    records |= {"single_psu": "certainty"}
    path = from_records(release, records, LISTED, {"ledger": "none"})
    run("sae", "release", path, "--out", "out").refused("an estimated variance is 0", "area '06'")
