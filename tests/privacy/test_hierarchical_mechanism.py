"""Budgets, weights, bounds, invariants, words and errors of the Model 1 mechanism."""

import dataclasses
import itertools
import json
from fractions import Fraction

import numpy as np
import pytest

from pgsr.counts import GroupSizes
from pgsr.errors import InputError
from pgsr.groupsizes.audit import confidential_error_table, confidential_error_text
from pgsr.groupsizes.bounds import structural_zeros
from pgsr.groupsizes.budget import LevelBudget, level_weights
from pgsr.groupsizes.expected import expected_absolute
from pgsr.groupsizes.guarantee import size_list_text
from pgsr.groupsizes.hierarchical import HierarchicalMechanism, MeasuredCounts
from pgsr.hierarchy import Hierarchy
from pgsr.ledger import Ledger
from pgsr.mechanism import release
from pgsr.noise import DiscreteGaussian, DiscreteLaplace, SeededBits, SystemBits
from pgsr.privacy import Kind
from pgsr.solvers.base import SolveOptions
from pgsr.solvers.native.dp import DpSolver

TREE = Hierarchy.from_columns(
    ["us", "a", "b", "a1", "a2", "b1"],
    ["", "us", "us", "a", "a", "b"],
    level_names=("nation", "state", "county"),
)
SIZES = np.array([0, 1, 2])
DATA = GroupSizes.from_leaf_counts(TREE, SIZES, [[5, 3, 1], [2, 0, 9], [4, 4, 4]])


def mechanism(**changes):
    options = {"hierarchy": TREE, "sizes": SIZES, "total": 32, "budget": LevelBudget.equal("1/2", 3)}
    return HierarchicalMechanism(**{**options, **changes})


def zcdp(*shares):
    return LevelBudget.explicit(shares, kind=Kind.ZCDP)


def test_equal_shares_are_exact():
    budget = LevelBudget.equal("0.1", 3)
    assert budget.shares == (Fraction(1, 30),) * 3
    assert budget.total == Fraction(1, 10)
    assert str(budget) == "epsilon 1/30 + 1/30 + 1/30 = 0.1"
    assert LevelBudget.equal(1, 3, without=[1]).shares == (Fraction(1, 2), Fraction(0), Fraction(1, 2))
    assert str(zcdp("1/3", "0.5")) == "rho 1/3 + 0.5 = 5/6"


@pytest.mark.parametrize(
    "make",
    [
        lambda: LevelBudget.equal(1, 0),
        lambda: LevelBudget.equal(1, 2, without=[0, 1]),
        lambda: LevelBudget.equal(1, 2, without=[2]),
        lambda: LevelBudget.equal(0, 2),
        lambda: LevelBudget.explicit([1, "-1/2"]),
        lambda: LevelBudget.explicit([]),
        lambda: LevelBudget.explicit(["x"]),
        lambda: LevelBudget.explicit([1], kind=Kind.APPROXIMATE),
    ],
)
def test_budgets_that_are_none_are_refused(make):
    with pytest.raises(InputError):
        make()


def test_noise_scales_follow_the_sensitivity():
    laplace = mechanism(budget=LevelBudget.explicit(["1/7", "1/3", 2]))
    assert [law.scale for law in laplace.laws] == [14, 6, 1]
    gaussian = mechanism(budget=zcdp("1/7", "1/3", 2), noise="gaussian")
    assert [law.sigma2 for law in gaussian.laws] == [7, 3, Fraction(1, 2)]
    assert gaussian.event.kind is Kind.ZCDP
    assert gaussian.event.rho == Fraction(1, 7) + Fraction(1, 3) + 2


