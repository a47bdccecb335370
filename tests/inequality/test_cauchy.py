"""The Cauchy release: exact law of the sampler, and the rounding recipe under adversarial errors."""

from __future__ import annotations

import itertools
import math
import random
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from pgsr.errors import InputError
from pgsr.inequality import cauchy
from pgsr.inequality.cauchy import ConfidentialCauchy, inside, outside
from pgsr.inequality.grid import Grid
from pgsr.inequality.loss import alpha_max, pair_loss
from pgsr.inequality.rounding import CauchyPlan, float_below
from pgsr.noise import SeededBits

GRID = Grid(step=Fraction(1, 8), last=9)
LAW = ConfidentialCauchy(value=Fraction(3, 7), scale=Fraction(2, 11), grid=GRID)


def mp(value):
    return mpmath.mpf(value.numerator) / value.denominator


def probabilities(law):
    """The exact law of the grid points, from the distribution function of the Cauchy law."""
    edges = [
        (mp(law.grid.step) * (k - mpmath.mpf(1) / 2) - mp(law.value)) / mp(law.scale)
        for k in range(1, law.grid.last + 1)
    ]
    cumulative = [mpmath.mpf(0), *(mpmath.atan(edge) / mpmath.pi + 0.5 for edge in edges), mpmath.mpf(1)]
    return [float(high - low) for low, high in itertools.pairwise(cumulative)]


def test_decided_cells_enclose_the_exact_law():
    """All cells of a square of 2^8 by 2^8: what is decided is never more than the exact probability."""
    bits = 8
    decided = np.zeros(GRID.last + 1)
    undecided = 0
    for across, up, negative in itertools.product(range(1 << bits), range(1 << bits), (False, True)):
        if outside(across, up, bits):
            continue
        low, high = LAW.cells(across, up, negative=negative)
        assert 0 <= low <= high <= GRID.last
        if low == high and inside(across, up, bits):
            decided[low] += 1
        else:
            undecided += 1
    exact = np.array(probabilities(LAW)) * math.pi / 4 * 2 * 4**bits
    assert (decided <= exact).all()
    assert decided.sum() + undecided >= exact.sum()
    assert undecided < 0.06 * exact.sum()
    assert (exact - decided < undecided).all()


def test_cells_shrink_to_the_true_point():
    """The ends of the interval are those of the exact quotient, whatever the precision."""
    rng = random.Random(1)
    for _ in range(2000):
        bits = rng.choice([1, 3, 20])
        across, up, negative = rng.randrange(1 << bits), rng.randrange(1 << bits), rng.random() < 0.5
        fine = 40
        a = (across << fine) + rng.randrange(1 << fine)
        c = (up << fine) + rng.randrange(1, 1 << fine)
        z = Fraction(-a if negative else a, c)
        true = min(max(math.floor((LAW.value + LAW.scale * z) / GRID.step + Fraction(1, 2)), 0), GRID.last)
        low, high = LAW.cells(across, up, negative=negative)
        assert low <= true <= high


def chi_square(counts, expected):
    return float(((counts - expected) ** 2 / expected).sum())


@pytest.mark.parametrize("bits", [1, 3, 64])
def test_draws_follow_the_law_however_many_bits_are_read_at_a_time(bits, monkeypatch):
    monkeypatch.setattr(cauchy, "_BITS", bits)
    rng = SeededBits(11 + bits)
    draws = 20_000
    counts = np.bincount([LAW.draw(rng) for _ in range(draws)], minlength=GRID.last + 1)
    statistic = chi_square(counts, draws * np.array(probabilities(LAW)))
    assert statistic < 27.9  # chi-square with 9 degrees of freedom, 0.1 % level


