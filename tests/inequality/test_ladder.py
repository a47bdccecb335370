"""Algorithm L: its exact law, enumerated for all neighbours of tiny worlds, and the slips that break it."""

from __future__ import annotations

import itertools
import math
import random
from bisect import bisect_left
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from pgsr.inequality import ladder as module
from pgsr.inequality.grid import Grid
from pgsr.inequality.ladder import LadderPlan
from pgsr.inequality.weights import weights
from pgsr.noise import SeededBits


class World:
    """All multisets of `n` of `values` as data sets, an index on them, and its exact ladder A^(k)."""

    def __init__(self, n, values, index):
        self.n = n
        self.sets = list(itertools.combinations_with_replacement(range(values), n))
        self.index = {x: index(x) for x in self.sets}
        self.near = {
            x: [
                tuple(sorted((*x[:i], v, *x[i + 1 :])))
                for i, v in itertools.product(range(n), range(values))
                if v != x[i]
            ]
            for x in self.sets
        }
        entries = {x: max(abs(self.index[x] - self.index[y]) for y in self.near[x]) for x in self.sets}
        self.ladder = {x: [entries[x]] for x in self.sets}
        for k in range(n + 3):
            for x in self.sets:
                self.ladder[x].append(max(self.ladder[y][k] for y in (x, *self.near[x])))
        self.global_ = max(entries.values())

    def pairs(self):
        return [(x, y) for x in self.sets for y in self.near[x]]


def random_world(rng):
    """Mostly small steps, and a far jump somewhere: the loss is largest where rungs widen one by one."""
    n, values = rng.choice([(3, 2), (4, 2), (6, 2), (8, 2), (10, 2), (2, 3), (3, 3)])
    small, far = rng.choice([10, 13, 40]), rng.choice([1, 2, 4])

    def index(_):
        return Fraction(far) if rng.random() < jumps else Fraction(rng.randint(0, 3), small)

    while True:
        jumps = rng.random() / 2
        world = World(n, values, index)
        if world.global_ > 0:
            return world


def make_plan(world, epsilon, last, *, delta=Fraction(0), eta=Fraction(0)):
    grid = Grid(step=Fraction(4) / last, last=last)
    return LadderPlan(epsilon=epsilon, grid=grid, n=world.n, bound=world.global_, delta=delta, eta=eta)