def test_weights():
    assert level_weights([4.0, 4.0, 4.0], "inverse-variance") == (1.0, 1.0, 1.0)
    assert level_weights([4.0, 8.0, 1.0], "equal") == (1.0, 1.0, 1.0)
    assert level_weights([3.0, 1.0, None], "inverse-variance") == (round(2**16 / 3) / 2**16, 1.0, 1.0)
    assert level_weights([1e30, 1.0, 0.0], "inverse-variance") == (2**-16, 2**-16, 1.0)
    weights = mechanism(budget=LevelBudget.explicit(["1/7", "1/3", "0.39"])).level_weights
    assert weights[0] < weights[1] < weights[2] == 1
    assert all((weight * 2**16).is_integer() for weight in weights)
    assert mechanism(budget=LevelBudget.explicit([1, 0, 1])).level_weights == (1.0, 0.0, 1.0)
    assert mechanism(weights=[0, 2, 0.5]).level_weights == (0.0, 2.0, 0.5)
    for bad in ("none", [1, 1], [1, 1, 0], [1, -1, 1], [1, float("nan"), 1], [1, "x", 1]):
        with pytest.raises(InputError, match="weight"):
            mechanism(weights=bad)
    with pytest.raises(InputError, match="loss"):
        mechanism(loss="l0")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"sizes": [1, 2, 3]}, "without_size_zero=True"),
        ({"without_size_zero": True}, "size 0 is listed"),
        ({"sizes": [0, 2, 1]}, "unsorted"),
        ({"total": -1}, "total"),
        ({"total": 2.5}, "total"),
        ({"z_max": 0}, "z_max"),
        ({"noise": "gaussian"}, "kind 'zcdp'"),
        ({"noise": "cauchy"}, "unknown noise"),
        ({"budget": LevelBudget.equal(1, 2)}, "2 shares for 3 levels"),
        ({"budget": LevelBudget.explicit([1, 1, 0])}, "leaf level"),
        ({"budget": LevelBudget.explicit([1, 1, "1e-12"])}, "county"),
        ({"invariant_levels": ["region"]}, "unknown level 'region'"),
        ({"invariant_levels": ["state"]}, "has a budget"),
        ({"upper": np.zeros((6, 3), dtype=int)}, "exclude the public total"),
        ({"upper": np.full((6, 2), 50)}, "width"),
        ({"lower": np.full((6, 3), 33)}, "clash"),
        ({"hierarchy": None}, "not a region tree"),
        ({"hierarchy": {"us": ""}}, "not a region tree"),
        ({"budget": 1}, "not a budget"),
        ({"budget": (1, 1, 1)}, "not a budget"),
        ({"options": {"threads": 1}}, "not options"),
        ({"options": 3}, "not options"),
        ({"solver": "no-such-solver"}, "unknown solver 'no-such-solver'"),
        ({"solver": None}, "not a solver"),
        ({"solver": object()}, "not a solver"),
        ({"solver": DpSolver}, "not a solver"),
        ({"without_size_zero": "no"}, "without_size_zero"),
        ({"weights": 3}, "not a list: weights"),
        ({"invariant_levels": "state"}, "not a list: invariant_levels"),
        ({"invariant_levels": None}, "not a list: invariant_levels"),
        ({"lower": np.full((6, 3), 0.5)}, "region '"),
    ],
)
def test_parameters_that_do_not_fit_are_refused_when_built(changes, message):
    with pytest.raises(InputError, match=message):
        mechanism(**changes)


def guarantee(**changes):
    return mechanism(**changes).guarantee(SystemBits())


def test_the_words_of_a_pure_release():
    text = guarantee(z_max=3).text
    for words in (
        "1/2-DP (pure, epsilon = 0.5)".replace("1/2", "0.5"),
        "for one person",
        "adding or removing one person's record, or by changing its z within 0..3",
        "the list of 32 units and the leaf region of each (so the unit counts of every region)",
        "the region tree with all 6 regions",
        TREE.digest(),
        "the size list 0..2 (top code: 2 stands for 2 and more)",
        "Z = 3",
        "the level budgets, epsilon 1/6 + 1/6 + 1/6 = 0.5",
        "the level weights, 1, 1, 1",
        "Replacing a record or moving a person to another unit costs 2 epsilon = 1",
        "k records cost k epsilon",
        "Any change inside one unit costs epsilon = 0.5.",
        "discrete Laplace scale 12",
        "Noise from AES-256-CTR keyed by the operating system; the claim assumes that generator.",
    ):
        assert words in text
    for words in ("NOT PRIVATE", "invariant", "Size 0", "rho", "bounds of the counts"):
        assert words not in text


