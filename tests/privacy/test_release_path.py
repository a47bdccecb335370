"""`release`: the order of its steps, what is saved, and that nothing confidential gets out."""

import dataclasses
import json
import logging
import traceback
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from pgsr.counts import GroupSizes
from pgsr.errors import BudgetError, InputError, PgsrError
from pgsr.groupsizes.budget import LevelBudget
from pgsr.groupsizes.hierarchical import HierarchicalMechanism
from pgsr.hierarchy import Hierarchy
from pgsr.ledger import Ledger
from pgsr.mechanism import Estimate, EstimateError, Release, release, reprocess
from pgsr.models.problem import Feature
from pgsr.noise import SeededBits, SystemBits
from pgsr.privacy import PrivacyEvent
from pgsr.solvers.base import Termination, refuse_unsupported
from pgsr.solvers.certificate import assess

TREE = Hierarchy.from_columns(["0", "01", "02", "002"], ["", "0", "0", "0"])
SIZES = np.array([0, 1, 2, 5])


class NoBits:
    """Fails the test as soon as anything is drawn."""

    secure = True
    description = "no bits"

    def words(self, n):
        pytest.fail("random bits were asked for")


class WatchedBits:
    """Calls `watch` before every draw."""

    secure = True
    description = "watched bits"

    def __init__(self, watch):
        self.watch = watch
        self.bits = SeededBits(1)

    def words(self, n):
        self.watch()
        return self.bits.words(n)


class FakeSolver:
    """Answers with what `answer(problem)` returns (None: no point)."""

    name = "fake"
    features = frozenset(Feature)

    def __init__(self, answer):
        self.answer = answer

    def availability(self):
        return SimpleNamespace(available=True, reason="")

    def version(self):
        return "1"

    def check(self, problem):
        refuse_unsupported(self, problem)

    def solve(self, problem, options):
        if options.progress is not None:
            options.progress("fake", 0.5)
        x = self.answer(problem)
        return assess(
            problem,
            x,
            solver=self.name,
            version="1",
            termination=Termination.OPTIMAL if x is not None else Termination.TIME_LIMIT,
            raw_status="",
            build_s=0.0,
            solve_s=0.25,
            claimed_bound=-np.inf,
        )


def everything_in_size_0(problem):
    """A feasible table: all units in the root's first leaf have size 0."""
    x = np.zeros(problem.target.shape, dtype=np.int64)
    x[:2, 0] = problem.total
    return x


def data(leaf_counts=((4, 3, 2, 1), (1, 1, 0, 0), (5, 0, 2, 1))):
    return GroupSizes.from_leaf_counts(TREE, SIZES, leaf_counts)


def mechanism(**changes):
    options = {
        "hierarchy": TREE,
        "sizes": SIZES,
        "total": 20,
        "budget": LevelBudget.equal(1, 2),
        "solver": FakeSolver(everything_in_size_0),
    }
    return HierarchicalMechanism(**{**options, **changes})


def test_an_overspend_is_refused_before_anything_is_drawn():
    ledger = Ledger.pure("0.99")
    with pytest.raises(BudgetError):
        release(mechanism(), data(), ledger=ledger, rng=NoBits())
    assert ledger.entries == ()
    zcdp = mechanism(budget=LevelBudget.equal(1, 2, kind=PrivacyEvent.zcdp(1).kind), noise="gaussian")
    with pytest.raises(BudgetError):
        release(zcdp, data(), ledger=Ledger.pure(100), rng=NoBits())


POOR_SOLVER = FakeSolver(everything_in_size_0)
POOR_SOLVER.features = frozenset()
ONE_REGION = GroupSizes.from_leaf_counts(Hierarchy.from_columns(["0"], [""]), SIZES, [[20, 0, 0, 0]])
INCONSISTENT = GroupSizes(hierarchy=TREE, sizes=SIZES, counts=np.full((4, 4), 5))


