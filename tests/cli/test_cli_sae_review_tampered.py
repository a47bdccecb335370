"""`sae review` of release folders that were changed: every change shows, or what cannot show is known."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from pgsr.cli.main import main
from pgsr.errors import InputError
from pgsr.report.sae_review import review_release
from pgsr.report.sae_review_weights import ReviewOptions

SURVEY = """area,y,D,delta,x,W,kish
North,0.13,0.0006,0.010,0.20,9000,0.004
East,0.20,0.0008,0.011,0.30,8000,0.005
South,0.15,0.0010,0.012,0.25,7000,0.006
West,0.09,0.0012,0.013,0.10,6000,0.007
Hill,0.31,0.0014,0.014,0.50,5000,0.008
Lake,0.22,0.0016,0.015,0.40,4000,0.009
"""
PUBLIC = 'variances = "public"\nsource = "a census"\nmodel_variance = 0.004\n'
WAYS = {
    "joint": f'variance = "D"\n[release]\nkind = "joint"\n{PUBLIC}draws = 2\nreshrink = true\n',
    "marginals": f'variance = "D"\n[release]\nkind = "marginals"\n{PUBLIC}',
    "stages": 'weight_total = "W"\nkish = "kish"\n[release]\nkind = "joint"\nvariances = "dp"\n'
    'rho_p = "1/1000"\nrho_b = "1/20"\nrho_a = "1/20"\nrho_draw = "1/5"\n'
    "clip = 0.3\nreference = 0.004\nclamp = [0.05, 0.5]\n",
    "noisy": 'weight_total = "W"\nkish = "kish"\n[release]\nkind = "noisy-direct"\nvariances = "dp"\n'
    'rho = "1/5"\n',
    "conditional": 'variance = "D"\n[release]\nkind = "joint"\nvariances = "invariant"\n'
    "model_variance = 0.004\n",
}


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    """A release of each kind, made once."""
    home = tmp_path_factory.mktemp("releases")
    (home / "survey.csv").write_text(SURVEY, encoding="utf-8")
    ledger = str(home / "ledger.jsonl")
    assert main(["ledger", "create", ledger, "--rho", "5", "--neighbours", "substitute"]) == 0
    for way, text in WAYS.items():
        book = "none" if way == "conditional" else "ledger.jsonl"
        head = '[areas]\nfile = "survey.csv"\ndirect = "y"\nsensitivity = "delta"\ncovariates = ["x"]\n'
        config = home / f"{way}.toml"
        config.write_text(f'{head}{text}[privacy]\nledger = "{book}"\n', encoding="utf-8")
        assert main(["sae", "release", str(config), "--out", str(home / way)]) == 0
    return home


class Folder:
    """A copy of a release, to be changed."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def json(self, name: str, change: Callable[[dict[str, Any]], object]) -> None:
        path = self.path / f"{name}.json"
        record = json.loads(path.read_text(encoding="utf-8"))
        change(record)
        path.write_text(json.dumps(record), encoding="utf-8")

    def guarantee(self, **changed: Any) -> None:
        self.json("guarantee", lambda record: record.update(changed))

    def event(self, **changed: str) -> None:
        self.json("guarantee", lambda record: record["event"].update(changed))

    def provenance(self, **changed: Any) -> None:
        self.json("provenance", lambda record: record["provenance"].update(changed))

    def parameters(self, **changed: Any) -> None:
        self.json("provenance", lambda record: record["provenance"]["parameters"].update(changed))

    def table(self, name: str, change: Callable[[pa.Table], pa.Table], *, keep: bool = True) -> None:
        path = self.path / f"{name}.parquet"
        before = pq.read_table(path)
        after = change(before)
        if keep:
            after = after.replace_schema_metadata(before.schema.metadata)
        pq.write_table(after, path)
        if (self.path / f"{name}.csv").exists():
            pyarrow.csv.write_csv(after, self.path / f"{name}.csv")

    def column(self, table: str, column: str, change: Callable[[Any], Any]) -> None:
        def put(found: pa.Table) -> pa.Table:
            place = found.column_names.index(column)
            values = change(found[column].to_numpy(zero_copy_only=False))
            return found.set_column(place, column, pa.array(values))

        self.table(table, put)

    def label(self, old: str, new: str) -> None:
        for table in ("areas", "draws"):
            self.column(table, "area", lambda names: [new if name == old else name for name in names])


