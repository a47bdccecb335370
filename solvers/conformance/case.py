"""What a conformance case is."""

from __future__ import annotations

from dataclasses import dataclass

from pgsr.models.problem import Problem


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Case:
    """One problem with its optimum.

    `optimum`: an int or the nearest float; None if there is no table at all. `precision`: absolute error of
    `optimum` (published values are rounded). `piecewise`: optimum of the linear program of unit segments,
    where it is known. `tags`: what special checks the case is for. `twin`: a case that differs in
    the targets alone. `quick`: not part of the long tail.
    """

    name: str
    problem: Problem
    optimum: int | float | None
    precision: float = 0.0
    piecewise: float | None = None
    tags: frozenset[str] = frozenset()
    twin: Case | None = None
    quick: bool = True
