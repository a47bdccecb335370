"""`inequality`: sensitivity, release, example; ledger, public sizes, refusals, failures after the charge."""

from __future__ import annotations

import csv
import re
import shlex
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pgsr.ledger import Ledger
from pgsr.mechanism import Release

FILES = ["guarantee.json", "inequality.csv", "inequality.parquet", "noisy.parquet", "provenance.json"]
ROWS = ("17.25,01", "23.5,01", "5.125,02", "8.75,02", "12.375,02")
CONFIDENTIAL = tuple(row.split(",")[0] for row in ROWS)


@pytest.fixture
def incomes(tmp_path, run) -> Path:
    """Five incomes in two groups, and a ledger of epsilon 5."""
    (tmp_path / "incomes.csv").write_text("\n".join(["income,state", *ROWS]) + "\n", encoding="utf-8")
    made = run("ledger", "create", "ledger.jsonl", "--epsilon", "5", "--neighbours", "substitute")
    assert made.code == 0
    return tmp_path


def words(**changed: object) -> list[object]:
    """The words of a release of the MLD of all five; None leaves an option out, True is a flag."""
    options = {
        "column": "income",
        "lower": 1,
        "upper": 100,
        "epsilon": "1/2",
        "index": "mld",
        "n": 5,
        "ledger": "ledger.jsonl",
    }
    options.update(changed)
    found: list[object] = ["inequality", "release", "incomes.csv"]
    for name, value in options.items():
        if value is not None and value is not False:
            found += [f"--{name.replace('_', '-')}", *([] if value is True else [value])]
    return found


def entries() -> int:
    return len(Path("ledger.jsonl").read_text(encoding="utf-8").splitlines()) - 1


def names() -> set[str]:
    return {path.name for path in Path().iterdir()}


def write(name: str, *rows: str) -> str:
    Path(name).write_text("\n".join(rows) + "\n", encoding="utf-8")
    return name


def test_sensitivity_gives_the_numbers_of_the_paper(run) -> None:
    write("x.csv", "x", "2", "12", "5", "8", "3")
    given = (
        "inequality",
        "sensitivity",
        "x.csv",
        "--column",
        "x",
        "--lower",
        1,
        "--upper",
        20,
        "--beta",
        0.5,
    )
    found = run(*given, "--index", "mld", "--json").record
    assert found["confidential"] is True
    assert found["local"] == pytest.approx(0.1787867388461467, abs=1e-12)
    assert found["global"] == pytest.approx(0.969469463203047, abs=1e-10)
    assert (found["smooth"], found["rank"]) == (pytest.approx(0.1963267157971185, abs=1e-12), 2)
    a = [0.1787867388461467, 0.3062900789438748, 0.5336713439923506, 0.7600102862111886, 0.9257773425210815]
    assert found["ladder"] == pytest.approx([*a, 0.969469463203047], abs=1e-12)
    two = run(*given, "--index", "theil", "--entries", 2, "--json").record
    assert two["ladder"] == pytest.approx([0.1428338330, 0.4797013234], abs=1e-9)
    shown = run(*given, "--index", "ge2").out
    assert shown.startswith("CONFIDENTIAL")
    assert max(map(len, shown.splitlines())) <= 80


def test_sensitivity_refuses_what_lies_outside_unless_it_may_clip(run, incomes) -> None:
    given = ("inequality", "sensitivity", "incomes.csv", "--column", "income", "--index", "mld", "--beta", 1)
    low = (*given, "--lower", 6, "--upper", 20)
    run(*low).refused("outside the bounds", "incomes.csv, column 'income', line 3", "--clip")
    found = run(*low, "--clip", "--json").record
    write("clipped.csv", "income", "17.25", "20", "6", "8.75", "12.375")
    other = run("inequality", "sensitivity", "clipped.csv", *low[3:], "--json").record
    assert found["ladder"] == other["ladder"]
    write("more.csv", "income", "17.25", "18", "7.25", "8.75", "12.375")
    write("less.csv", "income", "16.25", "17", "6.25", "7.75", "11.375")
    of = [run("inequality", "sensitivity", f"{name}.csv", *low[3:], "--json") for name in ("more", "less")]
    shifted = run("inequality", "sensitivity", "less.csv", *low[3:], "--shift", 1, "--json").record
    assert shifted["ladder"] == of[0].record["ladder"] != of[1].record["ladder"]
    run(*given, "--lower", 20, "--upper", 20).refused("--lower, --upper")
    run(*given, "--lower", 0, "--upper", 20).refused("not positive: --lower", "--shift 1")
    run(*given, "--lower", 1, "--upper", "nan").refused("--upper")
    run(*given, "--lower", 1, "--upper", 99, "--shift", -1).refused("the shift is negative: --shift")
    run(*given[:-1], 0, "--lower", 1, "--upper", 99).refused("beta is not positive: --beta")
    run(*given[:6], "gini", "--beta", 1, "--lower", 1, "--upper", 99).refused("unknown index 'gini': --index")


