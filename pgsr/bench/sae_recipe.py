"""Synthetic twins of surveys whose records cannot be had: a seeded recipe that hits their printed margins.

Sample sizes hit the printed least, median, greatest and total exactly; weights w = exp(t z), z standard
normal, hit a given w_max / w_mean in every area exactly; prevalences have mean p and variance A, outcomes are
0 or 1 and the same for all of a household. Prevalences follow a beta law: a normal one would put one area in
fifty at 2 % or below, and such areas, whose D is tiny, would decide the tail. Everything here is simulated.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from pgsr.sae.checks import Float64, Int64, sums
from pgsr.sae.direct import ConfidentialDirect, confidential_direct
from pgsr.sae.microdata import Microdata
from pgsr.sae.variances import confidential_taylor
from pgsr.sae.weights import WeightDiagnostics, weight_diagnostics

RATIO_SPREAD = 0.22
"""Standard deviation of the log of w_max / w_mean about its line in log n."""
VARIANCES = ("taylor", "kish")
"""How D is had: Taylor linearisation on households, or p(1 - p) sum w^2/(sum w)^2 with the overall p.

For households of several records the latter is multiplied by one design effect, sum of the former over sum of
the latter.
"""
_ROUNDS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """The constants of a twin. `areas`, `records`, sizes and ratio are the paper's; the others our choice.

    least, median, greatest   sample sizes n; ratio the median of w_max / w_mean
    correlation               of log n with log(w_max / w_mean)
    prevalence, model_variance   mean p and variance A of the areas' prevalences, a beta law
    household                 mean number of records of a household, 1 + Poisson; all have one outcome
    delta                     for (epsilon, delta): a power of ten below 1 / records
    """

    name: str
    number: int
    title: str
    areas: int
    records: int
    least: int
    median: int
    greatest: int
    ratio: float
    correlation: float
    prevalence: float
    model_variance: float
    household: float
    delta: float


ACS = Recipe(
    name="acs",
    number=1,
    title="ACS-like: poverty in 2,462 areas",
    areas=2_462,
    records=3_190_000,
    least=368,
    median=1_217,
    greatest=3_911,
    ratio=6.92,
    correlation=0.44,
    prevalence=0.125,
    model_variance=2.6e-3,
    household=2.4,
    delta=1e-7,
)
BRFSS = Recipe(
    name="brfss",
    number=2,
    title="BRFSS-like: smoking in 52 areas",
    areas=52,
    records=24_197,
    least=41,
    median=120,
    greatest=5_226,
    ratio=8.24,
    correlation=0.0,
    prevalence=0.091,
    model_variance=1.5e-3,
    household=1.0,
    delta=1e-5,
)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Twin:
    """One simulated survey: its records, the true prevalence (m,) of each area, the weights by area.

    `direct` are the Hajek estimates. The records are simulated: nothing here is confidential.
    """

    recipe: Recipe
    seed: int
    data: Microdata = field(repr=False)
    truth: Float64 = field(repr=False)
    weights: WeightDiagnostics = field(repr=False)
    direct: ConfidentialDirect = field(repr=False)

    def records_of(self, kept: NDArray[np.bool_]) -> Microdata:
        """The records of the areas where `kept` (m,) is true."""
        data, rows = self.data, kept[self.data.area_codes]
        return Microdata(
            outcome=data.outcome[rows],
            weight=data.weight[rows],
            area=np.array(data.areas, dtype=object)[data.area_codes[rows]],
            areas=tuple(area for area, stays in zip(data.areas, kept, strict=True) if stays),
            psu=data.psu_codes[rows],
        )

    def variance(self, method: str) -> Float64:
        """Sampling variances D (m,) by one of `VARIANCES`; Taylor gives 0 to an area without a case."""
        return sampling_variance(self.recipe, self.data, self.direct, self.weights, method)


def sampling_variance(
    recipe: Recipe, data: Microdata, direct: ConfidentialDirect, weights: WeightDiagnostics, method: str
) -> Float64:
    """Sampling variances D (m,) of records by one of `VARIANCES`."""
    if method not in VARIANCES:
        raise ValueError(f"unknown method {method}: use {', '.join(VARIANCES)}")
    p = direct.overall
    pooled = p * (1 - p) / weights.effective_n
    if method == "kish" and recipe.household == 1:
        return pooled
    taylor = confidential_taylor(data, direct).variance
    return taylor if method == "taylor" else pooled * (taylor.sum() / pooled.sum())


def simulate(recipe: Recipe, seed: int) -> Twin:
    """The twin of that seed; the same for the same seed and version of numpy."""
    rng = np.random.default_rng((recipe.number, seed))
    counts = sizes(recipe)
    m, n = recipe.areas, recipe.records
    starts = np.concatenate([[0], np.cumsum(counts)[:-1]])
    codes = np.repeat(np.arange(m), counts)
    ratio = np.clip(ratios(recipe, counts, rng), 1.0, 0.9 * counts)
    weight = tilted(rng.standard_normal(n), starts, codes, ratio)
    p = recipe.prevalence
    both = p * (1 - p) / recipe.model_variance - 1
    truth = rng.beta(p * both, (1 - p) * both, m)
    home = households(recipe, starts, codes, rng)
    first = np.flatnonzero(np.concatenate([[True], home[1:] != home[:-1]]))
    outcome = (rng.random(first.size) < truth[codes[first]])[home].astype(np.float64)
    areas = tuple(f"{k + 1:04d}" for k in range(m))
    data = Microdata(
        outcome=outcome,
        weight=weight,
        area=np.array(areas, dtype=object)[codes],
        areas=areas,
        psu=home,
    )
    return Twin(
        recipe=recipe,
        seed=seed,
        data=data,
        truth=truth,
        weights=weight_diagnostics(weight, data.area_codes, m),
        direct=confidential_direct(data),
    )


def sizes(recipe: Recipe) -> Int64:
    """Sample sizes (m,), rising: least, median, greatest and total as the recipe says.

    With q normal quantiles of even probabilities, scaled to [-1, 1], log n goes from its median to the ends
    as |q|^s; s is solved for the total. At s = 1 both halves are lognormal.
    """
    from scipy.special import ndtri

    m = recipe.areas
    q = ndtri((np.arange(m) + 0.5) / m)
    q = q / q.max()
    q[(m - 1) // 2 : m // 2 + 1] = 0.0  # the middle one, or two, have the median
    log_median = np.log(recipe.median)
    reach = np.where(q < 0, np.log(recipe.least) - log_median, np.log(recipe.greatest) - log_median)

    def at(s: float) -> Float64:
        values: Float64 = np.exp(log_median + reach * np.abs(q) ** s)
        return values

    s = _falling_root(lambda s: float(at(s).sum()) - recipe.records, 0.05, 50.0)
    counts = np.rint(at(s)).astype(np.int64)
    # What rounding changed goes, one record an area, to sizes above the median but not to the greatest.
    missing = recipe.records - int(counts.sum())
    places = np.flatnonzero((counts > recipe.median) & (counts < recipe.greatest - 1))[
        -abs(missing) or None :
    ]
    counts[places] += np.sign(missing)
    assert counts.sum() == recipe.records
    return counts


def ratios(recipe: Recipe, counts: Int64, rng: np.random.Generator) -> Float64:
    """w_max / w_mean (m,): median exp(slope log(n / median) + noise), scaled to the recipe's median."""
    logs = np.log(counts / recipe.median)
    r = recipe.correlation
    slope = r / np.sqrt(1 - r * r) * RATIO_SPREAD / logs.std()
    values = np.exp(slope * logs + RATIO_SPREAD * rng.standard_normal(counts.size))
    found: Float64 = values * (recipe.ratio / np.median(values))
    return found


