"""Published fits of whole data sets that are not in this repository: set PGSR_SAE_DATA to a folder with them.

The folder holds data frames of R packages as CSV files: `grapes` and `incomedata` of package sae (GPL-2),
`SAIPE` of package BayesSAE, written by write.csv(row.names = FALSE): grapes_R.csv, incomedata_R.csv.gz and
saipe_R.csv.
"""

from __future__ import annotations

import csv
import gzip
import os
from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest

from pgsr.sae import Microdata, Posterior, confidential_fit
from pgsr.sae.direct import confidential_direct
from pgsr.sae.variances import confidential_taylor
from pgsr.sae.weights import weight_diagnostics

FOLDER = os.environ.get("PGSR_SAE_DATA", "")

pytestmark = pytest.mark.skipif(not FOLDER, reason="PGSR_SAE_DATA names no folder")


@lru_cache(maxsize=4)
def table(name: str) -> dict[str, list[str]]:
    path = Path(FOLDER) / name
    content = gzip.decompress(path.read_bytes()) if name.endswith(".gz") else path.read_bytes()
    rows = list(csv.reader(content.decode("utf-8").splitlines()))
    return {key: [row[j] for row in rows[1:]] for j, key in enumerate(rows[0])}


@pytest.mark.parametrize(
    ("method", "expected"), [("reml", 103.913210978037), ("ml", 102.424680487442), ("fh", 82.6890943535155)]
)
def test_grapes(method: str, expected: float) -> None:
    data = {key: np.array(values, dtype=float) for key, values in table("grapes_R.csv").items()}
    design = np.column_stack([data["area"], data["workdays"]])
    fit = confidential_fit(data["grapehect"], data["var"], design, method=method)
    assert fit.model_variance.value == pytest.approx(expected, rel=1e-13)


@pytest.mark.parametrize(
    ("method", "expected"),
    [("reml", 4.77719821528948e-05), ("ml", 4.20765154454734e-05), ("fh", 4.83972230555151e-05)],
)
def test_poverty_rates_with_covariates(method: str, expected: float) -> None:
    data = {key: np.array(values, dtype=float) for key, values in table("saipe_R.csv").items()}
    design = np.column_stack([np.ones(51), *(data[key] for key in ("SNAPR", "CenPR", "CPER", "CFR"))])
    fit = confidential_fit(data["SACPR"], data["Vardir"], design, method=method)
    assert fit.model_variance.value == pytest.approx(expected, rel=1e-10)


def test_poverty_of_provinces_from_microdata() -> None:
    data = table("incomedata_R.csv.gz")
    provinces = tuple(str(i) for i in range(1, 53))
    survey = Microdata(
        outcome=np.array(data["income"], dtype=float) < 6557.143,
        weight=np.array(data["weight"], dtype=float),
        area=data["prov"],
        areas=provinces,
    )
    direct = confidential_direct(survey)
    variance = confidential_taylor(survey, direct).variance
    places = [0, 1, 41]
    np.testing.assert_allclose(
        direct.estimate[places], [0.364002911782934, 0.144704827252458, 0.0524442015968876], rtol=1e-12
    )
    np.testing.assert_allclose(
        variance[places], [0.00300002919249959, 0.000864749737435467, 0.00275978686479253], rtol=1e-12
    )
    fit = confidential_fit(direct.estimate, variance)
    assert fit.model_variance.value == pytest.approx(0.0048685091, rel=1e-8)
    share = weight_diagnostics(survey.weight, survey.area_codes, 52).share
    posterior = Posterior(variance=variance, model_variance=fit.model_variance.value)
    rho = share**2 * posterior.gain / (2 * variance)
    assert rho.max() == pytest.approx(0.782707, abs=5e-7)
    assert (rho * (1 + posterior.correlation2_sum)).max() == pytest.approx(0.78406887, abs=5e-9)
    assert (share**2 / (2 * variance)).max() == pytest.approx(1.2161, abs=5e-5)
    assert rho.sum() == pytest.approx(6.7066, abs=5e-5)
