"""`demo`, `generate`, `ledger`, `warmup`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pgsr.bench.presets import PRESETS
from pgsr.ledger import Ledger
from pgsr.mechanism import Release
from pgsr.privacy import PrivacyEvent


def test_the_demo_releases_the_households_of_korea(run) -> None:
    done = run("demo", "--out", "demo", "--json")
    assert (done.code, done.err) == (0, "")
    record = done.record
    assert [row["level"] for row in record["levels"]] == ["nation", "province", "district", "dong"]
    assert [row["regions"] for row in record["levels"]] == [1, 17, 250, 3489]
    for row in record["levels"]:
        assert (row["share"], row["scale"]) == ("1/4", "8")
    dong = record["levels"][-1]
    assert dong["l1_noisy"] == pytest.approx(dong["expected_l1_noisy"], rel=0.05)
    assert dong["l1_released"] < dong["l1_noisy"]
    assert record["solve"]["certificate"] is True
    assert set(record["solve"]["violations"].values()) == {0}
    assert record["files"] == sorted(
        str(p.relative_to("demo")) for p in Path("demo").rglob("*") if p.is_file()
    )
    made = Release.load("demo")
    assert made.guarantee.secure
    assert made.guarantee.event == PrivacyEvent.pure(1)
    run("demo", "--out", "demo").refused("exists already", "demo")

    # What the demo says next works, until the budget is used up.
    assert run("release", "demo/input/release.toml", "--out", "next").code == 0
    run("release", "demo/input/release.toml", "--out", "third").refused("does not suffice")
    assert [path.name for path in Path().iterdir() if path.name.startswith(".")] == []


def test_the_demo_says_that_it_is_one(run) -> None:
    done = run("demo")
    assert done.code == 0
    assert max(map(len, done.out.splitlines())) <= 80
    text = " ".join(done.out.split())
    assert "These data are public, so this is a demonstration" in text
    assert "CONFIDENTIAL" in text
    assert Path("pgsr-demo/guarantee.json").is_file()


def test_an_interrupted_demo_leaves_nothing(run, monkeypatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("pgsr.groupsizes.hierarchical.HierarchicalMechanism.estimate", interrupted)
    done = run("demo", "--out", "demo")
    assert (done.code, len(done.err.splitlines())) == (130, 1)
    assert list(Path().iterdir()) == []


@pytest.mark.parametrize("preset", PRESETS)
def test_every_preset_is_generated_and_solved(run, preset) -> None:
    scale = "0.0001" if preset == "us" else "0.02"
    words = ("generate", preset, "--out", "instance.json", "--scale", scale, "--sizes", "3", "--json")
    record = run(*words).record
    assert (record["preset"], record["sizes"], record["out"]) == (preset, 3, "instance.json")
    assert run("solve", "instance.json", "--json").record["certificate"] is True


def test_the_help_names_every_preset(run) -> None:
    text = " ".join(run("generate", "--help").out.split())
    assert [name for name in PRESETS if name not in text] == []
    run("generate", "nowhere", "--out", "x.json").refused("unknown preset", *PRESETS)


def test_the_same_seed_gives_the_same_instance(run) -> None:
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        assert (
            run("generate", "uniform", "--scale", "0.02", "--seed", seed, "--out", f"{name}.json").code == 0
        )
    a, b, c = (Path(f"{name}.json").read_bytes() for name in "abc")
    assert a == b
    assert a != c


@pytest.mark.parametrize("kind", ["units", "persons"])
def test_generated_microdata_can_be_released(run, kind) -> None:
    record = run("generate", "uniform", "--scale", "0.05", "--as", kind, "--out", "data", "--json").record
    done = run("release", "data/release.toml", "--out", "out", "--json")
    assert done.code == 0
    assert done.record["queries"][0]["total"] == record["total"]


def test_generate_refuses(run) -> None:
    for words, text in (
        (("--scale", "0"), "scale"),
        (("--sizes", "0"), "sizes"),
        (("--epsilon", "0"), "epsilon"),
        (("--epsilon", "much"), "--epsilon"),
        (("--seed", "-1"), "seed"),
        (("--model", "other"), "--model"),
        (("--as", "rows"), "--as"),
        (("--out", "missing/x.json"), "folder not found"),
    ):
        run("generate", "uniform", "--out", "x.json", *words).refused(text)
        assert list(Path().iterdir()) == []


def test_an_instance_may_be_for_cumulative_counts(run) -> None:
    words = ("generate", "uniform", "--scale", "0.02", "--model", "cumulative", "--out", "c.json")
    assert run(*words).code == 0
    assert json.loads(Path("c.json").read_text(encoding="utf-8"))["model"] == "cumulative"
    assert run("solve", "c.json", "--json").record["certificate"] is True


def test_a_ledger_is_made_and_shown(run) -> None:
    assert run("ledger", "create", "ledger.jsonl", "--epsilon", "3/2").code == 0
    Ledger.open("ledger.jsonl").charge(PrivacyEvent.pure("1/3"), label="a table")
    record = run("ledger", "show", "ledger.jsonl", "--json").record
    assert (record["kind"], record["limit"]["epsilon"]) == ("pure", "3/2")
    assert (record["spent"]["epsilon"], record["remaining"]["epsilon"]) == ("1/3", "7/6")
    assert [entry["label"] for entry in record["entries"]] == ["a table"]
    shown = run("ledger", "show", "ledger.jsonl").out
    assert "7/6" in shown
    assert "a table" in shown
    assert max(map(len, shown.splitlines())) <= 80


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        (("--epsilon", "1"), "pure"),
        (("--rho", "1/2"), "zcdp"),
        (("--epsilon", "1", "--delta", "1e-9"), "approximate"),
    ],
)
def test_kinds_of_ledgers(run, words, kind) -> None:
    record = run("ledger", "create", "ledger.jsonl", *words, "--json").record
    assert (record["kind"], record["entries"]) == (kind, [])


def test_bad_ledgers(run, tmp_path) -> None:
    for words in ((), ("--delta", "0.1"), ("--epsilon", "1", "--rho", "1"), ("--rho", "1", "--delta", "0.1")):
        run("ledger", "create", "x.jsonl", *words).refused("--epsilon")
    run("ledger", "create", "x.jsonl", "--epsilon", "-1").refused("epsilon")
    run("ledger", "create", "missing/x.jsonl", "--epsilon", "1").refused("missing/x.jsonl")
    run("ledger", "show", "x.jsonl").refused("no such ledger", "x.jsonl")
    assert list(tmp_path.iterdir()) == []
    run("ledger", "create", "x.jsonl", "--epsilon", "1")
    run("ledger", "create", "x.jsonl", "--epsilon", "1").refused("there is a file already", "x.jsonl")
    (tmp_path / "y.jsonl").write_text('{"format": "pgsr-ledger/9"}\n', encoding="utf-8")
    run("ledger", "show", "y.jsonl").refused("unknown format", "y.jsonl")
    (tmp_path / "z.jsonl").write_text("not a ledger\n", encoding="utf-8")
    run("ledger", "show", "z.jsonl").refused("z.jsonl", "line 1")


def test_after_warmup_nothing_is_compiled(run, write, instance) -> None:
    assert run("warmup", "--json").record["solved"] > 0
    before = signatures()
    bounded = instance()
    bounded["regions"][1].update(lower=[1, 0, 0], upper=[9, 9, 3], weight=0.3)
    write(bounded, "bounded.json")
    assert run("solve", write(instance())).code == 0
    assert run("solve", "instance.json", "--relax").code == 0
    assert run("solve", "instance.json", "--solver", "dp").code == 0
    assert run("solve", "bounded.json", "--out", "s.json").code == 0
    assert run("verify", "bounded.json", "s.json").code == 0
    assert run("generate", "uniform", "--scale", "0.05", "--out", "folder").code == 0
    assert run("solve", "folder").code == 0
    assert run("demo").code == 0
    assert signatures() == before


def signatures() -> dict[str, int]:
    """How many signatures each kernel of ours has been compiled for, in this process."""
    import sys

    from numba.core.dispatcher import Dispatcher

    return {
        f"{name}.{key}": len(value.signatures)
        for name, module in list(sys.modules.items())
        if name.startswith("pgsr.")
        for key, value in vars(module).items()
        if isinstance(value, Dispatcher)
    }


def test_the_version_as_json(run) -> None:
    assert run("--version", "--json").record["name"] == "pgsr"
    assert run("--version").out.startswith("pgsr ")
    run("--json").refused("--json")
    run("--json", "solvers").refused("after the command")


def test_endless_limits_and_negative_seeds_are_refused(run, write, instance) -> None:
    path = write(instance())
    run("solve", path, "--time-limit", "inf").refused("not a finite number", "--time-limit")
    run("solve", path, "--seed", "-1").refused("negative", "--seed")


def test_a_large_instance_is_not_written_as_json(run, monkeypatch) -> None:
    words = ("generate", "uniform", "--scale", "0.02", "--sizes", "3", "--out")
    assert run(*words, "small.json").code == 0
    monkeypatch.setattr("pgsr.models.files.LARGE", 5)
    run(*words, "large.json").refused("too many for a JSON file", "large.json", "give a folder name")
    assert not Path("large.json").exists()
    assert run(*words, "large").code == 0
