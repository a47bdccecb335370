"""`sae review`: a page before a release and of one; nothing confidential, nothing from outside."""

from __future__ import annotations

import csv
import json
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import pytest

from pgsr.ledger import Ledger

# So many digits that no other number begins with them by chance.
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
VARIANCES = [
    0.000613571,
    0.000817391,
    0.001092871,
    0.001271873,
    0.001481719,
    0.001639187,
    0.001871293,
    0.002173919,
]
MODEL_VARIANCE = 0.0041739187
LABELS = ["<b>North</b>", "East & Co", 'the "South"', "West", "$x_1$", "Ωmega", "07", "Far <script>"]
SURVEY = {
    "area": LABELS,
    "y": SHARES,
    "D": VARIANCES,
    "delta": [0.010, 0.011, 0.012, 0.013, 0.014, 0.015, 0.016, 0.017],
    "x": [0.2, 0.3, 0.25, 0.1, 0.5, 0.4, 0.15, 0.35],
    "W": [9000, 8000, 7000, 6000, 5000, 4000, 3000, 2000],
    "kish": [0.004, 0.005, 0.006, 0.007, 0.008, 0.009, 0.010, 0.011],
    "n": [400, 350, 300, 250, 200, 150, 120, 100],
}
JOINT = {"kind": "joint", "variances": "public", "source": "a census", "model_variance": MODEL_VARIANCE}
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
NOISY = {"kind": "noisy-direct", "variances": "dp", "rho": "1/5"}
INVARIANT = {"kind": "joint", "variances": "invariant", "model_variance": MODEL_VARIANCE}
WEIGHTS = {"variance": None, "weight_total": "W", "kish": "kish"}
WAYS = {
    "joint": (JOINT, {}),
    "marginals": ({**JOINT, "kind": "marginals", "draws": 2}, {}),
    "stages": (STAGES, WEIGHTS),
    "noisy": (NOISY, WEIGHTS),
    "invariant": (INVARIANT, {}),
}
HIDDEN = {"joint": SHARES, "marginals": SHARES, "stages": SHARES, "noisy": SHARES}
HIDDEN["invariant"] = [*SHARES, *VARIANCES, MODEL_VARIANCE]


def write(columns: dict[str, list], name: str = "survey.csv") -> str:
    with Path(name).open("w", newline="", encoding="utf-8") as stream:
        table = csv.writer(stream)
        table.writerow(columns)
        table.writerows(zip(*columns.values(), strict=True))
    return name


def config(release: dict, areas: dict | None = None, ledger: str = "ledger.jsonl", **privacy) -> str:
    """Write a configuration; a key that is None is left out."""
    if release["variances"] == "invariant":
        ledger = "none"
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
        "privacy": {"ledger": ledger, **privacy},
    }
    lines = []
    for part, keys in parts.items():
        lines.append(f"[{part}]")
        lines += [f"{key} = {json.dumps(value)}" for key, value in keys.items() if value is not None]
    Path("plan.toml").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return "plan.toml"


@pytest.fixture(autouse=True)
def _survey(_own_folder, run) -> None:
    """Eight areas, and a ledger of rho 2."""
    write(SURVEY)
    assert run("ledger", "create", "ledger.jsonl", "--rho", "2", "--neighbours", "substitute").code == 0


@pytest.fixture
def pictures() -> None:
    """For tests that draw the pictures; others have empty ones, which takes a tenth of the time."""


@pytest.fixture(autouse=True)
def _empty_pictures(request, monkeypatch) -> None:
    if "pictures" not in request.fixturenames:
        monkeypatch.setattr("pgsr.report.sae_page_areas.inline_svg", lambda _figure, _name: "<svg></svg>")


class Reader(HTMLParser):
    VOID = frozenset({"meta", "br", "link"})

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open, self.bad, self.ids, self.links, self.text = [], [], [], [], []
        self.cells: list[str] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.ids += [given["id"]] if "id" in given else []
        self.links += [given[name] for name in ("src", "href", "srcset", "action") if name in given]
        if tag == "td":
            self.cells.append("")
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in self.VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.bad.append(tag)

    def handle_data(self, data):
        self.text.append(data)
        if self.open and self.open[-1] == "td":
            self.cells[-1] += data