def tilted(z: Float64, starts: Int64, codes: Int64, ratio: Float64) -> Float64:
    """Weights exp(t z) (n,) of records in order of area, t >= 0 by area so that w_max / w_mean = `ratio`.

    log(w_max / w_mean) is concave in t, so that Newton's steps from 0 never overshoot.
    """
    m = ratio.size
    highest = np.maximum.reduceat(z, starts)
    below = z - highest[codes]
    target = -np.log(ratio)  # log of the mean of exp(t (z - max))
    n = np.bincount(codes, minlength=m)
    t: Float64 = np.zeros(m)
    w: Float64 = np.ones(z.size)
    total = n.astype(np.float64)
    for _ in range(_ROUNDS):
        w = np.exp(t[codes] * below)
        total = sums(codes, w, m)
        gap = np.log(total / n) - target
        t -= gap * total / sums(codes, w * below, m)
        if float(np.abs(gap).max()) < 1e-12:
            break
    return w * n[codes] / total[codes]


def households(recipe: Recipe, starts: Int64, codes: Int64, rng: np.random.Generator) -> Int64:
    """The household (n,) of each record, rising; the last one of an area takes what is left of it."""
    n = codes.size
    if recipe.household == 1:
        return np.arange(n)
    enough = int(1.1 * n / recipe.household) + 1_000
    ends = np.cumsum(1 + rng.poisson(recipe.household - 1, enough))
    assert ends[-1] >= n
    begins = np.zeros(n, dtype=np.bool_)
    begins[ends[ends < n]] = True
    begins[starts] = True
    return np.cumsum(begins) - 1


def _falling_root(f: Callable[[float], float], low: float, high: float) -> float:
    for _ in range(_ROUNDS):
        middle = (low + high) / 2
        low, high = (middle, high) if f(middle) > 0 else (low, middle)
    return high
