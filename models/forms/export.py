"""A problem as a file that other solvers read: MPS (free format) or LP, by the ending of the name.

Columns and rows carry region codes and sizes: `x.01.3` is size 3 of region 01. The names hold letters,
digits, `.` and `_` alone, since readers differ in what else they take: any other character of a code is
written `_hex_`. The constant of the objective is a column `constant` fixed at 1, which all readers add.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, TextIO

import numpy as np

from pgsr.atomic import atomic_path
from pgsr.errors import InputError
from pgsr.models.forms.matrix import matrix_form
from pgsr.models.forms.piecewise import Windows, piecewise_form
from pgsr.models.forms.program import Program
from pgsr.models.instance import Instance
from pgsr.models.problem import Int64, Problem

MOST_SEGMENTS = 1_000_000
"""Unit segments up to which a piecewise-linear program is written."""

REACH = 4
"""Units that windows reach beyond the noisy and the optimal table on either side."""

ENDINGS = (".mps", ".lp")

LONGEST = 150
"""Characters of a region's code in a name; longer ones are cut and told apart by their row."""

CONSTANT = "constant"


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """Size of the program in a file: `integers` of its `columns` are integer, one is the constant."""

    rows: int
    columns: int
    nonzeros: int
    integers: int


def write_program(
    given: Instance | Problem,
    path: str | os.PathLike[str],
    form: Literal["qp", "pwl"] = "qp",
    known: Int64 | None = None,
    *,
    proven: bool = False,
) -> Written:
    """Write a program whose optimum is the problem's; the file appears whole or not at all.

    `qp`: columns `x.region.size`, integer if the problem is; squares in the objective, or for absolute
    values columns `excess` and `shortfall`. `pwl`: columns `step.region.size.value`, from `value` to `value +
    1`; an entry is its smallest value plus its steps (plus `free.region.size` where there is no weight), and
    the objective equals the loss at whole tables. A `Problem` has rows and places for names. `known` (R, N),
    any feasible whole table, leaves out the steps that no table as good as it can take; the better it is, the
    fewer remain. If these are too many and it is `proven` optimal, only the steps near it and the target
    remain (`proven_windows`): the optimum is the same, other tables as good may be missing. Raises
    InputError for another ending or form, an infeasible `known`, and more than `MOST_SEGMENTS` steps.
    """
    target = Path(path)
    if target.suffix not in ENDINGS:
        raise InputError("unknown kind of program", str(path), f"end its name in {' or '.join(ENDINGS)}")
    problem = given.problem if isinstance(given, Instance) else given
    if form == "qp":
        program = matrix_form(problem)
    elif form == "pwl":
        windows = Windows.whole(problem) if known is None else as_good_windows(problem, known)
        if proven and known is not None and windows.segments > MOST_SEGMENTS:
            windows = proven_windows(problem, known)
        needed = windows.segments
        if needed > MOST_SEGMENTS:
            raise InputError(
                f"{needed:,.0f} unit segments are more than the {MOST_SEGMENTS:,} that are written",
                "form pwl",
                "use qp, or bounds" if known is not None else "use qp, bounds, or a known table",
            )
        program = piecewise_form(problem, windows)
    else:
        raise InputError(f"unknown form '{form}'", "form", "use qp or pwl")
    columns, rows = _names(program, given)
    write = _write_mps if target.suffix == ".mps" else _write_lp
    with atomic_path(target) as temporary, temporary.open("w", encoding="ascii") as file:
        write(program, columns, rows, file)
    return Written(
        rows=program.rows,
        columns=program.columns + 1,
        nonzeros=int(program.matrix.nnz),
        integers=int(program.integer.sum()),
    )


