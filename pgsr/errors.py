"""Exceptions: every failure that a caller can act on is a `PgsrError`.

No message carries a confidential value: files, columns, rows and regions are named, counts are not.
"""

from __future__ import annotations


def one_line(text: str) -> str:
    """Squeeze white space to single blanks and escape control characters, so that a message is one line."""
    squeezed = " ".join(str(text).split())
    if squeezed.isprintable():
        return squeezed
    return "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in squeezed)


class PgsrError(Exception):
    """Base of all exceptions raised on purpose by pgsr."""


class InputError(PgsrError, ValueError):
    """Input that cannot be used: `what` is wrong, `where` it is, and the `way_out`.

    `str(error)` is the one line ``what: where: way out``; empty parts are left out.
    The command line prints it and exits with 2.
    """

    def __init__(self, what: str, where: str = "", way_out: str = "") -> None:
        self.what = one_line(what)
        self.where = one_line(where)
        self.way_out = one_line(way_out)
        super().__init__(": ".join(part for part in (self.what, self.where, self.way_out) if part))

    def __reduce__(self) -> tuple[type[InputError], tuple[str, str, str]]:
        """Pickle by the three parts, so that the error crosses process boundaries whole."""
        return type(self), (self.what, self.where, self.way_out)


class BudgetError(InputError):
    """A charge that a privacy ledger refuses; nothing was drawn and nothing written."""


class SolverFault(PgsrError):
    """A fault inside a solver or its back end, raised `from` the original exception."""