def test_the_words_of_a_zcdp_release():
    text = guarantee(budget=zcdp("1/4", "1/4", "1/2"), noise="gaussian").text
    for words in ("1-zCDP (rho = 1)", "costs 3 rho = 3", "k records cost k^2 rho", "sigma2 4"):
        assert words in text
    assert "epsilon" not in text


def test_the_words_say_what_is_not_protected():
    seeded = mechanism().guarantee(SeededBits(7))
    assert seeded.text.endswith("Fixed seed: NOT PRIVATE.")
    assert seeded.secure is False
    without = guarantee(sizes=[1, 2, 3], without_size_zero=True).text
    assert "Size 0 is not listed: the only member of a unit is not protected." in without
    assert "Any change inside one unit that leaves it at a listed size costs" in without
    later = guarantee(sizes=[2, 4], without_size_zero=True).text
    assert "a person without whom a unit would fall below size 2 is not protected" in later
    held = guarantee(invariant_levels=["state"], budget=LevelBudget.equal(1, 3, without=[1]))
    assert held.invariants == (
        "the counts of all sizes in the 2 regions of level 'state', exactly as in the data",
    )
    assert "Held invariant: the counts of all sizes in the 2 regions of level 'state'" in held.text
    assert "no part of the claim protects them" in held.text
    assert held.event.epsilon == 1
    bounded = guarantee(upper=structural_zeros(TREE, SIZES, 32, [("a1", 2)]))
    assert any("upper bounds of the counts" in item for item in bounded.public)


def test_long_and_gapped_size_lists_stay_readable():
    assert size_list_text(np.arange(5000)).startswith("0..4999 (top code: 4999")
    assert "each the lower edge of a bin" in size_list_text(np.array([0, 1, 5, 20]))
    squares = np.arange(100) ** 2
    assert "100 sizes" in size_list_text(squares)
    assert size_list_text(squares) != size_list_text(np.append(squares[:-1], 9802)).replace("9802", "9801")


def test_digests_follow_every_public_parameter():
    changes = [
        {},
        {"z_max": 2},
        {"weights": "equal"},
        {"solver": "dp"},
        {"budget": LevelBudget.explicit(["1/4", "1/8", "1/8"])},
        {"sizes": [0, 1, 3]},
        {"total": 33},
        {"upper": structural_zeros(TREE, SIZES, 32, [("a1", 2)])},
        {"upper": structural_zeros(TREE, SIZES, 32, [("a2", 2)])},
    ]
    records = [json.dumps(mechanism(**change).parameters(), sort_keys=True) for change in changes]
    assert len(set(records)) == len(records)


def run(query, data=DATA, budget=100):
    ledger = Ledger.zcdp(budget) if query.budget.kind is Kind.ZCDP else Ledger.pure(budget)
    return release(query, data, ledger=ledger, rng=SeededBits(11))


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"budget": zcdp("1/4", "1/8", "1/2"), "noise": "gaussian"},
        {"budget": LevelBudget.explicit(["1/2", 0, "1/2"])},
        {"weights": "equal", "budget": LevelBudget.explicit(["1/2", "1/3", "1/7"])},
    ],
)
def test_a_release_is_consistent_and_proven_optimal(changes):
    result = run(mechanism(**changes))
    assert result.estimate.value.check(32) == ()
    assert result.estimate.solve.termination == "optimal"
    assert result.estimate.solve.certificate is True
    assert result.guarantee.event == mechanism(**changes).event


def test_structural_zeros_hold():
    upper = structural_zeros(TREE, SIZES, 32, [("a", 2), ("b1", 0)])
    counts = run(mechanism(upper=upper), solver_data(upper)).estimate.value.counts
    rows = TREE.index(["a", "a1", "a2"])
    assert (counts[rows, 2] == 0).all()
    assert counts[TREE.index(["b1"])[0], 0] == 0
    with pytest.raises(InputError, match="not listed"):
        structural_zeros(TREE, SIZES, 32, [("a", 3)])
    with pytest.raises(InputError):
        structural_zeros(TREE, SIZES, 32, [("nowhere", 2)])


def solver_data(upper):
    return GroupSizes.from_leaf_counts(TREE, SIZES, [[8, 3, 0], [9, 0, 0], [0, 4, 8]])


