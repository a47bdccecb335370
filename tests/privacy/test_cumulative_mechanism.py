"""The Model 2 mechanism: parameters, words, bounds, releases, errors; the rest is tested with Model 1."""

import itertools
import traceback
from fractions import Fraction

import numpy as np
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pgsr
from pgsr.groupsizes.audit import confidential_error_table
from pgsr.groupsizes.bounds import structural_zeros
from pgsr.groupsizes.expected import expected_absolute, expected_absolute_sums
from pgsr.mechanism import Release, reprocess
from pgsr.models.problem import Problem
from pgsr.noise import DiscreteGaussian, DiscreteLaplace
from pgsr.privacy import Kind
from pgsr.solvers.registry import get

TREE = pgsr.Hierarchy.from_columns(
    ["us", "a", "b", "a1", "a2", "b1"],
    ["", "us", "us", "a", "a", "b"],
    level_names=("nation", "state", "county"),
)
SIZES = np.array([0, 1, 2])
DATA = pgsr.GroupSizes.from_leaf_counts(TREE, SIZES, [[5, 3, 1], [2, 0, 9], [4, 4, 4]])
WINDOW = get("window")  # as an object: solved in this process, which is quicker
FORK = pgsr.Hierarchy.from_columns(["r", "a", "b"], ["", "r", "r"])


def mechanism(**changes):
    options = {"hierarchy": TREE, "sizes": SIZES, "total": 32, "budget": pgsr.LevelBudget.equal("1/2", 3)}
    return pgsr.CumulativeMechanism(**{"solver": WINDOW, **options, **changes})


def zcdp(*shares):
    return pgsr.LevelBudget.explicit(shares, kind=Kind.ZCDP)


def run(query, data=DATA, seed=11):
    ledger = pgsr.Ledger.zcdp(100) if query.budget.kind is Kind.ZCDP else pgsr.Ledger.pure(100)
    return pgsr.release(query, data, ledger=ledger, rng=pgsr.SeededBits(seed))


class NoBits:
    """Fails the test as soon as anything is drawn."""

    secure = True
    description = "no bits"

    def words(self, n):
        pytest.fail("random bits were asked for")


def test_noise_scales_follow_the_sensitivity():
    shares = pgsr.LevelBudget.explicit(["1/7", "1/3", 2])
    assert [law.scale for law in mechanism(budget=shares).laws] == [7, 3, Fraction(1, 2)]
    assert [law.scale for law in mechanism(budget=shares, z_max=2).laws] == [14, 6, 1]
    assert [law.scale for law in mechanism(budget=shares, z_max=9).laws] == [14, 6, 1]
    assert [law.scale for law in mechanism(budget=shares, z_max=3, sizes=[0, 2, 5]).laws] == [7, 3, 0.5]
    gaussian = mechanism(budget=zcdp("1/7", "1/3", 2), noise="gaussian", z_max=2)
    assert [law.sigma2 for law in gaussian.laws] == [7, 3, Fraction(1, 2)]
    assert gaussian.event.rho == Fraction(1, 7) + Fraction(1, 3) + 2
    assert mechanism(z_max=2).event == mechanism().event


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"sizes": [1, 2, 3]}, "without_size_zero=True"),
        ({"total": -1}, "total"),
        ({"z_max": 0}, "z_max"),
        ({"noise": "gaussian"}, "kind 'zcdp'"),
        ({"budget": pgsr.LevelBudget.explicit([1, 1, "1e-12"])}, "county"),
        ({"budget": pgsr.LevelBudget.explicit([1, 1, 0])}, "leaf level"),
        ({"upper": np.full((6, 2), 50)}, "width"),
        ({"upper": np.full((6, 3), 31)}, "exclude the public total"),
        ({"upper": np.zeros((5, 3), dtype=int)}, "wrong shape"),
        ({"lower": np.full((6, 3), 33)}, "clash|exclude"),
        ({"lower": np.full((6, 3), 0.5)}, "region '"),
        ({"solver": "no-such-solver"}, "unknown solver 'no-such-solver'"),
        ({"solver": None}, "not a solver"),
    ],
)
def test_parameters_that_do_not_fit_are_refused_when_built(changes, message):
    with pytest.raises(pgsr.InputError, match=message):
        mechanism(**changes)


