"""Instances and solutions on disk, small (JSON) or large (Parquet): one way in, one way out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgsr.errors import InputError
from pgsr.models.instance import Instance

LARGE = 100_000
"""Entries above which an instance is better kept as a folder."""


def read_instance(path: str | Path) -> Instance:
    """Read an instance: a JSON file, or a folder with `instance.json` and Parquet files.

    Raises InputError naming file and region.
    """
    from pgsr.models.folders import read_folder
    from pgsr.models.jsonfiles import read_instance_json

    path = Path(path)
    return read_folder(path) if path.is_dir() else read_instance_json(path)


def write_instance(instance: Instance, path: str | Path) -> None:
    """Write an instance: as JSON if the name ends in `.json`, else as a folder."""
    from pgsr.models.folders import write_folder
    from pgsr.models.jsonfiles import write_instance_json

    path = Path(path)
    (write_instance_json if path.suffix == ".json" else write_folder)(instance, path)


def read_solution(path: str | Path, instance: Instance) -> NDArray[Any]:
    """Read the values (R, N) of a solution of `instance`, JSON or Parquet by the ending of its name."""
    from pgsr.models.folders import read_solution_parquet
    from pgsr.models.jsonfiles import read_solution_json

    path = Path(path)
    return (read_solution_parquet if _parquet(path) else read_solution_json)(path, instance)


def read_multipliers(path: str | Path, instance: Instance) -> NDArray[np.float64] | None:
    """Read the multipliers beside the values of a cumulative `instance`'s solution; None if it has none.

    The rows up to the last inner region, N columns, 0 at leaves: what `multiplier_bound` takes. Exactly as
    written. Raises InputError, naming file and region, for what is malformed, and for Model 1.
    """
    from pgsr.models.multiplierfiles import read_multipliers_json, read_multipliers_parquet

    path = Path(path)
    return (read_multipliers_parquet if _parquet(path) else read_multipliers_json)(path, instance)


def read_fingerprint(path: str | Path) -> str | None:
    """The fingerprint of the problem that a solution file says it solves; None if it does not say.

    See `pgsr.models.fingerprint`. Raises InputError for a file that is no solution, and for one not text.
    """
    from pgsr.models.folders import read_fingerprint_parquet
    from pgsr.models.jsonfiles import read_fingerprint_json

    path = Path(path)
    return (read_fingerprint_parquet if _parquet(path) else read_fingerprint_json)(path)


def write_solution(
    values: NDArray[Any],
    instance: Instance,
    path: str | Path,
    multipliers: NDArray[np.float64] | None = None,
    *,
    grid: int = 20,
    fingerprint: str | None = None,
) -> None:
    """Write the values (R, N) of a solution, JSON or Parquet by the ending of its name.

    `multipliers` of Model 2 (R, N), or their rows up to the last inner region, go into the same file, rounded
    to multiples of 2^-grid (0 to 40): any will do for a bound, but rounding may cost some of it. A grid that
    costs nothing: `pgsr.solvers.native.duality.on_grid`. InputError for numbers that the grid does not hold.
    `fingerprint`: of the problem that it solves, if the file shall say so (`pgsr.models.fingerprint`).
    """
    from pgsr.models.folders import write_solution_parquet
    from pgsr.models.jsonfiles import write_solution_json
    from pgsr.models.multiplierfiles import snapped

    path = Path(path)
    units = None if multipliers is None else snapped(multipliers, instance, grid)
    write = write_solution_parquet if _parquet(path) else write_solution_json
    write(values, instance, path, units, grid, fingerprint)


def _parquet(path: Path) -> bool:
    if path.suffix not in (".json", ".parquet"):
        raise InputError("unknown kind of solution file", str(path), "end its name in .json or .parquet")
    return path.suffix == ".parquet"