def test_invariant_levels_are_exact_and_cost_nothing():
    query = mechanism(
        invariant_levels=["state"],
        budget=LevelBudget.explicit(["1/3", 0, "1/3"]),
        options=SolveOptions(seed=1),
    )
    ledger = Ledger.pure("2/3")
    result = release(query, DATA, ledger=ledger, rng=SeededBits(11))
    assert ledger.remaining.epsilon == 0
    rows = TREE.level_slice(1)
    assert np.array_equal(result.estimate.value.counts[rows], DATA.counts[rows])
    assert not np.array_equal(result.estimate.value.counts, DATA.counts)
    # Public bounds that the disclosed counts do not meet are found before the charge.
    full = Ledger.pure(5)
    clash = mechanism(
        invariant_levels=["state"],
        budget=LevelBudget.explicit(["1/3", 0, "1/3"]),
        upper=structural_zeros(TREE, SIZES, 32, [("a1", 2), ("a2", 2)]),
    )
    with pytest.raises(InputError, match="structural zero"):
        release(clash, DATA, ledger=full, rng=SeededBits(11))
    both = dataclasses.replace(clash, upper=structural_zeros(TREE, SIZES, 32, [("a", 2)]))
    with pytest.raises(InputError, match=r"structural zero .*region 'a', size 2, level 'state'"):
        release(both, DATA, ledger=full, rng=SeededBits(11))
    assert full.entries == ()


def test_levels_without_budget_are_not_published():
    query = mechanism(budget=LevelBudget.explicit(["1/2", 0, "1/2"]))
    noisy = query.measurements(query.measure(DATA, SeededBits(1)))["noisy"]
    assert noisy["region"].tolist() == ["us", "a1", "a2", "b1"]
    assert noisy["level"].tolist() == [1, 3, 3, 3]


@pytest.mark.parametrize("shares", [["1/2", 0, "1/2"], ["1/2", "1/2", "1/2"]])
def test_measurements_read_back(shares):
    query = mechanism(budget=LevelBudget.explicit(shares))
    measured = query.measure(DATA, SeededBits(1))
    noisy = query.measurements(measured)["noisy"]
    assert np.array_equal(query.measured(noisy).noisy, measured.noisy)
    with pytest.raises(InputError, match="columns"):
        query.measured({name: column for name, column in noisy.items() if name != "2"})
    with pytest.raises(InputError, match="regions"):
        query.measured({name: column[::-1] for name, column in noisy.items()})
    with pytest.raises(InputError, match="column '1'"):
        query.measured({**noisy, "1": noisy["1"].astype(float)})


def test_noisy_counts_are_clipped_to_what_everything_downstream_takes():
    sizes = np.array([0, 1])
    one = Hierarchy.from_columns(["r"], [""])
    total = 2**53
    data = GroupSizes.from_leaf_counts(one, sizes, [[total, 0]])
    query = HierarchicalMechanism(
        hierarchy=one, sizes=sizes, total=total, budget=LevelBudget.equal("1e-6", 1)
    )
    noisy = np.concatenate([query.measure(data, SeededBits(seed)).noisy for seed in range(8)])
    assert noisy.max() == 2**53
    assert query.estimate(MeasuredCounts(noisy=noisy[:1])).value.total == total


def test_expected_errors_match_their_definition():
    for law in (
        DiscreteLaplace(scale=Fraction(12)),
        DiscreteLaplace(scale=Fraction(1, 3)),
        DiscreteGaussian(sigma2=Fraction(1, 3)),
        DiscreteGaussian(sigma2=Fraction(399)),
        DiscreteGaussian(sigma2=Fraction(400)),
    ):
        summed = sum(2 * k * law.probability(k) for k in range(1, 2000))
        assert expected_absolute(law) == pytest.approx(summed, rel=1e-6)
    assert expected_absolute(DiscreteLaplace(scale=Fraction(1, 10**6))) == 0
    query = mechanism(invariant_levels=["nation"], budget=LevelBudget.explicit([0, 0, "1/6"]))
    nation, state, county = query.expected_error()
    assert (nation.cells, state.cells, county.cells) == (3, 6, 9)
    assert (nation.l1, state.l1) == (0, None)
    assert county.l1 == pytest.approx(9 * expected_absolute(DiscreteLaplace(scale=Fraction(12))))
    assert county.to_dict()["share"] == "1/6"