def test_a_release_writes_tables_guarantee_and_provenance(run, incomes) -> None:
    done = run(*words(index="mld,theil", out="out"), "--json")
    assert (done.code, done.err) == (0, "")
    assert sorted(path.name for path in Path("out").iterdir()) == FILES
    assert names() == {"incomes.csv", "ledger.jsonl", "out"}
    record = done.record
    assert record["epsilon"] == {"index": "1/2", "upper": None, "sum": "1"}
    assert record["cost"]["epsilon"] == "1"
    assert [(row["index"], row["epsilon"]) for row in record["indices"]] == [
        ("mld", 0.5),
        ("atkinson_1", 0.0),
        ("theil", 0.5),
    ]
    mld, atkinson, _ = (row["value"] for row in record["indices"])
    assert atkinson == pytest.approx(1 - np.exp(-mld))
    made = Release.load("out")
    assert made.guarantee.to_dict() == record["guarantee"]
    assert made.guarantee.secure
    assert made.estimate.tables["inequality"]["value"].tolist() == [row["value"] for row in record["indices"]]
    assert record["ledger"]["remaining"]["epsilon"] == "4"
    assert (entries(), Ledger.open("ledger.jsonl").entries[0].label) == (1, "inequality mld, theil")
    text = done.out + "".join(path.read_text("utf-8") for path in Path("out").glob("*.[jc]s*"))
    assert [value for value in CONFIDENTIAL if value in text] == []


def test_readable_output(run, incomes) -> None:
    grouped = {"n": None, "group": "state", "public_sizes": True, "overall": "mld"}
    for more in ({"dry_run": True}, {"out": "out"}, {**grouped, "out": "groups"}):
        done = run(*words(shift=1, **more))
        assert done.code == 0
        assert max(map(len, done.out.splitlines())) <= 80
        assert "-DP (pure" in done.out
        assert [value for value in CONFIDENTIAL if value in done.out] == []


def test_a_dry_run_spends_and_writes_nothing(run, incomes) -> None:
    before = names()
    record = run(*words(dry_run=True, out="out"), "--json").record
    assert (record["dry_run"], record["suffices"], record["out"], record["indices"]) == (
        True,
        True,
        None,
        None,
    )
    assert run(*words(dry_run=True, epsilon=6), "--json").record["suffices"] is False
    assert run(*words(dry_run=True, ledger=None), "--json").record["suffices"] is None
    assert (names(), entries()) == (before, 0)


def test_a_private_upper_bound_is_paid_for_once(run, incomes) -> None:
    private = {"upper": "private", "epsilon_upper": "0.15", "upper_grid": "50,400,2"}
    grouped = {"n": None, "group": "state", "public_sizes": True}
    record = run(*words(index="mld,theil", epsilon=1, out="out", **private, **grouped), "--json").record
    assert record["epsilon"] == {"index": "1", "upper": "3/20", "sum": "43/20"}
    assert record["upper"] in (50, 100, 200, 400)
    assert {row["upper"] for row in record["indices"]} == {record["upper"]}
    assert Path("out/upper_bound.parquet").exists()
    run(*words(upper="private")).refused("--epsilon-upper", "0.15")
    run(*words(epsilon_upper="1")).refused("the upper bound is public", "--epsilon-upper")
    run(*words(**{**private, "upper_grid": "1,100"})).refused("not above the lower bound", "--upper-grid")
    run(*words(**{**private, "upper_grid": "7"})).refused("--upper-grid", "1000,1e9,1.02")
    run(*words(**{**private, "epsilon_upper": "0"})).refused("--epsilon-upper")
    default = {**private, "upper_grid": None, "dry_run": True}
    grid = run(*words(lower=0.5, **default), "--json").record["parameters"]["upper"]
    assert (grid["first"], grid["ratio"]) == ("1", "51/50")
    assert (51 / 50) ** (grid["count"] - 2) < 5e8 <= (51 / 50) ** (grid["count"] - 1)


