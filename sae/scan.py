"""Confidential: the estimating equations of A at many points at once, by matrix products instead of QR.

In the basis U of least squares, with y = U g + e, all that a score needs are sums over the areas of products
of columns of (U, e), weighted by 1/V and 1/V^2: two matrix products for all points together. This is accurate
where U'V^-1 U is well conditioned and the sums do not cancel. Where that is not sure the caller asks the QR
factorisation, so the signs that a search relies on are those of the latter.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from pgsr.sae.checks import Float64

_BLOCK = 1 << 21
_CONDITION = 1e-8
_CANCELLED = 1e-6


@dataclass(frozen=True, slots=True, eq=False)
class QuickScores:
    """Confidential: D (m,), the orthonormal basis U (m, p) of least squares, and its residuals e (m,)."""

    d: Float64 = field(repr=False)
    u: Float64 = field(repr=False)
    rest: Float64 = field(repr=False)

    def at(self, points: Float64, method: str) -> tuple[Float64, NDArray[np.bool_]]:
        """The scores (g,) of `Profile.score` at `points` (g,), and whether their signs are sure (g,).

        Sure: scaled to a unit diagonal, U'V^-1 U has condition number at most 1e8, so sums err by about 1e-8
        of their terms, and the score is above 1e-6 of them.
        """
        with np.errstate(all="ignore"):
            return self._at(points, method)

    def _at(self, points: Float64, method: str) -> tuple[Float64, NDArray[np.bool_]]:
        m, p = self.u.shape
        first, second, inverse_sum = self._sums(points)
        g, b = first[:, :p, :p], first[:, :p, p]
        root = np.sqrt(np.einsum("gii->gi", g))
        scaled = g / (root[:, :, None] * root[:, None, :])
        sure = np.isfinite(first).all(axis=(1, 2)) & np.isfinite(second).all(axis=(1, 2))
        sure &= np.isfinite(scaled).all(axis=(1, 2))
        scaled[~sure] = np.eye(p)
        values = np.linalg.eigvalsh(scaled)
        sure &= values[:, 0] > _CONDITION * values[:, -1]
        scaled[~sure] = np.eye(p)
        beta = np.linalg.solve(scaled, (b / root)[:, :, None])[:, :, 0] / root
        if method == "fh":
            explained = (beta * b).sum(axis=1)
            score = first[:, p, p] - explained - (m - p)
            size = first[:, p, p] + np.abs(explained) + m
            return score, sure & (np.abs(score) > _CANCELLED * size)
        g2, b2 = second[:, :p, :p], second[:, :p, p]
        cross, fitted = (beta * b2).sum(axis=1), np.einsum("gi,gij,gj->g", beta, g2, beta)
        score = second[:, p, p] - 2 * cross + fitted - inverse_sum
        size = second[:, p, p] + 2 * np.abs(cross) + fitted + inverse_sum
        if method == "reml":
            inner = g2 / (root[:, :, None] * root[:, None, :])
            inner[~sure] = 0.0
            trace = np.einsum("gii->g", np.linalg.solve(scaled, inner))
            score, size = score + trace, size + np.abs(trace)
        return 0.5 * score, sure & (np.abs(score) > _CANCELLED * size)

    def _sums(self, points: Float64) -> tuple[Float64, Float64, Float64]:
        """Sums of z z'/V and z z'/V^2, z a row of (U, e), each (g, p + 1, p + 1), and of 1/V (g,)."""
        m, p = self.u.shape
        rows, columns = np.triu_indices(p + 1)
        flat = [np.zeros((points.size, rows.size)) for _ in range(2)]
        total = np.zeros(points.size)
        block = max(256, _BLOCK // max(points.size, rows.size))
        for start in range(0, m, block):
            part = slice(start, start + block)
            z = np.vstack([self.u[part].T, self.rest[part]])
            products = z[rows] * z[columns]
            inverse = 1.0 / (self.d[part] + points[:, None])
            total += inverse.sum(axis=1)
            flat[0] += inverse @ products.T
            inverse *= inverse
            flat[1] += inverse @ products.T
        full = []
        for sums in flat:
            matrix = np.empty((points.size, p + 1, p + 1))
            matrix[:, rows, columns] = sums
            matrix[:, columns, rows] = sums
            full.append(matrix)
        return full[0], full[1], total