def test_expected_error_is_what_happens_on_average():
    query = mechanism(budget=LevelBudget.explicit(["1/4", "1/2", 1]))
    errors = np.zeros(3)
    for seed in range(200):
        noise = np.abs(query.measure(DATA, SeededBits(seed)).noisy - DATA.counts)
        errors += [noise[TREE.level_slice(level)].sum() / 200 for level in range(3)]
    assert errors == pytest.approx([level.l1 for level in query.expected_error()], rel=0.15)


def test_the_audit_says_confidential_everywhere():
    query = mechanism()
    measured = query.measure(DATA, SeededBits(1))
    released = query.estimate(measured).value
    table = confidential_error_table(DATA, released, measured.noisy)
    for level, row in enumerate(table):
        rows = TREE.level_slice(level)
        assert row.confidential_l1_noisy == np.abs(measured.noisy - DATA.counts)[rows].sum()
        assert row.confidential_l1_released == np.abs(released.counts - DATA.counts)[rows].sum()
        assert row.to_dict()["confidential"] is True
    assert confidential_error_text(table).startswith("CONFIDENTIAL")
    assert "- |" in confidential_error_text(confidential_error_table(DATA, released))
    import pgsr.groupsizes.audit as audit

    ours = [name for name, thing in vars(audit).items() if getattr(thing, "__module__", "") == audit.__name__]
    assert ours
    assert all("confidential" in name.lower() for name in ours)


def test_every_order_of_sizes_and_regions_is_checked():
    for order in itertools.permutations(range(3)):
        if order != (0, 1, 2):
            with pytest.raises(InputError):
                mechanism(sizes=SIZES[list(order)])


def test_data_that_contradict_a_public_bound_are_refused_before_the_charge():
    lower = np.zeros((6, 3), dtype=int)
    lower[TREE.index(["b1"])[0], 1] = 5
    for changes, words in (
        ({"upper": structural_zeros(TREE, SIZES, 32, [("a2", 2)])}, "structural zero: region 'a2', size 2:"),
        ({"upper": np.minimum(np.full((6, 3), 32), 16)}, None),
        (
            {"upper": np.array([[32] * 3] * 4 + [[32, 32, 8]] + [[32] * 3])},
            "upper bound: region 'a2', size 2:",
        ),
        ({"lower": lower}, "lower bound: region 'b1', size 1:"),
    ):
        ledger = Ledger.pure(5)
        if words is None:
            release(mechanism(**changes), DATA, ledger=ledger, rng=SeededBits(1))
            continue
        with pytest.raises(InputError, match="contradict a") as refusal:
            release(mechanism(**changes), DATA, ledger=ledger, rng=SeededBits(1))
        assert words in str(refusal.value)
        assert "9" not in str(refusal.value)
        assert "4" not in str(refusal.value)
        assert ledger.entries == ()


def test_the_guarantee_lists_bounds_cell_by_cell_or_names_the_table():
    lower = np.zeros((6, 3), dtype=int)
    lower[3, 1] = 2
    public = (
        mechanism(upper=structural_zeros(TREE, SIZES, 32, [("a1", 2), ("b1", 0)]), lower=lower)
        .guarantee(SystemBits())
        .public
    )
    assert "the lower bounds of the counts: region 'a1' size 1 at least 2" in public
    assert (
        "the upper bounds of the counts: region 'a1' size 2 at most 0, region 'b1' size 0 at most 0" in public
    )
    sizes = np.arange(7)
    for many, words in ((20, "size 6 at most 30"), (21, "21 cells, in the table upper (sha256 ")):
        upper = np.full((6, 7), 32)
        upper.ravel()[-many:] = 30
        items = mechanism(sizes=sizes, upper=upper).public
        assert words in next(item for item in items if "upper bounds" in item)
    assert any("none that binds" in item for item in mechanism(upper=np.full((6, 3), 32)).public)