def test_the_shortest_command_needs_neither_number_nor_ledger(run, incomes) -> None:
    done = run(*words(n=None, ledger=None))
    assert done.code == 0
    assert "recorded nowhere" in done.out
    assert run(*words(n=None, ledger=None), "--json").record["ledger"] is None
    assert "recorded nowhere" not in run(*words()).out


def test_groups_need_public_sizes(run, incomes) -> None:
    grouped = {"n": None, "group": "state"}
    run(*words(**grouped)).refused("numbers of records are missing", "--public-sizes")
    run(*words(group="state")).refused("--sizes")
    assert run(*words(n=None), "--json").record["parameters"]["sizes"] == len(ROWS)
    run(*words(public_sizes=True)).refused("stated twice")
    run(*words(sizes="sizes.csv", n=None)).refused("without --group")
    run(*words(overall="mld")).refused("there are no groups: --overall")
    write("sizes.csv", "state,n", "02,3", "01,2")
    record = run(*words(sizes="sizes.csv", overall="mld", **grouped), "--json").record
    assert record["parameters"]["sizes"] == {"02": 3, "01": 2}
    assert record["epsilon"]["sum"] == "1"
    assert [row["group"] for row in record["indices"] if row["index"] == "mld"] == ["all", "02", "01"]
    assert {"mld_within", "mld_between"} <= {row["index"] for row in record["indices"]}
    # Those of the data are not listed in the order of the records, which may tell of the incomes.
    write("incomes.csv", "income,state", *reversed(ROWS))
    record = run(*words(public_sizes=True, **grouped), "--json").record
    assert list(record["parameters"]["sizes"].items()) == [("01", 2), ("02", 3)]


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (("02,2", "01,2"), ("another number of records", "group '02'")),
        (("02,3",), ("not in the public list", "incomes.csv, column 'state', line 2")),
        (("02,3", "01,2", "03,0"), ("an empty group", "sizes.csv, column 'n', line 4")),
        (("02,3", "01,2", "03,4"), ("another number of records", "group '03'")),
        (("02,3", "01,2", "02,3"), ("a label twice", "sizes.csv, column 'state', line 4")),
        (("02,3", "01,1"), ("public minimum of 2", "group '01'")),
    ],
)
def test_sizes_that_do_not_fit_are_refused(run, incomes, rows, said) -> None:
    write("sizes.csv", "state,n", *rows)
    run(*words(n=None, group="state", sizes="sizes.csv")).refused(*said)
    assert entries() == 0


