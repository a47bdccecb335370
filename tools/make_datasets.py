"""Write the packaged data sets from extracts of their sources.

    python tools/make_datasets.py --korea households.csv.gz --flights flights.csv.gz --cps cps.csv.gz

Households: columns adm1_code, adm1, adm2_code, adm2, adm3_code, adm3, h1 .. h6, h7p, one row a dong.
Flights: columns origin, carrier, month, tailnum, flights, one row a plane in an origin-carrier-month.
Incomes: columns fips, year, income (whole dollars), one row a household; those of CPS_YEAR that are not
negative are kept, without their order.
The same extracts give the same bytes.
"""

import argparse
import csv
import gzip
import io
from collections.abc import Iterable
from pathlib import Path

DATA = Path(__file__).resolve().parent.parent / "pgsr" / "datasets" / "data"
LEVELS = ("province", "district", "dong")
MOST_BYTES = 300_000
CPS_YEAR = "2014"


def main() -> None:
    """Read the extracts named on the command line and write the data files."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--korea", type=Path, required=True)
    parser.add_argument("--flights", type=Path, required=True)
    parser.add_argument("--cps", type=Path, required=True)
    arguments = parser.parse_args()
    korea = list(read(arguments.korea))
    sizes = [f"h{size}" for size in range(1, 7)] + ["h7p"]
    write(
        "korea_households.csv.gz",
        [*LEVELS, *(str(size) for size in range(1, 8))],
        sorted(
            [row["adm1_code"], row["adm2_code"], row["adm3_code"], *(row[h] for h in sizes)] for row in korea
        ),
    )
    names = {row[f"adm{k}_code"]: row[f"adm{k}"] or row[f"adm{k}_code"] for row in korea for k in (1, 2, 3)}
    write("korea_names.csv.gz", ["region", "name"], sorted(names.items()))
    # Tail numbers are left out: a unit is a row.
    flights = [
        (row["origin"], row["carrier"], row["month"].zfill(2), int(row["flights"]))
        for row in read(arguments.flights)
    ]
    write("flights.csv.gz", ["origin", "carrier", "month", "flights"], sorted(flights))
    households = [row for row in read(arguments.cps) if row["year"] == CPS_YEAR]
    incomes = [(row["fips"].zfill(2), int(row["income"])) for row in households]
    write("cps_incomes.csv.gz", ["state", "income"], sorted(pair for pair in incomes if pair[1] >= 0))


def read(path: Path) -> Iterable[dict[str, str]]:
    """Yield the rows of a gzipped CSV file."""
    with gzip.open(path, "rt", encoding="utf-8", newline="") as stream:
        yield from csv.DictReader(stream)


def write(name: str, header: list[str], rows: Iterable[Iterable[object]]) -> None:
    """Write a gzipped CSV file without a time stamp; refuse one that is too large for the package."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    packed = gzip.compress(text.getvalue().encode(), compresslevel=9, mtime=0)
    if len(packed) > MOST_BYTES:
        raise SystemExit(f"{name}: {len(packed)} bytes, more than {MOST_BYTES}")
    (DATA / name).write_bytes(packed)


if __name__ == "__main__":
    main()
