"""A check that work grows in proportion to its input, on a machine of any speed and load."""

from __future__ import annotations

import time
from collections.abc import Callable

# For four times the input, linear work takes 4 times as long, and quadratic work 16 times.
TIMES, LIMIT = 4, 9


def growth(work: Callable[[int], object], size: int) -> float:
    """Return how many times as much CPU time `work` takes for four times `size`.

    Compares the least of several times of each size, since other programs only add to a time. The
    first call also loads what the work needs.
    """
    small_s, large_s = min(_spent_s(work, size) for _ in range(3)), float("inf")
    for _ in range(5):
        large_s = min(large_s, _spent_s(work, size * TIMES))
        if large_s < LIMIT * small_s:
            break
    return large_s / max(small_s, 1e-4)


def _spent_s(work: Callable[[int], object], size: int) -> float:
    began_s = time.process_time()
    work(size)
    return time.process_time() - began_s
