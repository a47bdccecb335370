"""The public part of a small area release: its frame and mechanism, without a look at an outcome."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pgsr.config.sae import SaeConfig
from pgsr.config.sae_inputs import PublicInputs, labelled, named, read_public
from pgsr.config.sae_parts import DP, INVARIANT, NOISY
from pgsr.config.sae_table import AreaTable
from pgsr.errors import InputError
from pgsr.sae.draws import PosteriorMechanism
from pgsr.sae.frame import AreaFrame
from pgsr.sae.noisydirect import NoisyDirectMechanism
from pgsr.sae.threestage import ThreeStageMechanism

Mechanism = PosteriorMechanism | ThreeStageMechanism | NoisyDirectMechanism

_STAGES = ("rho_p", "rho_b", "rho_a", "rho_draw", "clip", "reference", "clamp")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PublicQuery:
    """What is public of a release: the `frame`, and the `mechanism`, which is fixed before any data is seen.

    `mechanism` None: the variances come from the same data, so they are confidential, and not read either.
    """

    inputs: PublicInputs = field(repr=False)
    mechanism: Mechanism | None

    @property
    def frame(self) -> AreaFrame:
        """The areas, and all that is public of them."""
        return self.inputs.frame

    @property
    def table(self) -> AreaTable:
        """The file of areas, or of records; no direct estimate or outcome has been read."""
        return self.inputs.table


def read_public_query(config: SaeConfig, source: Path) -> PublicQuery:
    """Read what is public and build the mechanism; `source` names the configuration in errors.

    InputError names file and column, or key.
    """
    inputs = read_public(config, source)
    made = None
    if config.release.variances != INVARIANT:
        with named(source, inputs.table):
            made = _mechanism(config, inputs)
    return PublicQuery(inputs=inputs, mechanism=made)


def _mechanism(config: SaeConfig, inputs: PublicInputs) -> Mechanism:
    wanted, frame = config.release, inputs.frame
    given: dict[str, Any] = {}
    if wanted.clamp is not None:
        given["clamp"] = wanted.clamp
    if wanted.kind == NOISY:
        assert wanted.rho is not None  # by the check of the configuration
        return NoisyDirectMechanism(
            frame=frame,
            rho=wanted.rho,
            variance=inputs.variance,
            model_variance=wanted.model_variance,
            method=wanted.method,
            deff=inputs.deff,
            **given,
        )
    if wanted.variances == DP:
        stages: dict[str, Any] = {name: getattr(wanted, name) for name in _STAGES}
        return ThreeStageMechanism(
            frame=frame,
            deff=inputs.deff,
            draws=wanted.draws,
            weighting=wanted.weighting,
            reshrink=wanted.reshrink,
            **stages,
        )
    if wanted.limit is not None:
        given["limit"] = wanted.limit
    if config.areas.new_areas is not None:
        given |= _new_areas(config, config.areas.new_areas, frame.areas)
    assert wanted.model_variance is not None  # by the check of the configuration
    assert wanted.source is not None
    kind: Any = wanted.kind
    return PosteriorMechanism(
        frame=frame,
        variance=inputs.variance,
        model_variance=wanted.model_variance,
        draws=wanted.draws,
        kind=kind,
        reshrink=wanted.reshrink,
        variance_source=wanted.source,
        **given,
    )


def _new_areas(config: SaeConfig, file: Path, sampled: Sequence[str]) -> dict[str, Any]:
    """Labels and design of the areas without sample, none of which is among the `sampled`."""
    table = labelled(file, config.areas)
    there = set(sampled)
    for row, label in enumerate(table.labels()):
        if label in there:
            assert table.area is not None  # since it is labelled
            where, way_out = table.table.where(table.area, row), "leave it out: it has a direct estimate"
            raise InputError(f"area '{label}' is among the areas already", where, way_out)
    design, _ = table.design(config.areas.covariates, intercept=config.areas.intercept)
    return {"new_areas": table.labels(), "new_design": design}