@pytest.mark.parametrize(
    ("changes", "counts", "message"),
    [
        ({"total": 21}, data(), "another number of units"),
        ({"sizes": [0, 1, 2, 6]}, data(), "another size list"),
        ({}, ONE_REGION, "another region tree"),
        ({}, INCONSISTENT, "do not add up"),
        ({}, [[1, 2, 3, 4]], "not counts of group sizes"),
        ({"solver": POOR_SOLVER}, data(), "does not take"),
    ],
)
def test_what_does_not_fit_is_refused_before_the_charge(changes, counts, message):
    ledger = Ledger.pure(5)
    with pytest.raises(InputError, match=message):
        release(mechanism(**changes), counts, ledger=ledger, rng=NoBits())
    assert ledger.entries == ()


def test_the_charge_is_on_disk_before_the_first_draw(tmp_path):
    path = tmp_path / "ledger"
    seen = []
    bits = WatchedBits(lambda: seen.append(len(Ledger.open(path).entries)))
    release(mechanism(), data(), ledger=Ledger.create(path, epsilon=1), rng=bits, label="first")
    assert seen
    assert set(seen) == {1}
    assert Ledger.open(path).entries[0].label == "first"


def test_a_guarantee_that_states_another_cost_is_refused():
    class Liar:
        name = "liar"
        event = PrivacyEvent.pure("1/2")

        def check(self, counts):
            pass

        def guarantee(self, rng):
            return dataclasses.replace(mechanism().guarantee(rng), event=PrivacyEvent.pure("1/4"))

    ledger = Ledger.pure(1)
    with pytest.raises(PgsrError, match="another cost"):
        release(Liar(), data(), ledger=ledger, rng=NoBits())
    assert ledger.entries == ()


def same_tables(a, b):
    assert list(a) == list(b)
    for name in a:
        assert list(a[name]) == list(b[name])
        for column in a[name]:
            assert a[name][column].dtype == b[name][column].dtype
            assert np.array_equal(a[name][column], b[name][column])


def test_a_release_survives_the_disk(tmp_path):
    stages = []
    result = release(
        mechanism(),
        data(),
        ledger=Ledger.pure(1),
        rng=SystemBits(),
        label="run",
        progress=lambda stage, done: stages.append((stage, done)),
    )
    assert stages[:3] == [("measure", 0.0), ("measure", 1.0), ("fake", 0.5)]
    result.save(tmp_path / "out")
    files = {path.name for path in (tmp_path / "out").iterdir()}
    assert files == {"guarantee.json", "provenance.json", "counts.parquet", "counts.csv", "noisy.parquet"}
    again = Release.load(tmp_path / "out")
    assert again.guarantee == result.guarantee
    assert again.provenance == result.provenance
    assert again.estimate.solve == result.estimate.solve
    assert 0 <= again.estimate.solve.bound <= again.estimate.solve.objective
    same_tables(again.estimate.tables, result.estimate.tables)
    same_tables(again.measurements, result.measurements)
    lines = (tmp_path / "out" / "counts.csv").read_text().splitlines()
    assert lines[:3] == ['"region","level","0","1","2","5"', '"0",1,20,0,0,0', '"01",2,20,0,0,0']
    assert {path.name for path in tmp_path.iterdir()} == {"out"}
    # counts.parquet is a histogram like any other
    read = GroupSizes.from_histogram(tmp_path / "out" / "counts.parquet", TREE, SIZES)
    assert np.array_equal(read.counts, result.estimate.value.counts)
    with pytest.raises(InputError):
        result.save(tmp_path / "out")


