from collections import Counter

import numpy as np
import pytest

from pgsr.datasets import (
    DATASETS,
    describe,
    korea_imputed,
    korea_names,
    load_cps_incomes,
    load_flights,
    load_korea_households,
    write_cps_incomes,
)
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


def test_cps_incomes():
    data = load_cps_incomes()
    assert data.state.shape == data.income.shape == (74_194,)
    assert data.income.dtype == np.float64
    # Counted in the source with another program.
    assert data.income.sum() == 5_508_148_399
    assert (data.income == 0).sum() == 3_502
    assert data.income.min() == 0
    sizes = Counter(data.state.tolist())
    assert len(sizes) == 51
    assert {len(label) for label in sizes} == {2}
    assert "01" in sizes
    assert (min(sizes.values()), max(sizes.values())) == (804, 6_866)


def test_cps_incomes_as_a_file(tmp_path):
    from pgsr.tables import read_table

    write_cps_incomes(tmp_path / "incomes.csv")
    table, data = read_table(tmp_path / "incomes.csv"), load_cps_incomes()
    assert table.text("state").to_pylist() == data.state.tolist()
    assert table.integers("income").tolist() == data.income.tolist()


def test_descriptions():
    for name, entry in DATASETS.items():
        assert describe(name) is entry
        assert entry.name == name
        assert all((entry.title, entry.source, entry.licence, entry.citation, entry.notes))
    with pytest.raises(
        InputError, match="unknown data set 'x': datasets: there are korea-households, flights, cps-incomes"
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
    cps = (
        "hhid,fips,year,persons,income,wage,weight\n"
        "a,11,2014,1,5,0,1\nb,1,2014,1,70,0,1\nc,1,2014,1,0,0,1\nd,1,2014,1,-1,0,1\ne,1,2013,1,9,0,1\n"
    )
    for name, text in (("k", korea), ("f", flights), ("c", cps)):
        (tmp_path / name).write_bytes(gzip.compress(text.encode()))
    monkeypatch.setattr(tool, "DATA", tmp_path)
    words = [f"--{name}={tmp_path / name[0]}" for name in ("korea", "flights", "cps")]
    monkeypatch.setattr("sys.argv", ["x", *words])
    tool.main()

    def unpack(name):
        return gzip.decompress((tmp_path / name).read_bytes()).decode()

    assert unpack("korea_households.csv.gz").splitlines() == [
        "province,district,dong,1,2,3,4,5,6,7",
        "11,111,1112,1,2,3,4,5,6,7",
    ]
    assert unpack("korea_names.csv.gz").splitlines()[1:] == ["11,S", "111,T", "1112,1112"]
    assert unpack("flights.csv.gz").splitlines()[1:] == ["EWR,UA,02,9", "EWR,UA,02,10"]
    assert unpack("cps_incomes.csv.gz").splitlines() == ["state,income", "01,0", "01,70", "11,5"]