def as_good_windows(problem: Problem, known: Int64) -> Windows:
    """Windows that hold every table whose loss is at most that of `known`, a feasible whole table (R, N).

    An entry alone can cost no more than what `known` costs less the least that all others cost. One more on
    either side, so that this holds between whole numbers too.
    """
    if not np.issubdtype(known.dtype, np.integer) or max(problem.violations(known).values()) > 0:
        raise InputError("the known table is not a feasible table of integers", "known")
    whole = Windows.whole(problem)
    nearest = np.clip(problem.target, whole.low, whole.high)
    spare = float(problem.exact_objective(known) - problem.exact_objective(nearest)) * (1 + 1e-9)
    gap = np.abs((nearest - problem.target).astype(np.float64))
    weight = problem.region_weights[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        reach = np.sqrt(spare / weight + gap**2) if problem.loss == "l2" else spare / weight + gap
    far = np.where(weight > 0, np.minimum(np.ceil(reach * (1 + 1e-9)) + 1, 2.0**54), 2.0**54)
    steps = far.astype(np.int64)
    return replace(
        whole,
        low=np.clip(problem.target - steps, whole.low, whole.high),
        high=np.clip(problem.target + steps, whole.low, whole.high),
    )


def proven_windows(problem: Problem, best: Int64) -> Windows:
    """Windows that hold an optimal table `best` (R, N), the values nearest to the target, and `REACH` more.

    Since `best` is inside, a program of whole tables in them has the problem's optimum. Raises InputError for
    a relaxation, which may be better outside, and for a `best` that is not feasible.
    """
    if not problem.integer:
        raise InputError("a table proven optimal is one of integers", "known", "leave proven out")
    if not np.issubdtype(best.dtype, np.integer) or max(problem.violations(best).values()) > 0:
        raise InputError("the known table is not a feasible table of integers", "known")
    whole = Windows.whole(problem)
    nearest = np.clip(problem.target, whole.low, whole.high)
    free = problem.region_weights[:, None] == 0
    return whole.between(
        np.where(free, whole.low, np.minimum(nearest, best) - REACH),
        np.where(free, whole.high, np.maximum(nearest, best) + REACH),
    )


def safe_names(codes: list[str]) -> list[str]:
    """Region codes as parts of names, different for different codes: see the module."""
    found = [re.sub(r"[^A-Za-z0-9]", lambda match: f"_{ord(match[0]):x}_", code) for code in codes]
    # No other name holds a dot.
    return [name if len(name) <= LONGEST else f"{name[:LONGEST]}.row{row}" for row, name in enumerate(found)]


def _names(program: Program, given: Instance | Problem) -> tuple[list[str], list[str]]:
    """Names of columns and rows, in their order."""
    problem, width = program.problem, program.problem.width
    if isinstance(given, Instance):
        regions = safe_names([str(code) for code in given.hierarchy.ids])
        sizes = [str(size) for size in given.sizes.tolist()]
    else:
        regions = [str(row) for row in range(problem.regions)]
        sizes = [str(place) for place in range(width)]
    entries = [f"{region}.{size}" for region in regions for size in sizes]
    if program.segments is not None:
        place, free = np.split(program.entry, [program.segments])
        count = np.bincount(place, minlength=len(entries))
        value = np.arange(place.size) + np.repeat(program.origin.ravel() - np.cumsum(count) + count, count)
        columns = [f"step.{entries[p]}.{v}" for p, v in zip(place.tolist(), value.tolist(), strict=True)]
        columns += [f"free.{entries[p]}" for p in free.tolist()]
    else:
        kinds = ("x", "excess", "shortfall")[: program.columns // len(entries)]
        columns = [f"{kind}.{entry}" for kind in kinds for entry in entries]
    inner = np.flatnonzero(problem.inner()).tolist()
    rows = [f"consistency.{regions[r]}.{size}" for r in inner for size in sizes]
    rows.append("total")
    if problem.cumulative and width > 1:
        rows += [f"monotone.{region}.{size}" for region in regions for size in sizes[1:]]
    if len(rows) < program.rows:
        rows += [f"deviation.{entry}" for entry in entries]
    return columns, rows


def number(value: float) -> str:
    """The shortest text that reads back as the same float64."""
    return str(int(value)) if value == int(value) and abs(value) < 2**62 else repr(float(value))


def _numbers(values: np.ndarray[tuple[int], np.dtype[np.float64]]) -> list[str]:
    return [number(value) for value in values.tolist()]


def _write_mps(program: Program, columns: list[str], rows: list[str], file: TextIO) -> None:
    """Free MPS: integer columns between markers, all bounds stated, `QUADOBJ` for 1/2 z'Qz."""
    equal = (program.row_lower == program.row_upper).tolist()
    file.write("NAME pgsr\nROWS\n N loss\n")
    file.writelines(f" {'E' if e else 'G'} {name}\n" for e, name in zip(equal, rows, strict=True))
    file.write("COLUMNS\n")
    matrix = program.matrix
    ends, places, values = matrix.indptr.tolist(), matrix.indices.tolist(), _numbers(matrix.data)
    costs = _numbers(program.linear)
    whole = False
    for j, (name, kind) in enumerate(zip(columns, program.integer.tolist(), strict=True)):
        if kind != whole:
            file.write(f" MARKER 'MARKER' '{'INTORG' if kind else 'INTEND'}'\n")
            whole = kind
        if costs[j] != "0" or ends[j] == ends[j + 1]:
            file.write(f" {name} loss {costs[j]}\n")
        file.writelines(f" {name} {rows[places[k]]} {values[k]}\n" for k in range(ends[j], ends[j + 1]))
    if whole:
        file.write(" MARKER 'MARKER' 'INTEND'\n")
    file.write(f" {CONSTANT} loss {number(program.constant)}\nRHS\n")
    right = _numbers(program.row_lower)
    file.writelines(f" RHS {name} {value}\n" for name, value in zip(rows, right, strict=True) if value != "0")
    file.write("BOUNDS\n")
    for name, low, high in _bounds(program, columns):
        if low == high:
            file.write(f" FX BOUND {name} {low}\n")
            continue
        if low != "0":
            file.write(f" LO BOUND {name} {low}\n")
        if high != "inf":
            file.write(f" UP BOUND {name} {high}\n")
    if program.quadratic_objective:
        file.write("QUADOBJ\n")
        file.writelines(f" {name} {name} {twice}\n" for name, twice in _squares(program, columns))
    file.write("ENDATA\n")


def _write_lp(program: Program, columns: list[str], rows: list[str], file: TextIO) -> None:
    """LP: squares in `[ ... ] / 2`; a term a line in the objective, six in the rows."""
    file.write("Minimize\n loss:\n")
    file.writelines(
        f" {_signed(cost)} {name}\n"
        for name, cost in zip(columns, _numbers(program.linear), strict=True)
        if cost != "0"
    )
    file.write(f" {_signed(number(program.constant))} {CONSTANT}\n")
    if program.quadratic_objective:
        # Without blanks round ^: SCIP's reader takes no others.
        file.write(" + [\n")
        file.writelines(f" + {twice} {name}^2\n" for name, twice in _squares(program, columns))
        file.write(" ] / 2\n")
    file.write("Subject To\n")
    matrix = program.matrix.tocsr()
    ends, places, values = matrix.indptr.tolist(), matrix.indices.tolist(), _numbers(matrix.data)
    equal = (program.row_lower == program.row_upper).tolist()
    for i, (name, right) in enumerate(zip(rows, _numbers(program.row_lower), strict=True)):
        terms = [f"{_signed(values[k])} {columns[places[k]]}" for k in range(ends[i], ends[i + 1])]
        if not terms:
            terms = [f"0 {CONSTANT}"]  # a row must not be empty
        lines = [" ".join(terms[k : k + 6]) for k in range(0, len(terms), 6)]
        file.write(f" {name}: " + "\n  ".join(lines) + f" {'=' if equal[i] else '>='} {right}\n")
    file.write("Bounds\n")
    for name, low, high in _bounds(program, columns):
        if low == high:
            file.write(f" {name} = {low}\n")
        elif high != "inf":
            file.write(f" {low} <= {name} <= {high}\n")
        elif low != "0":
            file.write(f" {name} >= {low}\n")
    if program.integer.any():
        file.write("Generals\n")
        file.writelines(f" {columns[j]}\n" for j in np.flatnonzero(program.integer).tolist())
    file.write("End\n")


def _signed(text: str) -> str:
    """A coefficient with its sign apart, as terms are written in LP files."""
    return f"- {text[1:]}" if text.startswith("-") else f"+ {text}"


def _bounds(program: Program, columns: list[str]) -> Iterator[tuple[str, str, str]]:
    """Name, lower and upper bound of every column, the constant last."""
    for name, low, high in zip(columns, program.lower.tolist(), program.upper.tolist(), strict=True):
        yield name, number(low), "inf" if high == np.inf else number(high)
    yield CONSTANT, "1", "1"


def _squares(program: Program, columns: list[str]) -> Iterator[tuple[str, str]]:
    """Columns with a square, and twice its factor: both formats state half of the quadratic part."""
    for j in np.flatnonzero(program.quadratic).tolist():
        yield columns[j], number(2.0 * float(program.quadratic[j]))