def sound(path: str) -> Reader:
    """The page parsed, after checks that it stands alone."""
    html = Path(path).read_text(encoding="utf-8")
    reader = Reader(html)
    assert (reader.open, reader.bad) == ([], [])
    assert len(set(reader.ids)) == len(reader.ids)
    inside = [link for link in reader.links if not link.startswith("data:image/png;base64,")]
    assert all(link[0] == "#" and link[1:] in reader.ids for link in inside)
    assert not re.search(r"https?:|<script|<iframe|<img|@import|url\((?!#)", html)
    return reader


def without_times(html: str) -> str:
    return re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d UTC", "", html)


@pytest.mark.parametrize("way", WAYS)
def test_a_planned_release_is_reviewed_from_public_inputs_alone(run, way) -> None:
    plan = config(*WAYS[way])
    first = run("sae", "review", plan, "--out", "one.html", "--counts", "n", "--json")
    assert (first.code, first.err) == (0, "")
    reader = sound("one.html")
    html = Path("one.html").read_text(encoding="utf-8")
    for number in HIDDEN[way]:
        assert str(number) not in html
        assert str(number) not in first.out
    for label in LABELS:
        assert label in reader.cells
    # Whatever the direct estimates are, and without the column, the page is the same.
    others = {**SURVEY, "y": [share / 2 for share in SHARES]}
    if way == "invariant":
        others["D"] = [2 * d for d in VARIANCES]
    alone = {name: column for name, column in SURVEY.items() if name != "y"}
    for number, survey in enumerate((others, alone)):
        write(survey)
        assert run("sae", "review", plan, "--out", f"{number}.html", "--counts", "n").code == 0
        again = Path(f"{number}.html").read_text(encoding="utf-8")
        assert without_times(again) == without_times(html)
    assert Ledger.open("ledger.jsonl").entries == ()


def test_the_figures_are_those_of_the_guarantee(run) -> None:
    plan = config(JOINT)
    made = run("sae", "review", plan, "--out", "page.html", "--records", "3000000", "--json").record
    words = (
        "--variance",
        "D",
        "--sensitivity",
        "delta",
        "--model-variance",
        MODEL_VARIANCE,
        "--covariates",
        "x",
    )
    told = run("sae", "guarantee", "survey.csv", *words, "--records", "3000000", "--json").record
    assert made["rho"] == told["rho_joint"]
    for name in ("rho_joint", "joint_area", "rho_marginals", "rho_sum", "a_free", "own_is_worst"):
        assert made["whole"][name] == told[name]
    assert [row["rho"] for row in made["areas"]] == told["rho_own"]
    assert [row["rho_alone"] for row in made["areas"]] == told["rho_area"]
    last = made["epsilons"][-1]
    assert (last["delta"], last["why"]) == (1e-7, "below one over 3,000,000 records")
    assert (last["epsilon"], last["epsilon_simple"]) == (told["epsilon_exact"], told["epsilon_simple"])
    cells = sound("page.html").cells
    for number in (told["rho_joint"], told["rho_marginals"], told["rho_sum"], told["a_free"]):
        assert f"{number:.4g}" in cells
    for number in told["rho_own"]:
        assert f"{number:#.4g}" in cells
    for number in (told["epsilon_exact"], told["epsilon_simple"]):
        assert f"{number:#.5g}" in cells


def test_the_page_says_what_the_dry_run_says(run) -> None:
    for way, (release, areas) in WAYS.items():
        plan = config(release, areas)
        told = run("sae", "release", plan, "--dry-run", "--json").record
        made = run("sae", "review", plan, "--out", f"{way}.html", "--json").record
        assert made["guarantee"]["text"] == told["guarantee"]["text"]
        assert made["conditional"] == told["conditional"]
        assert made["event"] == told["cost"]
        assert told["guarantee"]["text"] in sound(f"{way}.html").text
        if told["mean_mse"] is not None:
            assert made["errors"]["mean_mse"] == pytest.approx(told["mean_mse"])


def test_a_conditional_figure_says_so_first(run) -> None:
    plan = config(INVARIANT)
    made = run("sae", "review", plan, "--out", "page.html", "--json").record
    assert (made["conditional"], made["rho"], made["epsilons"], made["digests"]) == (True, None, [], {})
    text = [part for part in sound("page.html").text if part.strip()]
    page = " ".join(text[text.index("Disclosure review: small area estimates", 1) :])
    assert "NOT differentially private" in page[:400]
    assert "model_variance" not in page
    assert "epsilon at" not in page
    shown = run("sae", "review", plan, "--out", "again.html")
    assert "NOT differentially private" in shown.out


