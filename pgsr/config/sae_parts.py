"""The tables of a small area configuration, as strict models; each says which of its keys go together."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, PlainValidator, StrictBool, StrictInt, model_validator

from pgsr.config.parts import Exact, File, Part, Text, finite_real


def _column_or_real(value: Any) -> str | float:
    if isinstance(value, str) and value:
        return value
    return finite_real(value)


Real = Annotated[float, PlainValidator(finite_real)]
ColumnOrReal = Annotated[str | float, PlainValidator(_column_or_real)]

JOINT, MARGINALS, NOISY = "joint", "marginals", "noisy-direct"
PUBLIC, DP, INVARIANT = "public", "dp", "invariant"

_STAGES = {"rho_p", "rho_b", "rho_a", "rho_draw", "clip", "reference", "clamp"}
_ALWAYS = {"kind", "variances"}
_KEYS: dict[tuple[str, str], tuple[set[str], set[str]]] = {
    (JOINT, PUBLIC): ({"model_variance", "source"}, {"draws", "limit", "reshrink"}),
    (MARGINALS, PUBLIC): ({"model_variance", "source"}, {"draws", "limit"}),
    (JOINT, DP): (_STAGES, {"draws", "weighting", "reshrink"}),
    (JOINT, INVARIANT): (set(), {"draws", "model_variance", "method"}),
    (MARGINALS, INVARIANT): (set(), {"draws", "model_variance", "method"}),
    (NOISY, PUBLIC): ({"rho"}, {"model_variance", "method"}),
    (NOISY, DP): ({"rho"}, {"model_variance", "method", "clamp"}),
}
"""Of each kind of release and origin of variances, the keys of `[release]` that it needs, and may have."""


class AreasPart(Part):
    """`[areas]`: a file, one row an area, and its columns; beside `[records]` its public columns alone."""

    file: File | None = None
    direct: Text | None = None
    area: Text | None = None
    sensitivity: ColumnOrReal | None = None
    variance: Text | None = None
    weight_total: Text | None = None
    kish: Text | None = None
    deff: ColumnOrReal | None = None
    population: Text | None = None
    covariates: tuple[Text, ...] = ()
    intercept: StrictBool = True
    new_areas: File | None = None
    unit: Text | None = None
    moves: StrictBool = False

    @model_validator(mode="after")
    def _some_design(self) -> AreasPart:
        if not self.covariates and not self.intercept:
            raise ValueError("neither covariates nor an intercept")
        return self

    def named(self) -> dict[str, str]:
        """The keys that name columns of the file, and those columns."""
        keys = ("direct", "area", "sensitivity", "variance", "weight_total", "kish", "deff", "population")
        found = {key: getattr(self, key) for key in keys if isinstance(getattr(self, key), str)}
        return found | ({"covariates": self.covariates[0]} if self.covariates else {})


class RecordsPart(Part):
    """`[records]`: a file, one row a record; outcomes are confidential, weights and areas public.

    Sampling variances D come from `prevalence`, `unit_variance` or a column of `[areas]`, all public, or for
    variances = "invariant" from the records, by `variance_method`.
    """

    file: File
    outcome: Text
    weight: Text
    area: Text = "area"
    lower: Real | None = None
    upper: Real | None = None
    estimator: Literal["hajek", "ht_mean", "ht_total"] = "hajek"
    prevalence: Real | None = None
    unit_variance: Real | None = None
    variance_method: Literal["taylor", "taylor-domains", "sdr", "jk1", "jkn", "brr"] = "taylor"
    single_psu: Literal["refuse", "certainty", "centered", "average"] = "refuse"
    strata: Text | None = None
    psu: Text | None = None
    household: Text | None = None
    largest_weight: Real | None = None
    rest_weight: ColumnOrReal | None = None

    @model_validator(mode="after")
    def _one_range(self) -> RecordsPart:
        if (self.lower is None) != (self.upper is None):
            raise ValueError("only one of 'lower' and 'upper'")
        if self.prevalence is not None and self.lower is not None:
            raise ValueError("'prevalence' is for outcomes of 0 or 1; give 'unit_variance'")
        return self


class ReleasePart(Part):
    """`[release]`: what is released, where variances come from, and what it costs."""

    kind: Literal["joint", "marginals", "noisy-direct"] = "joint"
    variances: Literal["public", "dp", "invariant"]
    source: Text | None = None
    model_variance: Real | None = None
    method: Literal["reml", "ml", "fh", "pr"] = "reml"
    draws: Annotated[int, Field(strict=True, ge=1)] = 1
    limit: Exact | None = None
    reshrink: StrictBool = False
    rho: Exact | None = None
    rho_p: Exact | None = None
    rho_b: Exact | None = None
    rho_a: Exact | None = None
    rho_draw: Exact | None = None
    clip: Real | None = None
    reference: Real | None = None
    clamp: tuple[Real, Real] | None = None
    weighting: Literal["variance", "sensitivity"] = "variance"

    @model_validator(mode="after")
    def _fitting_keys(self) -> ReleasePart:
        way = (self.kind, self.variances)
        if way not in _KEYS:
            fitting = " or ".join(f'"{origin}"' for kind, origin in _KEYS if kind == self.kind)
            raise ValueError(f'kind "{self.kind}" goes with variances = {fitting}')
        needed, allowed = _KEYS[way]
        missing = sorted(name for name in needed if getattr(self, name) is None)
        if missing:
            raise ValueError(f"{self.way} needs '{missing[0]}'")
        strays = sorted(self.model_fields_set - needed - allowed - _ALWAYS)
        if strays:
            raise ValueError(f"'{strays[0]}' does not go with {self.way}")
        return self

    @property
    def way(self) -> str:
        """Kind and variances, in words."""
        return f'kind "{self.kind}" with variances "{self.variances}"'


class SaePrivacyPart(Part):
    """`[privacy]`: the ledger to charge, and the seed of an experiment."""

    ledger: Text
    seed: Annotated[StrictInt, Field(ge=0)] | None = None