def extra_table(folder: Folder) -> None:
    folder.json("provenance", lambda record: record["tables"].append("direct"))
    for ending in ("parquet", "csv"):
        shutil.copy(folder.path / f"areas.{ending}", folder.path / f"direct.{ending}")


def extra_column(table: str) -> Callable[[Folder], None]:
    return lambda folder: folder.table(table, lambda t: t.append_column("mu", pa.array(np.zeros(len(t)))))


def metadata(folder: Folder) -> None:
    folder.table(
        "areas",
        lambda t: t.replace_schema_metadata({**t.schema.metadata, b"mu": b"0.1225"}),
        keep=False,
    )


def narrow(folder: Folder) -> None:
    """Half of sd, and the intervals with it."""
    areas = pq.read_table(folder.path / "areas.parquet").to_pydict()
    centre, sd = np.array(areas["estimate"]), np.array(areas["sd"]) / 2
    folder.column("areas", "sd", lambda _: sd)
    folder.column("areas", "lower", lambda _: centre - 1.959963984540054 * sd)
    folder.column("areas", "upper", lambda _: centre + 1.959963984540054 * sd)


def shift(*columns: tuple[str, str]) -> Callable[[Folder], None]:
    def change(folder: Folder) -> None:
        for table, column in columns:
            folder.column(table, column, lambda values: values + 0.1)

    return change


def fewer(folder: Folder) -> None:
    for table in ("areas", "draws"):
        folder.table(table, lambda t: t.filter(pa.compute.not_equal(t["area"], "Hill")))


def linked(folder: Folder) -> None:
    path = folder.path / "areas.csv"
    path.rename(folder.path.parent / "elsewhere.csv")
    path.symlink_to(folder.path.parent / "elsewhere.csv")


def model_csv(folder: Folder) -> None:
    path = folder.path / "model.csv"
    path.write_text(path.read_text(encoding="utf-8").replace("0.", "9."), encoding="utf-8")


def dp(folder: Folder) -> None:
    """A conditional release in the words of a private one."""
    folder.event(kind="zcdp")
    folder.guarantee(invariants=[])