@pytest.mark.parametrize("way", WAYS)
def test_a_finished_release_is_checked(run, way) -> None:
    plan = config(*WAYS[way])
    assert run("sae", "release", plan, "--out", "made").code == 0
    more = () if way == "invariant" else ("--config", plan)
    done = run("sae", "review", "made", *more, "--out", "page.html", "--json")
    assert (done.code, done.err) == (0, "")
    made, reader = done.record, sound("page.html")
    assert not [c for c in made["checks"] if not c["holds"]]
    assert made["compared"] == (way != "invariant")
    assert len(made["checks"]) >= 6
    html = Path("page.html").read_text(encoding="utf-8")
    for number in HIDDEN[way]:
        assert str(number) not in html
    with Path("made/areas.csv").open(newline="", encoding="utf-8") as stream:
        for row in csv.DictReader(stream):
            assert f"{float(row['estimate']):#.4g}" in reader.cells
            if "sd" in row:
                assert f"{float(row['sd']):#.4g}" in reader.cells
    assert {path.name for path in Path("made").iterdir()} == {row["file"] for row in made["files"]}
    page = "".join(reader.text)
    if way == "invariant":
        assert "NOT differentially private" in page
        assert made["epsilons"] == []
    else:
        assert made["ledger"]["entries"][0]["label"] == "plan"


def test_a_release_that_was_changed_does_not_hold(run) -> None:
    plan = config(JOINT)
    assert run("sae", "release", plan, "--out", "made").code == 0

    def broken() -> str:
        Path("page.html").unlink(missing_ok=True)
        done = run("sae", "review", "made", "--config", plan, "--out", "page.html", "--json")
        assert done.code == 0, done.err
        bad = [check["check"] for check in done.record["checks"] if not check["holds"]]
        assert bool(bad) == ("Does NOT hold" in "".join(sound("page.html").text))
        return "; ".join(bad)

    assert broken() == ""
    path = Path("made/areas.csv")
    whole = path.read_text(encoding="utf-8")
    path.write_text(whole.replace("0.", "0.1", 1), encoding="utf-8")
    assert broken() == "areas.csv says the same as areas.parquet"
    path.write_text(whole, encoding="utf-8")
    Path("made/means.csv").write_text("area,mean\n", encoding="utf-8")
    assert "nothing else" in broken()
    Path("made/means.csv").unlink()
    write({**SURVEY, "delta": [2 * delta for delta in SURVEY["delta"]]})
    config({**JOINT, "limit": 4})
    found = broken()
    assert "sensitivity_sha256" in found
    assert "limit" in found
    assert "cost computed again" in found
    write(SURVEY)
    config(JOINT)
    other = run("ledger", "create", "other.jsonl", "--rho", "2", "--neighbours", "substitute")
    assert other.code == 0
    plan = config(JOINT, ledger="other.jsonl")
    assert broken() == "the ledger has a charge of this cost and label"


def test_without_its_configuration_the_page_says_what_is_missing(run) -> None:
    assert run("sae", "release", config(JOINT), "--out", "made").code == 0
    Path("survey.csv").unlink()
    made = run("sae", "review", "made", "--out", "page.html", "--json").record
    assert made["areas"] == []
    assert any("--config" in text for text in made["not_looked_at"])
    assert "give --config CONFIG.toml" in "".join(sound("page.html").text)
    run("sae", "review", "made", "--out", "b.html", "--counts", "n").refused("--config")


def test_levers_are_shown(run) -> None:
    with Path("weights.csv").open("w", newline="", encoding="utf-8") as stream:
        table = csv.writer(stream)
        table.writerow(("area", "weight"))
        for label, delta in zip(LABELS, SURVEY["delta"], strict=True):
            # The largest weight is the sensitivity's share of their sum.
            table.writerows([(label, 1000 * delta)] + [(label, 1000 * (1 - delta) / 199)] * 199)
    words = ("--counts", "n", "--kish", "kish", "--rho", 0.01, "--weights", "weights.csv", "--bias", 0.002)
    made = run("sae", "review", config(JOINT), "--out", "page.html", *words, "--json").record
    assert [row["target"] for row in made["levers"]["floor"]] == [0.01]
    assert len(made["levers"]["equal_weights"]) == 3
    assert made["trimming"]["sensitivity_agrees"]
    assert made["trimming"]["rho_after"] < made["trimming"]["rho_before"]
    assert not [c for c in made["checks"] if not c["holds"]]
    page = "".join(sound("page.html").text)
    for part in ("Floors under", "If the model variance were", "unequal weights", "Weights capped"):
        assert part in page


