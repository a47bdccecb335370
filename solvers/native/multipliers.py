"""A lower bound for Model 2 from any multipliers, in linear time and integer arithmetic.

For prices `pi` on "a region is the sum of its children" (0 at leaves and above the root),

    D(pi) = sum_r min { sum_s w_r loss(z_s - target[r, s]) + (pi[r, s] - pi[parent(r), s]) z_s }

over non-decreasing rows `z` between the bounds of region r, whole ones for an integer problem. At a table
that adds up the priced terms cancel, so D(pi) is at most the optimum, whatever `pi` is. The largest D is
the optimum of the linear program in which each loss is replaced by its interpolation at the whole numbers.
The last entry of the root is bounded by the public total from both sides, as every feasible table has it.

Prices are rounded to a grid first - any prices will do - so that all of it is integer arithmetic.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgsr.errors import InputError
from pgsr.models.domains import domains
from pgsr.models.exact import exact_sum
from pgsr.models.lattice import Lattice, objective_lattice, whole_weights
from pgsr.models.problem import Float64, Int64, Problem, RegionError
from pgsr.solvers.native import isotonic
from pgsr.solvers.native.schedule import inner_rows

FINEST = 20  # binary places of prices, in steps of the objective
SMALL = 1 << 14  # entries up to which Python integers stand in where int64 is too short

_ENTRIES = 1 << 18  # of a chunk of rows: its tables stay in the cache
_LARGEST = 2.0**100
_HALF_ULP = 2.0**-53


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MultiplierBound:
    """A lower bound on the optimum of a Model 2 problem.

    `bound`: D of the rounded prices, a Fraction, if `exact`; else a float from which an allowance for
    rounding has been taken. `grid`: prices were rounded to multiples of `step * 2**-grid` (of `2**-grid` if
    `step` is None). `step`: the objective of every integer table is a multiple of it; None for float64.
    `per_region` (R,) float64: the regions' terms of D, rounded.
    """

    bound: Fraction | float
    exact: bool
    grid: int
    step: Fraction | None
    per_region: Float64


def multiplier_bound(problem: Problem, multipliers: Float64, *, grid: int | None = None) -> MultiplierBound:
    """Bound the optimum of the cumulative `problem` from below by any `multipliers`; no solver involved.

    `multipliers` (R, N), or its first rows up to the last inner region: what a unit of each entry costs
    beyond its children's units, i.e. the Lagrangian is `cost + sum_r multipliers[r] (x[r] - sum of its
    children)`; rows of leaves are ignored. O(R N), with absolute values O(R N log N); a few chunks of
    memory beyond the problem (with bounds, two tables). `grid`: binary places of prices, at most the finest
    that int64 allows (default).

    Exact for integer problems, and relaxed ones with absolute values: with equal or dyadic weights while
    sums fit int64, and with any numbers up to 2^14 entries. Otherwise float64, less an allowance: a bound
    on the rounding of every sum, and an estimate (not a proof) of what pooling by rounded means loses, of
    first order for integers, of second for reals. Raises InputError for Model 1, wrong shapes and
    multipliers that are not finite or above 2^100, RegionError if bounds allow a region no non-decreasing
    row. [Fioretto2021] Model 2.
    """
    if not problem.cumulative:
        raise InputError("not a cumulative problem", "problem", "multipliers bound Model 2 alone")
    prices, largest = _checked(problem, multipliers)
    if problem.integer or problem.loss == "l1":
        weight, step = whole_weights(problem.region_weights)
        if weight is not None:
            finest = _finest_grid(problem, int(weight.max()), largest, step)
            if finest >= 0:
                return _exactly(problem, prices, weight, step, _at_most(finest, grid))
        if problem.target.size <= SMALL:
            numbers, step = _any_weights(problem.region_weights)
            return _exactly(problem, prices, numbers, step, _at_most(FINEST, grid))
    return _roughly(problem, prices, largest)


def raised(problem: Problem, found: MultiplierBound) -> Fraction | float:
    """What no whole table of the integer `problem` can be below: the bound, up to a possible objective."""
    if found.step is None:
        return found.bound
    lattice = objective_lattice(problem) or Lattice(step=found.step, offset=Fraction(0))
    return lattice.up(found.bound)


def _at_most(finest: int, grid: int | None) -> int:
    return finest if grid is None else max(0, min(grid, finest))


def _checked(problem: Problem, multipliers: Float64) -> tuple[Float64, float]:
    """The prices as float64, and the largest magnitude among those of inner regions."""
    prices = np.asarray(multipliers, dtype=np.float64)
    rows = inner_rows(problem)
    if prices.ndim != 2 or prices.shape[1] != problem.width or prices.shape[0] not in (rows, problem.regions):
        raise InputError("multipliers of the wrong shape", "multipliers", f"give {problem.target.shape}")
    inner = problem.inner()
    largest = 0.0
    step = max(1, _ENTRIES // problem.width)
    for first in range(0, rows, step):
        part = prices[first : min(first + step, rows)][inner[first : min(first + step, rows)]]
        # Compared as `not <=`, so that NaN is refused too.
        if part.size and not float(np.abs(part).max()) <= _LARGEST:
            raise InputError("a multiplier is not finite or above 2^100", "multipliers", "scale the problem")
        largest = max(largest, float(np.abs(part).max(initial=0.0)))
    return prices, largest


def _any_weights(weights: Float64) -> tuple[NDArray[np.object_], Fraction]:
    """The same for any weights, as Python integers."""
    numbers = [Fraction(w) for w in weights.tolist()]
    common = max(number.denominator for number in numbers)  # powers of two
    whole = [int(number * common) for number in numbers]
    divisor = math.gcd(*whole)
    return np.array([w // divisor for w in whole], dtype=object), Fraction(divisor, common)


def _finest_grid(problem: Problem, weight: int, largest: float, step: Fraction) -> int:
    """Binary places of prices at which no number in the kernels leaves int64; negative if there are none."""
    price = math.ceil(Fraction(largest) / step) + 1
    reach = max(abs(int(problem.target.max())), abs(int(problem.target.min())))
    if problem.loss == "l2":
        need = problem.width * (2 * weight * (reach + problem.total + 1) + 2 * price)
    else:
        need = 4 * problem.width * (reach + problem.total + 1) * (weight + 2 * price)
    return min(FINEST, 62 - need.bit_length())


def _chunks(
    problem: Problem, prices: Float64, factor: float
) -> Iterator[tuple[slice, Float64, Float64, Int64, Int64]]:
    """Rows in chunks: which, their own and their parents' prices (times `factor`, rounded), and bounds."""
    free = problem.lower is None and problem.upper is None
    low, high = (None, None) if free else domains(problem)
    inner = problem.inner()
    rows = max(1, _ENTRIES // problem.width)
    for first in range(0, problem.regions, rows):
        part = slice(first, min(first + rows, problem.regions))
        shape = (part.stop - first, problem.width)
        own = np.zeros(shape)
        where = np.flatnonzero(inner[part])
        own[where] = np.rint(prices[first + where] * factor)
        above = np.zeros(shape)
        skip = 1 if first == 0 else 0  # nothing above the root
        above[skip:] = np.rint(prices[problem.parent[first + skip : part.stop]] * factor)
        least = np.zeros(shape, dtype=np.int64) if low is None else low[part].copy()
        most = np.full(shape, problem.total, dtype=np.int64) if high is None else high[part].copy()
        if first == 0:
            least[0, -1] = most[0, -1] = problem.total
        if not free or first == 0:
            np.maximum.accumulate(least, axis=1, out=least)
            most[:, ::-1] = np.minimum.accumulate(most[:, ::-1], axis=1)
            clash = np.flatnonzero((least > most).any(axis=1))
            if clash.size:
                raise RegionError("bounds allow no non-decreasing row", first + int(clash[0]), "widen them")
        yield part, own, above, least, most


def _exactly(
    problem: Problem, prices: Float64, weight: NDArray[Any], step: Fraction, grid: int
) -> MultiplierBound:
    """D in units of `step * 2**-grid`: int64 if the weights are, else Python integers."""
    plain = weight.dtype == np.dtype(object)
    kind: type[Any] = object if plain else np.int64
    squares: Callable[..., None] = isotonic.whole_squares.py_func if plain else isotonic.whole_squares
    absolutes: Callable[..., None] = isotonic.absolutes.py_func if plain else isotonic.absolutes
    room: list[NDArray[Any]] = [np.empty(2 * problem.width, dtype=kind) for _ in range(3)]
    scaled = weight * 2**grid
    regions = np.empty(problem.regions)
    total = 0
    for part, own, above, low, high in _chunks(problem, prices, float(2**grid / step)):
        tables = [problem.target[part], _whole(own, plain) - _whole(above, plain), scaled[part], low, high]
        if plain:
            tables = [table.astype(object) for table in tables]
        if problem.loss == "l2":
            limbs: NDArray[Any] = np.zeros(4, dtype=kind)
            squares(*tables, *room, regions[part], limbs)
            total += sum(int(limb) << (isotonic.LIMB * i) for i, limb in enumerate(limbs))
        else:
            values = np.empty(part.stop - part.start, dtype=kind)
            absolutes(*tables, *room[:2], values)
            total += sum(values.tolist()) if plain else exact_sum(values)
            regions[part] = values
    unit = step / 2**grid
    bound = total * unit
    if problem.loss == "l2":  # the kernel leaves out w target^2
        bound += problem.exact_objective(np.broadcast_to(np.int64(0), problem.target.shape))
    return MultiplierBound(bound=bound, exact=True, grid=grid, step=step, per_region=regions * float(unit))


def _whole(values: Float64, plain: bool) -> NDArray[Any]:
    """Whole floats as int64, or as Python integers."""
    if not plain:
        return values.astype(np.int64)
    return np.array([int(v) for v in values.flat], dtype=object).reshape(values.shape)


def _roughly(problem: Problem, prices: Float64, largest: float) -> MultiplierBound:
    """D in float64, less an allowance for rounding.

    Prices are on a grid on which their differences and sums over a row are exact, so every table that adds up
    has priced terms that cancel exactly: only the rows' minima are rounded.
    """
    width = problem.width
    grid = 50 - math.frexp(4.0 * width * max(largest, 2.0**-60))[1]
    regions = np.empty(problem.regions)
    allowance = 0.0
    begin, room = np.empty(width, dtype=np.int64), np.empty((3, 2 * width))
    squares: Callable[..., None] = isotonic.real_squares
    absolutes: Callable[..., None] = isotonic.absolutes
    for part, own, above, low, high in _chunks(problem, prices, 2.0**grid):
        weight, target = problem.region_weights[part], problem.target[part].astype(np.float64)
        tilt = np.ldexp(own - above, -grid)
        tables = (target, tilt, weight, low.astype(np.float64), high.astype(np.float64))
        pulls, drift = 2.0 * weight * np.abs(target).sum(axis=1), np.abs(tilt).sum(axis=1)
        if problem.loss == "l2":
            size = np.empty(regions[part].size)
            squares(*tables, problem.integer, begin, *room, regions[part], size)
            # Rounding of a block's slope: three operations, and sums of targets if those leave 2^53.
            long = width if width * float(np.abs(target).max()) >= 2.0**53 else 0
            error = (4 + long) * _HALF_ULP * (pulls + drift)
            if problem.integer:
                loss = 4.0 * error
            else:
                loss = np.divide(error**2, weight, out=np.zeros_like(error), where=weight > 0)
            allowance += float(((width + 8) * _HALF_ULP * size + loss).sum())
        else:
            absolutes(*tables, *room[:2], regions[part])
            # About ten operations a size: on values, or on slopes that the whole domain multiplies.
            reach = pulls + (drift + 3.0 * width * weight) * problem.total
            allowance += float((10 * (width + 4) * _HALF_ULP * reach).sum())
    summed = math.fsum(regions.tolist()) - 1.001 * allowance
    bound = math.nextafter(summed, -math.inf)
    return MultiplierBound(bound=bound, exact=False, grid=grid, step=None, per_region=regions)
