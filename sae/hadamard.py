"""Hadamard matrices for replication: powers of two by Sylvester, q + 1 and 2(q + 1) by Paley."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from pgsr.errors import InputError

Signs = NDArray[np.int8]

LARGEST = 2048


@lru_cache(maxsize=8)
def hadamard(order: int) -> Signs:
    """A Hadamard matrix H (order, order) of +1 and -1, H H' = order I, first column +1, read-only.

    Order 80 is Paley's for q = 79: the identity minus the bordered matrix of quadratic characters. Raises
    InputError for an order that none of the constructions reaches.
    """
    matrix = _build(order) if 1 <= order <= LARGEST else None
    if matrix is None:
        way_out = f"use {next_order(order)}" if 1 <= order < LARGEST else f"use one up to {LARGEST}"
        raise InputError("no Hadamard matrix of this order here", f"order {order}", way_out)
    matrix *= matrix[:, :1].copy()
    matrix.flags.writeable = False
    return matrix


def next_order(least: int) -> int:
    """The smallest order of at least `least` that `hadamard` can build."""
    order = least
    while not _reachable(order):
        order += 1
    return order


def _reachable(order: int) -> bool:
    if order in (1, 2):
        return True
    if order % 4:
        return False
    return _prime(order - 1) or (_prime(order // 2 - 1) and order // 2 % 4 == 2) or _reachable(order // 2)


def _build(order: int) -> Signs | None:
    if order == 1:
        return np.ones((1, 1), dtype=np.int8)
    if order == 2:
        return np.array([[1, 1], [1, -1]], dtype=np.int8)
    if order % 4:
        return None
    if _prime(order - 1):
        # Paley I: q = 3 mod 4, S is skew.
        return (np.eye(order, dtype=np.int8) - _bordered(order - 1, -1)).astype(np.int8)
    half = order // 2
    if _prime(half - 1) and half % 4 == 2:
        # Paley II: q = 1 mod 4, S is symmetric.
        s, one = _bordered(half - 1, 1), np.eye(half, dtype=np.int8)
        return np.block([[s + one, s - one], [s - one, -s - one]]).astype(np.int8)
    smaller = _build(half)
    return None if smaller is None else np.block([[smaller, smaller], [smaller, -smaller]])


def _bordered(q: int, corner: int) -> Signs:
    """S (q + 1, q + 1): 0 on the diagonal, first row +1, first column `corner`, else chi(j - i)."""
    chi = np.full(q, -1, dtype=np.int8)
    chi[np.arange(1, q) ** 2 % q] = 1
    chi[0] = 0
    places = np.arange(q)
    s = np.zeros((q + 1, q + 1), dtype=np.int8)
    s[0, 1:], s[1:, 0] = 1, corner
    s[1:, 1:] = chi[(places[None, :] - places[:, None]) % q]
    return s


def _prime(q: int) -> bool:
    return q > 2 and q % 2 == 1 and all(q % d for d in range(3, int(q**0.5) + 1, 2))
