"""Waiting for what another process or thread is about to do."""

from __future__ import annotations

import time
from collections.abc import Callable

# Far more than a loaded machine needs: only what never happens takes so long.
GIVE_UP_S = 120.0
PAUSE_S = 0.01


def until(condition: Callable[[], object], what: str = "", *, give_up_s: float = GIVE_UP_S) -> None:
    """Return once the condition holds; fails if it never does."""
    give_up = time.monotonic() + give_up_s
    while not condition():
        assert time.monotonic() < give_up, f"never happened: {what or condition}"
        time.sleep(PAUSE_S)
