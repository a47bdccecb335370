"""Cases stated by hand: one condition each, with the optimum of both models.

The optima were found by complete enumeration and, for relaxations, by two independent solvers; the tests
of this package do that again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from pgsr.models.problem import Problem
from pgsr.solvers.conformance.case import Case

# Regions: root {north {a, b}, south {c}}.
TREE = [-1, 0, 0, 1, 1, 2]
NEGATIVE = [[2, 3, 4], [-2, -2, 0], [-4, -2, -1], [2, 5, 6], [1, 3, 6], [2, 3, 4]]
MIXED = [[0, 2, 4], [-2, -1, 6], [0, 4, 6], [0, 0, 5], [-1, 0, 5], [1, 2, 3]]
HALVES = [0.25, 0.5, 2.0, 1.75, 1.0, 4.0]
UNEQUAL = [0.3, 1.7, 0.9, 1.1, 2.3, 0.7]
NONE = [0, 0, 0]
ALL = [4, 4, 4]
# Leaves at different depths: moving a unit between them changes an odd number of entries.
RAGGED = [-1, 0, 0, 2, 2]
LARGEST = 2**53 - 1

Optimum = int | float
Pair = tuple[Optimum, Optimum]


def handmade() -> Iterator[Case]:
    """All cases stated by hand."""
    yield from _plain()
    yield from _weights_and_losses()
    yield from _bounds()
    yield from _fractional()
    yield from _twins()
    yield from _magnitudes()


def _pair(name: str, model: int, optima: Pair, tags: tuple[str, ...] = (), **stated: Any) -> Iterator[Case]:
    """The integer case and the relaxed one of one model; `optima` in this order."""
    problem = Problem(**_arrays(stated), cumulative=model == 2)
    label = frozenset(tags)
    yield Case(name=f"model{model}-{name}", problem=problem, optimum=optima[0], tags=label)
    yield Case(
        name=f"model{model}-{name}-relaxed",
        problem=problem.relaxed(),
        optimum=optima[1],
        precision=1e-9 * max(1.0, optima[1]),
        tags=label,
    )


def _both(name: str, one: Pair, two: Pair, tags: tuple[str, ...] = (), **stated: Any) -> Iterator[Case]:
    yield from _pair(name, 1, one, tags, **stated)
    yield from _pair(name, 2, two, tags, **stated)


def _arrays(stated: dict[str, Any]) -> dict[str, Any]:
    return {key: np.array(value) if isinstance(value, list) else value for key, value in stated.items()}


def _plain() -> Iterator[Case]:
    tree: dict[str, Any] = {"parent": TREE, "target": NEGATIVE}
    yield from _both("plain", (152, 5129 / 34), (142, 22360 / 159), ("start",), **tree, total=4)
    yield from _both("total-zero", (198, 198.0), (198, 198.0), **tree, total=0)
    yield from _both("ragged", (145, 144.0), (138, 137.0), **tree | {"parent": [-1, 0, 0, 2, 2, 4]}, total=4)
    chain = [[-2, -3, 5], [-1, -1, 5], [-2, 3, 5], [-2, -2, 1], [0, 2, 3], [-1, 4, 4]]
    chain += [[-2, -1, 2], [-1, 2, 5], [1, 1, 3], [-1, 3, 2], [4, 5, 6], [-1, 0, 1]]
    yield from _both(
        "deep-chain", (143, 3383 / 24), (167, 2003 / 12), parent=list(range(-1, 11)), target=chain, total=5
    )
    star = [[3, 6], [2, 5], [6, 6], [-2, 6], [2, 3], [0, 0], [3, 5]]
    yield from _both(
        "star", (159, 2055 / 13), (125, 124.5), ("ties",), parent=[-1] + [0] * 6, target=star, total=4
    )
    yield from _both("single-region", (1, 0.25), (5, 4.5), parent=[-1], target=[[0, 1, 0, 3]], total=5)
    column = [[4], [3], [2], [0], [0], [-2]]
    yield from _both("one-size", (29, 201 / 7), (29, 201 / 7), parent=TREE, target=column, total=6)
    yield from _both("one-entry", (4, 4.0), (4, 4.0), parent=[-1], target=[[4]], total=6)


def _weights_and_losses() -> Iterator[Case]:
    tree: dict[str, Any] = {"parent": TREE, "target": NEGATIVE, "total": 4}
    yield from _both(
        "weights-unequal", (183.0, 182.2490579528), (180.5, 179.3626911745), weights=UNEQUAL, **tree
    )
    yield from _both(
        "weights-dyadic", (255.75, 254.5041529755), (218.5, 216.7168983195), weights=HALVES, **tree
    )
    unmeasured = [0.0, 0.0, 1.0, 1.0, 2.0, 3.0]
    yield from _both("weights-zero-inner", (193, 192.75), (156, 155.0), weights=unmeasured, **tree)
    yield from _both("l1", (48, 48.0), (43, 43.0), loss="l1", **tree)
    other = [[3, 4, 4], [2, 4, 6], [-2, 0, 5], [0, 0, 5], [-2, 2, 4], [-3, 5, 5]]
    yield from _both(
        "l1-weights", (66.5, 66.5), (57.5, 57.5), loss="l1", weights=HALVES, **tree | {"target": other}
    )


def _bounds() -> Iterator[Case]:
    tree: dict[str, Any] = {"parent": TREE, "target": MIXED, "total": 4}
    low = [NONE, NONE, NONE, [1, 0, 0], NONE, [1, 0, 0]]
    yield from _pair("bounds-lower", 1, (138, 964 / 7), lower=low, **tree)
    low = [NONE, NONE, NONE, [1, 0, 0], NONE, [0, 1, 0]]
    yield from _pair("bounds-lower", 2, (88, 1136 / 13), lower=low, **tree)
    low, high = (
        [NONE, [0, 2, 0], NONE, [0, 0, 1], NONE, NONE],
        [[4, 3, 4], [4, 4, 3], [0, 4, 4], ALL, ALL, ALL],
    )
    yield from _both("bounds-both", (134, 133.75), (91, 633 / 7), lower=low, upper=high, **tree)
    low, high = [NONE, [1, 1, 0], NONE, NONE, NONE, NONE], [ALL, [1, 1, 0], ALL, ALL, ALL, [0, 4, 4]]
    yield from _pair("bounds-pins", 1, (146, 145.5), lower=low, upper=high, **tree)
    low, high = [NONE, [1, 2, 3], NONE, NONE, NONE, NONE], [ALL, [1, 2, 3], ALL, ALL, ALL, [0, 4, 4]]
    yield from _pair("bounds-pins", 2, (98, 97.5), lower=low, upper=high, **tree)
    # An active set that never releases an entry ends at (0, 1, 0).
    yield from _pair(
        "bounds-release", 1, (10, 9.5), parent=[-1], target=[[-3, 0, 0]], upper=[[1, 1, 2]], total=1
    )
    # The constructor looks at bounds size by size and cannot see that this row would have to fall.
    stuck = Problem(
        parent=np.array([-1, 0, 0]),
        target=np.array([[1, 3], [1, 2], [0, 1]]),
        total=3,
        cumulative=True,
        lower=np.array([[0, 0], [2, 0], [0, 0]]),
        upper=np.array([[3, 3], [3, 1], [3, 3]]),
    )
    for problem in (stuck, stuck.relaxed()):
        end = "" if problem.integer else "-relaxed"
        yield Case(name=f"model2-bounds-impossible{end}", problem=problem, optimum=None)


def _fractional() -> Iterator[Case]:
    """Model 2 where the linear program of unit segments is not integral."""
    target = [[2, 0, 2], [2, 3, 5], [1, 1, 1], [-1, 3, 2], [4, 0, 5], [2, 3, 1]]
    whole, relaxed = _pair("fractional", 2, (49, 5242 / 116), parent=TREE, target=target, total=4)
    yield replace(whole, piecewise=48.5)
    yield replace(relaxed, tags=frozenset({"round"}))
    # The best table of the windows of +-1 round the relaxation costs 38, touches no end, and is not optimal.
    trap = [[0, 3, 4, 0], [2, 0, 0, 0], [0, 0, 1, 2], [2, 0, 0, 0], [2, 0, 1, 1], [0, 2, 0, 0]]
    whole, relaxed = _pair(
        "window-trap", 2, (36, 14407 / 445), parent=[-1, 0, 1, 1, 2, 2], target=trap, total=2
    )
    yield replace(whole, piecewise=36.0)
    yield relaxed


def _twins() -> Iterator[Case]:
    """Two problems with the same linear part up to scale: without the squares they have the same answer."""
    target = [[1, 2, 4], [1, 2, 3], [0, 1, 1], [1, 1, 2], [0, 1, 1], [0, 1, 1]]
    tripled = [[3 * value for value in row] for row in target]
    tree: dict[str, Any] = {"parent": TREE, "total": 4}
    first = _both("twin", (11, 1281 / 143), (1, 25 / 52), target=target, **tree)
    second = _both("twin-tripled", (255, 254.5), (150, 24529.5 / 164), target=tripled, **tree)
    for one, other in zip(first, second, strict=True):
        yield replace(one, twin=other, tags=frozenset({"twins"}))
        yield other


def _magnitudes() -> Iterator[Case]:
    far = [[2900, -1500, 700], [-900, 2100, 1300], [40, -3000, 800]]
    far += [[1000, -1000, 3], [999, 2000, -5], [-7, -8, 1002]]
    yield from _both(
        "far-targets", (35679796, 35679795.5), (35643144, 35643144.0), parent=TREE, target=far, total=4
    )
    # The second best table costs 1 more: within the gap of 1e-4 at which solvers stop by default.
    gap: dict[str, Any] = {"parent": RAGGED, "total": 24000, "tags": ("gap",)}
    target = [[14104, 12822], [4067, 2618], [6847, 5245], [1451, 1099], [2051, 5880]]
    yield from _pair("large-objective", 1, (18967029, 18967028.0), target=target, **gap)
    target = [[14026, 22569], [1655, 6791], [7483, 17886], [3708, 5551], [3009, 8601]]
    yield from _pair("large-objective", 2, (17004484, 17004483.1), target=target, **gap)
    yield from _huge()


def _huge() -> Iterator[Case]:
    """Near 2^53, where sums leave floats and squares leave 64 bits; integers only."""
    near = [[4503599627370497, 4503599627370496], [1501199875790165, 1501199875790163]]
    near += [[3002399751580329, 3002399751580327], [1501199875790162, 1501199875790162]]
    near += [[1501199875790163, 1501199875790167]]
    yield _one("huge-counts", 1, near, 27)
    near = [[4503599627370497, 9007199254740987], [1501199875790163, 3002399751580328]]
    near += [[3002399751580328, 6004799503160662], [1501199875790168, 3002399751580331]]
    near += [[1501199875790162, 3002399751580327]]
    yield _one("huge-counts", 2, near, 37)
    away = [[4530219559667990, 5517953694829205], [699918558010549, 2511468617263801]]
    away += [[2578681850276117, 2829746263662189], [2239120515499209, 1296734507983783]]
    away += [[1612874932452325, 437357575013613]]
    yield _one("huge-residuals", 1, away, 1529969830280471940718287540029)
    away = [[3570564499144181, 8414549202530172], [2179609660410053, 3187412209082074]]
    away += [[2088458703797082, 5854214759644589], [1454027592846747, 2236199902955763]]
    away += [[2029420661628251, 2132466478017948]]
    yield _one("huge-residuals", 2, away, 2369672184085664916897495149965)


def _one(name: str, model: int, target: list[list[int]], optimum: int) -> Case:
    problem = Problem(parent=np.array(RAGGED), target=np.array(target), total=LARGEST, cumulative=model == 2)
    return Case(name=f"model{model}-{name}", problem=problem, optimum=optimum, tags=frozenset({"huge"}))
