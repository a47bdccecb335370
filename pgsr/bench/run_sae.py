"""One run of a suite, family sae: small area estimates from a simulated survey, beside the true means.

Public in all runs: weights, sample sizes, a prevalence and a model variance of an earlier wave (those of the
simulation), and from them the sampling variances. Methods of equal rho are told nothing else.
"""

from __future__ import annotations

import hashlib
import time
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from pgsr.bench.inequality_laws import seeded
from pgsr.bench.pages import Row
from pgsr.bench.task import Task
from pgsr.errors import InputError
from pgsr.sae.checks import Float64
from pgsr.sae.draws import Z95, PosteriorMechanism
from pgsr.sae.frame import AreaEstimates, AreaFrame
from pgsr.sae.levers import floor_for_this_model
from pgsr.sae.noisydirect import NoisyDirectMechanism
from pgsr.sae.posterior import Posterior
from pgsr.sae.threestage import ThreeStageMechanism

if TYPE_CHECKING:
    from pgsr.bench.one import Say

SURVEYS = ("acs-like", "brfss-like")

DRAW = "draw"
"""The rho of one posterior draw with the public variances."""

STAGES = (Fraction(1, 100), Fraction(14, 100), Fraction(15, 100))
"""Shares of a budget: prevalence, regression, model variance; the draw has the rest."""

_NO_LIMIT = 10**6


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SurveyCase:
    """One simulated survey: the public `frame`, variances D (m,) and A; direct estimates y and true means."""

    frame: AreaFrame
    variance: Float64 = field(repr=False)
    model_variance: float
    prevalence: float
    deff: Float64 = field(repr=False)
    direct: Float64 = field(repr=False)
    truth: Float64 = field(repr=False)


def run_sae(task: Task, say: Say) -> Row:
    """Estimate; `error` is the mean squared error over the areas, `coverage` that of the 95 % intervals."""
    case = survey_case(task.instance, task.seed or 0)
    digest = hashlib.sha256()
    for array in (case.truth, case.direct, case.variance, case.frame.sensitivity):
        digest.update(np.ascontiguousarray(array, dtype="<f8").tobytes())
    _estimate(task, case)  # loads what is needed
    say({"fingerprint": digest.hexdigest(), "regions": case.frame.m, "entries": case.frame.m})
    start = time.perf_counter()
    estimate, lower, upper, rho = _estimate(task, case)
    took = time.perf_counter() - start
    say({})
    inside = (lower <= case.truth) & (case.truth <= upper)
    return {
        "outcome": "ran",
        "solve_s": took,
        "rho": rho,
        "error": float(np.mean((estimate - case.truth) ** 2)),
        "coverage": float(inside.mean()),
    }


def survey_case(name: str, seed: int) -> SurveyCase:
    """`acs-like` (2,462 areas) or `brfss-like` (52 areas), simulated anew for each seed."""
    from pgsr.bench.sae_twins import acs_like, brfss_like

    check_name(name)
    twin = acs_like(seed) if name == "acs-like" else brfss_like(seed)
    recipe = twin.recipe
    counts = twin.weights.counts.astype(np.float64)
    kish = 1 / twin.weights.effective_n
    # Members of a household have one outcome; their weights are independent. With M = 1 + Poisson(l) members
    # the variance grows by 1 + E M(M - 1) / E M over n sum w^2 / (sum w)^2.
    more = recipe.household - 1
    deff = 1 + more * (2 + more) / (1 + more) / (counts * kish)
    p = recipe.prevalence
    frame = AreaFrame(
        areas=twin.data.areas,
        sensitivity=twin.weights.share,
        weight_total=twin.data.sum_by_area(twin.data.weight),
        kish=kish,
    )
    return SurveyCase(
        frame=frame,
        variance=p * (1 - p) * kish * deff,
        model_variance=recipe.model_variance,
        prevalence=p,
        deff=deff,
        direct=twin.direct.estimate,
        truth=twin.truth,
    )


def check_name(name: str) -> None:
    """Refuse a survey that is not known."""
    if name not in SURVEYS:
        raise InputError(f"unknown survey '{name}'", "instances", f"use {' or '.join(SURVEYS)}")


def _estimate(task: Task, case: SurveyCase) -> tuple[Float64, Float64, Float64, float | None]:
    """Estimates and intervals (m,), and what they cost."""
    posterior = Posterior(variance=case.variance, model_variance=case.model_variance)
    if task.method == "direct":
        return (*_interval(case.direct, case.variance), None)
    if task.method == "predictor":
        return (*_interval(posterior.mean(case.direct), posterior.sigma2), None)
    made = _mechanism(task, case, posterior)
    measured = made.measure(AreaEstimates(areas=case.frame.areas, values=case.direct), seeded(task.key))
    areas = made.estimate(measured).tables["areas"]
    rho = float(made.event.rho)
    if task.method == "reshrunk":
        return (*_interval(areas["reshrunk"], areas["reshrunk_sd"] ** 2), rho)
    return areas["estimate"], areas["lower"], areas["upper"], rho


def _mechanism(task: Task, case: SurveyCase, posterior: Posterior) -> Any:
    frame = case.frame
    variance = case.variance
    if task.rho != DRAW and task.method in ("draw", "reshrunk"):
        # A posterior draw costs what its variances make it cost: they are raised until it is rho.
        assert task.rho is not None
        variance = floor_for_this_model(posterior, frame.sensitivity, float(Fraction(task.rho)))
    draw = PosteriorMechanism(
        frame=frame,
        variance=variance,
        model_variance=case.model_variance,
        limit=_NO_LIMIT,
        reshrink=task.method == "reshrunk",
        variance_source="public weights and an earlier wave",
    )
    if task.method in ("draw", "reshrunk"):
        return draw
    rho = draw.rho if task.rho == DRAW else Fraction(task.rho or 0)
    if task.method == "noisy-direct":
        return NoisyDirectMechanism(
            frame=frame, rho=rho, variance=case.variance, model_variance=case.model_variance
        )
    spread = float(np.sqrt(case.model_variance + np.median(case.variance)))
    return ThreeStageMechanism(
        frame=frame,
        rho_p=rho * STAGES[0],
        rho_b=rho * STAGES[1],
        rho_a=rho * STAGES[2],
        rho_draw=rho * (1 - sum(STAGES)),
        clip=5 * spread,
        reference=case.model_variance,
        clamp=(case.prevalence / 2, min(0.99, case.prevalence * 2)),
        deff=case.deff,
    )


def _interval(centre: Float64, variance: Float64) -> tuple[Float64, Float64, Float64]:
    half = Z95 * np.sqrt(variance)
    return centre, centre - half, centre + half
