"""Synthetic microdata on disk: the true counts of a preset as units or persons, ready for `pgsr release`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pgsr.atomic import atomic_dir
from pgsr.errors import InputError
from pgsr.ledger import Ledger

if TYPE_CHECKING:
    from pgsr.bench.presets import Generated

MAX_ROWS = 50_000_000
"""More rows than this are not written: they would not fit into memory with room to spare."""


def write_microdata(generated: Generated, path: Path, *, persons: bool) -> None:
    """Write the new folder `path`: hierarchy, units (and persons), `release.toml`, and a ledger for it.

    Raises InputError for more than 50 million rows.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    from pgsr.text import arrow_array

    truth = generated.truth
    leaves = truth.counts[truth.hierarchy.leaves]
    rows = int((leaves * truth.sizes).sum()) if persons else 0
    if max(rows, truth.total) > MAX_ROWS:
        raise InputError(
            f"{max(rows, truth.total):,} rows of microdata",
            "generate",
            f"at most {MAX_ROWS:,}: lower --scale",
        )
    codes: Any = arrow_array(truth.hierarchy.ids, "id")
    parent = codes.take(pa.array(truth.hierarchy.parent, mask=truth.hierarchy.parent < 0))
    region = np.repeat(np.repeat(truth.hierarchy.leaves, leaves.shape[1]), leaves.ravel())
    size = np.repeat(np.tile(truth.sizes, leaves.shape[0]), leaves.ravel())
    units: dict[str, Any] = {"unit": np.arange(truth.total), "region": codes.take(pa.array(region))}
    with atomic_dir(path) as folder:
        pq.write_table(pa.table({"region": codes, "parent": parent}), folder / "hierarchy.parquet")
        if persons:
            unit = np.repeat(units["unit"], size)
            members = {
                "person": np.arange(unit.size),
                "unit": unit,
                "region": codes.take(pa.array(region[unit])),
            }
            members["z"] = np.ones(unit.size, dtype=np.int64)
            pq.write_table(pa.table(members), folder / "persons.parquet")
        else:
            units["size"] = size
        pq.write_table(pa.table(units), folder / "units.parquet")
        (folder / "release.toml").write_text(_configuration(generated, persons), encoding="utf-8")
        Ledger.create(folder / "ledger.jsonl", epsilon=generated.epsilon)


def _configuration(generated: Generated, persons: bool) -> str:
    """A release configuration for the files beside it."""
    truth = generated.truth
    names = json.dumps(truth.hierarchy.level_names)
    data = 'kind = "persons"\nfile = "persons.parquet"\nz = "z"\nframe = "units.parquet"\n'
    if not persons:
        data = 'kind = "units"\nfile = "units.parquet"\nunit = "unit"\n'
    return (
        f"# Synthetic microdata: preset {generated.preset}, seed {generated.seed}.\n"
        f'[hierarchy]\nfile = "hierarchy.parquet"\nlevel_names = {names}\n\n'
        f"[data]\n{data}total = {truth.total}\n\n"
        f"[sizes]\nlist = {truth.sizes.tolist()}\n"
        f"without_size_zero = {json.dumps(bool(truth.sizes[0] > 0))}\n\n"
        f'[privacy]\nmodel = "{generated.model}"\nepsilon = "{generated.epsilon}"\nledger = "ledger.jsonl"\n'
    )
