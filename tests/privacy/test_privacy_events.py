"""Events, guarantees and conversions: exact where they claim to be, upper bounds elsewhere."""

import json
import math
from fractions import Fraction

import dp_accounting
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgsr.errors import InputError
from pgsr.privacy import (
    Guarantee,
    Kind,
    Neighbours,
    PrivacyEvent,
    as_fraction,
    show,
    to_substitution,
    to_zcdp,
    zcdp_to_approximate,
)

FRACTIONS = st.fractions(min_value=Fraction(1, 1000), max_value=1000, max_denominator=1000)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("1/3", Fraction(1, 3)),
        ("0.1", Fraction(1, 10)),
        (0.1, Fraction(1, 10)),
        ("1e-6", Fraction(1, 10**6)),
        (1e-6, Fraction(1, 10**6)),
        (2, Fraction(2)),
        (Fraction(7, 9), Fraction(7, 9)),
    ],
)
def test_numbers_are_read_exactly(value, expected):
    assert as_fraction(value, "epsilon") == expected


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        "",
        "x",
        "1/0",
        "nan",
        "inf",
        float("nan"),
        float("inf"),
        "1e999999999",
        pytest.param(10**5000, id="huge"),
        "9" * 700,
        [1],
    ],
)
def test_what_is_no_number_is_refused_at_once(value):
    with pytest.raises(InputError, match="epsilon"):
        as_fraction(value, "epsilon")


@given(FRACTIONS)
def test_shown_numbers_read_back(value):
    assert as_fraction(show(value), "x") == value


def test_shown_numbers_are_decimals_where_that_is_exact():
    assert [show(Fraction(x)) for x in ("0.1", "100", "1/3", "0", "-2.50")] == [
        "0.1",
        "100",
        "1/3",
        "0",
        "-2.5",
    ]


@pytest.mark.parametrize(
    "fields",
    [
        {"kind": Kind.PURE},
        {"kind": Kind.PURE, "epsilon": Fraction(-1)},
        {"kind": Kind.PURE, "epsilon": Fraction(1), "rho": Fraction(1)},
        {"kind": Kind.ZCDP, "epsilon": Fraction(1)},
        {"kind": Kind.APPROXIMATE, "epsilon": Fraction(1)},
        {"kind": Kind.APPROXIMATE, "epsilon": Fraction(1), "delta": Fraction(0)},
        {"kind": Kind.APPROXIMATE, "epsilon": Fraction(1), "delta": Fraction(1)},
        {"kind": "pure", "epsilon": Fraction(1)},
        {"kind": Kind.PURE, "epsilon": Fraction(1), "unit": " "},
        {"kind": Kind.PURE, "epsilon": Fraction(10**13)},
        {"kind": Kind.CONDITIONAL, "epsilon": Fraction(1)},
        {"kind": Kind.CONDITIONAL},
    ],
)
def test_figures_that_do_not_fit_the_kind_are_refused(fields):
    with pytest.raises(InputError):
        PrivacyEvent(**fields)


EVENTS = st.builds(
    lambda kind, a, d, n, u: {
        "pure": lambda: PrivacyEvent.pure(a, neighbours=n, unit=u),
        "zcdp": lambda: PrivacyEvent.zcdp(a, neighbours=n, unit=u),
        "approximate": lambda: PrivacyEvent.approximate(a, d, neighbours=n, unit=u),
        "conditional": lambda: PrivacyEvent.conditional(a, neighbours=n, unit=u),
    }[kind](),
    st.sampled_from(["pure", "zcdp", "approximate", "conditional"]),
    FRACTIONS,
    st.fractions(min_value=Fraction(1, 10**9), max_value=Fraction(1, 2)),
    st.sampled_from(Neighbours),
    st.sampled_from(["person", "household"]),
)


@given(EVENTS)
def test_events_survive_json(event):
    assert PrivacyEvent.from_dict(json.loads(json.dumps(event.to_dict()))) == event


def test_guarantees_survive_json_and_unknown_records_are_refused():
    guarantee = Guarantee(
        event=PrivacyEvent.pure("1/3"),
        text="words",
        public=("a", "b"),
        invariants=("c",),
        sampler="exact",
        randomness="bits",
        secure=True,
    )
    record = json.loads(json.dumps(guarantee.to_dict()))
    assert Guarantee.from_dict(record) == guarantee
    for change in (
        {"format": "pgsr-guarantee/2"},
        {"extra": 1},
        {"sampler": "real"},
        {"secure": "yes"},
        {"public": "a"},
        {"event": {"kind": "pure"}},
        {"event": {**record["event"], "sigma": "1"}},
        {"event": {**record["event"], "kind": "magic"}},
        {"event": {**record["event"], "epsilon": 0.5}},
    ):
        with pytest.raises(InputError):
            Guarantee.from_dict({**record, **change}, "place")


