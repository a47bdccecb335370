"""Seconds of a call in this process."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def median_of(action: Callable[[], T], repeats: int) -> tuple[float, T]:
    """Median of the wall-clock seconds of some calls, and what the first one gave."""
    seconds: list[float] = []
    results: list[T] = []
    for _ in range(repeats):
        start = time.perf_counter()
        result = action()
        seconds.append(time.perf_counter() - start)
        results = results or [result]
    return statistics.median(seconds), results[0]