def test_rules_on_single_sizes_are_refused():
    """A structural zero as a bound of cumulative counts would empty all smaller sizes as well."""
    with pytest.raises(pgsr.InputError, match=r"upper bound decreases .*region 'a1', size 2.*cumulative"):
        mechanism(upper=structural_zeros(TREE, SIZES, 32, [("a1", 2)]))
    lower = np.zeros((6, 3), dtype=int)
    lower[4, 1] = 1
    with pytest.raises(pgsr.InputError, match=r"lower bound decreases .*region 'a2', size 2"):
        mechanism(lower=lower)
    with pytest.raises(TypeError, match="invariant_levels"):
        mechanism(invariant_levels=("state",))
    # A zero at the first sizes says the same of counts and of cumulative counts.
    first = mechanism(upper=structural_zeros(TREE, SIZES, 32, [("a1", 0)]))
    with pytest.raises(pgsr.InputError, match=r"contradict a public upper bound|structural zero") as refusal:
        first.check(DATA)
    assert "region 'a1', sizes up to 0" in str(refusal.value)


def test_the_words_of_a_pure_release():
    text = mechanism(z_max=3).guarantee(pgsr.SystemBits()).text
    for words in (
        "0.5-DP (pure, epsilon = 0.5) for one person",
        "adding or removing one person's record, or by changing its z within 0..3",
        "Measured are cumulative counts: for each region and listed size, the units of that size or smaller",
        "on each level one person's record changes at most 2 of them, each by 1",
        "The last one of a region is its public number of units; it gets noise all the same.",
        "the list of 32 units and the leaf region of each (so the unit counts of every region)",
        "Z = 3, which moves a unit across at most B = 2 of the listed sizes",
        "Replacing a record or moving a person to another unit costs 2 epsilon = 1",
        "k records cost k epsilon",
        "discrete Laplace scale 12",
        "Noise from AES-256-CTR keyed by the operating system; the claim assumes that generator.",
    ):
        assert words in text
    for words in ("NOT PRIVATE", "invariant", "Size 0", "rho", "bounds of", "inside one unit"):
        assert words not in text


def test_the_words_of_a_zcdp_release_and_of_what_is_not_protected():
    query = mechanism(
        budget=zcdp("1/4", "1/4", "1/2"), noise="gaussian", sizes=[1, 2], without_size_zero=True
    )
    made = query.guarantee(pgsr.SeededBits(7))
    for words in (
        "1-zCDP (rho = 1)",
        "costs 2 rho = 2",
        "k records cost k^2 rho",
        "sigma2 2; ",
        "Size 0 is not listed: the only member of a unit is not protected.",
    ):
        assert words in made.text
    assert made.text.endswith("Fixed seed: NOT PRIVATE.")
    assert (made.secure, made.sampler, made.invariants) == (False, "exact", ())
    assert made.event == query.event


def test_the_guarantee_does_not_depend_on_the_data():
    other = pgsr.GroupSizes.from_leaf_counts(TREE, SIZES, [[32, 0, 0], [0, 0, 0], [0, 0, 0]])
    one, two = run(mechanism()), run(mechanism(), other)
    assert one.guarantee == two.guarantee
    assert one.provenance.parameters == two.provenance.parameters
    assert one.provenance.config_digest == two.provenance.config_digest


def test_an_overspend_is_refused_before_anything_is_drawn():
    ledger = pgsr.Ledger.pure("0.49")
    with pytest.raises(pgsr.BudgetError):
        pgsr.release(mechanism(), DATA, ledger=ledger, rng=NoBits())
    with pytest.raises(pgsr.InputError, match="another number of units"):
        pgsr.release(mechanism(total=33), DATA, ledger=pgsr.Ledger.pure(1), rng=NoBits())
    with pytest.raises(pgsr.InputError, match="does not take"):
        pgsr.release(mechanism(solver="dp"), DATA, ledger=pgsr.Ledger.pure(1), rng=NoBits())
    assert ledger.entries == ()


def all_cumulative(leaves, total, width):
    """Every table of a root with that many leaves: all ways to lay `total` units into their cells."""
    cells = leaves * width
    for bars in itertools.combinations(range(total + cells - 1), cells - 1):
        ends = (-1, *bars, total + cells - 1)
        counts = np.diff(ends).reshape(leaves, width) - 1
        yield np.cumsum(np.vstack([counts.sum(axis=0), counts]), axis=1)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("loss", ["l2", "l1"])