def test_a_failed_save_leaves_nothing(tmp_path, monkeypatch):
    result = release(mechanism(), data(), ledger=Ledger.pure(1), rng=SeededBits(1))
    monkeypatch.setattr("pyarrow.csv.write_csv", lambda *args: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        result.save(tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_unknown_versions_and_keys_are_refused(tmp_path):
    out = tmp_path / "out"
    release(mechanism(), data(), ledger=Ledger.pure(1), rng=SeededBits(1)).save(out)
    originals = {path: path.read_bytes() for path in out.iterdir()}
    provenance = json.loads(originals[out / "provenance.json"])
    guarantee = json.loads(originals[out / "guarantee.json"])
    changes = [
        ("provenance.json", {**provenance, "format": "pgsr-release/2"}),
        ("provenance.json", {**provenance, "more": 1}),
        ("provenance.json", {**provenance, "provenance": {}}),
        ("provenance.json", {**provenance, "tables": ["../../etc/passwd"]}),
        ("provenance.json", {**provenance, "tables": ["absent"]}),
        ("guarantee.json", {**guarantee, "format": "pgsr-guarantee/2"}),
        ("guarantee.json", []),
    ]
    for name, record in changes:
        (out / name).write_text(json.dumps(record))
        with pytest.raises(InputError):
            Release.load(out)
        (out / name).write_bytes(originals[out / name])
    pyarrow.parquet.write_table(pa.table({"region": ["0"]}), out / "counts.parquet")
    with pytest.raises(InputError, match="unknown format"):
        Release.load(out)
    (out / "counts.parquet").write_bytes(b"PAR1 damaged")
    with pytest.raises(InputError, match="unreadable"):
        Release.load(out)
    (out / "counts.parquet").unlink()
    with pytest.raises(InputError, match="no such file"):
        Release.load(out)


def crash(problem):
    raise RuntimeError("solver broke")


def inconsistent(problem):
    x = everything_in_size_0(problem)
    x[1, 0] -= 1
    return x


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (lambda problem: None, "time_limit"),
        (crash, "solver broke"),
        (inconsistent, "violates consistency"),
        (lambda problem: everything_in_size_0(problem).astype(float), "not integers"),
    ],
)
def test_failed_post_processing_keeps_what_was_paid_for(tmp_path, answer, message):
    failing = mechanism(solver=FakeSolver(answer))
    ledger = Ledger.pure(1)
    with pytest.raises(EstimateError, match=message) as failure:
        release(failing, data(), ledger=ledger, rng=SystemBits())
    assert len(ledger.entries) == 1
    partial = failure.value.partial
    partial.save(tmp_path / "partial")
    again = Release.load(tmp_path / "partial")
    assert again.estimate.tables == {}
    good = mechanism()
    result = reprocess(good, good.measured(again.measurements["noisy"]), again)
    assert result.guarantee == partial.guarantee
    assert result.estimate.value.counts[0, 0] == 20
    same_tables(result.measurements, partial.measurements)
    dearer = mechanism(budget=LevelBudget.equal(2, 2))
    measured = dearer.measured(again.measurements["noisy"])
    with pytest.raises(InputError, match="another parameter 'budget'"):
        reprocess(dearer, measured, again)


def test_measurements_are_handed_out_before_post_processing():
    seen = []

    def answer(problem):
        assert len(seen) == 1
        return everything_in_size_0(problem)

    result = release(
        mechanism(solver=FakeSolver(answer)),
        data(),
        ledger=Ledger.pure(1),
        rng=SeededBits(1),
        on_measured=seen.append,
    )
    same_tables(seen[0].measurements, result.measurements)
    assert seen[0].estimate.tables == {}


def test_the_guarantee_does_not_change_with_the_data(tmp_path):
    other = data(((0, 0, 0, 10), (0, 0, 2, 0), (8, 0, 0, 0)))
    for bits in (SystemBits(), SeededBits(3)):
        results = []
        for number, counts in enumerate((data(), other)):
            folder = tmp_path / f"{bits.secure}{number}"
            result = release(mechanism(), counts, ledger=Ledger.pure(1), rng=bits)
            result.save(folder)
            results.append((result, (folder / "guarantee.json").read_bytes()))
        assert results[0][1] == results[1][1]
        assert results[0][0].provenance.parameters == results[1][0].provenance.parameters
        assert results[0][0].provenance.config_digest == results[1][0].provenance.config_digest
        assert results[0][0].provenance.seeded is not bits.secure


# Counts that are recognised wherever they turn up; noise of scale 2^20 keeps them from turning up by chance.
PLANTED = ((987654321, 31415926535, 27182818284, 16180339887), (14142135623, 1, 1, 1), (1, 1, 57721566490, 1))


def walk(thing, seen):
    """All numbers in an object: through dataclasses, mappings, sequences and arrays."""
    if id(thing) in seen:
        return
    seen.add(id(thing))
    if isinstance(thing, np.ndarray):
        yield from thing.ravel().tolist()
    elif isinstance(thing, dict):
        for value in thing.values():
            yield from walk(value, seen)
    elif isinstance(thing, (list, tuple)):
        for value in thing:
            yield from walk(value, seen)
    elif dataclasses.is_dataclass(thing):
        for field in dataclasses.fields(thing):
            yield from walk(getattr(thing, field.name), seen)
    else:
        yield thing


