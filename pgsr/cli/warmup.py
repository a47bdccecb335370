"""`pgsr warmup`: compile what is compiled at first use, so that later commands start at once."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pgsr.cli.options import Json
from pgsr.cli.output import Progress, bars, emit, line

if TYPE_CHECKING:
    from pgsr.models.problem import Problem

_OURS = "pgsr.solvers.native"


def warmup(as_json: Json = False) -> None:
    """Compile all kernels: native solvers on tiny problems of every kind, and both noise laws."""
    import time

    started = time.perf_counter()
    with bars() as report:
        _noise(report)
        solved = _solvers(report)
    record = {"solved": solved, "seconds": round(time.perf_counter() - started, 3)}
    if as_json:
        emit(record)
    else:
        line(f"kernels are compiled: {solved} tiny problems solved in {record['seconds']:.1f} s")


def _noise(report: Progress | None) -> None:
    """Draw from both laws, with scales for every kind of sampler."""
    from fractions import Fraction

    from pgsr.noise import DiscreteGaussian, DiscreteLaplace, NoiseLaw, SeededBits

    laws: list[NoiseLaw] = [
        DiscreteLaplace(scale=Fraction(8)),
        DiscreteLaplace(scale=Fraction(10**5)),
        DiscreteGaussian(sigma2=Fraction(8)),
        DiscreteGaussian(sigma2=Fraction(10**8)),
    ]
    for done, law in enumerate(laws):
        if report is not None:
            report("compile noise", done / len(laws))
        law.sample(1000, SeededBits(0))


def _solvers(report: Progress | None) -> int:
    """Solve every tiny problem with every native solver that takes it; returns how many solves it took."""
    from pgsr.solvers import registry
    from pgsr.solvers.base import SolveOptions
    from pgsr.solvers.certificate import certify

    found = [registry.get(name) for name in registry.names()]
    native = [solver for solver in found if type(solver).__module__.startswith(_OURS)]
    pairs = [
        (solver, problem)
        for problem in _problems()
        for solver in native
        if problem.requires <= solver.features and solver.availability().available
    ]
    for done, (solver, problem) in enumerate(pairs):
        if report is not None:
            report("compile solvers", done / len(pairs))
        solution = solver.solve(problem, SolveOptions(threads=1))
        if solution.x is not None and not problem.cumulative:
            certify(problem.relaxed(), solution.x)
    return len(pairs)


def _problems() -> Iterator[Problem]:
    """Tiny problems of every kind: each array type and each branch that makes numba compile anew."""
    import numpy as np

    from pgsr.models.problem import Problem

    parent = np.array([-1, 0, 0, 1, 1, 2], dtype=np.int64)
    target = np.array([[3, 1], [2, 2], [0, 1], [-4, 3], [9, -5], [1, 1]], dtype=np.int64)
    low, high = np.zeros_like(target), np.full_like(target, 8)
    low[1, 0], high[2, 1] = 1, 2
    weights: list[Any] = [
        None,
        np.array([1.0, 0.5, 0.5, 1.0, 1.0, 1.0]),
        np.array([1.0, 0.3, 0.1, 0.7, 0.7, 0.9]),
    ]
    # Bounds of an instance can be written to, those of a mechanism cannot: other types to numba.
    bounds: list[dict[str, Any]] = [
        {},
        {"lower": low, "upper": high},
        {"lower": _frozen(low)},
        {"upper": _frozen(high)},
        {"lower": _frozen(low), "upper": _frozen(high)},
    ]
    for weight, bound in itertools.product(weights, bounds):
        squares = Problem(parent=parent, target=target, total=7, weights=weight, **bound)
        for problem in (squares, replace(squares, loss="l1")):
            yield from (problem, problem.relaxed())
            cumulative = replace(problem, cumulative=True)
            yield from (cumulative, cumulative.relaxed())


def _frozen(array: Any) -> Any:
    """A read-only view."""
    view = array.view()
    view.flags.writeable = False
    return view
