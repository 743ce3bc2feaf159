"""A check that work grows in proportion to its input, on a machine of any speed and load."""

from __future__ import annotations

import time
from collections.abc import Callable

# For four times the input, linear work takes 4 times as long, and quadratic work 16 times.
TIMES, LIMIT = 4, 9


def growth(work: Callable[[int], object], size: int) -> float:
    """Return how many times as much CPU time `work` takes for four times `size`.

    Measures up to five times, until the result is below LIMIT: other programs may slow down one
    measurement, but not each of them by the same factor.
    """
    least = float("inf")
    for _ in range(5):
        spent = []
        for n in (size, size * TIMES):
            began_s = time.process_time()
            work(n)
            spent.append(time.process_time() - began_s)
        least = min(least, spent[1] / max(spent[0], 1e-4))
        if least < LIMIT:
            break
    return least
