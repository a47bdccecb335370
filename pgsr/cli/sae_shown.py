"""What `pgsr sae fit` and `pgsr sae guarantee` show: as one record, and for people."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pgsr.cli.output import console, heading, line, pairs, paragraph, table

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from pgsr.sae.fayherriot import ConfidentialFit
    from pgsr.sae.guarantees import AreaGuarantees

MOST_ROWS = 24
"""Rows of a table for people."""

_LARGE = 1.0
_HEAVY = 1.5


def fit_record(
    found: ConfidentialFit,
    labels: Sequence[str],
    sampled: NDArray[np.bool_],
    others: tuple[NDArray[np.float64], NDArray[np.float64]] | None,
    names: Sequence[str],
) -> dict[str, Any]:
    """CONFIDENTIAL: the fit as a record; lists by area are in the order of the file's rows."""
    rest = [label for label, there in zip(labels, sampled, strict=True) if not there]
    predicted = []
    if others is not None:
        means, errors = others
        rows = zip(rest, means.tolist(), errors.tolist(), strict=True)
        predicted = [{"area": label, "mean": mean, "mse": mse} for label, mean, mse in rows]
    return {
        "confidential": True,
        "method": found.method,
        "status": found.status,
        "areas": found.m,
        "model_variance": found.model_variance.value,
        "columns": list(names),
        "beta": found.beta,
        "beta_se": found.beta_se,
        "area": [label for label, there in zip(labels, sampled, strict=True) if there],
        "direct": found.direct,
        "eblup": found.eblup,
        "mse": found.mse,
        "posterior_variance": found.posterior.sigma2,
        "shrinkage": found.posterior.shrinkage,
        "residuals": found.residuals,
        "log_likelihood": found.log_likelihood,
        "aic": found.aic,
        "bic": found.bic,
        "predicted": predicted,
    }


def show_fit(record: dict[str, Any]) -> None:
    """CONFIDENTIAL: the same for people."""
    heading(f"CONFIDENTIAL: Fay-Herriot fit of {record['areas']:,} areas, method {record['method']}")
    paragraph("All of this depends on the estimates. Keep it with the data, and publish none of it.")
    console().print()
    pairs(
        {
            "model variance": record["model_variance"],
            "found": record["status"],
            "log-likelihood": record["log_likelihood"],
            "AIC, BIC": f"{record['aic']:.4g}, {record['bic']:.4g}",
        }
    )
    table(
        ("column", "beta", "standard error"),
        list(zip(record["columns"], record["beta"].tolist(), record["beta_se"].tolist(), strict=True)),
    )
    columns = ("area", "direct", "eblup", "mse", "shrinkage", "residuals")
    lists = [list(record[name])[:MOST_ROWS] for name in columns]
    rows = [(str(label), *map(float, rest)) for label, *rest in zip(*lists, strict=True)]
    table(("area", "direct", "EBLUP", "MSE", "shrinkage", "residual"), rows)
    _more(record["areas"])
    if record["predicted"]:
        shown = record["predicted"][:MOST_ROWS]
        table(
            ("area without estimate", "mean", "MSE"),
            [(row["area"], row["mean"], row["mse"]) for row in shown],
        )
        _more(len(record["predicted"]))


def guarantee_record(
    found: AreaGuarantees, labels: Sequence[str], delta: float, draws: int
) -> dict[str, Any]:
    """The guarantee as a record; lists by area are in the order of the file's rows."""
    assert found.area is not None  # the guarantees by area are asked for
    return {
        "areas": found.posterior.m,
        "area": list(labels),
        "rho_area": found.area,
        "rho_own": found.own,
        "own_is_worst": found.own_is_worst,
        "rho_joint": found.joint,
        "joint_area": labels[found.joint_area],
        "rho_marginals": found.marginals,
        "marginals_area": labels[found.marginals_area],
        "rho_sum": found.sequential,
        "a_free": found.free,
        "draws": draws,
        "rho_draws": found.rho("joint", draws),
        "delta": delta,
        "epsilon_simple": found.epsilon(delta, exact=False, draws=draws),
        "epsilon_exact": found.epsilon(delta, draws=draws),
        "loss": {"mean": draws * found.joint, "variance": 2 * draws * found.joint},
        "conditional": found.variances == "invariant",
        "assumptions": list(found.assumptions("joint")),
        "warnings": _warnings(found, labels),
    }


def _warnings(found: AreaGuarantees, labels: Sequence[str]) -> list[str]:
    """What a reader should not overlook."""
    said = []
    if found.joint > _LARGE:
        many = int((found.own > _LARGE).sum())
        worst = labels[found.joint_area]
        said.append(
            f"rho is above {_LARGE:g} in {many} of {len(labels)} areas, largest in '{worst}': floor its "
            "variance (pgsr sae levers --rho), trim its weights, or merge it"
        )
    if found.marginals > _HEAVY * found.joint:
        said.append("shrinkage is heavy: independent draws cost much more than a joint draw")
    if not found.own_is_worst:
        said.append("in some area the record that pays most for its release is of another area")
    return said


def show_guarantee(record: dict[str, Any]) -> None:
    """The same for people."""
    kind = "CONDITIONAL: not a DP guarantee" if record["conditional"] else "guarantee"
    heading(f"{kind}: {record['areas']:,} areas")
    console().print()
    pairs(
        {
            "rho, one joint draw": record["rho_joint"],
            "paid by a record of": record["joint_area"],
            "rho, independent draws": record["rho_marginals"],
            "rho, areas one by one": record["rho_sum"],
            "rho, any model variance": record["a_free"],
            f"epsilon at delta {record['delta']:g}": f"{record['epsilon_exact']:.4g} exactly, "
            f"{record['epsilon_simple']:.4g} by the simple formula",
        }
    )
    if record["draws"] > 1:
        line(f"epsilon is that of {record['draws']} joint draws, rho {record['rho_draws']:.4g}")
    order = record["rho_own"].argsort()[::-1][:MOST_ROWS].tolist()
    rows = [
        (record["area"][row], float(record["rho_own"][row]), float(record["rho_area"][row])) for row in order
    ]
    table(("area", "rho in the joint draw", "rho of this area alone"), rows)
    _more(record["areas"])
    for text in record["warnings"]:
        paragraph(f"Mind: {text}.", style="bold")
    console().print()
    heading("assumptions")
    for text in record["assumptions"]:
        paragraph(text)


def _more(rows: int) -> None:
    """How many rows were left out."""
    if rows > MOST_ROWS:
        line(f"{rows - MOST_ROWS:,} more with --json")