@pytest.mark.parametrize(
    ("cell", "said"),
    [
        ("nan", "not a number"),
        ("inf", "not a number"),
        ("3,5", "cells for 2 columns"),
        ("1e99", "magnitude above 2^53"),
        ("", "missing value"),
        ("-4.0625", "a negative income"),
        ("0.0625", "below the lower bound"),
        ("612.5", "above the upper bound"),
    ],
)
def test_bad_incomes_are_refused_by_line_and_not_shown(run, incomes, cell, said) -> None:
    write("incomes.csv", "income,state", *ROWS[:2], f"{cell},02", *ROWS[3:])
    done = run(*words())
    done.refused(said, "line 4")
    assert not cell or cell == "nan" or cell not in done.err
    assert entries() == 0


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"lower": 100}, ("not below the upper bound", "--lower, --upper")),
        ({"lower": 0}, ("not positive", "--lower", "--shift 1")),
        ({"lower": "nan"}, ("--lower",)),
        ({"upper": "nan"}, ("--upper",)),
        ({"upper": "1e400"}, ("too large", "--upper")),
        ({"upper": 1.0005}, ("too close together",)),
        ({"epsilon": 0}, ("epsilon is not between",)),
        ({"epsilon": "-1"}, ("epsilon is not between",)),
        ({"epsilon": "x"}, ("not a number", "--epsilon")),
        ({"noise": "cauchy", "beta": "1/2"}, ("beta is not above 2^-40 and below epsilon",)),
        ({"noise": "cauchy", "beta": "9/2"}, ("beta is not above 2^-40 and below epsilon",)),
        ({"noise": "ladder", "beta": "1/4"}, ("no meaning for noise 'ladder'",)),
        ({"noise": "gauss"}, ("--noise",)),
        ({"index": "gini"}, ("unknown index 'gini'", "--index")),
        ({"index": "mld,mld"}, ("'mld' twice", "--index")),
        ({"n": 4}, ("another number of records",)),
        ({"n": 1}, ("fewer than 2 records", "--n")),
        ({"shift": -1}, ("negative", "--shift")),
        ({"unit": " "}, ("--unit",)),
        ({"column": "wage"}, ("no column 'wage'", "columns are 'income', 'state'")),
        ({"n": None, "group": "state", "public_sizes": True, "minimum": 3}, ("minimum of 3", "group '01'")),
        ({"out": "no/where"}, ("folder not found",)),
        ({"ledger": "none"}, ("--seed",)),
        ({"ledger": "nowhere"}, ("no such ledger", "pgsr ledger create")),
        ({"unit": "household"}, ("the ledger is for one person", "--unit household")),
        ({"epsilon": 6}, ("budget does not suffice", "left: epsilon 5")),
    ],
)
def test_a_release_that_cannot_be_is_refused_before_the_charge(run, incomes, changed, said) -> None:
    before = names()
    run(*words(**changed)).refused(*said)
    assert (names(), entries()) == (before, 0)


def test_too_few_records(run, incomes) -> None:
    for rows in ((), ROWS[:1]):
        write("incomes.csv", "income,state", *rows)
        run(*words(n=None, public_sizes=True)).refused("fewer than 2 records", "incomes.csv")
        found = run("inequality", "sensitivity", *words()[2:9], "--beta", 1, "--index", "mld")
        found.refused("2 incomes or more", "incomes.csv")


def test_a_ledger_for_added_records_is_refused(run, incomes) -> None:
    assert run("ledger", "create", "other.jsonl", "--epsilon", "5").code == 0
    run(*words(ledger="other.jsonl")).refused("add-remove", "--neighbours substitute")


@pytest.mark.parametrize("noise", ["ladder", "cauchy", "paper", "laplace"])
def test_a_seed_is_for_experiments_and_says_so(run, incomes, noise) -> None:
    given = words(ledger="none", seed=7, noise=noise)
    first, again = run(*given, "--json").record, run(*given, "--json").record
    assert first == again
    assert (first["ledger"], first["guarantee"]["secure"]) == (None, False)
    assert "NOT PRIVATE" in run(*given).out
    assert first["parameters"]["queries"][0]["noise"] == noise
    assert entries() == 0


def test_clipping_and_shift_reach_the_mechanism(run, incomes) -> None:
    given = {"ledger": "none", "seed": 3, "lower": 6, "upper": 20, "epsilon": 60}
    clipped = run(*words(clip=True, **given), "--json").record["indices"][0]["value"]
    from pgsr.inequality.indices import mld

    assert clipped == pytest.approx(mld(np.array([17.25, 20, 6, 8.75, 12.375])), abs=0.05)
    shifted = run(*words(shift=1000, **{**given, "lower": 1000, "upper": 1100}), "--json").record
    assert shifted["indices"][0]["value"] == pytest.approx(0, abs=0.01)
    assert shifted["parameters"]["shift"] == 1000


