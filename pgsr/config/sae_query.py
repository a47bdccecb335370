"""From the configuration of a small area release to its mechanism and data: what `pgsr sae release` draws."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgsr.config.sae import DP, INVARIANT, NOISY, ReleasePart, SaeConfig
from pgsr.config.sae_table import AreaTable, column_or_number
from pgsr.errors import InputError
from pgsr.mechanism import Release
from pgsr.noise import BitSource
from pgsr.sae.conditional import conditional_release
from pgsr.sae.draws import PosteriorMechanism
from pgsr.sae.fayherriot import confidential_fit
from pgsr.sae.frame import AreaEstimates, AreaFrame
from pgsr.sae.noisydirect import NoisyDirectMechanism
from pgsr.sae.threestage import ThreeStageMechanism
from pgsr.tables import AUTO

Mechanism = PosteriorMechanism | ThreeStageMechanism | NoisyDirectMechanism

_STAGES = ("rho_p", "rho_b", "rho_a", "rho_draw", "clip", "reference", "clamp")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AreaQuery:
    """A release that is ready to be charged for: its mechanism, and the confidential data."""

    mechanism: Mechanism
    data: AreaEstimates = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ConditionalQuery:
    """A release whose variances come from the same data: no mechanism, and nothing to charge."""

    frame: AreaFrame
    data: AreaEstimates = field(repr=False)
    variance: NDArray[np.float64] = field(repr=False)
    model_variance: float = field(repr=False)
    draws: int
    kind: Any

    def draw(self, rng: BitSource, label: str) -> Release:
        """The release; NOT differentially private."""
        return conditional_release(
            self.frame,
            self.data,
            variance=self.variance,
            model_variance=self.model_variance,
            draws=self.draws,
            kind=self.kind,
            rng=rng,
            label=label,
        )


def build_area_query(config: SaeConfig, source: Path) -> AreaQuery | ConditionalQuery:
    """Read the areas and build what is to be released; `source` names the configuration in errors.

    All checks of data and parameters against each other are done. InputError names file and column, or key.
    """
    areas, wanted = config.areas, config.release
    table = AreaTable.read(areas.file, AUTO if areas.area is None else areas.area)
    with _named(source, table, areas.direct):
        design, names = table.design(areas.covariates, intercept=areas.intercept)
    labels = table.labels()
    delta = column_or_number(table, areas.sensitivity, f"{source}, areas.sensitivity")
    way_out = "merge the area, smooth or floor its variance"
    variance = None if areas.variance is None else table.positive(areas.variance, way_out)
    weights = {
        name: table.positive(column)
        for name, column in (("weight_total", areas.weight_total), ("kish", areas.kish))
        if column is not None
    }
    deff: Any = 1.0
    if areas.deff is not None:
        deff = column_or_number(table, areas.deff, f"{source}, areas.deff")
    y = table.numbers(areas.direct)
    with _named(source, table, areas.direct):
        data = AreaEstimates(areas=labels, values=y)
        frame = AreaFrame(
            areas=labels,
            sensitivity=delta,
            design=design,
            names=names,
            unit=areas.unit,
            moves=areas.moves,
            **weights,
        )
        if wanted.variances == INVARIANT:
            assert variance is not None  # by the check of the configuration
            fit = confidential_fit(
                y, variance, design, method=wanted.method, model_variance=wanted.model_variance, names=names
            )
            return ConditionalQuery(
                frame=frame,
                data=data,
                variance=variance,
                model_variance=fit.model_variance.value,
                draws=wanted.draws,
                kind=wanted.kind,
            )
        mechanism = _mechanism(config, frame, variance, deff)
        mechanism.check(data)
    return AreaQuery(mechanism=mechanism, data=data)


def _mechanism(
    config: SaeConfig, frame: AreaFrame, variance: NDArray[np.float64] | None, deff: Any
) -> Mechanism:
    wanted = config.release
    given: dict[str, Any] = {}
    if wanted.clamp is not None:
        given["clamp"] = wanted.clamp
    if wanted.kind == NOISY:
        assert wanted.rho is not None  # by the check of the configuration
        return NoisyDirectMechanism(
            frame=frame,
            rho=wanted.rho,
            variance=variance,
            model_variance=wanted.model_variance,
            method=wanted.method,
            deff=deff,
            **given,
        )
    if wanted.variances == DP:
        stages: dict[str, Any] = {name: getattr(wanted, name) for name in _STAGES}
        return ThreeStageMechanism(
            frame=frame,
            deff=deff,
            draws=wanted.draws,
            weighting=wanted.weighting,
            reshrink=wanted.reshrink,
            **stages,
        )
    if wanted.limit is not None:
        given["limit"] = wanted.limit
    if config.areas.new_areas is not None:
        given |= _new_areas(config, config.areas.new_areas)
    assert wanted.model_variance is not None  # by the check of the configuration
    assert wanted.source is not None
    kind: Any = wanted.kind
    return PosteriorMechanism(
        frame=frame,
        variance=variance,
        model_variance=wanted.model_variance,
        draws=wanted.draws,
        kind=kind,
        reshrink=wanted.reshrink,
        variance_source=wanted.source,
        **given,
    )


def _new_areas(config: SaeConfig, file: Path) -> dict[str, Any]:
    """Labels and design of the areas without sample."""
    areas = config.areas
    table = AreaTable.read(file, AUTO if areas.area is None else areas.area)
    if table.area is None:
        raise InputError("no labels", table.source, "give a column 'area'")
    design, _ = table.design(areas.covariates, intercept=areas.intercept)
    return {"new_areas": table.labels(), "new_design": design}


@contextmanager
def _named(source: Path, table: AreaTable, direct: str) -> Iterator[None]:
    """Errors of the library in terms of the key of the configuration, or the file of areas."""
    keys = ReleasePart.model_fields
    places = {key: f"{source}, release.{key}" for key in keys}
    places |= {key.replace("_", " "): f"{source}, release.{key}" for key in keys}
    places["variance_source"] = f"{source}, release.source"
    places["privacy event"] = f"{source}, areas.unit"
    for name in ("covariates", "kish", "weight_total", "deff", "sensitivity", "new_areas", "new_design"):
        places[name] = f"{source}, areas.{name}"
    phrases = {"floor the variances (floored_variance)": "floor the variances (pgsr sae levers --rho)"}
    with table.named(places, {"direct estimates": direct}, phrases):
        yield
