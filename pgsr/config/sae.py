"""The configuration of a small area release: a TOML file, read strictly; paths are relative to it."""

from __future__ import annotations

import math
import tomllib
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Literal, NoReturn

from pydantic import Field, PlainValidator, StrictBool, StrictInt, ValidationError, model_validator

from pgsr.config.loading import NO_LEDGER
from pgsr.config.parts import Exact, File, Part, Text
from pgsr.errors import InputError


def _real(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float, Decimal)):
        raise ValueError("not a number")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise ValueError("not a finite number")
    return number


def _column_or_real(value: Any) -> str | float:
    if isinstance(value, str) and value:
        return value
    return _real(value)


Real = Annotated[float, PlainValidator(_real)]
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
    """`[areas]`: a file, one row an area, and its columns; those of weights are for variances = "dp"."""

    file: File
    direct: Text
    area: Text | None = None
    sensitivity: ColumnOrReal
    variance: Text | None = None
    weight_total: Text | None = None
    kish: Text | None = None
    deff: ColumnOrReal | None = None
    covariates: tuple[Text, ...] = ()
    intercept: StrictBool = True
    new_areas: File | None = None
    unit: Text = "person"
    moves: StrictBool = False

    @model_validator(mode="after")
    def _some_design(self) -> AreasPart:
        if not self.covariates and not self.intercept:
            raise ValueError("neither covariates nor an intercept")
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
        described = f'kind "{self.kind}" with variances "{self.variances}"'
        missing = sorted(name for name in needed if getattr(self, name) is None)
        if missing:
            raise ValueError(f"{described} needs '{missing[0]}'")
        strays = sorted(self.model_fields_set - needed - allowed - _ALWAYS)
        if strays:
            raise ValueError(f"'{strays[0]}' does not go with {described}")
        return self


class SaePrivacyPart(Part):
    """`[privacy]`: the ledger to charge, and the seed of an experiment."""

    ledger: Text
    seed: Annotated[StrictInt, Field(ge=0)] | None = None


class SaeConfig(Part):
    """A configuration of `pgsr sae release`; make it with `load_sae_config`."""

    areas: AreasPart
    release: ReleasePart
    privacy: SaePrivacyPart

    @model_validator(mode="after")
    def _parts_fit(self) -> SaeConfig:
        areas, release, unledgered = self.areas, self.release, self.privacy.ledger == NO_LEDGER
        if release.variances == INVARIANT:
            if not unledgered:
                raise ValueError(
                    'variances = "invariant" has a conditional figure, which no ledger takes: '
                    'privacy.ledger must be "none"'
                )
        elif unledgered and self.privacy.seed is None:
            raise ValueError('only an experiment with privacy.seed may have ledger = "none"')
        weights = ("weight_total", "kish")
        if release.variances == DP:
            missing = [name for name in weights if getattr(areas, name) is None]
            if missing:
                raise ValueError(f'variances = "dp" needs areas.{missing[0]}, of the public weights')
            strays = ["variance"] if areas.variance is not None else []
        else:
            if areas.variance is None:
                raise ValueError(f'variances = "{release.variances}" needs areas.variance')
            strays = [name for name in (*weights, "deff") if getattr(areas, name) is not None]
        if areas.new_areas is not None and (release.kind, release.variances) != (JOINT, PUBLIC):
            strays.append("new_areas")
        if areas.moves and release.variances == DP and release.kind == JOINT:
            strays.append("moves")
        if strays:
            way = f'kind "{release.kind}" with variances "{release.variances}"'
            raise ValueError(f"areas.{strays[0]} does not go with {way}")
        return self


def load_sae_config(path: str | Path) -> SaeConfig:
    """Read the configuration of a small area release; InputError names the file and the key."""
    path = Path(path)
    try:
        record = tomllib.loads(path.read_bytes().decode("utf-8"), parse_float=Decimal)
    except FileNotFoundError:
        raise InputError("no such file", str(path), "check the path") from None
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror})", str(path), "check the path") from None
    except (ValueError, ArithmeticError, RecursionError) as error:
        known = isinstance(error, (tomllib.TOMLDecodeError, UnicodeDecodeError))
        reason = str(error) if known else "a number or a nesting that is too long"
        raise InputError(f"not TOML ({reason})", str(path), "correct the file") from None
    try:
        return SaeConfig.model_validate(record, context={"base": path.parent})
    except ValidationError as error:
        _refuse(error, path)


def _refuse(error: ValidationError, path: Path) -> NoReturn:
    """Raise an InputError that names file and key of the first thing that is wrong."""
    first = error.errors(include_url=False, include_input=False)[0]
    key = ".".join(str(step + 1) if isinstance(step, int) else step for step in first["loc"])
    key = key if key.isprintable() else ascii(key)
    where = f"{path}, {key}" if key else str(path)
    cause = first.get("ctx", {}).get("error")
    if isinstance(cause, InputError):
        raise InputError(cause.what, where, cause.way_out) from None
    what, way_out = {
        "extra_forbidden": (f"unknown key {key!r}", "see docs/sae.md for the keys there are"),
        "missing": (f"key {key!r} is missing", "add it"),
    }.get(first["type"], ("", "correct it"))
    if not what:
        what = str(cause) if cause is not None else first["msg"]
        what = what[0].lower() + what[1:]
    raise InputError(what, where, way_out) from None