WORDS, RECORD = "word for word", "the digest of the parameters"
SHIFTED = (("areas", "estimate"), ("areas", "lower"), ("areas", "upper"))
CHANGES: list[tuple[str, str, Callable[[Folder], None], str, str]] = [
    # name, way, change, what does not hold of the folder alone ("" if nothing can show it), and with --config
    ("rho", "joint", lambda f: f.event(rho="1/1000"), WORDS, "cost computed again"),
    ("rho, stages", "stages", lambda f: f.event(rho="1/1000"), WORDS, "cost computed again"),
    ("rho, noisy", "noisy", lambda f: f.event(rho="1/1000"), WORDS, "cost computed again"),
    ("a budget", "stages", lambda f: f.parameters(rho_a="1/50"), WORDS, "differ in: rho_a"),
    ("unit", "joint", lambda f: f.event(unit="household"), WORDS, "of the configuration is that"),
    ("text", "joint", lambda f: f.guarantee(text="All may be published."), WORDS, "of the configuration"),
    ("public", "noisy", lambda f: f.guarantee(public=["nothing"]), WORDS, "of the configuration"),
    ("sampler", "stages", lambda f: f.guarantee(sampler="exact"), WORDS, "of the configuration"),
    ("randomness", "joint", lambda f: f.guarantee(randomness="a quantum"), WORDS, "of the configuration"),
    ("mechanism", "joint", lambda f: f.provenance(mechanism="sae-marginals-draw"), "kind of release", "asks"),
    ("parameter", "joint", lambda f: f.parameters(mu=0.1), "parameters are those of this kind", "mu"),
    ("digest", "joint", lambda f: f.parameters(variance_sha256="0" * 64), RECORD, "variance_sha256"),
    ("extra table", "joint", extra_table, "nothing else", "direct"),
    ("column of draws", "joint", extra_column("draws"), "'draws'", "draws.mu"),
    ("column of areas", "stages", extra_column("areas"), "'areas'", "areas.mu"),
    ("column of stages", "stages", extra_column("stages"), "'stages'", "stages.mu"),
    ("column of noisy", "noisy", extra_column("noisy"), "'noisy'", "noisy.mu"),
    ("column, conditional", "conditional", extra_column("areas"), "'areas'", ""),
    ("metadata", "joint", metadata, "'areas'", ""),
    ("link", "joint", linked, "nothing else", ""),
    ("areas left out", "joint", fewer, "the areas are those", "tables"),
    ("area renamed", "marginals", lambda f: f.label("Hill", "Dale"), "the areas are those", "tables"),
    (
        "area renamed, conditional",
        "conditional",
        lambda f: f.label("Hill", "Dale"),
        "the areas are those",
        "",
    ),
    ("intervals", "joint", lambda f: f.column("areas", "lower", lambda x: x / 2), "1.96 sd", "areas.lower"),
    ("half of sd", "joint", narrow, "", "areas.sd"),
    ("half of sd, stages", "stages", narrow, "", "areas.sd"),
    ("estimates, joint", "joint", shift(*SHIFTED), "estimates are the means", "areas.estimate"),
    ("estimates, noisy", "noisy", shift(*SHIFTED), "", "areas.estimate"),
    ("shrunk again", "joint", shift(("areas", "reshrunk")), "", "areas.reshrunk"),
    ("variance", "stages", shift(("areas", "variance")), "", "areas.variance"),
    ("model.csv", "noisy", model_csv, "model.csv says", ""),
    ("model", "noisy", shift(("model", "model_variance")), "", "model.model_variance"),
    ("noisy value", "noisy", shift(("noisy", "value")), "point times its step", "noisy.value"),
    ("noise", "noisy", shift(("noisy", "noise_sd")), "point times its step", "noisy.noise_sd"),
    ("model variance", "stages", shift(("stages", "model_variance")), "", "stages.model_variance"),
    ("label", "joint", lambda f: f.provenance(label="other"), "", "charge of this cost and label"),
    ("time", "joint", lambda f: f.provenance(created="2020-01-01T00:00:00+00:00"), "", "only after"),
    ("conditional as DP", "conditional", dp, "differentially private", ""),
    ("conditional, cost", "conditional", lambda f: f.event(kind="zcdp"), "differentially private", ""),
    ("conditional, mode", "conditional", lambda f: f.parameters(variance_mode="public"), "private", ""),
]


def broken(folder: Path, config: Path | None) -> list[str]:
    record = review_release(folder, config, ReviewOptions(), "now")
    return [check["check"] for check in record["checks"] if not check["holds"]]


@pytest.mark.parametrize("way", WAYS)
def test_nothing_is_wrong_with_a_release_as_it_was_made(made, way) -> None:
    assert broken(made / way, None) == []
    if way != "conditional":
        assert broken(made / way, made / f"{way}.toml") == []


@pytest.mark.parametrize(
    ("way", "change", "alone", "compared"), [row[1:] for row in CHANGES], ids=[r[0] for r in CHANGES]
)
def test_every_change_shows(made, tmp_path, way, change, alone, compared) -> None:
    shutil.copytree(made / way, tmp_path / way)
    change(Folder(tmp_path / way))
    found = "; ".join(broken(tmp_path / way, None))
    assert alone in found
    assert bool(alone) == bool(found)
    if way != "conditional":
        found = "; ".join(broken(tmp_path / way, made / f"{way}.toml"))
        assert alone in found
        assert compared in found