def test_the_release_is_the_differences_of_the_best_cumulative_table(seed, loss):
    """Against all 56 tables that there are."""
    data = pgsr.GroupSizes.from_leaf_counts(FORK, SIZES, [[1, 0, 1], [0, 1, 0]])
    budget = pgsr.LevelBudget.explicit(["3/2", "1/2"])
    query = mechanism(hierarchy=FORK, total=3, budget=budget, loss=loss, z_max=2)
    made = run(query, data, seed)
    noisy = query.measured(made.measurements["noisy"]).noisy
    weights = np.repeat(query.level_weights, [1, 2])
    problem = Problem(parent=FORK.parent, target=noisy, total=3, weights=weights, cumulative=True, loss=loss)
    values = [problem.objective(table) for table in all_cumulative(2, 3, 3)]
    assert len(values) == 56
    released = made.estimate.value
    assert released.check(3) == ()
    assert made.provenance.solve.objective == problem.objective(released.cumulative()) == min(values)
    assert set(made.provenance.solve.violations) >= {"monotonicity", "consistency", "faithfulness"}
    assert set(made.provenance.solve.violations.values()) == {0}


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"z_max": 2, "solver": "auto"},
        {"budget": zcdp("1/4", "1/8", "1/2"), "noise": "gaussian"},
        {"budget": pgsr.LevelBudget.explicit(["1/2", 0, "1/2"])},
        {"weights": "equal", "budget": pgsr.LevelBudget.explicit(["1/2", "1/3", "1/7"])},
        {"weights": (2, 1, 0.5), "loss": "l1"},
    ],
)
def test_a_release_is_consistent_and_proven(changes):
    made = run(mechanism(**changes))
    assert made.estimate.value.check(32) == ()
    assert made.provenance.solve.termination == "optimal"
    assert made.provenance.mechanism == "groupsizes.cumulative"
    assert made.provenance.parameters["model"] == "cumulative"
    assert made.provenance.parameters["sensitivity"] == mechanism(**changes).sensitivity[0]


def test_bounds_hold_for_cumulative_counts():
    """Such as the public number of units of every region, which pins the last column."""
    lower = np.zeros((6, 3), dtype=int)
    upper = np.full((6, 3), 32)
    lower[:, 2] = upper[:, 2] = DATA.counts.sum(axis=1)
    upper[:, :2] = upper[:, 2:]
    query = mechanism(lower=lower, upper=upper)
    made = run(query)
    assert made.estimate.value.counts.sum(axis=1).tolist() == DATA.counts.sum(axis=1).tolist()
    items = " ".join(made.guarantee.public)
    assert "the lower bounds of the cumulative counts: region 'us' sizes up to 2 at least 32" in items
    assert "the upper bounds of the cumulative counts: region 'a' sizes up to 0 at most 20" in items
    assert set(made.estimate.tables) == {"counts", "lower", "upper"}
    upper = np.full((6, 3), 32)
    upper[3] = 8
    ledger = pgsr.Ledger.pure(5)
    with pytest.raises(pgsr.InputError, match="region 'a1', sizes up to 2"):
        pgsr.release(mechanism(upper=upper), DATA, ledger=ledger, rng=NoBits())
    assert ledger.entries == ()


@pytest.mark.parametrize(
    ("sizes", "leaf_counts"), [([0], [[9], [4]]), ([0, 1, 2], [[0] * 3] * 2), ([0, 7], [[2, 0], [0, 0]])]
)
def test_small_input_works(sizes, leaf_counts):
    """One size; no units; one region below one."""
    for tree in (FORK, pgsr.Hierarchy.from_columns(["r", "a"], ["", "r"])):
        data = pgsr.GroupSizes.from_leaf_counts(tree, sizes, leaf_counts[: len(tree.leaves)])
        budget = pgsr.LevelBudget.equal(1, 2)
        query = mechanism(hierarchy=tree, sizes=sizes, total=data.total, budget=budget, z_max=3)
        assert run(query, data).estimate.value.check(data.total) == ()