def test_parquet_and_types_of_numbers(run, incomes) -> None:
    given = ("inequality", "sensitivity", "x.parquet", "--column", "x", "--lower", 1, "--upper", 20)
    given += ("--beta", 1, "--index", "mld", "--json")
    found = []
    for kind in (pa.int32(), pa.float32(), pa.float64(), pa.decimal128(21, 2), pa.string()):
        pq.write_table(pa.table({"x": pa.array([2, 3, 5, 8, 12]).cast(kind)}), "x.parquet")
        found.append(run(*given).record)
    assert all(one == found[0] for one in found)
    pq.write_table(pa.table({"x": pa.array([2.0, None, 5])}), "x.parquet")
    run(*given).refused("missing value", "x.parquet, column 'x', row 2")
    pq.write_table(pa.table({"x": pa.array([True, False])}), "x.parquet")
    run(*given).refused("column of type bool", "give numbers")
    write("x.csv", "x", "+2", " 3. ", "5e0", "8", "1.2E+1")
    assert run(*given[:2], "x.csv", *given[3:]).record == found[0]


def test_interrupted_while_writing_what_was_drawn_is_kept(run, incomes, monkeypatch) -> None:
    save = Release.save

    def interrupted(self, folder) -> None:
        if str(folder) == "out":
            raise KeyboardInterrupt
        save(self, folder)

    monkeypatch.setattr(Release, "save", interrupted)
    done = run(*words(out="out"))
    assert (done.code, entries()) == (130, 1)
    assert "paid for and kept in out.measured" in done.err
    assert {"noisy.parquet", "guarantee.json"} <= {path.name for path in Path("out.measured").iterdir()}
    monkeypatch.setattr(Release, "save", save)
    run(*words(out="out")).refused("another run writes or wrote here: out.measured")
    assert entries() == 1


def test_interrupted_before_the_draw_nothing_is_left(run, incomes, monkeypatch) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    before = names()
    monkeypatch.setattr("pgsr.inequality.mechanism.InequalityMechanism.measure", interrupted)
    done = run(*words(out="out"))
    assert (done.code, entries(), names()) == (130, 1, before)
    assert "ledger.jsonl was charged before, and that cost is spent" in done.err
    monkeypatch.setattr("pgsr.ledger.Ledger.charge", interrupted)
    done = run(*words())
    assert (done.code, entries(), names()) == (130, 1, before)
    assert "may have been charged" in done.err


def test_output_that_cannot_be_shown_hides_no_release(run, incomes, monkeypatch) -> None:
    def broken(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("pgsr.cli.inequality_shown.show_release", broken)
    done = run(*words(out="out"))
    assert done.code == 130
    assert "the release is complete: it is written to out, and ledger.jsonl is charged" in done.err
    assert "it is written nowhere, and ledger.jsonl is charged" in run(*words()).err
    assert sorted(path.name for path in Path("out").iterdir()) == FILES


def test_the_example_is_the_packaged_data(run) -> None:
    record = run("inequality", "example", "--out", "x.csv", "--json").record
    assert record["licence"] == "CC0"
    with open("x.csv", encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert (len(rows), list(rows[0])) == (74_194, record["columns"])
    run("inequality", "example", "--out", "x.csv").refused("exists already")
    run("inequality", "example", "--out", "x").refused(".csv")


def test_help_and_no_command(run) -> None:
    shown = run("inequality").out
    assert all(name in shown for name in ("release", "sensitivity", "example"))
    assert max(map(len, run("inequality", "release", "--help").out.splitlines())) <= 80


def test_the_page_runs(run, capsys) -> None:
    for folder in Path(__file__).resolve().parents:
        page = folder / "docs" / "inequality.md"
        if page.is_file():
            break
    else:
        pytest.skip("no source tree: this test runs against an installed wheel")
    blocks = re.findall(r"```(\w+)\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    assert {language for language, _ in blocks} == {"sh", "python"}
    for language, block in blocks:
        if language == "python":
            exec(compile(block, "inequality.md", "exec"), {})
            continue
        for line in block.splitlines():
            first, *rest = shlex.split(line, comments=True)
            assert first == "pgsr"
            done = run(*rest)
            assert (done.code, done.err) == (0, ""), line