def test_fine_draws_are_cauchy_by_kolmogorov_and_smirnov():
    law = ConfidentialCauchy(
        value=Fraction(5), scale=Fraction(1, 1000), grid=Grid(step=Fraction(1, 2**30), last=2**34)
    )
    rng = SeededBits(5)
    n = 10_000
    z = np.sort([(law.draw(rng) / 2**30 - 5) * 1000 for _ in range(n)])
    cdf = np.arctan(z) / math.pi + 0.5
    distance = max(np.abs(cdf - np.arange(n) / n).max(), np.abs(cdf - np.arange(1, n + 1) / n).max())
    assert distance < 1.95 / math.sqrt(n)  # 0.1 % level


def test_far_draws_stay_on_the_grid():
    law = ConfidentialCauchy(value=Fraction(1, 2), scale=Fraction(10**9), grid=GRID)
    rng = SeededBits(2)
    counts = np.bincount([law.draw(rng) for _ in range(2000)], minlength=10)
    assert counts[0] + counts[9] == 2000
    assert abs(counts[0] - 1000) < 150


# --- The recipe: tiny worlds with exact sensitivities ------------------------------------------------------


class World:
    """All multisets of `n` of `values` as data sets, an index on them, and its exact ladder A^(k)."""

    def __init__(self, n, values, index):
        self.sets = list(itertools.combinations_with_replacement(range(values), n))
        self.index = {x: index(x) for x in self.sets}
        self.near = {x: self._neighbours(x, values) for x in self.sets}
        entries = {x: max(abs(self.index[x] - self.index[y]) for y in self.near[x]) for x in self.sets}
        self.ladder = {x: [entries[x]] for x in self.sets}
        for k in range(n):
            for x in self.sets:
                self.ladder[x].append(max(self.ladder[y][k] for y in (x, *self.near[x])))
        self.global_ = max(entries.values())

    @staticmethod
    def _neighbours(x, values):
        return [
            tuple(sorted((*x[:i], v, *x[i + 1 :])))
            for i, v in itertools.product(range(len(x)), range(values))
            if v != x[i]
        ]

    def pairs(self):
        return [(x, y) for x in self.sets for y in self.near[x]]


def random_world(rng):
    """A random index: small steps with a few jumps, so that neighbours differ much in sensitivity."""
    return World(
        rng.choice([2, 3, 4]),
        rng.choice([2, 3]),
        lambda _: Fraction(rng.choice([0, 1, 2, 30, 60, 200]), 100),
    )


def worst_loss(world, plan, kappa, delta, eta, *, arithmetic=0.0):
    """Over all neighbours and all extreme errors of both values and both sensitivities, relative to epsilon.

    Float arithmetic: its own errors are below 1e-12.
    """
    versions = {}
    for x in world.sets:
        exact = max(math.exp(-plan.beta_run * k) * float(entry) for k, entry in enumerate(world.ladder[x]))
        scales = [exact + sign * float(eta) + float(kappa) for sign in (-1, 1)]
        if arithmetic:
            scales = [math.ceil(scale / arithmetic) * arithmetic for scale in scales]
        values = [float(world.index[x] + sign * delta) for sign in (-1, 1)]
        versions[x] = [pair for pair in itertools.product(values, scales) if pair[1] > 0]
    return max(
        pair_loss(abs(f - g), s, t, float(plan.alpha)) / float(plan.epsilon)
        for x, y in world.pairs()
        for (f, s), (g, t) in itertools.product(versions[x], versions[y])
    )


def make_plan(world, epsilon, beta, delta, eta):
    return CauchyPlan(
        epsilon=epsilon,
        alpha=alpha_max(epsilon, beta),
        beta=beta,
        grid=GRID,
        bound=world.global_,
        delta=delta,
        ladder_eta=eta,
    )


def worlds(seed, count):
    rng = random.Random(seed)
    made = [random_world(rng) for _ in range(count)]
    return rng, [world for world in made if world.global_ > 0]


