import gzip
import traceback
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pgsr.errors import InputError
from pgsr.tables import Table, atomic_dir, atomic_path, read_table

CSV = "region,size\n007,1\n010,22\n"


def sources(tmp_path):
    """The same table in every form."""
    frame = pd.DataFrame({"region": ["007", "010"], "size": [1, 22]})
    (tmp_path / "t.csv").write_text(CSV)
    (tmp_path / "crlf.csv").write_bytes(b"\xef\xbb\xbf" + CSV.replace("\n", "\r\n").encode())
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(CSV.encode()))
    (tmp_path / "no_ending").write_bytes(gzip.compress(CSV.encode()))
    pq.write_table(pa.Table.from_pandas(frame), tmp_path / "t.parquet")
    return {
        "csv": tmp_path / "t.csv",
        "csv by name": str(tmp_path / "t.csv"),
        "csv of Windows": tmp_path / "crlf.csv",
        "csv.gz": tmp_path / "t.csv.gz",
        "by content": tmp_path / "no_ending",
        "parquet": tmp_path / "t.parquet",
        "pandas": frame,
        "pandas index": frame.set_index(pd.Index([5, 6])),
        "pandas category": frame.astype({"region": "category", "size": "Int64"}),
        "pandas floats": frame.astype({"size": float}),
        "polars": pl.DataFrame(frame),
        "pyarrow": pa.Table.from_pandas(frame),
        "batch": pa.RecordBatch.from_pandas(frame),
        "decimal": pa.table({"region": ["007", "010"], "size": [Decimal("1.0"), Decimal("22.0")]}),
        "uint64": pa.table({"region": ["007", "010"], "size": pa.array([1, 22], pa.uint64())}),
        "mapping": {"region": ["007", "010"], "size": np.array([1, 22])},
    }


def test_every_source_reads_the_same(tmp_path):
    for kind, source in sources(tmp_path).items():
        table = read_table(source)
        assert table.text("region").to_pylist() == ["007", "010"], kind
        assert table.integers("size").tolist() == [1, 22], kind
        assert table.integers("size").dtype == np.int64, kind
        assert table.rows == 2
        assert read_table(table) is table


def refused(call, message, *secrets):
    with pytest.raises(InputError, match=message) as caught:
        call()
    shown = "".join(traceback.format_exception(caught.value))
    last = shown.strip().splitlines()[-1]
    assert "pgsr.errors.InputError" in last
    for secret in secrets:
        assert secret not in str(caught.value)
        # The chain of causes, too, is free of cells.
        assert secret not in "".join(line for line in shown.splitlines() if "Error" in line)


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        ("98.76", "not a whole number"),
        ("abcxyz", "not a whole number"),
        ("12e34", "not a whole number"),
        ("0x98", "not a whole number"),
        ("nan", "not a whole number"),
        ("9876_0", "not a whole number"),
        ("", "missing value"),
        ("  ", "missing value"),
        ("-98765", "negative value"),
        ("98765", "value above 9999"),
        ("9007199254740993", "magnitude above 2\\^53"),
        ("-9007199254740993", "magnitude above 2\\^53"),
        ("99999999999999999999999999", "magnitude above 2\\^53"),
    ],
)
@pytest.mark.parametrize("packed", [False, True])
def test_bad_numbers_in_csv_are_named_by_line_and_never_shown(tmp_path, cell, message, packed):
    text = f"region,size\n007,1\n\n010,{cell}\n011,5\n"
    path = tmp_path / ("t.csv.gz" if packed else "t.csv")
    path.write_bytes(gzip.compress(text.encode()) if packed else text.encode())
    table = read_table(path)
    secrets = [cell] if len(cell.strip()) > 3 else []
    refused(
        lambda: table.integers("size", minimum=0, maximum=9999),
        f"{message}: .*{path.name}, column 'size', line 4",
        *secrets,
    )


def test_numbers_in_text_may_have_signs_zeros_and_blanks():
    table = read_table({"n": ["+5", "-0", " 0007 ", "3.0", "2.", "-12.00", "000000000000000000000000000001"]})
    assert table.integers("n").tolist() == [5, 0, 7, 3, 2, -12, 1]


def test_two_to_the_53_is_the_limit():
    for kind in (pa.int64(), pa.float64(), pa.uint64(), pa.decimal128(20, 0), pa.string()):
        values = pa.array([2**53]).cast(kind)
        assert read_table({"n": values}).integers("n").tolist() == [2**53]
        above = pa.array([2**53 + 2]).cast(kind, safe=False)
        refused(
            lambda column=above: read_table({"n": column}).integers("n"), "magnitude above", str(2**53 + 2)
        )
    refused(lambda: read_table({"n": pa.array([2**64 - 1], pa.uint64())}).integers("n"), "magnitude above")
    refused(lambda: read_table({"n": [float("inf")]}).integers("n"), "magnitude above")
    refused(lambda: read_table({"n": [-float("inf")]}).integers("n"), "magnitude above")


