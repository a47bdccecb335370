"""The interpolated splitting method, steered to corners of its linear program by noise on the targets.

Where whole targets and weights leave ties, the limit is a mixture of optima, which rounds badly. With a
little noise on the targets (and only while iterating: bounds are those of the true ones) it is a single
corner, and mostly whole.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pgsr.models.problem import Float64, Problem
from pgsr.solvers.native.schedule import Runner
from pgsr.solvers.native.splitstate import Split

NOISE = -0.03, 0.05
_LEAST = 0.2  # penalty over weight at the start


class Steered(Split):
    """A run of the splitting method on interpolated squares whose targets can be moved."""

    def __init__(self, problem: Problem, run: Runner) -> None:
        super().__init__(problem, run, whole=True)
        # Penalties that fall with the height would vanish in deep trees.
        np.maximum(self.rho, _LEAST * problem.region_weights, out=self.rho)
        self.first_rho = self.rho.copy()
        self._aim: Float64 | None = None
        self._steering = False

    def steer(self, rng: np.random.Generator) -> None:
        """Move the targets by fresh noise; the iteration goes on from where it is."""
        if self._aim is None:
            self._aim = np.empty(self.problem.target.shape)
        rng.random(out=self._aim)
        self._aim *= NOISE[1] - NOISE[0]
        self._aim += NOISE[0]
        self._aim += self.problem.target

    def release(self) -> None:
        """Back to the true targets."""
        self._aim = None

    def iterate(self) -> None:
        """One iteration, on the moved targets if there are any."""
        self._steering = True
        try:
            super().iterate()
        finally:
            self._steering = False

    def _tables(self) -> tuple[Any, ...]:
        tree, target, weights = super()._tables()
        return tree, self._aim if self._steering and self._aim is not None else target, weights
