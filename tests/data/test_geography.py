import pytest

from pgsr.errors import InputError
from pgsr.geography import US_CENSUS, levels_from_prefixes
from pgsr.hierarchy import Hierarchy

BLOCKS = ["010010201001000", "010010201001001", "010010201002000", "020130001001000"]


def test_census_codes_become_levels():
    columns = levels_from_prefixes(BLOCKS, US_CENSUS)
    assert list(columns) == ["state", "county", "tract", "block group", "block"]
    assert columns["county"].to_pylist() == ["01001", "01001", "01001", "02013"]
    tree = Hierarchy.from_levels(columns, root="US", root_level="nation")
    assert tree.level_start.tolist() == [0, 1, 3, 5, 7, 10, 14]
    assert tree.level_names[0] == "nation"


def test_lengths_alone_give_unnamed_levels():
    columns = levels_from_prefixes(["0101", "0102"], (2, 4))
    assert {name: column.to_pylist() for name, column in columns.items()} == {
        "level 2": ["01", "01"],
        "level 3": ["0101", "0102"],
    }


@pytest.mark.parametrize(
    ("codes", "lengths", "message"),
    [
        (["0101", "102"], (2, 4), "code '102' has not 4 characters: geocodes, entry 2: keep leading zeros"),
        ([101, 1021], (2, 4), "code '101' has not 4 characters"),
        (["0101", None], (2, 4), "missing code: geocodes, entry 2"),
        (["0101"], (4, 2), "lengths do not increase"),
        (["0101"], (0, 4), "lengths do not increase"),
        (["0101"], (), "lengths do not increase"),
        ([0.5], (2,), "floating-point"),
    ],
)
def test_bad_codes(codes, lengths, message):
    with pytest.raises(InputError, match=message):
        levels_from_prefixes(codes, lengths)
