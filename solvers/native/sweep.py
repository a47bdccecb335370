"""One solve over windows: up the tree, the dummy root, down the tree, shift."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pgsr.levelorder import Int64
from pgsr.models.problem import Problem
from pgsr.solvers.native.costs import L1_STEP, L2_STEP, empty_table, numeric_weights, reach_of
from pgsr.solvers.native.schedule import Runner, call, inner_rows
from pgsr.solvers.native.windows import shift_rows, window, windows_down, windows_up

# The compiled helpers as plain Python, for the few entries of the dummy root.
_window: Callable[..., tuple[int, int]] = window.py_func


class Sweep:
    """The work arrays of window solves on one problem, reused from round to round."""

    __slots__ = ("_count", "_low", "_move", "_problem", "_run", "_scratch", "_slopes", "_weight")

    def __init__(self, problem: Problem, run: Runner) -> None:
        self._problem, self._run = problem, run
        self._weight, _, _ = numeric_weights(problem, reach_of(problem))
        rows = inner_rows(problem)
        self._low = np.empty((rows, problem.width), dtype=np.int32)
        self._count = np.empty((rows, problem.width), dtype=np.int32)
        self._move = np.zeros(problem.target.shape, dtype=np.int8)
        self._scratch = int(np.diff(problem.child_start).max())
        self._slopes: NDArray[Any] = np.empty((rows, problem.width, 0), dtype=self._weight.dtype)

    def solve(self, base: Int64, step: int, reach: int) -> int | None:
        """Move `base` (R, N), in place, to the best table in the windows round it.

        Windows are `base + step * d`, `d` from -reach to reach (reach + 1 if `step` is 1). For `step`
        above 1 `base` must be feasible. Returns the number of entries moved; None if the windows hold
        no table (`base` is then unchanged). Raises OutOfTime, before `base` is touched.
        """
        problem = self._problem
        width = 2 * reach + 1
        if self._slopes.shape[2] != width:
            self._slopes = np.empty((*self._low.shape, width), dtype=self._weight.dtype)
        mode = L2_STEP if problem.loss == "l2" else L1_STEP
        none = empty_table()
        lower = none if problem.lower is None else problem.lower
        upper = none if problem.upper is None else problem.upper
        box = (lower, upper, problem.total)
        head = (problem.child_start, problem.target, self._weight, mode, box, base, step, reach)
        tables = (self._slopes, self._low, self._count, max(1, self._scratch * width))
        if not all(self._run.up(call(windows_up, *head, *tables), "windows up")):
            return None
        if not self._root(head):
            return None
        self._run.down(call(windows_down, *head, *tables, self._move), "windows down")
        return int(shift_rows(0, problem.regions, base, step, self._move))

    def _root(self, head: tuple[Any, ...]) -> bool:
        """The dummy root: share the total among the sizes; sets row 0 of the moves."""
        _, y, weight, mode, (lower, upper, cap), base, step, reach = head
        lists: list[NDArray[Any]] = []
        lows: list[int] = []
        for s in range(y.shape[1]):
            if self._low.shape[0]:
                lo, own = int(self._low[0, s]), self._slopes[0, s, : self._count[0, s]]
                hi = lo + own.size
            else:
                lo, hi = _window(base, step, reach, lower, upper, cap, 0, s)
                own = np.zeros(max(0, int(hi - lo)), dtype=weight.dtype)
                if lo > hi:
                    return False
            # As `slope`, which is compiled, for a whole window at once.
            gap = base[0, s] + step * np.arange(lo, hi) - y[0, s]
            steps = 2 * gap + step if mode == L2_STEP else np.abs(gap + step) - np.abs(gap)
            lists.append(own + (weight[0] * steps).astype(weight.dtype))
            lows.append(int(lo))
        want = (self._problem.total - int(base[0].sum())) // step - sum(lows)
        values = np.concatenate(lists)
        if not 0 <= want <= values.size:
            return False
        owner = np.repeat(np.arange(len(lists)), [part.size for part in lists])
        taken = owner[np.argsort(values, kind="stable")[:want]]
        self._move[0] = np.array(lows) + np.bincount(taken, minlength=len(lists))
        return True