def test_seeds_reproduce_and_measurements_read_back(tmp_path):
    one, two, other = (run(mechanism(), seed=seed) for seed in (5, 5, 6))
    for name, column in one.measurements["noisy"].items():
        assert np.array_equal(column, two.measurements["noisy"][name])
    assert any(
        not np.array_equal(column, other.measurements["noisy"][name])
        for name, column in one.measurements["noisy"].items()
    )
    assert np.array_equal(one.estimate.value.counts, two.estimate.value.counts)
    one.save(tmp_path / "out")
    read = Release.load(tmp_path / "out")
    again = mechanism(weights="equal")
    made = reprocess(again, again.measured(read.measurements["noisy"]), read)
    assert made.estimate.value.check(32) == ()
    assert made.provenance.seeded
    kindred = pgsr.HierarchicalMechanism(
        hierarchy=TREE, sizes=SIZES, total=32, budget=pgsr.LevelBudget.equal("1/2", 3)
    )
    with pytest.raises(pgsr.InputError, match="another parameter 'mechanism'"):
        reprocess(kindred, kindred.measured(read.measurements["noisy"]), read)
    with pytest.raises(pgsr.InputError, match="another parameter"):
        reprocess(mechanism(z_max=2), again.measured(read.measurements["noisy"]), read)


# Counts that are recognised wherever they turn up; noise of scale 2^19 keeps them from turning up by chance.
PLANTED = ((987654321, 31415926535, 27182818284), (14142135623, 1, 1), (1, 1, 57721566490))


def test_no_confidential_value_gets_out(tmp_path):
    truth = pgsr.GroupSizes.from_leaf_counts(TREE, SIZES, PLANTED)
    secrets = {int(v) for table in (truth.counts, truth.cumulative()) for v in table.ravel() if v > 3}
    secrets -= {truth.total}
    plain = {"total": truth.total, "budget": pgsr.LevelBudget.explicit(["1/500000"] * 3)}
    made = run(mechanism(**plain), truth)
    made.save(tmp_path / "out")
    upper = np.full((6, 3), truth.total)
    upper[3] = 10
    texts = [repr(made), repr(mechanism(**plain))]
    for changes in ({"total": 5}, {"sizes": [0, 1, 3]}, {"upper": upper}, {"solver": "dp"}):
        with pytest.raises(pgsr.PgsrError) as failure:
            run(mechanism(**{**plain, **changes}), truth)
        texts.append("".join(traceback.format_exception(failure.value)))
    values = set()
    for path in (tmp_path / "out").iterdir():
        if path.suffix == ".parquet":
            table = pyarrow.parquet.read_table(path)
            values |= {value for column in table.columns for value in column.to_pylist()}
        else:
            texts.append(path.read_text(encoding="utf-8"))
    assert int(made.measurements["noisy"]["0"][1]) in values
    assert not values & secrets
    for secret in secrets:
        assert not any(str(secret) in text or f"{secret:,}" in text for text in texts)