def test_the_recipe_is_private_under_the_worst_rounding_and_tight():
    rng, some = worlds(3, 80)
    tightest, careless = 0.0, 0.0
    for world in some:
        epsilon = rng.choice([Fraction(1, 2), Fraction(1), Fraction(2)])
        beta = epsilon * rng.choice([Fraction(1, 4), Fraction(1, 2), Fraction(3, 4)])
        size = rng.choice([Fraction(1, 10**9), Fraction(1, 1000), Fraction(1, 20)])
        delta, eta = size * rng.randint(0, 3), size * rng.randint(0, 3)
        plan = make_plan(world, epsilon, beta, delta, eta)
        worst = worst_loss(world, plan, plan.kappa, delta, plan.eta)
        assert worst <= 1 + 1e-11
        tightest = max(tightest, worst)
        careless = max(careless, worst_loss(world, plan, Fraction(0), delta, plan.eta))
    assert tightest > 0.95
    assert careless > 1.05  # without the pad the same errors break the promise


@pytest.mark.parametrize("part", ["value", "ladder"])
def test_each_part_of_the_pad_is_needed(part):
    """eta + 2 delta alone breaks (A), eta + 2 eta/tau alone breaks (B)."""
    worst = 0.0
    for world in worlds(8, 60)[1]:
        delta, eta = (Fraction(1, 20), Fraction(0)) if part == "value" else (Fraction(0), Fraction(1, 100))
        plan = make_plan(world, Fraction(1), Fraction(9, 10), delta, eta)
        kappa = plan.eta + (2 * plan.eta / plan.tau if part == "value" else 2 * delta)
        worst = max(worst, worst_loss(world, plan, kappa, delta, plan.eta))
    assert worst > 1.02


def test_rounding_sensitivities_to_an_arithmetic_grid_breaks_the_promise():
    worst = 0.0
    for world in worlds(4, 60)[1]:
        plan = make_plan(world, Fraction(1, 2), Fraction(1, 4), Fraction(0), Fraction(0))
        worst = max(worst, worst_loss(world, plan, plan.kappa, Fraction(0), plan.eta, arithmetic=0.25))
    assert worst > 1.2


def test_the_plan_spends_no_more_than_beta():
    for epsilon in (Fraction(1, 1000), Fraction(1, 2), Fraction(8)):
        for share in (Fraction(1, 100), Fraction(1, 2), Fraction(99, 100)):
            beta = epsilon * share
            plan = CauchyPlan(
                epsilon=epsilon,
                alpha=alpha_max(epsilon, beta),
                beta=beta,
                grid=GRID,
                bound=Fraction(1),
                delta=Fraction(1, 10**9),
                ladder_eta=Fraction(1, 10**9),
            )
            with mpmath.workdps(60):
                assert plan.beta_run + mpmath.log(1 + mp(plan.tau)) <= mp(beta)
            assert plan.beta_run > 0.9 * float(beta)
            assert plan.kappa >= plan.eta + 2 * plan.delta
            assert plan.kappa >= plan.eta + 2 * plan.eta / plan.tau


def test_plans_that_are_not_private_are_refused():
    parts = {
        "epsilon": Fraction(1),
        "grid": GRID,
        "bound": Fraction(1),
        "delta": Fraction(0),
        "ladder_eta": Fraction(0),
    }
    for alpha, beta in [("1.05", "0.5"), ("0.1", "1"), ("0.1", "0"), ("0", "0.5")]:
        with pytest.raises(InputError):
            CauchyPlan(alpha=Fraction(alpha), beta=Fraction(beta), **parts)
    CauchyPlan(alpha=Fraction("1.04"), beta=Fraction("0.5"), **parts)


def test_float_below_is_never_above():
    rng = random.Random(0)
    for _ in range(1000):
        value = Fraction(rng.randint(1, 10**30), rng.randint(1, 10**30))
        below = float_below(value)
        assert Fraction(below) <= value < Fraction(math.nextafter(math.nextafter(below, math.inf), math.inf))
