"""What the noise tests share: a scripted source of bits, and boundaries from an independent library."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

import mpmath
import numpy as np
import pytest


class ScriptedBits:
    """Hands out the given words in order, then those of a fallback (none: reading on is an error)."""

    secure = False
    description = "scripted"

    def __init__(self, script: Sequence[int], fallback=None):
        self.script = [int(word) for word in script]
        self.fallback = fallback
        self.used = 0

    def words(self, n: int) -> np.ndarray:
        scripted = self.script[self.used : self.used + n]
        self.used += n
        missing = n - len(scripted)
        if missing == 0:
            return np.array(scripted, dtype=np.uint64)
        assert self.fallback is not None, "read beyond the script"
        return np.concatenate([np.array(scripted, dtype=np.uint64), self.fallback.words(missing)])


@pytest.fixture
def scripted() -> type[ScriptedBits]:
    return ScriptedBits


def _mp(value: Fraction) -> mpmath.mpf:
    return mpmath.mpf(value.numerator) / value.denominator


def laplace_mass(scale: Fraction, k: int) -> mpmath.mpf:
    """P[X = k] in the precision in force, from the definition."""
    a = mpmath.exp(-1 / _mp(scale))
    return (1 - a) / (1 + a) * a ** abs(k)


def gaussian_mass(sigma2: Fraction, k: int) -> mpmath.mpf:
    """P[X = k] in the precision in force; the normaliser is Jacobi's theta function."""
    return mpmath.exp(-(mpmath.mpf(k) ** 2) / (2 * _mp(sigma2))) / _gaussian_norm(sigma2, mpmath.mp.prec)


_NORMS: dict[tuple[Fraction, int], mpmath.mpf] = {}


def _gaussian_norm(sigma2: Fraction, prec: int) -> mpmath.mpf:
    if (sigma2, prec) not in _NORMS:
        if sigma2 < 2:
            norm = mpmath.jtheta(3, 0, mpmath.exp(-1 / (2 * _mp(sigma2))))
        else:  # the same sum after Poisson's formula, which converges fast for large sigma
            dual = mpmath.jtheta(3, 0, mpmath.exp(-2 * mpmath.pi**2 * _mp(sigma2)))
            norm = mpmath.sqrt(2 * mpmath.pi * _mp(sigma2)) * dual
        _NORMS[sigma2, prec] = norm
    return _NORMS[sigma2, prec]


def value_of_cell(cell: int) -> int:
    """0, +1, -1, +2, -2, ..."""
    return (cell + 1) // 2 if cell % 2 else -(cell // 2)


class Masses:
    """Exact probabilities by name of the law, at a working precision set by the caller."""

    laplace = staticmethod(laplace_mass)
    gaussian = staticmethod(gaussian_mass)
    value_of_cell = staticmethod(value_of_cell)

    @staticmethod
    def boundaries(mass: Callable[[int], mpmath.mpf], cells: int) -> list[mpmath.mpf]:
        """c_0 .. c_(cells-1) by adding up the masses."""
        total = mpmath.mpf(0)
        result = []
        for cell in range(cells):
            total += mass(value_of_cell(cell))
            result.append(total)
        return result


@pytest.fixture
def masses() -> type[Masses]:
    return Masses