def reference(plan, value, ladder, *, up=math.ceil, grow=True, rungs=None, weight=None):
    """The weights of all grid points, written down from the definition; the slips are options."""
    g, s = plan.grid.step, plan.subrungs
    terms = plan.rungs if rungs is None else rungs
    centre = plan.grid.nearest(value)
    cap = plan.bound + 2 * plan.delta + (2 * plan.rungs + 2) * plan.eta

    def width(t):
        pad = 2 * plan.delta + ((2 * t if grow else 0) + 1) * plan.eta
        return max(1, up((min(ladder[t] + pad, cap) if t < terms else cap) / g))

    radii, start = [0], 0
    t = 0
    while radii[-1] < plan.grid.last:
        w = width(t)
        radii += [start + i * w // s for i in range(1, s + 1)]
        start += w
        t += 1
    weight = weight or (lambda score: plan.weights[min(score, len(plan.weights) - 1)])
    return [weight(bisect_left(radii, abs(o - centre))) for o in range(plan.grid.last + 1)]


def made(plan, value, ladder):
    """The weights of all grid points under the code's law, read off its positions."""
    law = plan.confidential_draw(value, ladder)
    owned = [0] * (plan.grid.last + 1)
    seen = 0
    starts = []
    while seen < law.total:
        o = law.at(seen)
        weight = plan.weights[min(score_of(law, o), len(plan.weights) - 1)]
        assert law.at(seen + weight - 1) == o
        owned[o] += weight
        starts.append(o)
        seen += weight
    assert seen == law.total
    assert len(starts) == plan.grid.last + 1  # each point owns one run of positions
    return owned


def score_of(law, o):
    return next(j for j, r in enumerate(law._radii) if abs(o - law.centre) <= r)


def loss(one, other):
    """max log P/P' over the grid; the quotients are of integers, the logarithm in mpmath's precision."""
    a, b = sum(one), sum(other)
    p, q = max(zip(one, other, strict=True), key=lambda pair: pair[0] / pair[1])
    return mpmath.log(mpmath.mpf(p * b) / (q * a))


def worst(world, plan, law_of):
    laws = {}
    for x in world.sets:
        laws[x] = law_of(plan, world.index[x], world.ladder[x])
    return max(loss(laws[x], laws[y]) for x, y in world.pairs())


def bound(plan):
    return mpmath.mpf(plan.epsilon.numerator) / plan.epsilon.denominator


@pytest.mark.parametrize("seed", range(12))
def test_the_law_is_the_definition_and_loses_at_most_epsilon(seed):
    rng = random.Random(seed)
    world = random_world(rng)
    epsilon, last = rng.choice([Fraction(1, 4), Fraction(1), Fraction(3)]), rng.choice([7, 23, 61])
    for delta, eta in ((Fraction(0), Fraction(0)), (Fraction(1, 15), Fraction(1, 11))):
        plan = make_plan(world, epsilon, last, delta=delta, eta=eta)
        for x in world.sets:
            expected = reference(plan, world.index[x], world.ladder[x])
            assert made(plan, world.index[x], world.ladder[x]) == expected
        with mpmath.workdps(60):
            assert worst(world, plan, reference) <= bound(plan)


def search(slip, *, last=60, seeds=40, error=0, epsilon=Fraction(1), records=0):
    """The worst loss over worlds, relative to epsilon, with the worst errors of `error` thousandths."""
    found = 0.0
    rng = random.Random(1)
    for _ in range(seeds):
        world = random_world(rng)
        if world.n < records:
            continue
        delta, eta = Fraction(error, 5000), Fraction(error, 1000)
        plan = make_plan(world, epsilon, last, delta=delta, eta=eta)
        laws = {}
        for x in world.sets:
            noisy = [entry + rng.choice([-1, 1]) * eta for entry in world.ladder[x]]
            laws[x] = slip(plan, world.index[x] + rng.choice([-1, 1]) * delta, noisy)
        found = max(found, *(loss(laws[x], laws[y]) / bound(plan) for x, y in world.pairs()))
    return found


@pytest.mark.parametrize("epsilon", [Fraction(1, 2), Fraction(1), Fraction(3)])
@pytest.mark.parametrize("error", [0, 5, 60])
def test_no_loss_above_epsilon_with_the_worst_errors(epsilon, error):
    """Floats that are off by delta and eta in any direction, for every pair of neighbours."""
    with mpmath.workdps(60):
        worst_found = search(reference, epsilon=epsilon, error=error)
    assert worst_found <= 1
    assert worst_found > 0.7  # the worlds are hard enough to see a slip


def test_the_public_number_of_rungs_may_be_any():
    for rungs in range(5):
        assert search(lambda *a, rungs=rungs: reference(*a, rungs=rungs), seeds=15) <= 1


def test_widths_rounded_down_lose_more():
    assert search(lambda *a: reference(*a, up=math.floor)) > 1.1


def test_widths_rounded_down_in_the_code_lose_more(monkeypatch):
    """The same slip made in the module itself: this enumeration would notice."""
    assert search(made, seeds=20) <= 1
    monkeypatch.setattr(module, "_ceil", int.__floordiv__)
    assert search(made, seeds=20) > 1.1


def test_a_pad_that_does_not_grow_loses_more():
    assert search(lambda *a: reference(*a, grow=False), last=200, error=60) > 1.1


def test_a_number_of_rungs_chosen_from_the_data_loses_more():
    """Stop the data's rungs once half of the mass is covered, and go on with the public width."""

    def by_mass(plan, value, ladder):
        full = reference(plan, value, ladder)
        for rungs in range(1, plan.rungs + 1):
            covered = sum(weight for weight in full if weight >= plan.weights[plan.subrungs * rungs])
            if 2 * covered > sum(full):
                return reference(plan, value, ladder, rungs=rungs)
        return full

    assert search(by_mass, last=200, seeds=100, records=6) > 1.1


def test_weights_rounded_one_by_one_lose_more():
    """Few bits, to see it: with many bits the excess is small, and still there."""
    epsilon = Fraction(1, 2)

    def apart(score):
        return max(1, round(8 * math.exp(-score * float(epsilon) / 8)))

    assert search(lambda *a: reference(*a, weight=apart), epsilon=epsilon) > 1.1


def test_the_recurrence_is_private_with_few_bits(monkeypatch):
    monkeypatch.setattr(module, "weights", lambda numerator, count: weights(numerator, count, 60))
    assert search(made, epsilon=Fraction(1, 2), seeds=15) <= 1


def test_a_release_of_a_wide_range_lumps_the_last_scores():
    """Far more rungs than weights: scores beyond the last weight share it."""
    grid = Grid(step=Fraction(1), last=2000)
    plan = LadderPlan(
        epsilon=Fraction(8), grid=grid, n=2, bound=Fraction(1), delta=Fraction(0), eta=Fraction(0)
    )
    assert len(plan.weights) < grid.last
    law = plan.confidential_draw(3.0, [1.0, 1.0])
    assert len(law._radii) == len(plan.weights)
    assert law.at(law.total - 1) == grid.last
    expected = reference(plan, Fraction(3), [Fraction(1)] * 2)
    assert law.total == sum(expected)
    last = plan.weights[-1]
    tail = [law.at(law.total - 1 - i * last) for i in range(1000)]
    assert tail == list(range(grid.last, grid.last - 1000, -1))


def test_draws_follow_the_law():
    world = World(3, 3, lambda x: Fraction(sum(x) ** 2, 12))
    plan = make_plan(world, Fraction(1), 9)
    x = (0, 1, 2)
    law = plan.confidential_draw(world.index[x], world.ladder[x])
    expected = np.array(
        [float(Fraction(w, law.total)) for w in reference(plan, world.index[x], world.ladder[x])]
    )
    rng = SeededBits(4)
    draws = 30_000
    counts = np.bincount([law.draw(rng) for _ in range(draws)], minlength=10)
    assert ((counts - draws * expected) ** 2 / (draws * expected)).sum() < 27.9  # 0.1 % level