@pytest.mark.parametrize(
    "change", [dp, lambda f: f.event(kind="zcdp"), lambda f: f.parameters(variance_mode="dp")]
)
def test_a_conditional_release_never_reads_as_a_private_one(made, tmp_path, run, change) -> None:
    shutil.copytree(made / "conditional", tmp_path / "made")
    change(Folder(tmp_path / "made"))
    record = review_release(tmp_path / "made", None, ReviewOptions(), "now")
    assert (record["conditional"], record["variances"], record["epsilons"]) == (True, "invariant", [])
    shown = run("sae", "review", "made", "--out", "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    for text in (shown.out, page[page.index("<h1") :][:1500]):
        assert "NOT differentially private" in text
        assert "Does NOT hold: cost, mechanism, parameters and invariants agree" in " ".join(text.split())


DAMAGES: list[tuple[str, Callable[[Folder], None], str]] = [
    ("joint", lambda f: f.table("areas", lambda t: t.slice(0, 0)), "no areas"),
    ("joint", lambda f: f.column("areas", "sd", lambda x: ["x"] * len(x)), "'sd'"),
    ("joint", lambda f: f.column("areas", "estimate", lambda x: x * np.nan), "'estimate'"),
    ("joint", lambda f: f.table("areas", lambda t: t.drop_columns(["estimate"])), "estimates"),
    ("joint", lambda f: f.parameters(draws="x"), "draws"),
    ("joint", lambda f: f.parameters(draws=True), "draws"),
    ("joint", lambda f: f.parameters(kind="weird"), "kind"),
    ("joint", lambda f: f.parameters(kind=["joint"]), "kind"),
    ("joint", lambda f: f.parameters(moves="no"), "moves"),
    ("joint", lambda f: f.provenance(parameters=[1]), "parameters"),
    ("joint", lambda f: f.label("Hill", "Hi\x1b[31mll"), "control characters"),
    ("joint", lambda f: f.provenance(label="a\x1b[2J"), "label"),
    ("stages", lambda f: f.column("stages", "proportion", lambda x: [None] * len(x)), "'proportion'"),
    ("noisy", lambda f: f.column("noisy", "point", lambda x: x / 2), "'point'"),
]


@pytest.mark.parametrize(("way", "change", "say"), DAMAGES)
def test_a_damaged_folder_is_refused_by_name(made, tmp_path, run, way, change, say) -> None:
    shutil.copytree(made / way, tmp_path / "made")
    change(Folder(tmp_path / "made"))
    for words in ((), ("--config", made / f"{way}.toml")):
        done = run("sae", "review", "made", "--out", "page.html", *words)
        done.refused(say)
        assert "\x1b" not in done.err
    assert not (tmp_path / "page.html").exists()


@pytest.mark.parametrize(
    "odd",
    [
        {"areas": 10**12}, {"areas": True}, {"areas": "6"}, {"design_columns": 5}, {"unit": 3},
        {"design_columns": ["a"] * 50}, {"variance_sha256": "short"}, {"model_variance": float("nan")},
        {"limit": "x"}, {"limit": "1/0"}, {"model_variance": None}, {"new_areas": "x"},
        {"areas_sha256": 4}, {"reshrink": "x"},
    ],
)  # fmt: skip
def test_odd_parameters_do_not_hold(made, tmp_path, odd) -> None:
    shutil.copytree(made / "joint", tmp_path / "made")
    Folder(tmp_path / "made").parameters(**odd)
    assert "parameters" in "; ".join(broken(tmp_path / "made", None))


@pytest.mark.parametrize("way", ["stages", "noisy", "conditional"])
def test_parameters_that_are_missing_do_not_hold(made, tmp_path, way) -> None:
    names = json.loads((made / way / "provenance.json").read_text(encoding="utf-8"))["provenance"][
        "parameters"
    ]
    for name in set(names) - {"draws"}:
        shutil.rmtree(tmp_path / "made", ignore_errors=True)
        shutil.copytree(made / way, tmp_path / "made")
        Folder(tmp_path / "made").json(
            "provenance", lambda r, name=name: r["provenance"]["parameters"].pop(name)
        )
        assert "parameters" in "; ".join(broken(tmp_path / "made", None))


def test_a_release_that_no_ledger_was_charged_for_does_not_hold(made, tmp_path) -> None:
    for name in ("survey.csv", "joint.toml", "ledger.jsonl"):
        shutil.copy(made / name, tmp_path / name)
    text = (tmp_path / "joint.toml").read_text(encoding="utf-8")

    def found(config: str) -> str:
        (tmp_path / "joint.toml").write_text(config, encoding="utf-8")
        return "; ".join(broken(made / "joint", tmp_path / "joint.toml"))

    assert found(text) == ""
    assert "ledger later.jsonl does not exist" in found(text.replace("ledger.jsonl", "later.jsonl"))
    unledgered = found(text.replace('ledger = "ledger.jsonl"', 'ledger = "none"\nseed = 3'))
    assert "a charge of this cost and label: There is no ledger" in unledgered
    assert "the guarantee of the configuration" in unledgered  # which has a seed
    (tmp_path / "joint.toml").write_text(text, encoding="utf-8")


def test_several_charges_are_counted(made, tmp_path) -> None:
    for name in ("survey.csv", "marginals.toml", "ledger.jsonl"):
        shutil.copy(made / name, tmp_path / name)
    config = tmp_path / "marginals.toml"

    def asked() -> tuple[str, str]:
        record = review_release(made / "marginals", config, ReviewOptions(), "now")
        (check,) = [row["check"] for row in record["checks"] if "charge of this" in row["check"]]
        (item,) = [text for text in record["checklist"] if "charges in the ledger" in text]
        return check, item

    check, item = asked()
    assert "entry 2 of " in check
    assert "s before the release" in check
    assert "pay for one release" in item
    assert main(["sae", "release", str(config), "--out", str(tmp_path / "again")]) == 0
    check, item = asked()
    assert "2 charges are like it" in check
    assert "pay for 2 releases" in item


def test_a_release_of_new_areas_and_one_of_a_seed_are_restated(made, tmp_path) -> None:
    shutil.copy(made / "survey.csv", tmp_path / "survey.csv")
    (tmp_path / "new.csv").write_text("area,x\nMoor,0.3\nFen,0.2\n", encoding="utf-8")
    config = tmp_path / "new.toml"
    text = (made / "joint.toml").read_text(encoding="utf-8").replace("reshrink = true\n", "")
    text = text.replace("[release]", 'new_areas = "new.csv"\n[release]')
    config.write_text(text.replace('"ledger.jsonl"', '"none"\nseed = 3'), encoding="utf-8")
    assert main(["sae", "release", str(config), "--out", str(tmp_path / "made")]) == 0
    assert broken(tmp_path / "made", None) == ["the random bits cannot be reproduced"]
    assert broken(tmp_path / "made", config) == ["the random bits cannot be reproduced"]
    Folder(tmp_path / "made").label("Fen", "Moss")
    assert "areas.area" in "; ".join(broken(tmp_path / "made", config))


def test_a_release_that_names_invariants_is_no_private_one(made, tmp_path) -> None:
    shutil.copytree(made / "joint", tmp_path / "made")
    Folder(tmp_path / "made").guarantee(invariants=["A"])
    assert "differentially private" in "; ".join(broken(tmp_path / "made", None))
    with pytest.raises(InputError, match="variances from the same data"):
        review_release(tmp_path / "made", made / "joint.toml", ReviewOptions(), "now")


def test_a_conditional_release_is_compared_with_nothing(made) -> None:
    with pytest.raises(InputError, match="variances from the same data"):
        review_release(made / "conditional", made / "conditional.toml", ReviewOptions(), "now")