def test_records_are_reviewed_without_their_outcomes(run) -> None:
    rows = [(label, k % 2, 10 + (7 * k) % 5) for label in LABELS[:5] for k in range(20)]
    text = 'records = "x"'
    for outcomes in (0, 1):
        with Path("records.csv").open("w", newline="", encoding="utf-8") as stream:
            table = csv.writer(stream)
            table.writerow(("area", "sick", "w"))
            table.writerows((label, sick * outcomes, w) for label, sick, w in rows)
        text = (
            '[records]\nfile = "records.csv"\noutcome = "sick"\nweight = "w"\nprevalence = 0.2\n'
            '[release]\nkind = "joint"\nvariances = "public"\nsource = "a census"\nmodel_variance = 0.001\n'
            'limit = 10\n[privacy]\nledger = "ledger.jsonl"\n'
        )
        Path("plan.toml").write_text(text, encoding="utf-8")
        made = run("sae", "review", "plan.toml", "--out", f"{outcomes}.html", "--bias", 0.01, "--json")
        assert (made.code, made.err) == (0, "")
        assert [row["n"] for row in made.record["areas"]] == [20] * 5
        assert made.record["trimming"]["sensitivity_agrees"]
    pages = [without_times(Path(f"{k}.html").read_text(encoding="utf-8")) for k in (0, 1)]
    assert pages[0] == pages[1]
    assert "column 'sick' of outcomes" in "".join(sound("0.html").text)


def test_a_seed_and_a_ledger_that_does_not_suffice_are_said(run) -> None:
    made = run("sae", "review", config(JOINT, ledger="none", seed=3), "--out", "seed.html", "--json").record
    assert made["guarantee"]["secure"] is False
    assert "FIXED SEED" in "".join(sound("seed.html").text)
    plan = config({**NOISY, "rho": 3}, WEIGHTS)
    made = run("sae", "review", plan, "--out", "much.html", "--json").record
    assert made["ledger"]["suffices"] is False
    page = "".join(sound("much.html").text)
    assert "does NOT suffice" in page
    assert "is refused: the budget does not suffice" in page
    other = run(
        "ledger",
        "create",
        "house.jsonl",
        *["--rho", "2", "--neighbours", "substitute", "--unit", "household"],
    )
    assert other.code == 0
    made = run("sae", "review", config(JOINT, ledger="house.jsonl"), "--out", "unit.html", "--json").record
    assert made["ledger"]["suffices"] is False
    assert "household" in made["ledger"]["reason"]
    made = run("sae", "review", config(JOINT, ledger="later.jsonl"), "--out", "later.html", "--json").record
    assert "does not exist yet" in made["ledger"]["note"]


def test_a_ledger_that_does_not_take_it_is_said_on_the_terminal_and_at_the_top(run) -> None:
    wrong = ("ledger", "create", "add.jsonl", "--rho", "2", "--neighbours", "add-remove")
    assert run(*wrong).code == 0
    asked = [
        ({**NOISY, "rho": 3}, WEIGHTS, "ledger.jsonl", "NOT take this release: the budget does not suffice"),
        (JOINT, {}, "add.jsonl", "NOT take this release: the event is for other neighbours"),
        (JOINT, {}, "later.jsonl", "does not exist yet"),
    ]
    for number, (release, areas, ledger, say) in enumerate(asked):
        done = run("sae", "review", config(release, areas, ledger), "--out", f"{number}.html")
        assert done.code == 0
        assert say in " ".join(done.out.split())
        page = " ".join("".join(sound(f"{number}.html").text).split())
        assert say in page[: page.index("What is asked")]
    quiet = run("sae", "review", config(JOINT), "--out", "quiet.html")
    assert "does NOT" not in quiet.out


MOVES = {"moves": True}


