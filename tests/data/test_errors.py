"""Messages stay on one line and cannot move the terminal's cursor."""

from __future__ import annotations

import pickle

import pytest

from pgsr.errors import BudgetError, InputError, one_line


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a\n b\t\tc", "a b c"),
        ("\x1b[31mred", "\\x1b[31mred"),
        ("région 서울", "région 서울"),
        ("half \ud800", "half \\ud800"),
    ],
)
def test_one_line(text, line):
    assert one_line(text) == line


def test_parts_survive_pickling():
    error = pickle.loads(pickle.dumps(BudgetError("too\nmuch", "ledger", "ask for less")))
    assert isinstance(error, InputError)
    assert str(error) == "too much: ledger: ask for less"
