"""A check that work grows in proportion to its input, on a machine of any speed and load."""

from __future__ import annotations

import time
from collections.abc import Callable

# For four times the input, linear work takes 4 times as long, and quadratic work 16 times.
TIMES, LIMIT = 4, 9
# While the growth seems too large, measure again: at least so often, and for this processor time.
LEAST_TRIES, LONGEST_S = 5, 3.0


def growth(work: Callable[[int], object], size: int) -> float:
    """Return how many times as much CPU time `work` takes for four times `size`.

    Compares the least of several times of each size, measured in turn, since other programs only
    add to a time, and a processor may be slower for a moment. The first call also loads what the
    work needs.
    """
    small_s = large_s = float("inf")
    work(size)
    began_s, tries = time.process_time(), 0
    while tries < LEAST_TRIES or time.process_time() - began_s < LONGEST_S:
        small_s = min(small_s, _spent_s(work, size))
        large_s = min(large_s, _spent_s(work, size * TIMES))
        tries += 1
        if large_s < LIMIT * small_s:
            break
    return large_s / max(small_s, 1e-4)


def _spent_s(work: Callable[[int], object], size: int) -> float:
    began_s = time.process_time()
    work(size)
    return time.process_time() - began_s