@pytest.mark.parametrize(("release", "areas"), [(JOINT, {}), (STAGES, WEIGHTS)])
def test_where_records_may_move_all_figures_are_those_of_moving_ones(run, release, areas) -> None:
    plan = config({**release, **({"limit": 4} if release is JOINT else {})}, {**areas, **MOVES})
    made = run("sae", "review", plan, "--out", "page.html", "--json").record
    page = " ".join("".join(sound("page.html").text).split())
    most = max(row["rho"] for row in made["areas"])
    assert made["most_exposed"]["rho"] == most <= made["rho"] * (1 + 1e-9)
    for gone in ("a record of ", "the record that pays most", "If the model variance were", "Floors under"):
        assert gone not in page
    if release is JOINT:
        assert most == pytest.approx(made["rho"])
        assert made["whole"]["rho_joint"] == pytest.approx(made["rho"])
        assert made["whole"]["a_free"] >= made["rho"]
        assert "a record that goes from" in page
        assert "rho of what could be released, for a record that may move" in page
        stay = run("sae", "review", config({**JOINT, "limit": 4}), "--out", "stay.html", "--json").record
        assert stay["whole"]["a_free"] < made["whole"]["a_free"]
    else:
        assert "A record that leaves or joins" in page


def test_where_records_may_move_no_weights_are_shown(run) -> None:
    plan = config({**JOINT, "limit": 4}, MOVES)
    run("sae", "review", plan, "--out", "a.html", "--counts", "n").refused("--counts", "not public")
    run("sae", "review", plan, "--out", "a.html", "--counts", "n", "--kish", "kish").refused("--kish")
    more = ("--weights", "survey.csv", "--weight", "W", "--bias", 0.1)
    run("sae", "review", plan, "--out", "a.html", *more).refused("--weights", "not public")
    assert not Path("a.html").exists()
    rows = [(label, k % 2, 10 + k % 5) for label in LABELS for k in range(20)]
    write(dict(zip(("area", "sick", "w"), map(list, zip(*rows, strict=True)), strict=True)), "records.csv")
    Path("plan.toml").write_text(
        '[areas]\nfile = "survey.csv"\ncovariates = ["x"]\nvariance = "D"\nmoves = true\n'
        '[records]\nfile = "records.csv"\noutcome = "sick"\nweight = "w"\n'
        "largest_weight = 20\nrest_weight = 150\n"
        '[release]\nvariances = "public"\nsource = "a census"\nmodel_variance = 0.004\nlimit = 100\n'
        '[privacy]\nledger = "ledger.jsonl"\n',
        encoding="utf-8",
    )
    made = run("sae", "review", "plan.toml", "--out", "page.html", "--json").record
    read = " ".join(made["looked_at"])
    assert "public columns of the file of areas" in read
    assert "NOT public where records may move" in read
    run("sae", "review", "plan.toml", "--out", "b.html", "--bias", 0.1).refused("--bias", "not public")


def test_no_option_may_name_a_confidential_column(run) -> None:
    plan = config(JOINT)
    run("sae", "review", plan, "--out", "a.html", "--counts", "y").refused("'y' is confidential", "--counts")
    more = ("--counts", "n", "--kish", "y")
    run("sae", "review", plan, "--out", "a.html", *more).refused("'y' is confidential", "--kish")
    more = ("--weights", "survey.csv", "--weight", "y", "--bias", 0.1)
    run("sae", "review", plan, "--out", "a.html", *more).refused("'y' is confidential", "--weight")
    plan = config(INVARIANT)
    for name in ("y", "D"):
        run("sae", "review", plan, "--out", "a.html", "--counts", name).refused("confidential", "--counts")
    assert run("sae", "review", config(JOINT), "--out", "a.html", "--counts", "D").code == 0


def test_long_tables_are_cut_unless_all_is_asked_for(run) -> None:
    count = 50
    write(
        {
            "area": [f"a{k:02}" for k in range(count)],
            "y": [0.1] * count,
            "D": [0.001] * count,
            "delta": [0.01 + 0.0001 * k for k in range(count)],
            "x": [k % 7 for k in range(count)],
        }
    )
    plan = config(JOINT)
    made = run("sae", "review", plan, "--out", "cut.html", "--json").record
    assert len(made["areas"]) == count
    cells = sound("cut.html").cells
    assert "a49" in cells
    assert "a00" not in cells
    assert "40 of 50" in "".join(sound("cut.html").text)
    assert run("sae", "review", plan, "--out", "all.html", "--all-areas").code == 0
    assert "a00" in sound("all.html").cells


