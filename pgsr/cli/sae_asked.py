"""What the commands of `pgsr sae` are given: a file of areas, its columns, and lists of numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated

import typer

from pgsr.errors import InputError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from pgsr.config.sae_table import AreaTable
    from pgsr.sae.posterior import Posterior

AREAS = "one row an area, CSV or Parquet"

File = Annotated[Path, typer.Argument(help=f"Areas: {AREAS}.", show_default=False)]
Variance = Annotated[str, typer.Option(help="Column of the sampling variances D.", show_default=False)]
Covariates = Annotated[
    str | None, typer.Option(help="Columns of covariates, such as a,b.", show_default="none")
]
NoIntercept = Annotated[bool, typer.Option("--no-intercept", help="No column of ones in the design.")]
Area = Annotated[
    str | None, typer.Option(help="Column of the labels.", show_default="area, or the row's number")
]
Sensitivity = Annotated[
    str,
    typer.Option(
        help="Delta: how far one record moves its area's estimate; a column or a number.", show_default=False
    ),
]
ModelVariance = Annotated[
    float, typer.Option(help="The model variance A, from a public source.", show_default=False)
]
Unused = Annotated[
    str | None,
    typer.Option(help="Accepted as in `fit`; no estimate is read.", show_default=False, metavar="COLUMN"),
]


class Method(StrEnum):
    """How the model variance is estimated."""

    REML = "reml"
    """Restricted maximum likelihood."""
    ML = "ml"
    """Maximum likelihood."""
    FH = "fh"
    """The moment equation of Fay and Herriot."""
    PR = "pr"
    """The moment estimate of Prasad and Rao."""


class Variances(StrEnum):
    """Where sampling and model variances come from."""

    PUBLIC = "public"
    """Public figures, or earlier surveys."""
    DP = "dp"
    """Releases that are charged for."""
    INVARIANT = "invariant"
    """The same data: figures are conditional."""


def names(text: str | None, option: str) -> tuple[str, ...]:
    """The names of a list such as "a,b"; InputError for an empty one among them."""
    if text is None:
        return ()
    found = tuple(name.strip() for name in text.split(","))
    if not all(found):
        raise InputError("an empty name", option, "give names such as a,b")
    return found


def reals(text: str, option: str) -> tuple[float, ...]:
    """The numbers of a list such as "0.5,2"; InputError for anything else."""
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError:
        raise InputError("not a list of numbers", option, "give numbers such as 0.5,2") from None


def read(
    file: Path,
    area: str | None,
    unread: str | None = None,
    public: Mapping[str, object] = MappingProxyType({}),
) -> AreaTable:
    """The file of areas; `unread` is a column that must be there, and whose cells nobody looks at.

    `public` maps options to the columns that they name: InputError if one of them is `unread`.
    """
    from pgsr.config.sae_confidential import refuse_confidential
    from pgsr.config.sae_table import AreaTable
    from pgsr.tables import AUTO

    table = AreaTable.read(file, AUTO if area is None else area)
    if unread is not None:
        table.table.column(unread)
        refuse_confidential(unread, {**public, "--area": area})
    return table


def options(variance: str) -> dict[str, str]:
    """The option that each parameter of the library comes from."""
    return {
        "sampling variance": f"column {variance!r}",
        "model variance": "--model-variance",
        "method": "--method",
        "delta": "--delta",
        "sensitivity": "--sensitivity",
        "records": "--records",
        "draws": "--draws",
        "design": "--covariates, --no-intercept",
        "covariates": "--covariates",
        "etas": "--etas",
        "eta": "--etas",
        "factors": "--factors",
        "factor": "--factors",
        "rho": "--rho",
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class PublicAreas:
    """Public inputs: labels (m,), the posterior map, and sensitivities (m,); no direct estimate."""

    labels: tuple[str, ...]
    posterior: Posterior
    sensitivity: NDArray[np.float64]


def public_areas(
    table: AreaTable,
    *,
    variance: str,
    sensitivity: str,
    model_variance: float,
    covariates: str | None,
    intercept: bool,
) -> PublicAreas:
    """The public inputs in a file of areas; InputError names file and column."""
    from pgsr.config.sae_table import column_or_number
    from pgsr.sae.posterior import Posterior

    with table.named(options(variance)):
        design, columns = table.design(names(covariates, "--covariates"), intercept=intercept)
    d = table.positive(variance, "merge the area, smooth or floor its variance")
    delta = column_or_number(table, sensitivity, "--sensitivity")
    with table.named(options(variance)):
        posterior = Posterior(variance=d, model_variance=model_variance, design=design, names=columns)
    return PublicAreas(labels=table.labels(), posterior=posterior, sensitivity=delta)


def estimates(
    table: AreaTable, direct: str, variance: str, *, blanks: bool
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.bool_]]:
    """CONFIDENTIAL: direct estimates, sampling variances, and which rows have them, each (rows,).

    With `blanks` both cells of an area may be empty, and it has none. InputError for any other empty cell and
    for variances that are not above 0.
    """
    import numpy as np

    y, d = table.optional(direct), table.optional(variance)
    there = ~(np.isnan(y) & np.isnan(d)) if blanks else np.ones(y.size, dtype=np.bool_)
    way_out = "fill the cell" if blanks else "fill the cell; --out-of-sample predicts areas that have none"
    for name, values in ((direct, y), (variance, d)):
        table.refuse(name, there & np.isnan(values), "missing value", way_out)
    table.refuse(variance, there & (d <= 0), "not above 0", "merge the area, smooth or floor its variance")
    return y, d, there
