"""What adapters share about problems: what numbers count from, how large they may get, where to start."""

from __future__ import annotations

from typing import Literal

import numpy as np

from pgsr.errors import InputError
from pgsr.levelorder import region_chunks, sum_children
from pgsr.models.forms.matrix import near_origin
from pgsr.models.forms.program import Program
from pgsr.models.problem import Float64, Int64, Problem, RegionError
from pgsr.solvers.base import SolveOptions
from pgsr.solvers.relaxation import guess

Form = Literal["segments", "squares"]
"""How squares of integers are stated to a back end that takes them in both ways."""


def known_form(form: Form) -> Form:
    """`form`; InputError if it is none."""
    if form not in ("segments", "squares"):
        raise InputError(f"unknown form '{form}'", "form", "use segments or squares")
    return form


def exact_origin(problem: Problem, options: SolveOptions) -> Int64:
    """The whole table (R, N) from which a solver with relative tolerances is given its numbers.

    Squares of integer problems: the rounded relaxation, near which the optimum's squares are 0 or 1, so that
    a tolerance relative to them is far below one unit. Else the target inside the bounds.
    """
    if not problem.integer or problem.loss == "l1":
        return near_origin(problem)
    return np.rint(guess(problem, options).table).astype(np.int64)


def whole_start(options: SolveOptions) -> Int64 | None:
    """The whole table (R, N) nearest to the one to start from, if there is one."""
    return None if options.start is None else np.rint(options.start).astype(np.int64)


def entries_point(program: Program, start: Float64 | Int64) -> Float64:
    """The point (n,) of a program of `matrix_form` at the table `start` (R, N)."""
    problem = program.problem
    table = np.rint(start) if problem.integer else np.asarray(start, dtype=np.float64)
    z = (table - program.origin).astype(np.float64).ravel()
    if problem.loss == "l2":
        return z
    above = (table - problem.target).astype(np.float64).ravel()
    return np.concatenate([z, np.maximum(above, 0.0), np.maximum(-above, 0.0)])


def largest_moves(problem: Problem) -> Float64:
    """How far (R,) a table must move from the target in each region: to its bounds, and to add up (or climb).

    In units, at least; what tolerances relative to squares or costs have to be measured against.
    """
    origin = near_origin(problem).astype(np.float64)
    moves = np.asarray(np.abs(origin - problem.target).max(axis=1))
    inner = problem.inner()
    for first, last in region_chunks(problem.child_start):
        gaps = np.abs(origin[first:last] - sum_children(problem.child_start, origin, first, last)).max(axis=1)
        moves[first:last] = np.maximum(moves[first:last], np.where(inner[first:last], gaps, 0.0))
    held = origin[0, -1] if problem.cumulative else origin[0].sum()
    moves[0] = max(moves[0], abs(problem.total - held))
    if problem.cumulative and problem.width > 1:
        moves = np.maximum(moves, -np.diff(origin, axis=1).min(axis=1))
    return moves


def refuse_large_moves(problem: Problem, solver: str, limit: float, *, weighted: bool) -> None:
    """Raise RegionError naming the region that is furthest from a table, if it is more than `limit` away.

    `weighted`: distances count by the region's weight over the smallest positive one.
    """
    moves = largest_moves(problem)
    if weighted:
        weights = problem.region_weights
        moves = moves * (weights / weights[weights > 0].min())
    row = int(np.argmax(moves))
    if moves[row] > limit:
        raise RegionError(
            f"noisy counts are {moves[row]:.3g} away from any table, and solver '{solver}', with its "
            f"relative tolerances, is exact up to {limit:.0g}",
            row,
            "use proximity, or scale weights and counts down",
        )


def refuse_many_squares(problem: Problem, solver: str, limit: int, trouble: str) -> None:
    """Raise InputError if `problem` is a relaxation with more than `limit` squares: then `trouble` begins."""
    if not problem.integer and problem.loss == "l2" and problem.target.size > limit:
        raise InputError(
            f"{trouble} beyond {limit} entries, here are {problem.target.size}",
            f"solver {solver}",
            "use piqp",
        )


def refuse_large_total(problem: Problem, solver: str, limit: int, trouble: str) -> None:
    """Raise InputError if the total is above `limit`: then `trouble` begins."""
    if problem.total > limit:
        raise InputError(
            f"{trouble} for totals above {limit}, here {problem.total}",
            f"solver {solver}",
            "use window or scip",
        )