def test_bad_input_is_refused_and_nothing_is_left(run) -> None:
    plan = config(JOINT)

    def refused(*words: object, say: tuple[str, ...]) -> None:
        run("sae", "review", *words).refused(*say)
        assert not list(Path().glob("*.html"))
        assert not list(Path().glob(".page*"))

    refused(plan, "--out", "page.txt", say=("page.txt", ".html"))
    refused(plan, "--out", "no/page.html", say=("no", "create it"))
    refused("none.toml", "--out", "page.html", say=("none.toml",))
    refused("survey.csv", "--out", "page.html", say=("survey.csv",))
    refused(plan, "--config", plan, "--out", "page.html", say=("--config",))
    refused(plan, "--kish", "kish", "--out", "page.html", say=("--counts",))
    refused(plan, "--counts", "missing", "--out", "page.html", say=("missing",))
    refused(plan, "--weights", "survey.csv", "--out", "page.html", say=("--bias",))
    refused(plan, "--bias", 0.1, "--out", "page.html", say=("--weights",))
    refused(plan, "--records", 0, "--out", "page.html", say=("--records",))
    refused(plan, "--lower", 1, "--upper", 0, "--out", "page.html", say=("--lower",))
    refused(config({**JOINT, "limit": "1/1000"}), "--out", "page.html", say=("limit", "area"))
    Path("empty").mkdir()
    refused("empty", "--out", "page.html", say=("provenance.json",))
    Path("page.html").write_text("mine", encoding="utf-8")
    run("sae", "review", plan, "--out", "page.html").refused("exists already")
    assert Path("page.html").read_text(encoding="utf-8") == "mine"


def test_a_release_of_another_kind_is_refused(run) -> None:
    plan = config(JOINT)
    assert run("sae", "release", plan, "--out", "made").code == 0
    path = Path("made/provenance.json")
    record = json.loads(path.read_text(encoding="utf-8"))
    record["provenance"]["mechanism"] = "group-sizes"
    path.write_text(json.dumps(record), encoding="utf-8")
    run("sae", "review", "made", "--out", "page.html").refused("not a release of small areas")


def test_a_page_that_cannot_be_written_leaves_nothing(run, monkeypatch) -> None:
    from pgsr.report import page

    def full(*_: object) -> str:
        raise OSError("disk full")

    monkeypatch.setattr(page.Page, "html", full)
    assert run("sae", "review", config(JOINT), "--out", "page.html").code != 0
    assert {path.name for path in Path().iterdir()} == {"survey.csv", "ledger.jsonl", "plan.toml"}


def test_pictures_are_of_public_figures(run, pictures) -> None:
    """Also those: the page is the same whatever the direct estimates are."""
    assert run("sae", "review", config(JOINT), "--out", "one.html", "--counts", "n").code == 0
    sound("one.html")
    write({**SURVEY, "y": [share / 2 for share in SHARES]})
    assert run("sae", "review", "plan.toml", "--out", "two.html", "--counts", "n").code == 0
    one, two = (Path(f"{name}.html").read_text(encoding="utf-8") for name in ("one", "two"))
    assert without_times(one) == without_times(two)
    assert one.count("<figure") == 3
    assert all(str(share) not in one for share in SHARES)


def test_a_finished_release_has_a_picture_of_its_intervals(run, pictures) -> None:
    assert run("sae", "release", config(JOINT), "--out", "made").code == 0
    assert run("sae", "review", "made", "--out", "page.html").code == 0
    reader = sound("page.html")
    assert any(name.startswith("intervals-") for name in reader.ids)


@pytest.mark.slow
def test_a_browser_shows_the_page_and_loads_nothing(run, tmp_path, pictures) -> None:
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if browser is None:
        pytest.skip("no chromium")
    assert run("sae", "review", config(JOINT), "--out", "page.html", "--counts", "n").code == 0
    words = [
        "--headless",
        "--no-sandbox",
        f"--user-data-dir={tmp_path / 'browser'}",
        "--enable-logging=stderr",
    ]
    done = subprocess.run(
        [browser, *words, "--dump-dom", f"file://{tmp_path / 'page.html'}"],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    if done.returncode != 0:
        pytest.skip(f"chromium does not start here: {done.stderr[-200:]}")
    assert "For the reviewer to confirm" in done.stdout
    assert "CONSOLE" not in done.stderr
