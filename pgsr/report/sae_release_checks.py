"""Checks of a finished small area release against itself: what must hold whatever the data were."""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgsr.errors import InputError
from pgsr.mechanism import Columns, Release
from pgsr.privacy import Guarantee, Kind
from pgsr.provenance import digest
from pgsr.report.sae_contents import CONDITIONAL_DRAW, NOISY_DIRECT, contents
from pgsr.report.sae_facts import Record
from pgsr.report.sae_restated import restated
from pgsr.sae.draws import Z95
from pgsr.sae.noisydirect import STEPS

_FAILURES = (InputError, TypeError, ValueError, KeyError, ArithmeticError)
_DIGEST = re.compile(r"[0-9a-f]{64}")
_METADATA = {b"format", b"ARROW:schema"}
_FIELD = {b"PARQUET:field_id"}


def folder_checks(made: Release, folder: Path) -> list[Record]:
    """One row a check, `check` in words and whether it `holds`; needs a release of `read_released`."""
    known = contents(made)
    tables = {**made.estimate.tables, **made.measurements}
    csvs = [name for name, columns in known.items() if columns.csv]
    listed = {"guarantee.json", "provenance.json", *(f"{name}.csv" for name in csvs)}
    listed |= {f"{name}.parquet" for name in known}
    there = list(folder.iterdir())
    plain = all(path.is_file() and not path.is_symlink() for path in there)
    whole = set(tables) == set(known) and set(made.estimate.tables) == set(csvs)
    found = [
        (
            "cost, mechanism, parameters and invariants agree on whether it is differentially private",
            _one_voice(made),
        ),
        (
            "the folder holds the files of this kind of release and nothing else",
            plain and {path.name for path in there} == listed and whole,
        ),
    ]
    for name, columns in known.items():
        fits = name in tables and columns.fit(set(tables[name])) and _bare(folder / f"{name}.parquet")
        found.append((f"the table '{name}' has the columns of this kind of release and no others", fits))
    for name in csvs:
        same = name in tables and _same_as_csv(tables[name], folder / f"{name}.csv")
        found.append((f"{name}.csv says the same as {name}.parquet", same))
    found += _stated(made)
    secure = made.guarantee.secure and not made.provenance.seeded
    found.append(("the random bits cannot be reproduced", secure))
    found += _numbers(made, tables)
    return [{"check": check, "holds": bool(holds)} for check, holds in found]


def _one_voice(made: Release) -> bool:
    """Whether cost, mechanism, parameters and invariants agree on what is promised."""
    says = {
        made.guarantee.event.kind is Kind.CONDITIONAL,
        made.provenance.mechanism == CONDITIONAL_DRAW,
        made.provenance.parameters.get("variance_mode") == "invariant",
        bool(made.guarantee.invariants),
    }
    return len(says) == 1 and made.guarantee.event.kind in (Kind.CONDITIONAL, Kind.ZCDP)


def _bare(path: Path) -> bool:
    """Whether a Parquet file has no metadata but the format's."""
    import pyarrow.parquet as pq

    schema = pq.read_schema(path)
    own = set(pq.read_metadata(path).metadata or {}) | set(schema.metadata or {})
    return own <= _METADATA and all(set(entry.metadata or {}) <= _FIELD for entry in schema)


def _stated(made: Release) -> list[tuple[str, bool]]:
    """Parameters, areas and guarantee against what this mechanism says with these parameters."""
    given = made.provenance.parameters
    areas = made.estimate.tables["areas"]["area"].tolist()
    guarantee: Guarantee | None = None
    parameters: Mapping[str, Any] = {}
    name = ""
    try:
        guarantee, parameters, name = restated(made)
        same = name == made.provenance.mechanism and _same_parameters(parameters, given)
    except _FAILURES:
        same = False
    m = given.get("areas")
    fresh = given.get("new_areas", 0)
    listed = isinstance(m, int) and isinstance(fresh, int) and len(set(areas)) == len(areas) == m + fresh
    listed = listed and digest({"areas": areas[:m]}) == given.get("areas_sha256")
    stated = guarantee is not None and guarantee.to_dict() == made.guarantee.to_dict()
    return [
        ("the parameters are those of this kind of release", same),
        ("the digest of the parameters is that of the record", _told(made)),
        ("the areas are those of the parameters", listed),
        ("the guarantee is word for word the one of these parameters, and of its cost", stated),
    ]


def _told(made: Release) -> bool:
    try:
        return digest(made.provenance.parameters) == made.provenance.config_digest
    except InputError:
        return False


