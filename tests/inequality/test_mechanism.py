"""Whole releases: cost, refusals, groups, derived numbers, and nothing confidential in what is written."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import pgsr
from pgsr.errors import BudgetError, InputError
from pgsr.inequality.domain import Domain
from pgsr.inequality.incomes import Incomes
from pgsr.inequality.index import index
from pgsr.inequality.mechanism import InequalityMechanism
from pgsr.inequality.plan import confidential_law
from pgsr.inequality.query import IndexQuery
from pgsr.inequality.upper import PrivateUpper, UpperGrid
from pgsr.ledger import Ledger
from pgsr.noise import SeededBits, SystemBits
from pgsr.privacy import Neighbours

MLD = IndexQuery(index="mld", epsilon="1/2")
GRID = UpperGrid.spanning(100, "1e7")
NOISES = ["ladder", "cauchy", "paper", "laplace"]


def make(**parts):
    return InequalityMechanism(**{"sizes": 4, "lower": 1, "upper": 100, "queries": (MLD,), **parts})


def ledger(epsilon):
    return Ledger.pure(epsilon, neighbours=Neighbours.SUBSTITUTE)


def sample(n, seed=1):
    rng = np.random.default_rng(seed)
    return np.exp(rng.normal(10.8, 0.9, n))


# --- Cost ---------------------------------------------------------------------------------------------------


def test_costs_add_over_indices_and_not_over_groups():
    more = IndexQuery(index="mld", epsilon="1/3", noise="cauchy")
    upper = PrivateUpper(grid=GRID, epsilon="0.15")
    one = make()
    assert one.event.epsilon == Fraction(1, 2)
    assert one.event.neighbours is Neighbours.SUBSTITUTE
    assert one.event.unit == "person"
    many = make(sizes={f"g{i}": 5 for i in range(50)}, upper=upper, overall=(more,), unit="household")
    assert many.event.epsilon == Fraction(1, 2) + Fraction(1, 3) + Fraction(15, 100)
    assert many.event.unit == "household"
    assert len(many.cells) == 51


class Counting:
    """Bits that count what is read."""

    secure = True
    description = "counting"

    def __init__(self):
        self.read = 0
        self.inner = SystemBits()

    def words(self, n):
        self.read += n
        return self.inner.words(n)


def test_an_overspend_is_refused_before_anything_is_drawn():
    query = make(sizes=1000, lower=1, upper=1e6, clip=True)
    data = Incomes(values=sample(1000))
    budget, bits = ledger("0.7"), Counting()
    pgsr.release(query, data, ledger=budget, rng=bits)
    assert bits.read > 0
    before = bits.read
    with pytest.raises(BudgetError):
        pgsr.release(query, data, ledger=budget, rng=bits)
    assert bits.read == before
    assert budget.spent.epsilon == Fraction(1, 2)


def test_a_refusal_of_the_data_costs_nothing():
    budget, bits = ledger(1), Counting()
    with pytest.raises(InputError, match="above the upper bound"):
        pgsr.release(make(), Incomes(values=[2, 3, 4, 101.5]), ledger=budget, rng=bits)
    assert bits.read == 0
    assert budget.spent.epsilon == 0


# --- What is released ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("noise", NOISES)
def test_releases_stay_in_the_public_range_and_near_the_truth(noise):
    x = sample(5000)
    query = IndexQuery(index="mld", epsilon=4, noise=noise)
    mechanism = make(sizes=5000, upper=1e6, queries=(query,), clip=True)
    truth = index("mld").value(np.clip(x, 1, 1e6))
    largest = index("mld").largest(Domain(n=5000, lower=1, upper=1e6))
    made = pgsr.release(mechanism, Incomes(values=x), ledger=ledger(4), rng=SeededBits(7))
    row = made.estimate.value[0]
    assert (row.group, row.index, row.n, row.epsilon, row.noise) == ("all", "mld", 5000, 4.0, noise)
    assert 0 <= row.value <= largest
    if noise != "laplace":
        assert abs(row.value - truth) < 0.05
    point = int(made.measurements["noisy"]["point"][0])
    step = Fraction(str(made.measurements["noisy"]["step"][0]))
    assert row.value == min(float(point * step), largest)


def test_atkinson_follows_from_the_mean_log_deviation():
    made = pgsr.release(make(), Incomes(values=[2, 3, 50, 100]), ledger=ledger(1), rng=SeededBits(1))
    mld, atkinson = made.estimate.value
    assert atkinson.index == "atkinson_1"
    assert atkinson.value == pytest.approx(1 - math.exp(-mld.value), abs=1e-15)
    assert (atkinson.epsilon, atkinson.noise) == (0.0, "from mld")


def test_groups_and_their_decomposition():
    rng = np.random.default_rng(3)
    labels = rng.choice(["north", "south", "east"], 6000)
    x = sample(6000) * np.where(labels == "north", 3.0, 1.0)
    sizes = {label: int((labels == label).sum()) for label in ("south", "north", "east")}
    query = IndexQuery(index="mld", epsilon=40)
    mechanism = make(sizes=sizes, upper=1e6, queries=(query,), overall=(query,), clip=True)
    data = Incomes(values=x, groups=labels)
    made = pgsr.release(mechanism, data, ledger=ledger(80), rng=SeededBits(5))
    rows = {(row.group, row.index): row for row in made.estimate.value}
    clipped = np.clip(x, 1, 1e6)
    truth = {label: index("mld").value(clipped[labels == label]) for label in sizes}
    for label, n in sizes.items():
        assert rows[label, "mld"].n == n
        assert rows[label, "mld"].value == pytest.approx(truth[label], abs=3e-3)
    within = sum(sizes[label] * truth[label] for label in sizes) / 6000
    overall = index("mld").value(clipped)
    assert rows["all", "mld"].value == pytest.approx(overall, abs=3e-3)
    assert rows["all", "mld_within"].value == pytest.approx(within, abs=3e-3)
    assert rows["all", "mld_between"].value == pytest.approx(overall - within, abs=6e-3)
    assert rows["all", "mld_between"].value > 0.05
    table = made.estimate.tables["inequality"]
    assert list(table) == ["group", "index", "n", "value", "epsilon", "lower", "upper", "noise"]
    assert len(table["group"]) == len(made.estimate.value) == 4 * 2 + 2


def test_labels_meet_their_records_whatever_the_order():
    """Whole-number labels, labels in another order than the sizes, groups of very different inequality."""
    values = [10.0, 1.0, 10.0, 100.0, 10.0]
    query = IndexQuery(index="mld", epsilon=60)
    mechanism = make(sizes={"07": 2, "5": 3}, queries=(query,))
    data = Incomes(values=values, groups=["5", "07", "5", "07", "5"])
    made = mechanism.measure(data, SeededBits(2))
    rows = {(row.group, row.index): row.value for row in mechanism.estimate(made).value}
    assert rows["5", "mld"] < 0.1
    assert rows["07", "mld"] > 1.0  # the truth is log(5.05) = 1.62


def test_a_private_upper_bound_is_drawn_first_and_released():
    x = sample(20_000)
    upper = PrivateUpper(grid=GRID, epsilon="0.3")
    mechanism = make(sizes=20_000, upper=upper, queries=(IndexQuery(index="mld", epsilon=2),), shift=1)
    made = pgsr.release(mechanism, Incomes(values=x), ledger=ledger(3), rng=SeededBits(11))
    place, bound = (made.measurements["upper_bound"][name][0] for name in ("point", "upper"))
    assert bound == GRID.values[place]
    assert 0.2 * x.max() < bound < 100 * x.max()
    row = made.estimate.value[0]
    assert row.upper == bound
    assert row.value == pytest.approx(index("mld").value(np.clip(x + 1, 1, bound)), abs=0.01)


def test_the_shift_lets_zero_incomes_count():
    data = Incomes(values=[0.0, 0.0, 5.0, 20.0])
    with pytest.raises(InputError, match="below the lower bound: incomes, row 1"):
        make().check(data)
    make(shift=1).check(data)
    make(clip=True).check(data)


def test_the_shift_is_added_before_all_else():
    upper = PrivateUpper(grid=UpperGrid(first=2, ratio=2, count=8), epsilon=4)
    x = np.array([0.0, 0.0, 5.0, 20.0])
    shifted = make(shift=1, upper=upper).measure(Incomes(values=x), SeededBits(3))
    by_hand = make(upper=upper).measure(Incomes(values=x + 1), SeededBits(3))
    without = make(upper=upper, clip=True).measure(Incomes(values=x), SeededBits(3))
    assert shifted == by_hand
    assert shifted != without


def test_the_same_bits_give_the_same_release():
    data = Incomes(values=sample(500))
    mechanism = make(sizes=500, upper=1e6, clip=True)
    assert mechanism.measure(data, SeededBits(9)) == mechanism.measure(data, SeededBits(9))
    assert mechanism.measure(data, SeededBits(9)) != mechanism.measure(data, SeededBits(10))


def test_the_order_of_records_does_not_matter():
    x = sample(500)
    mechanism = make(sizes=500, upper=1e6, clip=True)
    one, other = (mechanism.measure(Incomes(values=v), SeededBits(9)) for v in (x, x[::-1]))
    assert one == other


# --- Nothing confidential -----------------------------------------------------------------------------------


def test_nothing_confidential_is_written(tmp_path):
    """Incomes, index, sensitivities, noise scale: none of their digits occur in any file or text."""
    x = sample(3000)
    upper = PrivateUpper(grid=GRID, epsilon=1)
    queries = (IndexQuery(index="mld", epsilon=1, noise="cauchy"),)
    mechanism = make(sizes=3000, upper=upper, queries=queries)
    budget = ledger(3)
    made = pgsr.release(mechanism, Incomes(values=x), ledger=budget, rng=SeededBits(4), label="test")
    made.save(tmp_path / "out")
    bound = made.estimate.value[0].upper
    clipped = np.clip(x, 1, bound)
    domain = Domain(n=3000, lower=1, upper=bound)
    law = confidential_law(queries[0], domain, clipped)
    secrets = [*x, law.value, law.scale, law.scale * queries[0].alpha, index("mld").local(clipped, domain)]
    texts = [
        path.read_text(encoding="utf-8") for path in (tmp_path / "out").iterdir() if path.suffix != ".parquet"
    ]
    texts += [made.guarantee.text, json.dumps(mechanism.parameters()), repr(made.estimate), repr(mechanism)]
    texts += [str(entry) for entry in budget.entries]
    written = "\n".join(texts)
    assert f"{bound:.10g}"[:8] in written
    for secret in secrets:
        assert f"{float(secret):.17g}"[:8] not in written
    loaded = pgsr.Release.load(tmp_path / "out")
    for name, column in made.estimate.tables["inequality"].items():
        assert loaded.estimate.tables["inequality"][name].tolist() == column.tolist()


@pytest.mark.parametrize("noise", NOISES)
def test_the_printed_law_shows_nothing_of_the_data(noise):
    query = IndexQuery(index="mld", epsilon=1, noise=noise)
    domain = Domain(n=3, lower=1, upper=100)
    one, other = (confidential_law(query, domain, np.array(x)) for x in ([1.0, 2.0, 3.0], [4.0, 50.0, 99.0]))
    assert repr(one) == repr(other)


def test_the_printed_data_shows_no_income():
    data = Incomes(values=[1234567.0, 2.0], groups=["secretplace", "b"])
    assert "1234567" not in repr(data)
    assert "secretplace" not in repr(data)


def test_the_guarantee_says_what_is_public_and_what_is_not():
    upper = PrivateUpper(grid=GRID, epsilon="0.15")
    mechanism = make(sizes={"a": 10, "b": 20}, upper=upper, overall=(MLD,), shift=1, clip=True)
    promise = mechanism.guarantee(SystemBits())
    assert promise.event == mechanism.event
    assert promise.sampler == "exact"
    assert promise.secure
    for words in (
        "1.15-DP (pure, epsilon = 1.15)",
        "replacing the income of one record",
        "0.15 for the upper bound (threshold 0.1, queries 0.05)",
        "all of them cost as much as one",
        "'a' 10, 'b' 20",
        "the lower bound of the incomes, 1.0",
        "the amount added to every income before all else, 1.0",
        "adding or removing a record, or changing its label",
        "rounding errors",
    ):
        assert words in promise.text
    assert any("'a' 10" in item for item in promise.invariants)
    assert "NOT PRIVATE" in mechanism.guarantee(SeededBits(1)).text
    many = make(sizes={f"g{i}": 10 for i in range(100)}).guarantee(SystemBits()).invariants[0]
    assert "100 groups, 1000 records" in many
    constants = (
        make(queries=(IndexQuery(index="mld", epsilon=1, noise="paper"),)).guarantee(SystemBits()).text
    )
    assert "alpha 0.125, beta 0.5" in constants


# --- Refusals -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"sizes": 1}, "minimum"),
        ({"sizes": 0}, "empty"),
        ({"sizes": -3}, "not a number of records"),
        ({"sizes": 2.5}, "not a number of records"),
        ({"sizes": True}, "not a number of records"),
        ({"sizes": {}}, "no groups"),
        ({"sizes": {"a": 5, "b": 0}}, "empty group: group 'b'"),
        ({"sizes": {"a": 50, "b": 7}, "minimum": 10}, "public minimum of 10: group 'b'"),
        ({"sizes": {"a": 5, "b": 1}}, "group 'b'"),
        ({"sizes": {3: 5}}, "label"),
        ({"sizes": {"all": 5}, "overall": ()}, "rename"),
        ({"minimum": 1}, "minimum"),
        ({"lower": 0}, "lower"),
        ({"lower": -1}, "lower"),
        ({"lower": 100}, "upper"),
        ({"lower": 200}, "upper"),
        ({"lower": 99.99}, "close"),
        ({"lower": math.nan}, "lower"),
        ({"upper": math.inf}, "upper"),
        ({"upper": "100"}, "upper"),
        ({"upper": PrivateUpper(grid=UpperGrid(first=1, ratio=2, count=3), epsilon=1)}, "upper"),
        ({"queries": ()}, "no index"),
        ({"queries": ("mld",)}, "IndexQuery"),
        ({"queries": (MLD, MLD)}, "twice"),
        ({"overall": (MLD,)}, "no groups"),
        ({"shift": -1}, "shift"),
        ({"shift": math.inf}, "shift"),
        ({"clip": 1}, "clip"),
        ({"unit": ""}, "unit"),
        ({"queries": (IndexQuery(index="mld", epsilon=1, step="1e-30"),)}, "step"),
        ({"queries": (IndexQuery(index="mld", epsilon=1, noise="laplace", step="1e-12"),)}, "step"),
    ],
)
def test_parameters_that_do_not_fit_are_refused(parts, message):
    with pytest.raises(InputError, match=message):
        make(**parts)


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"index": "gini"}, "mld"),
        ({"epsilon": 0}, "epsilon"),
        ({"epsilon": -1}, "epsilon"),
        ({"epsilon": "nan"}, "number"),
        ({"epsilon": 65}, "epsilon"),
        ({"noise": "gaussian"}, "noise"),
        ({"noise": "cauchy", "beta": 1}, "beta"),
        ({"noise": "cauchy", "beta": 2}, "beta"),
        ({"noise": "cauchy", "beta": 0}, "beta"),
        ({"noise": "cauchy", "beta": "0.5", "alpha": "1.1"}, "privacy loss"),
        ({"noise": "cauchy", "alpha": 0}, "alpha"),
        ({"noise": "ladder", "beta": "0.5"}, "no meaning"),
        ({"noise": "paper", "alpha": "0.5"}, "no meaning"),
        ({"step": 0}, "step"),
        ({"step": -1}, "step"),
    ],
)
def test_queries_that_do_not_fit_are_refused(parts, message):
    with pytest.raises(InputError, match=message):
        IndexQuery(**{"index": "mld", "epsilon": 1, **parts})


def test_constants_of_ones_own_are_taken_if_they_are_private():
    sixth = IndexQuery(index="mld", epsilon=1, noise="cauchy", alpha="1/6", beta="1/6")
    assert (sixth.alpha, sixth.beta) == (Fraction(1, 6), Fraction(1, 6))
    assert IndexQuery(index="mld", epsilon=1, noise="paper").to_dict() == {
        "index": "mld",
        "epsilon": "1",
        "noise": "paper",
        "alpha": "1/8",
        "beta": "1/2",
    }


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([2, 3, 4], "number of records"),
        ([2, 3, 4, 5, 6], "number of records"),
        ([2, 3, -4, 5], "negative income: incomes, row 3"),
        ([2, 0.5, 4, 5], "below the lower bound: incomes, row 2"),
        ([2, 3, 4, 777.25], "above the upper bound: incomes, row 4"),
    ],
)
def test_data_that_do_not_fit_are_refused_without_showing_them(values, message):
    with pytest.raises(InputError, match=message) as refusal:
        make().check(Incomes(values=values))
    assert "777" not in str(refusal.value)
    assert "0.5" not in str(refusal.value)


@pytest.mark.parametrize(
    "values", [[1.0, math.nan], [1.0, math.inf], ["a", "b"], [[1.0, 2.0]], [1.0, None], 3.0]
)
def test_incomes_that_are_no_numbers_are_refused(values):
    with pytest.raises(InputError):
        Incomes(values=values)


def test_negative_incomes_are_refused_even_if_clipped():
    with pytest.raises(InputError, match="negative"):
        make(clip=True).check(Incomes(values=[2, 3, 4, -5]))


def test_groups_must_be_those_of_the_public_list():
    mechanism = make(sizes={"a": 2, "b": 2})
    values = [2, 3, 4, 5]
    mechanism.check(Incomes(values=values, groups=["a", "b", "b", "a"]))
    for groups, message in (
        (["a", "b", "zz", "a"], "not in the public list: groups, row 3"),
        (["a", "a", "b", "a"], "another number of records: group 'a'"),
        (["a", "a", "a", "a"], "group 'a'"),
        (None, "no labels"),
    ):
        with pytest.raises(InputError, match=message) as refusal:
            mechanism.check(Incomes(values=values, groups=groups))
        assert "zz" not in str(refusal.value)
    with pytest.raises(InputError, match="labels"):
        make().check(Incomes(values=values, groups=["a", "b", "b", "a"]))
    with pytest.raises(InputError, match="Incomes"):
        mechanism.check(np.array(values))


@pytest.mark.parametrize(
    "groups", [["a"], ["a", None, "b", "b"], [1.5, 2.0, 3.0, 4.0], [True, False, True, True]]
)
def test_labels_that_do_not_fit_are_refused(groups):
    with pytest.raises(InputError):
        Incomes(values=[1, 2, 3, 4], groups=groups)


def test_incomes_are_copied_and_fixed():
    values = np.array([1.0, 2.0])
    data = Incomes(values=values)
    values[0] = 5
    assert data.values.tolist() == [1, 2]
    with pytest.raises(ValueError, match="read-only"):
        data.values[0] = 3


def test_the_text_says_which_incomes_neighbours_may_have() -> None:
    def text(**changed: Any) -> str:
        one = IndexQuery(index="mld", epsilon=Fraction(1))
        given: dict[str, Any] = {"sizes": 5, "lower": 1, "upper": 20, "queries": (one,)}
        return InequalityMechanism(**{**given, **changed}).guarantee(SeededBits(1)).text

    assert "by another within the bounds; the number of records stays the same" in text()
    assert "by another that is not negative" in text(clip=True)
    private = PrivateUpper(grid=UpperGrid.spanning(2, 1000), epsilon=Fraction(1))
    assert "by another that is not below the lower bound" in text(upper=private)
    assert "its label and the number of records stay the same" in text(sizes={"a": 2, "b": 3})
    assert "Refusals, and their absence, are open" in text()
    stepped = IndexQuery(index="mld", epsilon=Fraction(1), step=Fraction(1, 7))
    assert "on steps of 1/7" in text(queries=(stepped,))


@pytest.mark.parametrize("beta", [Fraction(1, 10**400), Fraction(1, 10**310), Fraction(1, 2**41)])
def test_a_tiny_beta_is_refused_before_all_else(beta: Fraction) -> None:
    with pytest.raises(InputError, match="beta"):
        IndexQuery(index="mld", epsilon=Fraction(1), noise="cauchy", beta=beta)


def test_extreme_public_parameters_are_refused_or_work() -> None:
    query = IndexQuery(index="ge2", epsilon=Fraction(1))
    InequalityMechanism(sizes=2, lower=1e-100, upper=1e100, queries=(query,))
    with pytest.raises(InputError, match="shift"):
        InequalityMechanism(sizes=2, lower=1, upper=2e100, shift=1e101, queries=(query,))
    with pytest.raises(InputError, match="candidates"):
        PrivateUpper(
            grid=UpperGrid(first=Fraction(2), ratio=Fraction(10001, 10000), count=900_000),
            epsilon=Fraction(3, 10_000),
        )
