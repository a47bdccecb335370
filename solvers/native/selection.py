"""Selection in place, compiled: the few smallest ranks of a list without sorting it."""

from __future__ import annotations

from numba import njit


@njit(nogil=True, cache=True)
def select(values, left, right, rank):  # type: ignore[no-untyped-def]
    """Partially sort `values[left:right]`: entry `rank` is in place, none before it is larger."""
    right -= 1
    while left < right:
        a, b, c = values[left], values[(left + right) >> 1], values[right]
        pivot = max(min(a, b), min(max(a, b), c))
        i, j = left, right
        while i <= j:
            while values[i] < pivot:
                i += 1
            while values[j] > pivot:
                j -= 1
            if i <= j:
                values[i], values[j] = values[j], values[i]
                i += 1
                j -= 1
        if rank <= j:
            right = j
        elif rank >= i:
            left = i
        else:
            return


@njit(nogil=True, cache=True)
def sort_ranks(values, n, start, stop):  # type: ignore[no-untyped-def]
    """Put the ranks `start` .. `stop - 1` of `values[:n]` in their sorted places (few of them)."""
    if start >= stop:
        return
    if start > 0:
        select(values, 0, n, start)
    if stop < n and (start == 0 or start < stop - 1):
        select(values, start, n, stop - 1)
    for k in range(start + 1, stop):
        value = values[k]
        j = k
        while j > start and values[j - 1] > value:
            values[j] = values[j - 1]
            j -= 1
        values[j] = value