@given(FRACTIONS)
def test_pure_to_zcdp_is_exact(epsilon):
    assert to_zcdp(PrivacyEvent.pure(epsilon)).rho == epsilon * epsilon / 2


@given(FRACTIONS)
def test_substitution_is_two_steps(value):
    assert to_substitution(PrivacyEvent.pure(value)) == PrivacyEvent.pure(
        2 * value, neighbours=Neighbours.SUBSTITUTE
    )
    assert to_substitution(PrivacyEvent.zcdp(value)).rho == 4 * value
    already = PrivacyEvent.zcdp(value, neighbours=Neighbours.SUBSTITUTE)
    assert to_substitution(already) == already
    with pytest.raises(InputError):
        to_substitution(PrivacyEvent.approximate(value, "1e-6"))


@pytest.mark.parametrize("neighbours", Neighbours)
def test_a_conditional_figure_converts_to_nothing_and_says_what_it_is(neighbours):
    event = PrivacyEvent.conditional("1/4", neighbours=neighbours)
    assert str(event) == "conditional rho 0.25"
    for convert in (to_substitution, to_zcdp):
        with pytest.raises(InputError, match="not a DP guarantee"):
            convert(event)


@pytest.mark.parametrize("rho", ["1e-6", "0.01", "0.5", "10", "1000"])
@pytest.mark.parametrize("delta", ["1e-6", "1e-12"])
def test_zcdp_conversion_is_an_upper_bound_and_names_its_formula(rho, delta):
    general = zcdp_to_approximate(rho, delta)
    gaussian = zcdp_to_approximate(rho, delta, method="gaussian")
    r, d = float(rho), float(delta)
    # Gaussian noise with this rho is one rho-zCDP mechanism: nothing general can be below it.
    exact = dp_accounting.get_epsilon_gaussian(1 / math.sqrt(2 * r), d)
    assert exact < gaussian.epsilon <= exact * (1 + 1e-8) + 1e-11
    assert gaussian.epsilon < general.epsilon
    assert general.epsilon <= (r + 2 * math.sqrt(r * math.log(1 / d))) * (1 + 1e-8)
    assert "Gaussian" in gaussian.formula
    assert "Renyi" in general.formula or "ln(1/delta)" in general.formula


def test_gaussian_conversion_meets_its_definition():
    rho, delta = 0.3, 1e-5
    epsilon = float(zcdp_to_approximate("0.3", "1e-5", method="gaussian").epsilon)
    mu = math.sqrt(2 * rho)

    def phi(x):
        return 0.5 * math.erfc(-x / math.sqrt(2))

    reached = phi(mu / 2 - epsilon / mu) - math.exp(epsilon) * phi(-mu / 2 - epsilon / mu)
    assert reached == pytest.approx(delta, rel=1e-4)
    assert reached <= delta


def test_figures_beyond_floating_point_convert_upwards():
    tiny = zcdp_to_approximate("0.1", "1e-400")
    bound = 0.1 + 2 * math.sqrt(0.1 * 400 * math.log(10))
    assert bound <= tiny.epsilon <= bound * (1 + 1e-8)
    assert tiny.epsilon > zcdp_to_approximate("0.1", "1e-299").epsilon
    with pytest.raises(InputError, match="delta is below 1e-300"):
        zcdp_to_approximate("0.1", "1e-400", method="gaussian")
    for method in ("renyi", "gaussian"):
        assert 0 <= zcdp_to_approximate("1e-400", "1e-6", method=method).epsilon < Fraction(1, 10**6)
        assert zcdp_to_approximate("0.1", 1 - Fraction(1, 10**20), method=method).epsilon >= 0
    assert PrivacyEvent.approximate(1, "1e-400").delta == Fraction(1, 10**400)


def test_whole_numbers_of_numpy_are_numbers():
    assert PrivacyEvent.pure(np.int64(3)) == PrivacyEvent.pure(3)
    assert as_fraction(np.uint8(7), "x") == 7
    for value in (np.bool_(True), np.float32(0.1), 10**5000):
        with pytest.raises(InputError, match="not a number"):
            as_fraction(value, "x")


def test_nothing_spent_converts_to_nothing():
    assert zcdp_to_approximate(0, "1e-6").epsilon == 0