LAWS = [
    DiscreteLaplace(scale=Fraction(12)),
    DiscreteLaplace(scale=Fraction(1, 3)),
    DiscreteLaplace(scale=Fraction(1, 40)),
    DiscreteGaussian(sigma2=Fraction(1, 3)),
    DiscreteGaussian(sigma2=Fraction(399, 100)),
    DiscreteGaussian(sigma2=Fraction(4)),
]


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_expected_errors_of_sums_by_convolution(law):
    reach = 60 + int(30 * law.variance**0.5)
    one = np.array([law.probability(k) for k in range(-reach, reach + 1)])
    sums, found = np.ones(1), []
    for m in range(1, 5):
        sums = np.convolve(sums, one)
        found.append((np.abs(np.arange(sums.size) - sums.size // 2) * sums).sum())
        assert expected_absolute_sums(law, m, m) == pytest.approx(found[-1], rel=1e-6)
    assert expected_absolute_sums(law, 2, 4) == pytest.approx(sum(found[1:]), rel=1e-6)
    assert found[0] == pytest.approx(expected_absolute(law), rel=1e-9)


def test_expected_errors_of_sums_by_formula():
    """A difference of two discrete Laplace draws in closed form, and the normal limit of long sums."""
    for scale in (1, 30, 10**6):
        law = DiscreteLaplace(scale=Fraction(scale))
        a = np.exp(-1 / scale)
        exact = 4 * a * (1 + a + a * a) / ((1 + a) ** 3 * -np.expm1(-1 / scale))
        assert expected_absolute_sums(law, 2, 2) == pytest.approx(exact, rel=1e-6)
        m = np.arange(1, 5001)
        normal = np.sqrt(2 / np.pi * m * law.variance) * (1 - 1 / (8 * m))
        assert expected_absolute_sums(law, 1, 5000) == pytest.approx(normal.sum(), rel=1e-4)


@pytest.mark.parametrize("kind", ["cumulative", "gaussian", "hierarchical"])
def test_expected_errors_by_level_are_those_found(kind):
    if kind == "hierarchical":
        query = pgsr.HierarchicalMechanism(
            hierarchy=TREE, sizes=SIZES, total=32, budget=pgsr.LevelBudget.equal("1/2", 3)
        )
    elif kind == "gaussian":
        query = mechanism(budget=zcdp("1/40", "1/8", "1/2"), noise="gaussian")
    else:
        query = mechanism(z_max=2, budget=pgsr.LevelBudget.explicit(["1/5", "1/2", 1]))
    found = np.zeros((2, 3))
    for seed in range(300):
        noisy = query.measure(DATA, pgsr.SeededBits(seed)).noisy
        counts = pgsr.GroupSizes.differences(noisy) if query.cumulative else noisy
        rows = confidential_error_table(DATA, DATA, counts)
        found += [
            [row.confidential_l1_noisy for row in rows],
            [row.confidential_emd_noisy for row in rows],
        ]
    expected = query.expected_error()
    assert found[0] / 300 == pytest.approx([level.l1 for level in expected], rel=0.15)
    assert found[1] / 300 == pytest.approx([level.emd for level in expected], rel=0.15)
    for level in expected:
        summed = level.emd if query.cumulative else level.l1
        assert summed == pytest.approx(level.cells * level.absolute)
    unmeasured = mechanism(budget=pgsr.LevelBudget.explicit(["1/2", 0, "1/2"])).expected_error()[1]
    assert (unmeasured.absolute, unmeasured.l1, unmeasured.emd) == (None, None, None)


@settings(max_examples=30, deadline=None)
@given(
    st.integers(1, 5),
    st.lists(
        st.tuples(st.sampled_from(["a1", "a2", "b1"]), st.lists(st.integers(0, 5), max_size=3)), max_size=8
    ),
    st.sampled_from([(0, 1, 2, 3), (0, 2, 5), (0,)]),
    st.sampled_from(["1/10", "1", "7"]),
    st.sampled_from([Kind.PURE, Kind.ZCDP]),
    st.integers(0, 10**6),
)
def test_persons_to_proven_release(z_max, units, sizes, budget, kind, seed):
    frame = {"unit": [f"u{i}" for i in range(len(units))], "region": [region for region, _ in units]}
    rows = [(f"u{i}", min(z, z_max)) for i, (_, persons) in enumerate(units) for z in persons]
    persons = {
        "unit": np.array([unit for unit, _ in rows], dtype=object),
        "z": np.array([z for _, z in rows], dtype=int),
    }
    frame = {name: np.array(column, dtype=object) for name, column in frame.items()}
    truth = pgsr.GroupSizes.from_persons(persons, TREE, sizes, z="z", z_max=z_max, frame=frame)
    query = mechanism(
        sizes=truth.sizes,
        total=truth.total,
        budget=pgsr.LevelBudget.equal(budget, 3, kind=kind),
        noise="laplace" if kind is Kind.PURE else "gaussian",
        z_max=z_max,
    )
    ledger = pgsr.Ledger.pure(budget) if kind is Kind.PURE else pgsr.Ledger.zcdp(budget)
    made = pgsr.release(query, truth, ledger=ledger, rng=pgsr.SeededBits(seed))
    assert made.estimate.value.check(truth.total) == ()
    noisy = np.stack([made.measurements["noisy"][str(size)] for size in sizes], axis=1)
    problem = Problem(parent=TREE.parent, target=noisy, total=truth.total, cumulative=True)
    assert problem.objective(made.estimate.value.cumulative()) == made.provenance.solve.objective
    assert made.provenance.solve.certificate is not False
    with pytest.raises(pgsr.BudgetError):
        pgsr.release(query, truth, ledger=ledger, rng=pgsr.SeededBits(seed))