def _same_parameters(ours: Mapping[str, Any], given: Mapping[str, Any]) -> bool:
    """The same names and values; the digest of an array, or of the labels, may be any digest."""
    if set(ours) != set(given):
        return False
    for name, value in ours.items():
        other = given[name]
        if name.endswith("_sha256"):
            # Which array it is of only the configuration can tell.
            known = isinstance(other, str) and _DIGEST.fullmatch(other) is not None
            if value is None or not known:
                return False if value is not None else other is None
        elif digest({"": value}) != digest({"": other}):
            return False
    return True


def _numbers(made: Release, tables: Mapping[str, Columns]) -> list[tuple[str, bool]]:
    """Intervals, draws and noisy estimates against each other; needs the columns to be there."""
    areas, found = tables["areas"], []
    if {"sd", "lower", "upper"} <= set(areas):
        half = Z95 * areas["sd"]
        ends = np.array([areas["estimate"] - half, areas["estimate"] + half])
        fits = np.allclose(ends, np.array([areas["lower"], areas["upper"]]), rtol=1e-9, atol=1e-300)
        found.append(("the intervals are estimate +- 1.96 sd", bool(fits and (areas["sd"] >= 0).all())))
    if made.provenance.mechanism == NOISY_DIRECT:
        found.append(("each noisy estimate is its point times its step", _points_fit(made, tables)))
        return found
    count = int(made.provenance.parameters["draws"])  # by read_released
    many = "one draw" if count == 1 else f"{count} draws"
    fits = "draws" in tables and _draws_fit(tables["draws"], areas, count)
    found.append((f"each area has {many}, and the estimates are the means", fits))
    if "coefficients" in tables and "covariate" in tables["coefficients"]:
        names = tables["coefficients"]["covariate"].tolist()
        fits = names == made.provenance.parameters.get("design_columns")
        fits = fits and all(column.size == 1 for column in tables.get("stages", {}).values())
        found.append(("the stages have one row, and the coefficients one a covariate", fits))
    return found


def _draws_fit(draws: Columns, areas: Columns, count: int) -> bool:
    """Whether each area has `count` draws in order, with the estimate as their mean."""
    if set(draws) != {"area", "draw", "value"}:
        return False
    labels = areas["area"].tolist()
    if draws["area"].tolist() != labels * count:
        return False
    if draws["draw"].tolist() != np.repeat(np.arange(1, count + 1), len(labels)).tolist():
        return False
    values = draws["value"].reshape(count, len(labels))
    return close(values.mean(axis=0), areas["estimate"])


def _points_fit(made: Release, tables: Mapping[str, Columns]) -> bool:
    """Whether values and noise follow from points, steps and rho."""
    from pgsr.noise import DiscreteGaussian

    noisy, areas = tables.get("noisy", {}), tables["areas"]["area"].tolist()
    if not {"area", "point", "step", "value", "noise_sd"} <= set(noisy) or noisy["area"].tolist() != areas:
        return False
    try:
        steps = [Fraction(text) for text in noisy["step"].tolist()]
        rho = Fraction(str(made.provenance.parameters["rho"]))
        variance = DiscreteGaussian(sigma2=Fraction(STEPS**2) / (2 * rho)).variance
        values = [float(point * step) for point, step in zip(noisy["point"].tolist(), steps, strict=True)]
        noise = [float(step) * float(np.sqrt(variance)) for step in steps]
    except _FAILURES:
        return False
    same = values == noisy["value"].tolist() and close(np.array(noise), noisy["noise_sd"])
    return bool(min(steps) > 0 and same)


def close(ours: NDArray[Any], theirs: NDArray[Any], rtol: float = 1e-9) -> bool:
    """Whether two columns say the same, up to rounding errors; floats near 0 against the largest."""
    if ours.shape != theirs.shape or ours.dtype.kind != theirs.dtype.kind:
        return False
    if ours.dtype.kind != "f":
        return bool(ours.tolist() == theirs.tolist())
    size = float(np.abs(ours).max(initial=0.0))
    return bool(np.allclose(theirs, ours, rtol=rtol, atol=rtol * 1e-3 * size))


def _same_as_csv(table: Columns, path: Path) -> bool:
    try:
        with path.open(newline="", encoding="utf-8") as stream:
            head, *rows = list(csv.reader(stream))
    except (OSError, ValueError, csv.Error):
        return False
    if head != list(table) or any(len(row) != len(head) for row in rows):
        return False
    if len(rows) != next(iter(table.values())).size:
        return False
    for name, cells in zip(head, zip(*rows, strict=True), strict=True):
        kind, column = table[name].dtype.kind, table[name].tolist()
        try:
            if kind == "b":
                same = list(cells) == ["true" if value else "false" for value in column]
            elif kind in "iu":
                same = [int(cell) for cell in cells] == column
            elif kind == "f":
                same = [float(cell) for cell in cells] == column
            else:
                same = list(cells) == column
        except ValueError:
            return False
        if not same:
            return False
    return True
