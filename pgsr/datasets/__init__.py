"""Real data that come with the package: household sizes of Korea, and flights per plane from New York.

`describe` names source, licence and citation of each; credit them when results are published.
"""

from pgsr.datasets.catalogue import DATASETS, Dataset, describe
from pgsr.datasets.loaders import korea_imputed, korea_names, load_flights, load_korea_households

__all__ = [
    "DATASETS",
    "Dataset",
    "describe",
    "korea_imputed",
    "korea_names",
    "load_flights",
    "load_korea_households",
]