def test_no_confidential_value_gets_out(tmp_path, caplog):
    caplog.set_level(logging.DEBUG)
    truth = data(PLANTED)
    secrets = {int(value) for value in truth.counts.ravel() if value > 3}
    assert len(secrets) == 10
    total = truth.total
    texts = []
    plain = {"total": total, "budget": LevelBudget.explicit(["1/2000000"] * 2), "solver": "proximity"}
    result = release(mechanism(**plain), truth, ledger=Ledger.pure(1), rng=SeededBits(7), label="planted")
    result.save(tmp_path / "out")
    failures = [
        {**plain, "total": total + 1},
        {**plain, "sizes": [0, 1, 2, 3]},
        {**plain, "budget": LevelBudget.equal(2, 2)},
        {**plain, "solver": FakeSolver(crash)},
        {**plain, "solver": FakeSolver(inconsistent)},
        {**plain, "solver": FakeSolver(lambda problem: None)},
    ]
    for changes in failures:
        with pytest.raises(PgsrError) as failure:
            release(mechanism(**changes), truth, ledger=Ledger.pure(1), rng=SeededBits(7))
        texts.append("".join(traceback.format_exception(failure.value)))
    texts += [caplog.text, repr(result), repr(truth), repr(mechanism(**plain))]
    texts += [path.read_text() for path in (tmp_path / "out").iterdir() if path.suffix != ".parquet"]
    values = set(walk(result, set()))
    for path in (tmp_path / "out").glob("*.parquet"):
        table = pyarrow.parquet.read_table(path)
        values |= {value for column in table.columns for value in column.to_pylist()}
        texts.append(str(table.schema))
    assert int(result.measurements["noisy"]["0"][1]) in values  # the search does look inside
    for secret in secrets:
        assert secret not in values
        assert not any(str(secret) in text or f"{secret:,}" in text for text in texts)


@pytest.mark.parametrize(
    "tables",
    [
        {"Counts": {"a": np.arange(2)}},
        {"../x": {"a": np.arange(2)}},
        {"counts": {"a": np.arange(2), "b": np.arange(3)}},
        {"counts": {"a": np.zeros((2, 2))}},
        {"counts": {"a": np.array(["x", None], dtype=object)}},
    ],
)
def test_tables_that_cannot_be_saved_are_refused_at_once(tables):
    with pytest.raises(InputError):
        Estimate(tables=tables)


def test_a_solver_too_small_for_the_problem_is_refused_before_the_charge():
    """`dp` knows its memory limit from public figures, so nothing is spent on what it cannot finish."""
    tree = Hierarchy.from_columns(["all"], [None])
    data = GroupSizes(hierarchy=tree, sizes=np.array([0, 1]), counts=np.array([[2**40, 5]]))
    mechanism = HierarchicalMechanism(
        hierarchy=tree, sizes=data.sizes, total=data.total, budget=LevelBudget.equal(1, 1), solver="dp"
    )
    ledger = Ledger.pure(1)
    with pytest.raises(InputError, match="use proximity"):
        release(mechanism, data, ledger=ledger, rng=SeededBits(1))
    assert ledger.entries == ()


def measured_once(rng=None, **changes):
    query = mechanism(**changes)
    earlier = release(query, data(), ledger=Ledger.pure(1), rng=rng or SystemBits())
    return query.measured(earlier.measurements["noisy"]), earlier


def never(problem):
    pytest.fail("the solver was asked")


OTHER_TREE = Hierarchy.from_columns(["0", "01", "02", "003"], ["", "0", "0", "0"])
OTHER_NAMES = Hierarchy.from_columns(
    ["0", "01", "02", "002"], ["", "0", "0", "0"], level_names=("nation", "state")
)
OTHER_KIND = LevelBudget.equal(1, 2, kind=PrivacyEvent.zcdp(1).kind)


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({"hierarchy": OTHER_TREE}, "hierarchy"),
        ({"hierarchy": OTHER_NAMES}, "levels"),
        ({"total": 21}, "total"),
        ({"sizes": [0, 1, 2, 6]}, "sizes"),
        ({"sizes": [1, 2, 3, 4], "without_size_zero": True}, "sizes"),
        ({"z_max": 2}, "z_max"),
        ({"budget": LevelBudget.explicit(["1/4", "3/4"])}, "budget"),
        ({"budget": OTHER_KIND, "noise": "gaussian"}, "kind"),
        ({"budget": LevelBudget.explicit([0, 1]), "invariant_levels": ["level 1"]}, "budget"),
    ],
)
def test_measurements_of_another_query_are_refused(changes, name):
    measured, earlier = measured_once()
    other = mechanism(**{"solver": FakeSolver(never), **changes})
    with pytest.raises(InputError, match=f"another parameter '{name}'") as refusal:
        reprocess(other, measured, earlier)
    for source in (f"in the earlier release of {earlier.provenance.created}", "in the mechanism"):
        assert source in str(refusal.value)


