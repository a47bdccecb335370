"""The configuration of a small area release: a TOML file, read strictly; paths are relative to it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import ValidationError, model_validator

from pgsr.config.loading import NO_LEDGER, read_toml, refuse_key
from pgsr.config.parts import Part
from pgsr.config.sae_confidential import public_use, same_file
from pgsr.config.sae_parts import (
    DP,
    INVARIANT,
    JOINT,
    PUBLIC,
    AreasPart,
    RecordsPart,
    ReleasePart,
    SaePrivacyPart,
)

_WEIGHTS = ("weight_total", "kish")
_BOUNDS = ("largest_weight", "rest_weight")
_DESIGN = ("variance_method", "single_psu", "strata", "psu")


class SaeConfig(Part):
    """A configuration of `pgsr sae release`, of areas or of records; make it with `load_sae_config`."""

    areas: AreasPart = AreasPart()
    records: RecordsPart | None = None
    release: ReleasePart
    privacy: SaePrivacyPart

    @property
    def unit(self) -> str:
        """Whose outcomes a record holds."""
        households = self.records is not None and self.records.household is not None
        return self.areas.unit or ("household" if households else "person")

    @model_validator(mode="after")
    def _parts_fit(self) -> SaeConfig:
        self._check_ledger()
        self._check_confidential()
        if self.records is None:
            self._check_areas()
        else:
            self._check_records(self.records)
        if self.areas.new_areas is not None and (self.release.kind, self.release.variances) != (
            JOINT,
            PUBLIC,
        ):
            raise ValueError(f"areas.new_areas does not go with {self.release.way}")
        return self

    def _check_ledger(self) -> None:
        unledgered = self.privacy.ledger == NO_LEDGER
        if self.release.variances == INVARIANT:
            if not unledgered:
                raise ValueError(
                    'variances = "invariant" has a conditional figure, which no ledger takes: '
                    'privacy.ledger must be "none"'
                )
        elif unledgered and self.privacy.seed is None:
            raise ValueError('only an experiment with privacy.seed may have ledger = "none"')

    def _check_confidential(self) -> None:
        """The confidential column is not read as anything public."""
        areas, records = self.areas, self.records
        columns: dict[str, Any] = {f"areas.{key}": name for key, name in areas.named().items()}
        columns.pop("areas.direct", None)
        columns["areas.covariates"] = areas.covariates
        if records is None:
            self._refuse_use(areas.direct, "areas.direct", columns)
            return
        keys = ("weight", "area", "strata", "psu", "household")
        self._refuse_use(
            records.outcome, "records.outcome", {f"records.{key}": getattr(records, key) for key in keys}
        )
        if same_file(areas.file, records.file) or same_file(areas.new_areas, records.file):
            columns["records.rest_weight"] = records.rest_weight
            self._refuse_use(records.outcome, "records.outcome", columns)
        if records.household is None and self.unit.strip().casefold() in ("household", "households"):
            raise ValueError("areas.unit is a household, but no records.household says which records it has")

    @staticmethod
    def _refuse_use(confidential: str | None, key: str, columns: dict[str, Any]) -> None:
        twice = public_use(confidential, columns)
        if twice is not None:
            raise ValueError(f"{twice} names the confidential column of {key}")

    def _check_areas(self) -> None:
        """Keys of a release that starts from a file of areas."""
        areas, variances = self.areas, self.release.variances
        for key in ("file", "direct", "sensitivity"):
            if getattr(areas, key) is None:
                raise ValueError(f"areas.{key} is missing; or give [records]")
        strays = ["population"]
        if variances == DP:
            self._need(areas, "areas", _WEIGHTS, 'variances = "dp", of the public weights,')
            strays.append("variance")
        else:
            self._need(areas, "areas", ("variance",), f'variances = "{variances}"')
            strays += [*_WEIGHTS, "deff"]
        self._refuse(areas, "areas", strays, self.release.way)

    def _check_records(self, records: RecordsPart) -> None:
        """Keys of a release that starts from records: what follows from them is not given as well."""
        areas, variances = self.areas, self.release.variances
        self._refuse(areas, "areas", ["direct", "sensitivity"], "[records]")
        if areas.file is None and (areas.named() or areas.new_areas):
            first = next(iter(areas.named()), "new_areas")
            raise ValueError(f"areas.{first} needs areas.file")
        if areas.moves:
            self._check_moves(records)
        else:
            self._refuse(areas, "areas", _WEIGHTS, "[records]")
            self._refuse(records, "records", _BOUNDS, "records that stay in their area")
        if (records.estimator == "ht_mean") != (areas.population is not None):
            raise ValueError('areas.population is for records.estimator = "ht_mean", which needs it')
        if variances != INVARIANT:
            self._refuse(records, "records", _DESIGN, f'variances = "{variances}"')
        self._check_origin(records)
        if variances == DP and (records.estimator != "hajek" or records.lower is not None):
            raise ValueError('variances = "dp" is for Hajek means of an outcome of 0 or 1')

    def _check_moves(self, records: RecordsPart) -> None:
        """Records that may move: weights and areas are not public, so nothing follows from them."""
        if records.estimator != "hajek" or self.areas.file is None:
            raise ValueError("areas.moves is for Hajek means and a public list of areas, areas.file")
        self._need(records, "records", _BOUNDS, "areas.moves")
        self._refuse(records, "records", ["household", "prevalence", "unit_variance"], "areas.moves")
        if self.release.variances == DP:
            self._need(self.areas, "areas", _WEIGHTS, 'areas.moves with variances = "dp"')
        else:
            self._refuse(self.areas, "areas", _WEIGHTS, self.release.way)

    def _check_origin(self, records: RecordsPart) -> None:
        """One origin of sampling variances that are public, and none beside others."""
        given = {
            "areas.variance": self.areas.variance,
            "records.prevalence": records.prevalence,
            "records.unit_variance": records.unit_variance,
        }
        there = [name for name, value in given.items() if value is not None]
        if self.release.variances != PUBLIC:
            if there:
                raise ValueError(f"{there[0]} does not go with {self.release.way}")
        elif len(there) != 1:
            raise ValueError(f'variances = "public" needs one of {", ".join(given)}')
        elif records.estimator != "hajek" and there != ["areas.variance"]:
            raise ValueError(f"{there[0]} is for Hajek means; give areas.variance")
        smoothed = self.release.variances == DP or (there and there != ["areas.variance"])
        if self.areas.deff is not None and not smoothed:
            raise ValueError("areas.deff does not go with the origin of the variances")

    @staticmethod
    def _need(part: Part, name: str, keys: tuple[str, ...], what: str) -> None:
        missing = [key for key in keys if getattr(part, key) is None]
        if missing:
            raise ValueError(f"{what} needs {name}.{missing[0]}")

    @staticmethod
    def _refuse(part: Part, name: str, keys: list[str] | tuple[str, ...], what: str) -> None:
        strays = [key for key in keys if key in part.model_fields_set]
        if strays:
            raise ValueError(f"{name}.{strays[0]} does not go with {what}")


def load_sae_config(path: str | Path) -> SaeConfig:
    """Read the configuration of a small area release; InputError names the file and the key."""
    path = Path(path)
    record = read_toml(path)
    try:
        return SaeConfig.model_validate(record, context={"base": path.parent})
    except ValidationError as error:
        refuse_key(error, path, "docs/sae.md")
