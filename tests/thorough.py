"""Examples of a property in one run: few by default, all with `scripts/test --thorough`."""

from __future__ import annotations

import os

FEW = 25
IS_THOROUGH = bool(os.environ.get("THOROUGH"))


def examples(most: int = 100) -> int:
    """Return `most` in a thorough run, else at most a few."""
    return most if IS_THOROUGH else min(most, FEW)