@pytest.mark.parametrize(
    ("column", "message"),
    [
        ([1, None], "missing value: table, column 'n', row 2"),
        ([1.0, float("nan")], "missing value: table, column 'n', row 2"),
        (pa.array([1.0, float("nan")]), "missing value: table, column 'n', row 2"),
        ([None, None], "missing value: table, column 'n', row 1"),
        ([1.0, 765.25], "not a whole number: table, column 'n', row 2"),
        ([Decimal("1.0"), Decimal("765.5")], "not a whole number: table, column 'n', row 2"),
        (["1", "x765"], "not a whole number: table, column 'n', row 2"),
        ([True, False], "column of type bool"),
        (pa.array(np.array([1, 2], np.float16)), "column of type halffloat: table, column 'n': give whole"),
        ([[1], [2]], "column of type list"),
        ([b"1", b"2"], "column of type binary"),
        (pa.array([1, -765], pa.int16()), "negative value: table, column 'n', row 2"),
    ],
)
def test_bad_columns_of_numbers(column, message):
    refused(lambda: read_table({"n": column}).integers("n", minimum=0), message, "765")


def test_mixed_columns_are_refused_without_showing_cells():
    frame = pd.DataFrame({"n": [1, "secret", object()]})
    refused(lambda: read_table(frame), "mixed or unknown types: table, column 'n'", "secret")
    refused(lambda: read_table({"n": [1, "secret"]}), "mixed or unknown types: table, column 'n'", "secret")


@pytest.mark.parametrize("bad", ["\x1b[2J", "a\x07", "\x7f", "\x85", "a\rb", "\0"])
def test_control_characters_in_codes_are_refused(bad):
    """A terminal that shows them obeys them; letters of other scripts are none."""
    table = read_table({"fine": ["é", "a\tb", "c\nd", "ÿ\u0100"], "bad": ["a", "b", bad, "d"]})
    assert table.text("fine").to_pylist() == ["é", "a\tb", "c\nd", "ÿ\u0100"]
    refused(lambda: table.text("bad"), "control character in a code: table, column 'bad', row 3")
    refused(lambda: table.text("bad", empty=True), "control character in a code")


def test_codes():
    table = read_table({"a": ["x", None], "b": ["x", ""], "c": [1.0, 2.0], "d": [7, 8]})
    refused(lambda: table.text("a"), "missing code: table, column 'a', row 2")
    refused(lambda: table.text("b"), "missing code: table, column 'b', row 2")
    refused(lambda: table.text("c"), "floating-point.*table, column 'c'")
    assert table.text("a", empty=True).to_pylist() == ["x", None]
    assert table.text("d").to_pylist() == ["7", "8"]


def test_missing_column_lists_those_there():
    table = read_table({"a": [1], "b": [2]}, name="units")
    refused(lambda: table.integers("c"), "no column 'c': units: columns are 'a', 'b'")


