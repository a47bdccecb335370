"""The ledger against a tiny reference model: what it accepts, what it adds up to."""

import copy
import pickle
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pgsr.errors import BudgetError, InputError
from pgsr.ledger import Ledger
from pgsr.privacy import Kind, Neighbours, PrivacyEvent, zcdp_to_approximate

BUDGETS = st.fractions(min_value=Fraction(1, 20), max_value=1, max_denominator=20)
PARTS = st.none() | st.tuples(st.sampled_from(["state", "year"]), st.sampled_from(["a", "b", "c"]))


@st.composite
def charges(draw):
    value = draw(BUDGETS)
    neighbours = draw(st.sampled_from(Neighbours))
    unit = draw(st.sampled_from(["person", "person", "person", "firm"]))
    kind = draw(st.sampled_from(Kind))
    if kind is Kind.PURE:
        event = PrivacyEvent.pure(value, neighbours=neighbours, unit=unit)
    elif kind is Kind.ZCDP:
        event = PrivacyEvent.zcdp(value / 10, neighbours=neighbours, unit=unit)
    elif kind is Kind.CONDITIONAL:
        event = PrivacyEvent.conditional(value / 10, neighbours=neighbours, unit=unit)
    else:
        event = PrivacyEvent.approximate(value, value / 10**6, neighbours=neighbours, unit=unit)
    return event, draw(PARTS)


def reference_cost(event, kind, neighbours):
    """(epsilon, rho, delta) of one event, or None if the ledger must refuse it; written from the rules."""
    if event.unit != "person" or event.kind is Kind.CONDITIONAL:
        return None
    epsilon, rho, delta = (figure or Fraction(0) for figure in (event.epsilon, event.rho, event.delta))
    if event.neighbours is not neighbours:
        if neighbours is Neighbours.ADD_REMOVE or delta:
            return None
        epsilon, rho = 2 * epsilon, 4 * rho
    if kind is Kind.PURE:
        return None if rho or delta else (epsilon, 0, 0)
    if kind is Kind.ZCDP:
        return None if delta else (0, rho + epsilon**2 / 2, 0)
    return epsilon, rho, delta


def reference_total(accepted, kind, limit_delta):
    """(epsilon, rho, delta) of accepted (cost, partition) pairs; None if there is no such figure."""
    figures = []
    for i in range(3):
        total = sum(cost[i] for cost, part in accepted if part is None)
        for name in ("state", "year"):
            sums = [sum(c[i] for c, p in accepted if p == (name, part)) for part in ("a", "b", "c")]
            total += max(sums)
        figures.append(total)
    epsilon, rho, delta = figures
    if kind is Kind.APPROXIMATE and rho:
        if delta >= limit_delta:
            return None
        epsilon, rho, delta = epsilon + zcdp_to_approximate(rho, limit_delta - delta).epsilon, 0, limit_delta
    return epsilon, rho, delta


LIMITS = {Kind.PURE: (Fraction(2), None, None), Kind.ZCDP: (None, Fraction(1, 2), None)}
LIMITS[Kind.APPROXIMATE] = (Fraction(5), None, Fraction(2, 10**6))


def make(kind, neighbours):
    if kind is Kind.PURE:
        return Ledger.pure(2, neighbours=neighbours)
    if kind is Kind.ZCDP:
        return Ledger.zcdp("1/2", neighbours=neighbours)
    return Ledger.approximate(5, "2e-6", neighbours=neighbours)


@given(st.sampled_from(list(LIMITS)), st.sampled_from(Neighbours), st.lists(charges(), max_size=8))
@settings(deadline=None, max_examples=150)
def test_ledger_agrees_with_the_reference(kind, neighbours, sequence):
    ledger = make(kind, neighbours)
    limits = LIMITS[kind]
    accepted = []
    for event, part in sequence:
        cost = reference_cost(event, kind, neighbours)
        total = None if cost is None else reference_total([*accepted, (cost, part)], kind, limits[2])
        fits = total is not None and all(m is None or t <= m for t, m in zip(total, limits, strict=True))
        if fits:
            ledger.check(event, partition=part)
            ledger.charge(event, partition=part)
            accepted.append((cost, part))
        else:
            before = ledger.entries
            with pytest.raises(BudgetError):
                ledger.check(event, partition=part)
            with pytest.raises(BudgetError):
                ledger.charge(event, partition=part)
            assert ledger.entries == before
    spent, left = ledger.spent, ledger.remaining
    total = reference_total(accepted, kind, limits[2])
    for name, value, limit in zip(("epsilon", "rho", "delta"), total, limits, strict=True):
        assert getattr(spent, name) == (None if limit is None else value)
        assert getattr(left, name) == (None if limit is None else limit - value)
    assert len(ledger.entries) == len(accepted)


