"""Best-known values: what is packaged is consistent, some of it is proven again, and records only improve."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from importlib.resources import files
from pathlib import Path

import pytest

from pgsr.bench.best_known import (
    BestKnown,
    all_known,
    best_known,
    better,
    improve,
    learn,
    main,
    read_known,
    write_known,
)
from pgsr.bench.library import open_case
from pgsr.bench.library_list import listed
from pgsr.bench.library_page import tables
from pgsr.bench.library_solving import _constructed, solved
from pgsr.bench.pages import put_between
from pgsr.bench.results import Store
from pgsr.errors import InputError

KNOWN = sorted(all_known().values(), key=lambda known: (known.entries, known.name))
QUICK = [known for known in KNOWN if known.entries < 3_000 and known.proof == "certificate"][::10]


def opened(known: BestKnown):
    return open_case(known.name, known.model, known.epsilon, known.noise, known.seed)


def label(known: BestKnown) -> str:
    return f"{known.name} {known.model} {known.epsilon} {known.noise} {known.seed}"


def test_every_listed_instance_has_a_value():
    asked = Counter(str(one) for one in listed())
    assert max(asked.values()) == 1
    there = {(known.name, known.model, known.epsilon, known.noise, known.seed) for known in KNOWN}
    for one in listed():
        free = (one.name, one.model, one.epsilon, one.noise, one.seed)
        assert free in there or (one.name, one.model, None, None, None) in there, one


def test_values_are_consistent():
    for known in KNOWN:
        assert known.proof in ("certificate", "construction", "solver", ""), known
        if known.bound is not None:
            assert known.bound <= known.objective, known
        if known.linear is not None:
            assert known.model == "cumulative", known
            assert known.linear <= known.objective + 1e-6, known
        if known.proven:
            assert known.bound == known.objective, known
        assert best_known(known.fingerprint) == known
    text = files("pgsr.bench").joinpath("best_known.json").read_text(encoding="utf-8")
    assert len(json.loads(text)["values"]) == len(KNOWN), "a fingerprint stands twice"


def test_the_published_vectors_have_their_published_optima():
    text = files("pgsr.solvers.conformance").joinpath("vectors.json").read_text(encoding="utf-8")
    numbers = Counter()
    for record in json.loads(text):
        numbers[record["model"]] += 1
        case = open_case(f"vectors:number={numbers[record['model']]}", record["model"])
        known = best_known(case.fingerprint)
        assert known is not None
        assert known.proven
        assert known.objective == record["expected"]["integer_optimum"]
        if known.linear is not None:
            expected = record["expected"]["piecewise_linear_relaxation"]
            assert known.linear == pytest.approx(expected, abs=1e-4)


def test_the_hard_cases_have_the_values_their_titles_say():
    for copies in (1, 2, 4, 16, 64, 256):
        name = "fractional" if copies == 1 else f"fractional:copies={copies}"
        known = best_known(open_case(name).fingerprint)
        assert known is not None
        assert (known.objective, known.proven) == (49 * copies, True)
        assert known.linear == pytest.approx(48.5 * copies)
    assert best_known(open_case("window-trap").fingerprint).objective == 36


@pytest.mark.parametrize("known", QUICK, ids=label)
def test_some_are_found_and_proven_again(known):
    case = opened(known)
    assert case.fingerprint == known.fingerprint
    found = solved(case, 20.0)
    assert found.objective == known.objective
    assert found.proven == known.proven


@pytest.mark.slow
@pytest.mark.parametrize("known", [known for known in KNOWN if known not in QUICK], ids=label)
def test_all_are_found_again(known):
    case = opened(known)
    assert case.fingerprint == known.fingerprint
    found = solved(case, 60.0)
    assert found.objective >= known.objective
    if known.proven and found.proven:
        assert found.objective == known.objective


def test_an_unknown_problem_has_no_value():
    assert best_known("0" * 64) is None


def stated(**changes) -> BestKnown:
    facts = {
        "name": "korea",
        "model": "hierarchical",
        "noise": "geometric",
        "epsilon": "1",
        "seed": 0,
        "fingerprint": "f" * 64,
        "entries": 10,
        "objective": 100,
        "bound": 90,
        "proof": "",
        "linear": None,
        "solver": "one",
        "version": "1",
        "date": "2026-01-01",
    }
    return BestKnown(**(facts | changes))


def test_the_better_of_two_records():
    old = stated()
    assert better(None, old) == old
    lower = stated(objective=95, bound=80, solver="two")
    assert better(old, lower) == better(lower, old) == replace(lower, bound=90)
    tighter = stated(bound=97, linear=96.5)
    assert better(old, tighter).bound == 97
    assert better(old, tighter).linear == 96.5
    proven = stated(bound=100, proof="certificate", solver="three")
    assert better(old, proven) == better(proven, old) == proven
    assert better(proven, stated(bound=100, proof="solver")).proof == "certificate"


def test_a_contradiction_is_not_kept():
    proven = stated(bound=100, proof="certificate")
    with pytest.raises(InputError, match="below the optimum 100"):
        better(proven, stated(objective=99))
    with pytest.raises(InputError, match="below the optimum 100"):
        better(stated(objective=99), proven)


def row(**changes):
    facts = {
        "suite": "mine",
        "key": "a",
        "family": "groupsizes",
        "instance": "korea",
        "fingerprint": "f" * 64,
        "model": "hierarchical",
        "method": "two",
        "kind": "exact",
        "noise": "geometric",
        "epsilon": 0.1,
        "seed": 0,
        "entries": 10,
        "outcome": "ran",
        "point_status": "feasible",
        "certificate": True,
        "objective": 95.0,
        "objective_exact": "95",
        "bound": 95.0,
        "version": "2",
        "pgsr": "0",
        "started": "2026-02-03T04:05:06+00:00",
    }
    return facts | changes


def test_results_of_a_suite_are_learnt_from():
    known = {"f" * 64: stated()}
    (changed,) = learn(known, [row()])
    assert (changed.objective, changed.proof, changed.solver) == (95, "certificate", "two")
    assert (changed.epsilon, changed.date) == ("1/10", "2026-02-03")
    assert known["f" * 64] == changed
    assert learn(known, [row(method="three")]) == []


@pytest.mark.parametrize(
    "changes",
    [
        {"outcome": "killed"},
        {"point_status": "infeasible"},
        {"kind": "rounded"},
        {"kind": "relaxed", "objective_exact": None},
        {"fingerprint": None},
        {"instance": "file:mine.json"},
        {"objective_exact": "101", "certificate": None, "bound": None},
    ],
)
def test_only_better_feasible_tables_of_the_library_are_learnt(changes):
    known = {"f" * 64: stated()}
    assert learn(known, [row(**changes)]) == []
    assert known == {"f" * 64: stated()}


def test_files_come_back_and_others_are_refused(tmp_path):
    path = tmp_path / "known.json"
    assert read_known(path) == {}
    big = stated(objective=2**80 + 1, bound=2**80 + 1, proof="certificate")
    write_known(path, [big])
    assert read_known(path) == {big.fingerprint: big}
    path.write_text('{"format": "pgsr-best-known/9", "values": []}')
    with pytest.raises(InputError, match="this version reads"):
        read_known(path)
    path.write_text("[]")
    with pytest.raises(InputError, match="not a file of best-known values"):
        read_known(path)


def test_a_file_is_made_and_improved(tmp_path):
    path, said = tmp_path / "known.json", []
    first = improve(path, only="vectors:number=30", limit_s=20, log=said.append)
    assert read_known(path) == first
    assert len(first) == len(said) == 2
    assert all(known.proven for known in first.values())
    assert improve(path, only="vectors:number=30", log=said.append) == first
    assert len(said) == 2, "proven ones are not solved again"


def test_the_command_takes_over_results(tmp_path):
    Store(tmp_path).keep(row())
    main(["--out", str(tmp_path / "known.json"), "--results", str(tmp_path)])
    (known,) = read_known(tmp_path / "known.json").values()
    assert (known.objective, known.proven) == (95, True)


def test_copies_are_proven_by_construction():
    """Whatever the solvers find: copies of the proven optimum of one, side by side, cost 49 each."""
    case = open_case("fractional:copies=7")
    found = _constructed(case, 20.0)
    assert found is not None
    assert (found.objective, found.bound, found.proof, found.linear) == (343, 343, "construction", 339.5)
    assert found.fingerprint == case.fingerprint


def test_the_page_has_the_tables_of_today():
    pages = [root / "docs" / "instances.md" for root in Path(__file__).resolve().parents]
    page = next((page for page in pages if page.is_file()), None)
    if page is None:
        pytest.skip("no source tree: these tests run against an installed wheel")
    text = page.read_text(encoding="utf-8")
    for name, table in tables().items():
        assert put_between(text, name, table) == text, f"python -m pgsr.bench.library_page --docs {page}"
