"""`pgsr sae example`: a small made-up survey, by area and by record, and configurations to try."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pgsr.cli.options import Json, new_folder
from pgsr.cli.output import emit, line

AREAS = """\
area,y,D,delta,x,n,weight_total,kish
Ash,0.12246489909652226,0.000450,0.00757,0.21,419,102010,0.00353
Birch,0.144145785720277,0.000461,0.00902,0.21,479,83423,0.00361
Cedar,0.2136655912789322,0.000445,0.00679,0.28,390,64788,0.00349
Dogwood,0.16156992971053852,0.000495,0.00724,0.16,341,82398,0.00388
Elm,0.09274835953630292,0.000540,0.00980,0.14,375,57160,0.00424
Fir,0.07355762388911352,0.001370,0.02695,0.29,162,42682,0.01074
Ginkgo,0.15874202263534334,0.001335,0.02610,0.29,165,27425,0.01047
Hazel,0.16357349887442402,0.001781,0.03443,0.20,122,27086,0.01397
Ironwood,0.19828258211372532,0.001104,0.01490,0.26,145,29041,0.00866
Juniper,0.1403378883029502,0.001317,0.02584,0.25,168,31730,0.01033
Larch,0.2811321112748571,0.001764,0.03178,0.29,114,19429,0.01383
Maple,0.09783347194247802,0.001901,0.03666,0.12,114,27776,0.01491
Oak,0.19491223109014927,0.003349,0.05491,0.28,55,14286,0.02626
Pine,0.1296604772272099,0.002110,0.03146,0.20,81,19235,0.01655
Rowan,0.15662764237052285,0.003910,0.07375,0.19,54,11990,0.03067
Spruce,0.11073531428120152,0.002148,0.03887,0.24,94,22125,0.01685
"""
"""Made up: a share y by area in full precision, its sampling variance D from a public prevalence and the
weights, sensitivity delta, a covariate x, sample size n, and sums of the weights."""

PUBLIC = """\
area,x
Ash,0.21
Birch,0.19
Cedar,0.28
Dogwood,0.16
Elm,0.14
Fir,0.29
"""
"""Made up: a covariate x of the areas of the records."""


def _records() -> str:
    """Made up: records of another survey, an outcome and a weight each, two to a household."""
    lines = ["area,sick,w,home"]
    for k, row in enumerate(PUBLIC.splitlines()[1:]):
        name, _, x = row.partition(",")
        for j in range(48 + 7 * k):
            sick = int((37 * j + 11 * k) % 100 < 100 * float(x))
            lines.append(f"{name},{sick},{20 + (29 * j + 13 * k) % 61},{name}-{j // 2}")
    return "\n".join(lines) + "\n"


CONFIG = """\
[areas]
file = "areas.csv"
direct = "y"
sensitivity = "delta"
variance = "D"
covariates = ["x"]

[release]
kind = "joint"
variances = "public"
source = "the prevalence and the model of an earlier survey"
model_variance = 0.001

[privacy]
ledger = "ledger.jsonl"
"""

FROM_RECORDS = """\
[records]
file = "records.csv"
outcome = "sick"
weight = "w"
prevalence = 0.2

[areas]
file = "public.csv"
covariates = ["x"]

[release]
kind = "joint"
variances = "public"
source = "the prevalence and the model of an earlier survey"
model_variance = 0.003

[privacy]
ledger = "ledger.jsonl"
"""


def _files() -> dict[str, str]:
    return {
        "areas.csv": AREAS,
        "release.toml": CONFIG,
        "records.csv": _records(),
        "public.csv": PUBLIC,
        "from-records.toml": FROM_RECORDS,
    }


def example(
    out: Annotated[Path, typer.Option(help="The new folder.", show_default=False)], as_json: Json = False
) -> None:
    """Write a small made-up survey, by area and by record, and configurations to try the commands on."""
    from pgsr.atomic import atomic_dir

    new_folder(out)
    files = _files()
    with atomic_dir(out) as temporary:
        for name, text in files.items():
            (temporary / name).write_text(text, encoding="utf-8")
    columns = AREAS.partition("\n")[0].split(",")
    if as_json:
        emit({"out": out, "files": list(files), "columns": columns, "made_up": True})
        return
    line(f"written: {out / 'areas.csv'}, columns {', '.join(columns)}; made up")
    line(f"written: {out / 'release.toml'}, a release of it")
    line(f"written: {out / 'records.csv'} and public.csv, another survey by record; made up")
    line(f"written: {out / 'from-records.toml'}, a release of it")
    line("the ledger of both is to be made first:")
    line(f"pgsr ledger create {out / 'ledger.jsonl'} --rho 1 --neighbours substitute")