@pytest.mark.parametrize("kind", list(LIMITS))
@pytest.mark.parametrize("neighbours", Neighbours)
def test_no_ledger_takes_a_conditional_figure(kind, neighbours):
    ledger = make(kind, Neighbours.SUBSTITUTE)
    for rho in (0, "1e-9"):
        with pytest.raises(BudgetError, match="not a DP guarantee"):
            ledger.charge(PrivacyEvent.conditional(rho, neighbours=neighbours))
    with pytest.raises(BudgetError, match="not a DP guarantee"):
        ledger.charge([PrivacyEvent.pure(0, neighbours=Neighbours.SUBSTITUTE), PrivacyEvent.conditional(0)])
    assert ledger.entries == ()


def test_a_conditional_figure_is_no_budget(tmp_path):
    with pytest.raises(InputError, match="no budget"):
        Ledger(limit=PrivacyEvent.conditional(1))


def test_thirds_add_up_to_one_exactly():
    ledger = Ledger.pure(1)
    for _ in range(3):
        ledger.charge(PrivacyEvent.pure("1/3"))
    assert ledger.remaining.epsilon == 0
    with pytest.raises(BudgetError):
        ledger.charge(PrivacyEvent.pure("1e-30"))


def test_ten_tenths_given_as_floats_add_up_to_one():
    ledger = Ledger.pure(1.0)
    for _ in range(10):
        ledger.charge(PrivacyEvent.pure(0.1))
    assert ledger.remaining.epsilon == 0


def test_several_events_are_all_or_nothing():
    ledger = Ledger.pure(1)
    events = [PrivacyEvent.pure("0.4")] * 3
    with pytest.raises(BudgetError, match=r"left: epsilon 1;") as refusal:
        ledger.check(events)
    assert "\n" not in str(refusal.value)
    with pytest.raises(BudgetError):
        ledger.charge(events)
    assert ledger.entries == ()
    ledger.charge(events[:2])
    assert [entry.number for entry in ledger.entries] == [1, 2]


def test_parts_cost_their_maximum_and_a_part_charged_twice_adds():
    ledger = Ledger.pure(1)
    for part in ("a", "b", "c"):
        ledger.charge(PrivacyEvent.pure("1/2"), partition=("state", part))
    assert ledger.spent.epsilon == Fraction(1, 2)
    ledger.charge(PrivacyEvent.pure("1/4"), partition=("state", "a"))
    assert ledger.spent.epsilon == Fraction(3, 4)
    ledger.charge(PrivacyEvent.pure("1/4"), partition=("year", "a"))
    assert ledger.spent.epsilon == 1
    with pytest.raises(BudgetError):
        ledger.charge(PrivacyEvent.pure("1/100"))
    ledger.charge(PrivacyEvent.pure("1/4"), partition=("state", "b"))


def test_approximate_ledger_names_its_formula():
    ledger = Ledger.approximate(3, "1e-6")
    ledger.charge(PrivacyEvent.pure(1))
    assert "dp_accounting" not in ledger.spent.formula
    ledger.charge(PrivacyEvent.zcdp("0.01"))
    assert "dp_accounting" in ledger.spent.formula
    assert ledger.spent.delta == Fraction(1, 10**6)


@pytest.mark.parametrize("partition", ["state", ("state",), ("state", ""), ("state", 1), ("a", "b", "c")])
def test_what_is_no_partition_is_refused(partition):
    with pytest.raises(InputError, match="partition"):
        Ledger.pure(1).charge(PrivacyEvent.pure("1/2"), partition=partition)


def test_a_ledger_in_memory_cannot_be_copied():
    ledger = Ledger.pure(1)
    for copier in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match="cannot be copied"):
            copier(ledger)


def test_plain_record():
    ledger = Ledger.zcdp("1/2")
    ledger.charge(PrivacyEvent.pure("1/2"), label="first", partition=("state", "a"))
    record = ledger.to_dict()
    assert record["limit"] == {"rho": "1/2"}
    assert record["remaining"] == {"rho": "3/8"}
    assert record["entries"][0]["label"] == "first"
    assert record["entries"][0]["event"]["epsilon"] == "1/2"