def test_every_parameter_is_either_compared_or_for_post_processing():
    measured, earlier = measured_once()
    query = mechanism()
    for name in query.parameters():
        parameters = {**earlier.provenance.parameters, name: "another"}
        damaged = dataclasses.replace(
            earlier, provenance=dataclasses.replace(earlier.provenance, parameters=parameters)
        )
        if name in {"solver", "weights", "loss", "public"}:
            reprocess(query, measured, damaged)
        else:
            with pytest.raises(InputError, match=f"'{name}'"):
                reprocess(query, measured, damaged)
    for name in ("total_from", "more"):
        parameters = {**earlier.provenance.parameters, name: "text"}
        more = dataclasses.replace(
            earlier, provenance=dataclasses.replace(earlier.provenance, parameters=parameters)
        )
        if name == "total_from":  # the command line adds it
            reprocess(query, measured, more)
        else:
            with pytest.raises(InputError, match="'more'"):
                reprocess(query, measured, more)


def test_the_guarantee_of_a_reprocessed_release_states_what_holds_now():
    measured, earlier = measured_once(weights="equal")
    upper = np.full((4, 4), 20)
    upper[3, 3] = 19
    query = mechanism(weights=[2, 1], upper=upper)
    again = reprocess(query, measured, earlier)
    assert again.guarantee.public == query.public != earlier.guarantee.public
    assert "region '002' size 5 at most 19" in again.guarantee.text
    assert again.provenance.parameters["public"] == list(query.public)
    assert again.guarantee.randomness == earlier.guarantee.randomness
    assert again.estimate.tables["upper"]["5"].tolist() == [20, 20, 20, 19]


def test_a_reprocessed_seeded_release_is_still_not_private(tmp_path):
    measured, earlier = measured_once(SeededBits(5))
    earlier.save(tmp_path / "earlier")
    for before in (earlier, Release.load(tmp_path / "earlier")):
        again = reprocess(mechanism(), measured, before)
        assert again.provenance.seeded is True
        assert again.guarantee.secure is False
        assert again.guarantee.text == earlier.guarantee.text
        assert again.guarantee.text.endswith("Fixed seed: NOT PRIVATE.")
    measured, private = measured_once()
    assert reprocess(mechanism(), measured, private).provenance.seeded is False


def test_what_is_no_ledger_or_generator_is_refused_before_the_charge():
    ledger = Ledger.pure(5)
    for rng in (None, 7, np.random.default_rng(1), SystemBits):
        with pytest.raises(InputError, match="random bits"):
            release(mechanism(), data(), ledger=ledger, rng=rng)
    assert ledger.entries == ()
    for wrong in (None, "ledger.jsonl", Ledger):
        with pytest.raises(InputError, match="not a ledger"):
            release(mechanism(), data(), ledger=wrong, rng=NoBits())


def test_public_bounds_are_tables_of_the_release(tmp_path):
    lower, upper = np.zeros((4, 4), dtype=int), np.full((4, 4), 20)
    upper[3, 3] = 19
    result = release(mechanism(lower=lower, upper=upper), data(), ledger=Ledger.pure(1), rng=SeededBits(1))
    result.save(tmp_path / "out")
    assert (tmp_path / "out" / "lower.csv").is_file()
    lines = (tmp_path / "out" / "upper.csv").read_text().splitlines()
    assert lines[0] == '"region","level","0","1","2","5"'
    assert lines[-1] == '"002",2,20,20,20,19'
    same_tables(Release.load(tmp_path / "out").estimate.tables, result.estimate.tables)
