"""Real data that come with the package: household sizes of Korea, flights from New York, incomes by state.

`describe` names source, licence and citation of each; credit them when results are published.
"""

from pgsr.datasets.catalogue import DATASETS, Dataset, describe
from pgsr.datasets.loaders import (
    StateIncomes,
    korea_imputed,
    korea_names,
    load_cps_incomes,
    load_flights,
    load_korea_households,
    write_cps_incomes,
)

__all__ = [
    "DATASETS",
    "Dataset",
    "StateIncomes",
    "describe",
    "korea_imputed",
    "korea_names",
    "load_cps_incomes",
    "load_flights",
    "load_korea_households",
    "write_cps_incomes",
]