def test_quoted_line_breaks_count_as_lines(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text('region,size\n"a\nb",1\n"c\nd",x\n')
    refused(lambda: read_table(path).integers("size"), "line 4")
    assert read_table(path).text("region").to_pylist() == ["a\nb", "c\nd"]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("t.csv", b"", "empty file"),
        ("t.csv", b"\n\n", "no header in line 1"),
        ("t.csv", b"a,a\n1,2\n", "columns of the same name.*line 1"),
        ("t.csv", b"a,b\n1,2\n777,888,999\n", "3 cells for 2 columns.*line 3"),
        ("t.csv", b"a,b\n1,2\n777\n", "1 cells for 2 columns.*line 3"),
        ("t.csv", b"a,b\n1,777\xff\n", "cannot be read as CSV in UTF-8"),
        ("t.csv", b"a\xff,b\n1,777\n", "cannot be read as CSV in UTF-8"),
        ("t.csv.gz", gzip.compress(b"a,b\n" + b"1,777\n" * 5000, mtime=0)[:-20], "cannot be read as CSV"),
        ("t.csv.gz", b"\x1f\x8bnonsense", "cannot be read as CSV"),
        ("t.parquet", b"PAR1nonsense", "cannot be read as Parquet"),
        ("t.parquet", b"a,b\n1,2\n", "not a Parquet file"),
    ],
)
def test_files_that_cannot_be_read(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    refused(lambda: read_table(tmp_path / name), message, "777")


def test_float16_in_a_file_or_frame_is_refused_in_one_line(tmp_path):
    frame = pd.DataFrame({"n": np.array([1, 765], np.float16)})
    pq.write_table(pa.Table.from_pandas(frame), tmp_path / "t.parquet")
    refused(lambda: read_table(frame).integers("n"), "of type halffloat: table, column 'n'", "765")
    refused(lambda: read_table(tmp_path / "t.parquet").integers("n"), "halffloat: .*t.parquet, column 'n'")
    refused(lambda: read_table(frame).text("n"), "floating-point.*table, column 'n'", "765")


def test_parquet_with_two_columns_of_one_name(tmp_path):
    pq.write_table(pa.table([[1], [2]], names=["a", "a"]), tmp_path / "t.parquet")
    refused(lambda: read_table(tmp_path / "t.parquet"), "columns of the same name 'a': .*t.parquet")


def test_control_characters_of_names_are_not_echoed():
    for call in (lambda t: t.column("b"), lambda t: t.integers("a\x1b[2J")):
        with pytest.raises(InputError) as caught:
            call(read_table({"a\x1b[2J": ["x"]}))
        assert str(caught.value).isprintable()


def test_header_alone_is_a_table_without_rows(tmp_path):
    (tmp_path / "t.csv").write_text("region,size\n")
    table = read_table(tmp_path / "t.csv")
    assert table.rows == 0
    assert table.integers("size").tolist() == []
    assert table.text("region").to_pylist() == []


def test_what_is_no_file_or_table(tmp_path):
    refused(lambda: read_table(tmp_path / "none.csv"), "file not found: .*none.csv")
    refused(lambda: read_table(tmp_path), "cannot be read")
    refused(lambda: read_table("a\0b"), "cannot be read")
    refused(lambda: read_table(5), "cannot read a table from int")
    refused(lambda: read_table([1, 2]), "cannot read a table from list")
    refused(lambda: read_table(pd.Series([1, 2])), "not a table")
    refused(lambda: read_table(pl.Series([1, 2])), "cannot be read as a table")
    refused(lambda: read_table(pa.table([[1], [2]], names=["a", "a"])), "columns of the same name")
    refused(lambda: read_table(pd.DataFrame([[1, 2]], columns=["a", "a"])), "columns of the same name")
    refused(lambda: read_table({"a": [1], "b": [1, 2]}), "unequal length: table, column 'b'")


def test_repr_shows_no_cell():
    assert repr(Table(source="s", columns={"n": pa.array([765])})) == "Table('s', 1 rows, columns ['n'])"


def half_written(path, failure):
    path.write_text("half")
    raise failure


def test_atomic_path(tmp_path):
    target = tmp_path / "out.parquet"
    target.write_text("old")
    with atomic_path(target) as path:
        assert path.parent == tmp_path
        assert path.suffix == ".parquet"
        path.write_text("new")
        assert target.read_text() == "old"
    assert target.read_text() == "new"
    for failure in (KeyboardInterrupt, RuntimeError):
        with pytest.raises(failure), atomic_path(target) as path:
            half_written(path, failure)
    assert target.read_text() == "new"
    assert [p.name for p in tmp_path.iterdir()] == ["out.parquet"]


def test_atomic_path_in_bad_places(tmp_path):
    with pytest.raises(InputError, match="folder not found"), atomic_path(tmp_path / "no" / "x"):
        pass
    with pytest.raises(InputError, match="is a folder"), atomic_path(tmp_path):
        pass


def test_atomic_dir(tmp_path):
    target = tmp_path / "out"
    with pytest.raises(KeyboardInterrupt), atomic_dir(target) as folder:
        half_written(folder / "a", KeyboardInterrupt)
    assert list(tmp_path.iterdir()) == []
    target.mkdir()
    with atomic_dir(target) as folder:
        (folder / "sub").mkdir()
        (folder / "sub" / "a").write_text("whole")
        assert list(target.iterdir()) == []
    assert (target / "sub" / "a").read_text() == "whole"
    with pytest.raises(InputError, match="exists already"), atomic_dir(target):
        pass
    assert [p.name for p in tmp_path.iterdir()] == ["out"]


def test_quoted_line_breaks_anywhere_in_a_long_file(tmp_path):
    # Longer than the blocks in which the file is read: some block ends inside a cell.
    path = tmp_path / "t.csv"
    cell = '"' + "a,b\n" * 12 + '"'
    path.write_text("region,size\n" + f"{cell},1\n" * 50_000)
    assert read_table(path).integers("size").sum() == 50_000
