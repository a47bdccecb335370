"""From the configuration of a small area release to its mechanism and data: what `pgsr sae release` draws."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgsr.config.sae import SaeConfig
from pgsr.config.sae_inputs import SMOOTH, named, read_records, record_columns
from pgsr.config.sae_parts import INVARIANT
from pgsr.config.sae_public import Mechanism, PublicQuery, read_public_query
from pgsr.errors import InputError
from pgsr.mechanism import Release
from pgsr.noise import BitSource
from pgsr.sae.conditional import conditional_release
from pgsr.sae.direct import confidential_direct
from pgsr.sae.fayherriot import confidential_fit
from pgsr.sae.frame import AreaEstimates, AreaFrame
from pgsr.sae.records import confidential_variance


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
    """Read areas or records and build what is to be released; `source` names the configuration in errors.

    All checks of data and parameters against each other are done. InputError names file and column, or key.
    """
    wanted = config.release
    public = read_public_query(config, source)
    read = _from_areas if config.records is None else _from_records
    with _named(config, source, public):
        data, variance = read(config, source, public)
        if public.mechanism is not None:
            public.mechanism.check(data)
            return AreaQuery(mechanism=public.mechanism, data=data)
        assert variance is not None  # by the check of the configuration
        fit = confidential_fit(
            data.values,
            variance,
            public.frame.design,
            method=wanted.method,
            model_variance=wanted.model_variance,
            names=public.frame.names,
        )
    return ConditionalQuery(
        frame=public.frame,
        data=data,
        variance=variance,
        model_variance=fit.model_variance.value,
        draws=wanted.draws,
        kind=wanted.kind,
    )


def _named(config: SaeConfig, source: Path, public: PublicQuery) -> AbstractContextManager[None]:
    """Errors of the library in terms of keys and files."""
    direct = config.areas.direct
    return named(source, public.table, {} if direct is None else {"direct estimates": direct})


def _from_areas(
    config: SaeConfig, source: Path, public: PublicQuery
) -> tuple[AreaEstimates, NDArray[np.float64] | None]:
    """CONFIDENTIAL: direct estimates from their column, and D if it is estimated from the same data."""
    del source
    areas, table = config.areas, public.table
    assert areas.direct is not None  # by the check of the configuration
    y = table.numbers(areas.direct)
    variance = None
    if config.release.variances == INVARIANT and areas.variance is not None:
        variance = table.positive(areas.variance, SMOOTH)
    return AreaEstimates(areas=public.frame.areas, values=y), variance


def _from_records(
    config: SaeConfig, source: Path, public: PublicQuery
) -> tuple[AreaEstimates, NDArray[np.float64] | None]:
    """CONFIDENTIAL: direct estimates, and D, from the outcomes of the records."""
    part = config.records
    assert part is not None
    listed = None if config.areas.file is None else public.table
    table, data = read_records(part, listed, source, outcomes=True)
    with named(source, table, record_columns(part).rows()):
        direct = confidential_direct(data, part.estimator, public.inputs.population)
        variance = None
        if config.release.variances == INVARIANT:
            variance = confidential_variance(data, direct, part.variance_method, part.single_psu).variance
            flat = np.flatnonzero(variance <= 0)
            if flat.size:
                where, way_out = f"area '{data.areas[flat[0]]}'", 'merge areas, or use variances = "public"'
                raise InputError("an estimated variance is 0", where, way_out)
    return AreaEstimates(areas=data.areas, values=direct.estimate), variance
