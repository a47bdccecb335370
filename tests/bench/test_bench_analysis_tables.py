"""Tables as data and as files: nothing gets lost on the way to CSV, LaTeX, Markdown."""

from __future__ import annotations

import csv
import io
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pgsr.bench.analysis.tabledata import TableColumn, make_table, shown
from pgsr.bench.analysis.writers import csv_text, latex, latex_text, markdown, write_tables
from pgsr.errors import InputError

COLUMNS = (
    TableColumn(name="method", title="method", form="text"),
    TableColumn(name="solve_s", title="time", unit="s"),
    TableColumn(name="share", title="share", form="share"),
    TableColumn(name="proven", title="proven", form="yes"),
)


def table(*rows, notes=()):
    return make_table("t_1", "A & B", "100 % of it", COLUMNS, rows, notes)


@pytest.mark.parametrize(
    ("cell", "form", "text"),
    [
        (None, "real", ""),
        (float("nan"), "real", ""),
        (float("inf"), "real", "∞"),
        (0.0, "real", "0"),
        (0.012345, "real", "0.0123"),
        (3.2e-13, "real", "3.2e-13"),
        (999.4, "real", "999"),
        (1234.6, "real", "1,235"),
        (12345678, "real", "12,345,678"),
        (-0.5, "real", "-0.5"),
        (10**15 + 1, "whole", "1,000,000,000,000,001"),
        (0.5, "share", "50.0 %"),
        (0, "share", "0 %"),
        (1.0, "share", "100 %"),
        (0.9996, "share", "99.96 %"),
        (0.0004, "share", "0.04 %"),
        (1e-9, "share", "< 0.001 %"),
        (1 - 1e-9, "share", "> 99.999 %"),
        (-0.2, "share", "-20.0 %"),
        (0.0004, "p", "< 0.001"),
        (0.0496, "p", "0.050"),
        (1.00042, "ratio", "1.000"),
        (0.9512, "ratio", "0.951"),
        (123.4, "ratio", "123"),
        (0.00123, "ratio", "0.00123"),
        (True, "yes", "yes"),
        (False, "text", "no"),
    ],
)
def test_cells_for_people(cell, form, text):
    assert shown(cell, form) == text


def test_rows_by_name_and_by_place():
    found = table({"method": "a", "share": 0.5}, ("b", 1.0, None, True))
    assert found.rows == (("a", None, 0.5, None), ("b", 1.0, None, True))
    assert found.records()[1] == {"method": "b", "solve_s": 1.0, "share": None, "proven": True}
    assert found.column("solve_s") == [None, 1.0]
    assert found.only("share", "method").rows == ((0.5, "a"), (None, "b"))
    assert found
    assert not table()
    assert table(notes=["x", "x", "y"]).notes == ("x", "y")


def test_rows_that_do_not_fit_are_refused():
    with pytest.raises(InputError, match=r"2 cells for 4 columns.*row 1"):
        table(("a", 1.0))
    with pytest.raises(InputError, match="no column 'speed'"):
        table({"speed": 1})
    with pytest.raises(InputError, match="no column 'speed'"):
        table().column("speed")
    with pytest.raises(InputError, match="same name"):
        make_table("t", "", "", (*COLUMNS, COLUMNS[0]), ())


@given(
    st.text(st.characters(exclude_categories=["C", "Z"])),
    st.floats(allow_nan=False) | st.none(),
    st.integers() | st.none(),
    st.booleans() | st.none(),
)
def test_csv_keeps_all_digits(method, time, share, proven):
    rows = list(csv.reader(io.StringIO(csv_text(table((method, time, share, proven))), newline="")))
    assert rows[0] == ["method", "solve_s", "share", "proven"]
    found = rows[1]
    assert found[0] == method
    assert (float(found[1]) if found[1] else None) == time
    assert (int(found[2]) if found[2] else None) == share
    assert found[3] == {True: "true", False: "false", None: ""}[proven]


def test_markdown():
    text = markdown(table(("a|b", 0.5, 1, None), notes=["One run left out."]), heading=3)
    lines = text.splitlines()
    assert lines[0] == "### A & B"
    assert "| method | time (s) | share | proven |" in lines
    assert r"| a\|b | 0.5 | 100 % |  |" in lines
    assert lines[-1] == "One run left out."
    assert len(markdown(table(("two\nlines\r", 0.5, 1, None))).splitlines()) == 5


def test_latex_by_hand():
    text = latex(
        table(("us:scale=1_0", -1234.5, 0.25, True), ("[b]", 3e-13, None, None), notes=["100 % & more"])
    )
    assert r"\caption{A \& B. 100 \% of it}" in text
    assert r"\label{tab:t-1}" in text
    assert r"\begin{tabular}{lrrl}" in text
    assert [text.count(rule) for rule in (r"\toprule", r"\midrule", r"\bottomrule")] == [1, 1, 1]
    assert r"method & time (s) & share & proven \\" in text
    assert r"us:scale=1\_0 & $-$1{,}234 & 25.0 \% & yes \\" in text
    assert r"{}[b] & $3 \times 10^{-13}$ &  &  \\" in text
    assert r"100 \% \& more" in text
    assert r"\label{fig:x}" in latex(table(), label="fig:x")


@given(st.text(alphabet=st.characters(codec="ascii", exclude_categories=["Cc"])))
def test_latex_text_has_no_command_of_the_readers(text):
    escaped = latex_text(text)
    named = "textbackslash|textasciitilde|textasciicircum|textless|textgreater|textbar|textquotedbl"
    rest = re.sub(rf"\\({named})\{{\}}|\\[&%$#_{{}}]", "", escaped)
    assert not re.search(r'[\\&%$#_{}~^<>|"]', rest)
    assert sum(map(str.isalnum, rest)) == sum(map(str.isalnum, text))


def test_tables_in_a_folder(tmp_path):
    paths = write_tables([table(("a", 1.0, 0, None))], tmp_path / "deep" / "tables")
    assert [path.name for path in paths] == ["t_1.csv", "t_1.tex"]
    assert paths[0].read_text() == "method,solve_s,share,proven\na,1.0,0,\n"
