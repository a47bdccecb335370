import numpy as np
import pytest

from pgsr.datasets import DATASETS, describe, korea_imputed, korea_names, load_flights, load_korea_households
from pgsr.errors import InputError


def test_korea():
    data = load_korea_households()
    tree = data.hierarchy
    assert tree.level_names == ("nation", "province", "district", "dong")
    assert np.diff(tree.level_start).tolist() == [1, 17, 250, 3489]
    assert tree.ids[0] == "KR"
    assert data.sizes.tolist() == [1, 2, 3, 4, 5, 6, 7]
    assert data.check(20_912_350) == ()
    # By hand, from the first row of the source, and its codes are prefixes.
    assert data.counts[tree.index("1101053")].tolist() == [[1487, 1073, 701, 432, 112, 28, 6]]
    for child, parent in zip(tree.ids[18:].tolist(), tree.parent[18:].tolist(), strict=True):
        assert child.startswith(tree.ids[parent])


def test_imputed_cells_of_korea():
    data, imputed = load_korea_households(), korea_imputed()
    assert imputed.shape == data.counts.shape
    assert imputed.dtype == np.bool_
    assert imputed.sum() == 1324
    assert not imputed[: data.hierarchy.leaves[0]].any()
    assert data.counts[imputed].max() == 4


def test_names_of_korea():
    names, tree = korea_names(), load_korea_households().hierarchy
    assert set(names) == set(tree.ids.tolist())
    assert names["11"] == "Seoul"
    assert names["KR"] == "Korea"
    assert [code for code, name in names.items() if code == name] == ["3125051", "3125052", "3125053"]


def test_flights():
    data = load_flights()
    tree = data.hierarchy
    assert tree.level_names == ("all", "origin", "carrier", "month")
    assert np.diff(tree.level_start).tolist() == [1, 3, 35, 399]
    assert data.sizes.tolist() == list(range(1, 94))
    assert data.check(59_880) == ()
    assert (data.counts[0] * data.sizes).sum() == 334_264
    assert tree.index(["EWR", "EWR/UA", "EWR/UA/01"]).min() > 0
    assert load_flights().hierarchy.digest() == tree.digest()


def test_descriptions():
    for name, entry in DATASETS.items():
        assert describe(name) is entry
        assert entry.name == name
        assert all((entry.title, entry.source, entry.licence, entry.citation, entry.notes))
    with pytest.raises(
        InputError, match="unknown data set 'x': datasets: there are korea-households, flights"
    ):
        describe("x")


def test_the_tool_writes_the_packaged_files(tmp_path, monkeypatch):
    import gzip
    import importlib.util
    from pathlib import Path

    path = Path(__file__).parents[2] / "tools" / "make_datasets.py"
    if not path.exists():
        pytest.skip("tools are not part of the package")
    spec = importlib.util.spec_from_file_location("make_datasets", path)
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    korea = (
        "adm1_code,adm1,adm2_code,adm2,adm3_code,adm3,h1,h2,h3,h4,h5,h6,h7p\n11,S,111,T,1112,,1,2,3,4,5,6,7\n"
    )
    flights = "origin,carrier,month,tailnum,flights\nEWR,UA,2,N1,10\nEWR,UA,2,N2,9\n"
    for name, text in (("k", korea), ("f", flights)):
        (tmp_path / name).write_bytes(gzip.compress(text.encode()))
    monkeypatch.setattr(tool, "DATA", tmp_path)
    monkeypatch.setattr("sys.argv", ["x", "--korea", str(tmp_path / "k"), "--flights", str(tmp_path / "f")])
    tool.main()

    def unpack(name):
        return gzip.decompress((tmp_path / name).read_bytes()).decode()

    assert unpack("korea_households.csv.gz").splitlines() == [
        "province,district,dong,1,2,3,4,5,6,7",
        "11,111,1112,1,2,3,4,5,6,7",
    ]
    assert unpack("korea_names.csv.gz").splitlines()[1:] == ["11,S", "111,T", "1112,1112"]
    assert unpack("flights.csv.gz").splitlines()[1:] == ["EWR,UA,02,9", "EWR,UA,02,10"]
