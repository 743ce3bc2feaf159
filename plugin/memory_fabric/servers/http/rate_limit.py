"""Rate limit for each key: a token bucket."""

import time
from collections.abc import Callable
from math import ceil

# Holders that are remembered; beyond this, all begin anew.
MAX_HOLDERS = 10_000


class Rate:
    """Requests per second allowed for each API key, and the burst after a pause."""

    def __init__(self, per_s: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._per_s, self._burst, self._clock = per_s, max(1.0, per_s), clock
        self._buckets: dict[str, tuple[float, float]] = {}

    def wait_s(self, holder: str) -> int:
        """Return whole seconds until this holder may send a request; 0 counts as a request."""
        now = self._clock()
        if len(self._buckets) > MAX_HOLDERS:
            self._buckets.clear()
        tokens, at = self._buckets.get(holder, (self._burst, now))
        tokens = min(self._burst, tokens + (now - at) * self._per_s)
        if tokens < 1:
            self._buckets[holder] = tokens, now
            return max(1, ceil((1 - tokens) / self._per_s))
        self._buckets[holder] = tokens - 1, now
        return 0
